//! What deliveries count, for `/metrics`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use backends::delivery::{Report, SetResult, Written};

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

/// What is counted of all classes; clones share it.
#[derive(Clone, Debug, Default)]
pub struct Counts(Arc<Mutex<BTreeMap<Arc<str>, ClassCounts>>>);

impl Counts {
    /// What was counted so far, by class.
    pub fn snapshot(&self) -> BTreeMap<Arc<str>, ClassCounts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
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
        self.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|class, _| classes(class));
    }

    fn change(&self, class: &Arc<str>, change: impl FnOnce(&mut ClassCounts)) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        change(counts.entry(class.clone()).or_default());
    }
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
