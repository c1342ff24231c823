//! Where zones are delegated to, remembered for a moment: ten thousand records of one zone are one question.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use backends::Failure;
use backends::lookup::Delegation;
use dns::Name;
use tokio::time::Instant;

/// How long an answer is believed, and how long that there was none.
const FRESH: Duration = Duration::from_secs(30);
const FAILED: Duration = Duration::from_millis(500);

/// How many zones are remembered.
const MOST: usize = 1_000;

type Found = Result<Delegation, Failure>;
/// Whoever is first asks, and the others wait for what comes of it.
type Place = Arc<tokio::sync::Mutex<Option<(Instant, Found)>>>;

/// Where the zones of a class are delegated to.
#[derive(Default)]
pub(super) struct Delegations(Mutex<HashMap<Name, Place>>);

impl Delegations {
    /// Where a zone is delegated to; found out where that is not known or was a while ago.
    pub(super) async fn of<F: Future<Output = Found>>(
        &self,
        zone: &Name,
        now: Instant,
        find: impl FnOnce() -> F,
    ) -> Found {
        let place = self.place(zone);
        let mut known = place.lock().await;
        if let Some((until, found)) = &*known
            && now < *until
        {
            return found.clone();
        }
        let found = find().await;
        let fresh = if found.is_ok() { FRESH } else { FAILED };
        *known = Some((now + fresh, found.clone()));
        found
    }

    fn place(&self, zone: &Name) -> Place {
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if places.len() >= MOST && !places.contains_key(zone) {
            places.clear();
        }
        places.entry(zone.clone()).or_default().clone()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use std::cell::Cell;

    use super::*;

    #[tokio::test]
    async fn a_zone_is_asked_for_once_in_a_while_and_sooner_after_a_failure() {
        let (delegations, asked, start) = (Delegations::default(), Cell::new(0), Instant::now());
        let zone = Name::parse("example.com").unwrap();
        let ask = |now: Instant, found: Found| {
            let (delegations, asked, zone) = (&delegations, &asked, &zone);
            let find = move || async move {
                asked.set(asked.get() + 1);
                tokio::task::yield_now().await;
                found
            };
            delegations.of(zone, now, find)
        };
        let missing = || Ok(Delegation::Missing);
        let both = tokio::join!(ask(start, missing()), ask(start, Err(Failure::TimedOut)));
        assert_eq!((both, asked.get()), ((missing(), missing()), 1), "the second waits for the first");
        let late = start + FRESH;
        let failed = || Err(Failure::TimedOut);
        assert_eq!((ask(late, failed()).await, asked.get()), (failed(), 2));
        assert_eq!((ask(late, missing()).await, asked.get()), (failed(), 2));
        assert_eq!((ask(late + FAILED, missing()).await, asked.get()), (missing(), 3));
    }
}
