//! From the command line to a plan, once: what `plan`, `explain` and `check` start from.

mod before;
mod review;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use api::{Meta, Object, Spec};
use http::Method;
use jiff::civil::Date;
use planner::document::Document;
use planner::{Change, ClusterId, Note, ObjectRef, Planner, Rules, Setting};

use crate::cli::ReaderArguments;
use crate::cluster::feed::HERE;
use crate::cluster::reading::{ClusterReading, normalized};
use crate::cluster::{ClusterArguments, Connection};
use crate::http::client::ApiClient;
use crate::http::errors;
use crate::progress;
use crate::render;
use crate::secrets::FolderSecrets;
use crate::source::{self, ClusterFolders, STANDARD_INPUT, Severity, Source, SourceProblem};
pub use before::{Before, before};
pub use review::{Broken, Review, Tally, Unready};

/// How often a plan is read that changes meanwhile.
const TRIES: usize = 5;
/// How long a page of a running instance may take.
const FETCH_TIME: Duration = Duration::from_secs(300);

/// Folders that were read and planned.
pub struct Planned {
    /// The plan.
    pub planner: Planner,
    /// The objects as they are declared, those that break a rule included.
    pub objects: Vec<(ClusterId, Arc<Object>)>,
    /// What is wrong in the folders.
    pub problems: Vec<SourceProblem>,
    /// Where everything is declared.
    pub source: Source,
    /// The Secrets of the folders.
    pub secrets: FolderSecrets,
}

impl Planned {
    /// Reads and plans folders as they are.
    pub fn read(arguments: &[String], date: Date, rules: &Rules) -> Result<Planned> {
        Planned::read_after(arguments, date, rules, None)
    }

    /// Reads and plans folders as they would follow an earlier plan: its serials go on, who holds a name there keeps
    /// it, and the versions that it has in force stay in force where a new one is invalid or points nowhere. A file
    /// that lost its content has that of the same file of the folders before.
    pub fn read_after(
        arguments: &[String],
        date: Date,
        rules: &Rules,
        before: Option<&mut Before>,
    ) -> Result<Planned> {
        let clusters = ClusterFolders::parse(arguments)?;
        require_folders(&clusters)?;
        let mut source = Source::new(&clusters);
        let mut before = before;
        if let Some(folders) = before.as_mut().and_then(|before| before.folders.take()) {
            source = source.following(folders);
        }
        Ok(Planned::of(clusters, source, date, rules, before))
    }

    /// Reads and plans folders, single files and standard input.
    pub fn read_files(arguments: &[String], date: Date, rules: &Rules) -> Result<Planned> {
        let clusters = ClusterFolders::parse(arguments)?;
        let mut source = Source::new(&clusters);
        let folders = || clusters.iter().flat_map(|cluster| &cluster.folders);
        if folders().any(|folder| folder.as_os_str() == STANDARD_INPUT) {
            let text = source::standard_input().context("standard input cannot be read")?;
            source = source.with_standard_input(&text);
        }
        for folder in folders().filter(|folder| folder.as_os_str() != STANDARD_INPUT) {
            ensure!(folder.exists(), "there is no folder or file {}: check the path", folder.display());
        }
        Ok(Planned::of(clusters, source, date, rules, None))
    }

    fn of(
        clusters: Vec<ClusterFolders>,
        mut source: Source,
        date: Date,
        rules: &Rules,
        before: Option<&mut Before>,
    ) -> Planned {
        let mut reading = progress::read(&mut source);
        let objects = reading.changes.iter().filter_map(declared).collect();
        let mut changes = vec![today(date)];
        let before = before.map(|before| &*before);
        changes.extend(
            before.map(|before| before.changes(&clusters, &source, &mut reading)).unwrap_or_default(),
        );
        changes.extend(reading.changes);
        let names = clusters.into_iter().map(|cluster| cluster.name).collect();
        let mut planner = Planner::new(names).under(rules.clone());
        planner.apply(changes);
        // Only probes that the objects need have a health.
        planner.apply(before.map(Before::health).unwrap_or_default());
        Planned { planner, objects, problems: reading.problems, source, secrets: reading.secrets }
    }

    /// What is wrong with objects of others' kinds, which have no status to show it: each with its place.
    pub fn foreign_notes(&self) -> Vec<String> {
        let foreign = self.planner.noted_objects().into_iter().filter(|(_, object)| !object.kind.is_ours());
        let mut lines = Vec::new();
        for (cluster, object) in foreign {
            let (file, line, column) = self.source.locate(cluster, &object).unwrap_or_default();
            // `Stalled` only repeats what `Ready` says.
            let wrong =
                |note: &Note| note.severity >= planner::Severity::Warning && note.condition != "Stalled";
            for note in self.planner.notes(cluster, &object).iter().filter(|note| wrong(note)) {
                let place = format!("{}:{line}:{column}", file.display());
                let what = render::object(&object);
                lines.push(format!("{place}: {what}: {}: {}", note.reason, note.message));
            }
        }
        lines
    }

    /// Whether something could not be read, so that the plan is not whole.
    pub fn is_partial(&self) -> bool {
        self.problems.iter().any(|problem| problem.severity == Severity::Refused)
    }
}

fn reference(object: &Object) -> ObjectRef {
    let (namespace, name) = (object.meta.namespace.clone(), object.meta.name.clone());
    ObjectRef { kind: object.kind(), namespace, name }
}

/// A cluster as it is, and as the operator would have it.
pub struct ClusterPlan {
    /// The plan, with the folders applied.
    pub plan: Document,
    /// What there is now.
    pub held: Document,
    /// What is wrong in the folders.
    pub problems: Vec<SourceProblem>,
    /// Where the folders' objects are declared.
    pub source: Option<Source>,
}

impl ClusterPlan {
    /// Reads a cluster, plans it, and plans it again with folders applied to it.
    pub fn read(
        cluster: &ClusterArguments,
        folders: &[String],
        date: Date,
        rules: &Rules,
    ) -> Result<ClusterPlan> {
        let reading = read_cluster(cluster)?;
        let mut planner = Planner::in_cluster("default".to_owned(), Setting::Operator).under(rules.clone());
        planner.apply(std::iter::once(today(date)).chain(reading.changes()).collect());
        let held = reading.held(&Document::of(&planner));
        let (mut problems, mut source) = (Vec::new(), None);
        if !folders.is_empty() {
            let clusters = ClusterFolders::parse(folders)?;
            ensure!(clusters.len() == 1, "--kube is one cluster: name folders without NAME=");
            require_folders(&clusters)?;
            let mut folders = Source::new(&clusters);
            let applied = progress::read(&mut folders);
            problems = applied.problems;
            let changes =
                applied.changes.into_iter().filter_map(|change| applied_to(&planner, change)).collect();
            planner.apply(changes);
            source = Some(folders);
        }
        Ok(ClusterPlan { plan: normalized(Document::of(&planner)), held, problems, source })
    }

    /// Whether something could not be read, so that the plan is not whole.
    pub fn is_partial(&self) -> bool {
        self.problems.iter().any(|problem| problem.severity == Severity::Refused)
    }
}

/// The plan of a cluster as `explain` shows it: with a view for each region, as `up` has them.
pub fn explainable(cluster: &ClusterArguments, date: Date, rules: &Rules) -> Result<Planner> {
    let reading = read_cluster(cluster)?;
    let mut planner = Planner::new(vec!["default".to_owned()]).under(rules.clone()).reading_statuses();
    planner.apply(std::iter::once(today(date)).chain(reading.changes()).collect());
    Ok(planner)
}

fn read_cluster(arguments: &ClusterArguments) -> Result<ClusterReading> {
    let runtime = tokio::runtime::Runtime::new().context("cannot start")?;
    runtime.block_on(async { ClusterReading::read(&Connection::open(arguments).await?).await })
}

/// The plan of a cluster as it stands.
pub async fn cluster_planner(connection: &Connection) -> Result<Planner> {
    let reading = ClusterReading::read(connection).await?;
    let mut planner = Planner::in_cluster("default".to_owned(), Setting::Operator);
    planner.apply(std::iter::once(today(current_date())).chain(reading.changes()).collect());
    Ok(planner)
}

/// An object from a file as it would be after `kubectl apply`: with what the API server knows of it.
fn applied_to(planner: &Planner, change: Change) -> Option<Change> {
    let object = match change {
        Change::Put(_, object) => object,
        // What cannot be decoded leaves the cluster's version in force, and is shown as broken.
        broken @ (Change::Broken(..) | Change::BrokenZone(..)) => return Some(broken),
        _ => return None,
    };
    let reference = reference(&object);
    let mut applied = Object::clone(&object);
    if let Some(held) = planner.object(HERE, &reference) {
        let Meta { labels, annotations, .. } = applied.meta;
        let mut meta = Meta {
            labels: held.meta.labels.clone(),
            annotations: held.meta.annotations.clone(),
            ..held.meta.clone()
        };
        meta.labels.extend(labels);
        meta.annotations.extend(annotations);
        applied = Object { meta, spec: applied.spec, published: held.published.clone() };
    }
    applied.spec = with_held_status(applied.spec, planner.object(HERE, &reference).map(|held| &held.spec));
    Some(Change::Put(HERE, Arc::new(applied)))
}

/// `kubectl apply` does not set a status: a Service keeps the addresses that it has in the cluster.
fn with_held_status(mut spec: Spec, held: Option<&Spec>) -> Spec {
    if let Spec::Service(service) = &mut spec {
        service.ingress = match held {
            Some(Spec::Service(held)) => held.ingress.clone(),
            _ => Vec::new(),
        };
    }
    spec
}

fn declared(change: &Change) -> Option<(ClusterId, Arc<Object>)> {
    match change {
        Change::Put(cluster, object) => Some((*cluster, object.clone())),
        _ => None,
    }
}

/// The plan of a running instance. One that changed while it was written is asked for again.
pub fn fetch_plan(url: &str, reader: &ReaderArguments) -> Result<Document> {
    for _ in 0..TRIES {
        let text = fetch(url, "/api/v1/plan", &[], reader)?;
        let document = Document::parse(&text).with_context(|| format!("the answer of {url}"))?;
        if !document.changed_while_written {
            return Ok(document);
        }
    }
    bail!("the plan of {url} changed each of {TRIES} times while it was read: try again when it is quieter")
}

/// Fetches a page of a running instance.
pub fn fetch(url: &str, path: &str, query: &[(&str, String)], reader: &ReaderArguments) -> Result<String> {
    let client = ApiClient::new(url, reader, FETCH_TIME)?;
    let address = client.url(path);
    let (status, text) = client
        .send(Method::GET, path, query, None)
        .with_context(|| format!("no answer from {address} (is `fingerpost up` running there?)"))?;
    let hint = if status == 401 { " (name a file with a token by --token-file)" } else { "" };
    ensure!(status.is_success(), "{address} says: {}{hint}", errors::message(&text));
    Ok(text)
}

/// Whether an argument is the address of a running instance.
pub fn is_url(argument: &str) -> bool {
    argument.starts_with("http://") || argument.starts_with("https://")
}

/// Which cluster of a plan has a name.
fn reading_order(plan: &Document, cluster: &str) -> Option<ClusterId> {
    plan.clusters.iter().position(|name| name == cluster).map(|number| ClusterId(number as u16))
}

/// The date as the planner takes it.
pub fn today(date: Date) -> Change {
    let (year, month, day) =
        (date.year().unsigned_abs(), date.month().unsigned_abs(), date.day().unsigned_abs());
    Change::Today(u32::from(year) * 10_000 + u32::from(month) * 100 + u32::from(day))
}

/// Today, in UTC, so that machines agree.
pub fn current_date() -> Date {
    jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date()
}

/// A folder that is not there is most often a typing error, and would look like an empty plan.
fn require_folders(clusters: &[ClusterFolders]) -> Result<()> {
    for folder in clusters.iter().flat_map(|cluster| &cluster.folders) {
        ensure!(folder.exists(), "there is no folder {}: check the path", folder.display());
        ensure!(folder.is_dir(), "{} is not a folder: name the folder that holds it", folder.display());
    }
    Ok(())
}
