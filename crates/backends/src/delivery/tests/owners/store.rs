//! A provider that several owners write to.

use std::collections::{BTreeMap, BTreeSet};

use dns::{Rdata, RecordSet, Rtype};

use super::super::super::task::{Job, Outcome};
use super::super::world::name;
use super::{ZONE, key};
use crate::marks::{Liveness, Mark, liveness_key, mark_key};
use crate::{Batch, Entry, OpenedZone, SetChange, SetKey};

/// What the provider holds.
pub(super) struct Store {
    pub(super) sets: BTreeMap<SetKey, Entry>,
    pub(super) revision: u64,
    /// Whether a change is made only where things are as it says.
    pub(super) compares: bool,
}

impl Store {
    fn holds(&self, key: &SetKey, wanted: Option<&RecordSet>) -> bool {
        self.sets.get(key).map(|entry| &entry.set) == wanted
    }

    /// Which changes may be made, as things stand.
    pub(super) fn judge(&self, batch: &Batch) -> Vec<bool> {
        let guarded = batch.guards.iter().all(|(key, set)| self.holds(key, set.as_ref()));
        let change = |change: &SetChange| {
            guarded && self.holds(&change.key, change.before.as_ref().map(|entry| &entry.set))
        };
        batch.changes.iter().map(change).collect()
    }

    /// An owner's mark of a name.
    pub(super) fn mark(&self, owner: &str, at: &str) -> Option<Mark> {
        let key = mark_key(owner, &name(at), &name(ZONE))?;
        Mark::read(&self.sets.get(&key)?.set, &name(ZONE))
    }

    pub(super) fn data(&self, at: &str) -> BTreeSet<Rdata> {
        self.sets.get(&key(at)).into_iter().flat_map(|entry| entry.set.data.iter().cloned()).collect()
    }

    pub(super) fn read(&self, job: &Job) -> Outcome {
        match job {
            Job::Open(_) | Job::Seek => Outcome::Opened(Ok(OpenedZone { origin: name(ZONE), made: false })),
            Job::ReadZone => Outcome::Zone(Ok(self.sets.values().cloned().collect())),
            Job::ReadSets { keys, .. } => {
                Outcome::Sets(Ok(keys.iter().map(|(key, _)| self.sets.get(key).cloned()).collect()))
            }
            Job::Revision(_) => Outcome::Revision(Ok(Some(self.revision))),
            Job::Settle => Outcome::Settled(Ok(())),
            Job::Write(_) => panic!("a write is not read"),
        }
    }

    /// Who has a name, or waits for it, by their marks.
    pub(super) fn marks(&self, at: &str) -> impl Iterator<Item = Mark> {
        let marks = self.sets.values().filter_map(|entry| Mark::read(&entry.set, &name(ZONE)));
        marks.filter(move |mark| mark.name == name(at))
    }

    pub(super) fn has(&self, owner: &str, at: &str) -> bool {
        self.mark(owner, at).is_some_and(|mark| mark.types.contains(&Rtype::A))
    }

    /// Whether an owner's counter rests.
    pub(super) fn rests(&self, owner: &str) -> bool {
        let entry = liveness_key(owner, &name(ZONE)).and_then(|key| self.sets.get(&key));
        let liveness = entry.and_then(|entry| Liveness::read(&entry.set, &name(ZONE)));
        liveness.is_some_and(|liveness| liveness.looks.is_some())
    }

    pub(super) fn has_counter(&self, owner: &str) -> bool {
        liveness_key(owner, &name(ZONE)).is_some_and(|key| self.sets.contains_key(&key))
    }
}
