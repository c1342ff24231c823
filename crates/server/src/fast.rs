//! Fast answers to common questions: no allocation, no lock, nothing decoded.
//!
//! ```text
//!  message ──► Question ──► Origins ──► Index ──► records ──► message
//!      question.rs    origins.rs  index.rs, find.rs     answer.rs
//! ```
//!
//! Whatever is out of the ordinary is left to the slow path ([`respond`](crate::respond)), which
//! answers everything; where both answer, they say the same. The three steps of an answer are
//! apart so that a batch of questions can be taken through each step together: while one waits
//! for its memory, the next goes on.

mod answer;
mod build;
mod find;
mod hash;
mod index;
mod origins;
mod pick;
mod question;
mod signed;
mod soa;
#[cfg(test)]
mod tests;

pub(crate) use answer::Prepared;
pub(crate) use build::compile;
pub(crate) use index::Index;
pub(crate) use origins::{Located, Origin, Origins};
pub(crate) use question::{Question, SLACK};
pub(crate) use soa::SoaRecord;

use std::net::IpAddr;

use answer::LikelyPlace;

use crate::answer::UDP_SIZE;
use crate::{Circumstances, Reply, Sight};

/// Zones of up to this many names are compiled whenever they change.
pub(crate) const SMALL: usize = 2000;

/// The type under which a steered name's trees are packed beside its records, each after the type of
/// the set that it is for. It is reserved (RFC 6895 section 3.1); a steered name that has records of
/// it is not answered from what is packed.
const TREES: dns::Rtype = dns::Rtype(u16::MAX);
/// How far records usually reach from where they start, and with trees.
const PLAIN_REACH: usize = 128;
const STEERED_REACH: usize = 192;

/// Answers a query over UDP where the fast path does; `None` leaves it to [`respond`](crate::respond).
///
/// The zones have to be compiled, as [`Views::publish`](crate::Views::publish) or
/// [`Zones::compile`](crate::Zones::compile) does it.
pub fn respond_fast(octets: &[u8], around: Circumstances<'_>, out: &mut Vec<u8>) -> Option<Reply> {
    let origins = around.sight.fast()?;
    let buffer = [octets, &[0; SLACK]].concat();
    let mut question = Question::EMPTY;
    let mut prepared = Prepared::new(origins, &buffer, octets.len(), &mut question, around.client, None)?;
    prepared.first_record();
    out.clear();
    out.resize(usize::from(UDP_SIZE) + SLACK, 0);
    let (length, reply) = prepared.answer(&buffer, &around, true, out)?;
    out.truncate(length);
    Some(reply)
}

impl<'a> Sight<'a> {
    /// The way to fast answers; there is none before the first sync, when little can be said.
    #[inline]
    pub(crate) fn fast(&self) -> Option<&'a Origins> {
        self.zones.filter(|_| self.synced)?.fast()
    }
}

impl<'a, 'm> Prepared<'a, 'm> {
    /// The first step: reads a question and finds its zone.
    ///
    /// The message is in the first `length` octets of a buffer that has [`SLACK`] after them.
    #[inline]
    pub(crate) fn new(
        origins: &'a Origins,
        buffer: &[u8],
        length: usize,
        question: &'m mut Question,
        client: IpAddr,
        before: Option<&Located<'a>>,
    ) -> Option<Prepared<'a, 'm>> {
        question.read(buffer, length)?;
        let located = origins.find_near(before, buffer, &question.name)?;
        let table = located.index.sources.likely_table();
        let place =
            table.and_then(|table| Some(LikelyPlace { table, block: question.block(buffer, client)? }));
        Some(Prepared { question, located, place, slot: None })
    }

    /// Where the second step will look.
    #[inline]
    pub(crate) fn first_slot(&self) -> Option<&'a std::sync::atomic::AtomicU64> {
        self.located.index.first_slot(self.located.hash)
    }

    /// The second step: where the third will look.
    #[inline]
    pub(crate) fn first_record(&mut self) -> Option<&'a [u8]> {
        let index = self.located.index;
        let (slot, _) = index.find(self.located.hash, |_| Some(()))?;
        self.slot = Some(slot);
        let octets = index.packed(slot)?.octets_at(slot.place());
        let reach = if slot.is_steered() { STEERED_REACH } else { PLAIN_REACH };
        Some(octets.get(..reach).unwrap_or(octets))
    }

    /// What a choice by the client's place will read first.
    #[inline]
    pub(crate) fn first_place(&self) -> Option<[&'a u8; 2]> {
        self.place.map(|place| place.table.first_lines(place.block))
    }

    /// What it will read next.
    #[inline]
    pub(crate) fn second_place(&self) -> Option<&'a [u8]> {
        self.place.map(|place| place.table.second_line(place.block))
    }

    /// What the response is about if the name exists.
    #[inline]
    pub(crate) fn likely_subject(&self) -> u64 {
        self.located.hash
    }
}
