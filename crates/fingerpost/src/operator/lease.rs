//! Leader election on a Lease: of all replicas at most one leads at any moment.
//!
//! ```text
//! record (pure: what to do next) ◄──► run (calls, timeouts) ──► Leadership (asked before every write)
//! ```
//!
//! The calls go through a client of their own, which repeats nothing by itself, and each has a
//! timeout that ends before the lease does. A replica that was stalled finds out by the clock,
//! before it sends anything, that its lease has ended.

mod calls;
mod leadership;
mod record;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;

use std::future::Future;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use ring::rand::{SecureRandom, SystemRandom};
use tokio::time::{sleep, timeout};

use calls::{Leases, Outcome};
pub use leadership::Leadership;
use record::Candidate;

/// A renewal may find the Lease changed and has to read it first; who needs more calls than that
/// in one round tries again in the next.
const CALLS_A_ROUND: usize = 3;

/// Who takes part in an election, and at what pace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The Lease's name.
    pub name: String,
    /// The Lease's namespace.
    pub namespace: String,
    /// What the Lease shows as its holder; no two processes may share it.
    pub identity: String,
    /// How long others wait for a holder that is silent.
    pub lease_duration: Duration,
    /// How long a holder goes on leading without having renewed.
    pub renew_deadline: Duration,
    /// How long to wait between two attempts.
    pub retry_period: Duration,
}

/// Why an election cannot be held.
#[derive(Debug, thiserror::Error)]
pub enum LeaseError {
    /// The times do not fit together.
    #[error(
        "the lease duration ({lease_duration:?}) must be longer than the renew deadline ({renew_deadline:?}), and that longer than the retry period ({retry_period:?})"
    )]
    Times {
        /// `--leader-election-lease-duration`.
        lease_duration: Duration,
        /// `--leader-election-renew-deadline`.
        renew_deadline: Duration,
        /// `--leader-election-retry-period`.
        retry_period: Duration,
    },
    /// The operating system gives no random numbers.
    #[error("no random numbers are to be had for the identity in the Lease")]
    Random,
    /// There is no client to call the API server with.
    #[error("cannot make a client for the Lease")]
    Client(#[source] Box<kube::Error>),
}

impl Settings {
    /// Checks that the times fit together.
    pub fn check(&self) -> Result<(), LeaseError> {
        let Settings { lease_duration, renew_deadline, retry_period, .. } = *self;
        if lease_duration > renew_deadline && renew_deadline > retry_period && !retry_period.is_zero() {
            return Ok(());
        }
        Err(LeaseError::Times { lease_duration, renew_deadline, retry_period })
    }
}

/// A name for this process that no other has, be it restarted in the same pod: a holder must
/// never take for its own a lease that another process may still be using.
pub fn unique_identity(name: &str) -> Result<String, LeaseError> {
    let mut octets = [0; 8];
    SystemRandom::new().fill(&mut octets).map_err(|_| LeaseError::Random)?;
    Ok(format!("{name}_{:016x}", u64::from_be_bytes(octets)))
}

/// One replica's part in an election.
#[derive(Debug)]
pub struct Election {
    settings: Settings,
    leases: Leases,
    candidate: Candidate,
    leadership: Leadership,
}

impl Election {
    /// Prepares to take part; nothing is sent yet.
    pub fn new(config: &kube::Config, settings: Settings) -> Result<Election, LeaseError> {
        settings.check()?;
        let leases = Leases::new(config, &settings).map_err(|error| LeaseError::Client(Box::new(error)))?;
        let candidate = Candidate::new(settings.clone());
        Ok(Election { settings, leases, candidate, leadership: Leadership::follower() })
    }

    /// The handle by which everything else knows whether this replica leads.
    pub fn leadership(&self) -> Leadership {
        self.leadership.clone()
    }

    /// Takes part until `shutdown` is ready, then gives the lease back.
    ///
    /// Let `shutdown` be ready only when nothing that needs the lease is under way any more.
    pub async fn run(mut self, shutdown: impl Future<Output = ()>) {
        tokio::select! {
            () = shutdown => {}
            () = self.take_part() => {}
        }
        self.leave().await;
    }

    async fn take_part(&mut self) {
        loop {
            self.candidate.begin();
            self.round().await;
            sleep(self.candidate.pause(Instant::now())).await;
            self.candidate.tick(Instant::now());
            self.publish();
        }
    }

    /// Calls until the lease is renewed, or known to be another's, or something fails.
    async fn round(&mut self) {
        for _ in 0..CALLS_A_ROUND {
            let sent = Instant::now();
            let Some(call) = self.candidate.next(sent, Timestamp::now()) else { break };
            let outcome = timeout(self.candidate.patience(sent), self.leases.send(&call)).await;
            let Outcome { answer, problem } = outcome.unwrap_or_else(|_| Outcome::timed_out());
            self.leadership.report(problem);
            let over = self.candidate.answered(&call, sent, Instant::now(), answer);
            self.publish();
            if over {
                break;
            }
        }
    }

    fn publish(&self) {
        self.leadership.set(self.candidate.holds_until(), self.candidate.generation());
    }

    /// Stops leading first, and then tells the others.
    async fn leave(&mut self) {
        self.candidate.leave();
        self.publish();
        if timeout(self.settings.retry_period, self.round()).await.is_err() {
            tracing::warn!("the Lease could not be given back: others wait until it has expired");
        }
    }
}
