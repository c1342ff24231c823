//! Last stage: serials, child objects, and the delta.

use std::collections::{BTreeMap, BTreeSet};

use api::Kind;
use dns::{Name, Rtype};

use super::{Ids, Planner, Work};
use crate::children::{ChildRef, Made};
use crate::delivery::set_hash;
use crate::delta::{ChangeKind, Delta};
use crate::facts::Index;
use crate::input::ClusterId;
use crate::place::Scope;
use crate::record_tree::hosts_of;
use crate::setting::Numbering;
use crate::snapshot::Id;
use crate::views::Signer;
use crate::zone_table::{Candidate, Source};

impl Planner {
    pub(super) fn renumber(&mut self, work: &mut Work) {
        let (today, numbering) = (self.snapshot.today, Numbering::of(&self.setting, self.leads));
        let all = 0..self.zones.len() as u32;
        let touched: Vec<u32> =
            if work.renumber_all { all.collect() } else { work.zones.iter().copied().collect() };
        for number in touched {
            let state = &mut self.zones[number as usize];
            let (scope, signed) = (state.scope(), self.snapshot.signed.get(&state.origin));
            state.signed = signed.map_or(0, |signed| signed_number(&self.views.signers, &scope, signed));
            let is_new = state.renumber(&mut self.snapshot.serials, today, numbering);
            // What is transferred moves with this too, and it may while the SOA stays: a server hears of
            // other signatures after their serial.
            let saved = self.snapshot.serials.get(&state.origin).copied();
            let settled = numbering != Numbering::Followed || state.is_settled(saved);
            if std::mem::replace(&mut state.settled, settled) != settled || is_new {
                work.delta.zones.push(state.origin.clone());
            }
            if let Some(Candidate { zone, .. }) = &state.holder
                && let Source::Object(id) = zone.source
            {
                work.statuses.insert(id);
            }
        }
        work.delta.zones.sort();
        work.delta.zones.dedup();
    }

    /// Turns what was touched into the delta, and lets go of what is gone.
    pub(super) fn finish(&mut self, mut work: Work) -> Delta {
        for key in std::mem::take(&mut work.gateways) {
            if let Some(id) = self.snapshot.id(&key) {
                work.children.insert(id);
                work.statuses.insert(id);
            }
        }
        let ids = work.children.take();
        for id in ids {
            let told = work.delta.children.len();
            self.make_children(id, &mut work.delta);
            if work.delta.children.len() > told {
                // A status names its child.
                work.statuses.insert(id);
            }
        }
        merge_moves(&mut work.delta.children);
        self.take_outcomes(&mut work);
        for (cluster, name) in std::mem::take(&mut work.delivered) {
            for host in hosts_of(&name).into_iter().chain([name]) {
                work.statuses.extend(self.claimants(cluster, &host));
            }
        }
        self.tell_deliveries(&mut work);
        self.outdate_reports(&work);
        let policies = self.policies_of(&work.statuses);
        work.statuses.extend(policies);
        work.delta.probes = self.probing.moved();
        let ids = work.statuses.take();
        work.delta.statuses.extend(ids.into_iter().filter_map(|id| self.reference(id)));
        for id in &work.gone {
            self.evaluated[id.0 as usize] = None;
            self.snapshot.release(*id);
        }
        work.delta
    }

    /// Tells of names whose delivery changed; those with other content are told of anyway.
    fn tell_deliveries(&self, work: &mut Work) {
        let told: BTreeSet<&(Name, Name)> = work.delta.nodes.iter().collect();
        let named = std::mem::take(&mut work.deliveries).into_iter();
        let named = named.map(|(zone, name)| (self.zones[zone as usize].origin.clone(), name));
        work.delta.deliveries = named.filter(|node| !told.contains(node)).collect();
    }

    /// A report is about the data that was wanted when it was made. Once other data is wanted it counts no more, also
    /// when the same data is wanted again: the provider is read again before that is reported.
    fn outdate_reports(&mut self, work: &Work) {
        let classes = self.delivering.told.classes();
        if classes.is_empty() {
            return;
        }
        for ((zone, name), types) in moved_types(work) {
            for class in &classes {
                self.outdate_reports_at(class, (zone, name), &types);
            }
        }
    }

    fn outdate_reports_at(&mut self, class: &str, (zone, name): (&Name, &Name), moved: &BTreeSet<Rtype>) {
        let Some(number) = self.zone_numbers.get(zone).copied() else { return };
        let mut wanted: BTreeMap<Rtype, Option<u64>> = moved.iter().map(|rtype| (*rtype, None)).collect();
        for one in self.wanted(class, zone, name) {
            match &one.set {
                Some(set) => drop(wanted.insert(one.rtype, Some(set_hash(set)))),
                // A set that is only kept, until its replacement is published, is not written.
                None => drop(wanted.remove(&one.rtype)),
            }
        }
        for (rtype, hash) in wanted {
            self.delivering.told.outdate(class, &(number, name.clone(), rtype), hash);
        }
    }

    /// The policies of the gateways among some objects: they tell what became of the gateways' names.
    fn policies_of(&self, ids: &Ids) -> Vec<Id> {
        let mut policies = Vec::new();
        for key in ids.0.iter().filter_map(|id| Some(&self.snapshot.entry(*id)?.key)) {
            if key.reference.kind == Kind::ListenerGateway {
                let (namespace, gateway) = (key.reference.namespace.clone(), (*key.reference.name).into());
                let index = Index::GatewayPolicies(key.cluster, namespace, gateway);
                policies.extend(self.snapshot.indexed(&index).map(|(_, id)| id));
            }
        }
        policies
    }

    /// The objects of a cluster that want a name, in whichever zone.
    fn claimants(&self, cluster: ClusterId, name: &Name) -> impl Iterator<Item = Id> {
        let zones = name.suffix_keys().filter_map(|key| self.zone_numbers.get(key));
        let nodes = zones.filter_map(|number| self.zones[*number as usize].nodes.get(name));
        let ids = nodes.flat_map(|node| node.claims.iter().map(|(id, _)| *id));
        ids.filter(move |id| self.snapshot.entry(*id).is_some_and(|entry| entry.key.cluster == cluster))
    }

    /// Keeps why children could not be applied, as long as they are planned.
    fn take_outcomes(&mut self, work: &mut Work) {
        if !self.failures.is_empty() {
            let gone = work.delta.children.iter().filter(|(_, kind)| *kind == ChangeKind::Removed);
            gone.for_each(|(child, _)| drop(self.failures.remove(child)));
        }
        for (child, failure) in std::mem::take(&mut work.outcomes) {
            let Some(maker) = self.maker_of(&child) else { continue };
            work.statuses.insert(maker);
            match failure {
                Some(failure) => drop(self.failures.insert(child, failure)),
                None => drop(self.failures.remove(&child)),
            }
        }
    }

    fn make_children(&mut self, id: Id, delta: &mut Delta) {
        let now = self.children_of(id);
        let before = self.made.remove(&id).unwrap_or_default();
        for made in &now {
            let old = before.iter().find(|one| one.child == made.child);
            match old {
                None => delta.children.push((made.child.clone(), ChangeKind::Added)),
                Some(old) if old.fingerprint != made.fingerprint => {
                    delta.children.push((made.child.clone(), ChangeKind::Changed));
                }
                _ => {}
            }
        }
        let gone = |one: &&Made| !now.iter().any(|made| made.child == one.child);
        let gone: Vec<ChildRef> = before.iter().filter(gone).map(|one| one.child.clone()).collect();
        delta.children.extend(gone.into_iter().map(|child| (child, ChangeKind::Removed)));
        self.move_renamed(id, &before, &now);
        if !now.is_empty() {
            self.made.insert(id, now);
        }
    }
}

/// A child that one object gives up and another takes over has changed: it neither comes nor goes.
fn merge_moves(children: &mut Vec<(ChildRef, ChangeKind)>) {
    let any = |kind| children.iter().any(|(_, of)| *of == kind);
    if !any(ChangeKind::Added) || !any(ChangeKind::Removed) {
        return;
    }
    children.sort();
    children.dedup_by(|later, first| {
        let moved = later.0 == first.0;
        if moved {
            first.1 = ChangeKind::Changed;
        }
        moved
    });
}

/// What the signatures of a zone count as. Keys that no class signs with any more count for nothing:
/// not every process has heard of them.
fn signed_number(signers: &[Signer], scope: &Scope, signed: &BTreeMap<String, u64>) -> u64 {
    let signing = signers.iter().filter(|signer| scope.covers(&signer.place));
    let vaults: BTreeSet<&str> = signing.map(|signer| signer.vault.as_str()).collect();
    let counted = signed.iter().filter(|(vault, _)| vaults.contains(vault.as_str()));
    counted.fold(0, |sum, (_, number)| sum.wrapping_add(*number))
}

/// The names at which something else is wanted, or that something was reported of, with the types that these were.
fn moved_types(work: &Work) -> BTreeMap<(&Name, &Name), BTreeSet<Rtype>> {
    let mut moved: BTreeMap<(&Name, &Name), BTreeSet<Rtype>> = BTreeMap::new();
    for (zone, name) in work.delta.nodes.iter().chain(&work.delta.deliveries) {
        moved.entry((zone, name)).or_default();
    }
    for change in &work.delta.records {
        for set in change.before.iter().chain(&change.after) {
            moved.entry((&change.zone, &set.name)).or_default().insert(set.rtype);
        }
    }
    for told in &work.told {
        moved.entry((&told.zone, &told.name)).or_default().insert(told.rtype);
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::Place;

    #[test]
    fn only_the_keys_that_a_class_signs_with_now_count() {
        let signer = |class: &str, vault: &str| {
            let place = Place::Class(class.into());
            Signer { place, vault: vault.to_owned(), spec: Default::default() }
        };
        let numbers = |pairs: &[(&str, u64)]| {
            pairs.iter().map(|(vault, number)| ((*vault).to_owned(), *number)).collect::<BTreeMap<_, _>>()
        };
        let signers = [signer("a", "new"), signer("b", "shared"), signer("c", "shared")];
        let number = |pairs| signed_number(&signers, &Scope::Everywhere, &numbers(pairs));
        assert_eq!(number(&[("new", 3), ("shared", 4)]), 7, "once for each vault");
        assert_eq!(number(&[("new", 3), ("old", 9), ("shared", 4)]), 7, "a vault of before");
        assert_eq!(number(&[("old", 9)]), 0);
    }
}
