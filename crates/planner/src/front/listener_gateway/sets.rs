//! From clusters to the record sets of a host: one cluster an answer, drawn by weight within the
//! client's place.

use std::collections::BTreeMap;

use api::HealthCheck;
use dns::{Geo, Name, RecordSet, Steering};

use super::clusters::Cluster;
use super::{Spread, TTL};
use crate::front::steered::{self, Part};
use crate::probe::ProbeSpec;

/// A cluster's part of a record set.
type Leaf<'a> = (&'a Cluster, Steering);

/// The record sets of a host, and the probes that they go by. As a tree, a set of one cluster is steered
/// too, so that its record tree has the same form when another joins.
pub(super) fn host_sets(host: &Name, spread: &Spread, as_tree: bool) -> (Vec<RecordSet>, Vec<ProbeSpec>) {
    let Spread { clusters, default, health, anyhow, .. } = spread;
    let (anyhow, mut probes) = (*anyhow, Vec::new());
    let parts = clusters.iter().map(|one| part(one, host, health.as_ref(), &mut probes));
    let parts: Vec<Part> = parts.collect();
    let geo = default.filter(|_| !anyhow);
    let tree = |_, leaves: Vec<(usize, Steering)>| {
        let is_plain = leaves.len() == 1 && probes.is_empty() && !as_tree;
        let leaves = leaves.into_iter().map(|(number, leaf)| (&clusters[number], leaf)).collect();
        tree(leaves, geo, anyhow).filter(|_| !is_plain)
    };
    let mut sets = steered::sets(host, TTL, &parts, &tree);
    // Data that only drained clusters have is nobody's.
    sets.retain(|set| anyhow || clusters.iter().any(|one| one.weight > 0 && one.has(set.rtype)));
    (sets, probes)
}

fn part(cluster: &Cluster, host: &Name, check: Option<&HealthCheck>, probes: &mut Vec<ProbeSpec>) -> Part {
    let mut targets = Vec::new();
    for target in &cluster.targets {
        let probe = check.and_then(|check| steered::probe(check, None, host, target.clone()));
        targets.push((target.clone(), probe.as_ref().map(ProbeSpec::id)));
        probes.extend(probe);
    }
    Part { name: cluster.name.clone(), targets }
}

/// By place where there is a default one, and by weight within each; `None` where all are drained.
fn tree(leaves: Vec<Leaf<'_>>, geo: Option<Geo>, anyhow: bool) -> Option<Steering> {
    let Some(default) = geo else { return weighted(leaves, anyhow) };
    let mut places: BTreeMap<Geo, Vec<Leaf<'_>>> = BTreeMap::new();
    for leaf in &leaves {
        places.entry(leaf.0.geo.unwrap_or(default)).or_default().push(leaf.clone());
    }
    let choices = places.into_iter().filter_map(|(geo, leaves)| Some((geo, weighted(leaves, anyhow)?)));
    let choices: Vec<(Geo, Steering)> = choices.collect();
    let of_default = choices.iter().find(|(geo, _)| *geo == default).map(|(_, choice)| choice.clone());
    // A default place whose clusters are all drained, or have no data of this type, is everywhere.
    let default = of_default.or_else(|| weighted(leaves, anyhow))?;
    Some(Steering::Geo { choices, default: Box::new(default) })
}

/// One cluster by its weight; `None` where all of them are drained.
fn weighted(leaves: Vec<Leaf<'_>>, anyhow: bool) -> Option<Steering> {
    let weight = |cluster: &Cluster| if anyhow { 1 } else { cluster.weight };
    if leaves.iter().all(|(cluster, _)| weight(cluster) == 0) {
        return None;
    }
    let choices = leaves.into_iter().map(|(cluster, leaf)| (weight(cluster), leaf)).collect();
    Some(Steering::Weighted { sticky: false, choices })
}
