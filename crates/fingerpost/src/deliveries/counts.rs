//! What deliveries count, for `/metrics`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use backends::delivery::{Report, SetResult, Written};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};

/// What is counted of one class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassCounts {
    /// How often each result was reported.
    pub results: BTreeMap<&'static str, u64>,
    /// Whether the last request or check reached the server.
    pub healthy: Option<bool>,
    /// Deletions that wait for consent.
    pub held: usize,
    /// Names that the class is to hold.
    pub names: usize,
}

/// What is asked of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// How it is.
    Health,
    /// What it holds.
    Read,
    /// To hold something else.
    Write,
}

/// Which requests.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct RequestLabels {
    class: String,
    request: &'static str,
}

/// How long requests to providers took.
pub type Times = Family<RequestLabels, Histogram, fn() -> Histogram>;

/// What is counted of all classes; clones share it.
#[derive(Clone, Debug)]
pub struct Counts {
    classes: Arc<Mutex<BTreeMap<Arc<str>, ClassCounts>>>,
    times: Times,
}

impl Default for Counts {
    fn default() -> Counts {
        // From 1 ms to 16 s.
        let histogram: fn() -> Histogram = || Histogram::new(exponential_buckets(0.001, 2.0, 15));
        Counts { classes: Arc::default(), times: Family::new_with_constructor(histogram) }
    }
}

impl Request {
    const ALL: [Request; 3] = [Request::Health, Request::Read, Request::Write];

    fn word(self) -> &'static str {
        match self {
            Request::Health => "health",
            Request::Read => "read",
            Request::Write => "write",
        }
    }
}

impl Counts {
    /// What was counted so far, by class.
    pub fn snapshot(&self) -> BTreeMap<Arc<str>, ClassCounts> {
        self.classes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How long requests took.
    pub fn times(&self) -> Times {
        self.times.clone()
    }

    pub(super) fn took(&self, class: &str, request: Request, time: Duration) {
        self.times.get_or_create(&labels(class, request)).observe(time.as_secs_f64());
    }

    pub(super) fn hear(&self, class: &Arc<str>, reports: &[Report]) {
        self.change(class, |counts| reports.iter().for_each(|report| counts.hear(report)));
    }

    pub(super) fn check(&self, class: &Arc<str>, healthy: bool) {
        self.change(class, |counts| counts.healthy = Some(healthy));
    }

    pub(super) fn size(&self, class: &Arc<str>, names: usize) {
        self.change(class, |counts| counts.names = names);
    }

    /// Forgets a class that is gone, and everything when this replica no longer delivers.
    pub(super) fn keep_only(&self, classes: impl Fn(&str) -> bool) {
        let mut counts = self.classes.lock().unwrap_or_else(PoisonError::into_inner);
        for class in counts.keys().filter(|class| !classes(class)) {
            for request in Request::ALL {
                self.times.remove(&labels(class, request));
            }
        }
        counts.retain(|class, _| classes(class));
    }

    fn change(&self, class: &Arc<str>, change: impl FnOnce(&mut ClassCounts)) {
        let mut counts = self.classes.lock().unwrap_or_else(PoisonError::into_inner);
        change(counts.entry(class.clone()).or_default());
    }
}

fn labels(class: &str, request: Request) -> RequestLabels {
    RequestLabels { class: class.to_owned(), request: request.word() }
}

impl ClassCounts {
    fn hear(&mut self, report: &Report) {
        match report {
            Report::Set { result, .. } => *self.results.entry(word(result)).or_default() += 1,
            Report::Held(held) => self.held = held.as_ref().map_or(0, |held| held.count),
            Report::Reached(result) => self.healthy = Some(result.is_ok()),
        }
    }
}

fn word(result: &SetResult) -> &'static str {
    match result {
        SetResult::Stands { written: Some(Written::Created), .. } => "created",
        SetResult::Stands { written: Some(Written::Updated), .. } => "updated",
        SetResult::Stands { written: None, .. } => "confirmed",
        SetResult::Absent { deleted: true } => "deleted",
        SetResult::Absent { deleted: false } => "absent",
        SetResult::Failed { .. } => "failed",
        SetResult::Foreign { .. } => "foreign",
    }
}
