//! What probes have seen: for pages and metrics, and for the planner, which hears of changes only.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dns::ProbeId;
use planner::{Change, ProbeQuestion, ProbeSpec, ProbeTarget, TargetHealth, TargetState};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
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

/// What a run is counted under.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct RunLabels {
    protocol: &'static str,
    result: &'static str,
}

/// What a run's time is counted under.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ProtocolLabels {
    protocol: &'static str,
}

/// What runs came to, and how long they took in seconds.
#[derive(Clone, Debug)]
pub struct Counts {
    /// How many ended how.
    pub runs: Family<RunLabels, Counter>,
    /// How long they took.
    pub seconds: Family<ProtocolLabels, Histogram, fn() -> Histogram>,
}

/// What all probes have seen; clones share it.
#[derive(Clone, Debug, Default)]
pub struct Sightings(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    board: Mutex<Board>,
    news: Notify,
    counts: Counts,
}

#[derive(Debug, Default)]
struct Board {
    probes: BTreeMap<ProbeId, Sighting>,
    /// Of these the planner has not heard: each once, however often it changed meanwhile.
    untold: BTreeMap<ProbeId, TargetHealth>,
}

impl Sightings {
    /// Every probe with what it has seen.
    pub fn all(&self) -> BTreeMap<ProbeId, Sighting> {
        self.board().probes.clone()
    }

    /// The probes after one with what they have seen, at most so many.
    pub fn after(&self, probe: Option<ProbeId>, most: usize) -> Vec<(ProbeId, Sighting)> {
        let start = probe.map_or(Bound::Unbounded, Bound::Excluded);
        let board = self.board();
        let probes = board.probes.range((start, Bound::Unbounded)).take(most);
        probes.map(|(probe, seen)| (*probe, seen.clone())).collect()
    }

    /// What one probe has seen.
    pub fn get(&self, probe: ProbeId) -> Option<Sighting> {
        self.board().probes.get(&probe).cloned()
    }

    /// What the runs came to.
    pub fn counts(&self) -> &Counts {
        &self.0.counts
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
        drop(board);
        self.0.counts.count(protocol, &run);
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
        let make: fn() -> Histogram = || Histogram::new(exponential_buckets(0.0005, 4.0, 8));
        Counts { runs: Family::default(), seconds: Family::new_with_constructor(make) }
    }
}

impl Counts {
    fn count(&self, protocol: Protocol, run: &Run) {
        let protocol = protocol.name();
        let result = match run.outcome {
            Outcome::Success => "success",
            Outcome::Failure(_) => "failure",
            Outcome::Skipped => "skipped",
        };
        self.runs.get_or_create(&RunLabels { protocol, result }).inc();
        self.seconds.get_or_create(&ProtocolLabels { protocol }).observe(run.took.as_secs_f64());
    }
}

impl Sighting {
    /// Whom it is about.
    pub fn target(&self) -> String {
        match &self.spec.target {
            ProbeTarget::Address(address) => address.to_string(),
            ProbeTarget::Host(name) => name.to_string(),
        }
    }

    /// How the target is spoken to.
    pub fn protocol(&self) -> Protocol {
        Protocol::of(&self.spec.question)
    }

    /// A state in a word.
    pub fn word(state: TargetState) -> &'static str {
        match state {
            TargetState::Unknown => "unknown",
            TargetState::Up => "up",
            TargetState::Down => "down",
        }
    }
}
