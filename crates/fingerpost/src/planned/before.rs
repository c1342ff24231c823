//! A plan that another one follows: a saved one, a running instance's, or that of folders.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use jiff::civil::Date;
use planner::document::Document;
use planner::{Change, ClusterId, Rules};

use super::{Planned, fetch_plan, is_url};
use crate::cli::ReaderArguments;
use crate::render::numbers::count;
use crate::source::{ClusterFolders, Reading, Severity, Source, SourceProblem};

/// A plan that another one follows.
pub struct Before {
    /// The plan, with what it has in force.
    pub document: Document,
    /// The folders, where the plan is that of folders: they say what each file held.
    pub(super) folders: Option<Source>,
    knows_files: bool,
}

impl Before {
    fn of_document(document: Document) -> Before {
        Before { document, folders: None, knows_files: false }
    }

    /// What a plan of folders goes on from that have been read: serials, who holds which names, and what is in force.
    pub(super) fn changes(
        &self,
        clusters: &[ClusterFolders],
        source: &Source,
        reading: &mut Reading,
    ) -> Vec<Change> {
        let names: Vec<String> = clusters.iter().map(|cluster| cluster.name.clone()).collect();
        let mut changes = self.document.serials();
        changes.push(self.document.holders(&names));
        changes.extend(self.document.directions(&names));
        changes.extend(self.document.in_force(&names, &reading.changes));
        if !self.knows_files {
            let kept = self.unproven(clusters, source, reading);
            changes.extend(self.document.in_force(&names, &kept));
            changes.extend(kept);
        }
        changes
    }

    /// How targets are, for the probes of a plan that went on from this one.
    pub(super) fn health(&self) -> Vec<Change> {
        self.document.health()
    }

    /// The objects that are declared no longer, in clusters with files that cannot be read: nothing proves that they
    /// are gone, and the plan does not say which file declared them.
    fn unproven(&self, clusters: &[ClusterFolders], source: &Source, reading: &mut Reading) -> Vec<Change> {
        let mut all = Vec::new();
        for id in source.unproven() {
            let Some(cluster) = clusters.get(usize::from(id.0)) else { continue };
            let kept = self.document.unproven((id, &cluster.name), &reading.changes);
            if !kept.is_empty() {
                reading.problems.push(kept_problem(id, cluster.folders.first(), kept.len()));
            }
            all.extend(kept);
        }
        all
    }
}

fn kept_problem(cluster: ClusterId, folder: Option<&PathBuf>, kept: usize) -> SourceProblem {
    let message = format!(
        "{} of the plan before are declared in no file that can be read: they stay in force, since that plan does not \
         say which file declared them",
        count(kept as u64, "object")
    );
    let path = folder.cloned().unwrap_or_default();
    SourceProblem { cluster, path, line: 0, column: 0, message, object: None, severity: Severity::Refused }
}

/// A plan to compare with: a saved one, a running instance's, or that of folders.
pub fn before(arguments: &[String], date: Date, rules: &Rules, reader: &ReaderArguments) -> Result<Before> {
    if let [single] = arguments {
        if is_url(single) {
            return Ok(Before::of_document(fetch_plan(single, reader)?));
        }
        if Path::new(single).is_file() {
            let text = std::fs::read_to_string(single).with_context(|| format!("cannot read {single}"))?;
            return Ok(Before::of_document(Document::parse(&text).with_context(|| single.clone())?));
        }
    }
    let planned = Planned::read(arguments, date, rules)?;
    if let Some(problem) = planned.problems.iter().find(|problem| problem.severity == Severity::Refused) {
        bail!("cannot compare with a plan that is not whole: {problem}");
    }
    let document = Document::of(&planned.planner);
    Ok(Before { document, folders: Some(planned.source), knows_files: true })
}
