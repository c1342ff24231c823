//! A small database of places in MaxMind's format: three networks, each with country, continent and
//! coordinates, and addresses that a test puts there too.

use std::net::Ipv4Addr;

/// Where something is.
pub(crate) struct Place {
    pub(crate) country: &'static str,
    pub(crate) continent: &'static str,
    pub(crate) latitude: f64,
    pub(crate) longitude: f64,
}

/// The places of 16.0.0.0/8, 17.0.0.0/8 and 18.0.0.0/8.
pub(crate) const PLACES: [Place; 3] = [
    Place { country: "IE", continent: "EU", latitude: 53.3, longitude: -6.3 },
    Place { country: "DE", continent: "EU", latitude: 52.5, longitude: 13.4 },
    Place { country: "US", continent: "NA", latitude: 40.7, longitude: -74.0 },
];

/// What a bit of an address leads to.
#[derive(Clone, Copy)]
enum Branch {
    Nowhere,
    Node(u32),
    Place(usize),
}

/// The file's octets; each of these addresses is in the place with its number.
pub(crate) fn file(homes: &[(Ipv4Addr, usize)]) -> Vec<u8> {
    let mut nodes = vec![[Branch::Nowhere; 2]];
    for (place, first) in [16, 17, 18].into_iter().enumerate() {
        insert(&mut nodes, Ipv4Addr::new(first, 0, 0, 0), 8, place);
    }
    homes.iter().for_each(|(address, place)| insert(&mut nodes, *address, 32, *place));
    let count = nodes.len() as u32;
    let (mut data, mut starts) = (Vec::new(), Vec::new());
    for one in &PLACES {
        starts.push(count + 16 + data.len() as u32);
        data.extend(place(one));
    }
    let record = |branch: &Branch| match branch {
        Branch::Nowhere => count,
        Branch::Node(number) => *number,
        Branch::Place(number) => starts[*number],
    };
    let tree = nodes.iter().flatten().map(record).flat_map(u32::to_be_bytes);
    tree.chain([0; 16]).chain(data).chain(*b"\xab\xcd\xefMaxMind.com").chain(metadata(count)).collect()
}

/// Puts a network into the tree, which has nothing of it yet.
fn insert(nodes: &mut Vec<[Branch; 2]>, network: Ipv4Addr, bits: usize, place: usize) {
    let bit = |depth: usize| (network.to_bits() >> (31 - depth) & 1) as usize;
    let mut at = 0;
    for depth in 0..bits - 1 {
        at = match nodes[at][bit(depth)] {
            Branch::Node(next) => next as usize,
            _ => {
                nodes[at][bit(depth)] = Branch::Node(nodes.len() as u32);
                nodes.push([Branch::Nowhere; 2]);
                nodes.len() - 1
            }
        };
    }
    nodes[at][bit(bits - 1)] = Branch::Place(place);
}

fn place(place: &Place) -> Vec<u8> {
    let location = [
        map(3),
        [text("latitude"), double(place.latitude)].concat(),
        [text("longitude"), double(place.longitude)].concat(),
        // Without it PowerDNS takes no coordinates.
        [text("accuracy_radius"), number(5, &[0, 1])].concat(),
    ];
    [
        map(3),
        text("continent"),
        [map(1), text("code"), text(place.continent)].concat(),
        text("country"),
        [map(1), text("iso_code"), text(place.country)].concat(),
        text("location"),
        location.concat(),
    ]
    .concat()
}

fn metadata(nodes: u32) -> Vec<u8> {
    [
        map(9),
        [text("node_count"), number(6, &nodes.to_be_bytes())].concat(),
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
