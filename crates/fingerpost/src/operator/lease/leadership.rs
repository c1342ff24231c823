//! Whether this replica leads, asked before every write.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::watch;

/// Since when and until when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Term {
    None,
    Until(Instant),
    Always,
}

/// A handle on the election; clones share it.
#[derive(Clone, Debug)]
pub struct Leadership {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    term: watch::Sender<Term>,
    generation: AtomicU64,
    leads: watch::Sender<bool>,
    problem: watch::Sender<Option<String>>,
}

impl Leadership {
    /// Leads without an election, as `--leader-elect=false` wants it.
    pub fn always() -> Leadership {
        Leadership::new(Term::Always)
    }

    /// Does not lead, until an election says so.
    pub(crate) fn follower() -> Leadership {
        Leadership::new(Term::None)
    }

    fn new(term: Term) -> Leadership {
        let leads = watch::Sender::new(term == Term::Always);
        // Who leads without an election is the one that started last.
        let now = u64::try_from(jiff::Timestamp::now().as_microsecond()).unwrap_or_default();
        let shared = Shared {
            term: watch::Sender::new(term),
            generation: AtomicU64::new(now),
            leads,
            problem: watch::Sender::new(None),
        };
        Leadership { shared: Arc::new(shared) }
    }

    /// Whether this replica leads at this moment.
    pub fn is_leader(&self) -> bool {
        !self.remaining().is_zero()
    }

    /// How much is left of the lease, counted from when its last renewal was sent; zero for who
    /// does not lead.
    pub fn remaining(&self) -> Duration {
        self.remaining_at(Instant::now())
    }

    /// Whether a call that takes at most `timeout` would end within the lease.
    pub fn may_send(&self, timeout: Duration) -> bool {
        self.remaining() > timeout
    }

    /// Tells when this replica begins or ceases to lead. Writes ask [`may_send`](Self::may_send):
    /// what is told here comes late to a process that was stalled.
    pub fn subscribe(&self) -> watch::Receiver<bool> {
        self.shared.leads.subscribe()
    }

    /// What keeps this replica from taking part in the election, in words.
    pub fn problem(&self) -> Option<String> {
        self.shared.problem.borrow().clone()
    }

    pub(super) fn remaining_at(&self, now: Instant) -> Duration {
        match *self.shared.term.borrow() {
            Term::None => Duration::ZERO,
            Term::Until(end) => end.saturating_duration_since(now),
            Term::Always => Duration::MAX,
        }
    }

    /// The fencing token of what this replica writes: who led before had a lower one.
    pub fn generation(&self) -> u64 {
        self.shared.generation.load(Ordering::Relaxed)
    }

    pub(super) fn set(&self, until: Option<Instant>, generation: u64) {
        self.shared.generation.store(generation, Ordering::Relaxed);
        self.shared.term.send_replace(until.map_or(Term::None, Term::Until));
        let leads = self.is_leader();
        let changed = self.shared.leads.send_if_modified(|before| std::mem::replace(before, leads) != leads);
        match (changed, leads) {
            (true, true) => tracing::info!("this replica leads"),
            (true, false) => tracing::info!("this replica no longer leads"),
            (false, _) => {}
        }
    }

    /// Keeps what went wrong last; said once in the log, however often it happens.
    pub(super) fn report(&self, problem: Option<String>) {
        let changed = |before: &mut Option<String>| {
            let differs = *before != problem;
            before.clone_from(&problem);
            differs
        };
        if self.shared.problem.send_if_modified(changed) {
            match &problem {
                Some(problem) => tracing::warn!("{problem}"),
                None => tracing::info!("the Lease can be reached again"),
            }
        }
    }
}
