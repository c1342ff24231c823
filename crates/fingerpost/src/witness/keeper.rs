//! Keeps a lease as it is wanted: makes the calls that the claimant decides on, and tells what was seen.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::time::Instant;

use backends::Failure;
use jiff::Timestamp;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::claimant::{Claimant, Intent, Seen, Terms};
use super::document::Answer;
use super::pledge::Pledge;
use super::store::Store;

/// A write may find the document changed and has to read it first; who needs more calls than that in one
/// round tries again in the next.
const CALLS_A_ROUND: usize = 4;

/// What is known of a lease.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The lease as it was last seen.
    pub seen: Option<Seen>,
    /// Until when we believe that we hold it.
    pub believes_until: Option<Instant>,
    /// Why the witness cannot be asked, where it cannot.
    pub trouble: Option<Failure>,
    /// How many rounds there were.
    pub rounds: u64,
    /// How many of the latest rounds failed.
    pub failures: u32,
}

impl Report {
    /// Whether we believe that we hold the lease.
    pub fn believes(&self, now: Instant) -> bool {
        self.believes_until.is_some_and(|until| now < until)
    }
}

/// A lease that is being kept, until this goes.
#[derive(Debug)]
pub struct Keeper {
    intents: watch::Sender<Intent>,
    reports: watch::Receiver<Report>,
    pledge: Pledge,
    task: JoinHandle<()>,
}

impl Keeper {
    /// Begins to look at a lease.
    pub fn start(store: Arc<dyn Store>, terms: Terms, remembered: u64) -> Keeper {
        let (intents, wanted) = watch::channel(Intent::Watch);
        let (told, reports) = watch::channel(Report::default());
        let (claimant, pledge) = (Claimant::new(terms, remembered, lot()), Pledge::default());
        let keeping = Keeping { store, claimant, wanted, told, pledge: pledge.clone() };
        Keeper { intents, reports, pledge, task: tokio::spawn(keeping.run()) }
    }

    /// What others may be told.
    pub fn pledge(&self) -> Pledge {
        self.pledge.clone()
    }

    /// Says what is wanted from now on.
    pub fn want(&self, intent: Intent) {
        self.intents.send_if_modified(|before| {
            let differs = *before != intent;
            *before = intent;
            differs
        });
    }

    /// What is known; it changes with every round.
    pub fn reports(&self) -> watch::Receiver<Report> {
        self.reports.clone()
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A number that no other process has.
fn lot() -> u64 {
    RandomState::new().build_hasher().finish()
}

struct Keeping {
    store: Arc<dyn Store>,
    claimant: Claimant,
    wanted: watch::Receiver<Intent>,
    told: watch::Sender<Report>,
    pledge: Pledge,
}

impl Keeping {
    async fn run(mut self) {
        loop {
            self.claimant.begin(Instant::now());
            self.round().await;
            let intent = self.wanted.borrow_and_update().clone();
            let pause = self.claimant.pause(&intent, Instant::now());
            tokio::select! {
                () = sleep(pause) => {}
                changed = self.wanted.changed() => if changed.is_err() { return },
            }
        }
    }

    async fn round(&mut self) {
        let mut trouble = None;
        for _ in 0..CALLS_A_ROUND {
            let intent = self.wanted.borrow().clone();
            if matches!(intent, Intent::Yield(..) | Intent::HandOver(_)) {
                self.claimant.hold_back(self.pledge.take_back());
            }
            let sent = Instant::now();
            let Some(call) = self.claimant.next(&intent, sent, Timestamp::now()) else { break };
            // Belief may have ended with the decision, before anything is sent.
            self.tell(None, false);
            let answer = self.store.send(&call).await.unwrap_or_else(Answer::Failed);
            let over = self.claimant.answered(&call, sent, Instant::now(), &answer);
            trouble = if let Answer::Failed(failure) = answer { Some(failure) } else { None };
            if over {
                break;
            }
        }
        self.tell(Some(trouble), true);
    }

    fn tell(&self, trouble: Option<Option<Failure>>, round: bool) {
        self.pledge.believe(self.claimant.believes_until());
        self.told.send_if_modified(|report| {
            let before = report.believes_until;
            report.seen = self.claimant.seen();
            report.believes_until = self.claimant.believes_until();
            report.rounds += u64::from(round);
            if let Some(trouble) = trouble {
                report.failures = if trouble.is_some() { report.failures.saturating_add(1) } else { 0 };
                report.trouble = trouble;
            }
            round || before != report.believes_until
        });
    }
}
