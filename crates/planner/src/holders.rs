//! The memory of holders: which object has which name, which Zone serves which origin, and since when
//! objects are in the lists of which only the first counts (ERRATA, "One name, two claimants").
//!
//! ```text
//! before the batch ─► memory ─┐
//!                             ├─► who wins ─► memory for the next batch
//! claims of the batch ────────┘
//! ```
//!
//! Only folders have this memory. In a cluster the API server says when an object was created, and all
//! replicas have to come to the same decision without having seen the same past.

mod saved;

use std::hash::Hash;
use std::sync::Arc;

use api::Kind;
use dns::{Name, Rtype};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::facts::{Index, ObjectKey};
use crate::input::{ClusterId, ObjectRef};
use crate::place::{Place, Scope};
use crate::rank::Rank;

pub(crate) use saved::scope_text;
pub use saved::{SavedChange, SavedHolder};

/// Everything that is remembered: an input of a plan, and an output.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Holders {
    /// Who has which record sets, by name.
    pub(crate) names: FxHashMap<Name, Vec<Holding>>,
    /// Who declares a zone at an origin, and since when.
    pub(crate) origins: FxHashMap<Name, Vec<(Owner, u32)>>,
    /// The Zones at and around an origin, and since when each is there.
    pub(crate) around: FxHashMap<Name, Vec<(Owner, u32)>>,
    /// Who is in which list, and since when.
    pub(crate) lists: FxHashMap<Index, Vec<(Owner, u32)>>,
}

impl Holders {
    /// How many names, origins and lists it is about.
    pub fn len(&self) -> usize {
        self.names.len() + self.origins.len() + self.around.len() + self.lists.len()
    }

    /// Whether it is about nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes in a later change, which says everything of the names, origins and lists that it is about.
    pub fn merge(&mut self, later: &Holders) {
        merge(&mut self.names, &later.names);
        merge(&mut self.origins, &later.origins);
        merge(&mut self.around, &later.around);
        merge(&mut self.lists, &later.lists);
    }
}

fn merge<K: Clone + Eq + Hash, V: Clone>(into: &mut FxHashMap<K, V>, later: &FxHashMap<K, V>) {
    into.extend(later.iter().map(|(key, value)| (key.clone(), value.clone())));
}

/// An object or a zone file, by what stays the same when it is edited or its manifest is moved.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Owner {
    /// Its cluster.
    pub cluster: ClusterId,
    /// Its kind; a zone file has none.
    pub kind: Option<Kind>,
    /// Its namespace; empty for cluster-scoped kinds and zone files.
    pub namespace: Arc<str>,
    /// Its name, or the path of the zone file.
    pub name: Arc<str>,
}

impl Owner {
    pub(crate) fn of_rank(rank: &Rank) -> Owner {
        let Rank { namespace, name, cluster, kind, .. } = rank.clone();
        Owner { cluster, kind, namespace, name }
    }

    /// Those who imply a zone at a domain, all together.
    pub(crate) fn implied() -> Owner {
        Owner { cluster: ClusterId(0), kind: None, namespace: Arc::from(""), name: Arc::from("") }
    }

    pub(crate) fn is_implied(&self) -> bool {
        self.kind.is_none() && self.name.is_empty()
    }

    pub(crate) fn of_key(key: &ObjectKey) -> Owner {
        let ObjectRef { kind, namespace, name } = key.reference.clone();
        Owner { cluster: key.cluster, kind: Some(kind), namespace, name }
    }

    /// Whether a rank is the rank of this owner.
    pub(crate) fn is(&self, rank: &Rank) -> bool {
        self.cluster == rank.cluster
            && self.kind == rank.kind
            && self.name == rank.name
            && self.namespace == rank.namespace
    }

    /// The object that it is; a zone file is none.
    pub(crate) fn reference(&self) -> Option<(ClusterId, ObjectRef)> {
        let (namespace, name) = (self.namespace.clone(), self.name.clone());
        Some((self.cluster, ObjectRef { kind: self.kind?, namespace, name }))
    }
}

/// A record set of one name that an owner had, or claimed without getting it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Holding {
    /// Whose it is.
    pub owner: Owner,
    /// Where.
    pub scope: Scope,
    /// The type.
    pub rtype: Rtype,
    /// How the owner has it, or why not.
    pub tenure: Tenure,
}

/// How an owner has a record set, or why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tenure {
    /// It has it.
    Holds,
    /// It has it beside names of another namespace, as long as a delegation or a grant permits that: among those
    /// that are permitted it has it like any holder, and it keeps no other namespace out.
    Tolerated,
    /// It did not get it, because another came before it by age or name and nobody had held it until then.
    Yields,
}

impl Holding {
    pub(crate) fn of_file(owner: &Owner, rtype: Rtype) -> Holding {
        Holding { owner: owner.clone(), scope: Scope::Everywhere, rtype, tenure: Tenure::Holds }
    }

    fn is_at(&self, place: Option<&Place>, views: &[Place]) -> bool {
        match (&self.scope, place) {
            (Scope::At(own), Some(place)) => own == place,
            (Scope::At(_), None) => false,
            // Who has a name in all views has nothing in a class that is none.
            (Scope::Everywhere, place) => !place.is_some_and(|place| place.is_apart(views)),
        }
    }
}

/// How strong the memory of a name makes a claimant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Standing {
    /// It has this type here.
    Holds,
    /// It has something else at this name.
    HoldsBeside,
    /// It lost when nobody had held the name.
    Yields,
    New,
}

/// What is remembered of one name, in the order of owners, so that many owners of one name cost no square.
pub(crate) struct Past<'a> {
    held: Vec<&'a Holding>,
    views: &'a [Place],
}

impl<'a> Past<'a> {
    /// What is remembered of a name, where these are the views.
    pub(crate) fn new(held: &'a [Holding], views: &'a [Place]) -> Past<'a> {
        let mut held: Vec<&Holding> = held.iter().collect();
        held.sort_unstable_by(|one, other| one.owner.cmp(&other.owner));
        Past { held, views }
    }

    fn of(&self, rank: &Rank) -> impl Iterator<Item = &'a Holding> {
        let key = |owner: &'a Owner| (owner.cluster, owner.kind, &owner.namespace, &owner.name);
        let wanted = (rank.cluster, rank.kind, &rank.namespace, &rank.name);
        let first = self.held.partition_point(|one| key(&one.owner) < wanted);
        self.held[first..].iter().copied().take_while(|one| one.owner.is(rank))
    }

    /// How a claimant stands towards a type at one place of the name, among those that may have the name.
    pub(crate) fn standing(&self, rank: &Rank, rtype: Rtype, place: Option<&Place>) -> Standing {
        self.standing_by(rank, rtype, place, |tenure| tenure != Tenure::Yields)
    }

    /// The same among the namespaces that claim the name: what another namespace has to tolerate keeps none out.
    pub(crate) fn standing_in_group(&self, rank: &Rank, rtype: Rtype, place: Option<&Place>) -> Standing {
        self.standing_by(rank, rtype, place, |tenure| tenure == Tenure::Holds)
    }

    fn standing_by(
        &self,
        rank: &Rank,
        rtype: Rtype,
        place: Option<&Place>,
        holds: impl Fn(Tenure) -> bool,
    ) -> Standing {
        let standing = |one: &Holding| {
            let is_here = one.rtype == rtype && one.is_at(place, self.views);
            match (holds(one.tenure), is_here) {
                (true, true) => Standing::Holds,
                (true, false) => Standing::HoldsBeside,
                (false, true) => Standing::Yields,
                (false, false) => Standing::New,
            }
        };
        self.of(rank).map(standing).min().unwrap_or(Standing::New)
    }
}

impl Standing {
    /// What the order of claimants looks at: who yielded once is no stronger than who is new.
    pub(crate) fn tier(self) -> u8 {
        match self {
            Standing::Holds => 0,
            Standing::HoldsBeside => 1,
            Standing::Yields | Standing::New => 2,
        }
    }
}

/// Since when the members of lists are in them, counted in batches: smaller came earlier. A list is known by its
/// key: the origin of zones, or an index of objects.
#[derive(Debug)]
pub(crate) struct Arrivals<K> {
    lists: FxHashMap<K, Vec<(Owner, u32)>>,
    touched: FxHashSet<K>,
    /// Whether anything is remembered; where nothing is, creation times decide.
    is_on: bool,
}

impl<K> Default for Arrivals<K> {
    fn default() -> Arrivals<K> {
        Arrivals { lists: FxHashMap::default(), touched: FxHashSet::default(), is_on: false }
    }
}

impl<K: Clone + Eq + Hash> Arrivals<K> {
    /// An empty memory; `is_on` where it is to remember anything.
    pub(crate) fn new(is_on: bool) -> Arrivals<K> {
        Arrivals { is_on, ..Arrivals::default() }
    }

    /// Since when a member is in a list; one that is new comes after all that were there before the batch.
    pub(crate) fn of(&self, list: &K, rank: &Rank) -> u32 {
        let Some(members) = self.lists.get(list) else { return 0 };
        match members.iter().find(|(owner, _)| owner.is(rank)) {
            Some((_, since)) => *since,
            None => members.iter().map(|(_, since)| since + 1).max().unwrap_or_default(),
        }
    }

    /// Whether a member was in a list before the batch.
    pub(crate) fn knows(&self, list: &K, rank: &Rank) -> bool {
        self.lists.get(list).is_some_and(|members| members.iter().any(|(owner, _)| owner.is(rank)))
    }

    /// Notes that the members of a list may be others.
    pub(crate) fn touch(&mut self, list: &K) {
        if self.is_on && !self.touched.contains(list) {
            self.touched.insert(list.clone());
        }
    }

    /// The lists whose members may be others.
    pub(crate) fn touched(&self) -> impl Iterator<Item = &K> {
        self.touched.iter()
    }

    /// At the end of a batch: the members that the touched lists have now are remembered.
    /// Gives those that are others than before.
    pub(crate) fn commit(
        &mut self,
        members: impl Fn(&K) -> Vec<(Owner, u32)>,
    ) -> FxHashMap<K, Vec<(Owner, u32)>> {
        let mut changed = FxHashMap::default();
        for list in std::mem::take(&mut self.touched) {
            let now = members(&list);
            let before = match now.is_empty() {
                true => self.lists.remove(&list),
                false => self.lists.insert(list.clone(), now.clone()),
            };
            if before.unwrap_or_default() != now {
                changed.insert(list, now);
            }
        }
        changed
    }

    /// Takes what an earlier process remembered; what turns out not to be there is forgotten with the batch.
    pub(crate) fn restore(&mut self, lists: impl IntoIterator<Item = (K, Vec<(Owner, u32)>)>) {
        for (list, members) in lists {
            self.touch(&list);
            if self.is_on {
                self.lists.entry(list).or_insert(members);
            }
        }
    }

    /// What is remembered of a list.
    pub(crate) fn members(&self, list: &K) -> &[(Owner, u32)] {
        self.lists.get(list).map(|members| &members[..]).unwrap_or_default()
    }

    /// Everything that is remembered.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&K, &[(Owner, u32)])> {
        self.lists.iter().map(|(list, members)| (list, &members[..]))
    }
}
