//! One thing that was found, and how findings are printed.

use std::cmp::Ordering;
use std::path::PathBuf;

use planner::{ClusterId, ObjectRef};
use serde::Serialize;

use crate::render::numbers::count;
use crate::render::{self, Palette};

/// How many of the objects that wait are named in a line.
const MOST_NAMED: usize = 3;

/// One thing that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Finding {
    pub(super) file: PathBuf,
    pub(super) line: u32,
    pub(super) column: u32,
    pub(super) severity: Severity,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) object: Option<String>,
    pub(super) message: String,
    /// The objects that have no effect until this is mended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) waiting: Vec<String>,
    /// The object, for programs.
    #[serde(skip)]
    pub(super) key: Option<(ClusterId, ObjectRef)>,
    /// Whether this is why the object is not ready.
    #[serde(skip)]
    pub(super) is_ready: bool,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Severity {
    Error,
    Warning,
}

impl Finding {
    /// A finding without a place.
    pub(super) fn new(severity: Severity, message: String) -> Finding {
        Finding {
            file: PathBuf::new(),
            line: 0,
            column: 0,
            severity,
            object: None,
            message,
            waiting: Vec::new(),
            key: None,
            is_ready: false,
        }
    }

    /// The same, about an object.
    pub(super) fn about(self, cluster: ClusterId, object: &ObjectRef) -> Finding {
        Finding { object: Some(render::object(object)), key: Some((cluster, object.clone())), ..self }
    }

    /// Errors first, and those first that others wait for; then by place.
    fn rank(&self) -> impl Ord + '_ {
        let Finding { file, line, column, severity, object, message, waiting, .. } = self;
        (*severity, waiting.is_empty(), file, *line, *column, object, message)
    }
}

impl PartialOrd for Finding {
    fn partial_cmp(&self, other: &Finding) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Finding {
    fn cmp(&self, other: &Finding) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

/// The findings as lines, and their sum.
pub(super) fn text(findings: &[Finding], objects: u64, refused: bool, palette: Palette) -> String {
    let lines = findings.iter().map(|finding| line(finding, palette));
    let summary = summary(findings, objects, refused);
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
    format!("{place}: {severity}: {object}{}{}", finding.message, waiting(&finding.waiting))
}

fn waiting(waiting: &[String]) -> String {
    if waiting.is_empty() {
        return String::new();
    }
    let verb = if waiting.len() == 1 { "waits" } else { "wait" };
    let named = waiting.iter().take(MOST_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = waiting.len().saturating_sub(MOST_NAMED);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!(" ({} {verb} for it: {named}{more})", count(waiting.len() as u64, "object"))
}

fn summary(findings: &[Finding], objects: u64, refused: bool) -> String {
    let of = |severity| findings.iter().filter(|finding| finding.severity == severity).count() as u64;
    let (errors, warnings) = (of(Severity::Error), of(Severity::Warning));
    let verdict = if refused { "refused" } else { "good" };
    format!(
        "{verdict}: {}, {}, {}",
        count(objects, "object"),
        count(errors, "error"),
        count(warnings, "warning")
    )
}
