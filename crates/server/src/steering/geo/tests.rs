#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, Ipv6Addr};

use dns::Location;
use proptest::prelude::*;
use rstest::rstest;

use super::*;

mod writer;

fn network(text: &str) -> Network {
    text.parse().unwrap()
}

fn geo_of(text: &str) -> Geo {
    text.parse().unwrap()
}

/// Networks, a database and the built-in table, each of which decides somewhere.
fn source() -> GeoSource {
    let networks = [
        ("10.0.0.0/8", "GEO-AS"),
        ("10.1.0.0/16", "IE"),
        ("10.1.128.0/17", "US"),
        ("10.1.128.7/32", "BR"),
        ("2001:db8::/32", "GEO-EU"),
        ("2001:db8:1::/48", "US"),
        ("2001:db8:1::53/128", "IE"),
    ];
    let entries = [
        ("10.1.0.0/16", writer::Entry::country("DE")),
        ("81.0.0.0/9", writer::Entry::country("SE").at(59.33, 18.07)),
        ("81.128.0.0/9", writer::Entry { continent: Some("OC"), ..writer::Entry::default() }),
        ("198.51.100.0/24", writer::Entry::default()),
        ("2001:db8::/33", writer::Entry::country("SE")),
        ("2a00::/16", writer::Entry::country("NO").at(60.0, 11.0)),
    ];
    let database = writer::database(&entries.map(|(text, entry)| (network(text), entry)));
    GeoSource::new(
        networks.map(|(text, geo)| (network(text), geo_of(geo))).to_vec(),
        Some(Database::read(database).unwrap()),
    )
}

#[rstest]
#[case("10.200.0.1", "GEO-AS", "10.0.0.0/8")]
#[case("10.1.0.1", "IE, GEO-EU", "10.1.0.0/16")]
#[case("10.1.128.1", "US, GEO-NA", "10.1.128.0/17")]
#[case("10.1.128.7", "BR, GEO-SA", "10.1.128.7/32")]
#[case("::ffff:10.1.0.1", "IE, GEO-EU", "10.1.0.0/16")]
#[case("81.1.2.3", "SE, GEO-EU, 59.33, 18.07", "database")]
#[case("81.129.2.3", "GEO-OC", "database")]
#[case("198.51.100.1", "", "built-in")]
#[case("193.1.1.1", "IE, GEO-EU", "built-in")]
#[case("127.0.0.1", "", "built-in")]
#[case("2001:db8:1::53", "IE, GEO-EU", "2001:db8:1::53/128")]
#[case("2001:db8:1::54", "US, GEO-NA", "2001:db8:1::/48")]
#[case("2a00::1", "NO, GEO-EU, 60, 11", "database")]
#[case("2a01::1", "FR, GEO-EU", "built-in")]
fn networks_come_before_the_database_before_the_built_in_table(
    #[case] address: &str,
    #[case] place: &str,
    #[case] origin: &str,
) {
    let (found, by) = source().place(address.parse().unwrap());
    assert_eq!((place_text(&found).as_str(), origin_text(by).as_str()), (place, origin));
}

fn place_text(place: &Whereabouts) -> String {
    let country = place.country.map(|letters| Geo::Country(letters).to_string());
    let continent = place.continent.map(|letters| Geo::Continent(letters).to_string());
    let degrees = |millionths: i32| f64::from(millionths) / 1e6;
    let coordinates = place.coordinates.map(|(north, east)| format!("{}, {}", degrees(north), degrees(east)));
    [country, continent, coordinates].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn origin_text(origin: Origin) -> String {
    match origin {
        Origin::Network(network) => network.to_string(),
        Origin::Database => "database".to_owned(),
        Origin::BuiltIn => "built-in".to_owned(),
    }
}

#[test]
fn equal_lists_share_a_table_and_nobody_s_is_dropped() {
    let source = source();
    let places = |text: &str| Places::Geo(vec![geo_of(text)]);
    let (one, other) = (source.table(places("IE")), source.table(places("IE")));
    assert!(Arc::ptr_eq(&one, &other));
    assert!(!Arc::ptr_eq(&one, &source.table(places("US"))));
    drop((one, other));
    let _us = source.table(places("BR"));
    assert_eq!(source.0.tables.lock().unwrap().len(), 1);
}

#[test]
fn a_broken_database_is_told() {
    let error = Database::read(b"nothing of the kind".to_vec()).unwrap_err().to_string();
    assert!(error.starts_with("not a database in MaxMind's format: "), "{error}");
    let mut cut = writer::database(&[(network("10.0.0.0/8"), writer::Entry::country("IE"))]);
    // A tree whose first node leads to itself has no end, and must not take for ever.
    cut[..6].fill(0);
    let looping = Database::read(cut).unwrap();
    assert_eq!(looping.steps(|_| 1), Default::default());
}

fn lists() -> Vec<Places> {
    let at = |geo: &str, coordinates| Location { geo: geo.parse().ok(), coordinates };
    vec![
        Places::Geo(["IE", "US", "GEO-EU", "GEO-AS", "SE"].map(geo_of).to_vec()),
        Places::Closest(vec![
            at("US", None),
            at("SE", Some((59_000_000, 18_000_000))),
            at("GEO-OC", Some((-33_000_000, 151_000_000))),
            at("IE", None),
        ]),
    ]
}

/// Addresses everywhere, and more of them around the edges of what the source has.
fn addresses() -> impl Strategy<Value = IpAddr> {
    let edges =
        vec![0x0a00_0000u32, 0x0a01_0000, 0x0a01_8000, 0x0a01_8007, 0x0a02_0000, 0x5100_0000, 0x5180_0000];
    let edges6 =
        vec![0x2001_0db8u128 << 96, 0x2001_0db8_0001 << 80, (0x2001_0db8_0001 << 80) | 0x53, 0x2a00 << 112];
    let near = |drawn: i8| i64::from(drawn) / 32;
    prop_oneof![
        any::<u32>().prop_map(|bits| Ipv4Addr::from_bits(bits).into()),
        (proptest::sample::select(edges), any::<i8>())
            .prop_map(move |(edge, by)| Ipv4Addr::from_bits(edge.wrapping_add_signed(near(by) as i32)).into()),
        any::<u128>().prop_map(|bits| Ipv6Addr::from_bits(bits >> 3 | 0x2 << 124).into()),
        (proptest::sample::select(edges6), any::<i8>()).prop_map(move |(edge, by)| {
            Ipv6Addr::from_bits(edge.wrapping_add_signed(i128::from(near(by)))).into()
        }),
    ]
}

/// Another address with the same first bits.
fn sibling(address: IpAddr, bits: u8, other: u128) -> IpAddr {
    let low = u128::MAX.checked_shr(u32::from(bits)).unwrap_or(0);
    match address {
        IpAddr::V4(address) => {
            let low = (low >> 96) as u32;
            Ipv4Addr::from_bits(address.to_bits() & !low | other as u32 & low).into()
        }
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !low | other & low).into(),
    }
}

#[test]
fn a_table_says_what_the_source_says_of_each_address_as_far_as_its_scope() {
    let source = source();
    for places in lists() {
        let table = source.table(places.clone());
        let naive = |address| places.order(&source.place(address).0);
        proptest!(ProptestConfig { cases: 3_000, ..ProptestConfig::default() }, |(
            address in addresses(),
            others in proptest::array::uniform4(any::<u128>()),
        )| {
            let (order, bits) = table.find(address);
            prop_assert_eq!(order, &naive(address)[..], "{} ({} bits)", address, bits);
            for other in others.into_iter().chain([0, u128::MAX]) {
                let other = sibling(address, bits, other);
                prop_assert_eq!(order, &naive(other)[..], "{} has the scope of {}/{}", other, address, bits);
            }
        });
    }
}

#[rstest]
#[case("10.1.0.1", 17)]
#[case("10.1.128.7", 32)]
#[case("10.1.128.6", 32)]
#[case("10.1.255.1", 18)]
#[case("10.0.0.1", 16)]
#[case("2001:db8:1::53", 128)]
#[case("2001:db8:ffff::", 33)]
fn a_scope_is_the_largest_network_that_is_alike(#[case] address: &str, #[case] bits: u8) {
    let table = source().table(Places::Geo(["IE", "US", "BR", "GEO-AS", "GEO-EU"].map(geo_of).to_vec()));
    assert_eq!(table.find(address.parse().unwrap()).1, bits);
}

#[test]
fn a_table_of_a_usual_list_is_small() {
    let source = GeoSource::built_in();
    let usual = Places::Geo(["GEO-EU", "GEO-NA", "GEO-AS", "GEO-OC"].map(geo_of).to_vec());
    let octets = source.table(usual).ipv4_octets();
    assert!(octets <= 350_000, "{octets}");
}

#[test]
fn every_country_of_the_built_in_table_is_on_a_continent() {
    let numbers = built_in::ipv4().iter().filter_map(|(_, country)| built_in::letters(*country));
    let lost: BTreeSet<[u8; 2]> = numbers.filter(|country| dns::continent_of(*country).is_none()).collect();
    assert_eq!(lost, BTreeSet::new());
}
