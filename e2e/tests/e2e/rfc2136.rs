//! The RFC 2136 back-end on real BIND and real Knot.

use std::sync::Arc;
use std::time::Duration;

use api::dnsclass::TsigAlgorithm;
use backends::rfc2136::{Key, Rfc2136, Settings};
use backends::transport::guard::Guard;
use backends::{Batch, Entry, Failure, NewZone, Provider, SetChange, SetKey};
use dns::{Name, Rdata, RecordSet, Rtype};
use e2e::{UpdateProgram, UpdateServer, key_secret};
use rstest::rstest;

const ZONE: &str = "example.org";

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

fn zone() -> Name {
    name(ZONE)
}

fn set(text: &str, rtype: &str, ttl: u32, data: &[&str]) -> RecordSet {
    let rtype = rtype.parse().unwrap();
    let data = data.iter().map(|data| Rdata::parse(rtype, data, &zone()).unwrap()).collect();
    RecordSet::new(name(text), rtype, ttl, data)
}

fn key(name_of_key: &str, algorithm: TsigAlgorithm) -> Option<Key> {
    Some(Key { name: name(name_of_key), algorithm, secret: key_secret() })
}

fn client_with(server: &UpdateServer, key: Option<Key>) -> Rfc2136 {
    let guard = Guard { allowed: vec!["127.0.0.0/8".parse().unwrap()], ..Guard::default() };
    let timeout = Duration::from_secs(10);
    Rfc2136::new(Settings { server: server.dns().to_string(), key, timeout }, Arc::new(guard)).unwrap()
}

fn client(server: &UpdateServer) -> Rfc2136 {
    client_with(server, key("key256", TsigAlgorithm::HmacSha256))
}

fn change(before: Option<&RecordSet>, after: Option<&RecordSet>) -> SetChange {
    let entry = |set: &RecordSet| Entry::from(set.clone());
    let key = SetKey::of(before.or(after).unwrap());
    SetChange { key, before: before.map(entry), after: after.map(entry) }
}

fn batch(changes: Vec<SetChange>) -> Batch {
    Batch { zone: zone(), changes, guards: Vec::new(), generation: 1 }
}

async fn write(client: &Rfc2136, changes: Vec<SetChange>) -> Vec<Result<(), Failure>> {
    client.write(&batch(changes)).await
}

async fn read(client: &Rfc2136, sets: &[&RecordSet]) -> Vec<Option<RecordSet>> {
    let keys: Vec<_> = sets.iter().map(|set| (SetKey::of(set), None)).collect();
    let found = client.read_sets(&zone(), &keys).await.unwrap();
    found.into_iter().map(|entry| entry.map(|entry| entry.set)).collect()
}

/// What the zone holds, without what it came with.
async fn held(client: &Rfc2136) -> Vec<RecordSet> {
    let entries = client.read_zone(&zone()).await.unwrap().into_iter().map(|entry| entry.set);
    entries.filter(|set| set.name != zone() && set.name != name("ns.example.org")).collect()
}

fn of_every_type() -> Vec<RecordSet> {
    vec![
        set("a.example.org", "A", 60, &["192.0.2.1", "192.0.2.2"]),
        set("a.example.org", "AAAA", 60, &["2001:db8::1"]),
        set("a.example.org", "TXT", 60, &["\"plain\"", "\"with \\\"quotes\\\" and ; semicolon\" \"second\""]),
        set("alias.example.org", "CNAME", 300, &["elsewhere.example.net."]),
        set("mail.example.org", "MX", 300, &["10 a.example.org.", "20 mx2.example.net."]),
        set("_sip._tcp.example.org", "SRV", 300, &["1 2 5060 sip.example.org."]),
        set("sub.example.org", "NS", 300, &["ns1.sub.example.org.", "ns2.example.net."]),
        set("ns1.sub.example.org", "A", 300, &["192.0.2.77"]),
        set("ptr.example.org", "PTR", 300, &["host.example.org."]),
        set("caa.example.org", "CAA", 300, &["0 issue \"ca.example.net\"", "0 iodef \"mailto:noc@example.org\""]),
        set("https.example.org", "HTTPS", 300, &["1 . alpn=h2,h3 ipv4hint=192.0.2.1"]),
        set("_443._tcp.example.org", "TLSA", 300, &[
            "3 1 1 d2abde240d7cd3ee6b4b28c54df034b97983a1d16e8a410e4561cb106618e971",
        ]),
        set("ds.example.org", "NAPTR", 300, &["100 10 \"u\" \"E2U+sip\" \"!^.*$!sip:info@example.org!\" ."]),
        set("*.wild.example.org", "A", 300, &["192.0.2.3"]),
        set("ssh.example.org", "SSHFP", 300, &["4 2 123456789abcdef67890123456789abcdef67890123456789abcdef123456789"]),
        set("old.example.org", "DNAME", 300, &["new.example.net."]),
        set("unknown.example.org", "TYPE65280", 300, &["\\# 3 0a0b0c"]),
    ]
}

#[rstest]
#[case::bind_sha256(UpdateProgram::Bind, "key256", TsigAlgorithm::HmacSha256)]
#[case::bind_sha384(UpdateProgram::Bind, "key384", TsigAlgorithm::HmacSha384)]
#[case::bind_sha512(UpdateProgram::Bind, "key512", TsigAlgorithm::HmacSha512)]
#[case::knot_sha256(UpdateProgram::Knot, "key256", TsigAlgorithm::HmacSha256)]
#[case::knot_sha384(UpdateProgram::Knot, "key384", TsigAlgorithm::HmacSha384)]
#[case::knot_sha512(UpdateProgram::Knot, "key512", TsigAlgorithm::HmacSha512)]
#[tokio::test]
async fn every_type_is_written_read_back_changed_and_deleted(
    #[case] program: UpdateProgram,
    #[case] key_name: &str,
    #[case] algorithm: TsigAlgorithm,
) {
    let server = UpdateServer::start(program, &[ZONE]).unwrap();
    let client = client_with(&server, key(key_name, algorithm));
    client.health().await.unwrap();
    let sets = of_every_type();
    let before = client.revision(&zone()).await.unwrap().unwrap();

    let results = write(&client, sets.iter().map(|set| change(None, Some(set))).collect()).await;
    assert_eq!(results, vec![Ok(()); sets.len()], "{}", server.output());
    let mut expected = sets.clone();
    expected.sort_by(|a, b| (&a.name, a.rtype).cmp(&(&b.name, b.rtype)));
    assert_eq!(held(&client).await, expected);
    assert_ne!(client.revision(&zone()).await.unwrap().unwrap(), before);

    let every: Vec<&RecordSet> = sets.iter().collect();
    let found = read(&client, &every).await;
    assert_eq!(found, sets.iter().cloned().map(Some).collect::<Vec<_>>());

    // Another TTL is a change too.
    let longer: Vec<RecordSet> = sets.iter().map(|set| RecordSet { ttl: 900, ..set.clone() }).collect();
    let changes = sets.iter().zip(&longer).map(|(old, new)| change(Some(old), Some(new))).collect();
    assert_eq!(write(&client, changes).await, vec![Ok(()); sets.len()], "{}", server.output());
    assert!(held(&client).await.iter().all(|set| set.ttl == 900));

    let results = write(&client, longer.iter().map(|set| change(Some(set), None)).collect()).await;
    assert_eq!(results, vec![Ok(()); sets.len()]);
    assert_eq!(held(&client).await, Vec::new());
    assert_eq!(read(&client, &every).await, vec![None; sets.len()]);
}
