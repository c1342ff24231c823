//! A transfer under way: from record sets to messages, one at a time.

use std::fmt;
use std::sync::Arc;

use dns::RecordSet;

use super::content::content;
use super::page::Page;
use super::request::Request;
use super::step::Step;
use super::tsig::Signer;
use crate::Zone;
use crate::dnssec::signed_content;

/// How long messages get: up to here a pointer reaches, so names stay compressed.
const LENGTH: usize = 16 << 10;
/// The most that a message may have.
const MOST: usize = u16::MAX as usize;
const QR_AND_AA: u8 = 0x84;
const RD: u8 = 0x01;
/// An OPT record that says what we take.
const OPT: [u8; 11] = [0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0];

/// The records of a transfer, in its order.
pub(super) type Sets = Box<dyn Iterator<Item = RecordSet> + Send>;

/// The messages of one transfer; it reads one version of the zone however long it takes.
pub struct Stream {
    head: [u8; 4],
    question: Vec<u8>,
    zone: Vec<u8>,
    with_edns: bool,
    is_first: bool,
    sets: Sets,
    /// The set that is being written and how many of its records are.
    current: Option<(RecordSet, usize)>,
    signer: Option<Signer>,
}

/// A record that no message can carry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a record is too long for any message")]
pub struct TooLong;

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream").field("is_first", &self.is_first).finish_non_exhaustive()
    }
}

/// The SOA, everything else, and the SOA again (RFC 5936 section 2.2); of a signed zone with all its
/// signatures.
pub(super) fn whole(zone: Arc<Zone>, now: u64) -> Sets {
    let soa = zone.soa().cloned();
    let content: Sets = match zone.signing() {
        Some(_) => Box::new(signed_content(zone, now as u32)),
        None => Box::new(content(zone)),
    };
    Box::new(soa.clone().into_iter().chain(content).chain(soa))
}

/// The newest SOA, every step, and the newest SOA again (RFC 1995 section 4).
pub(super) fn incremental(
    zone: &Zone,
    steps: Vec<Arc<Step>>,
) -> impl Iterator<Item = RecordSet> + Send + use<> {
    let soa = zone.soa().cloned();
    let sets = steps.into_iter().flat_map(|step| step.sets().cloned().collect::<Vec<_>>());
    soa.clone().into_iter().chain(sets).chain(soa)
}

impl Stream {
    pub(super) fn new(
        request: &Request<'_>,
        sets: impl Iterator<Item = RecordSet> + Send + 'static,
        signer: Option<Signer>,
    ) -> Stream {
        let [id_high, id_low, flags, _] = request.head;
        Stream {
            head: [id_high, id_low, QR_AND_AA | flags & RD, 0],
            question: request.question.octets.to_vec(),
            zone: request.question.name.to_wire(),
            with_edns: request.size.is_some(),
            is_first: true,
            sets: Box::new(sets),
            current: None,
            signer,
        }
    }

    /// Writes the next message; false when there is none. `now` is in seconds since 1970.
    pub fn next(&mut self, now: u64, out: &mut Vec<u8>) -> Result<bool, TooLong> {
        if !self.is_first && !self.has_more() {
            return Ok(false);
        }
        self.fill(LENGTH, MOST, now, out)?;
        Ok(true)
    }

    /// Writes all into one message of at most `limit` octets; false where it does not fit.
    pub(super) fn fit(&mut self, limit: usize, now: u64, out: &mut Vec<u8>) -> bool {
        self.fill(limit, limit, now, out).is_ok() && !self.has_more()
    }

    fn has_more(&mut self) -> bool {
        if self.current.is_none() {
            self.current = self.sets.next().map(|set| (set, 0));
        }
        self.current.is_some()
    }

    /// Fills a message up to `wanted` octets, and up to `most` with its first record.
    fn fill(&mut self, wanted: usize, most: usize, now: u64, out: &mut Vec<u8>) -> Result<(), TooLong> {
        let opt = (self.with_edns && self.is_first).then_some(&OPT[..]);
        let room = opt.map_or(0, <[u8]>::len) + self.signer.as_ref().map_or(0, Signer::length);
        let question = if self.is_first { &self.question[..] } else { &[] };
        let mut page = Page::new(self.head, question, &self.zone, out);
        while let Some((set, written)) = self.current.take().or_else(|| self.sets.next().map(|set| (set, 0)))
        {
            let written =
                push(&mut page, &set, written, wanted.saturating_sub(room), most.saturating_sub(room));
            if written < set.data.len() {
                self.current = Some((set, written));
                break;
            }
        }
        if page.is_empty() && self.current.is_some() {
            return Err(TooLong);
        }
        page.finish(opt);
        self.is_first = false;
        if let Some(signer) = &mut self.signer {
            signer.sign(out, now);
        }
        Ok(())
    }
}

/// Writes the records of a set from one on; gives how many are written then.
fn push(page: &mut Page<'_>, set: &RecordSet, from: usize, wanted: usize, most: usize) -> usize {
    let mut written = from;
    for data in set.data.iter().skip(from) {
        let limit = if page.is_empty() { most } else { wanted };
        if !page.push(set, data.wire(), limit) {
            break;
        }
        written += 1;
    }
    written
}
