//! What single results add up to: whether a target is up.
//!
//! ```text
//!            first success                failures in a row
//!  unknown ────────────────► up ─────────────────────────────► down
//!     └── failures in a row ─┼──────────────────────────────►   │
//!                            └──◄── successes in a row ─────────┘
//! ```
//!
//! Going down is never delayed. Coming back is, for a target that flaps: the fourth change within ten
//! minutes takes twice as many successes in a row as it says, each further one twice as many again, up to
//! sixteen times. So a target that cannot make up its mind is left alone rather than sent clients. Quiet
//! for ten minutes, it is as any other.
//!
//! Pure: the clock is an argument.

use std::collections::VecDeque;
use std::time::Duration;

use planner::{TargetHealth, TargetState};
use server::steering::State;

/// How far back changes count.
const WINDOW: Duration = Duration::from_secs(600);
/// So many changes within the window are free.
const FREE: usize = 3;
/// Beyond that a return is made harder at most so many times over, as a power of two.
const HARDEST: u32 = 4;

/// How many results in a row change a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Failures until a target is down.
    pub failures: u32,
    /// Successes until it is up again.
    pub successes: u32,
}

/// What time it is, by two clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// Since some moment, never going back.
    pub elapsed: Duration,
    /// In Unix seconds.
    pub unix: i64,
}

/// Whether one target is up, by its results so far.
#[derive(Clone, Debug)]
pub struct Verdict {
    health: TargetHealth,
    /// What the latest results have in common, and how many they are.
    success: bool,
    streak: u32,
    /// When it changed, the latest last; what is longer ago than the window is dropped.
    changes: VecDeque<Duration>,
}

impl Verdict {
    /// Nothing heard yet.
    pub fn new(now: Now) -> Verdict {
        let state = TargetState::Unknown;
        let health = TargetHealth { state, since: now.unix, reason: "".into(), seen_up: false };
        Verdict { health, success: false, streak: 0, changes: VecDeque::new() }
    }

    /// How the target is.
    pub fn health(&self) -> &TargetHealth {
        &self.health
    }

    /// How answers are to take it: what never answered is not down, and of what was never asked nothing is
    /// known at all.
    pub fn state(&self) -> State {
        match self.health.state {
            TargetState::Up => State::Up,
            TargetState::Down if self.health.seen_up => State::Down,
            _ if self.streak > 0 => State::Unknown,
            _ => State::Unheard,
        }
    }

    /// Takes a result, and says whether the target is now otherwise than before. Why it failed is kept
    /// where that takes it down.
    pub fn hear(&mut self, result: Result<(), &str>, rules: Rules, now: Now) -> bool {
        let success = result.is_ok();
        self.streak = if success == self.success { self.streak.saturating_add(1) } else { 1 };
        self.success = success;
        let next = match (self.health.state, success) {
            (TargetState::Unknown, true) => TargetState::Up,
            (TargetState::Unknown | TargetState::Up, false) if self.streak >= rules.failures => {
                TargetState::Down
            }
            (TargetState::Down, true) if self.streak >= self.needed(rules, now) => TargetState::Up,
            _ => return false,
        };
        self.change(next, now);
        self.health.reason = result.err().map_or_else(|| "".into(), |reason| self.reason(reason, rules, now));
        true
    }

    fn change(&mut self, next: TargetState, now: Now) {
        if self.health.state != TargetState::Unknown {
            self.changes.push_back(now.elapsed);
        }
        self.changes.retain(|at| now.elapsed.saturating_sub(*at) < WINDOW);
        self.health.state = next;
        self.health.since = now.unix;
        self.health.seen_up |= next == TargetState::Up;
    }

    /// How many successes in a row bring the target back.
    fn needed(&self, rules: Rules, now: Now) -> u32 {
        rules.successes.saturating_mul(1 << self.hardness(now))
    }

    fn hardness(&self, now: Now) -> u32 {
        let recent = self.recent(now) + 1;
        u32::try_from(recent.saturating_sub(FREE)).unwrap_or(HARDEST).min(HARDEST)
    }

    fn recent(&self, now: Now) -> usize {
        self.changes.iter().filter(|at| now.elapsed.saturating_sub(**at) < WINDOW).count()
    }

    fn reason(&self, reason: &str, rules: Rules, now: Now) -> Box<str> {
        if self.hardness(now) == 0 {
            return reason.into();
        }
        let (changes, needed) = (self.recent(now), self.needed(rules, now));
        format!(
            "{reason}; it flaps ({changes} changes within ten minutes), so it must answer {needed} times in a row"
        )
        .into()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use proptest::prelude::*;

    const RULES: Rules = Rules { failures: 3, successes: 2 };

    fn at(seconds: u64) -> Now {
        Now { elapsed: Duration::from_secs(seconds), unix: 1000 + seconds as i64 }
    }

    /// Tells results, `+` and `-`, one a second, and gives the states after each as letters.
    fn states(verdict: &mut Verdict, start: u64, results: &str) -> String {
        let mut told = String::new();
        for (second, result) in (start..).zip(results.chars()) {
            let result = if result == '+' { Ok(()) } else { Err("refused") };
            verdict.hear(result, RULES, at(second));
            told.push(match verdict.health().state {
                TargetState::Unknown => '?',
                TargetState::Up => 'u',
                TargetState::Down => 'd',
            });
        }
        told
    }

    #[test]
    fn results_in_a_row_change_the_verdict_and_single_ones_do_not() {
        let mut verdict = Verdict::new(at(0));
        assert_eq!(verdict.state(), State::Unheard);
        assert_eq!(states(&mut verdict, 1, "+--+--+---"), "uuuuuuuuud");
        let down =
            TargetHealth { state: TargetState::Down, since: 1010, reason: "refused".into(), seen_up: true };
        assert_eq!((verdict.health(), verdict.state()), (&down, State::Down));
        assert_eq!(states(&mut verdict, 11, "+-+-++"), "dddddu");
        let up = TargetHealth { state: TargetState::Up, since: 1016, reason: "".into(), seen_up: true };
        assert_eq!((verdict.health(), verdict.state()), (&up, State::Up));
    }

    #[test]
    fn what_was_never_seen_up_is_down_for_people_and_unknown_for_answers() {
        let mut verdict = Verdict::new(at(0));
        assert_eq!(states(&mut verdict, 1, "-"), "?");
        assert_eq!(verdict.state(), State::Unknown, "it failed, so it is heard of");
        assert_eq!(states(&mut verdict, 2, "--"), "?d");
        assert_eq!((verdict.state(), verdict.health().seen_up), (State::Unknown, false));
        assert_eq!(states(&mut verdict, 4, "++---"), "duuud");
        assert_eq!((verdict.state(), verdict.health().seen_up), (State::Down, true));
    }

    #[test]
    fn first_success_is_enough_at_the_start() {
        assert_eq!(states(&mut Verdict::new(at(0)), 1, "--+"), "??u");
    }

    #[test]
    fn from_the_fourth_change_on_coming_back_takes_longer_and_going_down_does_not() {
        let mut verdict = Verdict::new(at(0));
        assert_eq!(states(&mut verdict, 0, "+---++---"), "uuudduuud");
        let reason = "refused; it flaps (3 changes within ten minutes), so it must answer 4 times in a row";
        assert_eq!(&*verdict.health().reason, reason);
        assert_eq!(states(&mut verdict, 20, "++++"), "dddu", "the fourth");
        assert_eq!(states(&mut verdict, 30, "---"), "uud", "the fifth");
        assert_eq!(states(&mut verdict, 40, &"+".repeat(16)).find('u'), Some(15), "the sixth");
        assert_eq!(states(&mut verdict, 57, "---"), "uud");
        assert_eq!(states(&mut verdict, 60, &"+".repeat(32)).find('u'), Some(31), "the eighth, the hardest");
        assert_eq!(states(&mut verdict, 100, "---"), "uud");
        assert_eq!(states(&mut verdict, 110, &"+".repeat(32)).find('u'), Some(31), "no harder than that");
    }

    #[test]
    fn ten_quiet_minutes_make_it_as_any_other() {
        let mut verdict = Verdict::new(at(0));
        states(&mut verdict, 0, "+---++---");
        assert_eq!(states(&mut verdict, 700, "++"), "du");
        states(&mut verdict, 710, "---");
        assert_eq!(&*verdict.health().reason, "refused");
    }

    proptest! {
        #[test]
        fn a_change_has_its_results_behind_it(
            results in proptest::collection::vec(any::<bool>(), 0..300),
            failures in 1_u32..5,
            successes in 1_u32..5,
            pace in 1_u64..200,
        ) {
            let rules = Rules { failures, successes };
            let mut verdict = Verdict::new(at(0));
            for count in 1..=results.len() {
                let before = verdict.health().clone();
                let success = results[count - 1];
                let moved = verdict.hear(if success { Ok(()) } else { Err("no") }, rules, at(count as u64 * pace));
                let after = verdict.health();
                prop_assert_eq!(moved, before.state != after.state);
                prop_assert!(!before.seen_up || after.seen_up, "what was seen was seen");
                let streak = results[..count].iter().rev().take_while(|one| **one == success).count() as u32;
                match (before.state, after.state) {
                    (TargetState::Down, TargetState::Up) => prop_assert!(streak >= successes),
                    (TargetState::Unknown, TargetState::Up) => prop_assert!(success),
                    (_, TargetState::Down) => prop_assert!(streak >= failures || !moved),
                    (_, state) => prop_assert!(!moved || state == TargetState::Up),
                }
                // However it flaps, enough of one kind settles it.
                prop_assert!(streak < failures || success || after.state == TargetState::Down);
                prop_assert!(streak < successes * 16 || !success || after.state == TargetState::Up);
                prop_assert_eq!(after.reason.is_empty(), after.state != TargetState::Down);
            }
        }
    }
}
