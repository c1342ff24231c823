//! The clock that key rollovers go by: the wall clock, checked against the monotonic one.
//!
//! The states of keys outlive the process, so their times are those of the wall clock. A wall clock can be
//! set. Seen from the monotonic clock that is a jump, and after a jump forward nothing shows that the waiting
//! times of the keys have passed.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use server::dnssec::ClockReading;

/// How far the two clocks may move apart before the wall clock counts as set. Time synchronization adjusts the
/// rate of both, so they stay together; waiting times are hours.
const TOLERANCE: u64 = 60;

/// Reads both clocks of this machine.
#[derive(Debug)]
pub struct SteadyClock {
    start: Instant,
    steadiness: Mutex<Steadiness>,
}

impl Default for SteadyClock {
    fn default() -> SteadyClock {
        SteadyClock { start: Instant::now(), steadiness: Mutex::default() }
    }
}

impl SteadyClock {
    /// The time, and for how long the clock has run steadily.
    pub fn read(&self) -> ClockReading {
        let wall =
            SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let mut steadiness = self.steadiness.lock().unwrap_or_else(PoisonError::into_inner);
        steadiness.observe(wall, self.start.elapsed())
    }
}

/// What is known of a wall clock from its readings.
#[derive(Debug, Default)]
struct Steadiness {
    /// The wall clock and the monotonic clock when they last came together.
    together: Option<(u64, Duration)>,
    /// When the wall clock was last seen to be set forward, by the monotonic clock.
    set_forward: Option<Duration>,
}

impl Steadiness {
    fn observe(&mut self, wall: u64, monotonic: Duration) -> ClockReading {
        let (then, since) = *self.together.get_or_insert((wall, monotonic));
        let expected = then.saturating_add(monotonic.saturating_sub(since).as_secs());
        if wall.abs_diff(expected) > TOLERANCE {
            self.together = Some((wall, monotonic));
        }
        if wall > expected.saturating_add(TOLERANCE) {
            tracing::warn!(
                seconds = wall - expected,
                "the clock was set forward; key rollovers wait their whole time again"
            );
            self.set_forward = Some(monotonic);
        }
        let steady = self.set_forward.map_or(u64::MAX, |set| monotonic.saturating_sub(set).as_secs());
        ClockReading { now: wall, steady }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WALL: u64 = 1_790_000_000;
    const MONTH: u64 = 30 * 86_400;

    #[test]
    fn a_clock_is_steady_since_it_was_last_set_forward() {
        let mut steadiness = Steadiness::default();
        let mut observe = |wall: u64, at: u64| steadiness.observe(wall, Duration::from_secs(at)).steady;
        assert_eq!(observe(WALL, 5), u64::MAX);
        assert_eq!(observe(WALL + 1000, 1005), u64::MAX);
        assert_eq!(observe(WALL + 1040, 1015), u64::MAX, "a small correction");
        assert_eq!(observe(WALL + MONTH, 1015), 0);
        assert_eq!(observe(WALL + MONTH + 50, 1065), 50);
        assert_eq!(observe(WALL + 100, 1105), 90, "setting it back adds no trust");
        assert_eq!(observe(WALL + 200, 1205), 190);
        assert_eq!(observe(WALL + MONTH, 1206), 0);
    }

    #[test]
    fn small_steps_that_add_up_are_a_step() {
        let mut steadiness = Steadiness::default();
        let readings = (0..10).map(|at| steadiness.observe(WALL + at * 41, Duration::from_secs(at)).steady);
        assert!(readings.into_iter().any(|steady| steady == 0));
    }
}
