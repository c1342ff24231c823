//! Which probes are needed, by whom, and what came of them.
//!
//! Many objects may need one probe: it is there as long as one of them does. What nobody needs is
//! not probed, and its health is not kept.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use dns::ProbeId;
use rustc_hash::FxHashMap;

use crate::planner::Planner;
use crate::probe::{ProbeSpec, TargetHealth};
use crate::snapshot::Id;

/// The probes of a plan.
#[derive(Debug, Default)]
pub(crate) struct Probing {
    probes: BTreeMap<ProbeId, Probe>,
    of_objects: FxHashMap<Id, Vec<ProbeId>>,
    health: FxHashMap<ProbeId, TargetHealth>,
    /// The probes that this run touched, and whether each was there before it.
    touched: BTreeMap<ProbeId, bool>,
}

#[derive(Debug)]
struct Probe {
    spec: ProbeSpec,
    users: BTreeSet<Id>,
}

impl Probing {
    /// Sets what an object needs.
    pub(crate) fn set(&mut self, id: Id, specs: Vec<ProbeSpec>) {
        if specs.is_empty() && !self.of_objects.contains_key(&id) {
            return;
        }
        let before = self.of_objects.remove(&id).unwrap_or_default();
        let now: Vec<ProbeId> = specs.iter().map(ProbeSpec::id).collect();
        for (probe, spec) in now.iter().zip(specs) {
            self.touch(*probe);
            let users = BTreeSet::new();
            self.probes.entry(*probe).or_insert(Probe { spec, users }).users.insert(id);
        }
        for probe in before.into_iter().filter(|probe| !now.contains(probe)) {
            self.release(probe, id);
        }
        if !now.is_empty() {
            self.of_objects.insert(id, now);
        }
    }

    fn release(&mut self, probe: ProbeId, id: Id) {
        self.touch(probe);
        let Some(known) = self.probes.get_mut(&probe) else { return };
        known.users.remove(&id);
        if known.users.is_empty() {
            self.probes.remove(&probe);
        }
    }

    fn touch(&mut self, probe: ProbeId) {
        let was_there = self.probes.contains_key(&probe);
        self.touched.entry(probe).or_insert(was_there);
    }

    /// Takes what came of a probe. A time alone is no change.
    pub(crate) fn take(&mut self, probe: ProbeId, health: TargetHealth) {
        self.touch(probe);
        let says_the_same =
            |known: &TargetHealth| TargetHealth { since: known.since, ..health.clone() } == *known;
        if !self.health.get(&probe).is_some_and(says_the_same) {
            self.health.insert(probe, health);
        }
    }

    /// What came of a probe, where something did.
    pub(crate) fn health(&self, probe: ProbeId) -> Option<&TargetHealth> {
        self.health.get(&probe)
    }

    /// What a probe does.
    pub(crate) fn spec(&self, probe: ProbeId) -> Option<&ProbeSpec> {
        self.probes.get(&probe).map(|probe| &probe.spec)
    }

    /// Those who need a probe.
    pub(crate) fn users(&self, probe: ProbeId) -> impl Iterator<Item = Id> {
        self.probes.get(&probe).into_iter().flat_map(|probe| probe.users.iter().copied())
    }

    /// The probes that came and went since this was last asked; forgets the health of those that went.
    pub(crate) fn moved(&mut self) -> Vec<(ProbeId, Option<ProbeSpec>)> {
        let mut moved = Vec::new();
        for (probe, was_there) in std::mem::take(&mut self.touched) {
            let spec = self.spec(probe).cloned();
            if spec.is_none() {
                self.health.remove(&probe);
            }
            if spec.is_some() != was_there {
                moved.push((probe, spec));
            }
        }
        moved
    }
}

impl Planner {
    /// The probes that somebody needs, in the order of what they are known by.
    pub fn probes(&self) -> impl Iterator<Item = (ProbeId, &ProbeSpec)> {
        self.probing.probes.iter().map(|(id, probe)| (*id, &probe.spec))
    }

    /// The probe after one, in the order of what they are known by.
    pub(crate) fn probe_after(&self, after: Option<ProbeId>) -> Option<ProbeId> {
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.probing.probes.range((start, Bound::Unbounded)).next().map(|(probe, _)| *probe)
    }

    /// What a probe does, while anybody needs it.
    pub fn probe(&self, probe: ProbeId) -> Option<&ProbeSpec> {
        self.probing.spec(probe)
    }

    /// How a target is, as far as its probe was heard of.
    pub fn target_health(&self, probe: ProbeId) -> Option<&TargetHealth> {
        self.probing.health(probe)
    }
}
