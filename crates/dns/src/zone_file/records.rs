//! The records of a file in the order of its lines, each with its place.
//!
//! A million records are a million small things, so they stand in one buffer:
//! lengths of key and data, type, TTL, key, data.

use super::Place;
use crate::{Name, Rdata, Rtype};

const HEADER: usize = 10;

#[derive(Default)]
pub(super) struct Records {
    buffer: Vec<u8>,
    entries: Vec<Entry>,
}

/// Where a record stands in the buffer and where it was written.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    at: usize,
    pub(super) place: Place,
}

/// A record as it stands in the buffer. Its order is that of a packed zone.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Record<'a> {
    pub(super) key: &'a [u8],
    pub(super) rtype: Rtype,
    pub(super) wire: &'a [u8],
    pub(super) ttl: u32,
}

impl Records {
    pub(super) fn push(&mut self, place: Place, name: &Name, ttl: u32, data: &Rdata) {
        let (key, wire) = (name.key(), data.wire());
        self.entries.push(Entry { at: self.buffer.len(), place });
        self.buffer.extend_from_slice(&(key.len() as u16).to_be_bytes());
        self.buffer.extend_from_slice(&(wire.len() as u16).to_be_bytes());
        self.buffer.extend_from_slice(&data.rtype().0.to_be_bytes());
        self.buffer.extend_from_slice(&ttl.to_be_bytes());
        self.buffer.extend_from_slice(key);
        self.buffer.extend_from_slice(wire);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn get(&self, entry: &Entry) -> Record<'_> {
        let record = &self.buffer[entry.at..];
        let number = |at: usize| u16::from_be_bytes([record[at], record[at + 1]]);
        let data_at = HEADER + usize::from(number(0));
        Record {
            key: &record[HEADER..data_at],
            rtype: Rtype(number(4)),
            ttl: u32::from_be_bytes([record[6], record[7], record[8], record[9]]),
            wire: &record[data_at..data_at + usize::from(number(2))],
        }
    }

    /// The entries by name, type and data; equal ones stay in the order of the lines.
    pub(super) fn sorted(&self) -> Vec<Entry> {
        let mut entries = self.entries.clone();
        entries.sort_by(|a, b| {
            let (a, b) = (self.get(a), self.get(b));
            (a.key, a.rtype, a.wire).cmp(&(b.key, b.rtype, b.wire))
        });
        entries
    }
}
