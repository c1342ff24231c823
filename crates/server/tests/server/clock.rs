//! A clock that is set forward and back: no signature is served outside of its validity.

use dns::Rtype;
use hickory_proto::op::Message;
use hickory_proto::serialize::binary::BinEncodable;
use proptest::collection::vec;
use proptest::prelude::*;
use server::dnssec::{Algorithm, Denial};
use server::transfer::{Attended, Door, TransferSettings, attend};
use server::{Circumstances, Endpoint, EndpointId, Sight, Transport, Views, Zones, respond, respond_fast};

use crate::client::Ask;
use crate::dnssec::{NOW, sign};
use crate::world;

const DAY: i64 = 86_400;
const TEXT: &str = "@ 60 SOA ns admin 1 2 3 4 30
    @ 60 NS ns
    ns 60 A 192.0.2.1
    www 60 A 192.0.2.3
    alias 60 CNAME www
    sub 60 NS ns.sub
    *.w 60 A 192.0.2.2";
/// An answer, an alias, a wildcard, the keys, both kinds of denial and a referral.
const QUESTIONS: [(&str, &str); 9] = [
    ("www.e.", "A"),
    ("ns.e.", "A"),
    ("alias.e.", "A"),
    ("x.w.e.", "A"),
    ("e.", "DNSKEY"),
    ("e.", "CDS"),
    ("none.e.", "A"),
    ("www.e.", "TXT"),
    ("x.sub.e.", "A"),
];

fn signed(denial: Denial) -> Zones {
    let mut zones = world::zones("e.", TEXT);
    sign(&mut zones, Algorithm::Ed25519, denial);
    zones.compile(usize::MAX);
    zones
}

/// The answer as a UDP thread gives it: by the fast path where that has one.
fn answer(zones: &Zones, (name, rtype): (&str, &str), now: u32) -> Vec<u8> {
    let around = Circumstances { now, ..Circumstances::plain(Sight { zones: Some(zones), synced: true }) };
    let (query, mut out) = (Ask::new(name, rtype).with("do").octets(), Vec::new());
    if respond_fast(&query, around, &mut out).is_none() {
        respond(&query, around, &mut out).unwrap();
    }
    out
}

/// Inception and expiration of every signature in a message.
fn validities(message: &[u8]) -> Vec<(u32, u32)> {
    let message = Message::from_vec(message).unwrap();
    let sections = [&message.answers, &message.authorities, &message.additionals];
    let records = sections.into_iter().flatten();
    let signatures = records.filter(|record| Rtype(record.record_type().into()) == Rtype::RRSIG);
    let times = |data: &[u8]| {
        let number = |at: usize| u32::from_be_bytes(data[at..at + 4].try_into().unwrap());
        (number(12), number(8))
    };
    signatures.map(|record| times(&record.data.to_bytes().unwrap())).collect()
}

/// Whether every signature of a message holds at a time (RFC 4034 section 3.1.5); there is at least one.
fn all_hold(message: &[u8], now: u32) -> bool {
    let not_after = |one: u32, other: u32| other.wrapping_sub(one) as i32 >= 0;
    let found = validities(message);
    !found.is_empty() && found.iter().all(|(from, until)| not_after(*from, now) && not_after(now, *until))
}

fn at(offset: i64) -> u32 {
    (i64::from(NOW) + offset) as u32
}

#[test]
fn after_thirty_days_forward_and_back_every_signature_is_valid_at_the_present_clock() {
    for denial in [Denial::Compact, Denial::Nsec] {
        let zones = signed(denial);
        for offset in [0, 30 * DAY, 0, -30 * DAY, 0, DAY, 0] {
            for question in QUESTIONS {
                let response = answer(&zones, question, at(offset));
                assert!(
                    all_hold(&response, at(offset)),
                    "{question:?} {offset}: {:?}",
                    validities(&response)
                );
            }
        }
    }
}

proptest! {
    /// All on one thread, which keeps what it has signed. Small steps cross the ends of single windows.
    #[test]
    fn no_sequence_of_steps_shows_a_signature_outside_of_its_validity(
        steps in vec(prop_oneof![-3 * DAY..3 * DAY, -60 * DAY..60 * DAY, Just(80 * 365 * DAY)], 1..12),
        denial in prop_oneof![Just(Denial::Compact), Just(Denial::Nsec)],
    ) {
        let zones = signed(denial);
        for (question, offset) in QUESTIONS.iter().cycle().zip(steps.iter().flat_map(|step| [*step, 0, -*step])) {
            let response = answer(&zones, *question, at(offset));
            prop_assert!(all_hold(&response, at(offset)), "{:?} {}", question, offset);
        }
    }
}

/// The messages of a transfer that is begun at a time.
fn transferred(views: &Views, now: u32) -> Vec<Vec<u8>> {
    let (table, mut out) = (views.load(), Vec::new());
    let client = "192.0.2.9".parse().unwrap();
    let around = Circumstances {
        client,
        transport: Transport::Tcp,
        now,
        ..Circumstances::plain(table.sight(EndpointId(1), client))
    };
    let door = Door { table: &table, archive: views.archive(), endpoint: EndpointId(1), now: now.into() };
    let Attended::Streaming(mut stream) = attend(&Ask::new("e.", "AXFR").octets(), door, around, &mut out)
    else {
        panic!("no transfer")
    };
    let mut messages = Vec::new();
    while stream.next(now.into(), &mut out).unwrap() {
        messages.push(out.clone());
    }
    messages
}

/// The serial of a signed zone moves with the week. So signatures must not move within it: a secondary that
/// transferred while the clock was ahead would keep those that are not valid yet.
#[test]
fn a_transferred_zone_has_the_signatures_of_its_week_whatever_the_clock_says_within_it() {
    let views = Views::new();
    views.publish(|table| {
        table.views.insert("v".to_owned(), signed(Denial::Compact));
        table.endpoints.insert(EndpointId(1), Endpoint { view: Some("v".to_owned()), clients: Vec::new() });
        let to = vec!["192.0.2.0/24".parse().unwrap()];
        table.transfers.insert("v".to_owned(), TransferSettings { to, ..TransferSettings::default() }.into());
        table.synced = true;
    });
    let week = server::dnssec::WINDOW as u32;
    let start = NOW - NOW % week;
    for now in [start, start + week / 2, start + week - 1] {
        let messages = transferred(&views, now);
        assert_eq!(messages, transferred(&views, start));
        assert!(messages.iter().all(|message| all_hold(message, now)));
    }
    assert_ne!(transferred(&views, start + week), transferred(&views, start));
    assert!(transferred(&views, start).iter().all(|message| all_hold(message, start + 2 * week - 1)));
}
