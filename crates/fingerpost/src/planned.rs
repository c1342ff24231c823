//! From the command line to a plan, once: what `plan`, `explain` and `check` start from.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use api::Object;
use jiff::civil::Date;
use planner::document::Document;
use planner::{Change, ClusterId, Planner};

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
        let reading = source.read();
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
