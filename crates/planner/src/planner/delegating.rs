//! Fourth stage: what zones copy from the sub-zones that they delegate to.

use std::collections::{BTreeMap, BTreeSet};

use dns::{Name, Rtype};

use super::{Planner, Work};
use crate::resolve::Set;
use crate::zone_state::{Node, ZoneState};

impl Planner {
    /// Copies a sub-zone's name servers and their addresses into the zone that delegates to it.
    pub(super) fn copy_delegation(&mut self, zone: u32, work: &mut Work) {
        let child = &self.zones[zone as usize];
        let origin = child.origin.clone();
        let (copies, glue) = match (&child.holder, &child.parent) {
            (Some(_), Some(_)) => delegation(child),
            _ => (BTreeMap::new(), BTreeSet::new()),
        };
        let parent = child.parent.clone().filter(|_| child.holder.is_some());
        let before = child.copied_to.clone().filter(|before| Some(before) != parent.as_ref());
        if let Some(before) = before.map(|before| self.zone_number(&before)) {
            self.replace_copies(before, &origin, &BTreeMap::new(), work);
        }
        if let Some(parent) = parent.as_ref().map(|parent| self.zone_number(parent)) {
            self.replace_copies(parent, &origin, &copies, work);
        }
        let child = &mut self.zones[zone as usize];
        (child.glue, child.copied_to) = (glue, parent);
    }

    fn replace_copies(
        &mut self,
        parent: u32,
        child: &Name,
        copies: &BTreeMap<Name, Vec<Set>>,
        work: &mut Work,
    ) {
        let state = &mut self.zones[parent as usize];
        let has_copy = |(name, node): (&Name, &Node)| node.copied_from(child).next().map(|_| name.clone());
        let mut names: BTreeSet<Name> = state.nodes_below(child).filter_map(has_copy).collect();
        names.extend(copies.keys().cloned());
        for name in names {
            let sets = copies.get(&name).map(|sets| &sets[..]).unwrap_or_default();
            let node = state.nodes.entry(name.clone()).or_default();
            if !node.copied_from(child).eq(sets) {
                node.replace_copies(child, sets);
                work.nodes.push((parent, name));
            }
        }
    }
}

/// What a parent copies from a sub-zone: its NS sets, and the addresses of those servers that lie in it.
fn delegation(child: &ZoneState) -> (BTreeMap<Name, Vec<Set>>, BTreeSet<Name>) {
    let at = |name: &Name| child.nodes.get(name).map(|node| &node.sets[..]).unwrap_or_default();
    let servers: Vec<Set> = at(&child.origin).iter().filter(|set| set.rtype == Rtype::NS).cloned().collect();
    let targets = servers.iter().flat_map(|set| set.data.iter().filter_map(|data| data.target()));
    let glue: BTreeSet<Name> = targets.filter(|target| target.is_in(&child.origin)).collect();
    let mut copies = BTreeMap::from([(child.origin.clone(), servers)]);
    for name in &glue {
        let addresses = at(name).iter().filter(|set| matches!(set.rtype, Rtype::A | Rtype::AAAA)).cloned();
        let addresses: Vec<Set> = addresses.collect();
        if !addresses.is_empty() {
            copies.entry(name.clone()).or_default().extend(addresses);
        }
    }
    copies.retain(|_, sets| !sets.is_empty());
    (copies, glue)
}
