//! Reading a message as far as transfers and signatures need it.

use std::borrow::Cow;

use dns::{Name, Rtype};

use super::tsig::{Stamp, count_additional};
use crate::reader::{Malformed, Question, Reader, Record};

const HEADER: usize = 12;
const QR: u8 = 0x80;
const OPCODE: u8 = 0x78;
const TSIG: Rtype = Rtype(250);
const CLASS_ANY: u16 = 255;
/// More pointers than this in a name lead nowhere.
const MOST_POINTERS: usize = 16;

/// A message, taken apart.
#[derive(Debug)]
pub(super) struct Request<'a> {
    pub(super) octets: &'a [u8],
    /// Id and flags.
    pub(super) head: [u8; 4],
    pub(super) question: Question<'a>,
    /// The serial of the SOA in the authority section: what the client of an IXFR has.
    pub(super) serial: Option<u32>,
    /// How large a datagram the client takes, where it says so.
    pub(super) size: Option<u16>,
    /// The version of EDNS that the client speaks (RFC 6891 section 6.1.3).
    pub(super) version: u8,
    pub(super) signature: Option<Signature<'a>>,
}

/// The TSIG record of a message.
#[derive(Debug)]
pub(super) struct Signature<'a> {
    /// Where the record starts in the message.
    start: usize,
    pub(super) name: Name,
    /// The algorithm's name in wire form, in lower case.
    pub(super) algorithm: Vec<u8>,
    pub(super) time: u64,
    pub(super) fudge: u16,
    pub(super) mac: &'a [u8],
    original_id: [u8; 2],
    pub(super) error: u16,
    other: &'a [u8],
}

/// A message that cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unreadable<'a> {
    /// It ends too early or says what it must not: plain answering finds that too.
    Message,
    /// Its signature is not where or what a signature is; its question can be read.
    Signature {
        /// The question as it was asked.
        question: &'a [u8],
    },
}

impl From<Malformed> for Unreadable<'_> {
    fn from(_: Malformed) -> Self {
        Unreadable::Message
    }
}

impl<'a> Request<'a> {
    /// Takes a message with one question apart.
    pub(super) fn read(octets: &'a [u8]) -> Result<Request<'a>, Unreadable<'a>> {
        let mut reader = Reader { octets, at: 0 };
        let head = reader.array()?;
        let [questions, answers, authorities, additionals] =
            [reader.u16()?, reader.u16()?, reader.u16()?, reader.u16()?];
        if questions != 1 {
            return Err(Unreadable::Message);
        }
        let question = reader.question()?;
        let mut request =
            Request { octets, head, question, serial: None, size: None, version: 0, signature: None };
        for _ in 0..answers {
            reader.record()?;
        }
        for _ in 0..authorities {
            request.authority(&mut reader)?;
        }
        for left in (0..additionals).rev() {
            request.additional(&mut reader, left == 0)?;
        }
        Ok(request)
    }

    fn authority(&mut self, reader: &mut Reader<'a>) -> Result<(), Malformed> {
        let record = reader.record()?;
        if record.rtype == Rtype::SOA && self.serial.is_none() {
            let mut data = within(self.octets, &record)?;
            data.skip_name()?;
            data.skip_name()?;
            self.serial = Some(u32::from_be_bytes(data.array()?));
        }
        Ok(())
    }

    fn additional(&mut self, reader: &mut Reader<'a>, is_last: bool) -> Result<(), Unreadable<'a>> {
        let start = reader.at;
        let record = reader.record()?;
        let unreadable = Unreadable::Signature { question: self.question.octets };
        match record.rtype {
            Rtype::OPT => (self.size, self.version) = (Some(record.class), record.ttl[1]),
            // It must be the last, or somebody has added to what was signed (RFC 8945 section 5.1).
            TSIG if !is_last || record.class != CLASS_ANY => return Err(unreadable),
            TSIG => {
                let read = Signature::read(self.octets, start, &record);
                self.signature = Some(read.map_err(|_| unreadable)?);
            }
            _ => {}
        }
        Ok(())
    }

    pub(super) fn is_response(&self) -> bool {
        is_response(self.octets)
    }

    pub(super) fn is_plain_query(&self) -> bool {
        self.head[2] & OPCODE == 0
    }

    pub(super) fn opcode(&self) -> u8 {
        (self.head[2] & OPCODE) >> 3
    }

    pub(super) fn rcode(&self) -> u8 {
        self.head[3] & 0x0f
    }

    /// The message without its signature. Whoever forwarded it may have given it another id than it was
    /// signed with, and waits for an answer to that one.
    pub(super) fn unsigned(&self) -> Cow<'a, [u8]> {
        let Some(signature) = &self.signature else { return Cow::Borrowed(self.octets) };
        let mut octets = signature.unsigned(self.octets);
        if let (Some(id), Some(sent)) = (octets.get_mut(..2), self.octets.get(..2)) {
            id.copy_from_slice(sent);
        }
        Cow::Owned(octets)
    }
}

/// Whether a message is a response, whatever else can be read of it.
pub(super) fn is_response(octets: &[u8]) -> bool {
    octets.get(2).is_some_and(|flags| flags & QR != 0)
}

/// Whether a message may be signed or ask for a transfer: a cheap look that spares all other
/// queries the reading.
pub(super) fn may_concern(octets: &[u8]) -> bool {
    let mut reader = Reader { octets, at: HEADER };
    let Ok(question) = reader.question() else { return false };
    let mut is_edns_alone = || reader.record().is_ok_and(|record| record.rtype == Rtype::OPT);
    match octets.get(10..HEADER) {
        _ if matches!(question.rtype, Rtype::AXFR | Rtype::IXFR) => true,
        Some([0, 0]) => false,
        Some([0, 1]) => !is_edns_alone(),
        _ => true,
    }
}

impl<'a> Signature<'a> {
    fn read(octets: &'a [u8], start: usize, record: &Record<'_>) -> Result<Signature<'a>, Malformed> {
        let name = expanded_name(octets, start)?;
        let mut data = within(octets, record)?;
        let algorithm = data.plain_name()?.to_wire();
        let [a, b, c, d, e, f] = data.array()?;
        let time = u64::from_be_bytes([0, 0, a, b, c, d, e, f]);
        let (fudge, length) = (data.u16()?, data.u16()?);
        let mac = data.take(usize::from(length))?;
        let (original_id, error, length) = (data.array()?, data.u16()?, data.u16()?);
        let other = data.take(usize::from(length))?;
        // Nothing else is in the record, and nothing follows it.
        let is_whole = data.at == record.end && record.end == octets.len();
        let signature = Signature { start, name, algorithm, time, fudge, mac, original_id, error, other };
        if is_whole { Ok(signature) } else { Err(Malformed) }
    }

    /// The message as it was before it was signed.
    pub(super) fn unsigned(&self, message: &[u8]) -> Vec<u8> {
        let mut octets = message.get(..self.start).unwrap_or_default().to_vec();
        if let Some(id) = octets.get_mut(..2) {
            id.copy_from_slice(&self.original_id);
        }
        count_additional(&mut octets, -1);
        octets
    }

    pub(super) fn stamp(&self) -> Stamp<'a> {
        Stamp { time: self.time, fudge: self.fudge, error: self.error, other: self.other }
    }
}

/// Reads a record's data, in whose names pointers may lead to what is before it.
fn within<'a>(octets: &'a [u8], record: &Record<'_>) -> Result<Reader<'a>, Malformed> {
    Ok(Reader { octets: octets.get(..record.end).ok_or(Malformed)?, at: record.end - record.data.len() })
}

/// The name at a place of a message, its pointers followed; they lead backwards only.
fn expanded_name(octets: &[u8], start: usize) -> Result<Name, Malformed> {
    let (mut wire, mut at, mut pointers) = (Vec::new(), start, 0);
    loop {
        match octets.get(at..).ok_or(Malformed)? {
            [0, ..] => {
                wire.push(0);
                return Name::from_wire(&wire).map(|(name, _)| name).map_err(|_| Malformed);
            }
            [length @ 1..=63, rest @ ..] => {
                wire.push(*length);
                wire.extend_from_slice(rest.get(..usize::from(*length)).ok_or(Malformed)?);
                at += 1 + usize::from(*length);
            }
            [high @ 0xc0..=0xff, low, ..] if pointers < MOST_POINTERS => {
                let to = usize::from(u16::from_be_bytes([*high & 0x3f, *low]));
                if to >= at {
                    return Err(Malformed);
                }
                (at, pointers) = (to, pointers + 1);
            }
            _ => return Err(Malformed),
        }
        if wire.len() > dns::MAX_WIRE {
            return Err(Malformed);
        }
    }
}
