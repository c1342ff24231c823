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
    counter: Option<u64>,
    first: Moment,
    last: Moment,
}

impl Pulses {
    /// Takes in the counters of everybody who has a mark in the zone.
    pub(super) fn look(&mut self, marks: &Marks, now: Moment) {
        let owners = marks.owners();
        self.seen.retain(|owner, _| owners.contains(owner.as_str()));
        for owner in owners {
            let counter = marks.liveness(owner).map(|(liveness, _)| liveness.counter);
            let seen = self.seen.entry(owner.to_owned()).or_insert(Seen { counter, first: now, last: now });
            if seen.counter != counter {
                (seen.counter, seen.first) = (counter, now);
            }
            seen.last = now;
        }
    }

    /// How another owner is.
    pub(super) fn of(&self, owner: &str) -> Pulse {
        let Some(seen) = self.seen.get(owner).filter(|seen| seen.last - seen.first >= EXPIRY) else {
            return Pulse::Beats;
        };
        if seen.counter.is_some() { Pulse::Stopped } else { Pulse::Missing }
    }

    /// Whether another owner is gone.
    pub(super) fn is_gone(&self, owner: &str) -> bool {
        self.of(owner) == Pulse::Stopped
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
