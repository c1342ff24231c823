//! What can be done for a batch before it is written, and what that spares after it was.
//!
//! While PowerDNS works on one batch, the next is spelled out. How its records will be spelled in an export
//! is known then too, so that a line of the export that says exactly that need not be parsed.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

use dns::{Name, RecordSet, Rtype};

use super::{content, request};
use crate::{Batch, Failure, SetChange};

/// What is ready for the zones of a server.
#[derive(Default)]
pub(super) struct Foresight {
    zones: Mutex<HashMap<Name, Ready>>,
}

/// What is ready for a zone.
#[derive(Default)]
struct Ready {
    /// Changes, and how each is sent.
    texts: Vec<(SetChange, Result<String, Failure>)>,
    lines: Lines,
}

/// Record sets of one record, by the line of an export that says just that.
///
/// Lines are told apart by a keyed hash of 64 bits, which nobody outside can aim at. What a line means does
/// not depend on what stands at the server, so that nothing in here can be out of date.
#[derive(Default)]
pub(super) struct Lines {
    sets: HashMap<u64, RecordSet>,
    hasher: RandomState,
}

impl Foresight {
    /// Gets ready for a batch.
    pub(super) fn foresee(&self, batch: &Batch) {
        let texts = batch.changes.iter().filter(|change| change.key.rtype != Rtype::SOA);
        let texts: Vec<_> = texts.map(|change| (change.clone(), request::rrset(change, 0))).collect();
        let sets = || batch.changes.iter().filter_map(|change| change.after.as_ref()).map(|after| &after.set);
        let mut zones = self.lock();
        let ready = zones.entry(batch.zone.clone()).or_default();
        ready.texts = texts;
        sets().for_each(|set| ready.lines.add(set));
    }

    /// How the changes of a batch are sent, if it was foreseen; each change with its text, in their order.
    pub(super) fn take_texts(&self, zone: &Name) -> Vec<(SetChange, Result<String, Failure>)> {
        self.lock().get_mut(zone).map(|ready| std::mem::take(&mut ready.texts)).unwrap_or_default()
    }

    /// What lines of an export mean, as far as was foreseen; it is forgotten here.
    pub(super) fn take_lines(&self, zone: &Name) -> Lines {
        self.lock().get_mut(zone).map(|ready| std::mem::take(&mut ready.lines)).unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Name, Ready>> {
        self.zones.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lines {
    /// Remembers the line of a set that has only one.
    pub(super) fn add(&mut self, set: &RecordSet) {
        if let [data] = &set.data[..] {
            let (rtype, content) = (content::type_name(set.rtype), content::content(data));
            let line = format!("{}\t{}\tIN\t{rtype}\t{content}", set.name, set.ttl);
            self.sets.insert(self.hasher.hash_one(line.as_bytes()), set.clone());
        }
    }

    /// The set of a line.
    pub(super) fn get(&self, line: &str) -> Option<&RecordSet> {
        if self.sets.is_empty() { None } else { self.sets.get(&self.hasher.hash_one(line.as_bytes())) }
    }
}
