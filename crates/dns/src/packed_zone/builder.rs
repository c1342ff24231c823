//! Packs records that come in canonical order.

use super::{PackedNode, PackedZone, PackedZoneError, merged};
use crate::content_hash::hash_parts;
use crate::{Name, RecordSet, Rtype};

/// A packed zone in the making.
///
/// Records are pushed in order of name, type and data, without duplicates and with one TTL a set.
pub(crate) struct Builder {
    origin: Name,
    buffer: Vec<u8>,
    places: Vec<u32>,
    records: usize,
    sets: usize,
    soas: usize,
    hash: u64,
    node: Option<OpenNode>,
}

/// The node that is being written, and where its counts stand in the buffer.
struct OpenNode {
    key_at: usize,
    set_count_at: usize,
    set_count: u16,
    rtype: Option<Rtype>,
    record_count_at: usize,
    record_count: u32,
}

impl Builder {
    pub(crate) fn new(origin: Name) -> Builder {
        Builder::with_room(origin, 0, 0)
    }

    /// A builder that has room for so many names and octets before it has to ask for more.
    pub(crate) fn with_room(origin: Name, names: usize, octets: usize) -> Builder {
        Builder {
            origin,
            buffer: Vec::with_capacity(octets),
            places: Vec::with_capacity(names),
            records: 0,
            sets: 0,
            soas: 0,
            hash: 0,
            node: None,
        }
    }

    /// Adds sets of one name and type as one.
    pub(super) fn push_sets(&mut self, sets: &[RecordSet]) -> Result<(), PackedZoneError> {
        let Some(first) = sets.first() else { return Ok(()) };
        let Some(below) = first.name.key().strip_prefix(self.origin.key()) else {
            let (name, origin) = (first.name.clone(), self.origin.clone());
            return Err(PackedZoneError::OutOfZone { name, origin });
        };
        let ttl = sets.iter().map(|set| set.ttl).min().unwrap_or(first.ttl);
        for data in merged(sets) {
            self.push(below, first.rtype, ttl, data.wire())?;
        }
        Ok(())
    }

    /// Adds one record; `below` is what its name's key has after the origin's.
    pub(crate) fn push(
        &mut self,
        below: &[u8],
        rtype: Rtype,
        ttl: u32,
        wire: &[u8],
    ) -> Result<(), PackedZoneError> {
        if u32::try_from(self.buffer.len() + below.len() + wire.len() + 32).is_err() {
            return Err(PackedZoneError::TooLarge(self.origin.clone()));
        }
        let mut node = self.open_node(below);
        self.open_set(&mut node, rtype, ttl);
        node.record_count += 1;
        self.patch(node.record_count_at, &node.record_count.to_be_bytes());
        self.buffer.extend_from_slice(&(wire.len() as u16).to_be_bytes());
        self.buffer.extend_from_slice(wire);
        self.node = Some(node);
        self.records += 1;
        self.soas += usize::from(rtype == Rtype::SOA);
        self.hash = self.hash.wrapping_add(hash_parts(self.origin.key(), below, rtype, ttl, wire));
        Ok(())
    }

    /// The node of this name: the one that is open, or a new one.
    fn open_node(&mut self, below: &[u8]) -> OpenNode {
        let buffer = &self.buffer;
        if let Some(node) = self.node.take_if(|node| buffer[node.key_at..node.set_count_at] == *below) {
            return node;
        }
        self.places.push(self.buffer.len() as u32);
        self.buffer.extend_from_slice(&(below.len() as u16).to_be_bytes());
        let key_at = self.buffer.len();
        self.buffer.extend_from_slice(below);
        let set_count_at = self.buffer.len();
        self.buffer.extend_from_slice(&[0; 2]);
        OpenNode { key_at, set_count_at, set_count: 0, rtype: None, record_count_at: 0, record_count: 0 }
    }

    fn open_set(&mut self, node: &mut OpenNode, rtype: Rtype, ttl: u32) {
        if node.rtype == Some(rtype) {
            return;
        }
        node.rtype = Some(rtype);
        node.set_count += 1;
        self.sets += 1;
        self.patch(node.set_count_at, &node.set_count.to_be_bytes());
        self.buffer.extend_from_slice(&rtype.0.to_be_bytes());
        self.buffer.extend_from_slice(&ttl.to_be_bytes());
        node.record_count_at = self.buffer.len();
        node.record_count = 0;
        self.buffer.extend_from_slice(&[0; 4]);
    }

    fn patch(&mut self, at: usize, octets: &[u8]) {
        self.buffer[at..at + octets.len()].copy_from_slice(octets);
    }

    /// The zone; it must have exactly one SOA, at the apex.
    pub(crate) fn finish(self) -> Result<PackedZone, PackedZoneError> {
        let apex =
            Some(PackedNode::new(&self.origin, &self.buffer)).filter(|n| n.key_below_origin().is_empty());
        let soa = apex.and_then(|apex| apex.set(Rtype::SOA)).filter(|_| self.soas == 1);
        let Some(soa) = soa.map(|soa| soa.to_record_set(self.origin.clone())) else {
            return Err(PackedZoneError::NotOneSoa(self.origin));
        };
        Ok(PackedZone {
            soa,
            origin: self.origin,
            records: self.records,
            sets: self.sets,
            hash: self.hash,
            places: self.places.into(),
            buffer: self.buffer.into(),
        })
    }
}
