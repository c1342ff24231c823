//! Whether an object may be as it is: the rules of its kind, and what only the rest of the
//! cluster tells.

use std::net::IpAddr;

use api::{DNSConfigurationSpec, Kind, Lookup, Object, Problem, Spec};
use serde_json::Value;
use serde_path_to_error::{Deserializer, Track};

use super::review::Request;

/// What admission knows beyond the object itself.
pub trait Context: Send + Sync + 'static {
    /// The DNSConfiguration in force, where there is one.
    fn configuration(&self) -> Option<DNSConfigurationSpec>;

    /// Why no domain grant lets the object's namespace claim its name, if none does.
    fn missing_grant(&self, object: &Object) -> Option<String>;

    /// Whether requests of ours may go to an address of this machine or its link.
    fn allows_target(&self, address: IpAddr) -> bool;
}

/// What the API server lets through is in its definitions, so those are newer than this program.
const NEWER: &str = "the running fingerpost is older than the installed definitions and leaves out fields that it does not know";

/// What becomes of a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It passes, with warnings that its sender is shown.
    Allowed(Vec<String>),
    /// It does not, for these reasons.
    Refused(Vec<String>),
}

impl Verdict {
    /// It passes with a warning.
    pub(super) fn warn(warning: impl Into<String>) -> Verdict {
        Verdict::Allowed(vec![warning.into()])
    }
}

/// Judges a request.
pub(super) fn judge(request: &Request, context: &dyn Context) -> Verdict {
    if !changes_what_is_judged(request) {
        return Verdict::Allowed(Vec::new());
    }
    let (api_version, kind) = (request.kind.api_version(), &request.kind.kind);
    match Kind::lookup(&api_version, kind) {
        Lookup::Known(kind) if kind.is_ours() => judge_object(kind, &request.object, context),
        _ => Verdict::warn(format!("fingerpost has no rules for {kind} in {api_version}: it is not judged")),
    }
}

/// Deletions and changes of metadata or status pass, whatever state the object is in: nothing may
/// keep an object from being labelled, released or removed.
fn changes_what_is_judged(request: &Request) -> bool {
    let spec = |object: &Value| object.get("spec").cloned();
    match request.operation.as_str() {
        _ if !request.sub_resource.is_empty() => false,
        "CREATE" => true,
        "UPDATE" => spec(&request.object) != spec(&request.old_object),
        _ => false,
    }
}

fn judge_object(kind: Kind, object: &Value, context: &dyn Context) -> Verdict {
    let judged = to_be_judged(kind, object);
    let problems = problems(kind, &judged, context);
    if !problems.is_empty() {
        return Verdict::Refused(problems.iter().map(sentence).collect());
    }
    match judged.get("spec") == object.get("spec") {
        true => Verdict::Allowed(Vec::new()),
        false => Verdict::warn(NEWER),
    }
}

fn sentence(problem: &Problem) -> String {
    if problem.field.is_empty() { problem.message.clone() } else { problem.to_string() }
}

fn problems(kind: Kind, object: &Value, context: &dyn Context) -> Vec<Problem> {
    match decode(kind, object) {
        Ok(object) => wrong_in(&object, context),
        Err(problem) => vec![problem],
    }
}

fn wrong_in(object: &Object, context: &dyn Context) -> Vec<Problem> {
    let mut problems = api::validate(object);
    if let Spec::ClusterIdentity(identity) = &object.spec
        && let Some(configuration) = context.configuration()
    {
        problems.extend(api::unserved_regions(identity, &configuration));
    }
    problems.extend(api::forbidden_targets(object, |address| context.allows_target(address)));
    if problems.is_empty() {
        let missing = context.missing_grant(object);
        problems.extend(missing.map(|message| Problem::new("", "", format!("DomainNotGranted: {message}"))));
    }
    problems
}

fn decode(kind: Kind, object: &Value) -> Result<Object, Problem> {
    let mut track = Track::new();
    let decoded = api::decode(kind, Deserializer::new(object, &mut track));
    decoded.map_err(|error| {
        let path = track.path().to_string();
        let field = if matches!(path.as_str(), "." | "?") { "" } else { path.trim_end_matches(".?") };
        let message = error.to_string();
        let (value, message) = api::unknown_value_in_words(&message).unwrap_or((String::new(), message));
        Problem::new(field, value, message)
    })
}

/// The object without its status and without what only newer definitions have, as the planner will
/// see it. A name that is yet to be generated is represented by its beginning.
fn to_be_judged(kind: Kind, object: &Value) -> Value {
    let mut judged = object.clone();
    api::prune(kind, &mut judged);
    let Value::Object(parts) = &mut judged else { return judged };
    parts.remove("status");
    if let Some(Value::Object(metadata)) = parts.get_mut("metadata") {
        let prefix = metadata.get("generateName").cloned().unwrap_or_default();
        metadata.entry("name").or_insert(prefix);
    }
    judged
}
