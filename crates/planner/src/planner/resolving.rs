//! Third stage: decide every name that was touched.

use dns::{Name, RecordSet};
use smallvec::SmallVec;

use super::grouping::Shares;
use super::{LostClaim, Planner, Work};
use crate::delta::RecordChange;
use crate::holders::{Holding, Owner, Tenure};
use crate::input::{ClusterId, ObjectRef};
use crate::output::{ChildSeed, Claim};
use crate::place::{Place, Scope};
use crate::rank::{Rank, Reason};
use crate::resolve::{Contender, Loss, Resolved, Set, Sets, resolve};
use crate::snapshot::Id;
use crate::zone_state::{Kept, Node, ZoneState};

/// What was decided for one name.
struct Decided {
    sets: Sets,
    losses: Vec<(Id, LostClaim)>,
    owners: Owners,
    /// Claims for everywhere met claims for one place.
    is_mixed: bool,
}

/// Whose the record sets of a name are.
enum Owners {
    /// One object's; or nobody's.
    Sole(Option<Id>),
    Several(Vec<Kept>),
}

impl Planner {
    /// Decides every name that was touched, then what parents copy from sub-zones, until all stands.
    pub(super) fn resolve_nodes(&mut self, work: &mut Work) {
        // Claims may have changed since names were last resolved.
        work.groups.clear();
        loop {
            let nodes = self.with_dependents(std::mem::take(&mut work.nodes));
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
        let held = self.held_before(zone, name, work);
        // The node is taken out while it is decided, so that the way to it is gone once each way.
        let mut node = std::mem::take(self.zones[zone as usize].nodes.entry(name.clone()).or_default());
        let Decided { sets, losses, owners, is_mixed } = self.decide_node(zone, name, &node, &held, work);
        if self.remembers() {
            work.decided.push(name.clone());
        }
        let are_others = match owners {
            Owners::Sole(owner) => node.set_sole_owner(owner),
            Owners::Several(kept) => node.set_owners(kept),
        };
        if are_others {
            work.before.note_owners_moved([name]);
        }
        if are_others && self.table.has_refused() {
            // A Zone that is refused for a name says which object has it.
            work.statuses.extend(self.zones_touched_by(name));
        }
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
            work.before.note_owners_moved([name]);
            self.report((zone, name), (&before, &held), &node, work);
        }
        self.remake_children(&node, work);
        self.zones[zone as usize].put_back(name, node);
    }

    /// What an ExternalDNS is given is whole record sets, which others may be part of. The oldest of those gives it,
    /// and that may be another one although the set is the same.
    fn remake_children(&self, node: &Node, work: &mut Work) {
        let is_of_class = |id: &Id| {
            self.evaluated(*id).is_some_and(|one| one.output.children.iter().any(ChildSeed::is_of_class))
        };
        let makers = node.claims.iter().map(|(id, _)| *id).filter(is_of_class);
        makers.for_each(|id| work.children.insert(id));
    }

    fn decide_node(&self, zone: u32, name: &Name, node: &Node, held: &[Holding], work: &mut Work) -> Decided {
        let state = &self.zones[zone as usize];
        let base = if node.claims.is_empty() { Vec::new() } else { base_claims(state, name) };
        let mut shares = self.shares(zone, name, node, held, work);
        let mut contenders: SmallVec<[Contender<'_>; 2]> = SmallVec::new();
        let mut owners: SmallVec<[(Id, u16); 2]> = SmallVec::new();
        for (id, number) in &shares.admitted {
            let Some((rank, claim)) = self.claimed(*id, *number) else { continue };
            contenders.push(Contender { rank, claim });
            owners.push((*id, *number));
        }
        contenders.extend(base.iter().map(|(rank, claim)| Contender { rank, claim }));
        let mut resolved = resolve(&contenders, held, &self.views.places);
        if self.remembers() && !resolved.losses.is_empty() {
            // Those that have the name now are told of as they will be remembered, so that a plan from nothing
            // with this memory says the same.
            let now = self.holdings_of(&contenders, &resolved);
            resolved.losses = resolve(&contenders, &now, &self.views.places).losses;
        }
        let everywhere = contenders.iter().filter(|one| one.claim.scope == Scope::Everywhere).count();
        let is_mixed = everywhere > 0 && everywhere < contenders.len();
        let now = owners_of(&contenders, &owners, &resolved, &shares);
        let loss = |Loss { contender, place, holder, reason }| {
            let (id, claim) = *owners.get(contender)?;
            Some((id, LostClaim { claim, place, holder, reason, depends_on: None, zone, name: name.clone() }))
        };
        shares.losses.extend(resolved.losses.into_iter().filter_map(loss));
        Decided { sets: resolved.sets, losses: shares.losses, owners: now, is_mixed }
    }

    /// Who has a name by what was just decided.
    fn holdings_of(&self, contenders: &[Contender<'_>], resolved: &Resolved) -> Vec<Holding> {
        let holding = |number: usize, place: &Option<Place>, tenure| {
            let Contender { rank, claim } = contenders[number];
            let scope = place.clone().map_or(Scope::Everywhere, Scope::At);
            Holding { owner: Owner::of_rank(rank), scope, rtype: claim.rtype, tenure }
        };
        let won = resolved.wins.iter().map(|(number, place)| holding(*number, place, Tenure::Holds));
        let yielding = resolved.losses.iter().filter(|loss| loss.reason != Reason::AlreadyHeld);
        won.chain(yielding.map(|loss| holding(loss.contender, &loss.place, Tenure::Yields))).collect()
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

    /// Tells what moved at a name, and whose it is, or was.
    fn report(
        &self,
        (zone, name): (u32, &Name),
        (before, held): (&Sets, &[Holding]),
        node: &Node,
        work: &mut Work,
    ) {
        let origin = &self.zones[zone as usize].origin;
        let same = |set: &Set, sets: &[Set]| {
            sets.iter().find(|one| one.rtype == set.rtype && one.scope == set.scope).cloned()
        };
        let change = |owner, scope: &Scope, before: Option<Set>, after: Option<Set>| RecordChange {
            zone: origin.clone(),
            scope: scope.clone(),
            before: before.map(|set| set.named(name)),
            after: after.map(|set| set.named(name)),
            origin: owner,
        };
        for set in &node.sets {
            let old = same(set, before);
            if old.as_ref() != Some(set) {
                let owner = self.owner_of_set((zone, name), node, set);
                work.delta.records.push(change(owner, &set.scope, old, Some(set.clone())));
            }
        }
        for set in before.iter().filter(|set| same(set, &node.sets).is_none()) {
            let had = |one: &&Holding| {
                one.tenure != Tenure::Yields && one.rtype == set.rtype && one.scope.meets(&set.scope)
            };
            let owner = held.iter().find(had).and_then(|one| one.owner.reference());
            work.delta.records.push(change(owner, &set.scope, Some(set.clone()), None));
        }
        work.delta.nodes.push((origin.clone(), name.clone()));
    }

    /// The object that a record set is of: the oldest of those whose claims it is made of.
    fn owner_of_set(
        &self,
        (zone, name): (u32, &Name),
        node: &Node,
        set: &Set,
    ) -> Option<(ClusterId, ObjectRef)> {
        let owns = |(id, number): &&(Id, u16)| {
            let claim = self.evaluated(*id).and_then(|one| one.output.claims.get(usize::from(*number)));
            let is_lost = |lost: &LostClaim| {
                let is_here = lost.place.as_ref().is_none_or(|place| set.scope.covers(place));
                lost.claim == *number && lost.zone == zone && lost.name == *name && is_here
            };
            claim.is_some_and(|claim| claim.rtype == set.rtype && claim.scope.meets(&set.scope))
                && !self.lost(*id).iter().any(is_lost)
        };
        let owners = node.claims.iter().filter(owns).map(|(id, _)| *id);
        self.reference(owners.min_by_key(|id| self.evaluated(*id).map(|one| &one.rank))?)
    }
}

/// Whose the record sets of a name are now; contenders past `ids` are of the zone file.
fn owners_of(
    contenders: &[Contender<'_>],
    ids: &[(Id, u16)],
    resolved: &Resolved,
    shares: &Shares,
) -> Owners {
    let sole = ids.first().map(|(id, _)| *id);
    let is_alone = contenders.len() == ids.len() && ids.iter().all(|(id, _)| Some(*id) == sole);
    if is_alone && resolved.losses.is_empty() && shares.is_plain() {
        return Owners::Sole(sole);
    }
    let kept = |number: usize, place: &Option<Place>, tenure| {
        let (owner, rtype) = (ids.get(number).map(|(id, _)| *id), contenders[number].claim.rtype);
        Kept { owner, place: place.clone(), rtype, tenure }
    };
    // What another namespace has to tolerate lasts as long as its permission.
    let is_tolerated = |number: usize| ids.get(number).is_some_and(|one| shares.tolerated.contains(one));
    let tenure = |number| if is_tolerated(number) { Tenure::Tolerated } else { Tenure::Holds };
    let won = resolved.wins.iter().map(|(number, place)| kept(*number, place, tenure(*number)));
    let yielding = resolved.losses.iter().filter(|loss| loss.reason != Reason::AlreadyHeld);
    let lost = yielding.map(|loss| kept(loss.contender, &loss.place, Tenure::Yields));
    Owners::Several(won.chain(lost).chain(shares.kept.iter().cloned()).collect())
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
        entitled: true,
    };
    sets.map(|set| (holder.zone.rank.clone(), claim(set))).collect()
}
