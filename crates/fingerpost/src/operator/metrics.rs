//! What the operator counts, by the names that dashboards know and by our own.

use std::collections::BTreeMap;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::oneshot;

use super::definitions::Outdated;
use super::send::{Refusal, Verb};
use crate::cluster::Arrival;
use crate::cluster::board::{Board, Standing};
use crate::cluster::requests::Requests;

/// What the loop knows about itself.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// How much waits, by kind.
    pub depths: BTreeMap<&'static str, usize>,
    /// How many objects are `Ready` or not for which reason, by kind.
    pub notes: BTreeMap<(&'static str, String), u64>,
    /// Whether this replica leads.
    pub leads: bool,
    /// How many events were not told, because there were too many.
    pub dropped_events: u64,
}

/// Questions to the loop.
pub type Inquiries = Receiver<oneshot::Sender<Sample>>;

/// Asks the loop.
#[derive(Clone, Debug)]
pub struct Asking(Sender<oneshot::Sender<Sample>>);

impl Asking {
    /// A way to ask, and the questions.
    pub fn new() -> (Asking, Inquiries) {
        let (sender, receiver) = channel(8);
        (Asking(sender), receiver)
    }

    /// How the loop stands; nothing where it does not answer in time.
    pub async fn sample(&self) -> Option<Sample> {
        const PATIENCE: Duration = Duration::from_secs(5);
        let (sender, receiver) = oneshot::channel();
        let asked = async {
            self.0.send(sender).await.ok()?;
            receiver.await.ok()
        };
        tokio::time::timeout(PATIENCE, asked).await.ok().flatten()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultLabels {
    controller: &'static str,
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ControllerLabels {
    controller: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WriteLabels {
    kind: String,
    verb: &'static str,
    result: &'static str,
}

/// Counters that the loop moves.
#[derive(Debug)]
pub struct Metrics {
    reconciles: Family<ResultLabels, Counter>,
    times: Family<ControllerLabels, Histogram, fn() -> Histogram>,
    writes: Family<WriteLabels, Counter>,
}

impl Default for Metrics {
    fn default() -> Metrics {
        let histogram: fn() -> Histogram = || Histogram::new(exponential_buckets(0.0001, 4.0, 10));
        Metrics {
            reconciles: Family::default(),
            times: Family::new_with_constructor(histogram),
            writes: Family::default(),
        }
    }
}

impl Metrics {
    /// Something was looked at and needed no write.
    pub fn looked(&self, controller: &'static str, took: Duration) {
        self.reconciles.get_or_create(&ResultLabels { controller, result: "success" }).inc();
        self.times.get_or_create(&ControllerLabels { controller }).observe(took.as_secs_f64());
    }

    /// A write came back.
    pub fn wrote(
        &self,
        controller: &'static str,
        resource: &str,
        verb: Verb,
        took: Duration,
        result: &Result<Option<Arrival>, Refusal>,
    ) {
        let word = if result.is_ok() { "success" } else { "error" };
        self.reconciles.get_or_create(&ResultLabels { controller, result: word }).inc();
        self.times.get_or_create(&ControllerLabels { controller }).observe(took.as_secs_f64());
        if !matches!(result, Err(Refusal::Fenced)) {
            let labels = WriteLabels { kind: resource.to_owned(), verb: verb.name(), result: word };
            self.writes.get_or_create(&labels).inc();
        }
    }

    /// Everything, for one scrape.
    pub fn register(
        &self,
        registry: &mut Registry,
        sample: Option<&Sample>,
        board: &Board,
        requests: &Requests,
    ) {
        registry.register(
            "controller_runtime_reconcile",
            "Times that something was brought in line, by result",
            self.reconciles.clone(),
        );
        registry.register(
            "controller_runtime_reconcile_time_seconds",
            "How long one of these took",
            self.times.clone(),
        );
        registry.register(
            "fingerpost_api_writes",
            "Writes to the API server but those of leases and events",
            self.writes.clone(),
        );
        // A loop that does not answer in time has nothing to tell; a zero would be a claim.
        if let Some(sample) = sample {
            register_sample(registry, sample);
        }
        register_board(registry, board);
        register_requests(registry, requests);
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct NameLabels {
    name: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct NoteLabels {
    kind: &'static str,
    reason: String,
}

fn register_sample(registry: &mut Registry, sample: &Sample) {
    let depths = Family::<NameLabels, Gauge>::default();
    for (name, depth) in &sample.depths {
        depths.get_or_create(&NameLabels { name: (*name).to_owned() }).set(number(*depth as u64));
    }
    registry.register("workqueue_depth", "What waits to be brought in line, by kind", depths);
    let notes = Family::<NoteLabels, Gauge>::default();
    for ((kind, reason), count) in &sample.notes {
        notes.get_or_create(&NoteLabels { kind, reason: reason.clone() }).set(number(*count));
    }
    registry.register("fingerpost_notes", "Objects by the reason of their Ready condition", notes);
    let dropped = Counter::<u64>::default();
    dropped.inc_by(sample.dropped_events);
    registry.register(
        "fingerpost_events_dropped",
        "Events that were not told, because there were too many",
        dropped,
    );
    let leader = Gauge::<i64>::default();
    leader.set(i64::from(sample.leads));
    registry.register("fingerpost_leader", "Whether this replica leads", leader.clone());
    let known = Family::<NameLabels, Gauge>::default();
    known.get_or_create(&NameLabels { name: "fingerpost-operator".to_owned() }).set(i64::from(sample.leads));
    registry.register("leader_election_master_status", "Whether this replica leads", known);
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct KindLabels {
    kind: String,
}

/// How each watch stands.
pub fn register_board(registry: &mut Registry, board: &Board) {
    let synced = Family::<KindLabels, Gauge>::default();
    let objects = Family::<KindLabels, Gauge>::default();
    for (subject, entry) in board.entries() {
        let labels = KindLabels { kind: subject.qualified() };
        synced.get_or_create(&labels).set(i64::from(entry.standing == Standing::Synced));
        objects.get_or_create(&labels).set(number(entry.objects as u64));
    }
    registry.register("fingerpost_watch_synced", "Whether a kind is read and followed", synced);
    registry.register("fingerpost_watch_objects", "Objects of a kind in the cluster", objects);
    let age = Gauge::<f64, std::sync::atomic::AtomicU64>::default();
    age.set(board.silence().as_secs_f64());
    registry.register(
        "fingerpost_sync_age_seconds",
        "Since when the most silent watch has heard nothing; a bookmark comes every minute or so",
        age,
    );
}

/// Installed CRDs that are older than this operator.
pub fn register_outdated(registry: &mut Registry, outdated: &Outdated) {
    let family = Family::<KindLabels, Gauge>::default();
    for (kind, count) in outdated.counts() {
        family.get_or_create(&KindLabels { kind }).set(number(count as u64));
    }
    registry.register("fingerpost_crd_missing_fields", "Fields that an installed CRD lacks", family);
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: String,
    code: String,
}

/// What was asked of the API server.
pub fn register_requests(registry: &mut Registry, requests: &Requests) {
    let family = Family::<RequestLabels, Counter>::default();
    for ((method, code), count) in requests.counts() {
        let code = if code == 0 { "<error>".to_owned() } else { code.to_string() };
        family.get_or_create(&RequestLabels { method, code }).inc_by(count);
    }
    registry.register("rest_client_requests", "Requests to the API server by method and code", family);
}

fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
