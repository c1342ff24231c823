//! The groups of names that depend on one another, in the plan: which claims at a name its namespace may have, and
//! which names have to be decided again when one of them changes.

use std::ops::Bound;

use dns::{Name, parent_key};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::{LostClaim, Planner, Work};
use crate::holders::{Holding, Past, Standing, Tenure};
use crate::namespace_rule::{Member, Verdict, base_key, cuts, decide, may_depend};
use crate::output::Claim;
use crate::place::{Place, Scope};
use crate::rank::{Rank, Reason};
use crate::snapshot::Id;
use crate::zone_state::{Kept, Node, ZoneState};
use crate::zone_table::Source;

/// A group with more claims than this is decided once for all its names.
const LARGE: usize = 8;

/// A claim, by its object and its number there.
pub(super) type ClaimKey = (Id, u16);

/// What is decided for the claims of large groups, by the names that the others of the group depend on.
pub(super) type Groups = FxHashMap<Name, FxHashMap<ClaimKey, Ruling>>;

/// What the rule decides for one claim.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Ruling {
    /// The rule alone does not refuse it.
    Admitted,
    /// Another namespace has to tolerate it.
    Tolerated,
    /// This claim keeps it out, with this standing.
    KeptOut(ClaimKey, Standing),
}

/// What the rule that a name belongs to one namespace leaves of the claims at a name.
#[derive(Default)]
pub(super) struct Shares {
    /// The claims that may be had, as far as this rule goes.
    pub(super) admitted: SmallVec<[(Id, u16); 2]>,
    /// Those among them that another namespace has to tolerate, by a delegation or a grant.
    pub(super) tolerated: Vec<(Id, u16)>,
    /// What is remembered of reservations and of claims that were kept out.
    pub(super) kept: Vec<Kept>,
    pub(super) losses: Vec<(Id, LostClaim)>,
}

impl Shares {
    /// Whether no other namespace plays a part.
    pub(super) fn is_plain(&self) -> bool {
        self.tolerated.is_empty() && self.kept.is_empty()
    }
}

impl Planner {
    /// Decides which of the claims at a name its namespaces may have.
    pub(super) fn shares(
        &self,
        zone: u32,
        name: &Name,
        node: &Node,
        held: &[Holding],
        work: &mut Work,
    ) -> Shares {
        let mut shares = Shares::default();
        let is_there = |(id, number): &(Id, u16)| self.claimed(*id, *number).is_some();
        let own: SmallVec<[(Id, u16); 2]> = node.claims.iter().copied().filter(is_there).collect();
        let past = Past::new(held, &self.views.places);
        let members: Vec<Member<'_>> =
            own.iter().filter_map(|(id, number)| self.member(*id, *number, &past)).collect();
        let below: Vec<Option<Member<'_>>> =
            members.iter().map(|member| self.delegated_away(zone, member, work)).collect();
        let is_barred =
            |(member, below): (&Member<'_>, &Option<_>)| below.is_some() && !member.claim.entitled;
        let barred: Vec<bool> = members.iter().zip(&below).map(is_barred).collect();
        let rulings = self.rulings((zone, name), (&own, &members), &barred, work);
        for (number, (id, claim_number)) in own.iter().enumerate() {
            let member = &members[number];
            let keeper = match rulings[number] {
                Ruling::KeptOut((id, claim), standing) => {
                    self.claimed(id, claim).map(|(rank, claim)| Member { standing, rank, claim })
                }
                _ => below[number].filter(|_| barred[number]),
            };
            if let Some(keeper) = keeper {
                let reason = keeper.reason_against(member);
                if reason != Reason::AlreadyHeld {
                    shares.kept.push(kept(*id, member.claim, Tenure::Yields));
                }
                shares.losses.push((*id, loss(*claim_number, &keeper, reason, zone, name)));
                continue;
            }
            if below[number].is_some() || rulings[number] == Ruling::Tolerated {
                shares.tolerated.push((*id, *claim_number));
            }
            match member.claim.is_reservation() {
                true => shares.kept.push(kept(*id, member.claim, Tenure::Holds)),
                false => shares.admitted.push((*id, *claim_number)),
            }
        }
        shares
    }

    /// What the rule says of the claims at a name, those of its group considered.
    fn rulings<'a>(
        &'a self,
        (zone, name): (u32, &Name),
        (own, members): (&[ClaimKey], &[Member<'a>]),
        barred: &[bool],
        work: &mut Work,
    ) -> Vec<Ruling> {
        // Those that may not be had anyway need no look at the group.
        if barred.iter().all(|is_barred| *is_barred) {
            return vec![Ruling::Admitted; own.len()];
        }
        let base = self.base_of(name);
        let is_any_barred = barred.contains(&true);
        if let Some(known) = work.groups.get(&base).filter(|_| !is_any_barred) {
            return own.iter().map(|key| known.get(key).copied().unwrap_or(Ruling::Admitted)).collect();
        }
        let (mut keys, mut members) = (own.to_vec(), members.to_vec());
        self.add_peers((zone, name), &base, (&mut keys, &mut members), work);
        let mut barred = barred.to_vec();
        barred.resize(members.len(), false);
        let (verdicts, members) = decide(&members, &barred);
        let rulings = verdicts.into_iter().map(|verdict| match verdict {
            Verdict::KeptOut(keeper) => Ruling::KeptOut(keys[keeper], members[keeper].standing),
            Verdict::Tolerated => Ruling::Tolerated,
            Verdict::Admitted | Verdict::Barred => Ruling::Admitted,
        });
        let mut rulings: Vec<Ruling> = rulings.collect();
        if members.len() > LARGE && !is_any_barred {
            work.groups.insert(base, keys.iter().copied().zip(rulings.iter().copied()).collect());
        }
        rulings.truncate(own.len());
        rulings
    }

    fn member(&self, id: Id, number: u16, past: &Past<'_>) -> Option<Member<'_>> {
        let (rank, claim) = self.claimed(id, number)?;
        let standing = past.standing_in_group(rank, claim.rtype, place_of(claim).as_ref());
        Some(Member { standing, rank, claim })
    }

    /// A claim of an object.
    pub(super) fn claimed(&self, id: Id, number: u16) -> Option<(&Rank, &Claim)> {
        let evaluated = self.evaluated(id)?;
        Some((&evaluated.rank, evaluated.output.claims.get(usize::from(number))?))
    }

    /// Adds the claims on the other names of the group, and on the same name in other zones.
    fn add_peers<'a>(
        &'a self,
        own: (u32, &Name),
        base: &Name,
        (keys, members): (&mut Vec<ClaimKey>, &mut Vec<Member<'a>>),
        work: &mut Work,
    ) {
        let mut peers: Vec<(u32, &Name, &Node)> = Vec::new();
        self.for_each_in_group(base, |number, other, node| {
            if (number, other) != own && !node.claims.is_empty() {
                peers.push((number, other, node));
            }
        });
        for (number, other, node) in peers {
            let held = self.held_before(number, other, work);
            let past = Past::new(&held, &self.views.places);
            for (id, claim) in &node.claims {
                if let Some(member) = self.member(*id, *claim, &past) {
                    keys.push((*id, *claim));
                    members.push(member);
                }
            }
        }
    }

    /// The oldest claim of another namespace below the name of an NS or DNAME in its zone that was there before, and
    /// that other servers would answer from then on.
    fn delegated_away<'a>(&'a self, zone: u32, member: &Member<'a>, work: &mut Work) -> Option<Member<'a>> {
        if !cuts(member.claim.rtype) {
            return None;
        }
        let mut found: Option<Member<'a>> = None;
        for (name, node) in self.zones[zone as usize].nodes_below(&member.claim.name) {
            let is_foreign = |(id, number): &&(Id, u16)| {
                self.claimed(*id, *number).is_some_and(|(rank, _)| rank.namespace != member.rank.namespace)
            };
            for (id, number) in node.claims.iter().filter(is_foreign) {
                let held = self.held_before(zone, name, work);
                let past = Past::new(&held, &self.views.places);
                let other = self.member(*id, *number, &past).filter(|other| member.delegates_away(other));
                if let Some(other) = other.filter(|other| found.is_none_or(|first| other.rank < first.rank)) {
                    found = Some(other);
                }
            }
        }
        found
    }

    /// The name that a name depends on, or itself.
    fn base_of(&self, name: &Name) -> Name {
        if !may_depend(name) {
            return name.clone();
        }
        let is_declared = |key: &&[u8]| {
            let holder = self.table.holder_by_key(key);
            holder.is_some_and(|holder| matches!(holder.zone.source, Source::Object(_) | Source::File(..)))
        };
        let origin = name.suffix_keys().find(is_declared).unwrap_or_default();
        Name::from_key(base_key(name.key(), origin))
    }

    /// Looks at every node whose name is a base or depends on it, in whichever zone.
    fn for_each_in_group<'a>(&'a self, base: &Name, mut look: impl FnMut(u32, &'a Name, &'a Node)) {
        for number in base.suffix_keys().filter_map(|key| self.zone_numbers.get(key)) {
            let state = &self.zones[*number as usize];
            if let Some((name, node)) = state.nodes.get_key_value(base) {
                look(*number, name, node);
            }
            if state.dependent_claims > 0 {
                for (name, node) in dependents(state, base).filter(|(name, _)| self.base_of(name) == *base) {
                    look(*number, name, node);
                }
            }
        }
        // The names of a zone below the base may depend on it too.
        for number in &self.dependent_zones {
            let state = &self.zones[*number as usize];
            if state.origin.is_below(base) {
                for (name, node) in state.nodes.iter().filter(|(name, _)| self.base_of(name) == *base) {
                    look(*number, name, node);
                }
            }
        }
    }

    /// The nodes that are decided together with others that changed: those of the same group, and the delegations
    /// above them. Each once, in order.
    pub(super) fn with_dependents(&self, mut nodes: Vec<(u32, Name)>) -> Vec<(u32, Name)> {
        nodes.sort_unstable();
        nodes.dedup();
        let mut more = Vec::new();
        // A group of many names that changed is looked at once.
        let mut looked: FxHashSet<Name> = FxHashSet::default();
        for (zone, name) in &nodes {
            let base = self.base_of(name);
            let is_new = match may_depend(name) {
                true => looked.insert(base.clone()),
                false => !looked.contains(&base),
            };
            if is_new {
                self.for_each_in_group(&base, |number, other, _| {
                    if (number, other) != (*zone, name) {
                        more.push((number, other.clone()));
                    }
                });
            }
            self.add_cuts_above(*zone, name, &mut more);
        }
        if !more.is_empty() {
            nodes.append(&mut more);
            nodes.sort_unstable();
            nodes.dedup();
        }
        nodes
    }

    /// Adds the names above a changed one that have NS or DNAME claims which the change may decide otherwise.
    fn add_cuts_above(&self, zone: u32, name: &Name, nodes: &mut Vec<(u32, Name)>) {
        let state = &self.zones[zone as usize];
        if state.cut_claims == 0 {
            return;
        }
        let above = std::iter::successors(parent_key(name.key()), |key| parent_key(key));
        for key in above.take_while(|key| key.len() >= state.origin.key().len()) {
            let Some(node) = state.nodes.get(key) else { continue };
            let is_cut = |(id, number): &(Id, u16)| {
                self.claimed(*id, *number).is_some_and(|(_, claim)| cuts(claim.rtype))
            };
            if node.claims.iter().any(is_cut) {
                nodes.push((zone, Name::from_key(key)));
            }
        }
    }

    /// Keeps count of the claims that play a part for other names.
    pub(super) fn count_claim(&mut self, zone: u32, claim: &Claim, comes: bool) {
        let state = &mut self.zones[zone as usize];
        let counts = [
            (may_depend(&claim.name), &mut state.dependent_claims),
            (cuts(claim.rtype), &mut state.cut_claims),
        ];
        for (_, count) in counts.into_iter().filter(|(matters, _)| *matters) {
            *count = if comes { *count + 1 } else { count.saturating_sub(1) };
        }
    }

    /// A zone whose own name depends on another comes or goes: its names are of another group then.
    pub(super) fn regroup(&self, origin: &Name, work: &mut Work) {
        let base = Name::from_key(base_key(origin.key(), &[]));
        let zones = self.zones.iter().enumerate();
        let touched = zones.filter(|(_, zone)| zone.origin.is_in(&base) || base.is_in(&zone.origin));
        for (number, state) in touched {
            let nodes = state.nodes_below(origin).map(|(name, _)| name.clone());
            let at_base = state.nodes.contains_key(&base).then(|| base.clone());
            work.nodes.extend(nodes.chain(at_base).map(|name| (number as u32, name)));
        }
    }
}

fn place_of(claim: &Claim) -> Option<Place> {
    match &claim.scope {
        Scope::At(place) => Some(place.clone()),
        Scope::Everywhere => None,
    }
}

fn kept(id: Id, claim: &Claim, tenure: Tenure) -> Kept {
    Kept { owner: Some(id), place: place_of(claim), rtype: claim.rtype, tenure }
}

fn loss(claim: u16, keeper: &Member<'_>, reason: Reason, zone: u32, name: &Name) -> LostClaim {
    let (holder, depends_on) = (keeper.rank.clone(), Some(keeper.claim.name.clone()));
    LostClaim { claim, place: None, holder, reason, depends_on, zone, name: name.clone() }
}

/// The nodes of a zone directly below a name that begin with an underscore or are wildcards, and all below them.
fn dependents<'a>(state: &'a ZoneState, base: &Name) -> impl Iterator<Item = (&'a Name, &'a Node)> {
    [&b"*\0"[..], b"_"].into_iter().flat_map(move |start| {
        let from: Vec<u8> = [base.key(), start].concat();
        let nodes = state.nodes.range::<[u8], _>((Bound::Included(&from[..]), Bound::Unbounded));
        nodes.take_while(|(name, _)| name.key().starts_with(&from)).collect::<Vec<_>>()
    })
}
