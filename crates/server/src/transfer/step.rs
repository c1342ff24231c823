//! From one version of a zone to the next: what was deleted and what was added.

use std::collections::BTreeSet;

use dns::{Name, Rdata, RecordSet, Rtype};

use crate::Zone;

/// The difference between two versions (RFC 1995 section 4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// The SOA before.
    pub(super) from: RecordSet,
    /// The SOA after.
    pub(super) to: RecordSet,
    /// Records that are no longer there.
    pub(super) removed: Vec<RecordSet>,
    /// Records that were not there before.
    pub(super) added: Vec<RecordSet>,
}

impl Step {
    /// The way between two versions that differ at these names at most; none where one of them has
    /// no content.
    pub(super) fn between(old: &Zone, new: &Zone, names: &BTreeSet<Name>) -> Option<Step> {
        let (from, to) = (old.soa()?.clone(), new.soa()?.clone());
        let mut step = Step { from, to, removed: Vec::new(), added: Vec::new() };
        for name in names {
            step.compare(&old.sets_at(name.key()), &new.sets_at(name.key()));
        }
        Some(step)
    }

    fn compare(&mut self, old: &[RecordSet], new: &[RecordSet]) {
        let types: BTreeSet<Rtype> = old.iter().chain(new).map(|set| set.rtype).collect();
        let of = |sets: &[RecordSet], rtype| sets.iter().find(|set| set.rtype == rtype).cloned();
        for rtype in types {
            let (old, new) = (of(old, rtype), of(new, rtype));
            self.removed.extend(old.as_ref().and_then(|old| without(old, new.as_ref())));
            self.added.extend(new.as_ref().and_then(|new| without(new, old.as_ref())));
        }
    }

    /// Whether both versions have the same records.
    pub(super) fn is_idle(&self) -> bool {
        self.removed.is_empty() && self.added.is_empty() && self.from == self.to
    }

    /// About how many octets it takes in messages.
    pub(super) fn octets(&self) -> usize {
        let sets = self.removed.iter().chain(&self.added).chain([&self.from, &self.to]);
        sets.map(octets).sum()
    }

    /// How much larger the zone is after it.
    pub(super) fn growth(&self) -> isize {
        let sum = |sets: &[RecordSet]| sets.iter().map(octets).sum::<usize>() as isize;
        sum(&self.added) - sum(&self.removed)
    }

    /// Its records in the order of a transfer.
    pub(super) fn sets(&self) -> impl Iterator<Item = &RecordSet> {
        let removed = std::iter::once(&self.from).chain(&self.removed);
        removed.chain(std::iter::once(&self.to)).chain(&self.added)
    }
}

/// The records of a set that another does not have; a TTL that differs makes all of them others.
fn without(set: &RecordSet, other: Option<&RecordSet>) -> Option<RecordSet> {
    let is_there = |data: &Rdata| {
        other.is_some_and(|other| other.ttl == set.ttl && other.data.binary_search(data).is_ok())
    };
    let data: Vec<Rdata> = set.data.iter().filter(|data| !is_there(data)).cloned().collect();
    (!data.is_empty()).then(|| RecordSet::new(set.name.clone(), set.rtype, set.ttl, data))
}

/// About how many octets a set takes in messages: its owner is mostly a pointer.
pub(super) fn octets(set: &RecordSet) -> usize {
    let owner = set.name.key().len() + 1;
    owner + set.data.iter().map(|data| 12 + data.wire().len()).sum::<usize>()
}

/// The serial of a zone; none while its content is not known.
pub(super) fn serial(zone: &Zone) -> Option<u32> {
    zone.soa()?.data.first()?.as_soa().map(|soa| soa.serial)
}
