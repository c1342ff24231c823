//! What probes have seen: for pages and metrics, and for the planner, which hears of changes only.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dns::ProbeId;
use planner::{Change, ProbeQuestion, ProbeSpec, TargetHealth};
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use tokio::sync::Notify;

use super::trouble::Outcome;

/// What one probe has seen.
#[derive(Clone, Debug)]
pub struct Sighting {
    /// What it asks.
    pub spec: Arc<ProbeSpec>,
    /// How its target is.
    pub health: TargetHealth,
    /// Its last run.
    pub last: Option<Run>,
}

/// One run of a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// When it began, in Unix milliseconds.
    pub at: i64,
    /// How long it took.
    pub took: Duration,
    /// What came of it.
    pub outcome: Outcome,
}

/// How a target is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    /// A connection.
    Tcp,
    /// A page.
    Http,
    /// A page over TLS.
    Https,
}

/// What the runs of one protocol came to.
#[derive(Clone, Debug)]
pub struct Counts {
    /// How many ended well, badly, or could not be made.
    pub successes: u64,
    /// See above.
    pub failures: u64,
    /// See above.
    pub skipped: u64,
    /// How long they took, in seconds.
    pub seconds: Histogram,
}

/// What all probes have seen; clones share it.
#[derive(Clone, Debug, Default)]
pub struct Sightings(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    board: Mutex<Board>,
    news: Notify,
}

#[derive(Debug, Default)]
struct Board {
    probes: BTreeMap<ProbeId, Sighting>,
    /// Of these the planner has not heard: each once, however often it changed meanwhile.
    untold: BTreeMap<ProbeId, TargetHealth>,
    counts: BTreeMap<Protocol, Counts>,
}

impl Sightings {
    /// Every probe with what it has seen.
    pub fn all(&self) -> BTreeMap<ProbeId, Sighting> {
        self.board().probes.clone()
    }

    /// What one probe has seen.
    pub fn get(&self, probe: ProbeId) -> Option<Sighting> {
        self.board().probes.get(&probe).cloned()
    }

    /// What the runs came to.
    pub fn counts(&self) -> BTreeMap<Protocol, Counts> {
        self.board().counts.clone()
    }

    /// What the planner is to hear. Waits for as long as nothing happens.
    pub async fn news(&self) -> Vec<Change> {
        loop {
            let told = std::mem::take(&mut self.board().untold);
            if !told.is_empty() {
                return told.into_iter().map(|(probe, health)| Change::Health(probe, health)).collect();
            }
            self.0.news.notified().await;
        }
    }

    /// Everything that was ever said, for a planner that knows nothing.
    pub fn retell(&self) -> Vec<Change> {
        let mut board = self.board();
        board.untold.clear();
        board.probes.iter().map(|(probe, seen)| Change::Health(*probe, seen.health.clone())).collect()
    }

    pub(super) fn begin(&self, probe: ProbeId, spec: &Arc<ProbeSpec>, health: &TargetHealth) {
        let sighting = Sighting { spec: spec.clone(), health: health.clone(), last: None };
        self.board().probes.insert(probe, sighting);
    }

    pub(super) fn end(&self, probe: ProbeId) {
        let mut board = self.board();
        board.probes.remove(&probe);
        board.untold.remove(&probe);
    }

    /// Takes a run; with a verdict where that changed.
    pub(super) fn hear(&self, probe: ProbeId, run: Run, changed: Option<&TargetHealth>) {
        let mut board = self.board();
        let Some(sighting) = board.probes.get_mut(&probe) else { return };
        let protocol = Protocol::of(&sighting.spec.question);
        if let Some(health) = changed {
            sighting.health = health.clone();
        }
        sighting.last = Some(run.clone());
        if let Some(health) = changed {
            board.untold.insert(probe, health.clone());
            self.0.news.notify_one();
        }
        board.counts.entry(protocol).or_default().count(&run);
    }

    fn board(&self) -> MutexGuard<'_, Board> {
        // Whoever panicked with the lock has left maps that are whole.
        self.0.board.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Protocol {
    /// How a question is asked.
    pub fn of(question: &ProbeQuestion) -> Protocol {
        match question {
            ProbeQuestion::Connect => Protocol::Tcp,
            ProbeQuestion::Page { tls: None, .. } => Protocol::Http,
            ProbeQuestion::Page { .. } => Protocol::Https,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Tcp => "TCP",
            Protocol::Http => "HTTP",
            Protocol::Https => "HTTPS",
        }
    }
}

impl Default for Counts {
    fn default() -> Counts {
        let seconds = Histogram::new(exponential_buckets(0.0005, 4.0, 8));
        Counts { successes: 0, failures: 0, skipped: 0, seconds }
    }
}

impl Counts {
    fn count(&mut self, run: &Run) {
        match run.outcome {
            Outcome::Success => self.successes += 1,
            Outcome::Failure(_) => self.failures += 1,
            Outcome::Skipped => self.skipped += 1,
        }
        self.seconds.observe(run.took.as_secs_f64());
    }
}
