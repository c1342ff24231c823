//! Data that is valid and probably means something else than the author of the file thinks.
//!
//! Relative names with a dot are common in zone files. Such a target is remarked only where the zone has nothing at it:
//! then its final dot was most likely forgotten.

use super::{Fault, Place};
use crate::token::Token;
use crate::{Ambiguity, Name, PackedZone, Rtype};

/// How many are kept until the zone is complete.
const MOST: usize = 1_000;

/// The largest number of remarks of one zone file.
const MOST_REMARKS: usize = 100;

/// The doubtful data so far, in the order of the lines.
#[derive(Default)]
pub(super) struct Doubts(Vec<(Place, Ambiguity)>);

impl Doubts {
    pub(super) fn add(&mut self, place: Place, rtype: Rtype, data: &[Token<'_>], origin: &Name) {
        if self.0.len() < MOST
            && self.0.last().is_none_or(|(last, _)| *last != place)
            && let Some(ambiguity) = Ambiguity::of(rtype, data, origin)
        {
            self.0.push((place, ambiguity));
        }
    }

    /// Those that are left now that all names of the zone are known.
    pub(super) fn remarks(self, zone: &PackedZone) -> impl Iterator<Item = Fault> {
        let is_left = |ambiguity: &Ambiguity| match ambiguity {
            Ambiguity::Split { .. } => true,
            Ambiguity::Relative { name, .. } => name.is_in(zone.origin()) && !is_answered(zone, name),
        };
        let left = self.0.into_iter().filter(move |(_, ambiguity)| is_left(ambiguity));
        left.take(MOST_REMARKS).map(|(place, ambiguity)| place.fault(ambiguity))
    }
}

/// Whether a zone has something at a name or below it, has a wildcard for it, or delegates it.
fn is_answered(zone: &PackedZone, name: &Name) -> bool {
    let has_below = zone.nodes_from(name.key()).next().is_some_and(|node| node.name().is_in(name));
    let around = || name.suffixes().skip(1).take_while(|above| above.is_in(zone.origin()));
    let has_wildcard = |above: Name| above.child(b"*").is_ok_and(|one| !zone.sets_at(one.key()).is_empty());
    let is_cut = |above: &Name| {
        let mut sets = zone.sets_at(above.key()).into_iter();
        above != zone.origin() && sets.any(|set| matches!(set.rtype, Rtype::NS | Rtype::DNAME))
    };
    has_below || around().any(has_wildcard) || around().any(|above| is_cut(&above))
}
