//! Writing one message of a transfer: records one after another, names compressed.
//!
//! Names are compressed against the zone's own and the last owner. In canonical order that catches
//! nearly all that there is to catch, and costs the same for every record.

use dns::{RecordSet, Rtype};

use crate::answer::compressible;

const CLASS_IN: u16 = 1;
const POINTER: u16 = 0xc000;
const HEADER: usize = 12;

/// A message being filled.
#[derive(Debug)]
pub(super) struct Page<'a> {
    out: &'a mut Vec<u8>,
    records: u16,
    origin: Known,
    last: Known,
}

/// A name that is in the message, and where each of its labels is.
#[derive(Clone, Debug, Default)]
struct Known {
    wire: Vec<u8>,
    places: Vec<(usize, u16)>,
}

impl Known {
    fn place_of(&self, suffix: &[u8]) -> Option<usize> {
        self.places.iter().position(|(at, _)| self.wire.get(*at..) == Some(suffix))
    }
}

impl<'a> Page<'a> {
    /// A message with this head and question; `zone` is the name that the question asks for.
    pub(super) fn new(head: [u8; 4], question: &[u8], zone: &[u8], out: &'a mut Vec<u8>) -> Page<'a> {
        out.clear();
        out.extend_from_slice(&head);
        let questions = if question.is_empty() { 0 } else { 1 };
        out.extend_from_slice(&[0, questions, 0, 0, 0, 0, 0, 0]);
        out.extend_from_slice(question);
        let mut origin = Known { wire: zone.to_vec(), places: Vec::new() };
        if !question.is_empty() {
            origin.places = labels(zone).map(|at| (at, (HEADER + at) as u16)).collect();
        }
        Page { out, records: 0, origin, last: Known::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// Writes one record, unless the message would be longer than `limit` then.
    pub(super) fn push(&mut self, set: &RecordSet, data: &[u8], limit: usize) -> bool {
        let start = self.out.len();
        let last = self.last.clone();
        self.owner(set);
        for value in [set.rtype.0, CLASS_IN] {
            self.out.extend_from_slice(&value.to_be_bytes());
        }
        self.out.extend_from_slice(&set.ttl.to_be_bytes());
        let length_at = self.out.len();
        self.out.extend_from_slice(&[0, 0]);
        self.data(set.rtype, data);
        let length = (self.out.len() - length_at - 2) as u16;
        self.out[length_at..length_at + 2].copy_from_slice(&length.to_be_bytes());
        if self.out.len() > limit || self.records == u16::MAX {
            self.out.truncate(start);
            self.last = last;
            return false;
        }
        self.records += 1;
        true
    }

    fn owner(&mut self, set: &RecordSet) {
        let mut wire = Vec::with_capacity(set.name.wire_len());
        set.name.write_wire(&mut wire);
        let places = self.name(&wire);
        self.last = Known { wire, places };
        self.find_origin();
    }

    /// Where the question does not have the zone's name, the first owner has it.
    fn find_origin(&mut self) {
        if !self.origin.places.is_empty() {
            return;
        }
        if let Some(found) = self.last.place_of(&self.origin.wire) {
            let tail = &self.last.places[found..];
            let start = tail[0].0;
            self.origin.places = tail.iter().map(|(at, place)| (at - start, *place)).collect();
        }
    }

    /// Writes record data, its names compressed where they may be.
    fn data(&mut self, rtype: Rtype, data: &[u8]) {
        let (before, names) = compressible(rtype);
        let (plain, mut rest) = data.split_at(before.min(data.len()));
        self.out.extend_from_slice(plain);
        for _ in 0..names {
            let end = labels(rest).last().map_or(0, |at| at + 1 + usize::from(rest[at])) + 1;
            let (name, after) = rest.split_at(end.min(rest.len()));
            self.name(name);
            rest = after;
        }
        self.out.extend_from_slice(rest);
    }

    /// Writes a name, its tail as a pointer where it is known; gives where its labels are.
    fn name(&mut self, name: &[u8]) -> Vec<(usize, u16)> {
        let mut places = Vec::new();
        for at in labels(name) {
            for known in [&self.last, &self.origin] {
                let Some(found) = known.place_of(&name[at..]) else { continue };
                let tail = &known.places[found..];
                self.out.extend_from_slice(&(POINTER | tail[0].1).to_be_bytes());
                let shift = at.wrapping_sub(tail[0].0);
                places.extend(tail.iter().map(|(in_known, place)| (in_known.wrapping_add(shift), *place)));
                return places;
            }
            if self.out.len() < usize::from(!POINTER) {
                places.push((at, self.out.len() as u16));
            }
            let end = (at + 1 + usize::from(name[at])).min(name.len());
            self.out.extend_from_slice(&name[at..end]);
        }
        self.out.push(0);
        places
    }

    /// Ends the answers; `opt` is appended as the additional record that it is.
    pub(super) fn finish(self, opt: Option<&[u8]>) {
        self.out[6..8].copy_from_slice(&self.records.to_be_bytes());
        if let Some(opt) = opt {
            self.out.extend_from_slice(opt);
            self.out[11] = 1;
        }
    }
}

/// Where each label of an uncompressed name starts.
fn labels(name: &[u8]) -> impl Iterator<Item = usize> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let length = name.get(at).filter(|length| **length != 0)?;
        let start = at;
        at += 1 + usize::from(*length);
        Some(start)
    })
}
