//! From a mode to a steering tree: who may answer, in which order, and which of them a client gets.

use std::sync::Arc;

use api::placement::{PlacementMode, PlacementSpec, Routing};
use dns::{Rtype, Steering};

use super::Region;

/// Whether a mode sends all clients to one region.
pub(crate) fn is_directed(mode: PlacementMode) -> bool {
    matches!(mode, PlacementMode::ActiveHotstandby | PlacementMode::ActivePassiveWarm)
}

/// The regions that may answer, the first in line first. Marks those that cannot stand beside them.
pub(super) fn line(regions: &mut [Region], spec: &PlacementSpec, active: Option<&str>) -> Vec<Arc<str>> {
    let mut line = candidates(regions, spec, active);
    let Some(first) = line.first().copied() else { return Vec::new() };
    // All clients go to the first in line where one is; else addresses go before host names.
    let is_alias = match is_directed(spec.mode) {
        true => regions[first].is_alias(),
        false => line.iter().all(|number| regions[*number].is_alias()),
    };
    for number in &line {
        regions[*number].is_mixed_out = regions[*number].is_alias() != is_alias;
    }
    line.retain(|number| !regions[*number].is_mixed_out);
    line.into_iter().map(|number| regions[number].name.clone()).collect()
}

/// The regions with something to answer with, by their numbers: of a witness's the holder alone, else
/// those that are not drained, else all.
fn candidates(regions: &[Region], spec: &PlacementSpec, active: Option<&str>) -> Vec<usize> {
    let is_reached = |number: &usize| !regions[*number].targets.is_empty();
    let reached: Vec<usize> = (0..regions.len()).filter(is_reached).collect();
    let is_drained = |number: &usize| regions[*number].weight == 0;
    let is_canary = spec.mode == PlacementMode::WeightedCanary;
    let all_drained = reached.iter().all(is_drained);
    let mut line: Vec<usize> =
        reached.iter().copied().filter(|number| is_canary || all_drained || !is_drained(number)).collect();
    if !is_directed(spec.mode) {
        return line;
    }
    let is_active = |number: &usize| Some(&*regions[*number].name) == active;
    if let Some(active) = reached.iter().copied().find(is_active) {
        line.retain(|number| *number != active);
        line.insert(0, active);
    }
    if spec.witness.is_some() {
        line.truncate(1);
    }
    line
}

/// Which of the regions a client gets; nothing where all clients get all there is. As a record tree, weights
/// stand even where a single region has data of a type, so that all of a name's types have one form.
pub(super) fn tree(
    spec: &PlacementSpec,
    as_record_tree: bool,
    rtype: Rtype,
    mut leaves: Vec<(usize, Steering)>,
    regions: &[&Region],
) -> Option<Steering> {
    let is_watched = leaves.iter().any(|(_, leaf)| leaf.members().iter().any(|one| one.probe.is_some()));
    let is_only = leaves.len() == 1 && !(as_record_tree && spec.mode == PlacementMode::WeightedCanary);
    if spec.mode == PlacementMode::SingleRegion || (is_only && !is_watched) {
        return None;
    }
    if is_only {
        return leaves.pop().map(|(_, leaf)| Steering::Failover(vec![leaf]));
    }
    let only = |leaves: Vec<(usize, Steering)>| leaves.into_iter().map(|(_, leaf)| leaf);
    match (spec.mode, spec.routing) {
        (PlacementMode::ActiveActive, Routing::Closest) => {
            let located = leaves.into_iter().map(|(number, leaf)| (regions[number].location, leaf));
            Some(Steering::Closest(located.collect()))
        }
        // A name has one alias at a time.
        (PlacementMode::ActiveActive, Routing::All) if rtype == Rtype::CNAME => {
            Some(Steering::Weighted { sticky: false, choices: only(leaves).map(|leaf| (1, leaf)).collect() })
        }
        (PlacementMode::WeightedCanary, _) => {
            let choices = leaves.into_iter().map(|(number, leaf)| (regions[number].weight, leaf));
            Some(Steering::Weighted { sticky: true, choices: choices.collect() })
        }
        (PlacementMode::ActiveHotstandby | PlacementMode::ActivePassiveWarm, _) => {
            Some(Steering::Failover(only(leaves).collect()))
        }
        (PlacementMode::ActiveActive | PlacementMode::SingleRegion, _) => {
            let members = only(leaves).flat_map(|leaf| leaf.members()).collect();
            is_watched.then_some(Steering::All(members))
        }
    }
}
