//! What the cluster holds of what we write: children, and the metadata and status of our objects.
//!
//! Only fingerprints are kept, so that an object costs some tens of bytes. The answer to a write is
//! taken like an event; an event that is older than what is known changes nothing.

mod status;

use std::collections::{BTreeMap, HashMap};

use api::Kind;
use planner::marks::FINALIZER;
use planner::{ChildRef, ObjectRef};
use serde::Deserialize;
use serde_json::Value;

use crate::cluster::child::{ChildSeen, own_status};
use crate::cluster::fingerprint::fingerprint;
use crate::cluster::{Arrival, Subject};
pub use status::{LiveCondition, Words, with_times};

/// A child as the cluster holds it.
#[derive(Clone, Debug)]
pub struct LiveChild {
    /// The API server's identifier.
    pub uid: Box<str>,
    /// How new it is.
    pub version: u64,
    /// Whether we made it.
    pub ours: bool,
    /// The kinds of its owners.
    pub owners: Box<[Kind]>,
    /// The fingerprint of what we would set.
    pub content: u64,
    /// The plan's own fingerprint that this content is known to stand for.
    pub stands_for: Option<u64>,
}

/// An object of ours as the cluster holds it.
#[derive(Clone, Debug)]
pub struct LiveObject {
    /// The API server's identifier.
    pub uid: Box<str>,
    /// How new it is.
    pub version: u64,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// What holds it back when it is deleted.
    pub finalizers: Box<[Box<str>]>,
    /// What it holds and what that is known to stand for.
    pub metadata: Held,
    /// What it holds and what that is known to stand for.
    pub status: Held,
    /// The conditions of its status.
    pub conditions: Box<[LiveCondition]>,
}

/// A part of an object, by fingerprints.
///
/// A server with an older CRD drops what that does not know: then what it holds never equals what
/// we want, and writing it again and again would be of no use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    content: u64,
    stands_for: Option<u64>,
}

impl Held {
    /// Whether this is what is wanted, as far as the server can hold it.
    pub fn is(&self, wanted: u64) -> bool {
        self.content == wanted || self.stands_for == Some(wanted)
    }

    fn see(&mut self, content: u64) {
        if self.content != content {
            *self = Held { content, stands_for: None };
        }
    }
}

/// Which part of an object was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Labels, annotations, and a finalizer that comes.
    Metadata,
    /// A finalizer that goes.
    Finalizers,
    /// The status.
    Status,
}

/// Everything that the cluster holds of ours.
#[derive(Debug, Default)]
pub struct Live {
    objects: HashMap<ObjectRef, LiveObject>,
    children: HashMap<ChildRef, LiveChild>,
    /// The words of conditions, which are few.
    pub words: Words,
    serials: Option<LiveSerials>,
}

/// The ConfigMap of serials.
#[derive(Clone, Debug)]
pub struct LiveSerials {
    /// Its entries.
    pub data: BTreeMap<String, String>,
    version: u64,
}

#[derive(Deserialize)]
struct Written {
    metadata: WrittenMetadata,
    status: Option<Value>,
}

#[derive(Deserialize)]
struct WrittenMetadata {
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
    #[serde(default)]
    finalizers: Vec<String>,
}

impl LiveObject {
    /// Whether it is not gone before we say so.
    pub fn is_held_back(&self) -> bool {
        self.finalizers.iter().any(|one| **one == *FINALIZER)
    }
}

impl Live {
    /// An object as it arrived; whether that was news.
    pub fn see_object(&mut self, object: &ObjectRef, arrival: &Arrival) -> bool {
        let known = self.objects.get(object);
        if known.is_some_and(|known| known.uid == arrival.uid && arrival.version <= known.version) {
            return false;
        }
        let Ok(written) = serde_json::from_str::<Written>(arrival.text.get()) else { return false };
        let same = known.filter(|known| known.uid == arrival.uid);
        let (mut metadata, mut status) = same.map_or_else(Default::default, |one| (one.metadata, one.status));
        let WrittenMetadata { labels, annotations, finalizers } = written.metadata;
        metadata.see(own_metadata(&labels, &annotations, &finalizers));
        let content = own_status(object.kind, written.status.unwrap_or_default());
        status.see(status::content(&content));
        let live = LiveObject {
            uid: arrival.uid.clone(),
            version: arrival.version,
            deleting: arrival.deleting,
            finalizers: finalizers.into_iter().map(String::into_boxed_str).collect(),
            metadata,
            status,
            conditions: self.words.conditions(&content),
        };
        self.objects.insert(object.clone(), live);
        true
    }

    /// A part of an object was written, and this is what the server made of it.
    pub fn wrote_object(&mut self, object: &ObjectRef, part: Part, wanted: u64, answer: &Arrival) {
        self.see_object(object, answer);
        if let Some(live) = self.objects.get_mut(object).filter(|live| live.version == answer.version) {
            match part {
                Part::Metadata => live.metadata.stands_for = Some(wanted),
                Part::Status => live.status.stands_for = Some(wanted),
                Part::Finalizers => {}
            }
        }
    }

    /// The cluster was set back: versions of these objects count anew.
    pub fn rewind(&mut self, subject: Subject) {
        let objects = self.objects.iter_mut().filter(|(object, _)| Subject::Kind(object.kind) == subject);
        objects.for_each(|(_, live)| live.version = 0);
        let children =
            self.children.iter_mut().filter(|(child, _)| Subject::of_children(child.kind) == subject);
        children.for_each(|(_, live)| live.version = 0);
        if let Some(serials) = self.serials.as_mut().filter(|_| subject == Subject::Serials) {
            serials.version = 0;
        }
    }

    /// An object is gone.
    pub fn lose_object(&mut self, object: &ObjectRef) {
        self.objects.remove(object);
    }

    /// An object.
    pub fn object(&self, object: &ObjectRef) -> Option<&LiveObject> {
        self.objects.get(object)
    }

    /// All objects.
    pub fn objects(&self) -> impl Iterator<Item = (&ObjectRef, &LiveObject)> {
        self.objects.iter()
    }

    /// A child as it arrived; whether that was news.
    pub fn see_child(&mut self, child: &ChildRef, arrival: &Arrival) -> bool {
        let known = self.children.get(child);
        if known.is_some_and(|known| known.uid == arrival.uid && arrival.version <= known.version) {
            return false;
        }
        let Ok(seen) = ChildSeen::parse(child.kind, arrival.text.get()) else { return false };
        let same = known.filter(|known| known.uid == arrival.uid && known.content == seen.content);
        let stands_for = same.and_then(|known| known.stands_for);
        let live = LiveChild {
            uid: arrival.uid.clone(),
            version: arrival.version,
            ours: seen.ours,
            owners: seen.owners,
            content: seen.content,
            stands_for,
        };
        self.children.insert(child.clone(), live);
        true
    }

    /// A child was found or made to stand for this fingerprint of the plan.
    pub fn settle_child(&mut self, child: &ChildRef, planned: u64) {
        if let Some(live) = self.children.get_mut(child) {
            live.stands_for = Some(planned);
        }
    }

    /// A child is gone.
    pub fn lose_child(&mut self, child: &ChildRef) {
        self.children.remove(child);
    }

    /// A child.
    pub fn child(&self, child: &ChildRef) -> Option<&LiveChild> {
        self.children.get(child)
    }

    /// All children.
    pub fn children(&self) -> impl Iterator<Item = (&ChildRef, &LiveChild)> {
        self.children.iter()
    }

    /// The ConfigMap of serials as it arrived; whether that was news.
    pub fn see_serials(&mut self, arrival: &Arrival) -> bool {
        #[derive(Deserialize)]
        struct ConfigMap {
            #[serde(default)]
            data: BTreeMap<String, String>,
        }
        if self.serials.as_ref().is_some_and(|known| arrival.version <= known.version) {
            return false;
        }
        let Ok(map) = serde_json::from_str::<ConfigMap>(arrival.text.get()) else { return false };
        self.serials = Some(LiveSerials { data: map.data, version: arrival.version });
        true
    }

    /// The ConfigMap of serials is gone.
    pub fn lose_serials(&mut self) {
        self.serials = None;
    }

    /// The ConfigMap of serials.
    pub fn serials(&self) -> Option<&LiveSerials> {
        self.serials.as_ref()
    }
}

/// The fingerprint of what is ours in an object's own metadata.
pub fn own_metadata(
    labels: &BTreeMap<String, String>,
    annotations: &BTreeMap<String, String>,
    finalizers: &[String],
) -> u64 {
    let own = |map: &BTreeMap<String, String>| -> Value {
        let own = map.iter().filter(|(key, _)| planner::is_own_metadata(key));
        own.map(|(key, value)| (key.clone(), Value::from(value.as_str()))).collect()
    };
    let held_back = finalizers.iter().any(|one| one == FINALIZER);
    fingerprint(&Value::Array(vec![own(labels), own(annotations), Value::Bool(held_back)]))
}

/// The fingerprint of a wanted status.
pub fn wanted_status(status: &Value) -> u64 {
    status::content(status)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use serde_json::json;
    use serde_json::value::RawValue;

    fn route() -> ObjectRef {
        ObjectRef { kind: Kind::ServiceRoute, namespace: "shop".into(), name: "web".into() }
    }

    fn arrival(uid: &str, version: u64, status: &Value) -> Arrival {
        let metadata =
            json!({ "name": "web", "namespace": "shop", "uid": uid, "resourceVersion": version.to_string() });
        let text = json!({ "metadata": metadata, "spec": {}, "status": status }).to_string();
        Arrival::parse(RawValue::from_string(text).unwrap()).unwrap()
    }

    #[test]
    fn an_older_event_does_not_undo_the_answer_to_a_write() {
        let (mut live, wanted) = (Live::default(), json!({ "phase": "Active" }));
        assert!(live.see_object(&route(), &arrival("1", 5, &json!({ "phase": "Pending" }))));
        live.wrote_object(&route(), Part::Status, wanted_status(&wanted), &arrival("1", 7, &wanted));
        assert!(!live.see_object(&route(), &arrival("1", 6, &json!({ "phase": "Pending" }))));
        assert!(live.object(&route()).unwrap().status.is(wanted_status(&wanted)));
        assert!(live.see_object(&route(), &arrival("1", 8, &json!({ "phase": "by hand" }))));
        assert!(!live.object(&route()).unwrap().status.is(wanted_status(&wanted)));
    }

    #[test]
    fn a_server_that_drops_a_field_is_not_written_to_again_and_again() {
        let (mut live, wanted) = (Live::default(), json!({ "phase": "Active", "new": 1 }));
        let held = json!({ "phase": "Active" });
        live.wrote_object(&route(), Part::Status, wanted_status(&wanted), &arrival("1", 7, &held));
        assert!(live.object(&route()).unwrap().status.is(wanted_status(&wanted)));
        live.see_object(&route(), &arrival("1", 9, &held));
        assert!(live.object(&route()).unwrap().status.is(wanted_status(&wanted)), "an edit elsewhere in it");
        live.see_object(&route(), &arrival("1", 10, &json!({ "phase": "Failed" })));
        assert!(!live.object(&route()).unwrap().status.is(wanted_status(&wanted)));
    }

    #[test]
    fn after_the_cluster_was_set_back_an_older_state_counts() {
        let mut live = Live::default();
        live.see_object(&route(), &arrival("1", 7, &json!({ "phase": "Active" })));
        live.rewind(Subject::Kind(Kind::ServiceRoute));
        assert!(live.see_object(&route(), &arrival("1", 5, &json!({ "phase": "Pending" }))));
        assert!(live.object(&route()).unwrap().status.is(wanted_status(&json!({ "phase": "Pending" }))));
    }

    #[test]
    fn a_new_object_of_the_old_name_knows_nothing_of_the_old_one() {
        let (mut live, wanted) = (Live::default(), json!({ "phase": "Active" }));
        live.wrote_object(&route(), Part::Status, wanted_status(&wanted), &arrival("1", 7, &wanted));
        assert!(live.see_object(&route(), &arrival("2", 6, &json!({}))));
        assert!(!live.object(&route()).unwrap().status.is(wanted_status(&wanted)));
    }
}
