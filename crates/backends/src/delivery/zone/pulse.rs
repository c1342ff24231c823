//! Our own counter: it moves where other owners have to do with our names, and rests where we only have marks.
//!
//! Whatever is written waits for a counter that is due. So nothing is written by one whose counter may have
//! stopped for others, and after each move the zone is read, so that whoever took over meanwhile is seen. A counter
//! that rests says how often we look, and stands before our first mark does: nothing is ever ours without a word by
//! which others can tell that we are gone.

use std::sync::Arc;

use super::super::backoff::Moment;
use super::super::task::{Job, What, Writing};
use super::situation::Stage;
use super::{At, Zone};
use crate::marks::{Liveness, liveness_key};
use crate::{Batch, Entry, Failure, SetChange};

/// What our counter has to do.
enum Duty {
    /// Others have to do with our names: it moves.
    Moves,
    /// We have marks, and are alone with them: it rests, and says how often we look.
    Rests(u32),
    /// Nothing is ours: there is none.
    Ends,
}

impl Zone {
    fn duty(&self, at: At<'_>) -> Duty {
        let has_marks = || self.marks.names().next().is_some() || self.is_queued(Stage::Mark);
        match () {
            () if !self.contested.is_empty() => Duty::Moves,
            () if self.has_room && has_marks() => Duty::Rests(self.promised_looks(at)),
            () => Duty::Ends,
        }
    }

    /// When our counter is to be written or taken away; `None`: it is as it should be.
    pub(super) fn pulse_due(&self, at: At<'_>) -> Option<Moment> {
        if !self.turn.reads_zones() || self.turn.is_unread() {
            return None;
        }
        let standing = self.marks.liveness(&self.owner).map(|(liveness, _)| liveness.looks);
        match self.duty(at) {
            Duty::Moves => Some(self.pulses.due().max(self.pulses.held())),
            // One that promises less than we do is left alone, lest a zone that grows and shrinks be written to.
            Duty::Rests(looks) if standing.flatten().is_some_and(|said| said >= looks) => None,
            Duty::Ends if standing.is_none() => None,
            Duty::Rests(_) | Duty::Ends => Some(self.pulses.rest_held()),
        }
    }

    /// Whether our counter is to be written or taken away before anything else is written.
    pub(super) fn is_pulse_due(&self, at: At<'_>) -> bool {
        let Some(due) = self.pulse_due(at) else { return false };
        due <= at.now || (!self.contested.is_empty() && self.pulses.due() <= at.now)
    }

    /// The request that moves our counter, has it rest, or takes it away where nobody needs it. A new one starts at
    /// what the clock says: one that was taken away and comes back must not look to anybody as if it had never moved.
    pub(super) fn pulse(&self, generation: u64, at: At<'_>) -> Option<Job> {
        self.pulse_due(at)?;
        let key = liveness_key(&self.owner, &self.name)?;
        let standing = self.marks.liveness(&self.owner).map(|(liveness, _)| liveness.counter);
        let start = u64::try_from(at.now.as_millis()).unwrap_or_default();
        let counter = standing.unwrap_or(start).wrapping_add(1);
        let next = |looks| Liveness { owner: self.owner.clone(), generation, counter, looks };
        let after = match self.duty(at) {
            Duty::Moves => next(None).to_set(&self.name),
            Duty::Rests(looks) => next(Some(looks)).to_set(&self.name),
            Duty::Ends => None,
        };
        let before = self.marks.standing_liveness(&self.owner, &key.name).map(Entry::from);
        let change = SetChange { key, before, after: after.map(Entry::from) };
        let batch = Batch { zone: self.name.clone(), changes: vec![change], guards: Vec::new(), generation };
        Some(Job::Write(Arc::new(Writing { what: What::Liveness, batch, names: vec![self.name.clone()] })))
    }

    /// Takes in how that went. Whatever happened, the zone is read next, unless all that we said is that we rest.
    pub(super) fn pulse_was_written(
        &mut self,
        writing: &Writing,
        results: Vec<Result<(), Failure>>,
        at: At<'_>,
    ) -> Option<Failure> {
        self.turn.wrote();
        let change = writing.batch.changes.first()?;
        let next = change.after.as_ref().and_then(|entry| Liveness::read(&entry.set, &self.name));
        let rests = next.as_ref().is_some_and(|liveness| liveness.looks.is_some());
        let result = results.into_iter().next().unwrap_or(Err(Failure::Unreadable));
        match result {
            Ok(()) => {
                self.turn.must_read |= !rests;
                self.beats(next.is_some() && !rests);
                let set = change.after.as_ref().map(|entry| entry.set.clone());
                self.marks.set_liveness(&change.key.name, set, &self.name, &self.owner);
                None
            }
            Err(failure) if rests && failure != Failure::Changed && failure.is_about_the_record() => {
                self.pulses.refuse(at.now);
                None
            }
            Err(failure) => {
                self.turn.must_read = true;
                self.pulses.hold(at.now);
                Some(failure).filter(|failure| *failure != Failure::Changed)
            }
        }
    }

    fn beats(&mut self, moves: bool) {
        match (moves, self.pulse_sent.take()) {
            (true, Some(sent)) => self.pulses.renew(sent),
            _ => self.pulses.end(),
        }
    }
}
