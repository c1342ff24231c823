//! Third stage: decide every name that was touched.

use dns::{Name, RecordSet};
use smallvec::SmallVec;

use super::{LostClaim, Planner, Work};
use crate::delta::RecordChange;
use crate::output::{ChildSeed, Claim};
use crate::place::Scope;
use crate::rank::Rank;
use crate::resolve::{Contender, Loss, Set, Sets, resolve};
use crate::snapshot::Id;
use crate::zone_state::{Node, ZoneState};

/// What was decided for one name.
struct Decided {
    sets: Sets,
    losses: Vec<(Id, LostClaim)>,
    /// Claims for everywhere met claims for one place.
    is_mixed: bool,
}

impl Planner {
    /// Decides every name that was touched, then what parents copy from sub-zones, until all stands.
    pub(super) fn resolve_nodes(&mut self, work: &mut Work) {
        loop {
            let mut nodes = std::mem::take(&mut work.nodes);
            nodes.sort_unstable();
            nodes.dedup();
            for (zone, name) in nodes {
                self.resolve_node(zone, &name, work);
            }
            let Some(zone) = work.delegations.pop_first() else { break };
            self.copy_delegation(zone, work);
        }
    }

    fn resolve_node(&mut self, zone: u32, name: &Name, work: &mut Work) {
        work.zones.insert(zone);
        work.statuses.extend(self.delivering.owing(name));
        // The node is taken out while it is decided, so that the way to it is gone once each way.
        let mut node = std::mem::take(self.zones[zone as usize].nodes.entry(name.clone()).or_default());
        let Decided { sets, losses, is_mixed } = self.decide_node(zone, name, &node);
        self.note_mixed(zone, name, is_mixed);
        self.keep_losses(zone, name, &mut node, losses, work);
        let state = &mut self.zones[zone as usize];
        if *name == state.origin {
            // Name servers that somebody claims are delivered, the same ones as the zone's default are not.
            work.deliveries.insert((zone, name.clone()));
        }
        if let Some(before) = state.settle(name, &mut node, sets) {
            if *name == state.origin || state.glue.contains(name) {
                work.delegations.insert(zone);
            }
            self.report(zone, name, &before, &node, work);
            self.remake_children(&node, work);
        }
        self.zones[zone as usize].put_back(name, node);
    }

    /// What an ExternalDNS is given is whole record sets, which others may be part of.
    fn remake_children(&self, node: &Node, work: &mut Work) {
        let is_of_class = |id: &Id| {
            self.evaluated(*id).is_some_and(|one| one.output.children.iter().any(ChildSeed::is_of_class))
        };
        let makers = node.claims.iter().map(|(id, _)| *id).filter(is_of_class);
        makers.for_each(|id| work.children.insert(id));
    }

    fn decide_node(&self, zone: u32, name: &Name, node: &Node) -> Decided {
        let state = &self.zones[zone as usize];
        let base = if node.claims.is_empty() { Vec::new() } else { base_claims(state, name) };
        let mut contenders: SmallVec<[Contender<'_>; 2]> = SmallVec::new();
        let mut owners: SmallVec<[(Id, u16); 2]> = SmallVec::new();
        for (id, number) in &node.claims {
            let Some(evaluated) = self.evaluated.get(id.0 as usize).and_then(Option::as_deref) else {
                continue;
            };
            let Some(claim) = evaluated.output.claims.get(usize::from(*number)) else { continue };
            contenders.push(Contender { rank: &evaluated.rank, claim });
            owners.push((*id, *number));
        }
        contenders.extend(base.iter().map(|(rank, claim)| Contender { rank, claim }));
        let (sets, lost) = resolve(&contenders, &self.views.places);
        let everywhere = contenders.iter().filter(|one| one.claim.scope == Scope::Everywhere).count();
        let is_mixed = everywhere > 0 && everywhere < contenders.len();
        let loss = |Loss { contender, place, holder }| {
            let (id, claim) = *owners.get(contender)?;
            Some((id, LostClaim { claim, place, holder, zone, name: name.clone() }))
        };
        let losses = lost.into_iter().filter_map(loss).collect();
        Decided { sets, losses, is_mixed }
    }

    fn note_mixed(&mut self, zone: u32, name: &Name, is_mixed: bool) {
        if is_mixed {
            self.mixed.insert((zone, name.clone()));
        } else if !self.mixed.is_empty() {
            self.mixed.remove(&(zone, name.clone()));
        }
    }

    fn keep_losses(
        &mut self,
        zone: u32,
        name: &Name,
        node: &mut Node,
        losses: Vec<(Id, LostClaim)>,
        work: &mut Work,
    ) {
        if losses.is_empty() && node.losers().is_empty() {
            return;
        }
        let mut losers: Vec<Id> = losses.iter().map(|(id, _)| *id).collect();
        losers.sort_unstable();
        losers.dedup();
        for id in node.replace_losers(losers) {
            if let Some(lost) = self.losses.get_mut(&id) {
                lost.retain(|one| one.zone != zone || one.name != *name);
                if lost.is_empty() {
                    self.losses.remove(&id);
                }
            }
            work.statuses.insert(id);
            work.children.insert(id);
        }
        for (id, loss) in losses {
            self.losses.entry(id).or_default().push(loss);
            work.statuses.insert(id);
            work.children.insert(id);
        }
    }

    /// Tells what moved at a name.
    fn report(&self, zone: u32, name: &Name, before: &Sets, node: &Node, work: &mut Work) {
        let origin = &self.zones[zone as usize].origin;
        let same = |set: &Set, sets: &[Set]| {
            sets.iter().find(|one| one.rtype == set.rtype && one.scope == set.scope).cloned()
        };
        let owner = node.claims.first().and_then(|(id, _)| self.reference(*id));
        let change = |scope: &Scope, before: Option<Set>, after: Option<Set>| RecordChange {
            zone: origin.clone(),
            scope: scope.clone(),
            before: before.map(|set| set.named(name)),
            after: after.map(|set| set.named(name)),
            origin: owner.clone(),
        };
        for set in &node.sets {
            let old = same(set, before);
            if old.as_ref() != Some(set) {
                work.delta.records.push(change(&set.scope, old, Some(set.clone())));
            }
        }
        for set in before.iter().filter(|set| same(set, &node.sets).is_none()) {
            work.delta.records.push(change(&set.scope, Some(set.clone()), None));
        }
        work.delta.nodes.push((origin.clone(), name.clone()));
    }
}

/// A zone file's record sets at a name, as the claims of one owner.
fn base_claims(state: &ZoneState, name: &Name) -> Vec<(Rank, Claim)> {
    let Some(holder) = &state.holder else { return Vec::new() };
    let sets = state.base_at(name).into_iter();
    let claim = |set: RecordSet| Claim {
        zone: state.origin.clone(),
        name: name.clone(),
        rtype: set.rtype,
        ttl: set.ttl,
        data: set.data,
        steering: None,
        scope: Scope::Everywhere,
        shared: false,
    };
    sets.map(|set| (holder.zone.rank.clone(), claim(set))).collect()
}
