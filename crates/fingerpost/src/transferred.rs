//! When secondaries are told that the health of a target moved the answers of a zone.
//!
//! A secondary fetches a zone when its serial moves, and has steered names with the answers of that moment.
//! So a serial that moved before every server of ours has seen the target die would carry the old answer for
//! good: it moves a while later. And a target that flaps must not have all secondaries fetch all the time: a
//! zone rests after each move.
//!
//! Pure but for [`Transferred::next`]: the clock is an argument.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use dns::Name;
use planner::{Change, Delta};

/// However quickly a target is probed, changes that come together are told together.
const SHORTEST: Duration = Duration::from_secs(1);
/// However slowly it is probed, secondaries do not wait longer.
const LONGEST: Duration = Duration::from_secs(60);
/// Between two moves of one zone.
const REST: Duration = Duration::from_secs(5);

/// The zones whose serial is to move.
#[derive(Debug, Default)]
pub struct Transferred {
    zones: BTreeMap<Name, Pending>,
}

#[derive(Clone, Copy, Debug)]
struct Pending {
    /// When the planner is told next; for a zone that rests, the end of its rest.
    next: Instant,
    /// When everybody has seen the last change; none where the planner was told since.
    seen: Option<Instant>,
}

impl Transferred {
    /// Takes in what a run of the planner moved.
    pub fn follow(&mut self, delta: &Delta, now: Instant) {
        for (zone, milliseconds) in &delta.answers {
            let seen = now + Duration::from_millis(*milliseconds).clamp(SHORTEST, LONGEST);
            let pending = self.zones.entry(zone.clone()).or_insert(Pending { next: seen, seen: None });
            if pending.seen.is_none() {
                pending.next = pending.next.max(seen);
            }
            pending.seen = pending.seen.max(Some(seen));
        }
    }

    /// What the planner is to be told next. Waits for as long as there is nothing.
    pub async fn next(&mut self) -> Vec<Change> {
        match self.next_due() {
            Some(due) => tokio::time::sleep_until(due.into()).await,
            None => std::future::pending().await,
        }
        self.take(Instant::now())
    }

    /// When there is something to do.
    pub fn next_due(&self) -> Option<Instant> {
        self.zones.values().map(|pending| pending.next).min()
    }

    /// What the planner is to be told now.
    pub fn take(&mut self, now: Instant) -> Vec<Change> {
        let mut changes = Vec::new();
        self.zones.retain(|zone, pending| pending.next > now || pending.turn(zone, now, &mut changes));
        changes
    }
}

impl Pending {
    /// Tells of a zone whose time has come; says whether it is still to be thought of.
    fn turn(&mut self, zone: &Name, now: Instant, changes: &mut Vec<Change>) -> bool {
        let Some(seen) = self.seen.take() else { return false };
        changes.push(Change::Answers(zone.clone()));
        // What not everybody has seen yet is told of once more.
        self.seen = Some(seen).filter(|seen| *seen > now);
        self.next = (now + REST).max(seen);
        true
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn moved(milliseconds: u64) -> Delta {
        Delta { answers: vec![(zone(), milliseconds)], ..Delta::default() }
    }

    fn zone() -> Name {
        "example.org".parse().unwrap()
    }

    /// The seconds at which the planner is told, until nothing is left to do.
    fn told(transferred: &mut Transferred, start: Instant, until: u64) -> Vec<u64> {
        let mut told = Vec::new();
        while let Some(due) = transferred.next_due().filter(|due| *due < start + Duration::from_secs(until)) {
            assert!(transferred.take(due - Duration::from_millis(1)).is_empty(), "not before its time");
            told.extend(transferred.take(due).iter().map(|_| (due - start).as_secs()));
        }
        told
    }

    #[test]
    fn a_zone_is_told_of_once_when_everybody_has_seen_the_change() {
        let (mut transferred, start) = (Transferred::default(), Instant::now());
        transferred.follow(&moved(12_000), start);
        transferred.follow(&moved(12_000), start);
        assert_eq!(told(&mut transferred, start, 3600), [12]);
        assert_eq!(transferred.next_due(), None, "nothing is kept of a zone at rest");
    }

    #[test]
    fn a_change_shortly_before_is_told_of_again_when_everybody_has_seen_it_too() {
        let (mut transferred, start) = (Transferred::default(), Instant::now());
        transferred.follow(&moved(12_000), start);
        transferred.follow(&moved(12_000), start + Duration::from_secs(10));
        assert_eq!(told(&mut transferred, start, 3600), [12, 22]);
    }

    #[test]
    fn a_target_that_flaps_is_told_of_at_a_pace_and_to_its_end() {
        let (mut transferred, start) = (Transferred::default(), Instant::now());
        let mut times = Vec::new();
        for second in 0..60 {
            transferred.follow(&moved(100), start + Duration::from_secs(second));
            times.extend(told(&mut transferred, start, second + 1));
        }
        times.extend(told(&mut transferred, start, 3600));
        assert!(times.len() <= 13, "{times:?}");
        assert!(times.last().unwrap() >= &60, "the last change is told of: {times:?}");
    }

    #[test]
    fn a_probe_once_an_hour_does_not_keep_secondaries_waiting() {
        let (mut transferred, start) = (Transferred::default(), Instant::now());
        transferred.follow(&moved(7_200_000), start);
        assert_eq!(told(&mut transferred, start, 3600), [60]);
    }
}
