//! What was last read at the provider, kept up by our own writes.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use dns::{Name, RecordSet, Rtype};

use super::super::origin::keys_of;
use crate::marks::external_dns::{Heritage, Registry};
use crate::marks::{Liveness, Mark, Terms, corner, mark_name};
use crate::{Entry, SetKey};

/// What stands at a key.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Held {
    /// Nothing, as was read.
    Absent,
    /// Something that is not ours, and not kept.
    Something,
    /// This.
    Content(Entry),
}

/// Who marked what in a zone.
#[derive(Debug)]
pub(super) struct Marks {
    own: BTreeMap<Name, Own>,
    others: BTreeMap<Name, BTreeMap<String, Other>>,
    /// Who is said to live, ourselves included.
    alive: BTreeMap<String, (Liveness, RecordSet)>,
    /// What stands in the corner and is no mark.
    broken: BTreeMap<Name, RecordSet>,
    registry: Registry,
}

/// Our own mark of a name.
#[derive(Debug, Default)]
struct Own {
    types: BTreeSet<Rtype>,
    /// What it says to others; mostly nothing.
    terms: Option<Box<Terms>>,
    /// As it stands at the provider; `None` where ownership is only remembered.
    set: Option<RecordSet>,
}

impl Own {
    fn meets(&self, other: &Mark) -> bool {
        let wants = self.terms.iter().flat_map(|terms| &terms.wants);
        let mut named = self.types.iter().chain(wants);
        named.any(|rtype| other.types.contains(rtype) || other.terms.wants.contains(rtype))
    }
}

/// Another owner's mark of a name.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Other {
    pub(super) mark: Mark,
    /// As it stands at the provider.
    pub(super) set: RecordSet,
}

impl Default for Marks {
    fn default() -> Marks {
        Marks {
            own: BTreeMap::new(),
            others: BTreeMap::new(),
            alive: BTreeMap::new(),
            broken: BTreeMap::new(),
            registry: Registry::new(Vec::new()),
        }
    }
}

impl Marks {
    /// Reads the marks among what a zone holds.
    pub(super) fn read<'a>(sets: impl Iterator<Item = &'a RecordSet>, zone: &Name, owner: &str) -> Marks {
        let mut marks = Marks::default();
        let corner = corner(zone);
        for set in sets.filter(|set| set.rtype == Rtype::TXT) {
            match corner.as_ref().is_some_and(|corner| set.name.is_in(corner)) {
                true => marks.note(set, zone, owner),
                false => marks.registry.note(set),
            }
        }
        marks
    }

    /// Whether these hold exactly the marks that are known, and nobody else's.
    pub(super) fn are<'a>(&self, sets: impl Iterator<Item = &'a RecordSet>, zone: &Name) -> bool {
        let own = self.own.values().filter_map(|own| own.set.as_ref());
        let alive = self.alive.values().map(|(_, set)| set);
        let known: HashMap<&Name, &RecordSet> = own.chain(alive).map(|set| (&set.name, set)).collect();
        let is_alone = self.others.is_empty() && self.broken.is_empty() && self.registry.is_empty();
        let corner = corner(zone);
        let mut marks = 0;
        let mut is_known =
            |set: &RecordSet| match corner.as_ref().is_some_and(|corner| set.name.is_in(corner)) {
                true => {
                    marks += 1;
                    known.get(&set.name) == Some(&set)
                }
                false => Heritage::read(set).is_none(),
            };
        is_alone && sets.filter(|set| set.rtype == Rtype::TXT).all(&mut is_known) && marks == known.len()
    }

    fn note(&mut self, set: &RecordSet, zone: &Name, owner: &str) {
        if let Some(liveness) = Liveness::read(set, zone) {
            self.alive.insert(liveness.owner.clone(), (liveness, set.clone()));
            return;
        }
        match Mark::read(set, zone) {
            Some(mark) if mark.owner == owner => self.put(mark, set.clone()),
            Some(mark) => {
                let others = self.others.entry(mark.name.clone()).or_default();
                others.insert(mark.owner.clone(), Other { mark, set: set.clone() });
            }
            None => drop(self.broken.insert(set.name.clone(), set.clone())),
        }
    }

    /// Takes over what stands in the place of a mark of a name, ours or another's.
    pub(super) fn replace(
        &mut self,
        name: &Name,
        place: &Name,
        set: Option<RecordSet>,
        zone: &Name,
        owner: &str,
    ) {
        self.broken.remove(place);
        match mark_name(owner, name, zone).as_ref() == Some(place) {
            true => drop(self.own.remove(name)),
            false => self.forget_other(name, place),
        }
        if let Some(set) = set {
            self.note(&set, zone, owner);
        }
    }

    fn forget_other(&mut self, name: &Name, place: &Name) {
        let Some(others) = self.others.get_mut(name) else { return };
        others.retain(|_, other| other.set.name != *place);
        if others.is_empty() {
            self.others.remove(name);
        }
    }

    fn put(&mut self, mark: Mark, set: RecordSet) {
        let terms = (!mark.terms.is_empty()).then(|| Box::new(mark.terms));
        self.own.insert(mark.name, Own { types: mark.types, terms, set: Some(set) });
    }

    /// What our mark of a name says to others, if anything.
    pub(super) fn terms(&self, name: &Name) -> Option<&Terms> {
        self.own.get(name)?.terms.as_deref()
    }

    /// The other owners' marks of a name.
    pub(super) fn others(&self, name: &Name) -> Option<&BTreeMap<String, Other>> {
        self.others.get(name)
    }

    /// Whether nobody else of us has anything to do with the zone.
    pub(super) fn is_alone(&self) -> bool {
        self.others.is_empty()
    }

    /// The other owners that have a mark in the zone.
    pub(super) fn owners(&self) -> BTreeSet<&str> {
        self.others.values().flat_map(|others| others.keys().map(String::as_str)).collect()
    }

    /// The other owners of which a mark and one of ours name the same type of a name. Whoever of them lives sees that as
    /// soon as it looks.
    pub(super) fn met(&self) -> BTreeSet<&str> {
        let beside = |name: &Name| self.own.get(name).into_iter();
        let others = self.others.iter().flat_map(|(name, others)| beside(name).map(move |own| (own, others)));
        let met = others.flat_map(|(own, others)| others.iter().filter(|(_, other)| own.meets(&other.mark)));
        met.map(|(owner, _)| owner.as_str()).collect()
    }

    /// An owner's liveness, and as it stands at the provider.
    pub(super) fn liveness(&self, owner: &str) -> Option<&(Liveness, RecordSet)> {
        self.alive.get(owner)
    }

    /// What stands in the place of an owner's liveness.
    pub(super) fn standing_liveness(&self, owner: &str, place: &Name) -> Option<RecordSet> {
        let own = self.alive.get(owner).map(|(_, set)| set.clone());
        own.or_else(|| self.broken.get(place).cloned())
    }

    /// Takes over what stands in the place of our liveness.
    pub(super) fn set_liveness(&mut self, place: &Name, set: Option<RecordSet>, zone: &Name, owner: &str) {
        self.alive.remove(owner);
        self.broken.remove(place);
        if let Some(set) = set {
            self.note(&set, zone, owner);
        }
    }

    /// Remembers that a key is ours.
    pub(super) fn claim(&mut self, key: &SetKey) {
        self.own.entry(key.name.clone()).or_default().types.insert(key.rtype);
    }

    /// Forgets that a key is ours.
    pub(super) fn unclaim(&mut self, name: &Name, rtype: Rtype) {
        if let Some(own) = self.own.get_mut(name) {
            own.types.remove(&rtype);
        }
        self.own.retain_at(name);
    }

    /// All that is ours by memory and not by a mark.
    pub(super) fn claims(&self) -> Vec<SetKey> {
        let remembered = self.own.iter().filter(|(_, own)| own.set.is_none());
        let keys = remembered.flat_map(|(name, own)| own.types.iter().map(move |rtype| (name, rtype)));
        keys.map(|(name, rtype)| SetKey { name: name.clone(), rtype: *rtype }).collect()
    }

    /// The names that we marked.
    pub(super) fn names(&self) -> impl Iterator<Item = &Name> {
        self.own.keys()
    }

    /// The keys that are ours.
    pub(super) fn keys(&self) -> impl Iterator<Item = SetKey> {
        let pairs = self.own.iter().flat_map(|(name, own)| own.types.iter().map(move |rtype| (name, rtype)));
        pairs.map(|(name, rtype)| SetKey { name: name.clone(), rtype: *rtype })
    }

    /// The types at a name that are ours.
    pub(super) fn types(&self, name: &Name) -> BTreeSet<Rtype> {
        self.own.get(name).map(|own| own.types.clone()).unwrap_or_default()
    }

    /// Whether a key is ours.
    pub(super) fn is_own(&self, key: &SetKey) -> bool {
        self.own.get(&key.name).is_some_and(|own| own.types.contains(&key.rtype))
    }

    /// What stands in the place of our mark of a name.
    pub(super) fn standing(&self, name: &Name, place: &Name) -> Option<RecordSet> {
        let own = self.own.get(name).and_then(|own| own.set.clone());
        own.or_else(|| self.broken.get(place).cloned())
    }

    /// Who else of us claims a set.
    pub(super) fn other_owner(&self, key: &SetKey) -> Option<&str> {
        let others = self.others.get(&key.name)?;
        let holder = others.iter().find(|(_, other)| other.mark.types.contains(&key.rtype));
        holder.map(|(owner, _)| owner.as_str())
    }

    /// Who else claims a set.
    pub(super) fn owner(&self, key: &SetKey) -> Option<String> {
        let external =
            || self.registry.heritage(key).map(|heritage| format!("ExternalDNS {}", heritage.owner));
        self.other_owner(key).map(str::to_owned).or_else(external)
    }
}

trait RetainAt {
    fn retain_at(&mut self, name: &Name);
}

impl RetainAt for BTreeMap<Name, Own> {
    /// Drops the memory of a name at which nothing is ours.
    fn retain_at(&mut self, name: &Name) {
        if self.get(name).is_some_and(|own| own.types.is_empty() && own.set.is_none()) {
            self.remove(name);
        }
    }
}

/// The types at a name at which something stands, with what.
pub(super) fn standing<'a>(
    held: &'a BTreeMap<SetKey, Held>,
    name: &Name,
) -> impl Iterator<Item = (Rtype, &'a Held)> {
    let there = held.range(keys_of(name)).filter(|(_, held)| **held != Held::Absent);
    there.map(|(key, held)| (key.rtype, held))
}

/// A hash of a set's content; the serial of a SOA does not count.
pub(super) fn content_hash(set: &RecordSet) -> u64 {
    let hashes = set.data.iter().map(|data| dns::entry_hash(&set.name, set.rtype, set.ttl, data));
    hashes.fold(0, u64::wrapping_add)
}

/// Whether what stands there is what is wanted; a provider may add settings of its own.
pub(super) fn is_as_wanted(held: &Entry, wanted: &Entry) -> bool {
    let same_set = match wanted.set.rtype {
        Rtype::SOA => content_hash(&held.set) == content_hash(&wanted.set),
        _ => held.set == wanted.set,
    };
    same_set && wanted.properties.iter().all(|(key, value)| held.properties.get(key) == Some(value))
}
