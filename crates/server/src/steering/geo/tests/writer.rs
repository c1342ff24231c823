//! Writes databases in MaxMind's format, as its specification says, for tests.

use std::net::IpAddr;

use crate::Network;
use crate::steering::geo::steps::number;

/// What a record says.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Entry {
    pub(super) country: Option<&'static str>,
    pub(super) continent: Option<&'static str>,
    pub(super) location: Option<(f64, f64)>,
}

impl Entry {
    pub(super) fn country(country: &'static str) -> Entry {
        Entry { country: Some(country), ..Entry::default() }
    }

    pub(super) fn at(self, latitude: f64, longitude: f64) -> Entry {
        Entry { location: Some((latitude, longitude)), ..self }
    }

    fn octets(&self) -> Vec<u8> {
        let mut fields = Vec::new();
        if let Some(country) = self.country {
            fields.push([text("country"), map(&[[text("iso_code"), text(country)].concat()])].concat());
        }
        if let Some(continent) = self.continent {
            fields.push([text("continent"), map(&[[text("code"), text(continent)].concat()])].concat());
        }
        if let Some((latitude, longitude)) = self.location {
            let both = [("latitude", latitude), ("longitude", longitude)];
            let both = both.map(|(name, value)| [text(name), double(value)].concat());
            fields.push([text("location"), map(&both)].concat());
        }
        map(&fields)
    }
}

fn text(text: &str) -> Vec<u8> {
    [&[2 << 5 | text.len() as u8][..], text.as_bytes()].concat()
}

fn double(value: f64) -> Vec<u8> {
    [&[3 << 5 | 8][..], &value.to_be_bytes()].concat()
}

fn map(fields: &[Vec<u8>]) -> Vec<u8> {
    [vec![7 << 5 | fields.len() as u8], fields.concat()].concat()
}

fn short(value: u16) -> Vec<u8> {
    [&[5 << 5 | 2][..], &value.to_be_bytes()].concat()
}

fn long(value: u32) -> Vec<u8> {
    [&[6 << 5 | 4][..], &value.to_be_bytes()].concat()
}

/// The two sides of a node.
#[derive(Clone, Copy, Default)]
struct Sides([Side; 2]);

#[derive(Clone, Copy, Default)]
enum Side {
    #[default]
    Nothing,
    Node(usize),
    Record(usize),
}

/// A database of these networks, none in another; IPv4 lies below `::/96`.
pub(super) fn database(entries: &[(Network, Entry)]) -> Vec<u8> {
    let mut nodes = vec![Sides::default()];
    for (at, (network, _)) in entries.iter().enumerate() {
        let (address, bits) = match network.address() {
            IpAddr::V4(_) => (number(network.address()), 96 + network.prefix()),
            IpAddr::V6(_) => (number(network.address()), network.prefix()),
        };
        insert(&mut nodes, address, bits, at);
    }
    let records: Vec<Vec<u8>> = entries.iter().map(|(_, entry)| entry.octets()).collect();
    let mut out: Vec<u8> = nodes
        .iter()
        .flat_map(|node| node.0)
        .flat_map(|side| {
            let value = match side {
                Side::Nothing => nodes.len(),
                Side::Node(node) => node,
                Side::Record(at) => nodes.len() + 16 + records[..at].iter().map(Vec::len).sum::<usize>(),
            };
            (value as u32).to_be_bytes()
        })
        .collect();
    out.extend([0; 16]);
    out.extend(records.concat());
    out.extend(b"\xab\xcd\xefMaxMind.com");
    out.extend(metadata(nodes.len() as u32));
    out
}

fn insert(nodes: &mut Vec<Sides>, address: u128, bits: u8, record: usize) {
    let mut node = 0;
    for depth in 0..bits {
        let side = (address >> (127 - depth) & 1) as usize;
        if depth + 1 == bits {
            nodes[node].0[side] = Side::Record(record);
            return;
        }
        node = match nodes[node].0[side] {
            Side::Node(next) => next,
            _ => {
                nodes.push(Sides::default());
                let next = nodes.len() - 1;
                nodes[node].0[side] = Side::Node(next);
                next
            }
        };
    }
}

fn metadata(node_count: u32) -> Vec<u8> {
    let field = |name: &str, value: Vec<u8>| [text(name), value].concat();
    map(&[
        field("binary_format_major_version", short(2)),
        field("binary_format_minor_version", short(0)),
        field("build_epoch", [&[8, 2][..], &1u64.to_be_bytes()].concat()),
        field("database_type", text("Test")),
        field("description", map(&[])),
        field("ip_version", short(6)),
        field("languages", vec![0, 4]),
        field("node_count", long(node_count)),
        field("record_size", short(32)),
    ])
}
