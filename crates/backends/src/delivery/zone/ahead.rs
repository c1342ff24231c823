//! Using the time in which a batch is under way.
//!
//! ```text
//! under way    batch 1 ──────► batch 2 ──────► batch 3
//! meanwhile      prepare 2       take in 1       take in 2
//!                                prepare 3       prepare 4
//! ```
//!
//! One batch of a zone is under way at a time. The next is prepared meanwhile, of other names, and goes out
//! as soon as all of the one before was taken by the server; what that one changed is taken in after that.
//! A prepared batch is dropped as soon as anything happens to one of its names, or goes wrong.

use std::sync::Arc;

use dns::Name;

use super::super::task::{Job, Writing};
use super::reading::MANY;
use super::situation::Stage;
use super::{At, Zone};
use crate::Failure;

/// What is done beside the batch that is under way.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    /// The batch that is under way, if others may be prepared meanwhile.
    under_way: Option<(Stage, Arc<Writing>)>,
    /// The batch that comes next.
    next: Option<(Stage, Arc<Writing>)>,
    /// Whether nothing is left to be made after the batch that is under way, and so much was made that the
    /// whole zone is read back.
    is_last: bool,
    /// A batch that was taken by the server as a whole, and not taken in yet.
    written: Option<Arc<Writing>>,
}

impl Ahead {
    /// A batch goes out.
    pub(super) fn started(&mut self, stage: Stage, writing: &Arc<Writing>) {
        let is_making = matches!(stage, Stage::Mark | Stage::Put);
        self.under_way = is_making.then(|| (stage, writing.clone()));
    }

    /// Something happened to a name.
    pub(super) fn touched(&mut self, name: &Name) {
        self.is_last = false;
        let names = self.next.as_ref().map(|(_, writing)| &writing.names[..]);
        let (first, last) = (names.and_then(<[_]>::first), names.and_then(<[_]>::last));
        if first.is_some_and(|first| first <= name) && last.is_some_and(|last| name <= last) {
            self.next = None;
        }
    }
}

impl Zone {
    /// Takes in how a batch went: later, if all of it was taken and the next is at hand.
    pub(super) fn was_answered(
        &mut self,
        writing: &Arc<Writing>,
        results: Vec<Result<(), Failure>>,
        at: At<'_>,
    ) -> Option<Failure> {
        self.ahead.under_way = None;
        self.turn.wrote();
        let is_whole = results.len() == writing.names.len() && results.iter().all(Result::is_ok);
        if is_whole && (self.ahead.next.is_some() || self.ahead.is_last) {
            self.ahead.written = Some(writing.clone());
            return None;
        }
        (self.ahead.next, self.ahead.is_last) = (None, false);
        self.was_written(writing, results, at)
    }

    /// Whether a batch was written and not taken in yet.
    pub(super) fn is_behind(&self) -> bool {
        self.ahead.written.is_some()
    }

    /// Whether a batch with changes of a name is under way, or was written and not taken in yet: what is known of the
    /// name may not be so any more.
    pub(super) fn is_under_way(&self, name: &Name) -> bool {
        let mut batches = self.under_way.iter().chain(&self.ahead.written);
        // Batches are in the order of names.
        batches.any(|writing| writing.names.binary_search(name).is_ok())
    }

    /// The batch that was prepared, or the reading after the last one, if nothing else comes first and it may
    /// be sent as it is.
    pub(super) fn prepared(
        &mut self,
        at: At<'_>,
        generation: u64,
        may_write: &dyn Fn() -> bool,
    ) -> Option<Job> {
        let is_first = self.is_behind() && !self.turn.must_read && self.restoring.is_empty();
        let is_due = is_first && !self.is_queued(Stage::Look);
        if std::mem::take(&mut self.ahead.is_last) && is_due {
            self.turn.batches = 0;
            return Some(Job::ReadZone);
        }
        let (stage, writing) = self.ahead.next.take()?;
        let is_due =
            is_due && !self.turn.must_read_back() && !self.is_pulse_due(at) && !self.is_glance_due(at);
        let is_fresh = !self.turn.reads_zones() || self.turn.fresh_until > at.now;
        if !is_due || !is_fresh || writing.batch.generation != generation || !may_write() {
            return None;
        }
        self.ahead.started(stage, &writing);
        Some(Job::Write(writing))
    }

    /// Takes in what was written, if it was not yet.
    pub(in super::super) fn catch_up(&mut self, at: At<'_>) {
        if let Some(writing) = self.ahead.written.take() {
            let results = vec![Ok(()); writing.names.len()];
            self.was_written(&writing, results, at);
        }
    }

    /// Prepares the batch that may follow the one that is under way, and gives it.
    pub(in super::super) fn prepare(&mut self, at: At<'_>) -> Option<Arc<Writing>> {
        let (stage, under_way) = self.ahead.under_way.clone().filter(|_| self.ahead.next.is_none())?;
        let writing =
            self.following(stage, &under_way, at).map(|(stage, writing)| (stage, Arc::new(writing)));
        self.ahead.next = writing.clone();
        let written = self.queued(Stage::ReadBack).count() + under_way.names.len();
        let is_last = stage == Stage::Put && !self.is_queued(Stage::Mark) && self.turn.reads_zones();
        self.ahead.is_last = writing.is_none() && is_last && written > MANY;
        writing.map(|(_, writing)| writing)
    }

    /// A batch of names that are not in the one that is under way.
    fn following(&mut self, stage: Stage, under_way: &Writing, at: At<'_>) -> Option<(Stage, Writing)> {
        let most = self.size_after(under_way);
        loop {
            self.work_through(most, at);
            for stage in [stage, Stage::Put] {
                // Queues are in the order of names, and so are batches.
                let is_free = |name: &&Name| under_way.names.binary_search(name).is_err();
                let names: Vec<Name> = self.queued(stage).filter(is_free).take(most).cloned().collect();
                if let Some(writing) = self.batch_of(stage, names, under_way.batch.generation, at) {
                    return Some((stage, writing));
                }
            }
            if self.unworked.is_empty() {
                return None;
            }
        }
    }

    /// How many names the batch after this one has. While names have yet to be worked out, it has no more
    /// than can be prepared before this one is through.
    fn size_after(&self, under_way: &Writing) -> usize {
        match self.unworked.is_empty() {
            true => self.limit,
            false => self.limit.min(2 * under_way.names.len()),
        }
    }
}
