//! When each probe is run.
//!
//! A probe has a beat of its own, which starts anywhere within its first interval, so that ten thousand
//! of them are spread evenly. Each run is a little after the beat, by chance, so that several servers that
//! started together do not stay together. There is one run a beat and never two at once: a run that lasts
//! longer than its beat is followed at once, and beats that were missed are not made up for.
//!
//! Pure: clock and chance are arguments.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::time::Duration;

use dns::ProbeId;

/// How far after its beat a run may be, as a share of the interval, and at most.
const JITTER: f64 = 0.05;
const MOST_JITTER: Duration = Duration::from_millis(250);
/// No probe is run more often than this, whatever it says.
const SHORTEST: Duration = Duration::from_millis(100);

/// The runs to come.
#[derive(Debug, Default)]
pub struct Schedule {
    beats: BTreeMap<ProbeId, Beat>,
    /// With what was taken back or put elsewhere since, until its time comes.
    due: BinaryHeap<Reverse<(Duration, ProbeId)>>,
}

#[derive(Debug)]
struct Beat {
    start: Duration,
    interval: Duration,
    /// Which beat the last run was for.
    turn: u128,
    /// When it is run next; nothing while it runs.
    due: Option<Duration>,
}

impl Schedule {
    /// Begins to run a probe; `chance` is uniform in `0..1`.
    pub fn insert(&mut self, probe: ProbeId, interval: Duration, now: Duration, chance: f64) {
        let interval = interval.max(SHORTEST);
        let start = now + interval.mul_f64(chance);
        self.beats.insert(probe, Beat { start, interval, turn: 0, due: Some(start) });
        self.due.push(Reverse((start, probe)));
    }

    /// Runs a probe no more.
    pub fn remove(&mut self, probe: ProbeId) {
        self.beats.remove(&probe);
    }

    /// When the next run is due.
    pub fn next_due(&mut self) -> Option<Duration> {
        loop {
            let Reverse((due, probe)) = *self.due.peek()?;
            if self.beats.get(&probe).is_some_and(|beat| beat.due == Some(due)) {
                return Some(due);
            }
            self.due.pop();
        }
    }

    /// A probe whose time has come; it is not run again before [`Schedule::ran`].
    pub fn pop(&mut self, now: Duration) -> Option<ProbeId> {
        self.next_due().filter(|due| *due <= now)?;
        let Reverse((_, probe)) = self.due.pop()?;
        self.beats.get_mut(&probe)?.due = None;
        Some(probe)
    }

    /// Says that a probe was run; `chance` is uniform in `0..1`.
    pub fn ran(&mut self, probe: ProbeId, now: Duration, chance: f64) {
        let Some(beat) = self.beats.get_mut(&probe) else { return };
        let current = now.saturating_sub(beat.start).as_nanos() / beat.interval.as_nanos();
        beat.turn = current.max(beat.turn + 1);
        let due = beat.time().saturating_add(beat.jitter(chance)).max(now);
        beat.due = Some(due);
        self.due.push(Reverse((due, probe)));
    }
}

impl Beat {
    fn time(&self) -> Duration {
        let nanoseconds = self.interval.as_nanos().saturating_mul(self.turn);
        self.start.saturating_add(Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX)))
    }

    fn jitter(&self, chance: f64) -> Duration {
        self.interval.mul_f64(JITTER).min(MOST_JITTER).mul_f64(chance)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use proptest::prelude::*;

    const fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    /// Runs everything until `end`, each run lasting `lasts`; gives when each probe was run.
    fn runs(
        schedule: &mut Schedule,
        end: Duration,
        lasts: Duration,
        chance: f64,
    ) -> Vec<(Duration, ProbeId)> {
        let mut all = Vec::new();
        while let Some(due) = schedule.next_due().filter(|due| *due < end) {
            let probe = schedule.pop(due).unwrap();
            all.push((due, probe));
            schedule.ran(probe, due + lasts, chance);
        }
        all
    }

    #[test]
    fn first_runs_are_spread_over_the_interval() {
        let mut schedule = Schedule::default();
        for number in 0..100 {
            schedule.insert(ProbeId(number), ms(5000), ms(7), number as f64 / 100.0);
        }
        let first = runs(&mut schedule, ms(5007), ms(1), 0.5);
        assert_eq!(first.len(), 100);
        for window in 0..10 {
            let within = |at: &Duration| (ms(7 + window * 500)..ms(507 + window * 500)).contains(at);
            assert_eq!(first.iter().filter(|(at, _)| within(at)).count(), 10);
        }
    }

    #[test]
    fn a_slow_run_is_followed_at_once_and_missed_beats_are_not_made_up_for() {
        let mut schedule = Schedule::default();
        schedule.insert(ProbeId(1), ms(1000), ms(0), 0.0);
        assert_eq!((schedule.pop(ms(0)), schedule.pop(ms(5000))), (Some(ProbeId(1)), None), "it runs");
        schedule.ran(ProbeId(1), ms(1010), 0.0);
        assert_eq!(schedule.next_due(), Some(ms(1010)));
        schedule.pop(ms(1010)).unwrap();
        schedule.ran(ProbeId(1), ms(1020), 0.0);
        assert_eq!(schedule.next_due(), Some(ms(2000)), "back on the beat");
        schedule.pop(ms(2000)).unwrap();
        schedule.ran(ProbeId(1), ms(9_500), 0.0);
        assert_eq!(runs(&mut schedule, ms(11_500), ms(1), 0.0).len(), 3, "at 9.5, 10 and 11 s");
    }

    #[test]
    fn what_is_taken_away_is_not_run_and_what_stays_keeps_its_beat() {
        let mut schedule = Schedule::default();
        schedule.insert(ProbeId(1), ms(1000), ms(0), 0.1);
        schedule.insert(ProbeId(2), ms(1000), ms(0), 0.2);
        schedule.remove(ProbeId(1));
        schedule.insert(ProbeId(3), ms(1000), ms(0), 0.3);
        let all: Vec<_> =
            runs(&mut schedule, ms(2000), ms(1), 0.0).into_iter().map(|(at, id)| (at, id.0)).collect();
        assert_eq!(all, [(ms(200), 2), (ms(300), 3), (ms(1200), 2), (ms(1300), 3)]);
        schedule.ran(ProbeId(1), ms(2000), 0.0);
        assert_eq!(
            schedule.next_due(),
            Some(ms(2200)),
            "a run that ends after its probe has gone is nothing"
        );
    }

    proptest! {
        #[test]
        fn on_average_a_probe_is_run_once_an_interval(
            interval in 100_u64..20_000,
            share in 0.0_f64..1.2,
            first in 0.0_f64..1.0,
            chance in 0.0_f64..1.0,
        ) {
            let mut schedule = Schedule::default();
            schedule.insert(ProbeId(1), ms(interval), ms(0), first);
            let all = runs(&mut schedule, ms(interval * 100), ms(interval).mul_f64(share), chance);
            prop_assert!(all.len() <= 100, "{} runs in 100 intervals", all.len());
            prop_assert!(share > 1.0 || all.len() >= 99, "{} runs in 100 intervals", all.len());
            let most = ms(interval).mul_f64(share.max(1.0)) + ms(interval).mul_f64(JITTER).min(MOST_JITTER) + ms(1);
            for pair in all.windows(2) {
                prop_assert!(pair[1].0 - pair[0].0 <= most);
            }
        }
    }
}
