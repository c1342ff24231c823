//! `fingerpost check`: everything that is wrong in the folders, and what may be missing.
//!
//! ```text
//! files, validation ──► errors ─┐
//! plan, Secrets ──► warnings ───┴─► consequences folded into their causes ──► errors first
//! ```
//!
//! Refused is what admission refuses: files and objects that do not read, objects that break a
//! rule, regions that nobody serves. What only the plan finds wanting, such as a reference to an
//! object that is not in the folders, is a warning: it may be applied later.

mod consequences;
mod finding;
mod secrets;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use api::{Object, Problem, Spec};
use planner::{ClusterId, ObjectRef};
use server::Network;

use self::finding::{Finding, Severity};
use super::{Ending, print};
use crate::cli::{CheckArguments, DataOutput};
use crate::planned::{self, Planned};
use crate::render::Palette;
use crate::secrets::SecretFiles;
use crate::source::{self, Fields, SourceProblem};

pub(super) fn run(arguments: &CheckArguments, palette: Palette) -> Result<Ending> {
    let planned =
        Planned::read_files(&arguments.folders, planned::current_date(), &arguments.tenancy.rules())?;
    let check = Check {
        allowed: arguments.targets.networks_of(arguments.dns)?,
        secret_files: arguments.secrets.clone().map(SecretFiles::new),
        planned: &planned,
    };
    let findings = check.findings();
    let refused = findings.iter().any(|one| arguments.strict || one.severity == Severity::Error);
    print(&match arguments.output {
        DataOutput::Text => finding::text(&findings, planned.objects.len() as u64, refused, palette),
        DataOutput::Json => serde_json::to_string_pretty(&findings)? + "\n",
    })?;
    Ok(if refused { Ending::Failed } else { Ending::Good })
}

/// What is checked, and by which circumstances.
struct Check<'a> {
    planned: &'a Planned,
    /// The networks that classes may point at although they are inward.
    allowed: Vec<Network>,
    secret_files: Option<SecretFiles>,
}

impl Check<'_> {
    fn findings(&self) -> Vec<Finding> {
        let planned = self.planned;
        let mut places = Places { planned, fields: Fields::of(&planned.source) };
        let mut findings: Vec<Finding> = planned.problems.iter().map(of_source).collect();
        for (cluster, object) in &planned.objects {
            let is_allowed = |address| self.allowed.iter().any(|network| network.contains(address));
            let mut problems = api::validate(object);
            problems.extend(api::forbidden_targets(object, is_allowed));
            findings.extend(problems.iter().map(|problem| places.refused(*cluster, object, problem)));
        }
        findings.extend(unserved(&mut places));
        findings.extend(endpoints(&mut places));
        let known = Known::of(&findings);
        let mut more = wanting(&mut places);
        more.extend(file_notes(planned));
        more.extend(self.missing_secrets(&mut places));
        findings.extend(more.into_iter().filter(|one| known.lacks(one)));
        let mut findings = consequences::folded(findings, planned);
        findings.sort();
        findings.dedup();
        findings
    }
}

/// Where objects and their fields are declared.
struct Places<'a> {
    planned: &'a Planned,
    fields: Fields<'a>,
}

impl Places<'_> {
    fn refused(&mut self, cluster: ClusterId, object: &Object, problem: &Problem) -> Finding {
        self.at_field(cluster, &reference(object), &problem.field, Severity::Error, problem.to_string())
    }

    /// A finding where a field of the object is.
    fn at_field(
        &mut self,
        cluster: ClusterId,
        object: &ObjectRef,
        field: &str,
        severity: Severity,
        message: String,
    ) -> Finding {
        let finding = self.at(cluster, object, severity, message);
        match self.fields.locate(cluster, object, field) {
            Some((line, column)) => Finding { line, column, ..finding },
            None => finding,
        }
    }

    /// A finding where the object is declared.
    fn at(&self, cluster: ClusterId, object: &ObjectRef, severity: Severity, message: String) -> Finding {
        let (file, line, column) = self.planned.source.locate(cluster, object).unwrap_or_default();
        let place = Finding { file, line, column, ..Finding::new(severity, message) };
        place.about(cluster, object)
    }

    /// A finding of the plan; its message may name a field or an annotation.
    fn of_note(&mut self, cluster: ClusterId, object: &ObjectRef, note: &planner::Note) -> Finding {
        let message = format!("{}: {}", note.reason, note.message);
        let named = note.message.split_once(": ").map_or("", |(named, _)| named);
        let finding = match named.strip_prefix("annotation ") {
            Some(key) => self.at_annotation(cluster, object, key, severity_of(note), message),
            None if named.starts_with("spec.") && !named.contains(' ') => {
                self.at_field(cluster, object, named, severity_of(note), message)
            }
            None => self.at(cluster, object, severity_of(note), message),
        };
        Finding { is_ready: note.condition == "Ready", ..finding }
    }

    /// A finding where an annotation of the object is.
    fn at_annotation(
        &mut self,
        cluster: ClusterId,
        object: &ObjectRef,
        key: &str,
        severity: Severity,
        message: String,
    ) -> Finding {
        let finding = self.at(cluster, object, severity, message);
        match self.fields.locate_annotation(cluster, object, key) {
            Some((line, column)) => Finding { line, column, ..finding },
            None => finding,
        }
    }
}

fn of_source(problem: &SourceProblem) -> Finding {
    let severity = match problem.severity {
        source::Severity::Refused => Severity::Error,
        source::Severity::Remark => Severity::Warning,
    };
    let finding = Finding {
        file: problem.path.clone(),
        line: problem.line,
        column: problem.column,
        ..Finding::new(severity, problem.message.clone())
    };
    match &problem.object {
        Some(object) => finding.about(problem.cluster, object),
        None => finding,
    }
}

fn reference(object: &Object) -> ObjectRef {
    ObjectRef {
        kind: object.kind(),
        namespace: object.meta.namespace.clone(),
        name: object.meta.name.clone(),
    }
}

/// Adopted regions that no controller serves, in clusters that say which controllers there are.
fn unserved(places: &mut Places<'_>) -> Vec<Finding> {
    let planned = places.planned;
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
        findings.extend(problems.iter().map(|problem| places.refused(*cluster, object, problem)));
    }
    findings
}

/// What is wrong with the DNSEndpoints of users. They are not of our kinds, so only the plan judges them: an
/// entry that is invalid in itself is an error, and what depends on other objects a warning.
fn endpoints(places: &mut Places<'_>) -> Vec<Finding> {
    let planned = places.planned;
    let is_endpoint = |object: &&(ClusterId, Arc<Object>)| matches!(object.1.spec, Spec::DNSEndpoint(_));
    let mut findings = Vec::new();
    for (cluster, object) in planned.objects.iter().filter(is_endpoint) {
        let reference = reference(object);
        let notes = planned.planner.notes(*cluster, &reference).into_iter();
        let wanting =
            notes.filter(|note| note.severity >= planner::Severity::Warning && note.condition == "Ready");
        findings.extend(wanting.map(|note| {
            let severity = if note.reason == "InvalidEndpoint" { Severity::Error } else { Severity::Warning };
            Finding { severity, ..places.of_note(*cluster, &reference, &note) }
        }));
    }
    findings
}

/// What the plan finds wanting.
fn wanting(places: &mut Places<'_>) -> Vec<Finding> {
    let planner = &places.planned.planner;
    let mut findings = Vec::new();
    for (cluster, object) in planner.noted_objects() {
        let notes = planner.notes(cluster, &object).into_iter();
        // `Stalled` only repeats what `Ready` says.
        let wanting =
            notes.filter(|note| note.severity >= planner::Severity::Warning && note.condition != "Stalled");
        findings.extend(wanting.map(|note| places.of_note(cluster, &object, &note)));
    }
    findings
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
        ..Finding::new(Severity::Warning, note.message)
    })
}

/// The findings before those of the plan, by what a finding of the plan may repeat.
struct Known {
    /// The objects that have an error, each with its file.
    refused: BTreeSet<(Option<String>, PathBuf)>,
    /// The files with an error that is about no object.
    broken: BTreeSet<PathBuf>,
    /// Every message with its line.
    messages: BTreeSet<(u32, String)>,
}

impl Known {
    fn of(findings: &[Finding]) -> Known {
        let errors = findings.iter().filter(|finding| finding.severity == Severity::Error);
        let (about_objects, about_files): (Vec<_>, Vec<_>) = errors.partition(|one| one.object.is_some());
        Known {
            refused: about_objects.iter().map(|one| (one.object.clone(), one.file.clone())).collect(),
            broken: about_files.iter().map(|one| one.file.clone()).collect(),
            messages: findings.iter().map(|finding| (finding.line, finding.message.clone())).collect(),
        }
    }

    /// Whether there is no error of the same object, none of the file that makes the object invalid, and no equal
    /// message at the same line.
    fn lacks(&self, finding: &Finding) -> bool {
        let is_of_file =
            || finding.message.starts_with("ValidationFailed: ") && self.broken.contains(&finding.file);
        match &finding.object {
            Some(_) if is_of_file() => false,
            Some(_) => !self.refused.contains(&(finding.object.clone(), finding.file.clone())),
            None => !self.messages.contains(&(finding.line, finding.message.clone())),
        }
    }
}
