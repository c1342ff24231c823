//! Where Placements were directed and what they were reached by, as far as anybody remembers: whoever
//! directs them, this process, else the status that an earlier one wrote. And what Gateways answered.

use std::collections::BTreeSet;
use std::sync::Arc;

use api::placement::PlacementStatus;
use api::{Published, PublishedPlacement};

use crate::facts::ObjectKey;
use crate::front::listener_gateway::ListenersOutcome;
use crate::front::placement::PlacementOutcome;
use crate::memory::Placed;
use crate::snapshot::{Id, Snapshot};

impl Snapshot {
    /// What a Placement's status says; statuses in files are not read.
    pub(crate) fn published_placement(&self, key: &ObjectKey) -> Option<&PublishedPlacement> {
        match self.entry(self.id(key)?)?.published()? {
            Published::Placement(placement) if self.reads_statuses => Some(placement),
            _ => None,
        }
    }

    fn placement_status(&self, key: &ObjectKey) -> Option<&PlacementStatus> {
        self.published_placement(key).map(|published| &published.status)
    }

    /// The region that clients are sent to before others.
    pub(crate) fn active(&self, key: &ObjectKey) -> Option<Arc<str>> {
        match self.directions.get(key) {
            Some(direction) => {
                let holder = || direction.lease.as_ref().and_then(|lease| lease.holder.clone());
                direction.active.clone().or_else(holder)
            }
            None => self.placement_status(key)?.active.as_deref().map(Arc::from),
        }
    }

    /// What the regions were last reached by.
    pub(crate) fn placed(&self, key: &ObjectKey) -> Placed {
        let own =
            self.placed.get(key).filter(|placed| !placed.regions.is_empty() || !placed.spreads.is_empty());
        own.cloned().unwrap_or_else(|| {
            let regions = self.placement_status(key).into_iter().flat_map(|status| &status.regions);
            let placed = regions.filter(|region| !region.addresses.is_empty());
            let regions = placed.map(|region| (region.name.clone(), region.addresses.clone())).collect();
            Placed { regions, ..Placed::default() }
        })
    }

    /// What a provider was last given while something was up.
    pub(crate) fn usable(&self, key: &ObjectKey) -> BTreeSet<String> {
        let own = self.placed.get(key).map(|placed| &placed.usable).filter(|usable| !usable.is_empty());
        own.cloned().unwrap_or_else(|| {
            let regions = self.placement_status(key).into_iter().flat_map(|status| &status.regions);
            regions.filter(|region| region.answering).flat_map(|region| region.addresses.clone()).collect()
        })
    }

    /// Puts down what the regions are reached by now, where one of them can be read.
    pub(crate) fn keep_placed(&mut self, id: Id, outcome: &PlacementOutcome) {
        let Some(key) = self.entry(id).map(|entry| entry.key.clone()) else { return };
        let fresh = outcome.fresh_targets();
        if fresh.is_empty() {
            return;
        }
        let Placed { regions, mut older, .. } = self.placed(&key);
        older.extend(regions);
        let is_listed = |name: &str| outcome.regions.iter().any(|region| *region.name == *name);
        older.retain(|name, _| !fresh.contains_key(name) && is_listed(name));
        let placed = self.placed.entry(key).or_default();
        (placed.regions, placed.older) = (fresh, older);
    }

    /// Puts down what a Gateway's names are answered by.
    pub(crate) fn keep_spreads(&mut self, id: Id, outcome: &ListenersOutcome) {
        let Some(key) = self.entry(id).map(|entry| entry.key.clone()) else { return };
        if !outcome.spreads.is_empty() || self.placed.contains_key(&key) {
            self.placed.entry(key).or_default().spreads.clone_from(&outcome.spreads);
        }
    }
}
