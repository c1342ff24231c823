//! Reads a query of the common form in place.
//!
//! Whatever is not of that form is left to the slow path, which knows what to say to it: other
//! opcodes and classes, question types that are no record types, several questions, records
//! beside OPT, EDNS versions and options that need thought.

use dns::Rtype;

use super::hash::HashKey;
use crate::answer::edns::Edns;
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

/// A query of the common form.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question<'m> {
    pub(super) name: Labels,
    pub(super) rtype: Rtype,
    pub(super) edns: Option<Edns<'m>>,
}

impl<'m> Question<'m> {
    /// Reads the message in the first `length` octets of a buffer that has [`SLACK`] after them.
    #[inline]
    pub(crate) fn read(buffer: &'m [u8], length: usize) -> Option<Question<'m>> {
        let message = buffer.get(..length).filter(|_| buffer.len() >= length + SLACK)?;
        let (header, _) = message.split_first_chunk::<HEADER>()?;
        let [_, _, flags, _, counts @ .., additionals_high, additionals] = *header;
        if flags & QR_AND_OPCODE != 0 || counts != ONE_QUESTION || additionals_high != 0 {
            return None;
        }
        let name = Labels::read(message, HEADER)?;
        let (tail, rest) = message.get(name.end()..)?.split_first_chunk::<QUESTION_TAIL>()?;
        let [high, low, class @ ..] = *tail;
        let rtype = Rtype(u16::from_be_bytes([high, low]));
        let edns = match additionals {
            0 if rest.is_empty() => None,
            1 => Some(read_edns(rest)?),
            _ => return None,
        };
        (class == CLASS_IN && is_common(rtype)).then_some(Question { name, rtype, edns })
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
    /// Reads the name that starts at `start`.
    #[inline]
    pub(super) fn read(message: &[u8], start: usize) -> Option<Labels> {
        let name = message.get(start..)?;
        let mut starts = [0; MAX_LABELS];
        let (mut at, mut count) = (0, 0);
        loop {
            let length = usize::from(*name.get(at)?);
            match length {
                0 => break,
                1..=63 => *starts.get_mut(count)? = at as u8,
                _ => return None,
            }
            (at, count) = (at + 1 + length, count + 1);
            if at >= MAX_NAME {
                return None;
            }
        }
        let start = u16::try_from(start).ok()?;
        (count > 0).then_some(Labels { count: count as u8, starts, length: at as u8, start })
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

/// Reads an OPT record of version 0 that is the last record of a message.
#[inline]
fn read_edns(record: &[u8]) -> Option<Edns<'_>> {
    let (fixed, options) = record.split_first_chunk::<OPT_LENGTH>()?;
    let [0, 0, 41, size_high, size_low, _, 0, flags, _, length @ ..] = *fixed else { return None };
    if usize::from(u16::from_be_bytes(length)) != options.len() {
        return None;
    }
    let size = u16::from_be_bytes([size_high, size_low]);
    let mut edns = Edns { size, dnssec_ok: flags & DO != 0, ..Edns::default() };
    edns.read_options(options).ok()?;
    // Who wants to know who we are asks for once.
    // Compact answers have more to say (RFC 9824 section 5.1).
    let is_special = edns.nsid || edns.dnssec_ok && flags & CO != 0;
    (!is_special).then_some(edns)
}
