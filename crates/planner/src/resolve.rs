//! From the claims on one name to its record sets: who wins, who loses and to whom.
//!
//! The claim of the holder is accepted first, then the oldest; another one is accepted where it does not disagree
//! with those before it (ERRATA, "One name, two claimants").

use std::collections::BTreeSet;
use std::sync::Arc;

use dns::{Rdata, Rtype, Steering};
use smallvec::SmallVec;

use crate::holders::{Holding, Past, Standing};
use crate::output::Claim;
use crate::place::{Place, Scope};
use crate::rank::{Rank, Reason};

/// A record set of a name, and where it is seen.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Set {
    pub(crate) scope: Scope,
    pub(crate) rtype: Rtype,
    pub(crate) ttl: u32,
    pub(crate) data: Arc<[Rdata]>,
    pub(crate) steering: Option<Arc<Steering>>,
}

/// The record sets of one name.
pub(crate) type Sets = SmallVec<[Set; 1]>;

/// One of those who want the name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Contender<'a> {
    pub(crate) rank: &'a Rank,
    pub(crate) claim: &'a Claim,
}

/// A claim that was not accepted.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Loss {
    /// Which of the contenders lost, as they were given.
    pub(crate) contender: usize,
    /// Where; `None` is everywhere.
    pub(crate) place: Option<Place>,
    /// Who has the name.
    pub(crate) holder: Rank,
    /// Why that one has it.
    pub(crate) reason: Reason,
}

/// What was decided for one name.
#[derive(Debug, Default)]
pub(crate) struct Resolved {
    pub(crate) sets: Sets,
    pub(crate) losses: Vec<Loss>,
    /// Which of the contenders won, and where; `None` is everywhere.
    pub(crate) wins: SmallVec<[(usize, Option<Place>); 1]>,
}

/// Decides one name. `held` is who had it before. `views` are the places there are; they matter only where
/// claims of one place meet claims of all.
pub(crate) fn resolve(contenders: &[Contender<'_>], held: &[Holding], views: &[Place]) -> Resolved {
    if contenders.is_empty() {
        return Resolved::default();
    }
    if let [only] = contenders {
        let place = match &only.claim.scope {
            Scope::At(place) => Some(place.clone()),
            Scope::Everywhere => None,
        };
        return Resolved {
            sets: SmallVec::from_elem(set(only.claim, only.claim.scope.clone()), 1),
            losses: Vec::new(),
            wins: SmallVec::from_elem((0, place), 1),
        };
    }
    let (mut resolved, past) = (Resolved::default(), Past::new(held, views));
    for place in places(contenders, views) {
        let here = |claim: &Claim| match &place {
            Some(place) if place.is_apart(views) => claim.scope == Scope::At(place.clone()),
            Some(place) => claim.scope.covers(place),
            None => matches!(claim.scope, Scope::Everywhere),
        };
        let stands = |number: usize| {
            let Contender { rank, claim } = contenders[number];
            (number, past.standing(rank, claim.rtype, place.as_ref()))
        };
        let present = (0..contenders.len()).filter(|number| here(contenders[*number].claim));
        let mut present: Vec<(usize, Standing)> = present.map(stands).collect();
        present.sort_by_key(|(number, standing)| (standing.tier(), contenders[*number].rank, *number));
        decide(contenders, &present, place, &mut resolved);
    }
    resolved
}

/// The places to decide one by one; `None` stands for everywhere, where claims for everywhere meet no
/// others.
fn places(contenders: &[Contender<'_>], views: &[Place]) -> Vec<Option<Place>> {
    let scopes = || contenders.iter().map(|contender| &contender.claim.scope);
    let mut places: BTreeSet<Place> = BTreeSet::new();
    places.extend(scopes().filter_map(|scope| match scope {
        Scope::At(place) => Some(place.clone()),
        Scope::Everywhere => None,
    }));
    let (meeting, has_everywhere) = (
        places.iter().any(|place| !place.is_apart(views)),
        scopes().any(|scope| *scope == Scope::Everywhere),
    );
    if has_everywhere && !meeting {
        return std::iter::once(None).chain(places.into_iter().map(Some)).collect();
    }
    if has_everywhere {
        places.extend(views.iter().cloned());
    }
    places.into_iter().map(Some).collect()
}

/// Decides one place, for those that are present there, the strongest first.
fn decide(
    contenders: &[Contender<'_>],
    present: &[(usize, Standing)],
    place: Option<Place>,
    resolved: &mut Resolved,
) {
    let scope = place.clone().map_or(Scope::Everywhere, Scope::At);
    // Of the accepted claims those that a later one may disagree with.
    let mut deciding: Vec<(usize, Standing)> = Vec::new();
    let mut accepted: Vec<&Claim> = Vec::with_capacity(present.len());
    for (number, standing) in present {
        let one = &contenders[*number];
        if deciding.iter().any(|(other, _)| is_twin(one, &contenders[*other])) {
            resolved.wins.push((*number, place.clone()));
            continue;
        }
        let against = deciding.iter().find(|(other, _)| {
            disagree(one.claim, contenders[*other].claim) && !repeats(one, &contenders[*other])
        });
        if let Some((holder, of_holder)) = against {
            let holder = contenders[*holder].rank;
            let held = of_holder.tier() < standing.tier() && *standing != Standing::Yields;
            let reason = Reason::of(holder, one.rank, held);
            let holder = holder.clone();
            resolved.losses.push(Loss { contender: *number, place: place.clone(), holder, reason });
            continue;
        }
        let alike = deciding.iter().filter(|(other, _)| decides_alike(one.claim, contenders[*other].claim));
        // A second one, for a claim that repeats the first.
        if alike.count() < 2 {
            deciding.push((*number, *standing));
        }
        accepted.push(one.claim);
        resolved.wins.push((*number, place.clone()));
    }
    resolved.sets.extend(merged(&accepted, &scope));
}

/// Whether every claim that disagrees with one of the two disagrees with the other. So of many records of one
/// type at one name a single one is compared with the next.
fn decides_alike(one: &Claim, other: &Claim) -> bool {
    one.rtype == other.rtype && one.shared && other.shared && !is_single(one.rtype)
}

/// The sets of the accepted claims; claims of one type become one set, with the lowest TTL.
fn merged(accepted: &[&Claim], scope: &Scope) -> Sets {
    let mut types: Vec<Rtype> = accepted.iter().map(|claim| claim.rtype).collect();
    types.dedup();
    let mut seen = BTreeSet::new();
    types.retain(|rtype| seen.insert(*rtype));
    let of = |rtype: &Rtype| {
        let mut claims = accepted.iter().filter(|claim| claim.rtype == *rtype);
        let mut whole = set(claims.next()?, scope.clone());
        let others: Vec<&&Claim> = claims.collect();
        if !others.is_empty() {
            whole.ttl = others.iter().map(|claim| claim.ttl).fold(whole.ttl, u32::min);
            let others = others.iter().flat_map(|claim| &*claim.data);
            whole.data = sorted(whole.data.iter().chain(others));
            // Positions in one set's data mean nothing in another's.
            whole.steering = None;
        }
        Some(whole)
    };
    types.iter().filter_map(of).collect()
}

fn sorted<'a>(data: impl Iterator<Item = &'a Rdata>) -> Arc<[Rdata]> {
    let mut data: Vec<Rdata> = data.cloned().collect();
    data.sort_unstable();
    data.dedup();
    data.into()
}

/// Whether two claims on one name cannot both stand.
fn disagree(one: &Claim, other: &Claim) -> bool {
    if one.rtype != other.rtype {
        return one.rtype == Rtype::CNAME || other.rtype == Rtype::CNAME;
    }
    !(one.shared && other.shared) || (is_single(one.rtype) && one.data != other.data)
}

/// Whether a name may have one record of the type at most.
fn is_single(rtype: Rtype) -> bool {
    matches!(rtype, Rtype::CNAME | Rtype::DNAME | Rtype::SOA)
}

/// Whether one object says the same twice, as it does for two controllers of one region.
fn repeats(one: &Contender<'_>, other: &Contender<'_>) -> bool {
    one.rank == other.rank && one.claim.rtype == other.claim.rtype && one.claim.data == other.claim.data
}

/// Whether one object is declared in two clusters and claims the same in both: equal objects are one.
fn is_twin(one: &Contender<'_>, other: &Contender<'_>) -> bool {
    let (mine, theirs) = (one.claim, other.claim);
    one.rank.is_twin(other.rank)
        && (mine.rtype, mine.ttl) == (theirs.rtype, theirs.ttl)
        && mine.data == theirs.data
        && mine.steering == theirs.steering
}

fn set(claim: &Claim, scope: Scope) -> Set {
    let (data, steering) = (claim.data.clone(), claim.steering.clone());
    Set { scope, rtype: claim.rtype, ttl: claim.ttl, data, steering }
}

/// Adds a set to those from `first` on; sets of one type and scope become one, with the lowest TTL.
pub(crate) fn add(sets: &mut Sets, first: usize, set: Set) {
    let same = |one: &&mut Set| one.rtype == set.rtype && one.scope == set.scope;
    match sets[first..].iter_mut().find(same) {
        None => sets.push(set),
        Some(present) => {
            present.ttl = present.ttl.min(set.ttl);
            present.data = sorted(present.data.iter().chain(&*set.data));
            // Positions in one set's data mean nothing in another's.
            present.steering = None;
        }
    }
}
