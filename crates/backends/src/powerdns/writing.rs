//! Changes on their way: look, send, and look again where somebody came in between.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use dns::{Name, RecordSet};
use futures::stream::{self, StreamExt, TryStreamExt};

use super::reading::{Facts, same};
use super::request::{self, Group};
use super::{Memory, Powerdns, warming};
use crate::{Batch, Failure, SetChange, SetKey};

/// Names that are read at once.
const TOGETHER: usize = 4;
/// Reading a name costs as much as this many record sets of a whole zone do.
const SETS_A_NAME: usize = 64;
/// So few names are read one by one, however small the zone.
const FEW: usize = 16;

/// A server reads this much before it can hang up on us for its length.
const SENT_AT_ONCE: usize = 64 << 10;

/// What a write of ours has proved is not asked for again so soon.
const JUST_NOW: Duration = Duration::from_millis(100);

const OPAQUE: &str = "a record stands there that cannot be read";

type Results = Vec<Result<(), Failure>>;

impl Powerdns {
    pub(super) async fn write_batch(&self, batch: &Batch) -> Results {
        let memory = self.memory(&batch.zone);
        let mut memory = memory.lock().await;
        let written = self.heed(self.try_write(batch, &mut memory).await).await;
        written.unwrap_or_else(|failure| vec![Err(failure); batch.changes.len()])
    }

    async fn try_write(&self, batch: &Batch, memory: &mut Memory) -> Result<Results, Failure> {
        let facts = match memory.just_written() {
            Some(facts) => facts,
            None => self.api.facts(&batch.zone).await?,
        };
        let is_as_read = facts.counts() && memory.serial == Some(facts.serial);
        let mut results = match is_as_read {
            true => vec![Ok(()); batch.changes.len()],
            false => standing(batch, &self.look(&batch.zone, names(batch), memory.sets).await?)?,
        };
        for (change, result) in batch.changes.iter().zip(&mut results) {
            if memory.opaque.contains(&change.key) {
                *result = Err(Failure::Unsupported(OPAQUE));
            }
        }
        let last = self.send(batch, &facts, &mut results).await;
        self.note(batch, &facts, &results, memory);
        match last {
            Some(serial) if is_as_read => memory.wrote(facts, serial),
            Some(_) => {}
            None => self.confirm(batch, memory.sets, &mut results).await?,
        }
        Ok(results)
    }

    /// Sends what may be sent, halving a piece around what is refused. The zone's serial after it, where
    /// that proves that nobody else wrote in between.
    pub(super) async fn send(&self, batch: &Batch, facts: &Facts, results: &mut Results) -> Option<u32> {
        let sound: Vec<usize> = (0..results.len()).filter(|index| results[*index].is_ok()).collect();
        let mut foreseen = self.foresight.take_texts(&batch.zone).into_iter().peekable();
        let text = |change: &SetChange| match foreseen.next_if(|(known, _)| is_same(known, change)) {
            Some((_, text)) => text,
            None => request::rrset(change, facts.serial),
        };
        let (groups, failed) = request::groups(&batch.changes, sound.into_iter(), text);
        failed.into_iter().for_each(|(index, failure)| results[index] = Err(failure));
        let mut serial = facts.counts().then_some(facts.serial);
        let mut left: Vec<&[Group]> = request::pieces(&groups).into_iter().rev().collect();
        while let Some(piece) = left.pop() {
            let body = request::body(piece);
            let length = body.len();
            match self.api.patch(&batch.zone, body).await {
                Ok(after) => {
                    serial = serial.zip(after).and_then(|(before, after)| next_serial(before, after))
                }
                Err(failure) if piece.len() > 1 && may_be_too_much(&failure, length) => {
                    let (first, second) = piece.split_at(piece.len() / 2);
                    left.extend([second, first]);
                }
                Err(failure) => {
                    // What is wrong with the server is wrong with all that is left.
                    let rest =
                        if failure.is_about_the_record() { Vec::new() } else { std::mem::take(&mut left) };
                    fail(std::iter::once(piece).chain(rest), &failure, results);
                    serial = serial.filter(|_| failure.is_about_the_record());
                }
            }
        }
        serial
    }

    /// Reads back what was written; what is not there any more was changed by somebody else.
    async fn confirm(&self, batch: &Batch, sets: usize, results: &mut Results) -> Result<(), Failure> {
        let written = || batch.changes.iter().zip(results.iter()).filter(|(_, result)| result.is_ok());
        if written().next().is_none() {
            return Ok(());
        }
        let found = self.look(&batch.zone, written().map(|(change, _)| &change.key.name), sets).await?;
        for (change, result) in batch.changes.iter().zip(results) {
            let wanted = change.after.as_ref().map(|entry| &entry.set);
            if result.is_ok() && !same(found.get(&change.key), wanted) {
                *result = Err(Failure::Changed);
            }
        }
        Ok(())
    }

    /// What some names have: name by name, or out of the whole zone where that is cheaper.
    pub(super) async fn look(
        &self,
        zone: &Name,
        names: impl Iterator<Item = &Name>,
        sets: usize,
    ) -> Result<HashMap<SetKey, RecordSet>, Failure> {
        let names: BTreeSet<&Name> = names.collect();
        let found = match names.len() > FEW + sets / SETS_A_NAME {
            true => self.api.zone(zone).await?.1.sets,
            false => {
                let reads: Vec<_> = names.iter().map(|name| self.api.name(zone, name)).collect();
                let reads = stream::iter(reads).buffer_unordered(TOGETHER);
                reads.try_collect::<Vec<_>>().await?.concat()
            }
        };
        let wanted = found.into_iter().filter(|set| names.contains(&set.name));
        Ok(wanted.map(|set| (SetKey::of(&set), set)).collect())
    }

    /// Remembers what is to be done once all batches are through.
    fn note(&self, batch: &Batch, facts: &Facts, results: &Results, memory: &mut Memory) {
        let done = || batch.changes.iter().zip(results).filter(|(_, result)| result.is_ok());
        memory.untold |= done().next().is_some();
        memory.unordered |= done().any(|(change, _)| facts.dnssec || bares_or_covers(&batch.zone, change));
        let written = done().filter_map(|(change, _)| change.after.as_ref());
        memory.cold.extend(written.flat_map(|after| warming::cold(&after.set)));
    }
}

/// Whether less at once may fare better. A server that gets more than it takes may hang up while we still send,
/// and its answer goes down with the connection.
fn may_be_too_much(failure: &Failure, length: usize) -> bool {
    match failure {
        Failure::Refused(_) | Failure::TooLarge => true,
        Failure::Unreachable(_) => length > SENT_AT_ONCE,
        _ => false,
    }
}

impl Memory {
    /// What the zone is like, where our own last write has only just told.
    fn just_written(&mut self) -> Option<Facts> {
        let (facts, at) = self.written.take()?;
        (at.elapsed() < JUST_NOW && self.serial == Some(facts.serial)).then_some(facts)
    }

    fn wrote(&mut self, facts: Facts, serial: u32) {
        self.serial = Some(serial);
        self.written = Some((Facts { serial, ..facts }, Instant::now()));
    }
}

/// Whether a name came or went that has one between itself and the zone, which PowerDNS must learn of.
fn bares_or_covers(zone: &Name, change: &SetChange) -> bool {
    let is_deep = change.key.name.parent().is_some_and(|parent| parent.is_below(zone));
    is_deep && change.before.is_none() != change.after.is_none()
}

/// Every name that a batch speaks of.
fn names(batch: &Batch) -> impl Iterator<Item = &Name> {
    batch
        .changes
        .iter()
        .map(|change| &change.key)
        .chain(batch.guards.iter().map(|(key, _)| key))
        .map(|key| &key.name)
}

/// Which changes still hold for what stands there; none of them where a guard does not.
fn standing(batch: &Batch, found: &HashMap<SetKey, RecordSet>) -> Result<Results, Failure> {
    if !batch.guards.iter().all(|(key, set)| same(found.get(key), set.as_ref())) {
        return Err(Failure::Changed);
    }
    let holds =
        |change: &SetChange| same(found.get(&change.key), change.before.as_ref().map(|entry| &entry.set));
    Ok(batch
        .changes
        .iter()
        .map(|change| if holds(change) { Ok(()) } else { Err(Failure::Changed) })
        .collect())
}

/// Whether a change is the one that was foreseen, made from the same program.
fn is_same(known: &SetChange, change: &SetChange) -> bool {
    let program = |change: &SetChange| change.after.as_ref().and_then(|after| after.program.clone());
    known == change && program(known) == program(change)
}

fn fail<'a>(pieces: impl Iterator<Item = &'a [Group]>, failure: &Failure, results: &mut Results) {
    for index in pieces.flatten().flat_map(|group| &group.changes) {
        results[*index] = Err(failure.clone());
    }
}

/// The new serial, where it is the one that follows: 1 more, or the first of a new day. (That it went up
/// by so much in the moment between look and write can only be the date.)
pub(super) fn next_serial(before: u32, after: u32) -> Option<u32> {
    let step = after.wrapping_sub(before);
    let is_new_day = after % 100 == 1 && after > before && step > 50;
    (step == 1 || is_new_day).then_some(after)
}
