//! PowerDNS: zones made, adopted, signed and told about.

use std::fmt::Write as _;

use api::dnsclass::ZoneKind;
use backends::{Failure, OpenedZone, Provider};
use e2e::{PowerDns, Store, block_on, dig};

use crate::powerdns_world::{a, batch, change, content, creations, name, open, serial, settle, write};

fn made(origin: &str) -> Result<OpenedZone, Failure> {
    Ok(OpenedZone { origin: name(origin), made: true })
}

fn adopted(origin: &str) -> Result<OpenedZone, Failure> {
    Ok(OpenedZone { origin: name(origin), made: false })
}

#[test]
fn a_zone_is_made_once_and_its_serial_moves_with_every_change() {
    for store in Store::ALL {
        let server = PowerDns::with(store, "").unwrap();
        let provider = server.provider().unwrap();
        assert_eq!(open(&provider, "made.test."), made("made.test."));
        assert_eq!(open(&provider, "made.test."), adopted("made.test."));
        assert_eq!(open(&server.provider().unwrap(), "made.test."), adopted("made.test."));
        let zone = server.send("GET", "/zones/made.test.?rrsets=false", "").unwrap();
        assert_eq!(
            (&zone["kind"], &zone["dnssec"], &zone["api_rectify"]),
            (&"Native".into(), &false.into(), &false.into())
        );
        let first = serial(&provider, "made.test.").unwrap();
        write(&provider, &creations("made.test.", &[a("www.made.test.", "192.0.2.1")]));
        let second = serial(&provider, "made.test.").unwrap();
        let (old, new) = (a("www.made.test.", "192.0.2.1"), a("www.made.test.", "192.0.2.2"));
        write(&provider, &batch("made.test.", vec![change(Some(&old), Some(&new))]));
        assert_eq!((second, serial(&provider, "made.test.").unwrap()), (first + 1, first + 2), "{store:?}");
        let soa = dig(server.dns(), "made.test SOA").unwrap().data("SOA");
        assert_eq!(soa, [format!("ns.made.test. noc.made.test. {} 86400 7200 3600000 360", first + 2)]);
    }
}

#[test]
fn the_closest_zone_above_is_adopted_and_stays_as_it_is() {
    let server = PowerDns::start().unwrap();
    server.make_zone("example.test").unwrap();
    server.send("PUT", "/zones/example.test.", r#"{"api_rectify":true,"soa_edit_api":"INCREASE"}"#).unwrap();
    server.make_zone("deep.example.test").unwrap();
    server.put("example.test.", "theirs.example.test.", "A", "192.0.2.9").unwrap();
    let before = server.send("GET", "/zones/example.test.", "").unwrap();
    let provider = server.provider().unwrap();
    assert_eq!(open(&provider, "apps.example.test."), adopted("example.test."));
    assert_eq!(open(&provider, "a.deep.example.test."), adopted("deep.example.test."));
    assert_eq!(open(&provider, "notexample.test."), made("notexample.test."));
    assert_eq!(server.send("GET", "/zones/example.test.", "").unwrap(), before);
    assert_eq!(content(&provider, "example.test.").len(), 1);
    write(&provider, &creations("example.test.", &[a("x.apps.example.test.", "192.0.2.1")]));
    settle(&provider, "example.test.");
    let after = server.send("GET", "/zones/example.test.", "").unwrap();
    assert_eq!(
        (&after["api_rectify"], &after["soa_edit_api"]),
        (&before["api_rectify"], &before["soa_edit_api"])
    );
    assert_eq!(server.count("PUT /zones/example.test./rectify", "").unwrap(), 0, "it does so by itself");
    assert_eq!(dig(server.dns(), "apps.example.test A").unwrap().status, "NOERROR");
}

#[test]
fn a_zone_that_comes_from_elsewhere_is_not_written_to() {
    let server = PowerDns::start().unwrap();
    server.send("POST", "/zones", r#"{"name":"copy.test.","kind":"Slave","masters":["127.0.0.1"]}"#).unwrap();
    let refused = open(&server.provider().unwrap(), "www.copy.test.").unwrap_err();
    assert_eq!(refused.code(), "INVALID_CONFIGURATION");
    assert!(refused.to_string().contains("primary"), "{refused}");
}

#[test]
fn a_zone_whose_making_was_cut_short_is_finished() {
    let server = PowerDns::start().unwrap();
    server.sql("insert into domains (name, type) values ('half.test', 'NATIVE');").unwrap();
    let provider = server.provider_of(ZoneKind::Native, true).unwrap();
    assert_eq!(open(&provider, "half.test."), adopted("half.test."));
    assert_eq!(dig(server.dns(), "half.test NS").unwrap().data("NS"), ["ns.half.test."]);
    assert!(serial(&provider, "half.test.").is_some());
    assert_eq!(server.send("GET", "/zones/half.test.", "").unwrap()["dnssec"], true);
}

#[test]
fn ten_thousand_zones_are_listed_in_one_request() {
    let server = PowerDns::start().unwrap();
    let mut statements = "begin;\n".to_owned();
    for number in 0..10_000 {
        writeln!(
            statements,
            "insert into domains (id, name, type) values ({number}, 'z{number}.test', 'NATIVE');"
        )
        .unwrap();
        writeln!(statements, "insert into records (domain_id, name, type, content, ttl) values ({number}, 'z{number}.test', 'SOA', 'a. b. 1 2 3 4 5', 60);").unwrap();
    }
    server.sql(&(statements + "commit;\n")).unwrap();
    let provider = server.provider().unwrap();
    for number in 0..50 {
        let origin = format!("z{number}.test.");
        assert_eq!(open(&provider, &origin), adopted(&origin));
    }
    assert_eq!(open(&provider, "apps.z7.test."), adopted("z7.test."));
    let asked = server.requests().unwrap();
    let lists = asked.iter().filter(|(_, octets)| *octets > 100_000).count();
    assert_eq!((lists, asked.len()), (1, 3), "{asked:?}");
}

#[test]
fn a_zone_that_is_gone_is_told_and_made_again() {
    let server = PowerDns::start().unwrap();
    let provider = server.provider().unwrap();
    open(&provider, "gone.test.").unwrap();
    server.send("DELETE", "/zones/gone.test.", "").unwrap();
    let batch = creations("gone.test.", &[a("www.gone.test.", "192.0.2.1")]);
    assert_eq!(crate::powerdns_world::outcomes(&provider, &batch), [Err(Failure::NoZone)]);
    assert_eq!(open(&provider, "gone.test."), made("gone.test."));
    write(&provider, &batch);
    server.send("DELETE", "/zones/gone.test.", "").unwrap();
    assert_eq!(block_on(provider.read_zone(&name("gone.test."))).unwrap(), Err(Failure::NoZone));
    assert_eq!(open(&provider, "gone.test."), made("gone.test."));
}
