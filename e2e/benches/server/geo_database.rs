//! A country database in MaxMind's format, the one that every server here can read.
//!
//! 16.0.0.0/4 is cut into 65,536 networks of a /20, each in one of eight countries without a pattern: as
//! many ranges as there are answers to tell apart, so that nobody can merge them into a few.

use std::net::Ipv4Addr;

use crate::random::below;

/// Countries with their continents.
const COUNTRIES: [(&str, &str); 8] = [
    ("IE", "EU"),
    ("DE", "EU"),
    ("US", "NA"),
    ("JP", "AS"),
    ("FR", "EU"),
    ("BR", "SA"),
    ("ZA", "AF"),
    ("AU", "OC"),
];
const FIRST: u32 = 0x1000_0000;
const NETWORKS: u32 = 1 << 16;
const PREFIX: u32 = 20;
/// IPv4 lies at ::/96 of the tree.
const ABOVE_IPV4: u32 = 96;
/// Two records of 28 bits would do; 32 are simpler to write.
const RECORD_BITS: u16 = 32;
/// Nothing is known below this record.
const NOTHING: u32 = u32::MAX;

/// The country of an address in the database.
pub(crate) fn country(address: Ipv4Addr) -> &'static str {
    COUNTRIES[index(u32::from(address) >> (32 - PREFIX))].0
}

/// An address in the database, another for each input.
pub(crate) fn address(input: u64) -> Ipv4Addr {
    let host = u32::try_from(below(input, 1 << 28)).unwrap_or(0);
    Ipv4Addr::from(FIRST | host)
}

fn index(network: u32) -> usize {
    below(u64::from(network), COUNTRIES.len())
}

/// The file's octets.
pub(crate) fn file() -> Vec<u8> {
    let mut data = Vec::new();
    let places: Vec<u32> = COUNTRIES.iter().map(|country| place(&mut data, country)).collect();
    let mut tree = Tree::default();
    for number in 0..NETWORKS {
        let network = (FIRST >> (32 - PREFIX)) + number;
        tree.insert(network << (32 - PREFIX), places[index(network)]);
    }
    let mut octets = tree.octets();
    octets.extend([0; 16]);
    octets.extend(data);
    octets.extend(b"\xab\xcd\xefMaxMind.com");
    octets.extend(metadata(tree.nodes.len()));
    octets
}

/// Writes one country and says where it is.
fn place(data: &mut Vec<u8>, (country, continent): &(&str, &str)) -> u32 {
    let place = u32::try_from(data.len()).unwrap_or(NOTHING);
    map(data, 2);
    text(data, "continent");
    map(data, 1);
    text(data, "code");
    text(data, continent);
    text(data, "country");
    map(data, 1);
    text(data, "iso_code");
    text(data, country);
    place
}

fn metadata(nodes: usize) -> Vec<u8> {
    let mut data = Vec::new();
    map(&mut data, 9);
    text(&mut data, "node_count");
    number(&mut data, 6, &u32::try_from(nodes).unwrap_or(0).to_be_bytes());
    text(&mut data, "record_size");
    number(&mut data, 5, &RECORD_BITS.to_be_bytes());
    text(&mut data, "ip_version");
    number(&mut data, 5, &6u16.to_be_bytes());
    text(&mut data, "database_type");
    text(&mut data, "GeoIP2-Country");
    text(&mut data, "languages");
    // An array is type 11: the types past 7 are written in an octet of their own, less 7.
    data.extend([1, 4]);
    text(&mut data, "en");
    text(&mut data, "binary_format_major_version");
    number(&mut data, 5, &2u16.to_be_bytes());
    text(&mut data, "binary_format_minor_version");
    number(&mut data, 5, &0u16.to_be_bytes());
    text(&mut data, "build_epoch");
    data.extend([8, 2]);
    data.extend(1_700_000_000u64.to_be_bytes());
    text(&mut data, "description");
    map(&mut data, 1);
    text(&mut data, "en");
    text(&mut data, "made for a bench");
    data
}

fn map(data: &mut Vec<u8>, entries: u8) {
    data.push(7 << 5 | entries);
}

fn text(data: &mut Vec<u8>, text: &str) {
    data.push(2 << 5 | u8::try_from(text.len()).unwrap_or(0));
    data.extend(text.as_bytes());
}

fn number(data: &mut Vec<u8>, kind: u8, octets: &[u8]) {
    data.push(kind << 5 | u8::try_from(octets.len()).unwrap_or(0));
    data.extend(octets);
}

/// The search tree: each node leads to two others, to data or to nothing.
#[derive(Default)]
struct Tree {
    nodes: Vec<[Record; 2]>,
}

#[derive(Clone, Copy)]
enum Record {
    Nothing,
    Node(usize),
    Data(u32),
}

impl Tree {
    fn insert(&mut self, network: u32, data: u32) {
        let mut node = self.child(None);
        let depth = ABOVE_IPV4 + PREFIX;
        for level in 0..depth - 1 {
            node = self.child(Some((node, side(network, level))));
        }
        self.nodes[node][side(network, depth - 1)] = Record::Data(data);
    }

    /// The node behind a record, made where there is none; without a record the root.
    fn child(&mut self, of: Option<(usize, usize)>) -> usize {
        let next = self.nodes.len();
        let found = match of {
            None => {
                if next > 0 {
                    Record::Node(0)
                } else {
                    Record::Nothing
                }
            }
            Some((node, side)) => self.nodes[node][side],
        };
        if let Record::Node(node) = found {
            return node;
        }
        self.nodes.push([Record::Nothing; 2]);
        if let Some((node, side)) = of {
            self.nodes[node][side] = Record::Node(next);
        }
        next
    }

    fn octets(&self) -> Vec<u8> {
        let count = u32::try_from(self.nodes.len()).unwrap_or(NOTHING);
        let value = |record: &Record| match record {
            Record::Nothing => count,
            Record::Node(node) => u32::try_from(*node).unwrap_or(NOTHING),
            Record::Data(place) => count + 16 + place,
        };
        self.nodes.iter().flatten().flat_map(|record| value(record).to_be_bytes()).collect()
    }
}

/// Which record of a node leads on, at this depth.
fn side(network: u32, level: u32) -> usize {
    let bit = level.checked_sub(ABOVE_IPV4).map_or(0, |bit| network >> (31 - bit) & 1);
    usize::try_from(bit).unwrap_or(0)
}
