//! Our own counter: kept moving where other owners have to do with our names, and nowhere else.
//!
//! Whatever is written waits for a counter that is due. So nothing is written by one whose counter may have
//! stopped for others, and after each move the zone is read, so that whoever took over meanwhile is seen.

use std::sync::Arc;

use super::super::backoff::Moment;
use super::super::task::{Job, What, Writing};
use super::{At, Zone};
use crate::marks::{Liveness, liveness_key};
use crate::{Batch, Entry, Failure, SetChange};

impl Zone {
    /// When our counter is to be moved or taken away; `None`: there is none and needs to be none.
    pub(super) fn pulse_due(&self) -> Option<Moment> {
        if !self.turn.reads_zones() || self.turn.is_unread() {
            return None;
        }
        let stands = self.marks.liveness(&self.owner).is_some();
        match self.contested.is_empty() {
            true => stands.then_some(self.pulses.held()),
            false => Some(self.pulses.due().max(self.pulses.held())),
        }
    }

    /// Whether our counter is to be moved or taken away before anything else is written.
    pub(super) fn is_pulse_due(&self, at: At<'_>) -> bool {
        let is_kept = !self.contested.is_empty() && self.pulse_due().is_some();
        self.pulse_due().is_some_and(|due| due <= at.now) || (is_kept && self.pulses.due() <= at.now)
    }

    /// The request that moves our counter, or takes it away where nobody needs it. A new one starts at what the clock
    /// says: one that was taken away and comes back must not look to anybody as if it had never moved.
    pub(super) fn pulse(&self, generation: u64, at: At<'_>) -> Option<Job> {
        let key = liveness_key(&self.owner, &self.name)?;
        let standing = self.marks.liveness(&self.owner).map(|(liveness, _)| liveness.counter);
        let start = u64::try_from(at.now.as_millis()).unwrap_or_default();
        let counter = standing.unwrap_or(start).wrapping_add(1);
        let next = Liveness { owner: self.owner.clone(), generation, counter };
        let after = (!self.contested.is_empty()).then(|| next.to_set(&self.name)).flatten();
        let before = self.marks.standing_liveness(&self.owner, &key.name).map(Entry::from);
        let change = SetChange { key, before, after: after.map(Entry::from) };
        let batch = Batch { zone: self.name.clone(), changes: vec![change], guards: Vec::new(), generation };
        Some(Job::Write(Arc::new(Writing { what: What::Liveness, batch, names: vec![self.name.clone()] })))
    }

    /// Takes in how that went. Whatever happened, the zone is read next.
    pub(super) fn pulse_was_written(
        &mut self,
        writing: &Writing,
        results: Vec<Result<(), Failure>>,
        at: At<'_>,
    ) -> Option<Failure> {
        self.turn.must_read = true;
        self.turn.wrote();
        let change = writing.batch.changes.first()?;
        let result = results.into_iter().next().unwrap_or(Err(Failure::Unreadable));
        match result {
            Ok(()) => {
                let set = change.after.as_ref().map(|entry| entry.set.clone());
                self.beats(set.is_some());
                self.marks.set_liveness(&change.key.name, set, &self.name, &self.owner);
                None
            }
            Err(failure) => {
                self.pulses.hold(at.now);
                Some(failure).filter(|failure| *failure != Failure::Changed)
            }
        }
    }

    fn beats(&mut self, stands: bool) {
        match (stands, self.pulse_sent.take()) {
            (true, Some(sent)) => self.pulses.renew(sent),
            _ => self.pulses.end(),
        }
    }
}
