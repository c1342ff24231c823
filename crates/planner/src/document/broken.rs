//! The objects and zone files whose newest version is not in force.

use serde::{Deserialize, Serialize};

use super::DocumentOwner;
use crate::Planner;
use crate::note::Note;
use crate::snapshot::{Entry, Id};

/// An object or zone file whose newest version is not in force.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DocumentBroken {
    /// Which object or zone file.
    #[serde(flatten)]
    pub object: DocumentOwner,
    /// Why, in one word.
    pub reason: String,
    /// What is invalid or missing, and what stays in force.
    pub message: String,
    /// Whether an earlier version of it is in force.
    pub in_force: bool,
    /// File, line and column of the newest version, where it comes from a folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
}

impl Planner {
    /// Everything whose newest version is not in force, sorted.
    pub(super) fn broken(&self) -> Vec<DocumentBroken> {
        let objects = self.snapshot.entries().filter_map(|(id, entry)| self.broken_object(id, entry));
        let mut broken: Vec<DocumentBroken> = objects.chain(self.broken_files()).collect();
        broken.sort();
        broken
    }

    fn broken_object(&self, id: Id, entry: &Entry) -> Option<DocumentBroken> {
        let reference = &entry.key.reference;
        let object = DocumentOwner::new(self.cluster_name(entry.key.cluster), reference);
        let in_force = entry.object.is_some();
        let broken = |reason: &str, message: String| DocumentBroken {
            object,
            reason: reason.to_owned(),
            message,
            in_force,
            location: None,
        };
        if entry.trouble.is_some() || entry.waiting.as_ref().is_some_and(|_| in_force) {
            let note = self.notes_of(id).into_iter().find(|note: &Note| note.condition == "Ready");
            let note = note.map(|note| (note.reason, note.message));
            let (reason, message) = note.unwrap_or_else(|| ("ValidationFailed", "it is invalid".to_owned()));
            return Some(broken(reason, message));
        }
        let rejected = entry.object.as_ref()?.rejected_addresses()?;
        let name = match &*reference.namespace {
            "" => format!("{} {}", reference.kind.kind(), reference.name),
            namespace => format!("{} {namespace}/{}", reference.kind.kind(), reference.name),
        };
        Some(broken("InvalidAddress", rejected.warning(&name)?))
    }

    fn broken_files(&self) -> impl Iterator<Item = DocumentBroken> {
        self.snapshot.files.iter().filter_map(|((cluster, path), file)| {
            let (_, note) = file.problem.as_ref()?;
            let in_force = file.zone.is_some();
            let kept = match in_force {
                true => "the last good content is still served",
                false => "no good content is known, so names in its zone are answered SERVFAIL",
            };
            Some(DocumentBroken {
                object: DocumentOwner::file(self.cluster_name(*cluster), path),
                reason: "ValidationFailed".to_owned(),
                message: format!("{}; {kept}", note.message),
                in_force,
                location: Some(format!("{}:{}:{}", note.path, note.line, note.column)),
            })
        })
    }
}
