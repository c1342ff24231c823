//! PowerDNS: wrong keys, dead servers, and servers that die in between.

use std::thread;

use api::dnsclass::ZoneKind;
use backends::{Failure, Obstacle, Provider};
use dns::RecordSet;
use e2e::{PowerDns, Store, block_on, dig, eventually, wait_for};

use crate::powerdns_world::{a, batch, change, content, creations, open, outcomes, write};

#[test]
fn a_wrong_key_is_told_as_such_and_never_shown() {
    let server = PowerDns::start().unwrap();
    let provider = server.provider_with("not-the-key", ZoneKind::Native, false).unwrap();
    assert_eq!(block_on(provider.health()).unwrap(), Err(Failure::Authentication));
    assert_eq!(open(&provider, "key.test."), Err(Failure::Authentication));
    let unusable = server.provider_with("line\nend", ZoneKind::Native, false).err().unwrap();
    assert!(!format!("{unusable:#} {unusable:?}").contains("line"), "{unusable:?}");
    assert_eq!(block_on(server.provider().unwrap().health()).unwrap(), Ok(()));
    let version = block_on(server.provider().unwrap().version()).unwrap().unwrap();
    assert!(version.major >= 4, "{version:?}");
}

/// A connection that was kept open is closed; a new one is refused.
fn assert_is_away(results: &[Result<(), Failure>]) {
    let is_away = |result| matches!(result, &Err(Failure::Unreachable(Obstacle::Refused | Obstacle::Closed)));
    assert!(!results.is_empty() && results.iter().all(is_away), "{results:?}");
}

#[test]
fn a_server_that_is_gone_is_unreachable_and_goes_on_when_it_is_back() {
    for store in Store::ALL {
        let mut server = PowerDns::with(store, "").unwrap();
        let provider = server.provider().unwrap();
        open(&provider, "restart.test.").unwrap();
        let (first, second) = (a("www.restart.test.", "192.0.2.1"), a("www.restart.test.", "192.0.2.2"));
        write(&provider, &creations("restart.test.", std::slice::from_ref(&first)));
        server.kill().unwrap();
        let moved = batch("restart.test.", vec![change(Some(&first), Some(&second))]);
        assert_is_away(&outcomes(&provider, &moved));
        assert_is_away(&[block_on(provider.health()).unwrap()]);
        server.restart().unwrap();
        write(&provider, &moved);
        assert_eq!(dig(server.dns(), "www.restart.test A").unwrap().data("A"), ["192.0.2.2"], "{store:?}");
    }
}

#[test]
fn a_server_killed_in_the_middle_of_batches_has_whole_batches_and_takes_the_rest_later() {
    for store in Store::ALL {
        let mut server = PowerDns::with(store, "").unwrap();
        let provider = server.provider().unwrap();
        open(&provider, "killed.test.").unwrap();
        let sets: Vec<RecordSet> =
            (0..3000).map(|n| a(&format!("n{n:04}.killed.test."), "192.0.2.1")).collect();
        let batches: Vec<_> = sets.chunks(500).map(|sets| creations("killed.test.", sets)).collect();
        let results = thread::scope(|scope| {
            let writer =
                scope.spawn(|| batches.iter().map(|batch| outcomes(&provider, batch)).collect::<Vec<_>>());
            eventually(|| dig(server.dns(), "n0500.killed.test A").is_ok_and(|dig| !dig.answer.is_empty()))
                .unwrap();
            server.kill().unwrap();
            writer.join().unwrap()
        });
        server.restart().unwrap();
        let stands: Vec<RecordSet> = content(&provider, "killed.test.");
        assert_eq!(stands.len() % 500, 0, "a batch landed in part");
        let told: usize = results.iter().flatten().filter(|result| result.is_ok()).count();
        assert!(told <= stands.len(), "{told} were told to stand, {} do", stands.len());
        for (batch, results) in batches.iter().zip(&results) {
            let is_there = stands.contains(&batch.changes[0].after.as_ref().unwrap().set);
            assert!(is_there || results.iter().all(Result::is_err));
            if !is_there {
                write(&provider, batch);
            }
        }
        assert_eq!(content(&provider, "killed.test."), sets, "{store:?}");
    }
}

#[test]
fn somebody_who_writes_at_the_same_time_loses_nothing() {
    for store in Store::ALL {
        let server = PowerDns::with(store, "").unwrap();
        let provider = server.provider().unwrap();
        open(&provider, "busy.test.").unwrap();
        content(&provider, "busy.test.");
        let ours: Vec<RecordSet> =
            (0..2000).map(|n| a(&format!("o{n:04}.busy.test."), "192.0.2.1")).collect();
        thread::scope(|scope| {
            let others = scope.spawn(|| {
                for number in 0..50 {
                    let owner = format!("t{number}.busy.test.");
                    eventually(|| server.put("busy.test.", &owner, "A", "198.51.100.1").is_ok()).unwrap();
                }
            });
            for sets in ours.chunks(100) {
                // A database that is locked is a failure of the server, after which nothing has changed.
                let batch = creations("busy.test.", sets);
                let is_locked =
                    |results: &[Result<(), Failure>]| results.contains(&Err(Failure::Server(500)));
                let results =
                    wait_for("the lock", || Ok(Some(outcomes(&provider, &batch)).filter(|r| !is_locked(r))));
                assert!(results.unwrap().iter().all(Result::is_ok));
            }
            others.join().unwrap();
        });
        let all = content(&provider, "busy.test.");
        assert_eq!(all.iter().filter(|set| ours.contains(set)).count(), ours.len());
        assert_eq!(all.len(), ours.len() + 50, "{store:?}");
    }
}
