//! Cold starts: nothing is denied before the world has been read once, however long that takes.

use std::net::Ipv4Addr;
use std::time::Duration;

use server::dnssec::{Algorithm, Denial};
use server::{Circumstances, Endpoint, EndpointId, Views, Zones, respond, respond_fast};
use tokio::time::{Instant, sleep, sleep_until};

use crate::client::{Ask, show};
use crate::dnssec::{self, NOW};
use crate::world;

const ENDPOINT: EndpointId = EndpointId(1);
const STARTS: u32 = 200;
const LONGEST: Duration = Duration::from_secs(60);
const SOA: &str = "@ 60 SOA ns admin 1 2 3 4 5";

/// What a server finds on its disk.
#[derive(Clone, Copy, Debug)]
enum Kept {
    Nothing,
    Zone(Option<Denial>),
}

/// The zone as it was kept, or with what has come since.
fn zones(text: &str, denial: Option<Denial>) -> Zones {
    let mut zones = world::zones("e.", &format!("{SOA}\n{text}"));
    denial.iter().for_each(|denial| dnssec::sign(&mut zones, Algorithm::Ed25519, *denial));
    zones
}

fn ask(views: &Views, name: &str, rtype: &str, wish: &[&str]) -> Vec<u8> {
    let table = views.load();
    let around =
        Circumstances { now: NOW, ..Circumstances::plain(table.sight(ENDPOINT, Ipv4Addr::LOCALHOST.into())) };
    let ask = wish.iter().fold(Ask::new(name, rtype), |ask, option| ask.with(option));
    let (query, mut out) = (ask.octets(), Vec::new());
    if respond_fast(&query, around, &mut out).is_none() {
        respond(&query, around, &mut out).unwrap();
    }
    out
}

/// Whether a response says that there is no such name.
fn denies(response: &[u8]) -> bool {
    let says_nxname = |types: &[dns::Rtype]| types.contains(&dns::Rtype(128));
    response[3] & 0x0f == 3 || dnssec::proofs(response).iter().any(|(_, _, types)| says_nxname(types))
}

const WISHES: [&[&str]; 3] = [&[], &["do"], &["do", "co"]];

fn nothing_is_denied(views: &Views, kept: Kept) {
    for wish in WISHES {
        for name in ["www.e.", "new.e.", "nobody.e.", "other."] {
            let response = ask(views, name, "A", wish);
            let is_known = name == "www.e." && matches!(kept, Kept::Zone(_));
            let wanted = if is_known { "NOERROR aa" } else { "SERVFAIL" };
            assert_eq!(show(&response)[0], wanted, "{kept:?} {name} {wish:?}");
            assert!(!denies(&response), "{kept:?} {name} {wish:?}");
        }
        // Of a name that it has it says what it had: www has no AAAA.
        let wanted = if matches!(kept, Kept::Zone(_)) { "NOERROR aa" } else { "SERVFAIL" };
        assert_eq!(show(&ask(views, "www.e.", "AAAA", wish))[0], wanted, "{kept:?} {wish:?}");
    }
}

fn everything_is_answered(views: &Views) {
    for wish in WISHES {
        assert!(denies(&ask(views, "nobody.e.", "A", wish)), "{wish:?}");
        assert_eq!(show(&ask(views, "new.e.", "A", wish))[1], "answer new.e. 60 A 192.0.2.2");
        assert_eq!(show(&ask(views, "other.", "A", wish))[0], "REFUSED");
    }
}

async fn cold_start(kept: Kept, delay: Duration) {
    let views = Views::new();
    views.publish(|table| {
        table.endpoints.insert(ENDPOINT, Endpoint { view: Some("v".to_owned()), clients: Vec::new() });
        if let Kept::Zone(denial) = kept {
            table.views.insert("v".to_owned(), zones("www 60 A 192.0.2.1", denial));
        }
    });
    let denial = if let Kept::Zone(denial) = kept { denial } else { None };
    let source = views.clone();
    let reading = tokio::spawn(async move {
        sleep(delay).await;
        source.publish(|table| {
            let zones = zones("www 60 A 192.0.2.1\nnew 60 A 192.0.2.2", denial);
            table.views.insert("v".to_owned(), zones);
            table.synced = true;
        });
    });
    let (start, last) = (Instant::now(), delay.saturating_sub(Duration::from_millis(1)));
    for quarter in 0..=4 {
        sleep_until(start + last * quarter / 4).await;
        if start.elapsed() < delay {
            nothing_is_denied(&views, kept);
        }
    }
    reading.await.unwrap();
    everything_is_answered(&views);
}

#[tokio::test(start_paused = true)]
async fn no_cold_start_denies_a_name_before_the_first_sync() {
    let kept =
        [Kept::Nothing, Kept::Zone(None), Kept::Zone(Some(Denial::Compact)), Kept::Zone(Some(Denial::Nsec))];
    for start in 0..STARTS {
        cold_start(kept[start as usize % kept.len()], LONGEST * start / (STARTS - 1)).await;
    }
}
