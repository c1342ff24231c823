//! Writing a response: sections, name compression, OPT, and what gives way when it is too long.
//!
//! Written by hand because record data is already in wire form: a message is mostly copied.

use dns::{RecordSet, Rtype};

use super::lookup::Answer;
use super::options::{Offer, OptRecord};
use super::query::{CLASS_CHAOS, CLASS_IN, HEADER, Query};
use crate::Rcode;

const QR: u8 = 0x80;
const AA: u8 = 0x04;
const TC: u8 = 0x02;
const OPCODE_AND_RD: u8 = 0x79;

/// How many places are remembered for compression; what a large answer has beyond these is
/// written in full, so that its cost stays linear.
const MAX_PLACES: usize = 96;
const POINTER: u16 = 0xc000;

/// A response being written.
pub(super) struct Message<'a> {
    query: &'a Query<'a>,
    out: &'a mut Vec<u8>,
    limit: usize,
    /// Where labels start that a pointer may lead to.
    places: Vec<u16>,
    owner: Vec<u8>,
}

/// A set that does not fit.
struct TooLong;

impl<'a> Message<'a> {
    pub(super) fn new(query: &'a Query<'a>, limit: usize, out: &'a mut Vec<u8>) -> Message<'a> {
        Message { query, out, limit, places: Vec::new(), owner: Vec::new() }
    }

    /// Writes the response; says whether it had to be truncated.
    pub(super) fn write(mut self, answer: &Answer, offer: &Offer<'_>) -> bool {
        self.out.extend_from_slice(&[0; HEADER]);
        self.question();
        let room = self.limit.saturating_sub(self.out.len());
        let opt = self.query.edns.map(|edns| OptRecord::new(edns.dnssec_ok, answer, offer, room));
        self.limit = self.limit.saturating_sub(opt.as_ref().map_or(0, OptRecord::len));
        let (counts, truncated) = self.sections(answer);
        self.finish(answer, counts, truncated, opt);
        truncated
    }

    /// Writes a response without any records and with TC set.
    pub(super) fn write_truncated(mut self) {
        self.out.extend_from_slice(&[0; HEADER]);
        self.question();
        let opt = self.query.edns.map(|edns| OptRecord::plain(edns.dnssec_ok, Rcode::NoError));
        self.finish(&Answer::failed(Rcode::NoError, None), [0; 3], true, opt);
    }

    fn finish(&mut self, answer: &Answer, counts: [u16; 3], truncated: bool, opt: Option<OptRecord>) {
        let opt = opt.map(|opt| opt.finish(self.out.len())).unwrap_or_default();
        self.out.extend_from_slice(&opt);
        self.header(answer, counts, truncated, !opt.is_empty());
    }

    fn question(&mut self) {
        if let Some(question) = &self.query.question {
            self.remember(self.out.len(), question.octets);
            self.out.extend_from_slice(question.octets);
        }
    }

    /// Remembers every label of an uncompressed name that is written at `start`.
    fn remember(&mut self, start: usize, name: &[u8]) {
        let mut at = 0;
        while let Some(length) = name.get(at).filter(|length| **length != 0) {
            self.remember_place(start + at);
            at += 1 + usize::from(*length);
        }
    }

    fn remember_place(&mut self, at: usize) {
        if at < usize::from(!POINTER) && self.places.len() < MAX_PLACES {
            self.places.push(at as u16);
        }
    }

    /// Writes the three sections; gives how many records each has, and whether one that was
    /// needed did not fit. Glue in the delegated zone is needed (RFC 9471 section 3.1); other
    /// additional data gives way silently.
    fn sections(&mut self, answer: &Answer) -> ([u16; 3], bool) {
        let (needed, welcome) = answer.additional.split_at(answer.glue_needed.min(answer.additional.len()));
        let mut counts = [0; 3];
        let sections = [(0, &answer.answer[..]), (1, &answer.authority[..]), (2, needed)];
        for (section, sets) in sections {
            for set in sets {
                match self.set(set) {
                    Ok(records) => counts[section] += records,
                    Err(TooLong) => return (counts, true),
                }
            }
        }
        for set in welcome {
            counts[2] += self.set(set).unwrap_or(0);
        }
        (counts, false)
    }

    /// Writes a whole set or nothing of it.
    fn set(&mut self, set: &RecordSet) -> Result<u16, TooLong> {
        let (start, places) = (self.out.len(), self.places.len());
        self.owner.clear();
        set.name.write_wire(&mut self.owner);
        for data in set.data.iter() {
            self.record(set, data.wire());
            if self.out.len() > self.limit {
                self.out.truncate(start);
                self.places.truncate(places);
                return Err(TooLong);
            }
        }
        Ok(set.data.len() as u16)
    }

    fn record(&mut self, set: &RecordSet, data: &[u8]) {
        let owner = std::mem::take(&mut self.owner);
        self.name(&owner);
        self.owner = owner;
        push(self.out, &[set.rtype.0, self.class()]);
        self.out.extend_from_slice(&set.ttl.to_be_bytes());
        let start = self.out.len();
        push(self.out, &[0]);
        self.data(set.rtype, data);
        let length = (self.out.len() - start - 2) as u16;
        self.out[start..start + 2].copy_from_slice(&length.to_be_bytes());
    }

    /// Whoever asks for any class is told of ours.
    fn class(&self) -> u16 {
        let asked = self.query.question.as_ref().map(|question| question.class);
        if asked == Some(CLASS_CHAOS) { CLASS_CHAOS } else { CLASS_IN }
    }

    /// Writes record data, its names compressed where they may be.
    fn data(&mut self, rtype: Rtype, data: &[u8]) {
        let (before, names) = compressible(rtype);
        let (plain, mut rest) = data.split_at(before.min(data.len()));
        self.out.extend_from_slice(plain);
        for _ in 0..names {
            let (name, after) = rest.split_at(name_length(rest));
            self.name(name);
            rest = after;
        }
        self.out.extend_from_slice(rest);
    }

    /// Writes a name, its tail as a pointer where the message already has it.
    fn name(&mut self, name: &[u8]) {
        let mut at = 0;
        while let Some(length) = name.get(at).filter(|length| **length != 0) {
            if let Some(place) = self.place_of(&name[at..]) {
                return push(self.out, &[POINTER | place]);
            }
            self.remember_place(self.out.len());
            let end = (at + 1 + usize::from(*length)).min(name.len());
            self.out.extend_from_slice(&name[at..end]);
            at = end;
        }
        self.out.push(0);
    }

    fn place_of(&self, name: &[u8]) -> Option<u16> {
        self.places.iter().copied().find(|place| same_name(self.out, usize::from(*place), name))
    }

    fn header(&mut self, answer: &Answer, counts: [u16; 3], truncated: bool, opt: bool) {
        let [id_high, id_low, flags_high, _] = self.query.head;
        let mut flags = QR | flags_high & OPCODE_AND_RD;
        flags |= if answer.authoritative { AA } else { 0 };
        flags |= if truncated { TC } else { 0 };
        let rcode = (answer.rcode.number() & 0x0f) as u8;
        let mut header = Vec::with_capacity(HEADER);
        // An authoritative server checks nothing, so what the client says of checking is not its concern and
        // is cleared (RFC 4035 section 3.1.6).
        header.extend_from_slice(&[id_high, id_low, flags, rcode]);
        let questions = u16::from(self.query.question.is_some());
        push(&mut header, &[questions, counts[0], counts[1], counts[2] + u16::from(opt)]);
        self.out[..HEADER].copy_from_slice(&header);
    }
}

/// How many octets of record data stand before its names that may be compressed, and how many names:
/// those in the types of RFC 1035, because a reader need not know others well enough to expand them
/// (RFC 3597 section 4).
pub(crate) fn compressible(rtype: Rtype) -> (usize, usize) {
    match rtype {
        Rtype::NS | Rtype::CNAME | Rtype::PTR => (0, 1),
        Rtype::MX => (2, 1),
        Rtype::SOA => (0, 2),
        _ => (0, 0),
    }
}

/// Whether the possibly compressed name at `at` in the message is `name`, which is not compressed.
fn same_name(message: &[u8], mut at: usize, mut name: &[u8]) -> bool {
    loop {
        match (message.get(at), name.first()) {
            (Some(0), Some(0)) => return true,
            (Some(high @ 0xc0..), _) => {
                // Our own pointers lead backwards only, so this ends.
                let low = message.get(at + 1).copied().unwrap_or(0);
                at = usize::from(u16::from_be_bytes([*high, low]) & !POINTER);
            }
            (Some(length), Some(wanted)) if length == wanted => {
                let length = 1 + usize::from(*length);
                let (Some(here), Some(there)) = (message.get(at..at + length), name.get(..length)) else {
                    return false;
                };
                if !here.eq_ignore_ascii_case(there) {
                    return false;
                }
                (at, name) = (at + length, &name[length..]);
            }
            _ => return false,
        }
    }
}

/// How many octets the uncompressed name at the start of some data has.
fn name_length(data: &[u8]) -> usize {
    let mut at = 0;
    while let Some(length) = data.get(at).filter(|length| **length != 0) {
        at += 1 + usize::from(*length);
    }
    (at + 1).min(data.len())
}

fn push(out: &mut Vec<u8>, values: &[u16]) {
    for value in values {
        out.extend_from_slice(&value.to_be_bytes());
    }
}
