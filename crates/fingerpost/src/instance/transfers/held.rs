//! Zones whose content is ahead of their serial: what is transferred of them meanwhile.
//!
//! In a cluster the operator moves serials and the servers follow. A server may have content that has
//! no serial yet, and another server may not have it: under one serial all of them must transfer the
//! same. So the version from before is held back until the serial of the new one is known.

use std::collections::{BTreeMap, BTreeSet};

use dns::Name;
use planner::{Delta, Planner};
use server::{ViewTable, Zones};

/// Holds back, or lets go, what a change moved. `before` is what was served before it.
pub fn hold(table: &mut ViewTable, before: &BTreeMap<String, Zones>, planner: &Planner, delta: &Delta) {
    let nodes = delta.nodes.iter().map(|(origin, _)| origin);
    let origins: BTreeSet<Name> = delta.zones.iter().chain(nodes).cloned().collect();
    hold_some(table, before, planner, origins);
}

/// Like [`hold`], where everything may have moved.
pub fn hold_all(table: &mut ViewTable, before: &BTreeMap<String, Zones>, planner: &Planner) {
    let origins: BTreeSet<Name> = planner.zones().into_iter().map(|zone| zone.origin).collect();
    table.held.retain(|view, _| table.views.contains_key(view));
    for held in table.held.values_mut() {
        held.retain(|origin, _| origins.contains(origin));
    }
    hold_some(table, before, planner, origins);
}

fn hold_some(
    table: &mut ViewTable,
    before: &BTreeMap<String, Zones>,
    planner: &Planner,
    origins: BTreeSet<Name>,
) {
    for origin in origins {
        // A zone that is gone has nothing to hold back.
        let is_settled = planner.zone(&origin).is_none_or(|zone| zone.is_settled);
        for (view, zones) in &table.views {
            if is_settled || zones.zone(&origin).is_none() {
                if let Some(held) = table.held.get_mut(view) {
                    held.remove(&origin);
                }
                continue;
            }
            // What was not held back was settled, unless it is from before everything was read.
            let last = before.get(view).filter(|_| table.synced).and_then(|zones| zones.zone(&origin));
            let held = table.held.entry(view.clone()).or_default();
            held.entry(origin.clone()).or_insert_with(|| last.cloned());
        }
    }
}

#[cfg(test)]
mod tests;
