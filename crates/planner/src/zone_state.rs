//! The content of one zone as it stands: its nodes, what is copied in from sub-zones, its hash
//! and its serial.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dns::{Name, Rdata, RecordSet, Rtype, Soa, entry_hash, steering_hash};
use smallvec::SmallVec;

use crate::holders::Tenure;
use crate::input::SavedSerial;
use crate::place::{Place, Scope};
use crate::resolve::{Set, Sets, add};
use crate::serial::{Content, serial};
use crate::setting::Numbering;
use crate::snapshot::Id;
use crate::zone_table::{Authority, Candidate, KnownSerial};

/// A name of a zone.
#[derive(Debug, Default)]
pub(crate) struct Node {
    /// Who wants it: an object and which of its claims.
    pub(crate) claims: SmallVec<[(Id, u16); 1]>,
    /// What stands there.
    pub(crate) sets: Sets,
    rare: Option<Box<Rare>>,
    hash: u64,
    /// How many entries more, or fewer, than the zone file below it has here.
    entries: i32,
    sole: Sole,
}

/// The object that has all sets of a node, where it is one: a number takes no room in a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sole(u32);

impl Default for Sole {
    fn default() -> Sole {
        Sole(u32::MAX)
    }
}

/// A record set and whose it is, or who lost it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Kept {
    /// The object; `None` is the zone file.
    pub(crate) owner: Option<Id>,
    /// Where; `None` is everywhere.
    pub(crate) place: Option<Place>,
    pub(crate) rtype: Rtype,
    /// How it has it, or that it lost it.
    pub(crate) tenure: Tenure,
}

/// What hardly any node has; kept apart because there are a million nodes.
#[derive(Debug, Default)]
struct Rare {
    /// Those that lost a claim to it.
    losers: Vec<Id>,
    /// Sets copied from sub-zones, with the sub-zone's origin.
    copied: Vec<(Name, Set)>,
    /// Whose the sets are, where several want them.
    kept: Vec<Kept>,
}

impl Node {
    pub(crate) fn losers(&self) -> &[Id] {
        self.rare.as_ref().map(|rare| &rare.losers[..]).unwrap_or_default()
    }

    pub(crate) fn replace_losers(&mut self, losers: Vec<Id>) -> Vec<Id> {
        std::mem::replace(&mut self.rare.get_or_insert_default().losers, losers)
    }

    /// Notes that all sets are one object's; tells whether that is new.
    pub(crate) fn set_sole_owner(&mut self, owner: Option<Id>) -> bool {
        let sole = owner.map_or(Sole::default(), |id| Sole(id.0));
        let before = std::mem::replace(&mut self.sole, sole);
        let kept = self.rare.as_mut().map(|rare| std::mem::take(&mut rare.kept)).unwrap_or_default();
        before != sole || !kept.is_empty()
    }

    /// Notes whose the sets are; tells whether that is new.
    pub(crate) fn set_owners(&mut self, kept: Vec<Kept>) -> bool {
        let sole = std::mem::take(&mut self.sole);
        let place = &mut self.rare.get_or_insert_default().kept;
        let is_new = sole != Sole::default() || *place != kept;
        *place = kept;
        is_new
    }

    /// Whose the sets are, as it was last noted.
    pub(crate) fn owners(&self) -> Vec<Kept> {
        if self.sole == Sole::default() {
            return self.rare.as_ref().map(|rare| rare.kept.clone()).unwrap_or_default();
        }
        let owner = Some(Id(self.sole.0));
        let kept = |set: &Set| {
            let place = match &set.scope {
                Scope::At(place) => Some(place.clone()),
                Scope::Everywhere => None,
            };
            Kept { owner, place, rtype: set.rtype, tenure: Tenure::Holds }
        };
        self.sets.iter().map(kept).collect()
    }

    fn copied(&self) -> &[(Name, Set)] {
        self.rare.as_ref().map(|rare| &rare.copied[..]).unwrap_or_default()
    }

    /// The sub-zones that sets were copied from, with the type of each set.
    pub(crate) fn copied_types(&self) -> impl Iterator<Item = (&Name, Rtype)> {
        self.copied().iter().map(|(from, set)| (from, set.rtype))
    }

    /// What was copied from one sub-zone.
    pub(crate) fn copied_from<'a>(&'a self, child: &'a Name) -> impl Iterator<Item = &'a Set> {
        self.copied().iter().filter(move |(from, _)| from == child).map(|(_, set)| set)
    }

    pub(crate) fn replace_copies(&mut self, child: &Name, sets: &[Set]) {
        let copied = &mut self.rare.get_or_insert_default().copied;
        copied.retain(|(from, _)| from != child);
        copied.extend(sets.iter().map(|set| (child.clone(), set.clone())));
    }

    fn is_empty(&self) -> bool {
        self.claims.is_empty() && self.sets.is_empty() && self.copied().is_empty()
    }
}

/// One zone.
#[derive(Debug)]
pub(crate) struct ZoneState {
    pub(crate) origin: Name,
    /// Who holds the origin; `None` while nobody does.
    pub(crate) holder: Option<Candidate>,
    pub(crate) nodes: BTreeMap<Name, Node>,
    /// The zone that delegates to this one.
    pub(crate) parent: Option<Name>,
    /// Names in this zone that its name servers have: what is copied to the parent as glue.
    pub(crate) glue: BTreeSet<Name>,
    /// The zone that has a copy of this one's name servers now.
    pub(crate) copied_to: Option<Name>,
    pub(crate) serial: u32,
    pub(crate) soa: Option<RecordSet>,
    /// What tells its signatures apart; 0 where it has none.
    pub(crate) signed: u64,
    /// Whether steered names have other answers than when its serial came, as whoever transfers it tells.
    pub(crate) answers_moved: bool,
    /// Whether its serial stands for its content, when it was last numbered.
    pub(crate) settled: bool,
    /// How many claims there are on names that depend on another name.
    pub(crate) dependent_claims: u32,
    /// How many claims there are that delegate.
    pub(crate) cut_claims: u32,
    sum: u64,
    entries: i64,
}

impl ZoneState {
    pub(crate) fn new(origin: Name) -> ZoneState {
        ZoneState {
            origin,
            holder: None,
            nodes: BTreeMap::new(),
            parent: None,
            glue: BTreeSet::new(),
            copied_to: None,
            serial: 0,
            soa: None,
            signed: 0,
            answers_moved: false,
            settled: true,
            dependent_claims: 0,
            cut_claims: 0,
            sum: 0,
            entries: 0,
        }
    }

    /// The zone file's record sets at a name, the SOA left out: that one is ours to number.
    pub(crate) fn base_at(&self, name: &Name) -> Vec<RecordSet> {
        let base = self.holder.as_ref().and_then(|holder| holder.base.as_ref());
        let sets = base.map(|base| base.sets_at(name.key())).unwrap_or_default();
        sets.into_iter().filter(|set| set.rtype != Rtype::SOA).collect()
    }

    /// The nodes at and below a name.
    pub(crate) fn nodes_below(&self, name: &Name) -> impl Iterator<Item = (&Name, &Node)> {
        self.nodes.range(name.clone()..).take_while(|(below, _)| below.is_in(name))
    }

    /// Puts what was decided for a name together with what stands there anyway, and gives what
    /// stood there before. `None` where nothing changed.
    pub(crate) fn settle(&mut self, name: &Name, node: &mut Node, mut own: Sets) -> Option<Sets> {
        if *name == self.origin {
            self.add_name_servers(&mut own);
        }
        for (_, set) in node.copied() {
            add(&mut own, 0, set.clone());
        }
        own.sort_by(|one, other| (one.rtype, &one.scope).cmp(&(other.rtype, &other.scope)));
        let (hash, entries) = self.contribution(name, &own);
        self.sum = self.sum.wrapping_sub(node.hash).wrapping_add(hash);
        self.entries += i64::from(entries) - i64::from(node.entries);
        (node.hash, node.entries) = (hash, entries);
        let changed = node.sets != own;
        let before = std::mem::replace(&mut node.sets, own);
        changed.then_some(before)
    }

    /// Puts a node back to its name, or lets go of one that has nothing left.
    pub(crate) fn put_back(&mut self, name: &Name, node: Node) {
        if node.is_empty() {
            self.nodes.remove(name);
        } else if let Some(place) = self.nodes.get_mut(name) {
            *place = node;
        }
    }

    /// The name servers that the zone itself names; the default only while there is no other.
    fn add_name_servers(&self, own: &mut Sets) {
        let Some(authority) = self.holder.as_ref().and_then(|holder| holder.authority.as_ref()) else {
            return;
        };
        let from_file = self.holder.as_ref().is_some_and(|holder| holder.base.is_some());
        let others = own.iter().any(|set| set.rtype == Rtype::NS);
        let mut servers = authority.name_servers.clone();
        if servers.is_empty() && !others && !from_file {
            servers.extend(self.origin.child(b"ns").ok());
        }
        if servers.is_empty() {
            return;
        }
        let mut data: Vec<_> = servers.iter().map(|server| Rdata::name(Rtype::NS, server)).collect();
        data.sort_unstable();
        data.dedup();
        let data: Arc<[Rdata]> = data.into();
        let scopes: Vec<_> =
            own.iter().filter(|set| set.rtype == Rtype::NS).map(|set| set.scope.clone()).collect();
        let scopes = if scopes.is_empty() { vec![self.scope()] } else { scopes };
        for scope in scopes {
            add(
                own,
                0,
                Set { scope, rtype: Rtype::NS, ttl: authority.ttl, data: data.clone(), steering: None },
            );
        }
    }

    /// Where the zone is seen.
    pub(crate) fn scope(&self) -> Scope {
        self.holder.as_ref().map_or(Scope::Everywhere, |holder| holder.zone.scope.clone())
    }

    /// Whether a set is part of the content of the zone: whether it is seen where the zone is. A name of another
    /// class lies in the zone too where no zone of that class is around it.
    pub(crate) fn has_in_content(&self, set: &Set) -> bool {
        self.holder.as_ref().is_none_or(|holder| holder.zone.scope.meets(&set.scope))
    }

    /// The hash and number of entries that a node adds to those of the zone file below it.
    fn contribution(&self, name: &Name, sets: &[Set]) -> (u64, i32) {
        let sets: SmallVec<[&Set; 2]> = sets.iter().filter(|set| self.has_in_content(set)).collect();
        if sets.is_empty() {
            return (0, 0);
        }
        let hash = |set: &Set| {
            let records = set.data.iter().map(|data| entry_hash(name, set.rtype, set.ttl, data));
            let steering = set.steering.iter().map(|steering| steering_hash(name, set.rtype, steering));
            let all = records.chain(steering);
            all.fold(0u64, |sum, hash| sum.wrapping_add(place_hash(hash, &set.scope)))
        };
        let sum = sets.iter().copied().map(hash).fold(0, u64::wrapping_add);
        let base = self.base_at(name);
        let below = base
            .iter()
            .flat_map(|set| set.data.iter().map(|data| entry_hash(name, set.rtype, set.ttl, data)));
        let below_count: usize = base.iter().map(|set| set.data.len()).sum();
        let entries = distinct_records(&sets) as i32 - below_count as i32;
        (sum.wrapping_sub(below.fold(0, u64::wrapping_add)), entries)
    }

    /// The hash of all content, the serial excluded.
    pub(crate) fn hash(&self) -> u64 {
        let holder = self.holder.as_ref();
        let base = holder.and_then(|holder| holder.base.as_ref()).map_or(0, |base| base.content_hash());
        let authority = holder.and_then(|holder| holder.authority.as_ref());
        // A zone file's own hash covers its SOA already.
        let own = authority.filter(|_| base == 0).map_or(0, |authority| self.soa_hash(authority));
        self.sum.wrapping_add(base).wrapping_add(own).wrapping_add(self.signed)
    }

    fn soa_hash(&self, authority: &Authority) -> u64 {
        entry_hash(&self.origin, Rtype::SOA, authority.ttl, &Rdata::soa(&soa(authority, 0)))
    }

    /// The serial with the hash of the content that carries it.
    pub(crate) fn saved_serial(&self) -> SavedSerial {
        SavedSerial { serial: self.serial, hash: self.hash() }
    }

    /// Whether the serial that was published last was published for this content.
    pub(crate) fn is_settled(&self, saved: Option<SavedSerial>) -> bool {
        let authority = self.holder.as_ref().and_then(|holder| holder.authority.as_ref());
        match authority.and_then(|authority| authority.known_serial) {
            // An older operator says no hash; then the serial is all there is to go by.
            Some(KnownSerial::Published(published)) => published.hash.is_none_or(|hash| hash == self.hash()),
            _ => saved.is_some_and(|saved| saved.hash == self.hash()),
        }
    }

    /// How many records there are, the SOA included and each counted once over all views.
    pub(crate) fn entry_count(&self) -> u64 {
        if self.soa.is_none() {
            return 0;
        }
        let base = self.holder.as_ref().and_then(|holder| holder.base.as_ref());
        let below = base.map_or(1, |base| base.len() as i64);
        u64::try_from(below + self.entries).unwrap_or_default()
    }

    /// Moves the serial if the content moved (or follows it, where somebody else moves it), and makes
    /// the SOA; tells whether the SOA is new.
    pub(crate) fn renumber(
        &mut self,
        saved: &mut BTreeMap<Name, SavedSerial>,
        today: u32,
        numbering: Numbering,
    ) -> bool {
        let holder = self.holder.as_ref().filter(|holder| holder.unavailable.is_none());
        let Some(authority) = holder.and_then(|holder| holder.authority.clone()) else {
            return self.soa.take().is_some();
        };
        let hash = self.hash();
        let last = saved.get(&self.origin).copied();
        let content = Content { hash, answers_moved: self.answers_moved };
        let serial = serial(last, authority.known_serial, content, today, numbering);
        // Who follows keeps it in mind for when it leads, unless the leader was faster.
        self.answers_moved &= numbering == Numbering::Followed && serial == self.serial;
        if numbering != Numbering::Followed {
            saved.insert(self.origin.clone(), SavedSerial { serial, hash });
        }
        self.serial = serial;
        let data = vec![Rdata::soa(&soa(&authority, serial))];
        let set = RecordSet::new(self.origin.clone(), Rtype::SOA, authority.ttl, data);
        let changed = self.soa.as_ref() != Some(&set);
        self.soa = Some(set);
        changed
    }
}

/// How many records there are, each counted once over all views.
fn distinct_records(sets: &[&Set]) -> usize {
    if let [only] = sets {
        return only.data.len();
    }
    let records = sets.iter().flat_map(|set| set.data.iter().map(|data| (set.rtype, set.ttl, data)));
    records.collect::<BTreeSet<_>>().len()
}

fn soa(authority: &Authority, serial: u32) -> Soa {
    let Authority { mname, rname, refresh, retry, expire, minimum, .. } = authority.clone();
    Soa { mname, rname, serial, refresh, retry, expire, minimum }
}

/// Mixes the place into an entry's hash, so that moving between views counts as a change.
fn place_hash(hash: u64, scope: &Scope) -> u64 {
    match scope {
        Scope::Everywhere => hash,
        Scope::At(place) => place.name().bytes().fold(hash ^ 0x9e37_79b9_7f4a_7c15, |sum, octet| {
            (sum ^ u64::from(octet)).wrapping_mul(0x0100_0000_01b3)
        }),
    }
}
