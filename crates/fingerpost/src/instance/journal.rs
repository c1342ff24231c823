//! What changed in the zones since they were kept whole, to and from the state directory.
//!
//! An entry says all that a name has now, wherever that comes from, so that it holds whatever is
//! under it. What an entry cannot say needs the zones kept whole: other views, zones that came or
//! went, another file under a zone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dns::{Name, PackedZone, Rdata, RecordSet, Rtype, Steering};
use planner::{Delta, ViewInfo};
use serde::{Deserialize, Serialize};
use server::{ViewTable, Zone, ZoneUpdate, Zones};

use crate::state::hex;

/// What is to be kept: the names that moved, and what is served with all of that.
#[derive(Clone, Debug, Default)]
pub struct Moved {
    /// What is served.
    pub table: Arc<ViewTable>,
    /// Its views.
    pub views: Vec<ViewInfo>,
    /// Everything may have moved.
    pub whole: bool,
    zones: BTreeSet<Name>,
    nodes: BTreeSet<(Name, Name)>,
}

/// Over which zones a journal goes: of each view the zones' files, by origin.
#[derive(Debug)]
pub struct Base(BTreeMap<String, BTreeMap<Name, Option<Arc<PackedZone>>>>);

/// One name of one zone in one view, as it is now.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    view: String,
    zone: Name,
    /// The name; none is the zone itself, with its SOA.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<Name>,
    sets: Vec<Set>,
}

/// A record set of an entry: the type, the TTL, the data in wire form as hexadecimal digits, and
/// how it is steered.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Set(
    u16,
    u32,
    Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")] Option<Arc<Steering>>,
);

impl Moved {
    /// Takes in a later change.
    pub fn add(&mut self, delta: &Delta, table: Arc<ViewTable>, views: Vec<ViewInfo>) {
        (self.table, self.views) = (table, views);
        self.whole |= delta.views;
        self.zones.extend(delta.zones.iter().cloned());
        self.nodes.extend(delta.nodes.iter().cloned());
    }
}

impl Base {
    /// The zones that are kept of these views.
    pub fn new(table: &ViewTable, views: &[ViewInfo]) -> Base {
        let zones = |view: &ViewInfo| table.views.get(&view.name).map(kept).unwrap_or_default();
        Base(views.iter().map(|view| (view.name.clone(), zones(view))).collect())
    }

    /// What moved, as entries over these zones; none where entries cannot say it.
    pub fn entries(&self, moved: &Moved) -> Option<Vec<Entry>> {
        let mut entries = Vec::new();
        for view in &moved.views {
            let (kept, live) = (self.0.get(&view.name)?, moved.table.views.get(&view.name)?);
            for origin in &moved.zones {
                entries.extend(same(kept, live, origin)?.and_then(|zone| soa(&view.name, zone)));
            }
            for (origin, name) in &moved.nodes {
                entries.extend(same(kept, live, origin)?.map(|zone| node(&view.name, zone, name)));
            }
        }
        Some(entries)
    }
}

type Kept = BTreeMap<Name, Option<Arc<PackedZone>>>;

/// A zone whose content is not known is not kept.
fn kept(zones: &Zones) -> Kept {
    let known = zones.origins().filter_map(|origin| zones.zone(origin)).filter(|zone| zone.soa().is_some());
    known.map(|zone| (zone.origin().clone(), zone.base().cloned())).collect()
}

/// The zone, where it is kept and known still; the outer none where that has become another.
fn same<'a>(kept: &Kept, live: &'a Zones, origin: &Name) -> Option<Option<&'a Zone>> {
    let live = live.zone(origin).filter(|zone| zone.soa().is_some());
    match (kept.get(origin), live) {
        (None, None) => Some(None),
        (Some(base), Some(zone)) if is_same_file(base.as_ref(), zone.base()) => Some(Some(zone)),
        _ => None,
    }
}

fn is_same_file(one: Option<&Arc<PackedZone>>, other: Option<&Arc<PackedZone>>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => Arc::ptr_eq(one, other),
        (None, None) => true,
        _ => false,
    }
}

fn soa(view: &str, zone: &Zone) -> Option<Entry> {
    Some(Entry::new(view, zone, None, std::slice::from_ref(zone.soa()?)))
}

fn node(view: &str, zone: &Zone, name: &Name) -> Entry {
    Entry::new(view, zone, Some(name.clone()), &zone.plain_sets_at(name.key()))
}

impl Entry {
    /// A name of a zone with these sets.
    pub fn new(view: &str, zone: &Zone, name: Option<Name>, sets: &[RecordSet]) -> Entry {
        let sets = sets.iter().map(Set::new).collect();
        Entry { view: view.to_owned(), zone: zone.origin().clone(), name, sets }
    }

    /// Puts the name into the zones that were kept. A zone that could not be read stays away:
    /// parts of it would answer that the rest does not exist.
    pub fn apply(self, zones: &mut BTreeMap<String, Zones>) {
        let Some(zones) = zones.get_mut(&self.view) else { return };
        let Some(base) = zones.zone(&self.zone).map(|zone| zone.base().cloned()) else { return };
        if let Some(update) = self.update(base) {
            zones.apply(update);
        }
    }

    fn update(self, base: Option<Arc<PackedZone>>) -> Option<ZoneUpdate> {
        let (origin, owner) = (self.zone.clone(), self.name.clone().unwrap_or(self.zone));
        // An earlier version may have kept types that no record may have.
        let allowed = self.sets.iter().filter(|set| Rtype(set.0).refusal().is_none());
        let sets: Option<Vec<RecordSet>> = allowed.map(|set| set.record_set(&owner)).collect();
        match self.name {
            Some(name) => Some(ZoneUpdate::PutNode { origin, name, sets: sets? }),
            None => Some(ZoneUpdate::PutZone { origin, soa: sets?.pop()?, base }),
        }
    }

    fn is_sound(&self) -> bool {
        self.sets.iter().all(|set| set.record_set(&self.zone).is_some())
    }
}

impl Set {
    fn new(set: &RecordSet) -> Set {
        let data = set.data.iter().map(|data| hex(data.wire())).collect();
        Set(set.rtype.0, set.ttl, data, set.steering.clone())
    }

    fn record_set(&self, name: &Name) -> Option<RecordSet> {
        let rtype = Rtype(self.0);
        let data = |digits: &String| Rdata::from_wire(rtype, &octets(digits)?).ok();
        let data: Option<Vec<Rdata>> = self.2.iter().map(data).collect();
        let set = RecordSet::new(name.clone(), rtype, self.1, data?);
        // Positions mean something only in the data as it was.
        let is_steerable = |steering: &Arc<Steering>| {
            let members = steering.members();
            set.data.len() == self.2.len() && members.iter().all(|one| usize::from(one.data) < set.data.len())
        };
        self.3.iter().all(is_steerable).then(|| RecordSet { steering: self.3.clone(), ..set })
    }
}

/// The entries of one change, as they are kept.
pub fn encoded(entries: &[Entry]) -> Option<Vec<u8>> {
    serde_json::to_vec(entries).ok()
}

/// Reads what [`encoded`] wrote.
pub fn decoded(octets: &[u8]) -> Option<Vec<Entry>> {
    serde_json::from_slice(octets).ok().and_then(sound)
}

/// Entries that are kept beside a zone; none are null.
pub fn from_value(value: serde_json::Value) -> Option<Vec<Entry>> {
    match value {
        serde_json::Value::Null => Some(Vec::new()),
        value => serde_json::from_value(value).ok().and_then(sound),
    }
}

fn sound(entries: Vec<Entry>) -> Option<Vec<Entry>> {
    entries.iter().all(Entry::is_sound).then_some(entries)
}

fn octets(digits: &str) -> Option<Vec<u8>> {
    let digit = |octet: &u8| char::from(*octet).to_digit(16).map(|digit| digit as u8);
    let pair = |pair: &[u8]| Some(digit(pair.first()?)? << 4 | digit(pair.get(1)?)?);
    digits.as_bytes().chunks(2).map(pair).collect()
}
