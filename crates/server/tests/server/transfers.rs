//! Transfers as a secondary sees them: read by one library, signed and verified by another.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use dns::{Member, Name, Rdata, RecordSet, Rtype, Steering};
use domain::base::Message as Octets;
use domain::base::iana::{Class, TsigRcode};
use domain::base::message_builder::{AdditionalBuilder, MessageBuilder, OptBuilder};
use domain::rdata::tsig::{Time48, Tsig};
use domain::tsig::{Algorithm as TheirAlgorithm, ClientSequence, ClientTransaction, Key};
use proptest::prelude::*;
use server::dnssec::{Algorithm, Denial, signed_sets};
use server::transfer::{
    Attended, Catalog, Door, TransferEvent, TransferSettings, TsigAlgorithm, TsigKey, attend,
};
use server::{Circumstances, Endpoint, EndpointId, Transport, Views, ZoneUpdate, bind, respond, serve};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::client::{Ask, show};
use crate::dnssec::sign;
use crate::world;

const ENDPOINT: EndpointId = EndpointId(3);
const NOW: u64 = 1_800_000_000;
const SECRET: &[u8] = b"0123456789abcdef0123456789abcdef";

/// A view `v` with the zone `e.` and a secondary at 192.0.2.9.
struct Primary {
    views: Views,
}

impl Primary {
    fn new(text: &str, keys: Vec<TsigKey>) -> Primary {
        let primary = Primary { views: Views::new() };
        let settings = TransferSettings { to: vec!["192.0.2.0/24".parse().unwrap()], notify: vec![], keys };
        primary.views.publish(|table| {
            table.endpoints.insert(ENDPOINT, Endpoint { view: Some("v".to_owned()), clients: Vec::new() });
            table.transfers.insert("v".to_owned(), Arc::new(settings));
            table.synced = true;
        });
        primary.put(1, text);
        primary
    }

    /// Puts the zone with a serial.
    fn put(&self, serial: u32, text: &str) {
        let zones = world::zones("e.", &format!("@ 60 SOA ns.e. noc.e. {serial} 2 3 4 5\n{text}"));
        self.views.publish(|table| drop(table.views.insert("v".to_owned(), zones)));
        self.keep();
    }

    /// As the instance does in the background.
    fn keep(&self) {
        let table = self.views.load();
        let zone = table.views["v"].zone(&"e.".parse().unwrap()).unwrap().clone();
        self.views.archive().keep("v", &zone);
    }

    fn send(&self, query: &[u8], client: &str, transport: Transport) -> Vec<Vec<u8>> {
        let (table, mut out) = (self.views.load(), Vec::new());
        let client: IpAddr = client.parse().unwrap();
        let around = Circumstances {
            client,
            transport,
            now: NOW as u32,
            ..Circumstances::plain(table.sight(ENDPOINT, client))
        };
        let door = Door { table: &table, archive: self.views.archive(), endpoint: ENDPOINT, now: NOW };
        match attend(query, door, around, &mut out) {
            Attended::Plain => respond(query, around, &mut out).map(|_| out).into_iter().collect(),
            Attended::Silent => Vec::new(),
            Attended::Replied(_) => vec![out],
            Attended::Streaming(mut stream) => {
                let mut messages = Vec::new();
                while stream.next(NOW, &mut out).unwrap() {
                    messages.push(out.clone());
                }
                messages
            }
        }
    }

    /// The records of a transfer to the secondary.
    fn transfer(&self, query: &[u8]) -> Vec<String> {
        records(&self.send(query, "192.0.2.9", Transport::Tcp))
    }

    fn count(&self, event: TransferEvent) -> u64 {
        self.views.archive().counts()[&event]
    }
}

fn records(messages: &[Vec<u8>]) -> Vec<String> {
    let lines = messages.iter().flat_map(|message| show(message));
    lines.filter_map(|line| line.strip_prefix("answer ").map(str::to_owned)).collect()
}

/// A zone that is large enough for its steps to be worth keeping.
fn padded(text: &str) -> String {
    let pad: String = (0..200).map(|at| format!("pad{at} 60 A 192.0.2.1\n")).collect();
    format!("{pad}{text}")
}

fn axfr() -> Vec<u8> {
    Ask::new("e.", "AXFR").with("edns").octets()
}

/// An IXFR query of somebody who has a serial.
fn ixfr(serial: u32) -> Vec<u8> {
    let mut octets = Ask::new("e.", "IXFR").octets();
    octets[9] = 1;
    octets.extend([0xc0, 12, 0, 6, 0, 1, 0, 0, 0, 0, 0, 22, 0, 0]);
    octets.extend(serial.to_be_bytes());
    octets.extend([0; 16]);
    octets
}

const SOA: &str = "e. 60 SOA ns.e. noc.e. 1 2 3 4 5";

#[test]
fn a_whole_zone_begins_and_ends_with_its_soa_and_has_occluded_data_too() {
    let primary = Primary::new(
        "@ 60 NS ns\nns 60 A 192.0.2.1\nsub 60 NS ns.sub\nns.sub 60 A 192.0.2.2\nbelow.sub 60 TXT hidden",
        vec![],
    );
    let wanted = [
        SOA,
        "e. 60 NS ns.e.",
        "ns.e. 60 A 192.0.2.1",
        "sub.e. 60 NS ns.sub.e.",
        "below.sub.e. 60 TXT hidden",
        "ns.sub.e. 60 A 192.0.2.2",
        SOA,
    ];
    assert_eq!(primary.transfer(&axfr()), wanted);
    assert_eq!(primary.count(TransferEvent::Whole), 1);
}

#[test]
fn nobody_transfers_who_may_not() {
    let primary = Primary::new("www 60 A 192.0.2.1", vec![]);
    let refused = |client: &str| show(&primary.send(&axfr(), client, Transport::Tcp)[0]);
    let wanted = ["REFUSED", "edns 1232", "error 18 transfers are not allowed to this address"];
    assert_eq!(refused("198.51.100.1"), wanted);
    primary.views.publish(|table| table.transfers.clear());
    assert_eq!(refused("192.0.2.9"), ["REFUSED", "edns 1232", "error 18 transfers are not set up here"]);
    assert_eq!(primary.count(TransferEvent::Refused), 2);
}

#[test]
fn what_is_not_there_or_not_known_is_told_apart() {
    let primary = Primary::new("www 60 A 192.0.2.1", vec![]);
    let ask =
        |name: &str| show(&primary.send(&Ask::new(name, "AXFR").octets(), "192.0.2.9", Transport::Tcp)[0]);
    assert_eq!(ask("www.e."), ["NotAuth"], "a name in a zone is not a zone");
    assert_eq!(ask("other."), ["NotAuth"]);
    primary.views.publish(|table| table.synced = false);
    assert_eq!(ask("e."), ["SERVFAIL"]);
    assert_eq!(show(&primary.send(&axfr(), "192.0.2.9", Transport::Udp)[0])[0], "SERVFAIL");
}

#[test]
fn a_change_is_transferred_as_its_step() {
    let primary = Primary::new(&padded("a 60 A 192.0.2.1\na 60 A 192.0.2.2\nb 60 A 192.0.2.3"), vec![]);
    primary.put(2, &padded("a 60 A 192.0.2.1\na 60 A 192.0.2.9\nb 30 A 192.0.2.3"));
    let soa = |serial| format!("e. 60 SOA ns.e. noc.e. {serial} 2 3 4 5");
    let wanted = [
        soa(2),
        soa(1),
        "a.e. 60 A 192.0.2.2".to_owned(),
        "b.e. 60 A 192.0.2.3".to_owned(),
        soa(2),
        "a.e. 60 A 192.0.2.9".to_owned(),
        "b.e. 30 A 192.0.2.3".to_owned(),
        soa(2),
    ];
    assert_eq!(primary.transfer(&ixfr(1)), wanted);
    assert_eq!(primary.transfer(&ixfr(2)), [soa(2)], "the same serial gets the SOA alone");
    assert_eq!(primary.transfer(&ixfr(3)), [soa(2)], "a newer one too");
    assert_eq!(primary.count(TransferEvent::UpToDate), 2);
}

#[test]
fn a_serial_that_is_not_known_gets_the_whole_zone() {
    let primary = Primary::new("a 60 A 192.0.2.1", vec![]);
    primary.put(5, "a 60 A 192.0.2.2");
    assert_eq!(primary.transfer(&ixfr(3)), primary.transfer(&axfr()));
    assert_eq!(primary.count(TransferEvent::WholeInsteadOfSteps), 1);
}

#[test]
fn steps_take_no_more_than_the_zone() {
    let primary = Primary::new("a 60 A 192.0.2.1\nb 60 A 192.0.2.1\nc 60 A 192.0.2.1", vec![]);
    for serial in 2..100 {
        primary.put(serial, &format!("a 60 A 192.0.2.{serial}\nb 60 A 192.0.2.1\nc 60 A 192.0.2.1"));
    }
    assert_eq!(primary.transfer(&ixfr(1)).len(), 5, "the way from the first is forgotten: whole");
    let large: String = (0..500).map(|at| format!("n{at} 60 A 192.0.2.1\n")).collect();
    let primary = Primary::new(&large, vec![]);
    for serial in 2..20 {
        primary.put(serial, &format!("{large}x 60 A 192.0.2.{serial}"));
    }
    assert_eq!(primary.transfer(&ixfr(1)).len(), 2 + 18 * 2 + 18 * 2 - 1, "a large zone remembers more");
}

#[test]
fn content_that_is_new_under_an_old_serial_waits_for_the_next() {
    let primary = Primary::new(&padded("a 60 A 192.0.2.1"), vec![]);
    primary.put(1, &padded("a 60 A 192.0.2.2"));
    assert_eq!(primary.transfer(&axfr())[1], "a.e. 60 A 192.0.2.1");
    primary.put(2, &padded("a 60 A 192.0.2.3"));
    let step = primary.transfer(&ixfr(1));
    assert!(step.contains(&"a.e. 60 A 192.0.2.1".to_owned()), "{step:?}");
}

#[test]
fn what_is_held_back_is_transferred_instead_of_what_is_answered() {
    let primary = Primary::new("a 60 A 192.0.2.1", vec![]);
    let old = primary.views.load().views["v"].zone(&"e.".parse().unwrap()).unwrap().clone();
    primary.views.publish(|table| {
        let zones = world::zones("e.", "@ 60 SOA ns.e. noc.e. 2 2 3 4 5\na 60 A 192.0.2.2");
        table.views.insert("v".to_owned(), zones);
        let held = [("e.".parse().unwrap(), Some(old))];
        table.held.insert("v".to_owned(), held.into());
    });
    assert_eq!(primary.transfer(&axfr()), [SOA, "a.e. 60 A 192.0.2.1", SOA]);
    primary.views.publish(|table| drop(table.held.get_mut("v").unwrap().insert("e.".parse().unwrap(), None)));
    let answer = primary.send(&axfr(), "192.0.2.9", Transport::Tcp);
    assert_eq!(show(&answer[0])[2], "error 14 the zone has no settled version yet");
}

#[test]
fn a_datagram_has_all_steps_or_the_soa_alone() {
    let many: String = (0..60).map(|at| format!("n{at} 60 A 192.0.2.1\n")).collect();
    let primary = Primary::new(&many, vec![]);
    primary.put(2, &format!("{many}x 60 A 192.0.2.1"));
    primary.put(3, &many.replace("192.0.2.1", "192.0.2.7"));
    let ask = |serial| {
        let messages = primary.send(&ixfr(serial), "192.0.2.9", Transport::Udp);
        assert!(messages.len() == 1 && messages[0].len() <= 512);
        records(&messages)
    };
    assert_eq!(ask(1).len(), 1);
    assert_eq!(ask(2).len(), 1);
    primary.put(4, &format!("{}x 60 A 192.0.2.1", many.replace("192.0.2.1", "192.0.2.7")));
    assert_eq!(ask(3).len(), 5);
    let whole = primary.send(&axfr(), "192.0.2.9", Transport::Udp);
    assert_eq!(show(&whole[0])[0], "FORMERR", "a zone does not travel in a datagram");
}

#[test]
fn a_catalog_is_for_secondaries_alone() {
    let primary = Primary::new("a 60 A 192.0.2.1", vec![]);
    let members = |names: &[&str]| names.iter().map(|name| name.parse().unwrap()).collect::<BTreeSet<Name>>();
    let mut catalog = Catalog::new("edge", members(&["e.", "f."]), 7).unwrap();
    let publish = |catalog: &Catalog| {
        let zones = catalog.zones().clone();
        primary.views.publish(|table| drop(table.catalogs.insert("v".to_owned(), zones)));
    };
    publish(&catalog);
    let origin = "catalog.edge.fingerpost.invalid.";
    let query = Ask::new(origin, "AXFR").octets();
    let first = primary.transfer(&query);
    assert_eq!(first.len(), 6, "{first:?}");
    assert!(first.contains(&format!("version.{origin} 0 TXT 2")), "{first:?}");
    assert!(first.contains(&format!("{origin} 0 NS invalid.")), "{first:?}");
    assert_eq!(
        first
            .iter()
            .filter(|line| line.ends_with(".zones.catalog.edge.fingerpost.invalid. 0 PTR e."))
            .count(),
        1
    );
    let soa = Ask::new(origin, "SOA").octets();
    assert_eq!(show(&primary.send(&soa, "192.0.2.9", Transport::Udp)[0])[0], "NOERROR aa");
    assert_eq!(show(&primary.send(&soa, "198.51.100.1", Transport::Udp)[0])[0], "REFUSED");
    assert_eq!(show(&primary.send(&query, "198.51.100.1", Transport::Tcp)[0])[0], "REFUSED");
    assert!(!catalog.update(members(&["f.", "e."]), 9), "the same members are no news");
    assert!(catalog.update(members(&["e."]), 7));
    publish(&catalog);
    let second = primary.transfer(&query);
    assert_eq!(second.len(), 5);
    assert!(second.iter().all(|line| line.contains(" 8 3600 ") || first.contains(line)), "{second:?}");
}

/// The names and addresses of a zone: what proptest varies.
fn text(names: &[(u8, u8, u8)]) -> String {
    let line = |(name, ttl, address): &(u8, u8, u8)| {
        format!("n{name} {} A 192.0.2.{address}\n", 60 + (name + ttl) % 2)
    };
    // All records of a set have one TTL.
    let ttl = |name: u8| names.iter().find(|(other, ..)| *other == name).map_or(0, |(_, ttl, _)| *ttl);
    names.iter().map(|(name, _, address)| line(&(*name, ttl(*name), *address))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn steps_lead_from_any_version_to_the_newest(
        versions in prop::collection::vec(prop::collection::vec((0u8..12, 0u8..2, 0u8..4), 0..20), 1..6)
    ) {
        let primary = Primary::new(&padded(&text(&versions[0])), vec![]);
        let first: BTreeSet<String> = primary.transfer(&axfr()).into_iter().collect();
        for (at, version) in versions.iter().enumerate().skip(1) {
            primary.put(at as u32 + 1, &padded(&text(version)));
        }
        let newest: BTreeSet<String> = primary.transfer(&axfr()).into_iter().collect();
        let steps = primary.transfer(&ixfr(1));
        let after = if steps.len() == 1 { first } else { applied(first, &steps) };
        prop_assert_eq!(after, newest);
    }
}

/// Does what an incremental transfer says.
fn applied(mut zone: BTreeSet<String>, steps: &[String]) -> BTreeSet<String> {
    let mut adds = true;
    for line in &steps[1..steps.len() - 1] {
        if line.contains(" SOA ") {
            adds = !adds;
        }
        let did = if adds { zone.insert(line.clone()) } else { zone.remove(line) };
        assert!(did, "nothing is deleted that is not there, nor added that is: {line}");
    }
    zone
}

fn keys() -> Vec<(TsigKey, Key)> {
    let algorithms = [
        ("one.", TsigAlgorithm::HmacSha256, TheirAlgorithm::Sha256),
        ("two.", TsigAlgorithm::HmacSha384, TheirAlgorithm::Sha384),
        ("three.", TsigAlgorithm::HmacSha512, TheirAlgorithm::Sha512),
    ];
    let pair = |(name, ours, theirs): (&str, TsigAlgorithm, TheirAlgorithm)| {
        (TsigKey::new(name.parse().unwrap(), ours, SECRET), their_key(name, theirs, SECRET))
    };
    algorithms.map(pair).into()
}

fn their_key(name: &str, algorithm: TheirAlgorithm, secret: &[u8]) -> Key {
    Key::new(algorithm, secret, name.parse().unwrap(), None, None).unwrap()
}

type Building = AdditionalBuilder<Vec<u8>>;

/// A query that the other library is about to sign.
fn building(name: &str, rtype: Rtype) -> Building {
    let mut question = MessageBuilder::new_vec().question();
    question.header_mut().set_id(77);
    let name: domain::base::Name<Vec<u8>> = name.parse().unwrap();
    question.push((name, domain::base::Rtype::from_int(rtype.0), Class::IN)).unwrap();
    question.additional()
}

fn at(seconds: u64) -> Time48 {
    Time48::from_u64(seconds)
}

#[test]
fn every_message_of_a_signed_transfer_verifies() {
    let many: String = (0..3000).map(|at| format!("n{at} 60 A 192.0.2.1\n")).collect();
    let keys = keys();
    let primary = Primary::new(&many, keys.iter().map(|(ours, _)| ours.clone()).collect());
    assert_eq!(
        show(&primary.send(&axfr(), "192.0.2.9", Transport::Tcp)[0])[2],
        "error 18 transfers must be signed with a key"
    );
    for (_, theirs) in &keys {
        let mut query = building("e.", Rtype::AXFR);
        let mut sequence = ClientSequence::request(theirs, &mut query, at(NOW)).unwrap();
        let messages = primary.send(&query.finish(), "192.0.2.9", Transport::Tcp);
        assert!(messages.len() > 2, "{}", messages.len());
        for message in &messages {
            assert!(message.len() <= 16 << 10);
            sequence.answer(&mut Octets::from_octets(message.clone()).unwrap(), at(NOW)).unwrap();
        }
        sequence.done().unwrap();
        assert_eq!(records(&messages).len(), 3002);
        let mut query = building("e.", Rtype::AXFR);
        ClientSequence::request(theirs, &mut query, at(NOW)).unwrap();
        let elsewhere = primary.send(&query.finish(), "198.51.100.1", Transport::Tcp);
        assert_eq!(show(&elsewhere[0])[0], "REFUSED", "the key alone does not do where networks are named");
    }
}

#[test]
fn a_signed_question_gets_a_signed_answer_over_udp_too() {
    let keys = keys();
    let many: String = (0..26).map(|at| format!("many 60 A 192.0.2.{at}\n")).collect();
    let primary = Primary::new(&many, keys.iter().map(|(ours, _)| ours.clone()).collect());
    for (_, theirs) in &keys {
        for (name, rtype, first) in [
            ("e.", Rtype::SOA, "NOERROR aa"),
            ("gone.e.", Rtype::A, "NXDOMAIN aa"),
            ("many.e.", Rtype::A, "NOERROR aa tc"),
        ] {
            let mut query = building(name, rtype);
            let transaction = ClientTransaction::request(theirs, &mut query, at(NOW)).unwrap();
            let answers = primary.send(&query.finish(), "198.51.100.1", Transport::Udp);
            assert!(answers[0].len() <= 512);
            assert_eq!(show(&answers[0])[0], first);
            transaction.answer(&mut Octets::from_octets(answers[0].clone()).unwrap(), at(NOW)).unwrap();
        }
    }
}

#[test]
fn a_forwarded_query_is_answered_under_the_id_that_it_came_with() {
    let primary = Primary::new("a 60 A 192.0.2.1", keys().into_iter().map(|(ours, _)| ours).collect());
    let key = their_key("one.", TheirAlgorithm::Sha256, SECRET);
    let mut query = building("a.e.", Rtype::A);
    let transaction = ClientTransaction::request(&key, &mut query, at(NOW)).unwrap();
    let mut octets = query.finish();
    octets[..2].copy_from_slice(&[9, 9]);
    let answer = primary.send(&octets, "192.0.2.9", Transport::Udp).remove(0);
    assert_eq!(answer[..2], [9, 9]);
    transaction.answer(&mut Octets::from_octets(answer).unwrap(), at(NOW)).unwrap();
}

/// Asks with a signature that does not hold.
fn refused<'a>(primary: &Primary, key: &'a Key, time: u64) -> (ClientTransaction<&'a Key>, Octets<Vec<u8>>) {
    let mut query = building("e.", Rtype::AXFR);
    let transaction = ClientTransaction::request(key, &mut query, at(time)).unwrap();
    let answers = primary.send(&query.finish(), "192.0.2.9", Transport::Tcp);
    assert_eq!(show(&answers[0])[0], "NotAuth");
    (transaction, Octets::from_octets(answers[0].clone()).unwrap())
}

#[test]
fn a_signature_that_does_not_hold_is_told_why() {
    let primary = Primary::new("a 60 A 192.0.2.1", keys().into_iter().map(|(ours, _)| ours).collect());
    let answer = |key: &Key, time: u64| {
        let (transaction, mut answer) = refused(&primary, key, time);
        format!("{:?}", transaction.answer(&mut answer, at(time)).unwrap_err())
    };
    let stranger = their_key("stranger.", TheirAlgorithm::Sha256, SECRET);
    assert_eq!(answer(&stranger, NOW), "ServerBadKey");
    let other_algorithm = their_key("one.", TheirAlgorithm::Sha512, SECRET);
    assert_eq!(answer(&other_algorithm, NOW), "ServerBadKey");
    let impostor = their_key("one.", TheirAlgorithm::Sha256, b"another secret altogether");
    assert_eq!(answer(&impostor, NOW), "ServerBadSig");
    let key = their_key("one.", TheirAlgorithm::Sha256, SECRET);
    // The other library takes eight octets of the server's time for six when it verifies this one.
    let (_, late) = refused(&primary, &key, NOW - 301);
    let record = late.additional().unwrap().last().unwrap().unwrap();
    let tsig = record.to_record::<Tsig<_, _>>().unwrap().unwrap();
    assert_eq!((tsig.data().error(), tsig.data().other_time()), (TsigRcode::BADTIME, Some(at(NOW))));
    assert_eq!((tsig.data().time_signed(), tsig.data().mac_slice().len()), (at(NOW - 301), 32));
    assert_eq!(primary.count(TransferEvent::BadSignature), 4);
}

/// A name of 255 octets, or of fewer.
fn long_name(octets: usize) -> String {
    let mut left = octets - 1;
    let mut name = String::new();
    while left > 0 {
        let label = (left - 1).min(63);
        // No label is empty.
        let label = if left - 1 - label == 1 { label - 1 } else { label };
        name += &format!("{}.", "x".repeat(label));
        left -= 1 + label;
    }
    name
}

/// Queries of every length over UDP whose signatures do not hold, or whose transfer is refused or too long.
#[test]
fn no_error_of_a_signature_is_longer_than_the_client_takes() {
    let held = long_name(255);
    let ours = TsigKey::new(held.parse().unwrap(), TsigAlgorithm::HmacSha512, SECRET);
    let primary = Primary::new("a 60 A 192.0.2.1", vec![ours]);
    let good = their_key(&held, TheirAlgorithm::Sha512, SECRET);
    let impostor = their_key(&held, TheirAlgorithm::Sha512, b"another secret altogether");
    let stranger = |octets| their_key(&long_name(octets), TheirAlgorithm::Sha512, SECRET);
    let strangers = [3, 100, 200, 254].map(stranger);
    let cases =
        strangers.iter().map(|key| (key, NOW)).chain([(&impostor, NOW), (&good, NOW - 301), (&good, NOW)]);
    for (key, time) in cases {
        for octets in [3, 64, 128, 192, 200, 210, 220, 250, 255] {
            for (rtype, size) in
                [(Rtype::A, None), (Rtype::AXFR, None), (Rtype::IXFR, None), (Rtype::A, Some(600))]
            {
                let mut query = building(&long_name(octets), rtype);
                if let Some(size) = size {
                    let set_size = |opt: &mut OptBuilder<'_, _>| {
                        opt.set_udp_payload_size(size);
                        Ok(())
                    };
                    query.opt(set_size).unwrap();
                }
                let transaction = ClientTransaction::request(key, &mut query, at(time)).unwrap();
                let query = query.finish();
                let answer = primary.send(&query, "192.0.2.9", Transport::Udp).remove(0);
                let longest = usize::from(size.unwrap_or(512));
                assert!(answer.len() <= longest, "{} octets for {octets}, {rtype}", answer.len());
                assert!(answer[12..].starts_with(&query[12..12 + octets + 4]), "the question comes back");
                let whole = primary.send(&query, "192.0.2.9", Transport::Tcp).remove(0);
                let (is_truncated, has_tsig) = (answer[2] & 2 != 0, answer[11] > 0);
                assert_eq!(is_truncated, whole.len() > longest || whole.len() > answer.len());
                assert!(has_tsig || is_truncated && whole[11] > 0, "TSIG is there where it fits");
                if time == NOW && std::ptr::eq(key, &good) && has_tsig {
                    transaction.answer(&mut Octets::from_octets(answer).unwrap(), at(NOW)).unwrap();
                }
            }
        }
    }
}

/// With TSIG, the longest response over TCP is longer than a message can be.
#[test]
fn a_response_that_is_too_long_with_its_signature_is_cut_off_over_tcp_too() {
    let text: String = (0..258).map(|at| format!("big 60 TXT {:0>240}\n", at)).collect();
    let (ours, theirs) = keys().remove(2);
    let primary = Primary::new(&text, vec![ours]);
    let mut query = building("big.e.", Rtype::TXT);
    let transaction = ClientTransaction::request(&theirs, &mut query, at(NOW)).unwrap();
    let answer = primary.send(&query.finish(), "192.0.2.9", Transport::Tcp).remove(0);
    assert!(answer.len() <= 65535, "{}", answer.len());
    transaction.answer(&mut Octets::from_octets(answer).unwrap(), at(NOW)).unwrap();
}

#[test]
fn a_signature_that_is_not_the_last_record_is_malformed() {
    let (ours, theirs) = keys().remove(0);
    let primary = Primary::new("a 60 A 192.0.2.1", vec![ours]);
    let mut query = building("e.", Rtype::SOA);
    ClientTransaction::request(&theirs, &mut query, at(NOW)).unwrap();
    let mut octets = query.finish();
    for length in 12..octets.len() {
        primary.send(&octets[..length], "192.0.2.9", Transport::Udp);
    }
    octets[11] = 2;
    octets.extend([0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0]);
    let answer = primary.send(&octets, "192.0.2.9", Transport::Udp).remove(0);
    assert_eq!(show(&answer), ["FORMERR"]);
    assert_eq!(answer[12..], octets[12..12 + 3 + 4], "the question comes back");
    octets[2] |= 0x80;
    let answers = primary.send(&octets, "192.0.2.9", Transport::Udp);
    assert!(answers.is_empty(), "a response gets none, or two servers talk for ever");
}

#[test]
fn a_transfer_is_served_in_the_version_of_edns_that_we_know() {
    let (ours, theirs) = keys().remove(0);
    let open = Primary::new("a 60 A 192.0.2.1", vec![]);
    let keyed = Primary::new("a 60 A 192.0.2.1", vec![ours]);
    for rtype in [Rtype::AXFR, Rtype::IXFR] {
        let query = Ask::new("e.", &rtype.to_string()).with("version=1").octets();
        let answers = open.send(&query, "192.0.2.9", Transport::Tcp);
        assert_eq!(show(&answers[0]), ["BADVERS", "edns 1232"], "RFC 6891 section 6.1.3");
        let mut query = building("e.", rtype);
        let versioned = query.opt(|opt| {
            opt.set_version(1);
            Ok(())
        });
        versioned.unwrap();
        let transaction = ClientTransaction::request(&theirs, &mut query, at(NOW)).unwrap();
        let answers = keyed.send(&query.finish(), "192.0.2.9", Transport::Tcp);
        assert_eq!(show(&answers[0])[0], "BADVERS");
        transaction.answer(&mut Octets::from_octets(answers[0].clone()).unwrap(), at(NOW)).unwrap();
    }
    assert_eq!(open.count(TransferEvent::Whole) + keyed.count(TransferEvent::Whole), 0);
}

#[tokio::test]
async fn a_transfer_over_a_socket_reads_one_version_to_its_end() {
    let many = |last: u8| (0..4000).map(|at| format!("n{at} 60 A 192.0.2.{last}\n")).collect::<String>();
    let primary = Primary::new(&many(1), vec![]);
    let settings =
        TransferSettings { to: vec!["127.0.0.0/8".parse().unwrap()], ..TransferSettings::default() };
    primary.views.publish(|table| drop(table.transfers.insert("v".to_owned(), Arc::new(settings))));
    let handle = serve(bind(([127, 0, 0, 1], 0).into()).await.unwrap(), ENDPOINT, primary.views.clone());
    let mut stream = TcpStream::connect(handle.local_addr()).await.unwrap();
    let query = axfr();
    stream.write_all(&[&(query.len() as u16).to_be_bytes(), &query[..]].concat()).await.unwrap();
    let mut messages = vec![receive(&mut stream).await];
    primary.put(2, &many(2));
    while records(&messages).iter().filter(|line| line.contains(" SOA ")).count() < 2 {
        messages.push(receive(&mut stream).await);
    }
    let records = records(&messages);
    assert_eq!(records.len(), 4002);
    assert!(records.iter().all(|line| !line.ends_with("192.0.2.2")));
    stream.write_all(&[&(query.len() as u16).to_be_bytes(), &query[..]].concat()).await.unwrap();
    assert!(show(&receive(&mut stream).await)[1].contains("noc.e. 2 "), "the next one has the next version");
    drop(stream);
    handle.stop().await;
}

async fn receive(stream: &mut TcpStream) -> Vec<u8> {
    let mut message = vec![0; usize::from(stream.read_u16().await.unwrap())];
    stream.read_exact(&mut message).await.unwrap();
    message
}

#[test]
fn a_steered_name_is_transferred_with_its_present_answer() {
    let primary = Primary::new("other 60 A 192.0.2.3", vec![]);
    let origin: Name = "e.".parse().unwrap();
    let name: Name = "www.e.".parse().unwrap();
    let leaf = |data| Steering::All(vec![Member { data, probe: None }]);
    let addresses = ["192.0.2.1", "192.0.2.2"].map(|text| Rdata::parse(Rtype::A, text, &origin).unwrap());
    let set = RecordSet::new(name.clone(), Rtype::A, 30, addresses.to_vec());
    let steering = Some(Arc::new(Steering::Failover(vec![leaf(1), leaf(0)])));
    let sets = vec![RecordSet { steering, ..set }];
    let soa = primary.views.load().views["v"].zone(&origin).unwrap().soa().unwrap().clone();
    let soa = RecordSet::new(
        origin.clone(),
        Rtype::SOA,
        soa.ttl,
        vec![Rdata::parse(Rtype::SOA, "ns.e. noc.e. 2 2 3 4 5", &origin).unwrap()],
    );
    primary.views.publish(|table| {
        let zones = table.views.get_mut("v").unwrap();
        zones.apply(ZoneUpdate::PutNode { origin: origin.clone(), name, sets });
        zones.apply(ZoneUpdate::PutZone { origin, soa, base: None });
    });
    let records = primary.transfer(&axfr());
    assert_eq!(records[1..3], ["other.e. 60 A 192.0.2.3", "www.e. 30 A 192.0.2.2"]);
}

#[test]
fn a_signed_zone_is_transferred_with_its_signatures_and_always_whole() {
    let text = padded("@ 60 NS ns\nns 60 A 192.0.2.1\nsub 60 NS ns.sub\nns.sub 60 A 192.0.2.2");
    let primary = Primary::new(&text, vec![]);
    primary.put(2, &text);
    primary.views.publish(|table| sign(table.views.get_mut("v").unwrap(), Algorithm::Ed25519, Denial::Nsec));
    let table = primary.views.load();
    let zone = table.views["v"].zone(&"e.".parse().unwrap()).unwrap();
    let wanted = signed_sets(zone, NOW as u32).unwrap().map(|set| set.data.len()).sum::<usize>();
    let records = primary.transfer(&axfr());
    assert_eq!(records.len(), wanted + 1);
    for piece in [" RRSIG ", " NSEC ", " DNSKEY ", "ns.sub.e. 60 A 192.0.2.2"] {
        assert!(records.iter().any(|line| line.contains(piece)), "{piece}");
    }
    assert_eq!(primary.transfer(&ixfr(1)).len(), records.len());
    assert_eq!(primary.transfer(&ixfr(2)).len(), 1);
}
