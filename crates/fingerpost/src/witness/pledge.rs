//! What we told others about our lease: whoever was told that it is held may rely on that for a while.
//!
//! A lease is given back only when nobody relies on it any more. Telling and taking back are one at a time,
//! so nobody is told anything after it was decided to give the lease back.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What others may rely on.
#[derive(Clone, Debug, Default)]
pub struct Pledge(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    believes_until: Option<Instant>,
    promised_until: Option<Instant>,
}

impl Pledge {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says until when we believe.
    pub(super) fn believe(&self, until: Option<Instant>) {
        self.lock().believes_until = until;
    }

    /// Takes the belief back; returns until when others rely on it.
    pub(super) fn take_back(&self) -> Option<Instant> {
        let mut state = self.lock();
        state.believes_until = None;
        state.promised_until
    }

    /// Promises that the lease is held, for as long as it surely is and at most for so long.
    pub fn promise(&self, now: Instant, most: Duration) -> Option<Duration> {
        let mut state = self.lock();
        let left = state.believes_until?.checked_duration_since(now)?.min(most);
        if left.is_zero() {
            return None;
        }
        state.promised_until = state.promised_until.max(now.checked_add(left));
        Some(left)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn what_was_promised_is_waited_for_and_nothing_is_promised_afterwards() {
        let (pledge, now) = (Pledge::default(), Instant::now());
        let second = Duration::from_secs(1);
        assert_eq!(pledge.promise(now, second), None);
        pledge.believe(Some(now + second * 20));
        assert_eq!(pledge.promise(now, second * 15), Some(second * 15));
        assert_eq!(pledge.promise(now + second * 10, second * 15), Some(second * 10));
        assert_eq!(pledge.take_back(), Some(now + second * 20));
        assert_eq!(pledge.promise(now + second * 11, second * 15), None);
    }
}
