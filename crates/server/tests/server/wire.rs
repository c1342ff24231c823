//! Octets that a person would want to see once: compression, large answers, long error texts.

use dns::{Name, Rdata, RecordSet, Rtype};
use server::{Circumstances, CookieState, Reply, ResponseKind, Sight, ZoneUpdate, Zones, answer, respond};

use crate::client::{Ask, show};
use crate::world;

fn response(zones: &Zones, ask: &Ask) -> Vec<u8> {
    let mut out = Vec::new();
    assert!(answer(&ask.octets(), zones, ask.transport, &mut out));
    out
}

/// The octets after header and question.
fn records(zones: &Zones, ask: &Ask) -> Vec<u8> {
    response(zones, ask).split_off(12 + ask.question().len())
}

#[test]
fn names_of_old_types_are_compressed_against_the_question() {
    let zones =
        world::zones("e.org.", "@ 60 SOA ns admin 1 2 3 4 5\nm 60 MX 10 x.e.org.\np 60 PTR a.m.e.org.");
    let mx = [0xc0, 12, 0, 15, 0, 1, 0, 0, 0, 60, 0, 6, 0, 10, 1, b'x', 0xc0, 14];
    assert_eq!(records(&zones, &Ask::new("m.e.org.", "MX")), mx);
    let ptr = [0xc0, 12, 0, 12, 0, 1, 0, 0, 0, 60, 0, 6, 1, b'a', 1, b'm', 0xc0, 14];
    assert_eq!(records(&zones, &Ask::new("p.e.org.", "PTR")), ptr);
}

#[test]
fn both_names_of_a_soa_are_compressed() {
    let zones = world::zones("e.org.", "@ 60 SOA ns.e.org. a.ns.e.org. 1 2 3 4 5");
    let soa = records(&zones, &Ask::new("e.org.", "SOA"));
    assert_eq!(soa[..12], [0xc0, 12, 0, 6, 0, 1, 0, 0, 0, 60, 0, 29]);
    assert_eq!(soa[12..21], [2, b'n', b's', 0xc0, 12, 1, b'a', 0xc0, 35]);
}

#[test]
fn names_of_newer_types_are_written_in_full() {
    let zones = world::zones(
        "e.org.",
        "@ 60 SOA ns admin 1 2 3 4 5\ns 60 SRV 1 2 3 t.e.org.\nd 60 DNAME t.e.org.\nh 60 HTTPS 0 t.e.org.",
    );
    for (name, rtype) in [("s.e.org.", "SRV"), ("d.e.org.", "DNAME"), ("h.e.org.", "HTTPS")] {
        let records = records(&zones, &Ask::new(name, rtype));
        assert!(records.ends_with(b"\x01t\x01e\x03org\0"), "{rtype} is written in full");
    }
}

#[test]
fn an_owner_that_differs_only_in_case_is_a_pointer_to_the_question() {
    let zones = world::zones("e.org.", "@ 60 SOA ns admin 1 2 3 4 5\nwww 60 A 192.0.2.1");
    assert_eq!(records(&zones, &Ask::new("wWw.E.oRg.", "A"))[..2], [0xc0, 12]);
}

/// One name with `count` name servers, each of its own.
fn many_servers(count: usize) -> Zones {
    let mut zones = world::zones("e.org.", "@ 60 SOA ns admin 1 2 3 4 5");
    let name: Name = "e.org.".parse().unwrap();
    let server = |at| Rdata::name(Rtype::NS, &format!("server-{at}.of-zone-{at}.e.org.").parse().unwrap());
    let set = RecordSet::new(name.clone(), Rtype::NS, 60, (0..count).map(server).collect());
    zones.apply(ZoneUpdate::PutNode { origin: name.clone(), name, sets: vec![set] });
    zones
}

#[test]
fn tcp_carries_up_to_64_kilobytes_and_truncates_what_is_more() {
    let ask = Ask::new("e.org.", "NS").with("tcp");
    let large = response(&many_servers(1200), &ask);
    assert!(large.len() > 40_000, "pointers end at 16 KiB, the message does not");
    let lines = show(&large);
    assert_eq!(lines[0], "NOERROR aa");
    assert_eq!(lines.len(), 1201);
    assert!(lines.contains(&"answer e.org. 60 NS server-1199.of-zone-1199.e.org.".to_owned()));
    assert_eq!(show(&response(&many_servers(3000), &ask)), ["NOERROR aa tc"]);
}

#[test]
fn a_client_does_not_receive_the_reason_of_an_unavailable_zone() {
    let mut zones = Zones::new();
    let reason = "/etc/zones/e.org.zone:7:3: bad A data: `s3cret` is not an address".to_owned();
    zones.apply(ZoneUpdate::Unavailable { origin: "e.org.".parse().unwrap(), reason });
    let label = "a".repeat(63);
    let long = format!("{label}.{label}.{label}.{}.e.org.", "a".repeat(54));
    for name in ["e.org.", &long] {
        let response = response(&zones, &Ask::new(name, "A").with("size=512"));
        assert!(response.len() <= 512);
        let expected = "error 24 the zone cannot be loaded; the server's log has the reason";
        assert_eq!(show(&response)[2], expected);
    }
}

#[test]
fn a_reply_says_what_its_message_says() {
    let sight = Sight { zones: None, synced: true };
    let mut out = Vec::new();
    let reply = respond(&Ask::new("e.org.", "A").octets(), Circumstances::plain(sight), &mut out);
    let (kind, cookie) = (ResponseKind::Error, CookieState::Absent);
    let wanted = Reply { rcode: server::Rcode::Refused, truncated: false, kind, subject: 0, cookie };
    assert_eq!(reply, Some(wanted));
    assert_eq!(respond(&[], Circumstances::plain(sight), &mut out), None);
    assert!(out.is_empty());
}

/// The library that reads responses knows no such family.
#[test]
fn a_client_subnet_without_a_family_is_none_and_does_not_come_back() {
    let zones = world::zones("e.org.", "@ 60 SOA ns admin 1 2 3 4 5\nwww 60 A 192.0.2.1");
    let response = response(&zones, &Ask::new("www.e.org.", "A").with("option=8:00000000"));
    assert_eq!(response[3] & 0x0f, 0, "no error");
    assert!(response.ends_with(&[0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0]), "{response:?}");
}
