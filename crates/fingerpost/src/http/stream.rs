//! Answers that are made while they are read, so that a reader costs the memory of a few pieces.
//!
//! ```text
//! producer ──piece──► the connection's buffer ──► client      the producer runs only while the client reads
//! ```
//!
//! One piece is made at a time in the whole process, and other tasks run before each. So hundreds of readers of large
//! answers delay neither DNS over TCP nor a probe of `/healthz`, which the same threads answer.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use futures::future::BoxFuture;
use futures::{Stream, ready};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::yield_now;

/// A piece is sent when it has this many octets.
pub const PIECE: usize = 16 << 10;

/// Whose turn it is to make a piece.
static TURN: Semaphore = Semaphore::const_new(1);

/// Waits for a turn. While it is held, other readers wait for theirs and are in no queue of runnable tasks.
async fn turn() -> Option<SemaphorePermit<'static>> {
    // It is never closed.
    let turn = TURN.acquire().await.ok();
    yield_now().await;
    turn
}

/// Where a producer puts what it makes.
#[derive(Debug)]
pub struct Pieces {
    sender: Sender<Bytes>,
    /// What is not sent yet; a producer appends to it.
    pub text: Vec<u8>,
}

/// The reader is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the reader is gone")]
pub struct Gone;

impl Pieces {
    /// Sends what has been appended, once there is enough for a piece.
    pub async fn flow(&mut self) -> Result<(), Gone> {
        match self.text.len() < PIECE {
            true => Ok(()),
            false => self.send().await,
        }
    }

    /// Sends what has been appended.
    pub async fn send(&mut self) -> Result<(), Gone> {
        if self.text.is_empty() {
            return Ok(());
        }
        let text = std::mem::replace(&mut self.text, Vec::with_capacity(PIECE + PIECE / 4));
        self.sender.send(text.into()).await.map_err(|_| Gone)
    }
}

/// The body that a producer makes piece by piece.
pub fn body<F>(produce: impl FnOnce(Pieces) -> F) -> Body
where
    F: Future<Output = Result<(), Gone>> + Send + 'static,
{
    let (sender, receiver) = channel(1);
    let work = produce(Pieces { sender, text: Vec::with_capacity(PIECE + PIECE / 4) });
    Body::from_stream(Produced { work: Some(Box::pin(work)), turn: None, receiver })
}

struct Produced {
    work: Option<BoxFuture<'static, Result<(), Gone>>>,
    /// It is waited for only while the connection has room for a piece, so that no reader that stalls holds it.
    turn: Option<BoxFuture<'static, Option<SemaphorePermit<'static>>>>,
    receiver: Receiver<Bytes>,
}

impl Stream for Produced {
    type Item = io::Result<Bytes>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        let produced = self.get_mut();
        // What is ready goes out before more is made.
        if let Poll::Ready(Some(piece)) = produced.receiver.poll_recv(cx) {
            return Poll::Ready(Some(Ok(piece)));
        }
        if let Some(work) = &mut produced.work {
            let _turn = ready!(produced.turn.get_or_insert_with(|| Box::pin(turn())).as_mut().poll(cx));
            produced.turn = None;
            if work.as_mut().poll(cx).is_ready() {
                produced.work = None;
            }
        }
        match produced.receiver.poll_recv(cx) {
            Poll::Ready(Some(piece)) => Poll::Ready(Some(Ok(piece))),
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::StreamExt;

    use super::*;

    fn counting(made: Arc<AtomicUsize>) -> Body {
        body(|mut pieces| async move {
            for number in 0..100_000 {
                pieces.text.extend_from_slice(format!("{number}\n").as_bytes());
                made.fetch_add(1, Ordering::Relaxed);
                pieces.flow().await?;
            }
            pieces.send().await
        })
    }

    #[tokio::test]
    async fn everything_arrives_in_order() {
        let octets = axum::body::to_bytes(counting(Arc::default()), usize::MAX).await.unwrap();
        let expected: String = (0..100_000).map(|number| format!("{number}\n")).collect();
        assert!(octets == expected.as_bytes());
        let empty = axum::body::to_bytes(body(|mut pieces| async move { pieces.send().await }), 1).await;
        assert!(empty.unwrap().is_empty());
    }

    #[tokio::test]
    async fn other_tasks_run_between_the_pieces_of_many_readers() {
        let made = Arc::new(AtomicUsize::new(0));
        let readers: Vec<_> = (0..100)
            .map(|_| {
                let made = made.clone();
                let body = body(|mut pieces| async move {
                    for _ in 0..50 {
                        pieces.text.resize(PIECE, b'x');
                        made.fetch_add(1, Ordering::Relaxed);
                        pieces.send().await?;
                    }
                    Ok(())
                });
                tokio::spawn(axum::body::to_bytes(body, usize::MAX))
            })
            .collect();
        let (mut before, mut most) = (0, 0);
        while before < 100 * 50 {
            tokio::task::yield_now().await;
            let now = made.load(Ordering::Relaxed);
            (most, before) = (most.max(now - before), now);
        }
        assert!(most <= 4, "{most} pieces without a pause");
        for reader in readers {
            assert_eq!(reader.await.unwrap().unwrap().len(), 50 * PIECE);
        }
    }

    #[tokio::test]
    async fn a_reader_that_stops_keeps_no_turn() {
        let mut stopped = counting(Arc::default()).into_data_stream();
        stopped.next().await.unwrap().unwrap();
        stopped.next().await.unwrap().unwrap();
        let other = axum::body::to_bytes(counting(Arc::default()), usize::MAX);
        tokio::time::timeout(std::time::Duration::from_secs(10), other).await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn a_reader_that_stops_costs_two_pieces() {
        let made = Arc::new(AtomicUsize::new(0));
        let mut stream = counting(made.clone()).into_data_stream();
        let first = stream.next().await.unwrap().unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        assert!(first.len() < 2 * PIECE);
        assert!(made.load(Ordering::Relaxed) < 3 * PIECE, "{made:?}");
    }
}
