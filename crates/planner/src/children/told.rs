//! What an ExternalDNS is told of an object's names: of a steered one its record tree, where that has the
//! form of one; else its sets as they are, or what is up of them.

use dns::{Name, Rdata, Rtype};

use super::ChildSet;
use crate::output::Claim;
use crate::planner::Planner;
use crate::record_tree::{SteeredSet, TreeOwner, TreeSet, record_tree};
use crate::snapshot::Id;

/// A record set as an ExternalDNS is told of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ToldSet {
    pub(crate) name: Name,
    pub(crate) rtype: Rtype,
    /// In order.
    pub(crate) data: Vec<Rdata>,
    /// Tells it from others of its name and type; empty where there are none.
    pub(crate) identifier: String,
}

impl ToldSet {
    fn new(name: &Name, rtype: Rtype, data: &[Rdata], identifier: &str) -> ToldSet {
        let mut data = data.to_vec();
        data.sort_unstable();
        data.dedup();
        ToldSet { name: name.clone(), rtype, data, identifier: identifier.to_owned() }
    }
}

impl Planner {
    /// What stands for some claims of one name at an ExternalDNS.
    pub(crate) fn told_sets(&self, id: Id, claims: &[&Claim]) -> Vec<ToldSet> {
        if claims.iter().all(|claim| claim.steering.is_none()) {
            return claims.iter().map(|claim| self.told_whole(claim)).collect();
        }
        let sets: Vec<ChildSet<'_>> = claims.iter().filter_map(|claim| self.whole_set(id, claim)).collect();
        match self.tree_of_sets(id, &sets) {
            Some(tree) => tree.iter().map(told_of_tree).collect(),
            None => sets.iter().map(told_flat).collect(),
        }
    }

    /// Whether an ExternalDNS is told of a steered claim by a record tree.
    pub(crate) fn has_record_tree(&self, id: Id, claim: &Claim) -> bool {
        let claims = self.evaluated(id).map(|one| &one.output.claims[..]).unwrap_or_default();
        let of_name = claims.iter().filter(|one| one.name == claim.name && one.scope == claim.scope);
        let sets: Vec<ChildSet<'_>> = of_name.filter_map(|one| self.whole_set(id, one)).collect();
        self.tree_of_sets(id, &sets).is_some()
    }

    fn tree_of_sets(&self, id: Id, sets: &[ChildSet<'_>]) -> Option<Vec<TreeSet>> {
        let owner = TreeOwner::of(self.snapshot.object(id)?);
        tree(&owner, &sets.iter().collect::<Vec<_>>())
    }

    /// The record set that a claim is part of: several may add up to one.
    fn told_whole(&self, claim: &Claim) -> ToldSet {
        let data = self.set_data(claim).unwrap_or(&claim.data);
        ToldSet::new(&claim.name, claim.rtype, data, "")
    }

    fn set_data(&self, claim: &Claim) -> Option<&[Rdata]> {
        claim.scope.class()?;
        let node = self.zone_state(&claim.zone)?.nodes.get(&claim.name)?;
        let set = node.sets.iter().find(|set| set.scope == claim.scope && set.rtype == claim.rtype)?;
        Some(&set.data)
    }
}

/// The record tree of the sets of one name. A zone's own name cannot be an alias and so has none.
pub(super) fn tree(owner: &TreeOwner, sets: &[&ChildSet<'_>]) -> Option<Vec<TreeSet>> {
    let first = sets.first().filter(|set| set.claim.name != set.claim.zone)?;
    let steered = sets.iter().map(|set| set.steered()).collect::<Option<Vec<_>>>()?;
    record_tree(&first.claim.name, owner, &steered)
}

fn told_of_tree(set: &TreeSet) -> ToldSet {
    ToldSet::new(&set.name, set.rtype, &set.data, set.identifier.as_deref().unwrap_or_default())
}

fn told_flat(set: &ChildSet<'_>) -> ToldSet {
    ToldSet::new(&set.claim.name, set.claim.rtype, set.flat(), "")
}

impl ChildSet<'_> {
    fn steered(&self) -> Option<SteeredSet<'_>> {
        let ((steering, _), whole) = (self.steered.as_ref()?, self.claim.steering.as_deref()?);
        Some(SteeredSet { data: self.data, rtype: self.claim.rtype, steering, whole })
    }

    /// The data without a record tree.
    pub(super) fn flat(&self) -> &[Rdata] {
        self.steered.as_ref().map_or(self.data, |(_, members)| members)
    }
}
