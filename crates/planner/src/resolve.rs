//! From the claims on one name to its record sets: who wins, who loses and to whom.
//!
//! The oldest claim is accepted first; a younger one is accepted where it does not disagree with
//! those before it (ERRATA, "One name, two claimants").

use std::collections::BTreeSet;
use std::sync::Arc;

use dns::{Rdata, Rtype, Steering};
use smallvec::SmallVec;

use crate::output::Claim;
use crate::place::{Place, Scope};
use crate::rank::Rank;

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
}

/// Decides one name. `views` are the places there are; they matter only where claims of one place
/// meet claims of all.
pub(crate) fn resolve(contenders: &[Contender<'_>], views: &[Place]) -> (Sets, Vec<Loss>) {
    if contenders.is_empty() {
        return (Sets::new(), Vec::new());
    }
    if let [only] = contenders {
        return (SmallVec::from_elem(set(only.claim, only.claim.scope.clone()), 1), Vec::new());
    }
    let mut order: Vec<usize> = (0..contenders.len()).collect();
    order.sort_by_key(|number| (contenders[*number].rank, *number));
    let (mut sets, mut losses) = (Sets::new(), Vec::new());
    for place in places(contenders, views) {
        let here = |claim: &Claim| match &place {
            Some(place) if is_apart(place, views) => claim.scope == Scope::At(place.clone()),
            Some(place) => claim.scope.covers(place),
            None => matches!(claim.scope, Scope::Everywhere),
        };
        let present: Vec<_> =
            order.iter().copied().filter(|number| here(contenders[*number].claim)).collect();
        decide(contenders, &present, place, &mut sets, &mut losses);
    }
    (sets, losses)
}

/// Whether a place is a class that is no view: what names no class is not delivered there.
fn is_apart(place: &Place, views: &[Place]) -> bool {
    matches!(place, Place::Class(_)) && !views.contains(place)
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
        places.iter().any(|place| !is_apart(place, views)),
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

fn decide(
    contenders: &[Contender<'_>],
    present: &[usize],
    place: Option<Place>,
    sets: &mut Sets,
    losses: &mut Vec<Loss>,
) {
    let scope = place.clone().map_or(Scope::Everywhere, Scope::At);
    let mut accepted: Vec<usize> = Vec::with_capacity(present.len());
    let first = sets.len();
    for number in present {
        let claim = contenders[*number].claim;
        let against = accepted.iter().find(|other| {
            disagree(claim, contenders[**other].claim) && !repeats(&contenders[*number], &contenders[**other])
        });
        if let Some(holder) = against {
            let holder = contenders[*holder].rank.clone();
            losses.push(Loss { contender: *number, place: place.clone(), holder });
            continue;
        }
        accepted.push(*number);
        add(sets, first, set(claim, scope.clone()));
    }
}

/// Whether two claims on one name cannot both stand.
fn disagree(one: &Claim, other: &Claim) -> bool {
    if one.rtype != other.rtype {
        return one.rtype == Rtype::CNAME || other.rtype == Rtype::CNAME;
    }
    let single = matches!(one.rtype, Rtype::CNAME | Rtype::DNAME | Rtype::SOA);
    !(one.shared && other.shared) || (single && one.data != other.data)
}

/// Whether one object says the same twice, as it does for two controllers of one region.
fn repeats(one: &Contender<'_>, other: &Contender<'_>) -> bool {
    one.rank == other.rank && one.claim.rtype == other.claim.rtype && one.claim.data == other.claim.data
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
            let mut data: Vec<Rdata> = present.data.iter().chain(&*set.data).cloned().collect();
            data.sort_unstable();
            data.dedup();
            present.data = data.into();
            // Positions in one set's data mean nothing in another's.
            present.steering = None;
        }
    }
}
