#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use super::*;

/// A database in which everything is in one country: a tree of no nodes but the first.
fn database(country: &[u8; 2]) -> Vec<u8> {
    fn text(text: &str) -> Vec<u8> {
        [&[0x40 | text.len() as u8][..], text.as_bytes()].concat()
    }
    fn number(kind: u8, value: u8) -> Vec<u8> {
        match kind {
            5 | 6 => vec![kind << 5 | 1, value],
            other => vec![1, other - 7, value],
        }
    }
    let letters = std::str::from_utf8(country).unwrap();
    let record = [vec![0xe1], text("country"), vec![0xe1], text("iso_code"), text(letters)].concat();
    // One node of two 24-bit records: both lead to the first record of the data.
    let leaf = [0, 0, 17];
    let metadata = [
        vec![0xe9],
        text("binary_format_major_version"),
        number(5, 2),
        text("binary_format_minor_version"),
        number(5, 0),
        text("build_epoch"),
        number(9, 1),
        text("database_type"),
        text("Test"),
        text("description"),
        vec![0xe0],
        text("ip_version"),
        number(5, 4),
        text("languages"),
        vec![0x00, 0x04],
        text("node_count"),
        number(6, 1),
        text("record_size"),
        number(5, 24),
    ]
    .concat();
    [&leaf[..], &leaf[..], &[0; 16], &record, b"\xab\xcd\xefMaxMind.com", &metadata].concat()
}

fn view(mmdb: Option<&std::path::Path>) -> ViewInfo {
    let networks = vec![GeoNetwork { cidr: "10.0.0.0/8".to_owned(), geo: "IE".to_owned() }];
    ViewInfo {
        place: None,
        name: "edge".to_owned(),
        listen: Vec::new(),
        clients: Vec::new(),
        numbered: true,
        geo: Some(Geo { mmdb: mmdb.map(|path| path.display().to_string()), networks }),
        dnssec: None,
    }
}

fn country(geo: &GeoSource, address: &str) -> Option<[u8; 2]> {
    geo.place(address.parse().unwrap()).0.country
}

#[test]
fn a_database_is_read_again_when_it_changes_and_its_last_good_content_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("places.mmdb");
    let (geos, view) = (Geos::default(), view(Some(&path)));
    let geo = geos.of(&view);
    assert_eq!(geos.problems().len(), 1);
    assert!(geos.problems()[0].contains("places.mmdb"), "{:?}", geos.problems());
    assert_eq!(country(&geo, "10.0.0.1"), Some(*b"IE"), "the networks are there without it");

    fs::write(&path, database(b"SE")).unwrap();
    let geo = geos.of(&view);
    assert_eq!(geos.problems(), Vec::<String>::new());
    assert_eq!(country(&geo, "192.0.2.1"), Some(*b"SE"));
    assert!(geos.of(&view).is(&geo), "nothing changed, so nothing is read");

    fs::write(&path, "not a database").unwrap();
    let broken = geos.of(&view);
    assert!(geos.problems()[0].contains("not a database in MaxMind's format"), "{:?}", geos.problems());
    assert_eq!(country(&broken, "192.0.2.1"), Some(*b"SE"));
    assert_eq!(country(&broken, "10.0.0.1"), Some(*b"IE"));
}

#[test]
fn a_class_without_geo_shares_the_built_in_table() {
    let geos = Geos::default();
    let plain = ViewInfo { geo: None, ..view(None) };
    let other = ViewInfo { name: "other".to_owned(), geo: Some(Geo::default()), ..plain.clone() };
    assert!(geos.of(&plain).is(&geos.of(&other)));
    assert!(!geos.of(&view(None)).is(&geos.of(&other)));
}
