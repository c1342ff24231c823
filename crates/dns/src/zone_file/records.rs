//! The records of a file in the order of its lines, each with its place.
//!
//! A million records are a million small things, so they stand in one buffer, one after the other:
//! place, TTL, type, length of key, length of data, key, data. Nearly all of a zone's names lie
//! below one name, the base, so their keys are kept without it.

mod order;

use super::{Fault, Place};
use crate::{Name, Rtype};

const HEADER: usize = 14;
/// Marks a key that is complete, because its name does not lie in the base. Keys have fewer
/// than 600 octets.
const OUTSIDE: u16 = 1 << 15;
/// Marks a place that is a position in the table of places, and not a line of the first file.
const IN_TABLE: u32 = 1 << 31;

#[derive(Default)]
pub(super) struct Records {
    base: Vec<u8>,
    buffer: Vec<u8>,
    count: usize,
    /// Where the last record stands.
    last: usize,
    /// Whether all came in order so far.
    in_order: bool,
    /// The places that are not the start of a line in the first file.
    places: Vec<Place>,
}

/// A record as it stands in the buffer.
#[derive(Clone, Copy)]
pub(super) struct Record<'a> {
    pub(super) inside: bool,
    /// Below the base where it lies in there.
    pub(super) key: &'a [u8],
    pub(super) rtype: Rtype,
    pub(super) wire: &'a [u8],
    pub(super) ttl: u32,
    place: u32,
}

/// What a record says, before it has a place among the others.
#[derive(Clone, Copy)]
pub(super) struct New<'a> {
    /// The whole key of its name.
    pub(super) key: &'a [u8],
    pub(super) rtype: Rtype,
    pub(super) ttl: u32,
    pub(super) wire: &'a [u8],
}

/// Where the records stand in canonical order.
pub(super) struct Order {
    /// Those that lie in the base, by name, type and data; equal ones in the order of the lines.
    pub(super) inside: Vec<u32>,
    /// The others, in the order of the lines.
    pub(super) outside: Vec<u32>,
}

impl Records {
    /// Adds a record; the first one that is added says with `base` what most names will lie in.
    pub(super) fn push(&mut self, place: Place, base: &[u8], new: New<'_>) -> Result<(), Fault> {
        if self.count == 0 {
            self.base = base.to_vec();
            self.in_order = true;
        }
        let at = self.buffer.len();
        if u32::try_from(at).is_err() {
            return Err(place.fault("the zone is too large: its records take more than 4 GiB"));
        }
        let (key, mark) = match new.key.strip_prefix(&self.base[..]) {
            Some(below) => (below, 0),
            None => (new.key, OUTSIDE),
        };
        let place = self.place_number(place);
        self.buffer.extend_from_slice(&header(place, new.ttl, new.rtype, key.len() as u16 | mark, new.wire));
        self.buffer.extend_from_slice(key);
        self.buffer.extend_from_slice(new.wire);
        self.in_order = self.in_order && mark == 0 && (self.count == 0 || !self.is_before_last(at));
        self.last = at;
        self.count += 1;
        Ok(())
    }

    fn is_before_last(&self, at: usize) -> bool {
        self.get(at as u32).sort_key() < self.get(self.last as u32).sort_key()
    }

    fn place_number(&mut self, place: Place) -> u32 {
        if place.file == 0 && place.column == 1 && place.line < IN_TABLE {
            return place.line;
        }
        self.places.push(place);
        IN_TABLE | (self.places.len() - 1) as u32
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// How many octets the records take.
    pub(super) fn octets(&self) -> usize {
        self.buffer.len()
    }

    pub(super) fn get(&self, at: u32) -> Record<'_> {
        let record = &self.buffer[at as usize..];
        let short = |at: usize| u16::from_be_bytes([record[at], record[at + 1]]);
        let long = |at: usize| u32::from_be_bytes([record[at], record[at + 1], record[at + 2], record[at + 3]]);
        let data_at = HEADER + usize::from(short(10) & !OUTSIDE);
        Record {
            inside: short(10) & OUTSIDE == 0,
            key: &record[HEADER..data_at],
            rtype: Rtype(short(8)),
            ttl: long(4),
            wire: &record[data_at..data_at + usize::from(short(12))],
            place: long(0),
        }
    }

    pub(super) fn name(&self, record: &Record<'_>) -> Name {
        Name::from_key(&self.whole_key(record))
    }

    fn whole_key(&self, record: &Record<'_>) -> Vec<u8> {
        let base = if record.inside { &self.base[..] } else { &[] };
        [base, record.key].concat()
    }

    pub(super) fn place(&self, record: &Record<'_>) -> Place {
        let known = self.places.get((record.place & !IN_TABLE) as usize).filter(|_| record.place >= IN_TABLE);
        known.copied().unwrap_or(Place { file: 0, line: record.place, column: 1 })
    }

    /// Where each record stands, in the order of the lines.
    fn all(&self) -> impl Iterator<Item = u32> {
        let mut at = 0;
        (0..self.count).map(move |_| {
            let record = self.get(at as u32);
            let here = at as u32;
            at += HEADER + record.key.len() + record.wire.len();
            here
        })
    }

    /// The same records over another base.
    pub(super) fn rebased(self, base: &[u8]) -> Result<Records, Fault> {
        if self.base == base {
            return Ok(self);
        }
        let mut records = Records::default();
        for at in self.all() {
            let record = self.get(at);
            let key = self.whole_key(&record);
            let Record { rtype, ttl, wire, .. } = record;
            records.push(self.place(&record), base, New { key: &key, rtype, ttl, wire })?;
        }
        Ok(records)
    }
}

impl<'a> Record<'a> {
    fn sort_key(&self) -> (&'a [u8], Rtype, &'a [u8]) {
        (self.key, self.rtype, self.wire)
    }
}

fn header(place: u32, ttl: u32, rtype: Rtype, key_length: u16, wire: &[u8]) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..4].copy_from_slice(&place.to_be_bytes());
    header[4..8].copy_from_slice(&ttl.to_be_bytes());
    header[8..10].copy_from_slice(&rtype.0.to_be_bytes());
    header[10..12].copy_from_slice(&key_length.to_be_bytes());
    header[12..].copy_from_slice(&(wire.len() as u16).to_be_bytes());
    header
}
