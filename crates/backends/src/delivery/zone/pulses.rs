//! Who lives: our own counter, and what the others' have been seen to do.
//!
//! Time is the reader's own: a counter that was read twice, so long apart, and did not move, has stopped. One that
//! rests has nothing to move for before a mark of ours meets one of its owner's. From when that was read back on it has
//! the time in which its owner looks twice, and as long again as every other.

use std::collections::BTreeMap;
use std::time::Duration;

use super::super::backoff::Moment;
use super::footing::Pulse;
use super::held::Marks;
use crate::marks::Liveness;

/// How often we move our counter.
pub(super) const RENEWAL: Duration = Duration::from_secs(30);
/// So long a counter stands still before its owner is taken to be gone.
const EXPIRY: Duration = Duration::from_secs(90);
/// So long one that is gone is expected back, and our counter kept for it.
const MEMORY: Duration = Duration::from_secs(24 * 60 * 60);
/// How long to wait after a failure to move it.
const PAUSE: Duration = Duration::from_secs(1);
/// How long to wait where it was refused, and could have rested.
const REFUSED: Duration = Duration::from_secs(600);

/// Who lives.
#[derive(Debug, Default)]
pub(super) struct Pulses {
    /// When we last moved our counter, or rather set out to.
    renewed: Option<Moment>,
    /// Until when that is not tried again, after a failure.
    held: Moment,
    /// Until when it is not tried again to have it rest.
    refused: Moment,
    seen: BTreeMap<String, Seen>,
}

/// What an owner's counter says, and when that was first and last seen to be so.
#[derive(Debug)]
struct Seen {
    sign: Sign,
    first: Moment,
    last: Moment,
}

/// What an owner's counter says.
#[derive(Debug, PartialEq)]
struct Sign {
    /// With the generation of whoever moved it.
    counter: Option<(u64, u64)>,
    /// How often its owner looks, if it rests.
    looks: Option<u32>,
    /// Whether it rests although its owner, when it looks, finds a mark of ours beside one of its own.
    is_met: bool,
}

impl Sign {
    fn of(liveness: Option<&Liveness>, is_met: bool) -> Sign {
        let looks = liveness.and_then(|liveness| liveness.looks);
        let counter = liveness.map(|liveness| (liveness.generation, liveness.counter));
        Sign { counter, looks, is_met: is_met && looks.is_some() }
    }

    /// So long it can be so while its owner lives; `None`: for good.
    fn expiry(&self) -> Option<Duration> {
        match self.looks {
            None => Some(EXPIRY),
            Some(seconds) => self.is_met.then(|| EXPIRY + 2 * Duration::from_secs(seconds.into())),
        }
    }
}

impl Seen {
    fn is_still_for(&self, time: Duration) -> bool {
        self.last - self.first >= time
    }

    fn is_over(&self) -> bool {
        self.sign.expiry().is_some_and(|expiry| self.is_still_for(expiry))
    }
}

impl Pulses {
    /// Takes in the counters of everybody who has a mark in the zone.
    pub(super) fn look(&mut self, marks: &Marks, now: Moment) {
        let (owners, met) = (marks.owners(), marks.met());
        self.seen.retain(|owner, _| owners.contains(owner.as_str()));
        for owner in owners {
            let sign = Sign::of(marks.liveness(owner).map(|(liveness, _)| liveness), met.contains(owner));
            let before = self.seen.get(owner).filter(|seen| seen.sign == sign).map(|seen| seen.first);
            let seen = Seen { sign, first: before.unwrap_or(now), last: now };
            self.seen.insert(owner.to_owned(), seen);
        }
    }

    /// How another owner is.
    pub(super) fn of(&self, owner: &str) -> Pulse {
        match self.seen.get(owner).filter(|seen| seen.is_over()) {
            None => Pulse::Beats,
            Some(seen) if seen.sign.counter.is_some() => Pulse::Stopped,
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

    /// The server does not want to have our counter, which rests. That keeps nothing else from being written.
    pub(super) fn refuse(&mut self, now: Moment) {
        self.refused = now + REFUSED;
    }

    /// Until when it is not tried to have our counter rest, or to take it away.
    pub(super) fn rest_held(&self) -> Moment {
        self.held.max(self.refused)
    }

    /// Our counter was moved, by a request that was sent then.
    pub(super) fn renew(&mut self, sent: Moment) {
        self.renewed = Some(sent);
    }

    /// Our counter stands no longer, or rests.
    pub(super) fn end(&mut self) {
        self.renewed = None;
    }
}
