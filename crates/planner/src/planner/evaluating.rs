//! Second stage: evaluate what changed, and move its hosts and claims.

use std::collections::BTreeSet;

use rustc_hash::FxHashSet;

use super::{Evaluated, Planner, Work};
use crate::facts::Reader;
use crate::front;
use crate::output::{Claim, Outcome, Output};
use crate::rank::Rank;
use crate::snapshot::Id;
use crate::view::View;
use crate::zone_table::Standing;

impl Planner {
    /// Evaluates what changed or looked at something that did; gives what was there before.
    pub(super) fn evaluate(&mut self, work: &mut Work) -> Vec<(Id, Option<Box<Evaluated>>)> {
        let ids = work.objects.take();
        let mut replaced = Vec::with_capacity(ids.len());
        for id in ids {
            let now = self.evaluate_one(id).map(Box::new);
            if self.evaluated.len() <= id.0 as usize {
                self.evaluated.resize_with(id.0 as usize + 1, || None);
            }
            let before = self.evaluated[id.0 as usize].take();
            let same = match (&before, &now) {
                (Some(before), Some(now)) => before.rank == now.rank && before.output == now.output,
                (None, None) => true,
                _ => false,
            };
            self.evaluated[id.0 as usize] = now;
            if !same {
                self.note_starving(id, before.as_deref(), work);
                let probes = self.evaluated(id).map(|one| one.output.outcome.probes().to_vec());
                self.probing.set(id, probes.unwrap_or_default());
                work.statuses.insert(id);
                work.children.insert(id);
                replaced.push((id, before));
            }
        }
        replaced
    }

    /// Keeps the set of gateways that have no answer, and has their names looked at again.
    fn note_starving(&mut self, id: Id, before: Option<&Evaluated>, work: &mut Work) {
        let starved = |one: Option<&Evaluated>| match one.map(|one| &one.output.outcome) {
            Some(Outcome::Listeners(outcome)) => outcome.starved.clone(),
            _ => Vec::new(),
        };
        let (old, new) = (starved(before), starved(self.evaluated(id)));
        match new.is_empty() {
            true => self.starving.remove(&id),
            false => self.starving.insert(id),
        };
        for (_, zone, host) in old.into_iter().chain(new) {
            let zone = self.zone_number(&zone);
            work.deliveries.insert((zone, host));
        }
    }

    fn evaluate_one(&mut self, id: Id) -> Option<Evaluated> {
        let Some(entry) = self.snapshot.entry(id) else {
            self.ledger.forget(Reader::main(id));
            return None;
        };
        let Some(object) = &entry.object else {
            let key = &entry.key;
            let rank = Rank::of_file(key.cluster, &key.reference.name);
            return Some(Evaluated { rank, output: Output::new(Outcome::Refused) });
        };
        let rank = Rank::of(entry.key.cluster, object);
        let view = View::new(entry.key.cluster, &self.snapshot, &self.table, &mut self.ledger);
        let output = front::evaluate(&view, id, object);
        let reads = view.into_reads();
        self.ledger.record(Reader::main(id), reads);
        match &output.outcome {
            Outcome::Placement(outcome) => self.snapshot.keep_placed(id, outcome),
            Outcome::Listeners(outcome) => self.snapshot.keep_spreads(id, outcome),
            _ => {}
        }
        Some(Evaluated { rank, output })
    }

    /// Moves hosts and claims from what objects yielded before to what they yield now.
    pub(super) fn move_claims(&mut self, replaced: Vec<(Id, Option<Box<Evaluated>>)>, work: &mut Work) {
        let mut flipped: BTreeSet<Id> = BTreeSet::new();
        for (id, before) in &replaced {
            self.move_host(*id, before.as_deref(), &mut flipped, work);
        }
        let already: FxHashSet<Id> = replaced.iter().map(|(id, _)| *id).collect();
        for (id, before) in replaced {
            self.move_child_names(id, before.as_deref(), &mut work.children);
            let was_in = !self.turned_away.contains(&id);
            let is_in = self.has_room(id);
            self.set_room(id, is_in);
            let old =
                before.as_ref().filter(|_| was_in).map(|one| &one.output.claims[..]).unwrap_or_default();
            self.move_object_claims(id, old, is_in, work);
            self.note_parent(id, work);
        }
        for id in flipped.into_iter().filter(|id| !already.contains(id)) {
            let (was_in, is_in) = (!self.turned_away.contains(&id), self.has_room(id));
            if was_in == is_in {
                continue;
            }
            self.set_room(id, is_in);
            work.statuses.insert(id);
            work.children.insert(id);
            let claims = self.evaluated(id).map(|one| one.output.claims.clone()).unwrap_or_default();
            self.move_object_claims(id, if was_in { &claims } else { &[] }, is_in, work);
        }
    }

    fn set_room(&mut self, id: Id, room: bool) {
        if room {
            self.turned_away.remove(&id);
        } else {
            self.turned_away.insert(id);
        }
    }

    fn has_room(&self, id: Id) -> bool {
        let Some(evaluated) = self.evaluated(id) else { return true };
        let Some((gateway, _)) = &evaluated.output.host else { return true };
        self.hosts.get(gateway).is_none_or(|hosts| hosts.has_room_for(&evaluated.rank))
    }

    fn move_host(&mut self, id: Id, before: Option<&Evaluated>, flipped: &mut BTreeSet<Id>, work: &mut Work) {
        let now = self.evaluated.get(id.0 as usize).and_then(Option::as_deref);
        let hosted = |one: Option<&Evaluated>| {
            one.and_then(|one| {
                one.output.host.clone().map(|(gateway, host)| (gateway, host, one.rank.clone()))
            })
        };
        let (old, new) = (hosted(before), hosted(now));
        if old == new {
            return;
        }
        if let Some((gateway, _, rank)) = old {
            if let Some(hosts) = self.hosts.get_mut(&gateway) {
                flipped.extend(hosts.remove(&rank, self.host_limit));
                if hosts.is_empty() {
                    self.hosts.remove(&gateway);
                }
            }
            work.gateways.insert(gateway);
        }
        if let Some((gateway, host, rank)) = new {
            let hosts = self.hosts.entry(gateway.clone()).or_default();
            flipped.extend(hosts.insert(rank, id, host, self.host_limit));
            work.gateways.insert(gateway);
        }
    }

    fn move_object_claims(&mut self, id: Id, old: &[Claim], is_in: bool, work: &mut Work) {
        let new =
            self.evaluated(id).filter(|_| is_in).map(|one| one.output.claims.clone()).unwrap_or_default();
        for claim in old {
            let zone = self.zone_number(&claim.zone);
            if let Some(node) = self.zones[zone as usize].nodes.get_mut(&claim.name) {
                node.claims.retain(|(owner, _)| *owner != id);
            }
            self.count_claim(zone, claim, false);
            work.nodes.push((zone, claim.name.clone()));
        }
        for (number, claim) in new.iter().enumerate() {
            let zone = self.zone_number(&claim.zone);
            let node = self.zones[zone as usize].nodes.entry(claim.name.clone()).or_default();
            node.claims.push((id, number as u16));
            self.count_claim(zone, claim, true);
            work.nodes.push((zone, claim.name.clone()));
        }
    }

    /// Keeps the zone's link to the zone that delegates to it.
    fn note_parent(&mut self, id: Id, work: &mut Work) {
        let Some(Evaluated { output: Output { outcome: Outcome::Zone(outcome), .. }, .. }) =
            self.evaluated(id)
        else {
            return;
        };
        if let (Standing::At(origin), None, false) = (&outcome.standing, &outcome.conflict, outcome.is_twin) {
            let (origin, parent) =
                (origin.clone(), outcome.parent.as_ref().map(|parent| parent.origin.clone()));
            let number = self.zone_number(&origin);
            self.zones[number as usize].parent = parent;
            work.delegations.insert(number);
        }
    }
}
