//! Who lives: our own counter, and what the others' have been seen to do.
//!
//! Time is the reader's own: a counter that was read twice, so long apart, and did not move, has stopped.

use std::collections::BTreeMap;
use std::time::Duration;

use super::super::backoff::Moment;
use super::footing::Pulse;
use super::held::Marks;

/// How often we move our counter.
pub(super) const RENEWAL: Duration = Duration::from_secs(30);
/// So long a counter stands still before its owner is taken to be gone.
const EXPIRY: Duration = Duration::from_secs(90);
/// So long one that is gone is expected back, and our counter kept for it.
const MEMORY: Duration = Duration::from_secs(24 * 60 * 60);
/// How long to wait after a failure to move it.
const PAUSE: Duration = Duration::from_secs(1);

/// Who lives.
#[derive(Debug, Default)]
pub(super) struct Pulses {
    /// When we last moved our counter, or rather set out to.
    renewed: Option<Moment>,
    /// Until when that is not tried again, after a failure.
    held: Moment,
    seen: BTreeMap<String, Seen>,
}

/// A counter, and when it was first and last seen to be so.
#[derive(Debug)]
struct Seen {
    /// With the generation of whoever moved it.
    counter: Option<(u64, u64)>,
    first: Moment,
    last: Moment,
}

impl Seen {
    fn is_still_for(&self, time: Duration) -> bool {
        self.last - self.first >= time
    }
}

impl Pulses {
    /// Takes in the counters of everybody who has a mark in the zone.
    pub(super) fn look(&mut self, marks: &Marks, now: Moment) {
        let owners = marks.owners();
        self.seen.retain(|owner, _| owners.contains(owner.as_str()));
        for owner in owners {
            let counter = marks.liveness(owner).map(|(liveness, _)| (liveness.generation, liveness.counter));
            let seen = self.seen.entry(owner.to_owned()).or_insert(Seen { counter, first: now, last: now });
            if seen.counter != counter {
                (seen.counter, seen.first) = (counter, now);
            }
            seen.last = now;
        }
    }

    /// How another owner is.
    pub(super) fn of(&self, owner: &str) -> Pulse {
        match self.seen.get(owner).filter(|seen| seen.is_still_for(EXPIRY)) {
            None => Pulse::Beats,
            Some(seen) if seen.counter.is_some() => Pulse::Stopped,
            Some(_) => Pulse::Missing,
        }
    }

    /// Whether another owner is gone.
    pub(super) fn is_gone(&self, owner: &str) -> bool {
        self.of(owner) == Pulse::Stopped
    }

    /// Whether another owner has been gone for so long that it is not expected back.
    pub(super) fn is_forgotten(&self, owner: &str) -> bool {
        self.seen.get(owner).is_some_and(|seen| seen.is_still_for(MEMORY))
    }

    /// When our counter is to be moved next.
    pub(super) fn due(&self) -> Moment {
        self.renewed.map_or(Moment::ZERO, |renewed| renewed + RENEWAL)
    }

    /// Until when our counter is left alone, after a failure to move it.
    pub(super) fn held(&self) -> Moment {
        self.held
    }

    /// Our counter could not be moved.
    pub(super) fn hold(&mut self, now: Moment) {
        self.held = now + PAUSE;
    }

    /// Our counter was moved, by a request that was sent then.
    pub(super) fn renew(&mut self, sent: Moment) {
        self.renewed = Some(sent);
    }

    /// Our counter stands no longer.
    pub(super) fn end(&mut self) {
        self.renewed = None;
    }
}
