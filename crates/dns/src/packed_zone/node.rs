//! Reads nodes and sets out of the packed buffer in place.

use crate::{Name, Rdata, RecordSet, Rtype};

/// How many octets say how long a record's data is.
const LENGTH: usize = 2;
/// Type, TTL and number of records before the records of a set.
const SET_HEAD: usize = 10;

/// A name of a packed zone that has data.
#[derive(Clone, Copy, Debug)]
pub struct PackedNode<'a> {
    origin: &'a Name,
    /// The buffer from the node on: read as it is needed, so that a node is cheap to hand around.
    octets: &'a [u8],
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
    pub(super) fn new(origin: &'a Name, octets: &'a [u8]) -> PackedNode<'a> {
        PackedNode { origin, octets }
    }

    /// The name.
    pub fn name(&self) -> Name {
        Name::from_key(&[self.origin.key(), self.key_below_origin()].concat())
    }

    /// What the name's key has after the origin's key; empty for the apex.
    #[inline]
    pub fn key_below_origin(&self) -> &'a [u8] {
        Reader(self.octets).record().unwrap_or_default()
    }

    /// The sets, by type.
    #[inline]
    pub fn sets(&self) -> impl Iterator<Item = PackedSet<'a>> + use<'a> {
        let mut reader = Reader(self.octets);
        let count = reader.record().and_then(|_| reader.u16()).unwrap_or(0);
        (0..count).map_while(move |_| reader.set())
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
        Records { rtype: self.rtype, left: self.count, reader: Reader(self.data) }
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

/// The records of a set that are still to be read.
struct Records<'a> {
    rtype: Rtype,
    left: u32,
    reader: Reader<'a>,
}

impl<'a> Iterator for Records<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        self.left = self.left.checked_sub(1)?;
        self.reader.record()
    }

    #[inline]
    fn nth(&mut self, passed: usize) -> Option<&'a [u8]> {
        let passed = u32::try_from(passed).ok()?;
        self.left = self.left.checked_sub(passed)?;
        self.reader.pass(self.rtype, passed)?;
        self.next()
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
        let ([r0, r1, t0, t1, t2, t3, count @ ..], data) = self.0.split_first_chunk::<SET_HEAD>()?;
        let (rtype, ttl) = (Rtype(u16::from_be_bytes([*r0, *r1])), u32::from_be_bytes([*t0, *t1, *t2, *t3]));
        let count = u32::from_be_bytes(*count);
        self.0 = data;
        self.pass(rtype, count)?;
        Some(PackedSet { rtype, ttl, count, data })
    }

    /// Passes over as many records of a type; addresses need not be counted out.
    #[inline]
    fn pass(&mut self, rtype: Rtype, count: u32) -> Option<()> {
        let Some(length) = address_length(rtype) else {
            return (0..count).try_for_each(|_| self.record().map(|_| ()));
        };
        self.0 = self.0.get(count as usize * (LENGTH + length)..)?;
        Some(())
    }
}

/// How many octets the data of a type has, of those where that is always the same: who packs and who loads a zone
/// sees to it.
#[inline]
fn address_length(rtype: Rtype) -> Option<usize> {
    match rtype {
        Rtype::A => Some(4),
        Rtype::AAAA => Some(16),
        _ => None,
    }
}
