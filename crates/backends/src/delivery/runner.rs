//! The runner: asks the book what to do, does it, and tells the book how it went.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use ring::rand::{SecureRandom, SystemRandom};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::Instant;

use super::book::Book;
use super::task::{Outcome, Task};
use super::{Fence, Order, Report, Settings};
use crate::Failure;

/// Orders that are taken together before anything is done about them.
const TOGETHER: usize = 1024;

/// Requests that are under way.
struct Running {
    tasks: JoinSet<Outcome>,
    by_id: HashMap<Id, Arc<Task>>,
}

/// Delivers until nobody can give orders any more. Requests that are under way then are cut off,
/// which is as safe as a crash.
pub(super) async fn run(
    settings: Settings,
    fence: Arc<dyn Fence>,
    mut orders: UnboundedReceiver<Order>,
    reports: UnboundedSender<Vec<Report>>,
) {
    let start = Instant::now();
    let mut book = Book::new(settings);
    let mut running = Running { tasks: JoinSet::new(), by_id: HashMap::new() };
    let mut received = Vec::new();
    loop {
        running.start(&mut book, start.elapsed(), fence.as_ref());
        // What was started gets under way first, so that the time that it takes can be used.
        tokio::task::yield_now().await;
        let prepared = book.use_time(start.elapsed());
        if let Some(provider) = book.provider() {
            prepared.iter().for_each(|writing| provider.foresee(&writing.batch));
        }
        let told = book.reports();
        if !told.is_empty() && reports.send(told).is_err() {
            return;
        }
        tokio::select! {
            biased;
            count = orders.recv_many(&mut received, TOGETHER) => {
                if count == 0 {
                    return;
                }
                received.drain(..).for_each(|order| book.order(order, start.elapsed()));
            }
            Some(done) = running.tasks.join_next_with_id() => {
                if let Some((task, outcome)) = running.finished(done) {
                    book.done(&task, outcome, start.elapsed(), chance());
                }
            }
            () = sleep(start, book.wake()) => {}
        }
    }
}

impl Running {
    /// Starts what may be started now.
    fn start(&mut self, book: &mut Book, now: Duration, fence: &dyn Fence) {
        let settings = book.settings().clone();
        let may_write = || fence.may_send(settings.timeout);
        while let Some(task) = book.next(now, fence.generation(), &may_write) {
            let Some(provider) = book.provider() else { return };
            let task = Arc::new(task);
            let (performed, limit) = (task.clone(), longest(settings.timeout));
            let handle = self.tasks.spawn(async move {
                let done = tokio::time::timeout(limit, performed.perform(provider.as_ref())).await;
                done.unwrap_or_else(|_| performed.failed(Failure::TimedOut))
            });
            self.by_id.insert(handle.id(), task);
        }
    }

    /// The task that ended, and how; one that panicked has failed.
    fn finished(&mut self, done: Result<(Id, Outcome), JoinError>) -> Option<(Arc<Task>, Outcome)> {
        match done {
            Ok((id, outcome)) => Some((self.by_id.remove(&id)?, outcome)),
            Err(error) => {
                let task = self.by_id.remove(&error.id())?;
                tracing::error!(%error, "a request to a provider broke off");
                let outcome = task.failed(Failure::Unreadable);
                Some((task, outcome))
            }
        }
    }
}

/// A provider bounds its own requests; one task may be some of them. This ends what hangs in spite
/// of that.
fn longest(timeout: Duration) -> Duration {
    timeout * 30
}

async fn sleep(start: Instant, wake: Option<Duration>) {
    match wake {
        Some(moment) => tokio::time::sleep_until(start + moment).await,
        None => std::future::pending().await,
    }
}

/// Chance, in `0..1`.
fn chance() -> f64 {
    let mut octets = [0; 4];
    match SystemRandom::new().fill(&mut octets) {
        Ok(()) => f64::from(u32::from_be_bytes(octets)) / f64::from(u32::MAX),
        Err(_) => 0.5,
    }
}
