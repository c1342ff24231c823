//! The records of one zone, kept once and packed, to be shared by whoever needs them.
//!
//! One buffer holds the nodes (the names that have data) in canonical order; beside it stands the
//! place of each node:
//!
//! ```text
//! node   length of the key, key below the origin, number of sets, sets by type
//! set    type, TTL, number of records, records
//! record length of the data, data in wire form
//! ```
//!
//! An address record takes about 35 octets. A lookup is a binary search and copies nothing but
//! what it returns.

mod builder;
mod bytes;
mod node;
#[cfg(test)]
mod tests;

use std::fmt;

pub(crate) use builder::Builder;
pub use node::{PackedNode, PackedSet};

use crate::{Name, Rdata, RecordSet};

/// A zone's records; cheap to share in an `Arc`.
#[derive(Clone, PartialEq, Eq)]
pub struct PackedZone {
    origin: Name,
    soa: RecordSet,
    records: usize,
    sets: usize,
    hash: u64,
    /// Where each node starts in the buffer, in canonical order of names.
    places: Box<[u32]>,
    buffer: Box<[u8]>,
}

/// Why record sets or octets are not a zone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PackedZoneError {
    /// There is no SOA at the origin, or more than one in the zone.
    #[error("the zone {0} needs exactly one SOA record, at its apex")]
    NotOneSoa(Name),
    /// A name that does not lie in the zone.
    #[error("{name} does not lie in the zone {origin}")]
    OutOfZone {
        /// The name.
        name: Name,
        /// The zone's origin.
        origin: Name,
    },
    /// More than four gigabytes of data.
    #[error("the zone {0} is too large: packed zones have at most 4 GiB")]
    TooLarge(Name),
    /// Octets that are not a packed zone.
    #[error("the octets are not a packed zone of this version")]
    Malformed,
}

impl PackedZone {
    /// Packs record sets in any order; sets of one name and type become one, with the lowest TTL.
    pub fn from_sets(
        origin: Name,
        sets: impl IntoIterator<Item = RecordSet>,
    ) -> Result<PackedZone, PackedZoneError> {
        let mut sets: Vec<RecordSet> = sets.into_iter().collect();
        sets.sort_by(|a, b| (a.name.key(), a.rtype).cmp(&(b.name.key(), b.rtype)));
        let mut builder = Builder::new(origin);
        for alike in sets.chunk_by(|a, b| a.name == b.name && a.rtype == b.rtype) {
            builder.push_sets(alike)?;
        }
        builder.finish()
    }

    /// The name at the top of the zone.
    pub fn origin(&self) -> &Name {
        &self.origin
    }

    /// The start of authority.
    pub fn soa(&self) -> RecordSet {
        self.soa.clone()
    }

    /// How many records there are.
    pub fn len(&self) -> usize {
        self.records
    }

    /// Whether there are no records; a zone always has its SOA, so this is false.
    pub fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// How many record sets there are.
    pub fn set_count(&self) -> usize {
        self.sets
    }

    /// How many octets of memory the records take.
    pub fn memory(&self) -> usize {
        self.buffer.len() + self.places.len() * size_of::<u32>()
    }

    /// The sum of [`entry_hash`](crate::entry_hash) over all records: independent of their order,
    /// and of the serial.
    pub fn content_hash(&self) -> u64 {
        self.hash
    }

    /// The name with this [`Name::key`] and its data, without copying it.
    pub fn node_at(&self, key: &[u8]) -> Option<PackedNode<'_>> {
        let below = self.below_origin(key)?;
        let position = self.position(below);
        self.nodes_at(position).next().filter(|node| node.key_below_origin() == below)
    }

    /// All record sets of the name with this [`Name::key`]; the SOA is among those of the apex.
    pub fn sets_at(&self, key: &[u8]) -> Vec<RecordSet> {
        self.node_at(key).map(|node| node.record_sets()).unwrap_or_default()
    }

    /// The names with data in canonical order, from the one with this [`Name::key`] on, or from
    /// the next after it where it has none.
    pub fn nodes_from(&self, key: &[u8]) -> impl Iterator<Item = PackedNode<'_>> {
        let position = match self.below_origin(key) {
            Some(below) => self.position(below),
            None if key < self.origin.key() => 0,
            None => self.places.len(),
        };
        self.nodes_at(position)
    }

    /// The names with data before the one with this [`Name::key`], the nearest first.
    pub fn nodes_before(&self, key: &[u8]) -> impl Iterator<Item = PackedNode<'_>> {
        let position = match self.below_origin(key) {
            Some(below) => self.position(below),
            None if key < self.origin.key() => 0,
            None => self.places.len(),
        };
        let places = self.places.get(..position).unwrap_or_default();
        places.iter().rev().filter_map(|place| self.node(*place))
    }

    /// The names with data in canonical order.
    pub fn nodes(&self) -> impl Iterator<Item = PackedNode<'_>> {
        self.nodes_at(0)
    }

    /// The names with data in canonical order, each with its place in the buffer.
    pub fn placed_nodes(&self) -> impl Iterator<Item = (u32, PackedNode<'_>)> {
        self.places.iter().filter_map(|place| Some((*place, self.node(*place)?)))
    }

    /// The node at a place that [`PackedZone::placed_nodes`] gave.
    #[inline]
    pub fn node_at_place(&self, place: u32) -> Option<PackedNode<'_>> {
        self.node(place)
    }

    /// The buffer from a place on: where a reader who goes there soon will look.
    #[inline]
    pub fn octets_at(&self, place: u32) -> &[u8] {
        self.buffer.get(place as usize..).unwrap_or_default()
    }

    /// All record sets, by canonical order of names and then by type.
    pub fn iter(&self) -> impl Iterator<Item = RecordSet> {
        self.nodes().flat_map(|node| node.record_sets())
    }

    fn below_origin<'a>(&self, key: &'a [u8]) -> Option<&'a [u8]> {
        key.strip_prefix(self.origin.key())
    }

    /// The position of the first node whose key is not less than this one.
    fn position(&self, below: &[u8]) -> usize {
        self.places.partition_point(|place| self.node(*place).is_some_and(|n| n.key_below_origin() < below))
    }

    fn nodes_at(&self, position: usize) -> impl Iterator<Item = PackedNode<'_>> {
        let places = self.places.get(position..).unwrap_or_default();
        places.iter().filter_map(|place| self.node(*place))
    }

    #[inline]
    fn node(&self, place: u32) -> Option<PackedNode<'_>> {
        Some(PackedNode::new(&self.origin, self.buffer.get(place as usize..)?))
    }
}

impl fmt::Debug for PackedZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PackedZone({}, {} records, {:016x})", self.origin, self.records, self.hash)
    }
}

/// The data of sets of one name and type, sorted and without duplicates.
fn merged(sets: &[RecordSet]) -> Vec<&Rdata> {
    let mut data: Vec<&Rdata> = sets.iter().flat_map(|set| set.data.iter()).collect();
    data.sort_unstable();
    data.dedup();
    data
}
