//! The versions of objects that a plan has in force, and what it remembers of them: what the next plan goes on from
//! where a newer version cannot be in force.

use std::collections::HashMap;
use std::sync::Arc;

use api::{Kind, Object};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Document;
use crate::Planner;
use crate::facts::ObjectKey;
use crate::input::{Change, ClusterId, ObjectRef};
use crate::memory::Memory;
use crate::snapshot::Entry;

/// One object as a plan has it in force.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DocumentVersion {
    /// The cluster's name.
    pub cluster: String,
    /// The version in force. Of an object without a valid version there is only its kind and name.
    pub manifest: Value,
    /// The answers that a Placement or Gateway keeps while nothing of it can be read; whether a Zone without a valid
    /// version keeps its names from being answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
}

impl Planner {
    /// The version of an object that is in force, with what is remembered of it.
    pub(super) fn version(&self, cluster: ClusterId, reference: &ObjectRef) -> Option<DocumentVersion> {
        let key = ObjectKey::new(cluster, reference.clone());
        let entry = self.snapshot.entry(self.snapshot.id(&key)?)?;
        let memory = self.memory_of(entry);
        let manifest = match &entry.object {
            Some(object) => api::manifest(object),
            None if memory.is_some() => name_of(&key.reference),
            None => return None,
        };
        Some(DocumentVersion { cluster: self.cluster_name(cluster).to_owned(), manifest, memory })
    }

    fn memory_of(&self, Entry { key, .. }: &Entry) -> Option<Memory> {
        let placed = self.snapshot.placed.get(key);
        let placed = placed.map(|placed| Memory::of_placed(key.reference.kind, placed));
        placed.or_else(|| self.snapshot.withheld.get(key).map(Memory::of_withheld))
    }
}

impl Document {
    /// What is in force in this plan, for a plan of these clusters that is about to take these changes: the earlier
    /// versions of the objects and zone files that the changes are about, and what is remembered of them.
    pub fn in_force(&self, clusters: &[String], changes: &[Change]) -> Vec<Change> {
        let versions = self.versions.iter().filter_map(|one| Some(((&*one.cluster, one.reference()?), one)));
        let versions: HashMap<(&str, ObjectRef), &DocumentVersion> = versions.collect();
        let mut in_force = Vec::new();
        for change in changes {
            if let Change::BrokenFile(cluster, path, ..) = change {
                let zone = self.file_in_force(path).map(Arc::new);
                in_force.extend(zone.map(|zone| Change::PutFile(*cluster, path.clone(), zone, Vec::new())));
            }
            let Some((cluster, reference)) = subject(change) else { continue };
            let name = clusters.get(usize::from(cluster.0)).map_or("", String::as_str);
            let Some(version) = versions.get(&(name, reference.clone())) else { continue };
            let memory = version.memory.clone();
            in_force.extend(memory.map(|memory| Change::Remembered(cluster, reference, memory)));
            let is_newest = |object: &Object| matches!(change, Change::Put(_, newest) if **newest == *object);
            let object = version.object().filter(|object| !is_newest(object));
            in_force.extend(object.map(|object| Change::LastValid(cluster, Arc::new(object))));
        }
        in_force
    }
}

impl DocumentVersion {
    pub(super) fn key(&self) -> (&str, [&str; 4]) {
        (&self.cluster, super::identity(&self.manifest))
    }

    fn kind(&self) -> Option<Kind> {
        let text = |field: &str| self.manifest[field].as_str().unwrap_or_default();
        let is_it = |kind: &&Kind| kind.api_version() == text("apiVersion") && kind.kind() == text("kind");
        Kind::ALL.iter().find(is_it).copied()
    }

    pub(super) fn reference(&self) -> Option<ObjectRef> {
        let text = |field: &str| self.manifest["metadata"][field].as_str().unwrap_or_default().into();
        Some(ObjectRef { kind: self.kind()?, namespace: text("namespace"), name: text("name") })
    }

    /// The object; nothing where there is no valid version.
    pub(super) fn object(&self) -> Option<Object> {
        api::decode(self.kind()?, self.manifest.clone()).ok()
    }
}

/// The object that a change says to be there.
pub(super) fn subject(change: &Change) -> Option<(ClusterId, ObjectRef)> {
    match change {
        Change::Put(cluster, object) | Change::BrokenZone(cluster, object, _) => {
            Some((*cluster, reference(object)))
        }
        Change::Broken(cluster, reference, _) => Some((*cluster, reference.clone())),
        _ => None,
    }
}

fn reference(object: &Object) -> ObjectRef {
    let (namespace, name) = (object.meta.namespace.clone(), object.meta.name.clone());
    ObjectRef { kind: object.kind(), namespace, name }
}

fn name_of(reference: &ObjectRef) -> Value {
    let metadata = match &*reference.namespace {
        "" => json!({ "name": reference.name }),
        namespace => json!({ "namespace": namespace, "name": reference.name }),
    };
    let kind = reference.kind;
    json!({ "apiVersion": kind.api_version(), "kind": kind.kind(), "metadata": metadata })
}
