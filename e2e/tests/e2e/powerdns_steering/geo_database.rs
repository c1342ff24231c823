//! A small database of places in MaxMind's format: three networks, each with country, continent and
//! coordinates.

/// The first octet of a network, its country, continent, latitude and longitude.
type Entry = (u8, &'static str, &'static str, f64, f64);

const ENTRIES: [Entry; 3] =
    [(16, "IE", "EU", 53.3, -6.3), (17, "DE", "EU", 52.5, 13.4), (18, "US", "NA", 40.7, -74.0)];
/// A whole tree over the first eight bits of an address.
const NODES: u32 = 255;

/// The file's octets.
pub(super) fn file() -> Vec<u8> {
    let (mut data, mut places) = (Vec::new(), [NODES; 256]);
    for entry in ENTRIES {
        places[usize::from(entry.0)] = NODES + 16 + data.len() as u32;
        data.extend(place(entry));
    }
    let child = |number: u32| match number.checked_sub(NODES) {
        Some(octet) => places[octet as usize],
        None => number,
    };
    let records = (0..NODES).flat_map(|node| [child(2 * node + 1), child(2 * node + 2)]);
    let tree = records.flat_map(u32::to_be_bytes);
    tree.chain([0; 16]).chain(data).chain(*b"\xab\xcd\xefMaxMind.com").chain(metadata()).collect()
}

fn place((_, country, continent, latitude, longitude): Entry) -> Vec<u8> {
    let location = [
        map(3),
        [text("latitude"), double(latitude)].concat(),
        [text("longitude"), double(longitude)].concat(),
        // Without it PowerDNS takes no coordinates.
        [text("accuracy_radius"), number(5, &[0, 1])].concat(),
    ];
    [
        map(3),
        text("continent"),
        [map(1), text("code"), text(continent)].concat(),
        text("country"),
        [map(1), text("iso_code"), text(country)].concat(),
        text("location"),
        location.concat(),
    ]
    .concat()
}

fn metadata() -> Vec<u8> {
    [
        map(9),
        [text("node_count"), number(6, &NODES.to_be_bytes())].concat(),
        [text("record_size"), number(5, &[0, 32])].concat(),
        [text("ip_version"), number(5, &[0, 4])].concat(),
        [text("database_type"), text("GeoIP2-City")].concat(),
        // An array is type 11: the types past 7 are written in an octet of their own, less 7.
        [text("languages"), vec![1, 4], text("en")].concat(),
        [text("binary_format_major_version"), number(5, &[0, 2])].concat(),
        [text("binary_format_minor_version"), number(5, &[0, 0])].concat(),
        [text("build_epoch"), vec![8, 2], 1_700_000_000_u64.to_be_bytes().to_vec()].concat(),
        [text("description"), map(1), text("en"), text("made for a test")].concat(),
    ]
    .concat()
}

fn map(entries: u8) -> Vec<u8> {
    vec![7 << 5 | entries]
}

fn text(text: &str) -> Vec<u8> {
    [&[2 << 5 | text.len() as u8], text.as_bytes()].concat()
}

fn double(value: f64) -> Vec<u8> {
    [&[3 << 5 | 8][..], &value.to_be_bytes()].concat()
}

fn number(kind: u8, octets: &[u8]) -> Vec<u8> {
    [&[kind << 5 | octets.len() as u8], octets].concat()
}
