//! PowerDNS: record sets in, the same record sets out; what is refused, and what belongs to others.

use backends::{Failure, Provider, SetKey};
use dns::{Rdata, RecordSet, Rtype};
use e2e::{PowerDns, Store, block_on, dig};

use crate::powerdns_world::{a, batch, change, content, creations, name, open, outcomes, set, settle, write};

/// Every type that we know, with the corners of its format.
const DATA: &[(Rtype, &[&str])] = &[
    (Rtype::A, &["192.0.2.1", "192.0.2.2"]),
    (Rtype::AAAA, &["2001:db8::1", "::ffff:192.0.2.1", "::"]),
    (Rtype::PTR, &["host.example.org."]),
    (Rtype::MX, &["10 mail.example.org.", "20 mail.example.net."]),
    (Rtype::MX, &["0 ."]),
    (Rtype::SRV, &["0 5 5060 sip.example.org."]),
    (
        Rtype::TXT,
        &[
            "\"v=spf1 -all\"",
            "\"one\" \"two\"",
            "\"\"",
            "\"quote \\\" backslash \\\\ semicolon ; \\000\\200\\255\"",
        ],
    ),
    (Rtype::TXT, &["\"grüße\""]),
    (Rtype::SPF, &["\\# 4 03612062"]),
    (Rtype::HINFO, &["\"cpu one\" \"os\""]),
    (Rtype::RP, &["noc.example.org. text.example.org."]),
    (Rtype::AFSDB, &["\\# 5 0001016100"]),
    (Rtype::KX, &["\\# 5 0001016100"]),
    (
        Rtype::LOC,
        &["\\# 16 00121613 8b0d5e80 81441cc0 00989810", "\\# 16 00331613 8b3f14a8 7ebbbb10 00989000"],
    ),
    (
        Rtype::NAPTR,
        &[
            "100 10 \"S\" \"SIP+D2U\" \"\" _sip._udp.example.org.",
            "1 1 \"U\" \"E2U+sip\" \"!^.*$!sip:a@b!\" .",
        ],
    ),
    (Rtype::CERT, &["\\# 8 0001000203010203"]),
    (Rtype::DNAME, &["elsewhere.example.org."]),
    (Rtype::DS, &["12345 13 2 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"]),
    (Rtype::SSHFP, &["4 2 0123456789abcdef"]),
    (
        Rtype::IPSECKEY,
        &[
            "\\# 10 0a0102c000022601027f",
            "\\# 6 0a000201027f",
            "\\# 22 0a0202 20010db8000000000000000000000001 01027f",
        ],
    ),
    (Rtype::IPSECKEY, &["\\# 9 0a0302016100 01027f"]),
    (Rtype::TLSA, &["3 1 1 0123456789abcdef"]),
    (Rtype::SMIMEA, &["\\# 7 03010101234567"]),
    (Rtype::CDS, &["12345 13 2 0123456789abcdef"]),
    (Rtype::CDNSKEY, &["257 3 13 AQIDBA=="]),
    (Rtype::OPENPGPKEY, &["AQIDBA=="]),
    (Rtype::CSYNC, &["\\# 12 00000042 0003 00 04 60000008"]),
    (
        Rtype::ZONEMD,
        &[
            "1 1 1 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        ],
    ),
    (Rtype::SVCB, &["1 svc.example.org. alpn=h2 port=8443", "0 other.example.org."]),
    (
        Rtype::HTTPS,
        &[
            "1 . alpn=h2,h3 ipv4hint=192.0.2.1,192.0.2.2 ech=AQIDBA== ipv6hint=2001:db8::1 key667=\"a b\\000\"",
        ],
    ),
    (Rtype::HTTPS, &["1 . mandatory=alpn,port alpn=h2 no-default-alpn port=8443"]),
    (Rtype::EUI48, &["\\# 6 00005e00532a"]),
    (Rtype::EUI64, &["\\# 8 00005eef1000002a"]),
    (Rtype::URI, &["\\# 10 000a0001 6674703a2f61"]),
    (Rtype::CAA, &["0 issue \"ca.example.net\"", "128 iodef \"mailto:a\\\"b@example.org\""]),
    (Rtype(62000), &["\\# 3 010203", "\\# 0"]),
];

/// One record set a line of the table, each at a name of its own.
fn every_type() -> Vec<RecordSet> {
    let sets = DATA.iter().enumerate();
    sets.map(|(number, (rtype, data))| set(&format!("t{number:02}.types.test."), *rtype, data)).collect()
}

#[test]
fn every_type_is_read_back_as_it_was_written() {
    for store in Store::ALL {
        let server = PowerDns::with(store, "").unwrap();
        let provider = server.provider().unwrap();
        open(&provider, "types.test.").unwrap();
        let sets = every_type();
        write(&provider, &creations("types.test.", &sets));
        settle(&provider, "types.test.");
        for (found, wanted) in content(&provider, "types.test.").iter().zip(&sets) {
            assert_eq!(found, wanted, "{store:?}");
        }
        let keys: Vec<_> = sets.iter().map(|set| (SetKey::of(set), None)).collect();
        let found = block_on(provider.read_sets(&name("types.test."), &keys)).unwrap().unwrap();
        assert_eq!(found.into_iter().flatten().map(|entry| entry.set).collect::<Vec<_>>(), sets);
        assert_eq!(
            dig(server.dns(), "t07.types.test TXT").unwrap().data("TXT"),
            ["\"gr\\195\\188\\195\\159e\""]
        );
    }
}

#[test]
fn a_record_that_is_refused_keeps_no_other_from_landing() {
    for store in Store::ALL {
        let server = PowerDns::with(store, "").unwrap();
        let provider = server.provider().unwrap();
        open(&provider, "poison.test.").unwrap();
        let mut sets: Vec<RecordSet> =
            (0..1000).map(|n| a(&format!("n{n}.poison.test."), "192.0.2.1")).collect();
        // PowerDNS takes neither this name nor a mail server with an underscore, nor what is elsewhere.
        sets[3] = a("sp\\032ace.poison.test.", "192.0.2.1");
        sets[500] = set("n500.poison.test.", Rtype::MX, &["10 under_score.poison.test."]);
        sets[999] = a("www.elsewhere.test.", "192.0.2.1");
        let results = outcomes(&provider, &creations("poison.test.", &sets));
        for (number, result) in results.iter().enumerate() {
            let refused = [3, 500, 999].contains(&number);
            assert_eq!(
                result,
                &if refused { Err(Failure::Refused("INVALID_RECORD")) } else { Ok(()) },
                "{number}"
            );
        }
        assert_eq!(content(&provider, "poison.test.").len(), 997);
        let patches = server.count("PATCH", "").unwrap();
        assert!(patches < 80, "{patches} requests");
    }
}

#[test]
fn a_record_larger_than_any_answer_is_refused_without_a_request() {
    let server = PowerDns::start().unwrap();
    let provider = server.provider().unwrap();
    open(&provider, "large.test.").unwrap();
    let texts = (0..300).map(|number| Rdata::txt(&format!("{number:0255}"))).collect();
    let large = RecordSet::new(name("large.large.test."), Rtype::TXT, 60, texts);
    let results = outcomes(&provider, &creations("large.test.", &[large, a("www.large.test.", "192.0.2.1")]));
    assert_eq!(results, [Err(Failure::Refused("INVALID_VALUE")), Ok(())]);
}

#[test]
fn a_body_that_is_too_long_for_the_server_goes_in_pieces() {
    let server = PowerDns::with(Store::Sqlite, "webserver-max-bodysize=1").unwrap();
    let provider = server.provider().unwrap();
    open(&provider, "long.test.").unwrap();
    let text = Rdata::txt(&"x".repeat(4000));
    let sets: Vec<RecordSet> = (0..1000)
        .map(|number| {
            RecordSet::new(name(&format!("n{number}.long.test.")), Rtype::TXT, 60, vec![text.clone()])
        })
        .collect();
    write(&provider, &creations("long.test.", &sets));
    assert_eq!(content(&provider, "long.test.").len(), 1000);
}

#[test]
fn a_name_changes_from_alias_to_address_in_one_step() {
    let server = PowerDns::start().unwrap();
    let provider = server.provider().unwrap();
    open(&provider, "alias.test.").unwrap();
    let alias = set("www.alias.test.", Rtype::CNAME, &["elsewhere.test."]);
    let address = a("www.alias.test.", "192.0.2.1");
    write(&provider, &creations("alias.test.", std::slice::from_ref(&alias)));
    write(&provider, &batch("alias.test.", vec![change(None, Some(&address)), change(Some(&alias), None)]));
    assert_eq!(content(&provider, "alias.test."), [address]);
}

#[test]
fn what_others_changed_since_it_was_read_is_left_alone() {
    for store in Store::ALL {
        let server = PowerDns::with(store, "").unwrap();
        let provider = server.provider().unwrap();
        open(&provider, "shared.test.").unwrap();
        let (ours, mark) =
            (a("ours.shared.test.", "192.0.2.1"), set("m.shared.test.", Rtype::TXT, &["mark"]));
        write(&provider, &creations("shared.test.", &[ours.clone(), mark.clone()]));
        content(&provider, "shared.test.");
        server.put("shared.test.", "theirs.shared.test.", "A", "198.51.100.1").unwrap();
        let changed = a("ours.shared.test.", "192.0.2.2");
        let theirs = a("theirs.shared.test.", "192.0.2.3");
        let mut both =
            batch("shared.test.", vec![change(Some(&ours), Some(&changed)), change(None, Some(&theirs))]);
        both.guards = vec![(SetKey::of(&mark), Some(mark.clone()))];
        assert_eq!(outcomes(&provider, &both), [Ok(()), Err(Failure::Changed)]);
        assert_eq!(dig(server.dns(), "theirs.shared.test A").unwrap().data("A"), ["198.51.100.1"]);
        assert_eq!(dig(server.dns(), "ours.shared.test A").unwrap().data("A"), ["192.0.2.2"]);
        // Another owner has moved the mark: nothing that stands on it is done.
        server.put("shared.test.", "m.shared.test.", "TXT", "\"another\"").unwrap();
        let mut guarded = batch("shared.test.", vec![change(Some(&changed), None)]);
        guarded.guards = vec![(SetKey::of(&mark), Some(mark))];
        assert_eq!(outcomes(&provider, &guarded), [Err(Failure::Changed)]);
        assert_eq!(dig(server.dns(), "ours.shared.test A").unwrap().data("A"), ["192.0.2.2"], "{store:?}");
    }
}

#[test]
fn ten_changes_cost_ten_record_sets_and_no_list() {
    let server = PowerDns::start().unwrap();
    let provider = server.provider().unwrap();
    open(&provider, "small.test.").unwrap();
    let sets: Vec<RecordSet> = (0..2000).map(|n| a(&format!("n{n}.small.test."), "192.0.2.1")).collect();
    write(&provider, &creations("small.test.", &sets));
    content(&provider, "small.test.");
    let asked = server.requests().unwrap().len();
    let moved: Vec<RecordSet> = (0..10).map(|n| a(&format!("n{n}.small.test."), "192.0.2.2")).collect();
    let changes = sets.iter().zip(&moved).map(|(old, new)| change(Some(old), Some(new))).collect();
    write(&provider, &batch("small.test.", changes));
    settle(&provider, "small.test.");
    let asked = server.requests().unwrap()[asked..].to_vec();
    let (requests, octets): (Vec<String>, Vec<usize>) = asked.into_iter().unzip();
    assert_eq!(requests, ["GET", "PATCH", "GET"].map(|method| format!("{method} /zones/small.test.")));
    assert!(octets.iter().sum::<usize>() < 2000, "the zone was listed: {octets:?}");
}

#[test]
fn records_that_are_switched_off_stand_there_and_are_not_what_is_wanted() {
    let server = PowerDns::start().unwrap();
    let provider = server.provider().unwrap();
    open(&provider, "off.test.").unwrap();
    let www = a("www.off.test.", "192.0.2.1");
    write(&provider, &creations("off.test.", std::slice::from_ref(&www)));
    server.sql("update records set disabled = 1 where type = 'A';").unwrap();
    let found = content(&provider, "off.test.");
    assert_eq!(found.len(), 1);
    assert_ne!(found[0], www);
    write(&provider, &batch("off.test.", vec![change(Some(&found[0]), Some(&www))]));
    assert_eq!(dig(server.dns(), "www.off.test A").unwrap().data("A"), ["192.0.2.1"]);
}

#[test]
fn a_record_that_cannot_be_read_is_neither_lost_nor_in_the_way() {
    let server = PowerDns::start().unwrap();
    let provider = server.provider().unwrap();
    open(&provider, "odd.test.").unwrap();
    server
        .sql(
            "insert into records (domain_id, name, type, content, ttl, auth) values
               (1, 'odd.odd.test', 'TXT', '\"' || cast(x'ff' as text) || '\"', 60, 1),
               (1, 'far.odd.test', 'WKS', 'anything', 60, 1),
               (1, 'svc.odd.test', 'SVCB', '1 . alpn=a\\\\,b', 60, 1);",
        )
        .unwrap();
    let octet = Rdata::from_wire(Rtype::TXT, &[1, 255]).unwrap();
    assert_eq!(
        content(&provider, "odd.test."),
        [RecordSet::new(name("odd.odd.test."), Rtype::TXT, 60, vec![octet])]
    );
    let over = set("svc.odd.test.", Rtype::SVCB, &["1 . port=1"]);
    let results = outcomes(&provider, &creations("odd.test.", &[over, a("new.odd.test.", "192.0.2.1")]));
    assert!(matches!(results.as_slice(), [Err(Failure::Unsupported(_)), Ok(())]), "{results:?}");
}

#[test]
fn a_name_with_names_below_it_only_is_not_denied() {
    for store in Store::ALL {
        let server = PowerDns::with(store, "").unwrap();
        let provider = server.provider().unwrap();
        open(&provider, "deep.test.").unwrap();
        let rectified = || server.count("PUT", "/rectify").unwrap();
        let before = rectified();
        write(&provider, &creations("deep.test.", &[a("flat.deep.test.", "192.0.2.1")]));
        settle(&provider, "deep.test.");
        assert_eq!(rectified(), before, "nothing to put in order");
        let sip = set("_sip._tcp.deep.test.", Rtype::SRV, &["0 0 5060 flat.deep.test."]);
        write(&provider, &creations("deep.test.", std::slice::from_ref(&sip)));
        settle(&provider, "deep.test.");
        settle(&provider, "deep.test.");
        assert_eq!(rectified(), before + 1);
        assert_eq!(dig(server.dns(), "_tcp.deep.test A").unwrap().status, "NOERROR", "{store:?}");
        write(&provider, &batch("deep.test.", vec![change(Some(&sip), None)]));
        settle(&provider, "deep.test.");
        assert_eq!(dig(server.dns(), "_tcp.deep.test A").unwrap().status, "NXDOMAIN", "{store:?}");
    }
}

#[test]
fn a_predecessor_that_died_before_the_ordering_is_made_up_for() {
    let server = PowerDns::start().unwrap();
    let first = server.provider().unwrap();
    open(&first, "crash.test.").unwrap();
    write(&first, &creations("crash.test.", &[a("a.b.crash.test.", "192.0.2.1")]));
    assert_eq!(dig(server.dns(), "b.crash.test A").unwrap().status, "NXDOMAIN");
    let second = server.provider().unwrap();
    open(&second, "crash.test.").unwrap();
    content(&second, "crash.test.");
    assert_eq!(dig(server.dns(), "b.crash.test A").unwrap().status, "NOERROR");
}

#[test]
fn the_serial_of_a_zone_that_does_not_count_is_not_believed() {
    let server = PowerDns::start().unwrap();
    server.make_zone("still.test").unwrap();
    server.send("PUT", "/zones/still.test.", r#"{"soa_edit_api":""}"#).unwrap();
    let provider = server.provider().unwrap();
    open(&provider, "still.test.").unwrap();
    assert_eq!(crate::powerdns_world::serial(&provider, "still.test."), None);
    content(&provider, "still.test.");
    server.put("still.test.", "www.still.test.", "A", "198.51.100.1").unwrap();
    let over = creations("still.test.", &[a("www.still.test.", "192.0.2.1")]);
    assert_eq!(outcomes(&provider, &over), [Err(Failure::Changed)]);
    write(&provider, &creations("still.test.", &[a("mail.still.test.", "192.0.2.1")]));
}

#[test]
fn a_new_soa_never_sets_the_serial_back() {
    let server = PowerDns::start().unwrap();
    let provider = server.provider().unwrap();
    open(&provider, "soa.test.").unwrap();
    let all = block_on(provider.read_zone(&name("soa.test."))).unwrap().unwrap();
    let before = all.into_iter().map(|entry| entry.set).find(|set| set.rtype == Rtype::SOA).unwrap();
    let serial = before.data[0].as_soa().unwrap().serial;
    let after = set("soa.test.", Rtype::SOA, &["ns2.soa.test. noc.soa.test. 7 1 2 3 4"]);
    write(&provider, &batch("soa.test.", vec![change(Some(&before), Some(&after))]));
    let shown = dig(server.dns(), "soa.test SOA").unwrap().data("SOA");
    assert_eq!(shown, [format!("ns2.soa.test. noc.soa.test. {} 1 2 3 4", serial + 1)]);
}
