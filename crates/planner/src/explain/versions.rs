//! The objects behind an answer whose newest version is not in force: their version before is still served.

use std::collections::BTreeMap;

use api::Kind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::objects::ObjectName;
use super::{Story, object_text};
use crate::facts::{Fact, Index, Reader};
use crate::planner::Planner;
use crate::snapshot::{Entry, Id};
use crate::zone_table::Source;

/// An object or zone file whose newest version is not in force.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NotInForce {
    /// The object or zone file.
    #[serde(flatten)]
    pub object: ObjectName,
    /// Why the newest version is not in force, in one word.
    pub reason: String,
    /// What is missing or invalid, and that the version before is still served.
    pub message: String,
}

impl Planner {
    /// What is not in force of the objects behind a name: of those that claim it, of what those that want it refer
    /// to, and of the zone. `actors` are those that want the name, and whether they claim it; what is wrong with one
    /// that only wants it is its reason already.
    pub(super) fn not_in_force(&self, story: &Story, actors: &BTreeMap<Id, bool>) -> Vec<NotInForce> {
        let zone = story.zone.as_ref().and_then(|zone| self.table.holder(&zone.origin));
        let source = zone.map(|holder| &holder.zone.source);
        let is_zone = |id: Id| source == Some(&Source::Object(id));
        let is_behind = |id: &Id, entry: &Entry| {
            let is_actor = |reader: Reader| actors.contains_key(&reader.id());
            actors.get(id) == Some(&true)
                || is_zone(*id)
                || facts_of(entry).iter().any(|fact| self.ledger.readers(fact).any(is_actor))
        };
        let held_back = self.snapshot.versions.held_back();
        let held_back = held_back.filter_map(|id| Some((id, self.snapshot.entry(id)?)));
        let behind = held_back.filter(|(id, entry)| is_behind(id, entry));
        let mut all: Vec<NotInForce> = behind.filter_map(|(id, entry)| self.held_back(id, entry)).collect();
        all.extend(source.and_then(|source| self.held_back_file(source)));
        all.sort();
        all
    }

    fn held_back(&self, id: Id, entry: &Entry) -> Option<NotInForce> {
        let (reason, message) = match self.notes_of(id).into_iter().find(|note| note.condition == "Ready") {
            Some(note) if entry.trouble.is_some() || entry.waiting.is_some() => {
                (note.reason.to_owned(), note.message)
            }
            _ => {
                let rejected = entry.object.as_ref()?.rejected_addresses()?;
                let kind = entry.key.reference.kind.kind();
                ("InvalidAddress".to_owned(), rejected.warning(&format!("{kind} {}", object_text(entry)))?)
            }
        };
        Some(NotInForce { object: self.object_name(&entry.key), reason, message })
    }

    fn held_back_file(&self, source: &Source) -> Option<NotInForce> {
        let Source::File(cluster, path) = source else { return None };
        let file = self.snapshot.files.get(&(*cluster, path.clone()))?;
        let (_, note) = file.problem.as_ref().filter(|_| file.zone.is_some())?;
        let (line, column) = (note.line, note.column);
        Some(NotInForce {
            object: self.zone_file_name(*cluster, path),
            reason: "ValidationFailed".to_owned(),
            message: format!(
                "{}:{line}:{column}: {}; the last good content is still served",
                note.path, note.message
            ),
        })
    }
}

/// What those read whose answers follow an object. Of a list of all classes nothing follows.
fn facts_of(entry: &Entry) -> Vec<Fact> {
    let key = &entry.key;
    let mut facts = vec![Fact::Object(key.clone()), Fact::ZoneObject(key.clone())];
    match key.reference.kind {
        Kind::ClusterIdentity => facts.push(Fact::Identity(key.cluster)),
        Kind::DNSConfiguration => facts.push(Fact::Controllers(key.cluster)),
        _ => {}
    }
    let indexes = entry.object.iter().flat_map(|object| Index::of(key.cluster, object));
    for index in indexes.filter(|index| *index != Index::Classes) {
        facts.extend([Fact::First(index.clone()), Fact::List(index)]);
    }
    facts
}
