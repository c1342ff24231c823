use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{name, read, read_zone};
use crate::zone_file::tests::no_include;
use crate::{Name, PackedZone, Rdata, RecordSet, Rtype, write_zone};

#[test]
fn a_zone_is_written_for_people() {
    let text = "$TTL 300\n@ 360 SOA ns noc 1 86400 7200 3600000 360\n@ NS ns\nns A 192.0.2.1\n\
                a.very.long.name.that.would.push.all.columns.away A 192.0.2.2\n*.www 60 TXT \"a b\"\n@ A 192.0.2.3";
    let zone = read(text).unwrap().zone;
    let expected = "\
$ORIGIN example.org.
$TTL 300
@         360 IN SOA      ns.example.org. noc.example.org. 1 86400 7200 3600000 360
@             IN A        192.0.2.3
@             IN NS       ns.example.org.
a.very.long.name.that.would.push.all.columns.away         IN A        192.0.2.2
ns            IN A        192.0.2.1
*.www      60 IN TXT      \"a b\"
";
    assert_eq!(write_zone(zone.origin(), zone.iter()), expected);
}

#[test]
fn names_elsewhere_are_written_absolute() {
    let set =
        |owner: &str| RecordSet::new(name(owner), Rtype::NS, 60, vec![Rdata::name(Rtype::NS, &name("ns"))]);
    let text = write_zone(&name("example.org"), [set("notexample.org"), set("org"), set(r"x\.example.org")]);
    let owners: Vec<&str> = text.lines().skip(2).filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(owners, ["org.", "notexample.org.", r"x\.example.org."]);
    let root = write_zone(&Name::root(), [set("org"), set(".")]);
    assert_eq!(root, "$ORIGIN .\n$TTL 60\n@           IN NS       ns.\norg         IN NS       ns.\n");
    assert_eq!(write_zone(&name("org"), []), "$ORIGIN org.\n$TTL 0\n");
}

fn any_owner() -> impl Strategy<Value = Name> {
    let octet = prop_oneof![Just(b'a'), Just(b'*'), Just(b'$'), Just(b'@'), Just(b'.'), any::<u8>()];
    let labels = proptest::collection::vec(proptest::collection::vec(octet, 1..4), 0..3);
    labels.prop_map(|labels| {
        labels.iter().try_fold(name("example.org"), |name, label| name.child(label)).unwrap()
    })
}

fn any_data() -> impl Strategy<Value = Rdata> {
    let text = proptest::collection::vec(any::<u8>(), 0..20);
    prop_oneof![
        any::<u32>().prop_map(|address| Rdata::a(address.into())),
        (any::<u16>(), any_owner()).prop_map(|(preference, exchange)| Rdata::mx(preference, &exchange)),
        any_owner().prop_map(|target| Rdata::name(Rtype::NS, &target)),
        "\\PC{0,30}".prop_map(|text| Rdata::txt(&text)),
        text.prop_map(|octets| Rdata::from_wire(Rtype(62000), &octets).unwrap()),
    ]
}

fn any_zone(origin: Name) -> impl Strategy<Value = PackedZone> {
    let records = proptest::collection::vec((any_owner(), 0u32..4, any_data()), 0..20);
    records.prop_map(move |records| {
        let soa = Rdata::parse(Rtype::SOA, "ns noc 1 2 3 4 5", &origin).unwrap();
        let mut sets = BTreeMap::<(Name, Rtype), (u32, Vec<Rdata>)>::new();
        for (owner, ttl, data) in records.into_iter().chain([(origin.clone(), 9, soa)]) {
            sets.entry((owner, data.rtype())).or_insert((ttl, Vec::new())).1.push(data);
        }
        let sets =
            sets.into_iter().map(|((name, rtype), (ttl, data))| RecordSet::new(name, rtype, ttl, data));
        PackedZone::from_sets(origin.clone(), sets).unwrap()
    })
}

proptest! {
    #[test]
    fn what_is_written_reads_back(zone in prop_oneof![any_zone(name("example.org")), any_zone(Name::root())]) {
        let text = write_zone(zone.origin(), zone.iter());
        let read = read_zone("x.zone", &text, &mut no_include).unwrap();
        prop_assert_eq!(&read.zone, &zone, "{}", text);
        prop_assert_eq!(read.remarks, []);
        prop_assert_eq!(read.zone.content_hash(), zone.content_hash());
        prop_assert_eq!(PackedZone::from_bytes(&zone.to_bytes()), Ok(zone));
    }
}
