//! Looking whether anybody has come for what is ours, as often as our counter says while it rests.
//!
//! Whoever comes writes a mark, and that moves the zone's revision: so a look costs one small request. Nothing is written
//! while a look is overdue, because somebody may have waited, taken us for dead and taken over meanwhile.

use std::time::Duration;

use super::super::backoff::Moment;
use super::super::task::{Job, Purpose};
use super::{At, Zone};

/// How often we look where a look is cheap.
const GLANCE: Duration = Duration::from_secs(60);
/// A zone of more sets is not read whenever somebody else wrote to it, but at the interval of drift.
const LARGE: usize = 20_000;

impl Zone {
    /// How often we look.
    fn pace(&self, at: At<'_>) -> Duration {
        let drift = at.class.settings.drift;
        let is_cheap = self.turn.revision.is_some() && self.held.len() <= LARGE;
        if is_cheap { drift.min(GLANCE) } else { drift }
    }

    /// What our counter says of that, in seconds.
    pub(super) fn promised_looks(&self, at: At<'_>) -> u32 {
        u32::try_from(self.pace(at).as_millis().div_ceil(1000)).unwrap_or(u32::MAX).max(1)
    }

    /// When we have to look, if our counter rests and says so.
    pub(super) fn glance_due(&self, at: At<'_>) -> Option<Moment> {
        let (liveness, _) = self.marks.liveness(&self.owner)?;
        let said = Duration::from_secs(liveness.looks?.into());
        // A little sooner, so that the promise is kept.
        Some(self.turn.looked + self.pace(at).min(said).mul_f64(0.9))
    }

    pub(super) fn is_glance_due(&self, at: At<'_>) -> bool {
        self.glance_due(at).is_some_and(|due| due <= at.now)
    }

    /// A look at the revision; where that may hide something, at the zone.
    pub(super) fn glance(&mut self) -> Job {
        self.turn.must_read = self.turn.moved || self.turn.hides;
        match self.turn.must_read {
            true => self.whole_reading(),
            false => Job::Revision(Purpose::Drift),
        }
    }
}
