#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;

use backends::SetChange;
use dns::{Rdata, RecordSet, Rtype};
use server::lookup;
use server::steering::Asker;

use super::*;

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

fn set(owner: &str, rtype: Rtype, data: &[&str]) -> Entry {
    let data = data.iter().map(|text| Rdata::parse(rtype, text, &Name::root()).unwrap()).collect();
    Entry::from(RecordSet::new(name(owner), rtype, 60, data))
}

fn put(before: Option<&Entry>, after: &Entry) -> SetChange {
    SetChange { key: SetKey::of(&after.set), before: before.cloned(), after: Some(after.clone()) }
}

fn remove(before: &Entry) -> SetChange {
    SetChange { key: SetKey::of(&before.set), before: Some(before.clone()), after: None }
}

async fn write(store: &Embedded, changes: Vec<SetChange>) -> Vec<Result<(), Failure>> {
    let batch = Batch { zone: name("example.org"), changes, guards: Vec::new(), generation: 0 };
    store.write(&batch).await
}

async fn opened(file: Option<&Path>) -> Embedded {
    let (store, trouble) = Embedded::open(file).unwrap();
    assert_eq!(trouble, None);
    store.open_zone(&zone::usual(&name("example.org"))).await.unwrap();
    store
}

/// What a client is told.
fn answers(store: &Embedded, owner: &str, rtype: Rtype) -> Vec<String> {
    let table = store.views.load();
    let answer = lookup(&table.views[VIEW], &name(owner), rtype, &Asker::NOBODY);
    answer.answer.iter().flat_map(|set| set.data.iter().map(ToString::to_string)).collect()
}

#[tokio::test]
async fn what_was_acknowledged_is_there_after_a_start_and_serials_go_forward() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("records");
    let www = set("www.example.org", Rtype::A, &["192.0.2.1", "192.0.2.2"]);
    let mut text = set("example.org", Rtype::TXT, &["\"a b\" \"c\""]);
    text.properties = BTreeMap::from([("key".to_owned(), "value".to_owned())]);
    let serial = {
        let store = opened(Some(&file)).await;
        assert_eq!(write(&store, vec![put(None, &www), put(None, &text)]).await, [Ok(()), Ok(())]);
        assert_eq!(write(&store, vec![remove(&www)]).await, [Ok(())]);
        assert_eq!(write(&store, vec![put(None, &www)]).await, [Ok(())]);
        store.revision(&name("example.org")).await.unwrap()
    };
    let store = opened(Some(&file)).await;
    assert_eq!(store.revision(&name("example.org")).await, Ok(serial));
    let held = store.read_zone(&name("example.org")).await.unwrap();
    assert_eq!(held[1..], [text, www.clone()]);
    assert_eq!(answers(&store, "www.example.org", Rtype::A), ["192.0.2.1", "192.0.2.2"]);
    write(&store, vec![remove(&www)]).await;
    assert!(store.revision(&name("example.org")).await.unwrap() > serial);
}

#[tokio::test]
async fn a_change_holds_only_for_what_it_was_worked_out_from() {
    let store = opened(None).await;
    let (one, two) =
        (set("www.example.org", Rtype::A, &["192.0.2.1"]), set("www.example.org", Rtype::A, &["192.0.2.2"]));
    assert_eq!(write(&store, vec![put(None, &one)]).await, [Ok(())]);
    assert_eq!(write(&store, vec![put(None, &two)]).await, [Err(Failure::Changed)]);
    assert_eq!(write(&store, vec![remove(&two)]).await, [Err(Failure::Changed)]);
    assert_eq!(write(&store, vec![put(Some(&one), &two)]).await, [Ok(())]);
    let guards = vec![(SetKey::of(&one.set), Some(one.set.clone()))];
    let batch = Batch { zone: name("example.org"), changes: vec![remove(&two)], guards, generation: 0 };
    assert_eq!(store.write(&batch).await, [Err(Failure::Changed)]);
    assert_eq!(answers(&store, "www.example.org", Rtype::A), ["192.0.2.2"]);
}

#[tokio::test]
async fn a_cname_never_stands_beside_other_data_and_may_take_its_place_in_one_batch() {
    let store = opened(None).await;
    let (address, alias) = (
        set("www.example.org", Rtype::A, &["192.0.2.1"]),
        set("www.example.org", Rtype::CNAME, &["example.net."]),
    );
    let refused = || Err(Failure::Refused("INVALID_RECORD"));
    assert_eq!(write(&store, vec![put(None, &address)]).await, [Ok(())]);
    assert_eq!(write(&store, vec![put(None, &alias)]).await, [refused()]);
    assert_eq!(write(&store, vec![put(None, &alias), remove(&address)]).await, [Ok(()), Ok(())]);
    assert_eq!(write(&store, vec![put(None, &address)]).await, [refused()]);
    assert_eq!(answers(&store, "www.example.org", Rtype::CNAME), ["example.net."]);
    let apex = set("example.org", Rtype::CNAME, &["example.net."]);
    let outside = set("www.example.net", Rtype::A, &["192.0.2.1"]);
    assert_eq!(write(&store, vec![put(None, &apex), put(None, &outside)]).await, [refused(), refused()]);
}

#[tokio::test]
async fn a_zone_always_has_name_servers() {
    let store = opened(None).await;
    assert_eq!(answers(&store, "example.org", Rtype::NS), ["ns.example.org."]);
    let own = set("example.org", Rtype::NS, &["ns1.example.net."]);
    write(&store, vec![put(None, &own)]).await;
    assert_eq!(answers(&store, "example.org", Rtype::NS), ["ns1.example.net."]);
    write(&store, vec![remove(&own)]).await;
    assert_eq!(answers(&store, "example.org", Rtype::NS), ["ns.example.org."]);
}

#[tokio::test]
async fn a_zone_is_found_above_an_origin_or_made() {
    let store = opened(None).await;
    let found = store.open_zone(&zone::usual(&name("apps.example.org"))).await.unwrap();
    assert_eq!(found, OpenedZone { origin: name("example.org"), made: false });
    let made = store.open_zone(&zone::usual(&name("example.net"))).await.unwrap();
    assert_eq!(made, OpenedZone { origin: name("example.net"), made: true });
}

#[tokio::test]
async fn a_journal_that_is_written_anew_holds_the_same_in_fewer_lines() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("records");
    let store = opened(Some(&file)).await;
    let mut last = None;
    for number in 0..50 {
        let next = set("www.example.org", Rtype::A, &[&format!("192.0.2.{number}")]);
        write(&store, vec![put(last.as_ref(), &next)]).await;
        last = Some(next);
    }
    let before = (store.revision(&name("example.org")).await, store.read_zone(&name("example.org")).await);
    {
        let mut content = locked(&store.content);
        let frames: Vec<Frame> = content.zones.values().map(Zone::frame).collect();
        content.journal.as_mut().unwrap().rewrite(&frames).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), 2);
    write(&store, vec![remove(&last.unwrap())]).await;
    write(&store, vec![put(None, &set("www.example.org", Rtype::A, &["192.0.2.49"]))]).await;
    drop(store);
    let again = opened(Some(&file)).await;
    assert_eq!(again.read_zone(&name("example.org")).await.unwrap()[1..], before.1.unwrap()[1..]);
    assert!(again.revision(&name("example.org")).await.unwrap() > before.0.unwrap());
}

/// A store with two zones and a name in each, on the disk.
async fn filled(file: &Path) {
    let store = opened(Some(file)).await;
    store.open_zone(&zone::usual(&name("example.net"))).await.unwrap();
    for owner in ["www.example.org", "www.example.net"] {
        let changes = vec![put(None, &set(owner, Rtype::A, &["192.0.2.1"]))];
        let zone = name(owner).suffixes().nth(1).unwrap();
        let batch = Batch { zone, changes, guards: Vec::new(), generation: 0 };
        assert_eq!(store.write(&batch).await, [Ok(())]);
    }
}

fn response(store: &Embedded, owner: &str) -> (server::Rcode, bool) {
    let table = store.views.load();
    let answer = lookup(&table.views[VIEW], &name(owner), Rtype::A, &Asker::NOBODY);
    (answer.rcode, !answer.answer.is_empty())
}

#[tokio::test]
async fn a_flipped_bit_anywhere_leaves_every_answer() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("records");
    filled(&file).await;
    for path in [file.clone(), file.with_extension("copy")] {
        let whole = std::fs::read(&path).unwrap();
        for at in (0..whole.len()).step_by(7) {
            let mut changed = whole.clone();
            changed[at] ^= 1 << (at % 8);
            std::fs::write(&path, &changed).unwrap();
            let (store, trouble) = Embedded::open(Some(&file)).unwrap();
            assert!(trouble.is_some(), "octet {at}");
            for owner in ["www.example.org", "www.example.net"] {
                assert_eq!(response(&store, owner), (server::Rcode::NoError, true), "octet {at}");
            }
            let (_, trouble) = Embedded::open(Some(&file)).unwrap();
            assert_eq!(trouble, None, "octet {at}: it was written anew");
            for aside in ["records.bad-1", "records.copy.bad-1"] {
                let _ = std::fs::remove_file(folder.path().join(aside));
            }
            for copy in [file.clone(), file.with_extension("copy")] {
                std::fs::write(copy, &whole).unwrap();
            }
        }
    }
}

#[tokio::test]
async fn a_zone_whose_records_are_lost_fails_and_the_others_are_served_and_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("records");
    filled(&file).await;
    let text = std::fs::read_to_string(&file).unwrap();
    let damaged = text.replace("www.example.org", "wvw.example.org");
    assert_ne!(text, damaged);
    for copy in [file.clone(), file.with_extension("copy")] {
        std::fs::write(copy, &damaged).unwrap();
    }
    // After it was written anew too.
    for round in 0..2 {
        let (store, trouble) = Embedded::open(Some(&file)).unwrap();
        assert_eq!(trouble.is_some(), round == 0);
        for owner in ["www.example.org", "other.example.org"] {
            assert_eq!(response(&store, owner), (server::Rcode::ServFail, false));
        }
        assert_eq!(response(&store, "www.example.net"), (server::Rcode::NoError, true));
        let refused = write(&store, vec![put(None, &set("a.example.org", Rtype::A, &["192.0.2.1"]))]).await;
        assert_eq!(refused, [Err(ZONE_DAMAGED)]);
        assert_eq!(store.read_zone(&name("example.org")).await, Err(ZONE_DAMAGED));
        let owner = format!("new-{round}.example.net");
        let changes = vec![put(None, &set(&owner, Rtype::A, &["192.0.2.1"]))];
        let batch = Batch { zone: name("example.net"), changes, guards: Vec::new(), generation: 0 };
        assert_eq!(store.write(&batch).await, [Ok(())]);
        assert_eq!(store.condition(), Condition { damaged_zones: 1, is_writable: true });
        assert_eq!(store.health().await, Ok(()), "writes to the other zone are taken");
    }
    assert_eq!(std::fs::read_to_string(folder.path().join("records.bad-1")).unwrap(), damaged);
}

#[tokio::test]
async fn where_it_cannot_be_known_what_is_lost_no_zone_is_answered_and_the_files_stay() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("records");
    filled(&file).await;
    let text = std::fs::read_to_string(&file).unwrap();
    // The heads of the lines are damaged too.
    let damaged = text.replace("epoch", "epocg");
    for copy in [file.clone(), file.with_extension("copy")] {
        std::fs::write(copy, &damaged).unwrap();
    }
    let (store, trouble) = Embedded::open(Some(&file)).unwrap();
    assert!(trouble.unwrap().contains("cannot be used"));
    store.open_zone(&zone::usual(&name("example.org"))).await.unwrap();
    assert_eq!(response(&store, "www.example.org"), (server::Rcode::ServFail, false));
    let refused = write(&store, vec![put(None, &set("a.example.org", Rtype::A, &["192.0.2.1"]))]).await;
    assert_eq!(refused, [Err(ZONE_DAMAGED)]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), damaged);
}
