#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use rstest::rstest;

use super::*;
use crate::{Rtype, entry_hash};

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

fn set(owner: &str, rtype: &str, ttl: u32, data: &[&str]) -> RecordSet {
    let rtype: Rtype = rtype.parse().unwrap();
    let data = data.iter().map(|text| Rdata::parse(rtype, text, &name("example.org")).unwrap()).collect();
    RecordSet::new(name(owner), rtype, ttl, data)
}

fn soa(serial: u32) -> RecordSet {
    set("example.org", "SOA", 360, &[&format!("ns noc {serial} 86400 7200 3600000 360")])
}

fn sample() -> Vec<RecordSet> {
    vec![
        soa(1),
        set("example.org", "NS", 360, &["ns", "ns2"]),
        set("b.a.example.org", "A", 60, &["192.0.2.2", "192.0.2.1"]),
        set("b.a.example.org", "TXT", 60, &["text"]),
        set("*.w.example.org", "CNAME", 60, &["b.a"]),
        set("ns.example.org", "AAAA", 60, &["2001:db8::1"]),
    ]
}

fn zone() -> PackedZone {
    PackedZone::from_sets(name("example.org"), sample()).unwrap()
}

#[test]
fn holds_what_it_was_given_in_canonical_order() {
    let mut expected = sample();
    expected.sort_by(|a, b| (&a.name, a.rtype).cmp(&(&b.name, b.rtype)));
    assert_eq!(zone().iter().collect::<Vec<_>>(), expected);
    assert_eq!((zone().len(), zone().set_count(), zone().nodes().count()), (8, 6, 4));
    assert_eq!((zone().origin(), zone().soa()), (&name("example.org"), soa(1)));
    assert!(!zone().is_empty());
    assert_eq!(format!("{:?}", zone()).split(',').next(), Some("PackedZone(example.org."));
}

#[rstest]
#[case("example.org", &["NS", "SOA"])]
#[case("a.example.org", &[])]
#[case("b.a.example.org", &["A", "TXT"])]
#[case("w.example.org", &[])]
#[case("*.w.example.org", &["CNAME"])]
#[case("x.example.org", &[])]
#[case("b.example.org", &[])]
#[case("zzz.example.org", &[])]
#[case("example.net", &[])]
#[case("org", &[])]
#[case(".", &[])]
fn lookup(#[case] text: &str, #[case] types: &[&str]) {
    let (zone, name) = (zone(), name(text));
    let sets = zone.sets_at(name.key());
    assert!(sets.iter().all(|set| set.name == name));
    assert_eq!(sets.iter().map(|set| set.rtype.to_string()).collect::<Vec<_>>(), types);
    assert_eq!(zone.node_at(name.key()).is_some(), !types.is_empty());
}

#[rstest]
#[case(".", 4)]
#[case("example.org", 4)]
#[case("a.example.org", 3)]
#[case("b.a.example.org", 3)]
#[case("c.a.example.org", 2)]
#[case("*.w.example.org", 1)]
#[case("z.example.org", 0)]
#[case("a.net", 4)]
#[case("a.zzz", 0)]
fn nodes_from(#[case] text: &str, #[case] left: usize) {
    assert_eq!(zone().nodes_from(name(text).key()).count(), left);
}

#[test]
fn packed_sets_lend_their_data() {
    let zone = zone();
    let node = zone.node_at(name("b.a.example.org").key()).unwrap();
    let addresses = node.set(Rtype::A).unwrap();
    assert_eq!((addresses.len(), addresses.ttl, addresses.is_empty()), (2, 60, false));
    assert_eq!(addresses.data().collect::<Vec<_>>(), [[192, 0, 2, 1], [192, 0, 2, 2]]);
    assert!(node.set(Rtype::MX).is_none());
    assert_eq!(node.name(), name("b.a.example.org"));
}

#[rstest]
#[case("A", &["192.0.2.1", "192.0.2.2", "192.0.2.3"])]
#[case("AAAA", &["2001:db8::1", "2001:db8::2", "2001:db8::3"])]
#[case("TXT", &["a", "ab", "abc"])]
fn records_are_passed_over_whatever_their_length(#[case] rtype: &str, #[case] data: &[&str]) {
    let sets = [
        soa(1),
        set("www.example.org", rtype, 60, data),
        set("www.example.org", "TYPE62000", 60, &["\\# 1 07"]),
    ];
    let zone = PackedZone::from_sets(name("example.org"), sets).unwrap();
    let node = zone.node_at(name("www.example.org").key()).unwrap();
    let all: Vec<_> = node.sets().next().unwrap().data().collect();
    assert_eq!(node.set(Rtype(62000)).unwrap().data().collect::<Vec<_>>(), [[7]]);
    for passed in 0..3 {
        let mut records = node.sets().next().unwrap().data();
        assert_eq!(records.nth(passed), Some(all[passed]));
        assert_eq!(records.next(), all.get(passed + 1).copied());
    }
    assert_eq!(node.sets().next().unwrap().data().nth(3), None);
}

#[test]
fn sets_of_one_name_and_type_become_one_with_the_lowest_ttl() {
    let more = [set("www.example.org", "A", 60, &["192.0.2.2", "192.0.2.1"]), soa(1)];
    let zone = PackedZone::from_sets(
        name("example.org"),
        more.into_iter().chain([set("www.example.org", "A", 30, &["192.0.2.1", "192.0.2.3"])]),
    );
    let expected = set("www.example.org", "A", 30, &["192.0.2.1", "192.0.2.2", "192.0.2.3"]);
    assert_eq!(zone.unwrap().sets_at(name("www.example.org").key()), [expected]);
}

#[rstest]
#[case(vec![], "the zone example.org. needs exactly one SOA record, at its apex")]
#[case(vec![set("www.example.org", "A", 1, &["192.0.2.1"])], "the zone example.org. needs exactly one SOA record, at its apex")]
#[case(vec![soa(1), soa(2)], "the zone example.org. needs exactly one SOA record, at its apex")]
#[case(vec![soa(1), set("a.example.org", "SOA", 1, &["a b 1 2 3 4 5"])], "the zone example.org. needs exactly one SOA record, at its apex")]
#[case(vec![soa(1), set("www.example.net", "A", 1, &["192.0.2.1"])], "www.example.net. does not lie in the zone example.org.")]
fn refuses(#[case] sets: Vec<RecordSet>, #[case] message: &str) {
    assert_eq!(PackedZone::from_sets(name("example.org"), sets).unwrap_err().to_string(), message);
}

#[test]
fn hash_is_the_sum_of_the_entries() {
    let sum = |sets: &[RecordSet]| {
        let entries = sets
            .iter()
            .flat_map(|set| set.data.iter().map(|data| entry_hash(&set.name, set.rtype, set.ttl, data)));
        entries.fold(0u64, u64::wrapping_add)
    };
    assert_eq!(zone().content_hash(), sum(&sample()));
    let mut reversed = sample();
    reversed.reverse();
    let reversed = PackedZone::from_sets(name("example.org"), reversed).unwrap();
    assert_eq!(reversed.content_hash(), zone().content_hash());
}

/// Serials on users' disks depend on these numbers: they must never change.
#[test]
fn hash_is_stable_over_versions() {
    let address = Rdata::parse(Rtype::A, "192.0.2.1", &Name::root()).unwrap();
    assert_eq!(entry_hash(&name("www.example.org"), Rtype::A, 300, &address), 0xe4979ba420e16be7);
    assert_eq!(zone().content_hash(), 0x926e2e36e381ee4d);
}

#[rstest]
#[case("ns noc 2 86400 7200 3600000 360", true)]
#[case("ns noc 1 86401 7200 3600000 360", false)]
#[case("ns admin 1 86400 7200 3600000 360", false)]
fn only_the_serial_leaves_the_hash_as_it_is(#[case] data: &str, #[case] same: bool) {
    let mut sets = sample();
    sets[0] = set("example.org", "SOA", 360, &[data]);
    let changed = PackedZone::from_sets(name("example.org"), sets).unwrap();
    assert_eq!(changed.content_hash() == zone().content_hash(), same);
    assert_ne!(changed, zone());
}

#[test]
fn hash_tells_name_type_ttl_and_data_apart() {
    let hash = |owner: &str, rtype: u16, ttl, data: &[u8]| {
        entry_hash(&name(owner), Rtype(rtype), ttl, &Rdata::from_wire(Rtype(rtype), data).unwrap())
    };
    let hashes = std::collections::BTreeSet::from([
        hash("a.org", 65280, 1, b"x"),
        hash("b.org", 65280, 1, b"x"),
        hash("a.org", 65281, 1, b"x"),
        hash("a.org", 65280, 2, b"x"),
        hash("a.org", 65280, 1, b"y"),
        hash("a.org", 65280, 1, b""),
        hash("org", 65280, 1, b"x"),
    ]);
    assert_eq!(hashes.len(), 7);
}

#[test]
fn an_address_takes_well_under_100_octets() {
    let hosts = (0..10_000).map(|i| set(&format!("host-{i}.example.org"), "A", 300, &["192.0.2.1"]));
    let zone = PackedZone::from_sets(name("example.org"), hosts.chain([soa(1)])).unwrap();
    assert!(zone.memory() / zone.len() < 50, "{} octets a record", zone.memory() / zone.len());
}

#[test]
fn octets_round_trip() {
    assert_eq!(PackedZone::from_bytes(&zone().to_bytes()), Ok(zone()));
    let root = PackedZone::from_sets(Name::root(), [RecordSet { name: Name::root(), ..soa(1) }]).unwrap();
    assert_eq!(PackedZone::from_bytes(&root.to_bytes()), Ok(root));
}

#[test]
fn octets_cut_short_are_refused() {
    let octets = zone().to_bytes();
    for length in 0..octets.len() {
        assert!(PackedZone::from_bytes(&octets[..length]).is_err(), "{length} of {}", octets.len());
    }
    assert!(PackedZone::from_bytes(&[&octets[..], &[0]].concat()).is_err());
    assert!(PackedZone::from_bytes(b"fpz\x02").is_err());
}

#[test]
fn names_out_of_order_are_refused() {
    let octets = zone().to_bytes();
    let place = |position: usize| octets.len() - zone().buffer.len() + zone().places[position] as usize;
    let (second, third, fourth) = (place(1), place(2), place(3));
    let swapped =
        [&octets[..second], &octets[third..fourth], &octets[second..third], &octets[fourth..]].concat();
    assert_eq!(PackedZone::from_bytes(&swapped), Err(PackedZoneError::Malformed));
}

proptest! {
    #[test]
    fn damaged_octets_are_refused_or_a_zone(at in 0usize..200, value: u8, cut in 0usize..4) {
        let mut octets = zone().to_bytes();
        let at = at % octets.len();
        octets[at] = value;
        octets.drain(at..(at + cut).min(octets.len()));
        if let Ok(read) = PackedZone::from_bytes(&octets) {
            prop_assert_eq!(read.to_bytes(), octets);
            prop_assert_eq!(read.iter().map(|set| set.data.len()).sum::<usize>(), read.len());
        }
    }

    #[test]
    fn garbage_is_refused(octets in proptest::collection::vec(0u8..8, 0..80)) {
        let octets = [b"fpz\x01", &octets[..]].concat();
        prop_assert!(PackedZone::from_bytes(&octets).is_err());
    }
}

#[test]
fn a_type_that_a_server_executes_is_not_read_back() {
    let program = RecordSet::new(
        name("x.example.org"),
        Rtype(65402),
        60,
        vec![Rdata::from_wire(Rtype(65402), b"\0\x01\x011").unwrap()],
    );
    let with = PackedZone::from_sets(name("example.org"), zone().iter().chain([program])).unwrap();
    assert_eq!(PackedZone::from_bytes(&with.to_bytes()), Ok(zone()));
}
