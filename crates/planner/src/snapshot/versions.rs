//! Which version of an object is in force.
//!
//! ```text
//! a version arrives ─┬─ it is invalid ───────────────────────────► the version before stays in force
//!                    ├─ it is of others and has a mistake that
//!                    │  the version in force does not have ──────► the version before stays in force
//!                    ├─ it names a target that it did not name ──► decided at the end of the batch:
//!                    │                                             in force, or waiting for the target
//!                    ├─ all addresses of its status are none ────► in force, with the addresses before
//!                    └─ anything else ───────────────────────────► in force
//! ```
//!
//! Whether an object exists does not depend on which of its versions is in force. So the versions of a
//! batch can be decided one by one, in any order, once all its changes have been taken.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::{Meta, Object, Problem};
use rustc_hash::FxHashMap;

use super::{Id, Snapshot, Touched, Trouble, says_the_same, unknown};
use crate::facts::{Fact, ObjectKey};
use crate::references::{Missing, names_another};

/// A valid version of an object that waits for the targets of its references.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) version: Arc<Object>,
    pub(crate) missing: Vec<Missing>,
    /// What the decision depends on.
    pub(super) facts: Vec<Fact>,
}

/// The versions that are not in force, or not yet.
#[derive(Debug, Default)]
pub(crate) struct Versions {
    /// Versions of this batch that are to be decided, the oldest first.
    undecided: BTreeMap<Id, Vec<Arc<Object>>>,
    /// The objects that have a waiting version, by what their decisions depend on.
    readers: FxHashMap<Fact, BTreeSet<Id>>,
    /// The objects with a version in force that is not their newest.
    held_back: BTreeSet<Id>,
    /// The versions that an earlier process had in force, of objects that have not arrived yet.
    recalled: BTreeMap<ObjectKey, Arc<Object>>,
}

impl Versions {
    /// Forgets an object that is gone; tells whether its newest version was not in force.
    pub(super) fn forget(&mut self, id: Id, waiting: Option<&Waiting>) -> bool {
        self.undecided.remove(&id);
        self.unwatch(id, waiting);
        self.held_back.remove(&id)
    }

    fn unwatch(&mut self, id: Id, waiting: Option<&Waiting>) {
        for fact in waiting.iter().flat_map(|waiting| &waiting.facts) {
            if let Some(readers) = self.readers.get_mut(fact) {
                readers.remove(&id);
                if readers.is_empty() {
                    self.readers.remove(fact);
                }
            }
        }
    }

    fn watch(&mut self, id: Id, waiting: &Waiting) {
        for fact in &waiting.facts {
            self.readers.entry(fact.clone()).or_default().insert(id);
        }
    }

    /// The objects to decide: those with new versions, and those whose decision depends on these facts.
    pub(crate) fn to_decide(&self, facts: &[Fact]) -> BTreeSet<Id> {
        let mut ids: BTreeSet<Id> = self.undecided.keys().copied().collect();
        if !self.readers.is_empty() {
            ids.extend(facts.iter().filter_map(|fact| self.readers.get(fact)).flatten());
        }
        ids
    }

    /// The objects with a version in force that is not their newest.
    pub(crate) fn held_back(&self) -> impl Iterator<Item = Id> {
        self.held_back.iter().copied()
    }

    /// Takes the version of an object that an earlier process had in force.
    pub(crate) fn recall(&mut self, key: ObjectKey, object: Arc<Object>) {
        self.recalled.insert(key, object);
    }

    /// Whether it is known which version of an object an earlier process had in force.
    pub(crate) fn is_recalled(&self, key: &ObjectKey) -> bool {
        self.recalled.contains_key(key)
    }

    /// Forgets the version that an earlier process had in force.
    pub(crate) fn forget_recalled(&mut self, key: &ObjectKey) {
        self.recalled.remove(key);
    }
}

impl Snapshot {
    /// Takes a new version of an object; an invalid one leaves the version in force as it is.
    pub(crate) fn put(&mut self, key: ObjectKey, object: Arc<Object>, touched: &mut Touched) {
        self.restore_recalled(&key, Some(&object), touched);
        let id = self.id_or_new(&key);
        let mut problems = api::validate(&object);
        if problems.is_empty() && self.object(id).is_some_and(|in_force| in_force.mistakes().is_empty()) {
            problems = object.mistakes();
        }
        if !problems.is_empty() {
            return self.put_invalid(id, Trouble { problems, newest: Some(object), sketch: None }, touched);
        }
        let last = self.object(id).and_then(|in_force| object.with_last_addresses(in_force));
        let object = last.map_or(object, Arc::new);
        let is_edited = self.object(id).is_some_and(|in_force| names_another(in_force, &object));
        if is_edited || self.versions.undecided.contains_key(&id) {
            self.set_trouble(id, None);
            self.versions.undecided.entry(id).or_default().push(object);
            return touched.ids.push(id);
        }
        self.set_trouble(id, None);
        self.settle(id, object, None, touched);
    }

    /// Notes that the newest version of an object cannot be used.
    pub(crate) fn refuse(&mut self, key: ObjectKey, problems: Vec<Problem>, touched: &mut Touched) {
        self.refuse_as(key, Trouble { problems, newest: None, sketch: None }, touched);
    }

    /// The same of a Zone of which some fields can be told.
    pub(crate) fn refuse_zone(
        &mut self,
        key: ObjectKey,
        sketch: Arc<Object>,
        problems: Vec<Problem>,
        touched: &mut Touched,
    ) {
        self.refuse_as(key, Trouble { problems, newest: None, sketch: Some(sketch) }, touched);
    }

    fn refuse_as(&mut self, key: ObjectKey, trouble: Trouble, touched: &mut Touched) {
        self.restore_recalled(&key, None, touched);
        let id = self.id_or_new(&key);
        self.put_invalid(id, trouble, touched);
    }

    fn put_invalid(&mut self, id: Id, trouble: Trouble, touched: &mut Touched) {
        self.set_trouble(id, Some(trouble));
        match self.object(id).cloned() {
            Some(in_force) => self.settle(id, in_force, None, touched),
            None => self.enforce(id, None, touched),
        }
    }

    fn set_trouble(&mut self, id: Id, trouble: Option<Trouble>) {
        if let Some(entry) = self.entries.get_mut(id.0 as usize).and_then(Option::as_mut) {
            entry.trouble = trouble.map(Box::new);
        }
    }

    /// Puts the version in force that an earlier process had in force, before the first one that arrives.
    fn restore_recalled(&mut self, key: &ObjectKey, newest: Option<&Object>, touched: &mut Touched) {
        let Some(recalled) = self.versions.recalled.remove(key) else { return };
        let uid = |object: &Object| object.meta.uid.clone();
        let is_other = newest.is_some_and(|newest| uid(newest).is_some() && uid(newest) != uid(&recalled));
        if self.id(key).is_none() && !is_other {
            let id = self.id_or_new(key);
            self.settle(id, recalled, None, touched);
        }
    }

    /// The versions to decide of an object, the oldest first: those that arrived in this batch, else the
    /// one that waits.
    pub(crate) fn take_undecided(&mut self, id: Id) -> Vec<Arc<Object>> {
        let arrived = self.versions.undecided.remove(&id);
        let waiting = || self.entry(id)?.waiting.as_ref().map(|waiting| vec![waiting.version.clone()]);
        arrived.or_else(waiting).unwrap_or_default()
    }

    /// Sets the version in force, and the version that waits with what it waits for.
    pub(crate) fn settle(
        &mut self,
        id: Id,
        in_force: Arc<Object>,
        waiting: Option<(Arc<Object>, Vec<Missing>, Vec<Fact>)>,
        touched: &mut Touched,
    ) {
        let Some(entry) = self.entries.get_mut(id.0 as usize).and_then(Option::as_mut) else { return };
        let before = entry.waiting.take();
        let waiting = waiting.filter(|_| entry.trouble.is_none());
        let waiting = waiting.map(|(version, missing, facts)| Waiting { version, missing, facts });
        entry.waiting = waiting.map(Box::new);
        let in_force = match entry.newest() {
            Some(newest) => carried(&in_force, newest),
            None => in_force,
        };
        let keeps_addresses = in_force.rejected_addresses().is_some_and(|rejected| rejected.keeps_last);
        let is_held_back = entry.waiting.is_some() || entry.trouble.is_some() || keeps_addresses;
        self.versions.unwatch(id, before.as_deref());
        if let Some(waiting) = &entry.waiting {
            self.versions.watch(id, waiting);
        }
        let was_held_back = match is_held_back {
            true => !self.versions.held_back.insert(id),
            false => self.versions.held_back.remove(&id),
        };
        touched.versions |= is_held_back || was_held_back;
        self.enforce(id, Some(in_force), touched);
    }

    /// Sets the version that others read.
    fn enforce(&mut self, id: Id, version: Option<Arc<Object>>, touched: &mut Touched) {
        let Some(entry) = self.entries.get_mut(id.0 as usize).and_then(Option::as_mut) else { return };
        let key = entry.key.clone();
        let before = std::mem::replace(&mut entry.object, version.clone());
        let is_other = match version {
            Some(_) => self.unknown.remove(&key),
            None => self.unknown.insert(key.clone()),
        };
        if is_other {
            // Whoever refers to the object says whether it is missing or invalid.
            touched.facts.extend([unknown(&key), Fact::Object(key.clone())]);
        }
        if is_other || before.is_none() {
            touched.presence.push(key.clone());
        }
        touched.ids.push(id);
        if !says_the_same(before.as_deref(), version.as_deref()) {
            touched.facts.push(Fact::Object(key.clone()));
            self.reindex(id, &key, before.as_deref(), version.as_deref(), touched);
        }
    }
}

/// The version in force with what is not part of a version: finalizers, the status, and the deletion.
fn carried(in_force: &Arc<Object>, newest: &Object) -> Arc<Object> {
    let finalizers = newest.meta.finalizers.clone();
    let meta = match newest.meta.deleting {
        true => newest.meta.clone(),
        false => Meta { finalizers, ..in_force.meta.clone() },
    };
    let published = newest.published.clone().or_else(|| in_force.published.clone());
    if meta == in_force.meta && published == in_force.published {
        return in_force.clone();
    }
    Arc::new(Object { meta, spec: in_force.spec.clone(), published })
}
