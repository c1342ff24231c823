//! The accepted claims of a group, found by what they keep out.
//!
//! A group may have thousands of names, such as all below `_msdcs`, so no claim is compared with every other one.

use dns::{Name, Rtype, parent_key};
use rustc_hash::FxHashMap;

use super::{Member, cuts};
use crate::output::Claim;

/// Which claims on one name add up to one record set; claims without a part never do.
type Part<'a> = Option<(Rtype, &'a Name)>;

/// The accepted claims, by the keys of names.
pub(super) struct Accepted<'a> {
    members: &'a [Member<'a>],
    /// Those at each name.
    at: FxHashMap<&'a [u8], Vec<(Part<'a>, Firsts)>>,
    /// Those below each name that no delegation and no grant permits beside others.
    below: FxHashMap<&'a [u8], Firsts>,
    /// The length of the shortest name's key.
    shortest: usize,
}

/// The first claim, and the first one of any other namespace than that one's.
#[derive(Clone, Copy, Default)]
struct Firsts {
    first: Option<usize>,
    other: Option<usize>,
}

impl<'a> Accepted<'a> {
    pub(super) fn new(members: &'a [Member<'a>]) -> Accepted<'a> {
        let shortest = members.iter().map(|member| member.claim.name.key().len()).min().unwrap_or_default();
        Accepted { members, at: FxHashMap::default(), below: FxHashMap::default(), shortest }
    }

    pub(super) fn add(&mut self, number: usize) {
        let members = self.members;
        let claim = members[number].claim;
        let parts = self.at.entry(claim.name.key()).or_default();
        let own = part(claim);
        let known = parts.iter().position(|(part, _)| *part == own);
        let known = known.unwrap_or_else(|| {
            parts.push((own, Firsts::default()));
            parts.len() - 1
        });
        parts[known].1.add(number, members);
        if !claim.entitled {
            for key in self.above(claim) {
                self.below.entry(key).or_default().add(number, members);
            }
        }
    }

    /// The first of those that keep a claim out.
    pub(super) fn keeper_of(&self, number: usize) -> Option<usize> {
        let Member { claim, rank, .. } = &self.members[number];
        let (key, own) = (claim.name.key(), part(claim));
        let beside = self.at.get(key).into_iter().flatten();
        let beside = beside.filter(|(part, _)| own.is_none() || *part != own).map(|(_, firsts)| firsts);
        let above = self.above(claim).filter_map(|key| self.at.get(key)).flatten().map(|(_, firsts)| firsts);
        let all = beside.chain(above).chain(self.below.get(key));
        let keepers = all.filter_map(|firsts| firsts.beside(&rank.namespace, self.members));
        keepers.min_by_key(|keeper| order(*keeper, self.members))
    }

    /// The keys of the names above that of a claim, as far as the group goes.
    fn above(&self, claim: &'a Claim) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let shortest = self.shortest;
        let above = std::iter::successors(parent_key(claim.name.key()), |key| parent_key(key));
        above.take_while(move |key| key.len() >= shortest)
    }
}

impl Firsts {
    fn add(&mut self, number: usize, members: &[Member<'_>]) {
        let is_before = |other: usize| order(number, members) < order(other, members);
        let Some(first) = self.first else {
            self.first = Some(number);
            return;
        };
        match (members[first].rank.namespace == members[number].rank.namespace, is_before(first)) {
            (true, true) => self.first = Some(number),
            (true, false) => {}
            (false, true) => (self.first, self.other) = (Some(number), Some(first)),
            (false, false) if self.other.is_none_or(is_before) => self.other = Some(number),
            (false, false) => {}
        }
    }

    /// The first that is of another namespace.
    fn beside(&self, namespace: &str, members: &[Member<'_>]) -> Option<usize> {
        self.first.filter(|first| *members[*first].rank.namespace != *namespace).or(self.other)
    }
}

/// The oldest is named, whichever came first to the group.
fn order<'a>(number: usize, members: &[Member<'a>]) -> (&'a crate::rank::Rank, usize) {
    (members[number].rank, number)
}

fn part(claim: &Claim) -> Part<'_> {
    (claim.shared && !cuts(claim.rtype)).then_some((claim.rtype, &claim.zone))
}
