#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use dns::{Rdata, RecordSet};
use domain::base::Message;
use domain::base::iana::Rcode;
use domain::base::message_builder::MessageBuilder;
use domain::rdata::tsig::Time48;
use domain::tsig::ClientTransaction;
use hickory_proto::op::Message as OtherMessage;
use proptest::prelude::*;
use rstest::rstest;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::lookup::{Told, seen, zone_in};
use super::message::{Found, Line};
use super::update::prerequisites;
use super::*;
use crate::unit::units;
use crate::{Obstacle, SetChange};

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

fn zone() -> Name {
    name("example.org")
}

fn set(owner: &str, rtype: &str, data: &[&str]) -> RecordSet {
    let rtype = rtype.parse().unwrap();
    let data = data.iter().map(|data| Rdata::parse(rtype, data, &Name::root()).unwrap()).collect();
    RecordSet::new(name(owner), rtype, 300, data)
}

fn soa(serial: u32) -> RecordSet {
    set("example.org", "SOA", &[&format!("ns.example.org. noc.example.org. {serial} 1 2 3 4")])
}

fn change(before: Option<&RecordSet>, after: Option<&RecordSet>) -> SetChange {
    let entry = |set: &RecordSet| Entry::from(set.clone());
    SetChange {
        key: SetKey::of(before.or(after).unwrap()),
        before: before.map(entry),
        after: after.map(entry),
    }
}

fn batch(changes: Vec<SetChange>) -> Batch {
    Batch { zone: zone(), changes, guards: Vec::new(), generation: 1 }
}

/// An answer as a server sends it: code, authority, and records by section.
fn answer(rcode: Rcode, is_authoritative: bool, sections: [&[RecordSet]; 3]) -> Vec<u8> {
    let lines = |sets: &[RecordSet]| -> Vec<(Name, u32, Rdata)> {
        let records = sets.iter().flat_map(|set| set.data.iter().map(move |data| (set, data.clone())));
        records.map(|(set, data)| (set.name.clone(), set.ttl, data)).collect()
    };
    let mut builder = MessageBuilder::new_vec();
    builder.header_mut().set_qr(true);
    builder.header_mut().set_aa(is_authoritative);
    builder.header_mut().set_rcode(rcode);
    let mut section = builder.answer();
    for (owner, ttl, data) in lines(sections[0]) {
        section.push(record(&owner, ttl, &data)).unwrap();
    }
    let mut section = section.authority();
    for (owner, ttl, data) in lines(sections[1]) {
        section.push(record(&owner, ttl, &data)).unwrap();
    }
    let mut section = section.additional();
    for (owner, ttl, data) in lines(sections[2]) {
        section.push(record(&owner, ttl, &data)).unwrap();
    }
    section.finish()
}

type Record = (
    domain::base::Name<Vec<u8>>,
    domain::base::iana::Class,
    domain::base::Ttl,
    domain::base::rdata::UnknownRecordData<Vec<u8>>,
);

fn record(owner: &Name, ttl: u32, data: &Rdata) -> Record {
    let rdata =
        domain::base::rdata::UnknownRecordData::from_octets(data.rtype().0.into(), data.wire().to_vec());
    let ttl = domain::base::Ttl::from_secs(ttl);
    (message::wire_name(owner).unwrap(), domain::base::iana::Class::IN, ttl, rdata.unwrap())
}

fn transferred(messages: &[&[RecordSet]]) -> Result<Vec<RecordSet>, Failure> {
    let zone = zone();
    let mut transfer = Transfer::new(&zone);
    for sets in messages {
        transfer.push(&answer(Rcode::NOERROR, true, [sets, &[], &[]]))?;
    }
    transfer.finish()
}

#[test]
fn a_transfer_is_whole_only_with_its_closing_soa() {
    let www = set("www.example.org", "A", &["192.0.2.1"]);
    let whole = transferred(&[&[soa(1), www.clone()], &[soa(1)]]).unwrap();
    assert_eq!(whole, [soa(1), www.clone()]);
    let elsewhere = set("www.example.net", "A", &["192.0.2.1"]);
    let broken: [&[&[RecordSet]]; 8] = [
        &[],
        &[&[soa(1)]],
        &[&[soa(1), www.clone()]],
        &[&[www.clone(), soa(1), soa(1)]],
        &[&[soa(1), www.clone(), soa(2)]],
        &[&[soa(1), soa(1), www.clone()]],
        &[&[soa(1), elsewhere, soa(1)]],
        &[&[], &[soa(1), soa(1)]],
    ];
    for messages in broken {
        assert_eq!(transferred(messages), Err(Failure::Unreadable), "{messages:?}");
    }
}

#[test]
fn a_transfer_that_is_refused_is_no_empty_zone() {
    let zone = zone();
    for (rcode, expected) in [
        (Rcode::REFUSED, Failure::Authentication),
        (Rcode::NOTAUTH, Failure::Authentication),
        (Rcode::SERVFAIL, Failure::Server(2)),
    ] {
        let mut transfer = Transfer::new(&zone);
        assert_eq!(transfer.push(&answer(rcode, true, [&[], &[], &[]])), Err(expected));
        assert_eq!(transfer.finish(), Err(Failure::Unreadable));
    }
}

#[test]
fn compressed_and_differing_records_become_one_set() {
    let records = vec![
        Found { name: name("www.example.org"), ttl: 60, data: Rdata::a([192, 0, 2, 2].into()) },
        Found { name: name("www.example.org"), ttl: 30, data: Rdata::a([192, 0, 2, 1].into()) },
    ];
    let found = message::set_of(&records, &name("www.example.org"), Rtype::A).unwrap();
    assert_eq!(found, RecordSet { ttl: 30, ..set("www.example.org", "A", &["192.0.2.1", "192.0.2.2"]) });
}

#[rstest]
#[case::its_own(Rcode::NOERROR, true, &[soa(1)], &[], Ok(Told::Zone(zone())))]
#[case::below(Rcode::NXDOMAIN, true, &[], &[soa(1)], Ok(Told::Zone(zone())))]
#[case::not_here(Rcode::REFUSED, false, &[], &[], Ok(Told::Higher))]
#[case::from_a_cache(Rcode::NOERROR, false, &[soa(1)], &[], Ok(Told::Higher))]
#[case::given_away(Rcode::NOERROR, false, &[], &[set("example.org", "NS", &["ns.example.net."])], Ok(Told::Elsewhere))]
#[case::hint(Rcode::NOERROR, false, &[], &[set(".", "NS", &["a.root-servers.net."])], Ok(Told::Higher))]
#[case::another_zone(Rcode::NOERROR, true, &[], &[set("example.net", "SOA", &["a. b. 1 2 3 4 5"])], Ok(Told::Higher))]
#[case::broken(Rcode::SERVFAIL, false, &[], &[], Err(Failure::Server(2)))]
fn a_zone_is_what_the_server_itself_answers_for(
    #[case] rcode: Rcode,
    #[case] is_authoritative: bool,
    #[case] answers: &[RecordSet],
    #[case] authority: &[RecordSet],
    #[case] expected: Result<Told, Failure>,
) {
    let answer = message::read(&answer(rcode, is_authoritative, [answers, authority, &[]])).unwrap();
    assert_eq!(zone_in(&answer, &name("www.example.org")), expected);
}

#[test]
fn a_delegation_is_seen_beside_the_referral() {
    let cut = set("sub.example.org", "NS", &["ns.sub.example.org."]);
    let glue = set("ns.sub.example.org", "A", &["192.0.2.1"]);
    let octets =
        answer(Rcode::NOERROR, false, [&[], std::slice::from_ref(&cut), std::slice::from_ref(&glue)]);
    let referral = message::read(&octets).unwrap();
    assert_eq!(seen(&referral, &SetKey::of(&cut)), Some(cut.clone()));
    assert_eq!(seen(&referral, &SetKey::of(&glue)), Some(glue));
    // In an authoritative answer what stands beside is about something else.
    let octets = answer(Rcode::NOERROR, true, [&[], std::slice::from_ref(&cut), &[]]);
    assert_eq!(seen(&message::read(&octets).unwrap(), &SetKey::of(&cut)), None);
}

#[test]
fn an_update_reads_the_same_to_another_decoder() {
    let old = set("www.example.org", "A", &["192.0.2.1"]);
    let new = set("www.example.org", "CNAME", &["elsewhere.example.net."]);
    let batch = batch(vec![change(None, Some(&new)), change(Some(&old), None)]);
    let [unit] = &units(&batch).0[..] else { panic!("one name is one unit") };
    let lines: Vec<Line<'_>> = unit.claims().flat_map(prerequisites).collect();
    let operations = unit.operations(&batch.zone).unwrap();
    let request = message::update(7, &batch.zone, &lines, &operations).unwrap();
    let decoded = OtherMessage::from_vec(request.as_slice()).unwrap();
    let shown = |records: &[hickory_proto::rr::Record]| -> Vec<String> {
        let shown = |record: &hickory_proto::rr::Record| {
            format!(
                "{} {} {} {} {}",
                record.name,
                record.ttl,
                record.dns_class,
                record.record_type(),
                record.data
            )
        };
        records.iter().map(|record| shown(record).trim_end().to_owned()).collect()
    };
    assert_eq!(decoded.queries[0].to_string(), "example.org. IN SOA");
    assert_eq!(
        shown(&decoded.answers),
        ["www.example.org. 0 NONE CNAME UPDATE", "www.example.org. 0 IN A 192.0.2.1"]
    );
    // The other decoder calls empty data UPDATE. What goes comes first, or the server would pass over the CNAME and then delete what stands.
    assert_eq!(
        shown(&decoded.authorities),
        ["www.example.org. 0 ANY A UPDATE", "www.example.org. 300 IN CNAME elsewhere.example.net."]
    );
}

#[test]
fn the_apex_gets_new_name_servers_before_old_ones_go() {
    let old = set("example.org", "NS", &["a.example.net.", "b.example.net."]);
    let new = set("example.org", "NS", &["b.example.net.", "c.example.net."]);
    let batch = batch(vec![change(Some(&old), Some(&new))]);
    let units = units(&batch).0;
    let lines = units[0].operations(&batch.zone).unwrap();
    let shown: Vec<String> = lines
        .iter()
        .map(|line| format!("{} {}", line.class, Rdata::from_wire(line.rtype, line.data).unwrap()))
        .collect();
    assert_eq!(shown, ["IN b.example.net.", "IN c.example.net.", "NONE a.example.net."]);
}

proptest! {
    #[test]
    fn nothing_that_arrives_makes_us_panic(octets in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = message::read(&octets);
        let zone = zone();
        let _ = Transfer::new(&zone).push(&octets);
        let key = signing_key(&key()).unwrap();
        let mut request = message::query(1, &zone, Rtype::SOA).unwrap();
        let transaction = ClientTransaction::request(&key, &mut request, Time48::now()).unwrap();
        if let Ok(mut message) = Message::from_octets(octets) {
            let _ = transaction.answer(&mut message, Time48::now());
        }
    }

    #[test]
    fn nothing_that_was_tampered_with_makes_us_panic(
        at in 0..400_usize,
        octet in any::<u8>(),
        length in 0..400_usize,
    ) {
        let sets = [soa(1), set("www.example.org", "MX", &["10 mail.example.org."]), set("a.example.org", "TXT", &["\"x\""])];
        let mut octets = answer(Rcode::NOERROR, true, [&sets, &sets, &sets]);
        let end = octets.len() - 1;
        octets[at.min(end)] = octet;
        octets.truncate(length.max(12));
        let _ = message::read(&octets);
        let zone = zone();
        let _ = Transfer::new(&zone).push(&octets);
    }

}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn every_message_stays_under_64_kib_and_every_name_in_one_message(
        sizes in proptest::collection::vec((1..40_usize, 1..200_usize), 1..200),
    ) {
        let text = |length: usize| format!("\"{}\"", "x".repeat(length));
        let of_name = |(at, (records, length)): (usize, &(usize, usize))| {
            let data: Vec<String> = (0..*records).map(|number| text(length + number)).collect();
            let data: Vec<&str> = data.iter().map(String::as_str).collect();
            let owner = format!("n{at}.example.org");
            [change(None, Some(&set(&owner, "TXT", &data))), change(Some(&set(&owner, "A", &["192.0.2.1"])), None)]
        };
        let batch = batch(sizes.iter().enumerate().flat_map(of_name).collect());
        let units = units(&batch).0;
        prop_assert_eq!(units.len(), sizes.len());
        let messages = update::messages(&units, 0);
        prop_assert_eq!(messages.concat(), units.clone());
        for units in messages {
            let lines: Vec<Line<'_>> = units.iter().flat_map(|unit| unit.claims()).flat_map(prerequisites).collect();
            let operations: Vec<Line<'_>> =
                units.iter().flat_map(|unit| unit.operations(&batch.zone).unwrap()).collect();
            let mut request = message::update(1, &batch.zone, &lines, &operations).unwrap();
            let key = signing_key(&key()).unwrap();
            ClientTransaction::request(&key, &mut request, Time48::now()).unwrap();
            prop_assert!(request.as_slice().len() <= usize::from(u16::MAX));
        }
    }
}

fn key() -> Key {
    Key { name: name("k"), algorithm: TsigAlgorithm::HmacSha256, secret: b"very secret octets".to_vec() }
}

fn client(server: String, key: Option<Key>, timeout: Duration) -> Rfc2136 {
    let guard = Guard { allowed: vec!["127.0.0.0/8".parse().unwrap()], ..Guard::default() };
    Rfc2136::new(Settings { server, key, timeout }, Arc::new(guard)).unwrap()
}

/// A server that reads one message of each connection, and sends these octets, framed or not.
async fn server(replies: impl Fn(u16) -> Vec<u8> + Send + 'static, stays_open: bool) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        let mut open = Vec::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            let length = stream.read_u16().await.unwrap_or_default();
            let mut request = vec![0; usize::from(length)];
            let _ = stream.read_exact(&mut request).await;
            let id = request.get(..2).map(|id| u16::from_be_bytes([id[0], id[1]])).unwrap_or_default();
            let _ = stream.write_all(&replies(id)).await;
            if stays_open {
                open.push(stream);
            }
        }
    });
    address
}

fn framed(id: u16, mut message: Vec<u8>) -> Vec<u8> {
    message[..2].copy_from_slice(&id.to_be_bytes());
    [&(message.len() as u16).to_be_bytes()[..], &message].concat()
}

#[rstest]
#[case::hangs(server(|_| Vec::new(), true), Failure::TimedOut)]
#[case::closes(server(|_| Vec::new(), false), Failure::Unreachable(Obstacle::Closed))]
#[case::closes_midway(server(|_| vec![0, 100, 1, 2, 3], false), Failure::Unreachable(Obstacle::Closed))]
#[case::speaks_http(server(|_| b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(), false), Failure::Unreachable(Obstacle::Closed))]
#[case::says_nothing(server(|_| vec![0, 0], true), Failure::Unreadable)]
#[case::answers_somebody_else(
    server(|id| framed(id.wrapping_add(1), answer(Rcode::NOERROR, true, [&[], &[], &[]])), true),
    Failure::Unreadable
)]
#[case::breaks_off(server(|id| framed(id, answer(Rcode::NOERROR, true, [&[soa(1)], &[], &[]])), false), Failure::Unreachable(Obstacle::Closed))]
#[case::stops_midway(server(|id| framed(id, answer(Rcode::NOERROR, true, [&[soa(1)], &[], &[]])), true), Failure::TimedOut)]
#[tokio::test]
async fn a_zone_that_does_not_come_whole_is_no_zone(
    #[future(awt)]
    #[case]
    address: String,
    #[case] expected: Failure,
) {
    let client = client(address, None, Duration::from_millis(300));
    assert_eq!(client.read_zone(&zone()).await, Err(expected));
}

#[tokio::test]
async fn an_answer_without_a_signature_is_not_believed() {
    let reply = |id| framed(id, answer(Rcode::NOERROR, true, [&[soa(1), soa(1)], &[], &[]]));
    let client = client(server(reply, true).await, Some(key()), Duration::from_secs(5));
    assert_eq!(client.read_zone(&zone()).await, Err(Failure::Unreadable));
    assert_eq!(client.revision(&zone()).await, Err(Failure::Unreadable));
    let www = set("www.example.org", "A", &["192.0.2.1"]);
    assert_eq!(client.write(&batch(vec![change(None, Some(&www))])).await, [Err(Failure::Unreadable)]);
}

#[tokio::test]
async fn a_forbidden_or_missing_server_is_told() {
    let www = set("www.example.org", "A", &["192.0.2.1"]);
    let settings = Settings { server: "127.0.0.1:53".into(), key: None, timeout: Duration::from_secs(5) };
    let forbidden = Rfc2136::new(settings, Arc::default()).unwrap();
    assert_eq!(forbidden.health().await, Err(Failure::Forbidden));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let missing = client(address, None, Duration::from_secs(5));
    assert_eq!(missing.health().await, Err(Failure::Unreachable(Obstacle::Refused)));
    assert_eq!(
        missing.write(&batch(vec![change(None, Some(&www))])).await,
        [Err(Failure::Unreachable(Obstacle::Refused))]
    );
}

#[rstest]
#[case("ns.example.org:53", Some(("ns.example.org", 53)))]
#[case("[2001:db8::1]:5353", Some(("[2001:db8::1]", 5353)))]
#[case("192.0.2.1:53", Some(("192.0.2.1", 53)))]
#[case("2001:db8::1:53", None)]
#[case("ns.example.org", None)]
#[case("ns.example.org:0", None)]
#[case(":53", None)]
fn a_server_is_a_host_and_a_port(#[case] text: &str, #[case] expected: Option<(&str, u16)>) {
    assert_eq!(place(text), expected.map(|(host, port)| (host.to_owned(), port)));
}

#[test]
fn a_secret_is_never_shown() {
    let settings = Settings { server: "ns:53".into(), key: Some(key()), timeout: Duration::from_secs(1) };
    let shown = format!("{settings:?}{:?}", Rfc2136::new(settings.clone(), Arc::default()).unwrap());
    assert!(!shown.contains("118, 101") && !shown.contains("very"), "{shown}");
}

#[tokio::test]
async fn a_write_ends_in_time_and_what_was_not_made_says_so() {
    let client = client(server(|_| Vec::new(), true).await, None, Duration::from_millis(300));
    let sets: Vec<RecordSet> =
        (0..2_000).map(|number| set(&format!("n{number}.example.org"), "A", &["192.0.2.1"])).collect();
    let results = client.write(&batch(sets.iter().map(|set| change(None, Some(set))).collect())).await;
    assert_eq!(results, vec![Err(Failure::TimedOut); 2_000]);
}
