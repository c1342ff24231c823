//! Reads a query of the common form in place.
//!
//! Whatever is not of that form is left to the slow path, which knows what to say to it: other
//! opcodes and classes, question types that are no record types, several questions, records
//! beside OPT, EDNS versions and options that need thought.

use std::net::IpAddr;

use dns::Rtype;

use super::hash::HashKey;
use crate::answer::edns::{Edns, SUBNET};
use crate::answer::options::OPT_LENGTH;

pub(super) const HEADER: usize = 12;
/// Type and class after the name.
const QUESTION_TAIL: usize = 4;
/// Names with more labels are left to the slow path; an IPv6 address in reverse has 34.
const MAX_LABELS: usize = 40;
const MAX_NAME: usize = 255;
/// How much room a buffer has after the message, so that labels can be read in words.
pub(crate) const SLACK: usize = 8;

const QR_AND_OPCODE: u8 = 0xf8;
const ONE_QUESTION: [u8; 6] = [0, 1, 0, 0, 0, 0];
const CLASS_IN: [u8; 2] = [0, 1];
const DO: u8 = 0x80;
const CO: u8 = 0x40;

/// A query of the common form. It is read in place: a copy costs more than the reading.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question {
    pub(super) name: Labels,
    pub(super) rtype: Rtype,
    opt: Option<Opt>,
}

/// Where the client's OPT record is, and the fixed part of it.
#[derive(Clone, Copy, Debug)]
struct Opt {
    size: u16,
    dnssec_ok: bool,
    options_at: u16,
    options_length: u16,
}

impl Question {
    /// Nothing read yet.
    pub(crate) const EMPTY: Question = Question { name: Labels::EMPTY, rtype: Rtype(0), opt: None };

    /// Reads the message in the first `length` octets of a buffer that has [`SLACK`] after them.
    #[inline]
    pub(crate) fn read(&mut self, buffer: &[u8], length: usize) -> Option<()> {
        let message = buffer.get(..length).filter(|_| buffer.len() >= length + SLACK)?;
        let (header, _) = message.split_first_chunk::<HEADER>()?;
        let [_, _, flags, _, counts @ .., additionals_high, additionals] = *header;
        if flags & QR_AND_OPCODE != 0 || counts != ONE_QUESTION || additionals_high != 0 {
            return None;
        }
        self.name.read(message, HEADER)?;
        let (tail, rest) = message.get(self.name.end()..)?.split_first_chunk::<QUESTION_TAIL>()?;
        let [high, low, class @ ..] = *tail;
        self.rtype = Rtype(u16::from_be_bytes([high, low]));
        self.opt = match additionals {
            0 if rest.is_empty() => None,
            1 => Some(Opt::read(rest, self.end())?),
            _ => return None,
        };
        (class == CLASS_IN && is_common(self.rtype)).then_some(())
    }

    /// Reads what the OPT record says into `room`, if there is one; `Err` leaves the question to the slow path.
    ///
    /// In place, because the processor would wait for a copy of what has just been written.
    #[inline]
    pub(super) fn edns<'e, 'm>(
        &self,
        message: &'m [u8],
        room: &'e mut Edns<'m>,
    ) -> Result<Option<&'e Edns<'m>>, NotCommon> {
        let Some(opt) = self.opt else { return Ok(None) };
        (room.size, room.dnssec_ok) = (opt.size, opt.dnssec_ok);
        if opt.options_length > 0 {
            let start = usize::from(opt.options_at);
            let options = message.get(start..start + usize::from(opt.options_length)).ok_or(NotCommon)?;
            room.read_options(options).map_err(|_| NotCommon)?;
        }
        // Who wants to know who we are asks for once.
        if room.nsid { Err(NotCommon) } else { Ok(Some(room)) }
    }

    /// The upper half of the IPv4 address that steering will likely look at: that of the network in the first
    /// option (RFC 7871), else the client's own. Nothing but speed depends on it.
    #[inline]
    pub(super) fn block(&self, message: &[u8], client: IpAddr) -> Option<u16> {
        let opt = self.opt.filter(|opt| opt.options_length > 0);
        let options = opt.and_then(|opt| message.get(usize::from(opt.options_at)..));
        match (options, client) {
            (Some([0, SUBNET, 0, 6..=8, 0, 1, _, _, high, low, ..]), _) => {
                Some(u16::from_be_bytes([*high, *low]))
            }
            (_, IpAddr::V4(address)) => Some((address.to_bits() >> 16) as u16),
            (_, IpAddr::V6(_)) => None,
        }
    }

    /// Where the question ends.
    #[inline]
    pub(super) fn end(&self) -> usize {
        self.name.end() + QUESTION_TAIL
    }
}

/// Where the labels of a name are in a message that has it uncompressed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Labels {
    /// How many labels the name has; at least one, since the root cannot be pointed at.
    pub(super) count: u8,
    /// How far each label's length octet is from the start of the name, leftmost first.
    starts: [u8; MAX_LABELS],
    /// How many octets the name has before its root label.
    length: u8,
    start: u16,
}

impl Labels {
    /// Nothing read yet.
    pub(super) const EMPTY: Labels = Labels { count: 0, starts: [0; MAX_LABELS], length: 0, start: 0 };

    /// Reads the name that starts at `start`.
    #[inline]
    pub(super) fn read(&mut self, message: &[u8], start: usize) -> Option<()> {
        let name = message.get(start..)?;
        let (mut at, mut count) = (0, 0);
        loop {
            let length = usize::from(*name.get(at)?);
            match length {
                0 => break,
                1..=63 => *self.starts.get_mut(count)? = at as u8,
                _ => return None,
            }
            (at, count) = (at + 1 + length, count + 1);
            if at >= MAX_NAME {
                return None;
            }
        }
        self.start = u16::try_from(start).ok()?;
        (self.count, self.length) = (count as u8, at as u8);
        (count > 0).then_some(())
    }

    /// Where the name ends, its root label included.
    #[inline]
    pub(super) fn end(&self) -> usize {
        usize::from(self.start) + usize::from(self.length) + 1
    }

    /// Where the suffix with this many labels starts.
    #[inline]
    pub(super) fn suffix_at(&self, labels: u8) -> usize {
        let first = usize::from(self.count.saturating_sub(labels));
        let offset = if labels == 0 { self.length } else { self.starts.get(first).copied().unwrap_or(0) };
        usize::from(self.start) + usize::from(offset)
    }

    /// The suffixes with more labels than one that starts at `end`, from the shortest to the whole name: how many
    /// labels each has, where it starts, and how long the label there is.
    #[inline]
    pub(super) fn suffixes_from(
        &self,
        labels: u8,
        mut end: usize,
    ) -> impl Iterator<Item = (u8, usize, usize)> {
        let starts = self.starts.get(..usize::from(self.count.saturating_sub(labels))).unwrap_or_default();
        let start = usize::from(self.start);
        (labels + 1..).zip(starts.iter().rev()).map(move |(labels, offset)| {
            let at = start + usize::from(*offset);
            let length = end.saturating_sub(at + 1);
            end = at;
            (labels, at, length)
        })
    }

    /// The hash of the suffix with this many labels, from that of the suffix with one label less.
    #[inline]
    pub(super) fn suffix_hash(&self, key: HashKey, parent: u64, message: &[u8], labels: u8) -> u64 {
        let at = self.suffix_at(labels);
        let length = message.get(at).copied().unwrap_or(0);
        key.child(parent, message, at + 1, usize::from(length))
    }

    /// The label at the front of the suffix with this many labels.
    #[inline]
    pub(super) fn label<'a>(&self, message: &'a [u8], labels: u8) -> &'a [u8] {
        let at = self.suffix_at(labels);
        let length = usize::from(message.get(at).copied().unwrap_or(0));
        message.get(at + 1..at + 1 + length).unwrap_or_default()
    }
}

/// Whether the type is one that records have and no cut has a say in.
#[inline]
fn is_common(rtype: Rtype) -> bool {
    // DS lies on the parent's side; the others are no records.
    !rtype.is_meta() && rtype != Rtype::DS
}

/// A question that the slow path has to answer.
pub(super) struct NotCommon;

impl Opt {
    /// Reads an OPT record of version 0 that is the last of the message; it starts at `at`.
    #[inline(always)]
    fn read(record: &[u8], at: usize) -> Option<Opt> {
        let (fixed, options) = record.split_first_chunk::<OPT_LENGTH>()?;
        let [0, 0, 41, size_high, size_low, _, 0, flags, _, length @ ..] = *fixed else { return None };
        let (size, options_length) = (u16::from_be_bytes([size_high, size_low]), u16::from_be_bytes(length));
        let options_at = u16::try_from(at + OPT_LENGTH).ok()?;
        // Compact answers have more to say to who asks for it (RFC 9824 section 5.1).
        let is_compact = flags & (DO | CO) == DO | CO;
        let fits = usize::from(options_length) == options.len() && !is_compact;
        fits.then_some(Opt { size, dnssec_ok: flags & DO != 0, options_at, options_length })
    }
}
