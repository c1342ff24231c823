//! Whether an object may be as it is: the rules of its kind, and what only the rest of the
//! cluster tells.

use std::net::IpAddr;

use api::{DNSConfigurationSpec, Kind, Lookup, Object, Problem, Spec};
use serde_json::{Map, Value};
use serde_path_to_error::{Deserializer, Track};

use super::review::Request;

/// What admission knows beyond the object itself.
pub trait Context: Send + Sync + 'static {
    /// The DNSConfiguration in force, where there is one.
    fn configuration(&self) -> Option<DNSConfigurationSpec>;

    /// Whether requests of ours may go to an address of this machine or its link.
    fn allows_target(&self, address: IpAddr) -> bool;
}

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
        Lookup::Known(kind) if kind.is_ours() => refuse_for(problems(kind, &request.object, context)),
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

fn refuse_for(problems: Vec<Problem>) -> Verdict {
    match problems.is_empty() {
        true => Verdict::Allowed(Vec::new()),
        false => Verdict::Refused(problems.iter().map(sentence).collect()),
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
    problems
}

fn decode(kind: Kind, object: &Value) -> Result<Object, Problem> {
    let object = to_be_judged(object);
    let mut track = Track::new();
    let decoded = api::decode(kind, Deserializer::new(&object, &mut track));
    decoded.map_err(|error| {
        let path = track.path().to_string();
        let field = if matches!(path.as_str(), "." | "?") { "" } else { path.trim_end_matches(".?") };
        Problem::new(field, "", error.to_string())
    })
}

/// The object without its status, and of its metadata what decoding knows: the API server may
/// have fields there that are newer than this program. A name that is yet to be generated is
/// represented by its beginning.
fn to_be_judged(object: &Value) -> Value {
    const KEPT: [&str; 5] = ["name", "namespace", "uid", "labels", "annotations"];
    let Value::Object(object) = object else { return object.clone() };
    let mut judged: Map<String, Value> = object.clone();
    judged.remove("status");
    if let Some(Value::Object(metadata)) = judged.get_mut("metadata") {
        let prefix = metadata.remove("generateName").unwrap_or_default();
        metadata.retain(|field, _| KEPT.contains(&field.as_str()));
        metadata.entry("name").or_insert(prefix);
    }
    Value::Object(judged)
}
