//! Writes as requests: server-side apply of children, metadata, status and serials, and deletion.
//!
//! An apply names the uid of the object that it was made for, so that it never reaches another
//! object of the same name; a deletion names uid and version of what was seen.

use http::Request;
use planner::marks::FINALIZER;
use planner::{ChildKind, ChildRef, ObjectRef};
use serde_json::{Value, json};

use super::live::{LiveChild, LiveObject};
use super::send::{Verb, Write};
use crate::cluster::Subject;
use crate::cluster::child::MANAGER;
use crate::cluster::subject::SERIALS;

/// Applies a child; a default policy is only ever created.
pub fn apply_child(child: &ChildRef, manifest: &Value) -> Option<Write> {
    let subject = Subject::of_children(child.kind);
    if child.kind == ChildKind::DefaultPolicy {
        return create(subject, &child.namespace, manifest);
    }
    apply(subject, subject.object_path(&child.namespace, &child.name), manifest, false)
}

/// Deletes a child, if it still is what was seen.
pub fn delete_child(child: &ChildRef, live: &LiveChild) -> Option<Write> {
    let subject = Subject::of_children(child.kind);
    let preconditions = json!({ "uid": live.uid, "resourceVersion": live.version.to_string() });
    let body = json!({ "apiVersion": "v1", "kind": "DeleteOptions", "preconditions": preconditions });
    let request = Request::delete(subject.object_path(&child.namespace, &child.name))
        .header("content-type", "application/json")
        .body(serde_json::to_vec(&body).ok()?)
        .ok()?;
    Some(Write { verb: Verb::Delete, subject, status: false, request })
}

/// Applies labels and annotations to an object of ours.
pub fn apply_metadata(object: &ObjectRef, live: &LiveObject, document: &Value) -> Option<Write> {
    let mut metadata = document["metadata"].clone();
    metadata["uid"] = json!(live.uid);
    let manifest = head(object, metadata);
    let subject = Subject::Kind(object.kind);
    apply(subject, subject.object_path(&object.namespace, &object.name), &manifest, false)
}

/// Takes our finalizer off an object, whoever put it there; others stay.
pub fn release(object: &ObjectRef, live: &LiveObject) -> Option<Write> {
    let others: Vec<&str> =
        live.finalizers.iter().map(|one| &**one).filter(|one| *one != FINALIZER).collect();
    let metadata =
        json!({ "uid": live.uid, "resourceVersion": live.version.to_string(), "finalizers": others });
    let subject = Subject::Kind(object.kind);
    let path = subject.object_path(&object.namespace, &object.name);
    let request = Request::patch(format!("{path}?fieldManager={MANAGER}"))
        .header("content-type", "application/merge-patch+json")
        .header("accept", "application/json")
        .body(serde_json::to_vec(&json!({ "metadata": metadata })).ok()?)
        .ok()?;
    Some(Write { verb: Verb::Patch, subject, status: false, request })
}

/// Applies the status of an object of ours.
pub fn apply_status(object: &ObjectRef, live: &LiveObject, status: Value) -> Option<Write> {
    let mut metadata = json!({ "name": object.name, "uid": live.uid });
    if object.kind.namespaced() {
        metadata["namespace"] = json!(object.namespace);
    }
    let mut manifest = head(object, metadata);
    manifest["status"] = status;
    let subject = Subject::Kind(object.kind);
    let path = format!("{}/status", subject.object_path(&object.namespace, &object.name));
    apply(subject, path, &manifest, true)
}

/// Applies the serials of implied zones.
pub fn apply_serials(namespace: &str, data: &std::collections::BTreeMap<String, String>) -> Option<Write> {
    let metadata = json!({ "name": SERIALS, "namespace": namespace });
    let manifest = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data });
    apply(Subject::Serials, Subject::Serials.object_path(namespace, SERIALS), &manifest, false)
}

fn head(object: &ObjectRef, metadata: Value) -> Value {
    json!({ "apiVersion": object.kind.api_version(), "kind": object.kind.kind(), "metadata": metadata })
}

fn create(subject: Subject, namespace: &str, manifest: &Value) -> Option<Write> {
    let request = Request::post(format!("{}?fieldManager={MANAGER}", subject.objects_path(namespace)))
        .header("content-type", "application/json")
        .header("accept", "application/json")
        .body(serde_json::to_vec(manifest).ok()?)
        .ok()?;
    Some(Write { verb: Verb::Create, subject, status: false, request })
}

fn apply(subject: Subject, path: String, manifest: &Value, status: bool) -> Option<Write> {
    let request = Request::patch(format!("{path}?fieldManager={MANAGER}&force=true"))
        .header("content-type", "application/apply-patch+yaml")
        .header("accept", "application/json")
        .body(serde_json::to_vec(manifest).ok()?)
        .ok()?;
    Some(Write { verb: Verb::Patch, subject, status, request })
}
