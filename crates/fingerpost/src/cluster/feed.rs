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
    let refused = Change::Broken(HERE, reference(kind, &arrival.key), vec![Problem::new("", "", message)]);
    let before = last_valid(kind, arrival.text.get());
    before.map(|object| Change::LastValid(HERE, Arc::new(object))).into_iter().chain([refused]).collect()
}

/// The last valid version of an object that cannot be decoded, where the operator wrote one down.
fn last_valid(kind: Kind, text: &str) -> Option<Object> {
    let mut manifest: Value = serde_json::from_str(text).ok()?;
    let spec = manifest["metadata"]["annotations"][LAST_VALID_SPEC].as_str()?.to_owned();
    manifest["spec"] = serde_json::from_str(&spec).ok()?;
    pruned(kind, manifest).ok()
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
    api::decode(kind, manifest).map_err(|error| error.to_string())
}
