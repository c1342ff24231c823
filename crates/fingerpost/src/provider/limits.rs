//! How many requests a client may make.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};

/// After so many clients those that have been quiet are forgotten.
const MOST_CLIENTS: usize = 100_000;

/// A limit for each client's address.
pub struct Limits {
    limiter: Option<DefaultKeyedRateLimiter<IpAddr>>,
}

impl Limits {
    /// So many requests a second, or any number.
    pub fn new(rate: Option<NonZeroU32>) -> Limits {
        Limits { limiter: rate.map(|rate| RateLimiter::keyed(Quota::per_second(rate))) }
    }

    /// Whether a client may make a request now, or how long it has to wait.
    pub fn check(&self, client: IpAddr) -> Result<(), Duration> {
        let Some(limiter) = &self.limiter else { return Ok(()) };
        if limiter.len() > MOST_CLIENTS {
            limiter.retain_recent();
        }
        limiter
            .check_key(&client.to_canonical())
            .map_err(|wait| wait.wait_time_from(DefaultClock::default().now()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;

    #[test]
    fn one_client_does_not_use_up_what_another_has() {
        let limits = Limits::new(NonZeroU32::new(3));
        let (one, other) = ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
        let waits: Vec<bool> = (0..20).map(|_| limits.check(one).is_err()).collect();
        assert_eq!(waits[..3], [false; 3]);
        assert!(waits.iter().any(|wait| *wait));
        assert_eq!(limits.check(other), Ok(()));
        assert!((0..1000).all(|_| Limits::new(None).check(one).is_ok()));
    }
}
