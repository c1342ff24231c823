//! Reads nodes and sets out of the packed buffer in place.

use crate::{Name, Rdata, RecordSet, Rtype};

/// A name of a packed zone that has data.
#[derive(Clone, Copy, Debug)]
pub struct PackedNode<'a> {
    origin: &'a Name,
    below: &'a [u8],
    count: u16,
    sets: &'a [u8],
}

/// A record set inside a packed zone.
#[derive(Clone, Copy, Debug)]
pub struct PackedSet<'a> {
    /// The type of the data.
    pub rtype: Rtype,
    /// How long a resolver may keep it, in seconds.
    pub ttl: u32,
    count: u32,
    data: &'a [u8],
}

impl<'a> PackedNode<'a> {
    #[inline]
    pub(super) fn read(origin: &'a Name, octets: &'a [u8]) -> Option<PackedNode<'a>> {
        let mut reader = Reader(octets);
        let length = reader.u16()?;
        let below = reader.take(usize::from(length))?;
        let count = reader.u16()?;
        Some(PackedNode { origin, below, count, sets: reader.0 })
    }

    /// The name.
    pub fn name(&self) -> Name {
        Name::from_key(&[self.origin.key(), self.below].concat())
    }

    /// What the name's key has after the origin's key; empty for the apex.
    #[inline]
    pub fn key_below_origin(&self) -> &'a [u8] {
        self.below
    }

    /// The sets, by type.
    #[inline]
    pub fn sets(&self) -> impl Iterator<Item = PackedSet<'a>> + use<'a> {
        let mut reader = Reader(self.sets);
        (0..self.count).map_while(move |_| reader.set())
    }

    /// The set of one type.
    #[inline]
    pub fn set(&self, rtype: Rtype) -> Option<PackedSet<'a>> {
        self.sets().find(|set| set.rtype == rtype)
    }

    /// The sets as values of their own.
    pub fn record_sets(&self) -> Vec<RecordSet> {
        let name = self.name();
        self.sets().map(|set| set.to_record_set(name.clone())).collect()
    }
}

impl<'a> PackedSet<'a> {
    /// The data of each record in wire form, in canonical order.
    #[inline]
    pub fn data(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let mut reader = Reader(self.data);
        (0..self.count).map_while(move |_| reader.record())
    }

    /// How many records there are; at least one.
    #[inline]
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether there are no records, which no set of a packed zone has.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The set as a value of its own.
    pub fn to_record_set(&self, name: Name) -> RecordSet {
        let data = self.data().map(|wire| Rdata::from_checked_wire(self.rtype, wire)).collect();
        RecordSet { name, rtype: self.rtype, ttl: self.ttl, data, steering: None }
    }
}

/// Reads numbers and runs of octets; `None` past the end.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    #[inline]
    pub(super) fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    #[inline]
    pub(super) fn u16(&mut self) -> Option<u16> {
        self.take(2)?.try_into().ok().map(u16::from_be_bytes)
    }

    #[inline]
    pub(super) fn u32(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_be_bytes)
    }

    #[inline]
    pub(super) fn record(&mut self) -> Option<&'a [u8]> {
        let length = self.u16()?;
        self.take(usize::from(length))
    }

    #[inline]
    fn set(&mut self) -> Option<PackedSet<'a>> {
        let (rtype, ttl, count, data) = (Rtype(self.u16()?), self.u32()?, self.u32()?, self.0);
        for _ in 0..count {
            self.record()?;
        }
        Some(PackedSet { rtype, ttl, count, data })
    }
}
