//! What the planner keeps for delivery: what providers said, what DNSRecords may owe them, and what
//! each provider class is to hold.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::{Kind, Object, Spec};
use dns::{Name, RecordSet, Rtype};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::backing::Backing;
use crate::delivery::{ClassHealth, Delivered, Deliveries, DeliveryResult, WantedSet};
use crate::facts::{Index, ObjectKey};
use crate::front::dns_record::DnsRecordOutcome;
use crate::input::{ClusterId, ObjectRef};
use crate::lowering::Abilities;
use crate::memory::{Identity, Memory, Placed};
use crate::output::Outcome;
use crate::place::{Place, Scope};
use crate::planner::Planner;
use crate::resolve::Set;
use crate::setting::Setting;
use crate::snapshot::Id;
use crate::zone_state::Node;

/// A name of a zone that delivery has to look at, and why, as a hash.
pub(crate) type Duty = (u32, Name, u64);

/// What is kept for delivery.
#[derive(Debug, Default)]
pub(crate) struct Delivering {
    pub(crate) told: Deliveries,
    pub(crate) memory: FxHashMap<Id, Memory>,
    /// What an earlier process remembered of objects that have not come yet.
    pub(crate) remembered: BTreeMap<ObjectKey, Memory>,
    /// Who may owe something at a name.
    owing: BTreeMap<Name, SmallVec<[Id; 1]>>,
    pub(crate) duties: FxHashMap<Id, Vec<Duty>>,
    pub(crate) health: BTreeMap<Arc<str>, ClassHealth>,
    /// How much of the steering each provider can do by itself.
    pub(crate) abilities: BTreeMap<Arc<str>, Abilities>,
    /// Deletions that wait for consent: how many, and their hash.
    pub(crate) held: BTreeMap<Arc<str>, (usize, Box<str>)>,
    /// The provider classes, as they were last told of.
    pub(crate) classes: BTreeMap<Arc<str>, Arc<Object>>,
}

impl Delivering {
    pub(crate) fn owing(&self, name: &Name) -> impl Iterator<Item = Id> {
        self.owing.get(name).into_iter().flatten().copied()
    }

    pub(crate) fn owing_below<'a>(&'a self, origin: &'a Name) -> impl Iterator<Item = Id> {
        let below = self.owing.range(origin.clone()..).take_while(|(name, _)| name.is_in(origin));
        below.flat_map(|(_, ids)| ids.iter().copied())
    }

    /// What objects owed that are not there any more does not stand either.
    pub(crate) fn forget_of_gone(&mut self, told: &Delivered) {
        if self.remembered.is_empty() || told.result != DeliveryResult::Absent {
            return;
        }
        for memory in self.remembered.values_mut() {
            memory.retain(|one| (&one.class, &one.name, one.rtype) != (&told.class, &told.name, told.rtype));
        }
        self.remembered.retain(|_, memory| memory.identities().next().is_some());
    }

    /// Keeps the index by name of what an object may owe.
    pub(crate) fn index(&mut self, id: Id, before: &Memory, now: &Memory) {
        for one in before.identities() {
            if let Some(ids) = self.owing.get_mut(&one.name) {
                ids.retain(|other| *other != id);
                if ids.is_empty() {
                    self.owing.remove(&one.name);
                }
            }
        }
        for one in now.identities() {
            let ids = self.owing.entry(one.name.clone()).or_default();
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
    }
}

/// Zone, name, type, and the domain that the name is told relative to.
type KnownSet = (Name, Name, Rtype, Option<Name>);

impl Planner {
    /// The valid DNSClasses whose provider we write to, by name; where two clusters have one name, the
    /// first cluster's.
    pub fn provider_classes(&self) -> Vec<(Arc<str>, Arc<Object>)> {
        self.delivering.classes.iter().map(|(name, object)| (name.clone(), object.clone())).collect()
    }

    pub(crate) fn provider_class(&self, name: &str) -> Option<Arc<Object>> {
        let object = self.class_object(name)?;
        let Spec::DNSClass(spec) = &object.spec else { return None };
        Backing::of(spec).filter(Backing::is_provider).map(|_| object.clone())
    }

    /// The class with a name; of two clusters' the first one's.
    pub(crate) fn class_object(&self, name: &str) -> Option<&Arc<Object>> {
        let members = self.snapshot.indexed(&Index::Classes).filter_map(|(_, id)| self.snapshot.entry(id));
        let named = members.filter(|entry| *entry.key.reference.name == *name);
        named.min_by_key(|entry| entry.key.cluster)?.object.as_ref()
    }

    /// The objects of a class, in whichever cluster.
    pub(crate) fn ids_of_class(&self, name: &str) -> impl Iterator<Item = Id> {
        let reference = ObjectRef { kind: Kind::DNSClass, namespace: "".into(), name: name.into() };
        let clusters = (0..self.clusters.len() as u16).map(ClusterId);
        clusters.filter_map(move |cluster| self.snapshot.id(&ObjectKey::new(cluster, reference.clone())))
    }

    /// Where something is wanted of a class, or kept: the zones' origins and the names.
    pub fn delivery_nodes(&self, class: &str) -> Vec<(Name, Name)> {
        let wants = |node: &Node| node.sets.iter().any(|set| set.is_of_class(class));
        let mut nodes: Vec<(Name, Name)> = Vec::new();
        for zone in &self.zones {
            let named = zone.nodes.iter().filter(|(_, node)| wants(node));
            nodes.extend(named.map(|(name, _)| (zone.origin.clone(), name.clone())));
        }
        nodes.extend(self.kept(class).map(|(_, kept)| (self.zone_of(kept), kept.name.clone())));
        nodes.extend(self.starved(class).map(|(zone, host)| (zone.clone(), host.clone())));
        nodes.sort();
        nodes.dedup();
        nodes.retain(|(zone, name)| !self.wanted(class, zone, name).is_empty());
        nodes
    }

    /// What DNSRecords stood under at a class and what stays there for now.
    fn kept(&self, class: &str) -> impl Iterator<Item = (Id, &Identity)> {
        let all = self.delivering.memory.iter();
        let all = all.flat_map(|(id, memory)| memory.identities().map(|one| (*id, one)));
        all.filter(move |(id, one)| *one.class == *class && self.is_kept_for(*id, one))
    }

    /// The zones and hosts of a class that gateways have no answer for: what stands there stays.
    fn starved(&self, class: &str) -> impl Iterator<Item = (&Name, &Name)> {
        let outcomes = self.starving.iter().filter_map(|id| Some(&self.evaluated(*id)?.output.outcome));
        let starved = outcomes.flat_map(|outcome| match outcome {
            Outcome::Listeners(outcome) => &outcome.starved[..],
            _ => &[],
        });
        starved.filter(move |(own, ..)| **own == *class).map(|(_, zone, host)| (zone, host))
    }

    /// What a class is to hold at a name of a zone, by type. A DNS server delivers nothing, and does not
    /// follow what would be.
    pub fn wanted(&self, class: &str, zone: &Name, name: &Name) -> Vec<WantedSet> {
        let mut wanted: Vec<WantedSet> = Vec::new();
        if matches!(self.setting, Setting::Server { .. }) {
            return wanted;
        }
        if let Some(number) = self.zone_numbers.get(zone) {
            let node = self.zones[*number as usize].nodes.get(name);
            let sets = node.into_iter().flat_map(|node| node.sets.iter().map(move |set| (node, set)));
            let own = sets.filter(|(_, set)| set.is_of_class(class));
            let own = own.filter(|(node, set)| !self.is_default(*number, class, name, node, set));
            wanted.extend(own.map(|(node, set)| self.wanted_set(*number, class, name, node, set)));
        }
        for id in self.delivering.owing(name) {
            let identities = self.delivering.memory.get(&id).into_iter().flat_map(Memory::identities);
            let kept = identities.filter(|one| one.name == *name && *one.class == *class);
            let kept = kept.filter(|one| self.is_kept_for(id, one) && self.zone_of(one) == *zone);
            wanted.extend(kept.map(|one| keep(one.rtype, Some(one.domain.clone()))));
        }
        if wanted.is_empty() && self.starved(class).any(|(origin, host)| origin == zone && host == name) {
            wanted.extend([Rtype::A, Rtype::AAAA, Rtype::CNAME].map(|rtype| keep(rtype, None)));
        }
        wanted.sort_by_key(|set| (set.rtype, set.set.is_none(), set.domain.clone()));
        wanted.dedup_by_key(|set| set.rtype);
        wanted
    }

    fn wanted_set(&self, zone: u32, class: &str, name: &Name, node: &Node, set: &Set) -> WantedSet {
        let owner = self.set_owner(zone, node, class, set.rtype);
        let record = owner.and_then(|id| Some((id, self.record_outcome(id)?)));
        let (shared, hand_over_to) = owner.map(|id| self.terms(id)).unwrap_or_default();
        let Some((id, outcome)) = record else {
            let set = self.lowered(owner, class, set.named(name)).0;
            return WantedSet {
                rtype: set.rtype,
                set: Some(set),
                shared,
                hand_over_to,
                ..keep(Rtype::A, None)
            };
        };
        let domain = outcome.identity.as_ref().map(|identity| identity.domain.clone());
        let records = (!self.is_withheld(id, outcome)).then(|| set.named(name));
        let (properties, adopts) = (outcome.properties.clone(), self.adopts(outcome));
        WantedSet { rtype: set.rtype, set: records, domain, properties, adopts, shared, hand_over_to }
    }

    /// Whether a record takes over what is at its provider and has no owner. Who may write to a folder of
    /// `up` may do that; in a cluster the class says who may.
    pub(crate) fn adopts(&self, outcome: &DnsRecordOutcome) -> bool {
        outcome.adopts && (self.setting == Setting::Folders || outcome.may_adopt)
    }

    /// What an object says to the other owners at a provider: whether they may add to its sets, and who is
    /// to take them over.
    pub(crate) fn terms(&self, id: Id) -> (bool, Option<Box<str>>) {
        let terms = self.evaluated(id).and_then(|one| one.output.terms.as_deref());
        terms.map(|terms| (terms.shared, terms.hand_over_to.clone())).unwrap_or_default()
    }

    /// Name servers that nobody named: a new zone gets them, but they replace none at a provider.
    fn is_default(&self, zone: u32, class: &str, name: &Name, node: &Node, set: &Set) -> bool {
        let state = &self.zones[zone as usize];
        let authority = state.holder.as_ref().and_then(|holder| holder.authority.as_ref());
        let is_named = || authority.is_some_and(|authority| !authority.name_servers.is_empty());
        let is_claimed = || self.set_owner(zone, node, class, Rtype::NS).is_some();
        set.rtype == Rtype::NS && *name == state.origin && !is_named() && !is_claimed()
    }

    /// What may stand at a class because of a DNSRecord: zone, name, type, and the domain that the name is
    /// told relative to. Of what is wanted there, only what is known to stand there is told: the rest may
    /// be somebody else's.
    pub fn known(&self, class: &str) -> Vec<KnownSet> {
        let of_records = self.delivering.memory.keys().flat_map(|id| self.known_of(*id));
        let of_gone = self.delivering.remembered.values().flat_map(Memory::handed);
        self.known_sets(class, of_records.chain(of_gone))
    }

    /// The same at one name, for whom a change of it concerns.
    pub fn known_at(&self, class: &str, name: &Name) -> Vec<KnownSet> {
        let ids = self.delivering.owing(name);
        self.known_sets(class, ids.flat_map(|id| self.known_of(id)).filter(|one| one.name == *name))
    }

    fn known_of(&self, id: Id) -> impl Iterator<Item = &Identity> {
        let wanted = self.record_outcome(id).and_then(|outcome| self.wanted_identity(id, outcome));
        let memory = self.delivering.memory.get(&id);
        let applied = memory.and_then(|memory| memory.applied.as_ref());
        let handed = memory.into_iter().flat_map(Memory::handed);
        handed.filter(move |one| Some(*one) != wanted || applied == wanted)
    }

    fn known_sets<'a>(&self, class: &str, known: impl Iterator<Item = &'a Identity>) -> Vec<KnownSet> {
        let here = known.filter(|one| *one.class == *class);
        let mut known: Vec<_> = here
            .map(|one| (self.zone_of(one), one.name.clone(), one.rtype, Some(one.domain.clone())))
            .collect();
        known.sort();
        known.dedup();
        known
    }

    /// The SOA and the name servers of a zone, for a class that may have to make it.
    pub fn zone_facts(&self, class: &str, zone: &Name) -> Option<(RecordSet, RecordSet)> {
        let state = self.zone_state(zone)?;
        let soa = state.soa.clone()?;
        let place = Place::Class(Arc::from(class));
        let is_servers = |set: &RecordSet| set.rtype == Rtype::NS;
        let here = self.sets_at(zone, zone, Some(&place)).into_iter().find(is_servers);
        let anywhere = || self.sets(zone, zone).into_iter().map(|(_, set)| set).find(is_servers);
        Some((soa, here.or_else(anywhere)?))
    }

    /// Takes what an earlier process remembered.
    pub(crate) fn remember(&mut self, key: ObjectKey, memory: Memory) {
        if let Some(withheld) = &memory.withheld {
            self.snapshot.withheld.insert(key, withheld.clone());
            return;
        }
        if memory.is_version() {
            if let Some(object) = memory.version() {
                self.snapshot.versions.recall(key, Arc::new(object));
            }
            return;
        }
        match memory.placed {
            Some(placed) => {
                let placed = Placed { kind: String::new(), ..*placed };
                self.snapshot.placed.insert(key, placed);
            }
            None => drop(self.delivering.remembered.insert(key, memory)),
        }
    }

    /// What is remembered of objects, and what a restart has to know where no status says it: what DNSRecords,
    /// Placements and Gateways had, and the versions in force of objects whose newest version is not.
    pub fn remembered(&self) -> Vec<(ClusterId, ObjectRef, Memory)> {
        let known = self.delivering.memory.iter().filter_map(|(id, memory)| {
            let (cluster, reference) = self.reference(*id)?;
            Some((cluster, reference, memory.clone()))
        });
        let waiting = self.delivering.remembered.iter();
        let waiting = waiting.map(|(key, memory)| (key.cluster, key.reference.clone(), memory.clone()));
        let placed = self.snapshot.placed.iter().map(|(key, placed)| {
            (key.cluster, key.reference.clone(), Memory::of_placed(key.reference.kind, placed))
        });
        let versions = self.snapshot.versions.held_back().filter_map(|id| {
            let (cluster, reference) = self.reference(id)?;
            Some((cluster, reference, Memory::of_version(self.snapshot.object(id)?)))
        });
        let withheld = self.snapshot.withheld.iter();
        let withheld =
            withheld.map(|(key, one)| (key.cluster, key.reference.clone(), Memory::of_withheld(one)));
        let all = known.chain(waiting).chain(placed).chain(versions).chain(withheld);
        let mut all: Vec<_> = all.collect();
        all.sort_by(|one, other| (one.0, &one.1).cmp(&(other.0, &other.1)));
        all
    }
}

fn keep(rtype: Rtype, domain: Option<Name>) -> WantedSet {
    let (properties, adopts, shared, hand_over_to) = (BTreeMap::new(), false, false, None);
    WantedSet { rtype, set: None, domain, properties, adopts, shared, hand_over_to }
}

impl Set {
    /// Whether it is what one class holds.
    pub(crate) fn is_of_class(&self, class: &str) -> bool {
        self.scope.is_class(class)
    }

    /// The record set at its name.
    pub(crate) fn named(&self, name: &Name) -> RecordSet {
        RecordSet {
            name: name.clone(),
            rtype: self.rtype,
            ttl: self.ttl,
            data: self.data.clone(),
            steering: self.steering.clone(),
        }
    }
}

impl Scope {
    /// Whether it is one class and nothing else.
    pub(crate) fn is_class(&self, class: &str) -> bool {
        matches!(self, Scope::At(Place::Class(own)) if **own == *class)
    }

    /// Whether something of this scope is seen by a class.
    pub(crate) fn reaches_class(&self, class: &str) -> bool {
        *self == Scope::Everywhere || self.is_class(class)
    }
}
