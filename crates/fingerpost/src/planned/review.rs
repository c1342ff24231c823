//! What a reviewer has to know of a plan beside another one: what clients get differently, what is broken, and what is
//! no longer ready.

use std::collections::BTreeSet;

use dns::visible;
use planner::document::{
    Difference, Document, DocumentBroken, DocumentObject, DocumentOwner, DocumentRecordSet, Pair, diff,
};
use serde::Serialize;
use serde_json::{Value, json};

use super::{Planned, reading_order};
use crate::source::{Severity, Source, SourceProblem};

/// Conditions that are bad where they hold.
const ALARMS: [&str; 2] = ["Stalled", "Conflicted"];

/// Two plans, compared.
#[derive(Debug)]
pub struct Review {
    /// The differences, without those of statuses.
    pub differences: Vec<Difference>,
    /// The objects whose statuses and metadata differ.
    pub statuses: Vec<Pair<DocumentObject>>,
    /// What is not in force in the new plan.
    pub broken: Vec<Broken>,
    /// Objects that the new plan has something bad to say about which the old one did not.
    pub unready: Vec<Unready>,
    /// How many record sets come, change and go.
    pub tally: Tally,
    /// How many record sets there were.
    pub record_sets_before: usize,
    /// Whether to say which cluster an object is in: there are several, or they have other names in the two plans.
    pub clusters: bool,
}

/// Something whose newest version is not in force, and what is in force instead.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Broken {
    /// What, where and why.
    #[serde(flatten)]
    pub what: DocumentBroken,
    /// The record sets that it still has.
    #[serde(rename = "stillServed", skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<DocumentRecordSet>,
}

/// A condition of an object that turned bad.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Unready {
    /// The object.
    #[serde(flatten)]
    pub object: DocumentOwner,
    /// The condition's type.
    pub condition: String,
    /// Why, in one word.
    pub reason: String,
    /// Why, in a sentence.
    pub message: String,
}

/// How many record sets come, change and go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Those that are new.
    pub add: usize,
    /// Those that say something else.
    pub change: usize,
    /// Those that go.
    pub remove: usize,
}

impl Tally {
    /// Counts pairs.
    pub fn of<'a, T: 'a>(pairs: impl Iterator<Item = &'a Pair<T>>) -> Tally {
        let mut tally = Tally::default();
        for pair in pairs {
            match (&pair.before, &pair.after) {
                (None, _) => tally.add += 1,
                (_, None) => tally.remove += 1,
                _ => tally.change += 1,
            }
        }
        tally
    }
}

impl Review {
    /// Compares two plans; `broken` is what is not in force in the new one.
    pub fn of(before: &Document, after: &Document, broken: Vec<DocumentBroken>) -> Review {
        let (mut differences, mut statuses) = (Vec::new(), Vec::new());
        for difference in diff(before, after) {
            match difference {
                Difference::Object(pair) => statuses.push(pair),
                other => differences.push(other),
            }
        }
        let sets = differences.iter().filter_map(|one| match one {
            Difference::RecordSet(pair) => Some(&**pair),
            _ => None,
        });
        let tally = Tally::of(sets);
        let named: BTreeSet<&DocumentOwner> = broken.iter().map(|one| &one.object).collect();
        let unready = statuses.iter().flat_map(unready).filter(|one| !named.contains(&one.object)).collect();
        let broken = broken.iter().map(|one| Broken::of(one, after)).collect();
        let clusters = after.clusters.len() > 1 || before.clusters != after.clusters;
        let record_sets_before = before.record_sets.len();
        Review { differences, statuses, broken, unready, tally, record_sets_before, clusters }
    }

    /// Whether anything is to be shown.
    pub fn is_empty(&self, statuses: bool) -> bool {
        let nothing_changes = self.differences.is_empty() && self.unready.is_empty();
        let no_status_counts = !statuses || self.statuses.is_empty();
        nothing_changes && self.broken.is_empty() && no_status_counts
    }

    /// As a list of values with one key each, which says what it is.
    pub fn to_json(&self, statuses: bool) -> Vec<Value> {
        let mut all: Vec<Value> = self.broken.iter().map(|one| json!({ "broken": one })).collect();
        all.extend(self.differences.iter().map(|one| json!(one)));
        all.extend(self.unready.iter().map(|one| json!({ "notReady": one })));
        if statuses {
            all.extend(self.statuses.iter().map(|one| json!({ "object": one })));
        }
        if !all.is_empty() {
            all.push(json!({ "summary": self.tally }));
        }
        all
    }
}

impl Broken {
    fn of(what: &DocumentBroken, plan: &Document) -> Broken {
        let is_its_own = |set: &&DocumentRecordSet| set.owners.contains(&what.object);
        let kept = plan.record_sets.iter().filter(|_| what.in_force).filter(is_its_own).cloned();
        Broken { what: what.clone(), kept: kept.collect() }
    }
}

/// The conditions that turned bad.
fn unready(pair: &Pair<DocumentObject>) -> Vec<Unready> {
    let Some(after) = &pair.after else { return Vec::new() };
    let before = pair.before.as_ref().map(bad_conditions).unwrap_or_default();
    let mut found: Vec<Unready> =
        bad_conditions(after).into_iter().filter(|one| !before.contains(one)).collect();
    // `Stalled` says again what `Ready` says.
    let mut said = BTreeSet::new();
    found.retain(|one| said.insert((one.reason.clone(), one.message.clone())));
    found
}

fn bad_conditions(object: &DocumentObject) -> Vec<Unready> {
    let conditions = object.manifest["status"]["conditions"].as_array().into_iter().flatten();
    let is_bad = |condition: &&Value| match condition["type"].as_str() {
        Some(alarm) if ALARMS.contains(&alarm) => condition["status"] == "True",
        _ => condition["status"] == "False",
    };
    conditions.filter(is_bad).map(|condition| Unready::of(object, condition)).collect()
}

impl Unready {
    fn of(object: &DocumentObject, condition: &Value) -> Unready {
        let text = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
        let [api_version, kind, namespace, name] = object.identity().map(str::to_owned);
        let object = DocumentOwner { cluster: object.cluster.clone(), api_version, kind, namespace, name };
        Unready { object, condition: text("type"), reason: text("reason"), message: text("message") }
    }
}

/// What is not in force of folders that were planned, with file, line and column.
pub(super) fn broken(
    plan: &Document,
    source: Option<&Source>,
    problems: &[SourceProblem],
) -> Vec<DocumentBroken> {
    let mut broken = plan.broken.clone();
    for one in &mut broken {
        one.location = location(plan, source, problems, one).or(one.location.take());
    }
    let refused = problems.iter().filter(|problem| problem.severity == Severity::Refused);
    let is_named = |problem: &&SourceProblem| broken.iter().any(|one| is_about(plan, problem, one));
    let files: Vec<DocumentBroken> =
        refused.filter(|problem| !is_named(problem)).map(|problem| unreadable(plan, problem)).collect();
    broken.extend(files);
    broken
}

/// Whether a problem is about something that is known to be broken.
fn is_about(plan: &Document, problem: &SourceProblem, broken: &DocumentBroken) -> bool {
    let same_cluster = cluster_name(plan, problem) == broken.object.cluster;
    let same = match (&problem.object, broken.object.reference()) {
        (Some(object), Some(reference)) => *object == reference,
        (None, None) => problem.path.ends_with(&broken.object.name),
        _ => false,
    };
    same_cluster && same
}

fn location(
    plan: &Document,
    source: Option<&Source>,
    problems: &[SourceProblem],
    broken: &DocumentBroken,
) -> Option<String> {
    let place = |path: &std::path::Path, line: u32, column: u32| {
        let path = path.to_string_lossy();
        if line == 0 { visible(&path).into_owned() } else { format!("{}:{line}:{column}", visible(&path)) }
    };
    if let Some(problem) = problems.iter().find(|problem| is_about(plan, problem, broken)) {
        return Some(place(&problem.path, problem.line, problem.column));
    }
    let reference = broken.object.reference()?;
    let cluster = reading_order(plan, &broken.object.cluster)?;
    let (path, line, column) = source?.locate(cluster, &reference)?;
    Some(place(&path, line, column))
}

/// A file of which it is not known what it declares.
fn unreadable(plan: &Document, problem: &SourceProblem) -> DocumentBroken {
    let path = problem.path.to_string_lossy();
    let name = visible(&path).into_owned();
    let location = (problem.line > 0).then(|| format!("{name}:{}:{}", problem.line, problem.column));
    let mut object = DocumentOwner::file(cluster_name(plan, problem), &name);
    if let Some(reference) = &problem.object {
        object = DocumentOwner::new(cluster_name(plan, problem), reference);
    }
    let message = match problem.message.contains("in force") {
        true => problem.message.clone(),
        false => format!("{}; what it declared before stays in force", problem.message),
    };
    DocumentBroken { object, reason: "Unreadable".to_owned(), message, in_force: true, location }
}

fn cluster_name<'a>(plan: &'a Document, problem: &SourceProblem) -> &'a str {
    plan.clusters.get(usize::from(problem.cluster.0)).map_or("", String::as_str)
}

impl Planned {
    /// What is not in force of the folders.
    pub fn broken(&self, plan: &Document) -> Vec<DocumentBroken> {
        broken(plan, Some(&self.source), &self.problems)
    }
}

impl super::ClusterPlan {
    /// What is not in force of the folders that are applied to the cluster. What is broken in the cluster already is no
    /// change, and its status says so.
    pub fn broken(&self) -> Vec<DocumentBroken> {
        let mut broken = broken(&self.plan, self.source.as_ref(), &self.problems);
        broken.retain(|one| one.location.is_some());
        broken
    }
}
