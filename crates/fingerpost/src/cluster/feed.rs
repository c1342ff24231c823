//! From what arrives to what the planner is told.

use std::sync::Arc;

use api::{Kind, Object, Problem};
use planner::marks::LAST_VALID_SPEC;
use planner::{Change, ClusterId, ObjectRef};
use serde_json::Value;

use super::{Arrival, Key};

/// The one cluster that a process in a cluster plans for.
pub const HERE: ClusterId = ClusterId(0);
/// What `kubectl apply` leaves behind: a copy of the whole object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// What the planner is told about an object that is there.
pub fn changes(kind: Kind, arrival: &Arrival) -> Vec<Change> {
    match decode(kind, arrival.text.get()) {
        Ok(object) if kind == Kind::DNSEndpoint && planner::is_own_child(&object) => {
            vec![gone(kind, &arrival.key)]
        }
        Ok(object) => seen(object),
        Err(message) => broken(kind, arrival, message),
    }
}

/// What the planner is told about an object that is gone.
pub fn gone(kind: Kind, key: &Key) -> Change {
    Change::Delete(HERE, reference(kind, key))
}

/// An object as the planner names it.
pub fn reference(kind: Kind, key: &Key) -> ObjectRef {
    ObjectRef { kind, namespace: key.namespace.clone(), name: key.name.clone() }
}

/// An object and, before it, its last valid version where the operator wrote one down.
fn seen(mut object: Object) -> Vec<Change> {
    object.meta.annotations.remove(LAST_APPLIED);
    let before = object.meta.annotations.remove(LAST_VALID_SPEC);
    let before = before.and_then(|spec| planner::from_last_valid(object.kind(), &object.meta, &spec));
    let before = before.map(|object| Change::LastValid(HERE, Arc::new(object)));
    before.into_iter().chain([Change::Put(HERE, Arc::new(object))]).collect()
}

fn broken(kind: Kind, arrival: &Arrival, message: String) -> Vec<Change> {
    let problems = vec![Problem::new("", "", message)];
    let refused = match sketch(kind, arrival.text.get()) {
        Some(sketch) => Change::BrokenZone(HERE, Arc::new(sketch), problems),
        None => Change::Broken(HERE, reference(kind, &arrival.key), problems),
    };
    let before = last_valid(kind, arrival.text.get());
    before.map(|object| Change::LastValid(HERE, Arc::new(object))).into_iter().chain([refused]).collect()
}

/// What can be told of a Zone that cannot be decoded.
fn sketch(kind: Kind, text: &str) -> Option<Object> {
    let manifest = (kind == Kind::Zone).then(|| serde_json::from_str(text).ok()).flatten()?;
    api::zone_sketch(&manifest)
}

/// The last valid version of an object that cannot be decoded, where the operator wrote one down.
fn last_valid(kind: Kind, text: &str) -> Option<Object> {
    let mut manifest: Value = serde_json::from_str(text).ok()?;
    let spec = manifest["metadata"]["annotations"][LAST_VALID_SPEC].as_str()?.to_owned();
    manifest["spec"] = serde_json::from_str(&spec).ok()?;
    // Whoever may write the object may write the annotation too.
    pruned(kind, manifest).ok().filter(|object| api::validate(object).is_empty())
}

/// Decodes an object; what a newer version of its CRD added is left out.
fn decode(kind: Kind, text: &str) -> Result<Object, String> {
    if let Ok(object) = api::decode(kind, &mut serde_json::Deserializer::from_str(text)) {
        return Ok(object);
    }
    pruned(kind, serde_json::from_str(text).map_err(|error| error.to_string())?)
}

fn pruned(kind: Kind, mut manifest: Value) -> Result<Object, String> {
    api::prune(kind, &mut manifest);
    api::decode(kind, manifest).map_err(|error| in_words(&error.to_string()))
}

fn in_words(message: &str) -> String {
    let unknown = api::unknown_value_in_words(message);
    unknown.map_or_else(|| message.to_owned(), |(value, words)| format!("`{value}` {words}"))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    /// A Record that cannot be decoded, with a spec in the annotation that anybody may write.
    fn undecodable(rtype: &str, rdata: &str, name: &str) -> String {
        let spec = json!({"domainName": name, "type": rtype, "rdata": rdata}).to_string();
        json!({
            "apiVersion": "kubi.zone/v1alpha1", "kind": "Record", "spec": {"type": 7},
            "metadata": {"name": "x", "namespace": "team", "annotations": {LAST_VALID_SPEC: spec}},
        })
        .to_string()
    }

    #[rstest]
    #[case::valid("A", "192.0.2.1", "www.example.org", true)]
    #[case::executed("TYPE65402", "\\# 4 00010131", "www.example.org", false)]
    #[case::reserved_name("A", "192.0.2.1", "x._fingerpost.example.org", false)]
    #[case::reserved_text("TXT", "heritage=external-dns", "a-www.example.org", false)]
    fn the_annotation_brings_only_what_is_valid_into_force(
        #[case] rtype: &str,
        #[case] rdata: &str,
        #[case] name: &str,
        #[case] counts: bool,
    ) {
        assert_eq!(last_valid(Kind::Record, &undecodable(rtype, rdata, name)).is_some(), counts);
    }
}
