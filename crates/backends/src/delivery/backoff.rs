//! When a failed attempt is repeated.

use std::time::Duration;

/// A moment: the time since the delivery started.
pub(super) type Moment = Duration;

/// When a failed attempt is repeated: after `base`, then twice as long each time, up to `cap`; in
/// truth between half and all of that, by chance, so that many do not come back in one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// The first wait.
    pub base: Duration,
    /// The longest wait.
    pub cap: Duration,
    /// After so many attempts a report says that they are used up; the waits stay at the cap.
    pub attempts: u32,
}

/// How often something failed, and until when it waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Backoff {
    failures: u32,
    until: Moment,
}

impl Retry {
    /// The wait after so many failures; `jitter` is in `0..1`.
    fn wait(&self, failures: u32, jitter: f64) -> Duration {
        let doubled = match failures >= self.attempts {
            true => self.cap,
            false => self.base.saturating_mul(1 << failures.saturating_sub(1).min(30)),
        };
        doubled.min(self.cap).mul_f64(0.5 + 0.5 * jitter.clamp(0.0, 1.0))
    }
}

impl Backoff {
    /// Counts a failure and says until when to wait: as [`Retry`] says, and `least` at least.
    pub(super) fn fail(&mut self, retry: &Retry, now: Moment, jitter: f64, least: Duration) {
        self.failures = self.failures.saturating_add(1);
        self.until = now + retry.wait(self.failures, jitter).max(least);
    }

    /// Counts a failure that may be tried again at once the first time.
    pub(super) fn fail_softly(&mut self, retry: &Retry, now: Moment, jitter: f64) {
        match self.failures {
            0 => self.failures = 1,
            _ => self.fail(retry, now, jitter, Duration::ZERO),
        }
    }

    /// Until when to wait; zero where nothing failed.
    pub(super) fn until(&self) -> Moment {
        self.until
    }

    /// Whether anything failed since the last success.
    pub(super) fn is_failing(&self) -> bool {
        self.failures > 0
    }

    /// Whether the fast attempts are used up.
    pub(super) fn is_exhausted(&self, retry: &Retry) -> bool {
        self.failures >= retry.attempts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RETRY: Retry = Retry { base: Duration::from_secs(5), cap: Duration::from_secs(60), attempts: 5 };

    fn waits(jitter: f64) -> Vec<u64> {
        let mut backoff = Backoff::default();
        let mut wait = || {
            backoff.fail(&RETRY, Duration::ZERO, jitter, Duration::ZERO);
            backoff.until().as_millis() as u64
        };
        (0..7).map(|_| wait()).collect()
    }

    #[test]
    fn promise_21_waits_double_up_to_the_cap_and_go_on_there() {
        assert_eq!(waits(1.0), [5000, 10_000, 20_000, 40_000, 60_000, 60_000, 60_000]);
        assert_eq!(waits(0.0), [2500, 5000, 10_000, 20_000, 30_000, 30_000, 30_000]);
    }

    #[test]
    fn a_server_that_asks_for_more_patience_gets_it() {
        let mut backoff = Backoff::default();
        backoff.fail(&RETRY, Duration::from_secs(1), 1.0, Duration::from_secs(120));
        assert_eq!(backoff.until(), Duration::from_secs(121));
    }
}
