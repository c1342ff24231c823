//! Before everything else: which version of each object is in force.

use super::{Planner, Work};
use crate::facts::Ledger;
use crate::references;
use crate::snapshot::Id;
use crate::view::View;

impl Planner {
    /// Decides the versions that arrived, and those that waited for something that changed.
    pub(super) fn decide_versions(&mut self, work: &mut Work) {
        for id in self.snapshot.versions.to_decide(&work.touched.facts) {
            self.decide_version(id, work);
        }
        work.delta.versions = work.touched.versions;
    }

    fn decide_version(&mut self, id: Id, work: &mut Work) {
        let versions = self.snapshot.take_undecided(id);
        let Some(entry) = self.snapshot.entry(id) else { return };
        let Some(mut in_force) = entry.object.clone() else { return };
        let mut reads = Ledger::default();
        let view = View::new(entry.key.cluster, &self.snapshot, &self.table, &mut reads);
        let mut waiting = None;
        for version in versions {
            let missing = references::missing(&view, &in_force, &version);
            if missing.is_empty() {
                (in_force, waiting) = (version, None);
            } else {
                waiting = Some((version, missing));
            }
        }
        drop(view);
        let waiting = waiting.map(|(version, missing)| (version, missing, reads.into_facts()));
        self.snapshot.settle(id, in_force, waiting, &mut work.touched);
    }
}
