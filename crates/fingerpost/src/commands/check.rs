//! `fingerpost check`: everything that is wrong in the folders, and what may be missing.
//!
//! Refused is what admission refuses: files and objects that do not read, objects that break a
//! rule, regions that nobody serves. What only the plan finds wanting, such as a reference to an
//! object that is not in the folders, is a warning: it may be applied later.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use api::{Object, Problem, Spec};
use planner::{ClusterId, ObjectRef};
use serde::Serialize;
use server::Network;

use super::{Ending, print};
use crate::cli::{CheckArguments, DataOutput};
use crate::planned::{self, Planned};
use crate::render::numbers::count;
use crate::render::{self, Palette};
use crate::source::{self, SourceProblem};

/// One thing that was found.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
struct Finding {
    file: PathBuf,
    line: u32,
    column: u32,
    severity: Severity,
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<String>,
    message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
enum Severity {
    Error,
    Warning,
}

pub(super) fn run(arguments: &CheckArguments, palette: Palette) -> Result<Ending> {
    let planned =
        Planned::read(&arguments.folders.folders, planned::current_date(), &arguments.tenancy.rules())?;
    let allowed = arguments.targets.networks()?;
    let findings = findings(&planned, &allowed);
    print(&match arguments.output {
        DataOutput::Text => text(&findings, &planned, palette),
        DataOutput::Json => serde_json::to_string_pretty(&findings)? + "\n",
    })?;
    let refused = findings.iter().any(|finding| finding.severity == Severity::Error);
    Ok(if refused { Ending::Failed } else { Ending::Good })
}

fn findings(planned: &Planned, allowed: &[Network]) -> Vec<Finding> {
    let mut findings: Vec<Finding> = planned.problems.iter().map(of_source).collect();
    for (cluster, object) in &planned.objects {
        let is_allowed = |address| allowed.iter().any(|network| network.contains(address));
        let mut problems = api::validate(object);
        problems.extend(api::forbidden_targets(object, is_allowed));
        findings.extend(problems.iter().map(|problem| refused(planned, *cluster, object, problem)));
    }
    findings.extend(unserved(planned));
    findings.extend(endpoints(planned));
    let known = Known::of(&findings);
    let more: Vec<Finding> =
        wanting(planned).chain(file_notes(planned)).filter(|one| known.lacks(one)).collect();
    findings.extend(more);
    findings.sort();
    findings.dedup();
    findings
}

fn of_source(problem: &SourceProblem) -> Finding {
    Finding {
        file: problem.path.clone(),
        line: problem.line,
        column: problem.column,
        severity: match problem.severity {
            source::Severity::Refused => Severity::Error,
            source::Severity::Remark => Severity::Warning,
        },
        object: problem.object.as_ref().map(render::object),
        message: problem.message.clone(),
    }
}

fn refused(planned: &Planned, cluster: ClusterId, object: &Object, problem: &Problem) -> Finding {
    at(planned, cluster, &reference(object), Severity::Error, problem.to_string())
}

/// A finding where the object is declared.
fn at(
    planned: &Planned,
    cluster: ClusterId,
    object: &ObjectRef,
    severity: Severity,
    message: String,
) -> Finding {
    let (file, line, column) = planned.source.locate(cluster, object).unwrap_or_default();
    Finding { file, line, column, severity, object: Some(render::object(object)), message }
}

fn reference(object: &Object) -> ObjectRef {
    ObjectRef {
        kind: object.kind(),
        namespace: object.meta.namespace.clone(),
        name: object.meta.name.clone(),
    }
}

/// Adopted regions that no controller serves, in clusters that say which controllers there are.
fn unserved(planned: &Planned) -> Vec<Finding> {
    let mut configurations = BTreeMap::new();
    for (cluster, object) in &planned.objects {
        if let Spec::DNSConfiguration(spec) = &object.spec {
            configurations.entry(*cluster).or_insert(spec);
        }
    }
    let mut findings = Vec::new();
    for (cluster, object) in &planned.objects {
        let Spec::ClusterIdentity(identity) = &object.spec else { continue };
        let Some(configuration) = configurations.get(cluster) else { continue };
        let problems = api::unserved_regions(identity, configuration);
        findings.extend(problems.iter().map(|problem| refused(planned, *cluster, object, problem)));
    }
    findings
}

/// What is wrong with the DNSEndpoints of users. They are not of our kinds, so only the plan judges them: an
/// entry that is invalid in itself is an error, and what depends on other objects a warning.
fn endpoints(planned: &Planned) -> Vec<Finding> {
    let is_endpoint = |object: &&(ClusterId, Arc<Object>)| matches!(object.1.spec, Spec::DNSEndpoint(_));
    let mut findings = Vec::new();
    for (cluster, object) in planned.objects.iter().filter(is_endpoint) {
        let reference = reference(object);
        let notes = planned.planner.notes(*cluster, &reference).into_iter();
        let wanting =
            notes.filter(|note| note.severity >= planner::Severity::Warning && note.condition == "Ready");
        findings.extend(wanting.map(|note| {
            let is_invalid = note.reason == "InvalidEndpoint";
            let severity = if is_invalid { Severity::Error } else { Severity::Warning };
            at(planned, *cluster, &reference, severity, format!("{}: {}", note.reason, note.message))
        }));
    }
    findings
}

/// What the plan finds wanting.
fn wanting(planned: &Planned) -> impl Iterator<Item = Finding> {
    planned.planner.noted_objects().into_iter().flat_map(move |(cluster, object)| {
        let notes = planned.planner.notes(cluster, &object).into_iter();
        // `Stalled` only repeats what `Ready` says.
        let wanting =
            notes.filter(|note| note.severity >= planner::Severity::Warning && note.condition != "Stalled");
        let finding = move |note: planner::Note| {
            let message = format!("{}: {}", note.reason, note.message);
            at(planned, cluster, &object, severity_of(&note), message)
        };
        wanting.map(finding).collect::<Vec<_>>()
    })
}

/// What admission refuses is an error; what may come with the next object is a warning.
fn severity_of(note: &planner::Note) -> Severity {
    match note.reason {
        "DomainNotGranted" => Severity::Error,
        _ => Severity::Warning,
    }
}

fn file_notes(planned: &Planned) -> impl Iterator<Item = Finding> {
    planned.planner.file_notes().into_iter().map(|(_, note)| Finding {
        file: PathBuf::from(note.path),
        line: note.line,
        column: note.column,
        severity: Severity::Warning,
        object: None,
        message: note.message,
    })
}

/// The findings before those of the plan, by what a finding of the plan may repeat.
struct Known {
    /// The objects that have an error, each with its file.
    refused: BTreeSet<(Option<String>, PathBuf)>,
    /// Every message with its line.
    messages: BTreeSet<(u32, String)>,
}

impl Known {
    fn of(findings: &[Finding]) -> Known {
        let errors = findings.iter().filter(|finding| finding.severity == Severity::Error);
        Known {
            refused: errors.map(|finding| (finding.object.clone(), finding.file.clone())).collect(),
            messages: findings.iter().map(|finding| (finding.line, finding.message.clone())).collect(),
        }
    }

    /// Whether there is no error of the same object, and no equal message at the same line.
    fn lacks(&self, finding: &Finding) -> bool {
        match &finding.object {
            Some(_) => !self.refused.contains(&(finding.object.clone(), finding.file.clone())),
            None => !self.messages.contains(&(finding.line, finding.message.clone())),
        }
    }
}

fn text(findings: &[Finding], planned: &Planned, palette: Palette) -> String {
    let lines = findings.iter().map(|finding| line(finding, palette));
    let summary = summary(findings, planned.objects.len() as u64);
    lines.chain([summary]).map(|line| line + "\n").collect()
}

fn line(finding: &Finding, palette: Palette) -> String {
    let severity = match finding.severity {
        Severity::Error => palette.bad("error"),
        Severity::Warning => palette.warning("warning"),
    };
    // Others may have chosen the file's name.
    let file = finding.file.to_string_lossy();
    let file = dns::visible(&file);
    let place = match finding.line {
        0 => file.into_owned(),
        line => format!("{file}:{line}:{}", finding.column),
    };
    let object = finding.object.as_ref().map(|object| format!("{object}: ")).unwrap_or_default();
    format!("{place}: {severity}: {object}{}", finding.message)
}

fn summary(findings: &[Finding], objects: u64) -> String {
    let of = |severity| findings.iter().filter(|finding| finding.severity == severity).count() as u64;
    let (errors, warnings) = (of(Severity::Error), of(Severity::Warning));
    let verdict = if errors == 0 { "good" } else { "refused" };
    format!(
        "{verdict}: {}, {}, {}",
        count(objects, "object"),
        count(errors, "error"),
        count(warnings, "warning")
    )
}
