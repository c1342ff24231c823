//! Request bodies: bounded in size, in time, and in how many octets of them are in memory at once.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use http::StatusCode;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::connections::Connection;

/// A body of up to this many octets needs nothing of the budget: the number of connections bounds them.
pub const SMALL: usize = 64 << 10;
/// The unit of the budget, in octets.
const UNIT: usize = 1 << 10;
/// The most that is allocated before octets have arrived.
const FIRST: usize = 8 << 10;

/// How long bodies may take.
#[derive(Clone, Copy, Debug)]
pub struct BodyTimes {
    /// Until the whole body has arrived.
    pub whole: Duration,
    /// Between two pieces of it.
    pub stall: Duration,
    /// For a share of the budget.
    pub wait: Duration,
}

impl Default for BodyTimes {
    fn default() -> BodyTimes {
        let (whole, stall) = (Duration::from_secs(30), Duration::from_secs(5));
        BodyTimes { whole, stall, wait: Duration::from_secs(10) }
    }
}

/// The octets of large bodies that may be in memory at once; clones share the budget.
#[derive(Clone, Debug)]
pub struct Bodies {
    budget: Arc<Semaphore>,
    octets: usize,
    times: BodyTimes,
}

/// A body in memory; its share of the budget is free again when it is dropped.
#[derive(Debug)]
pub struct Held {
    /// The octets.
    pub octets: Bytes,
    _share: Option<OwnedSemaphorePermit>,
}

/// Why a body was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    /// It has more octets than the server takes.
    #[error("the body may have {0} octets")]
    TooLarge(usize),
    /// It did not arrive in time.
    #[error("the body did not arrive in time")]
    Late,
    /// Too many large bodies are in memory; a later request may succeed.
    #[error("too many large requests at once: try again in a few seconds")]
    Busy,
    /// The connection broke.
    #[error("the body ended early")]
    Broken,
}

impl BodyError {
    /// The status of an answer that refuses the request.
    pub fn status(self) -> StatusCode {
        match self {
            BodyError::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            BodyError::Late => StatusCode::REQUEST_TIMEOUT,
            BodyError::Busy => StatusCode::SERVICE_UNAVAILABLE,
            BodyError::Broken => StatusCode::BAD_REQUEST,
        }
    }
}

impl Bodies {
    /// A budget of so many octets.
    pub fn new(octets: usize) -> Bodies {
        Bodies::with_times(octets, BodyTimes::default())
    }

    /// A budget of so many octets, with these times.
    pub fn with_times(octets: usize, times: BodyTimes) -> Bodies {
        Bodies { budget: Arc::new(Semaphore::new(octets.div_ceil(UNIT))), octets, times }
    }

    /// How many octets the budget has.
    pub fn octets(&self) -> usize {
        self.octets
    }

    /// Reads a body of at most so many octets, whose length the client may have announced.
    pub async fn read(
        &self,
        body: Body,
        announced: Option<u64>,
        most: usize,
        connection: Option<&Connection>,
    ) -> Result<Held, BodyError> {
        let most = most.min(self.octets.max(SMALL));
        if announced.is_some_and(|length| length > most as u64) {
            return Err(BodyError::TooLarge(most));
        }
        let expected = announced.and_then(|length| usize::try_from(length).ok()).unwrap_or(most);
        let end = Instant::now() + self.times.whole + self.times.wait;
        let (mut octets, mut share) = (BytesMut::with_capacity(expected.min(FIRST)), None);
        let mut pieces = body.into_data_stream();
        loop {
            let Some(piece) = self.next(&mut pieces, end, connection).await? else { break };
            let length = octets.len() + piece.len();
            if length > most {
                return Err(BodyError::TooLarge(most));
            }
            if length > SMALL && share.is_none() {
                share = Some(self.share(expected.max(length)).await?);
                octets.reserve(expected.max(length) - octets.len());
            }
            octets.extend_from_slice(&piece);
        }
        Ok(Held { octets: octets.freeze(), _share: share })
    }

    async fn next(
        &self,
        pieces: &mut axum::body::BodyDataStream,
        end: Instant,
        connection: Option<&Connection>,
    ) -> Result<Option<Bytes>, BodyError> {
        let deadline = end.min(Instant::now() + self.times.stall);
        connection.into_iter().for_each(|connection| connection.set_reading(true));
        let piece = tokio::time::timeout_at(deadline, pieces.next()).await;
        connection.into_iter().for_each(|connection| connection.set_reading(false));
        piece.map_err(|_| BodyError::Late)?.transpose().map_err(|_| BodyError::Broken)
    }

    async fn share(&self, octets: usize) -> Result<OwnedSemaphorePermit, BodyError> {
        let units = u32::try_from(octets.div_ceil(UNIT)).map_err(|_| BodyError::Busy)?;
        let share = self.budget.clone().acquire_many_owned(units);
        let share = tokio::time::timeout(self.times.wait, share).await.map_err(|_| BodyError::Busy)?;
        share.map_err(|_| BodyError::Busy)
    }
}

/// The length that a request announces for its body.
pub fn announced(headers: &http::HeaderMap) -> Option<u64> {
    headers.get(http::header::CONTENT_LENGTH)?.to_str().ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    const TIMES: BodyTimes = BodyTimes {
        whole: Duration::from_millis(300),
        stall: Duration::from_millis(100),
        wait: Duration::from_millis(100),
    };

    fn bodies() -> Bodies {
        Bodies::with_times(1 << 20, TIMES)
    }

    fn body(octets: usize) -> Body {
        Body::from(vec![b'x'; octets])
    }

    async fn read(bodies: &Bodies, octets: usize, most: usize) -> Result<usize, BodyError> {
        bodies.read(body(octets), Some(octets as u64), most, None).await.map(|held| held.octets.len())
    }

    #[tokio::test]
    async fn a_body_is_read_up_to_its_limit_and_the_budget() {
        let bodies = bodies();
        assert_eq!(read(&bodies, 100, 100).await, Ok(100));
        assert_eq!(read(&bodies, 101, 100).await, Err(BodyError::TooLarge(100)));
        assert_eq!(read(&bodies, 1 << 20, usize::MAX).await, Ok(1 << 20));
        assert_eq!(read(&bodies, (1 << 20) + 1, usize::MAX).await, Err(BodyError::TooLarge(1 << 20)));
        let unannounced = bodies.read(body(2000), None, 1000, None).await;
        assert_eq!(unannounced.unwrap_err(), BodyError::TooLarge(1000));
    }

    #[tokio::test]
    async fn large_bodies_wait_for_the_budget_and_small_ones_do_not() {
        let bodies = bodies();
        let held = bodies.read(body(900 << 10), None, 900 << 10, None).await.unwrap();
        assert_eq!(read(&bodies, 200 << 10, usize::MAX).await, Err(BodyError::Busy));
        assert_eq!(read(&bodies, SMALL, usize::MAX).await, Ok(SMALL));
        drop(held);
        assert_eq!(read(&bodies, 200 << 10, usize::MAX).await, Ok(200 << 10));
    }

    #[tokio::test]
    async fn a_body_that_stalls_or_trickles_is_late() {
        let stalled = Body::from_stream(futures::stream::pending::<Result<Bytes, std::io::Error>>());
        assert_eq!(bodies().read(stalled, None, 10, None).await.unwrap_err(), BodyError::Late);
        let trickle = futures::stream::unfold((), |()| async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            Some((Ok::<_, std::io::Error>(Bytes::from_static(b"x")), ()))
        });
        let read = bodies().read(Body::from_stream(trickle), None, 1000, None).await;
        assert_eq!(read.unwrap_err(), BodyError::Late);
    }
}
