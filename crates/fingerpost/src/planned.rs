//! From the command line to a plan, once: what `plan`, `explain` and `check` start from.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use api::{Meta, Object, Service, Spec};
use jiff::civil::Date;
use planner::document::Document;
use planner::{Change, ClusterId, ObjectRef, Planner, Setting};

use crate::cluster::feed::HERE;
use crate::cluster::reading::{ClusterReading, normalized};
use crate::cluster::{ClusterArguments, Connection};
use crate::progress;
use crate::source::{ClusterFolders, Severity, Source, SourceProblem};

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
}

impl Planned {
    /// Reads and plans folders; `first` is what is known before, such as serials.
    pub fn read(arguments: &[String], date: Date, first: Vec<Change>) -> Result<Planned> {
        let clusters = ClusterFolders::parse(arguments)?;
        require_folders(&clusters)?;
        let mut source = Source::new(&clusters);
        let reading = progress::read(&mut source);
        let mut planner = Planner::new(clusters.into_iter().map(|cluster| cluster.name).collect());
        let mut changes = first;
        changes.push(today(date));
        changes.extend(reading.changes);
        let objects = changes.iter().filter_map(declared).collect();
        planner.apply(changes);
        Ok(Planned { planner, objects, problems: reading.problems, source })
    }

    /// Whether something could not be read, so that the plan is not whole.
    pub fn is_partial(&self) -> bool {
        self.problems.iter().any(|problem| problem.severity == Severity::Refused)
    }
}

/// A cluster as it is, and as the operator would have it.
pub struct ClusterPlan {
    /// The plan, with the folders applied.
    pub plan: Document,
    /// What there is now.
    pub held: Document,
    /// What is wrong in the folders.
    pub problems: Vec<SourceProblem>,
}

impl ClusterPlan {
    /// Reads a cluster, plans it, and plans it again with folders applied to it.
    pub fn read(cluster: &ClusterArguments, folders: &[String], date: Date) -> Result<ClusterPlan> {
        let reading = read_cluster(cluster)?;
        let mut planner = Planner::in_cluster("default".to_owned(), Setting::Operator);
        planner.apply(std::iter::once(today(date)).chain(reading.changes()).collect());
        let held = reading.held(&Document::of(&planner));
        let mut problems = Vec::new();
        if !folders.is_empty() {
            let clusters = ClusterFolders::parse(folders)?;
            ensure!(clusters.len() == 1, "--kube is one cluster: name folders without NAME=");
            require_folders(&clusters)?;
            let applied = progress::read(&mut Source::new(&clusters));
            problems = applied.problems;
            let changes =
                applied.changes.into_iter().filter_map(|change| applied_to(&planner, change)).collect();
            planner.apply(changes);
        }
        Ok(ClusterPlan { plan: normalized(Document::of(&planner)), held, problems })
    }

    /// Whether something could not be read, so that the plan is not whole.
    pub fn is_partial(&self) -> bool {
        self.problems.iter().any(|problem| problem.severity == Severity::Refused)
    }
}

/// The plan of a cluster as `explain` shows it: with a view for each region, as `up` has them.
pub fn explainable(cluster: &ClusterArguments, date: Date) -> Result<Planner> {
    let reading = read_cluster(cluster)?;
    let mut planner = Planner::new(vec!["default".to_owned()]);
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
    let Change::Put(_, object) = change else { return None };
    let reference = ObjectRef {
        kind: object.kind(),
        namespace: object.meta.namespace.clone(),
        name: object.meta.name.clone(),
    };
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
fn with_held_status(spec: Spec, held: Option<&Spec>) -> Spec {
    match (spec, held) {
        (Spec::Service(service), Some(Spec::Service(held))) => {
            Spec::Service(Box::new(Service { ingress: held.ingress.clone(), ..*service }))
        }
        (Spec::Service(service), _) => Spec::Service(Box::new(Service { ingress: Vec::new(), ..*service })),
        (spec, _) => spec,
    }
}

fn declared(change: &Change) -> Option<(ClusterId, Arc<Object>)> {
    match change {
        Change::Put(cluster, object) => Some((*cluster, object.clone())),
        _ => None,
    }
}

/// A plan to compare with: a saved one, a running instance's, or that of folders.
pub fn document(arguments: &[String], date: Date) -> Result<Document> {
    if let [single] = arguments {
        if is_url(single) {
            return fetch_plan(single);
        }
        if Path::new(single).is_file() {
            let text = std::fs::read_to_string(single).with_context(|| format!("cannot read {single}"))?;
            return Document::parse(&text).with_context(|| single.clone());
        }
    }
    let planned = Planned::read(arguments, date, Vec::new())?;
    if let Some(problem) = planned.problems.iter().find(|problem| problem.severity == Severity::Refused) {
        bail!("cannot compare with a plan that is not whole: {problem}");
    }
    Ok(Document::of(&planned.planner))
}

/// The plan of a running instance.
pub fn fetch_plan(url: &str) -> Result<Document> {
    let text = fetch(url, "/api/v1/plan", &[])?;
    Document::parse(&text).with_context(|| format!("the answer of {url}"))
}

/// Fetches a page of a running instance.
pub fn fetch(url: &str, path: &str, query: &[(&str, String)]) -> Result<String> {
    /// A plan of a million records is some hundred megabytes.
    const MOST: u64 = 4 << 30;
    ensure!(url.starts_with("http://"), "{url} is no URL of a running instance: it starts with http://");
    let address = format!("{}{path}", url.trim_end_matches('/'));
    let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
    let request = query.iter().fold(agent.get(&address), |request, (key, value)| request.query(key, value));
    let mut response = request
        .call()
        .with_context(|| format!("no answer from {address}: is `fingerpost up` running there?"))?;
    let text =
        response.body_mut().with_config().limit(MOST).read_to_string().with_context(|| address.clone())?;
    ensure!(response.status().is_success(), "{address} says: {}", text.trim());
    Ok(text)
}

/// Whether an argument is the address of a running instance.
pub fn is_url(argument: &str) -> bool {
    argument.starts_with("http://") || argument.starts_with("https://")
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

/// A folder that is not there is most often a slip of the pen, and would look like an empty plan.
fn require_folders(clusters: &[ClusterFolders]) -> Result<()> {
    for folder in clusters.iter().flat_map(|cluster| &cluster.folders) {
        ensure!(folder.exists(), "there is no folder {}: check the path", folder.display());
        ensure!(folder.is_dir(), "{} is not a folder: name the folder that holds it", folder.display());
    }
    Ok(())
}
