//! The RFC 2136 back-end on real BIND and real Knot.

use std::sync::Arc;
use std::time::Duration;

use api::dnsclass::TsigAlgorithm;
use backends::rfc2136::{Key, Rfc2136, Settings};
use backends::transport::guard::Guard;
use backends::{Batch, Entry, Failure, NewZone, Provider, SetChange, SetKey};
use dns::{Name, Rdata, RecordSet, Rtype};
use e2e::{PATIENCE, UpdateProgram, UpdateServer, key_secret};
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
        set(
            "caa.example.org",
            "CAA",
            300,
            &["0 issue \"ca.example.net\"", "0 iodef \"mailto:noc@example.org\""],
        ),
        set("https.example.org", "HTTPS", 300, &["1 . alpn=h2,h3 ipv4hint=192.0.2.1"]),
        set(
            "_443._tcp.example.org",
            "TLSA",
            300,
            &["3 1 1 d2abde240d7cd3ee6b4b28c54df034b97983a1d16e8a410e4561cb106618e971"],
        ),
        set("ds.example.org", "NAPTR", 300, &["100 10 \"u\" \"E2U+sip\" \"!^.*$!sip:info@example.org!\" ."]),
        set("*.wild.example.org", "A", 300, &["192.0.2.3"]),
        set(
            "ssh.example.org",
            "SSHFP",
            300,
            &["4 2 123456789abcdef67890123456789abcdef67890123456789abcdef123456789"],
        ),
        set("old.example.org", "DNAME", 300, &["new.example.net."]),
        set("unknown.example.org", "TYPE62000", 300, &["\\# 3 0a0b0c"]),
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

fn new_zone(origin: &str) -> NewZone {
    let soa = set(origin, "SOA", 300, &["ns.example.org. noc.example.org. 1 3600 600 86400 300"]);
    NewZone { origin: name(origin), soa, name_servers: set(origin, "NS", 300, &["ns.example.org."]) }
}

#[rstest]
#[case::bind(UpdateProgram::Bind)]
#[case::knot(UpdateProgram::Knot)]
#[tokio::test]
async fn what_changed_behind_our_back_is_left_and_the_rest_lands(#[case] program: UpdateProgram) {
    let server = UpdateServer::start(program, &[ZONE]).unwrap();
    let (client, other) = (client(&server), client(&server));
    let sets: Vec<RecordSet> =
        (0..20).map(|number| set(&format!("n{number}.example.org"), "A", 60, &["192.0.2.1"])).collect();
    write(&client, sets.iter().map(|set| change(None, Some(set))).collect()).await;
    let theirs = set("n7.example.org", "A", 60, &["192.0.2.99"]);
    assert_eq!(write(&other, vec![change(Some(&sets[7]), Some(&theirs))]).await, [Ok(())]);

    let ours: Vec<RecordSet> =
        sets.iter().map(|old| set(&old.name.to_string(), "A", 60, &["192.0.2.2"])).collect();
    let changes = sets.iter().zip(&ours).map(|(old, new)| change(Some(old), Some(new))).collect();
    let results = write(&client, changes).await;
    let failed: Vec<usize> = (0..20).filter(|at| results[*at].is_err()).collect();
    assert_eq!((failed, &results[7]), (vec![7], &Err(Failure::Changed)));
    assert_eq!(read(&client, &[&theirs, &ours[8]]).await, [Some(theirs.clone()), Some(ours[8].clone())]);

    // The same for what has come, and for what has gone.
    let taken = set("n7.example.org", "A", 60, &["192.0.2.3"]);
    assert_eq!(write(&client, vec![change(None, Some(&taken))]).await, [Err(Failure::Changed)]);
    let gone = set("gone.example.org", "A", 60, &["192.0.2.3"]);
    assert_eq!(write(&client, vec![change(Some(&gone), Some(&gone))]).await, [Err(Failure::Changed)]);
    assert_eq!(read(&client, &[&gone]).await, [None]);
}

#[rstest]
#[case::bind(UpdateProgram::Bind)]
#[case::knot(UpdateProgram::Knot)]
#[tokio::test]
async fn a_guard_that_does_not_hold_keeps_everything_back(#[case] program: UpdateProgram) {
    let server = UpdateServer::start(program, &[ZONE]).unwrap();
    let client = client(&server);
    let mark = set("mark.example.org", "TXT", 60, &["\"generation=1\""]);
    assert_eq!(write(&client, vec![change(None, Some(&mark))]).await, [Ok(())]);
    let www = set("www.example.org", "A", 60, &["192.0.2.1"]);
    let mut guarded = batch(vec![change(None, Some(&www))]);
    guarded.guards =
        vec![(SetKey::of(&mark), Some(set("mark.example.org", "TXT", 60, &["\"generation=2\""])))];
    assert_eq!(client.write(&guarded).await, [Err(Failure::Changed)]);
    guarded.guards = vec![(SetKey::of(&mark), None)];
    assert_eq!(client.write(&guarded).await, [Err(Failure::Changed)]);
    assert_eq!(read(&client, &[&www]).await, [None]);
    guarded.guards = vec![(SetKey::of(&mark), Some(mark))];
    assert_eq!(client.write(&guarded).await, [Ok(())]);
}

#[rstest]
#[case::bind(UpdateProgram::Bind)]
#[case::knot(UpdateProgram::Knot)]
#[tokio::test]
async fn a_name_changes_between_cname_and_addresses_whatever_the_order(#[case] program: UpdateProgram) {
    let server = UpdateServer::start(program, &[ZONE]).unwrap();
    let client = client(&server);
    let alias = set("www.example.org", "CNAME", 60, &["elsewhere.example.net."]);
    let address = set("www.example.org", "A", 60, &["192.0.2.1"]);
    assert_eq!(write(&client, vec![change(None, Some(&alias))]).await, [Ok(())]);
    for (from, to) in [(&alias, &address), (&address, &alias)] {
        let changes = vec![change(None, Some(to)), change(Some(from), None)];
        assert_eq!(write(&client, changes).await, [Ok(()), Ok(())]);
        assert_eq!(read(&client, &[from, to]).await, [None, Some(to.clone())]);
    }
    // What a server passes over in silence is seen by reading it back.
    assert_eq!(write(&client, vec![change(None, Some(&address))]).await.len(), 1);
    assert_eq!(read(&client, &[&alias, &address]).await, [Some(alias), None]);
}

#[rstest]
#[case::bind(UpdateProgram::Bind)]
#[case::knot(UpdateProgram::Knot)]
#[tokio::test]
async fn an_answer_from_a_wildcard_is_not_the_record_itself(#[case] program: UpdateProgram) {
    let server = UpdateServer::start(program, &[ZONE]).unwrap();
    let client = client(&server);
    let wildcard = set("*.example.org", "A", 60, &["192.0.2.1"]);
    let below = set("www.example.org", "A", 60, &["192.0.2.1"]);
    assert_eq!(write(&client, vec![change(None, Some(&wildcard))]).await, [Ok(())]);
    assert_eq!(read(&client, &[&wildcard, &below]).await, [Some(wildcard.clone()), None]);
    assert_eq!(write(&client, vec![change(None, Some(&below))]).await, [Ok(())]);
    assert_eq!(read(&client, &[&below, &wildcard]).await, [Some(below), Some(wildcard)]);
}

#[rstest]
#[case::bind(UpdateProgram::Bind)]
#[case::knot(UpdateProgram::Knot)]
#[tokio::test]
async fn reading_record_sets_does_not_move_the_serial(#[case] program: UpdateProgram) {
    let server = UpdateServer::start(program, &[ZONE]).unwrap();
    let client = client(&server);
    let sets: Vec<RecordSet> =
        (0..300).map(|number| set(&format!("n{number}.example.org"), "A", 60, &["192.0.2.1"])).collect();
    write(&client, sets.iter().map(|set| change(None, Some(set))).collect()).await;
    let serial = client.revision(&zone()).await.unwrap();
    assert_eq!(read(&client, &sets.iter().collect::<Vec<_>>()).await.iter().flatten().count(), 300);
    assert_eq!(client.revision(&zone()).await.unwrap(), serial);
}

#[rstest]
#[case::bind(UpdateProgram::Bind)]
#[case::knot(UpdateProgram::Knot)]
#[tokio::test]
async fn the_apex_takes_other_name_servers_and_is_never_left_without(#[case] program: UpdateProgram) {
    let server = UpdateServer::start(program, &[ZONE]).unwrap();
    let client = client(&server);
    let old = set(ZONE, "NS", 3600, &["ns.example.org."]);
    let new = set(ZONE, "NS", 600, &["ns1.example.net.", "ns2.example.net."]);
    assert_eq!(write(&client, vec![change(Some(&old), Some(&new))]).await, [Ok(())]);
    assert_eq!(read(&client, &[&new]).await, [Some(new.clone())]);
    assert!(matches!(
        write(&client, vec![change(Some(&new), None)]).await[..],
        [Err(Failure::Unsupported(_))]
    ));
    let [Some(soa)] = &read(&client, &[&new_zone(ZONE).soa]).await[..] else { panic!("no SOA") };
    let wanted = dns::Soa { refresh: 7777, serial: 100, ..soa.data[0].as_soa().unwrap() };
    let wanted = RecordSet::new(zone(), Rtype::SOA, 300, vec![Rdata::soa(&wanted)]);
    assert_eq!(write(&client, vec![change(Some(soa), Some(&wanted))]).await, [Ok(())]);
    let [Some(soa)] = &read(&client, &[&wanted]).await[..] else { panic!("no SOA") };
    assert_eq!(soa.data[0].as_soa().unwrap().refresh, 7777);
}

#[rstest]
#[case::bind(UpdateProgram::Bind)]
#[case::knot(UpdateProgram::Knot)]
#[tokio::test]
async fn wrong_credentials_and_missing_zones_are_told_apart(#[case] program: UpdateProgram) {
    let server = UpdateServer::start(program, &[ZONE]).unwrap();
    let www = set("www.example.org", "A", 60, &["192.0.2.1"]);
    let wrong_secret = Some(Key { secret: vec![7; 32], ..key("key256", TsigAlgorithm::HmacSha256).unwrap() });
    let wrong = [
        wrong_secret,
        key("nobody", TsigAlgorithm::HmacSha256),
        key("key256", TsigAlgorithm::HmacSha512),
        key("stranger", TsigAlgorithm::HmacSha256),
        None,
    ];
    for key in wrong {
        let shown = format!("{key:?}");
        let client = client_with(&server, key);
        client.health().await.unwrap();
        let results = write(&client, vec![change(None, Some(&www))]).await;
        // By its policy BIND judges only records, so a key that may do nothing looks like a refused record.
        let is_by_policy = program == UpdateProgram::Bind && (shown == "None" || shown.contains("stranger"));
        let expected = if is_by_policy { Failure::Refused("REFUSED") } else { Failure::Authentication };
        assert_eq!(results, [Err(expected)], "{shown}");
        assert_eq!(client.read_zone(&zone()).await, Err(Failure::Authentication), "{shown}");
    }
    let client = client(&server);
    assert_eq!(held(&client).await, []);
    assert_eq!(client.open_zone(&new_zone("elsewhere.net")).await, Err(Failure::NoZone));
    assert_eq!(client.read_zone(&name("elsewhere.net")).await, Err(Failure::NoZone));
    let elsewhere = set("www.elsewhere.net", "A", 60, &["192.0.2.1"]);
    let mut missing = batch(vec![change(None, Some(&elsewhere))]);
    missing.zone = name("elsewhere.net");
    assert_eq!(client.write(&missing).await, [Err(Failure::NoZone)]);
    assert_eq!(client.revision(&name("elsewhere.net")).await, Err(Failure::NoZone));

    // A name below the zone is in it, unless it has been given away.
    let opened = client.open_zone(&new_zone("a.b.example.org")).await.unwrap();
    assert_eq!((opened.origin, opened.made), (zone(), false));
    let cut = set("given.example.org", "NS", 60, &["ns.example.net."]);
    assert_eq!(write(&client, vec![change(None, Some(&cut))]).await, [Ok(())]);
    assert_eq!(client.open_zone(&new_zone("given.example.org")).await, Err(Failure::NoZone));
    assert_eq!(client.open_zone(&new_zone("a.given.example.org")).await, Err(Failure::NoZone));
}

#[tokio::test]
async fn what_the_server_refuses_is_named_and_the_rest_lands() {
    let server = UpdateServer::start(UpdateProgram::Bind, &[ZONE]).unwrap();
    let client = client(&server);
    let mut sets: Vec<RecordSet> =
        (0..50).map(|number| set(&format!("n{number}.example.org"), "A", 60, &["192.0.2.1"])).collect();
    // BIND wants mail servers of its own zone to have an address, and its policy forbids one name.
    sets[9] = set("n8.example.org", "MX", 60, &["10 nobody.example.org."]);
    sets[30] = set("forbidden.example.org", "A", 60, &["192.0.2.1"]);
    let results = write(&client, sets.iter().map(|set| change(None, Some(set))).collect()).await;
    let refused: Vec<usize> = (0..50).filter(|at| results[*at].is_err()).collect();
    assert_eq!(refused, [9, 30], "{results:?}");
    assert_eq!(results[9], Err(Failure::Refused("REFUSED")));
    assert_eq!(held(&client).await.len(), 48);
}

#[rstest]
#[case::bind(UpdateProgram::Bind)]
#[case::knot(UpdateProgram::Knot)]
#[tokio::test]
async fn thousands_of_records_land_in_messages_under_64_kib(#[case] program: UpdateProgram) {
    let server = UpdateServer::start(program, &[ZONE]).unwrap();
    let client = client(&server);
    let text = format!("\"{}\"", "x".repeat(150));
    let sets: Vec<RecordSet> = (0..5_000)
        .map(|number| match number % 2 {
            0 => set(&format!("n{number}.example.org"), "A", 60, &["192.0.2.1"]),
            _ => set(&format!("n{number}.example.org"), "TXT", 60, &[&text]),
        })
        .collect();
    let results = write(&client, sets.iter().map(|set| change(None, Some(set))).collect()).await;
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 5_000);
    assert_eq!(held(&client).await.len(), 5_000);
    let results = write(&client, sets.iter().map(|set| change(Some(set), None)).collect()).await;
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 5_000);
    assert_eq!(held(&client).await, []);
}

#[rstest]
#[case::bind(UpdateProgram::Bind)]
#[case::knot(UpdateProgram::Knot)]
#[tokio::test]
async fn a_server_that_dies_on_the_way_is_caught_up_with_after_its_return(#[case] program: UpdateProgram) {
    let mut server = UpdateServer::start(program, &[ZONE]).unwrap();
    let client = client(&server);
    let sets: Vec<RecordSet> =
        (0..5_000).map(|number| set(&format!("n{number}.example.org"), "A", 60, &["192.0.2.1"])).collect();
    let creation = batch(sets.iter().map(|set| change(None, Some(set))).collect());
    let writing = client.write(&creation);
    let killing = async {
        tokio::time::sleep(Duration::from_millis(60)).await;
        server.process().kill().unwrap();
    };
    let (results, ()) = tokio::join!(writing, killing);
    // However far it came, what is said to stand does, and the rest can be written.
    server.restart().unwrap();
    let returning = async {
        while client.read_zone(&zone()).await.is_err() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(PATIENCE, returning).await.expect("the server never comes back");
    let standing = held(&client).await;
    let lost = results.iter().zip(&sets).filter(|(result, set)| result.is_ok() && !standing.contains(set));
    assert_eq!(lost.count(), 0);
    let missing: Vec<SetChange> =
        sets.iter().filter(|set| !standing.contains(set)).map(|set| change(None, Some(set))).collect();
    assert!(write(&client, missing).await.iter().all(Result::is_ok));
    assert_eq!(held(&client).await.len(), 5_000);
}

#[rstest]
#[case::bind(UpdateProgram::Bind)]
#[case::knot(UpdateProgram::Knot)]
#[tokio::test]
async fn a_zone_that_the_server_signs_is_read_and_changed(#[case] program: UpdateProgram) {
    let server = UpdateServer::start(program, &["signed.example.org"]).unwrap();
    let client = client(&server);
    let zone = name("signed.example.org");
    let www = set("www.signed.example.org", "A", 60, &["192.0.2.1"]);
    let signed = |entries: &[Entry]| entries.iter().any(|entry| entry.set.rtype == Rtype::RRSIG);
    let signing = async {
        while !signed(&client.read_zone(&zone).await.unwrap()) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(PATIENCE, signing).await.expect("the zone is never signed");
    let creation = Batch { zone: zone.clone(), ..batch(vec![change(None, Some(&www))]) };
    assert_eq!(client.write(&creation).await, [Ok(())], "{}", server.output());
    let keys = [(SetKey::of(&www), None)];
    assert_eq!(client.read_sets(&zone, &keys).await.unwrap(), [Some(Entry::from(www.clone()))]);
    let deletion = Batch { zone: zone.clone(), ..batch(vec![change(Some(&www), None)]) };
    assert_eq!(client.write(&deletion).await, [Ok(())]);
    assert_eq!(client.read_sets(&zone, &keys).await.unwrap(), [None]);
}

#[rstest]
#[case::bind(UpdateProgram::Bind)]
#[case::knot(UpdateProgram::Knot)]
#[tokio::test]
async fn data_that_differs_only_in_case_has_not_changed(#[case] program: UpdateProgram) {
    let folder = tempfile::tempdir().unwrap();
    let text = "$ORIGIN example.org.\n$TTL 300\n@ SOA ns noc 1 3600 600 86400 300\n@ NS ns\nns A 192.0.2.53\n\
                Alias CNAME Elsewhere.Example.NET.\nMail MX 10 MX.Example.NET.\n";
    std::fs::write(folder.path().join("example.org.zone"), text).unwrap();
    let server = UpdateServer::start_in(program, folder, &[ZONE]).unwrap();
    let client = client(&server);
    let alias = set("alias.example.org", "CNAME", 300, &["elsewhere.example.net."]);
    let mail = set("mail.example.org", "MX", 300, &["10 mx.example.net."]);
    assert_eq!(read(&client, &[&alias, &mail]).await, [Some(alias.clone()), Some(mail.clone())]);
    let results = write(&client, vec![change(Some(&alias), None), change(Some(&mail), None)]).await;
    assert_eq!(results, [Ok(()), Ok(())]);
    assert_eq!(read(&client, &[&alias, &mail]).await, [None, None]);
}
