//! One zone of the embedded store: what it holds, which changes it takes, and how it is kept.

use std::collections::{BTreeMap, BTreeSet};

use backends::{Batch, Entry, Failure, NewZone, SetChange, SetKey};
use dns::{Name, Rdata, RecordSet, Rtype, Soa};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use server::ZoneUpdate;

use super::super::journal::Change;

/// Why a zone with damaged records is not answered.
const DAMAGED: &str = "the zone's records are damaged on the server's disk";
const REFUSED: Failure = Failure::Refused("INVALID_RECORD");

/// A zone in memory.
pub(super) struct Zone {
    origin: Name,
    serial: u32,
    soa: RecordSet,
    /// The name servers that stand while there are no others.
    name_servers: RecordSet,
    nodes: BTreeMap<Name, BTreeMap<Rtype, Entry>>,
    /// Records of it were damaged on the disk: it is not served, and takes no changes.
    is_damaged: bool,
}

/// One change of a zone, as it stands on the disk.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Frame {
    pub(super) zone: Name,
    serial: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    made: Option<Made>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    put: Vec<Saved>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    gone: Vec<(Name, Rtype)>,
    /// Records of the zone were damaged on the disk.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    damaged: bool,
}

impl Change for Frame {
    fn label(&self) -> String {
        self.zone.to_string()
    }
}

/// What a zone begins with.
#[derive(Debug, Serialize, Deserialize)]
struct Made {
    soa: Saved,
    name_servers: Saved,
}

/// A record set on the disk.
#[derive(Debug, Serialize, Deserialize)]
struct Saved {
    name: Name,
    r#type: Rtype,
    ttl: u32,
    data: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    domain: Option<Name>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    properties: BTreeMap<String, String>,
}

/// What a batch amounts to, if anything, and how each of its changes fares.
type Judged = (Option<Frame>, Vec<Result<(), Failure>>);

impl Zone {
    /// An empty zone with the usual SOA and name server.
    pub(super) fn new(origin: &Name) -> Zone {
        let NewZone { origin, soa, name_servers } = usual(origin);
        Zone { origin, serial: 0, soa, name_servers, nodes: BTreeMap::new(), is_damaged: false }
    }

    /// Says that records of it are lost: what it holds is not what was acknowledged.
    pub(super) fn set_damaged(&mut self) {
        self.is_damaged = true;
    }

    pub(super) fn is_damaged(&self) -> bool {
        self.is_damaged
    }

    pub(super) fn serial(&self) -> u32 {
        self.serial
    }

    pub(super) fn entry(&self, key: &SetKey) -> Option<&Entry> {
        self.nodes.get(&key.name)?.get(&key.rtype)
    }

    /// Everything that it holds, the SOA first.
    pub(super) fn entries(&self) -> Vec<Entry> {
        let held = self.nodes.values().flat_map(BTreeMap::values).cloned();
        std::iter::once(Entry::from(self.soa())).chain(held).collect()
    }

    /// Makes a change that is on the disk.
    pub(super) fn take(&mut self, frame: &Frame) {
        self.serial = frame.serial;
        self.is_damaged |= frame.damaged;
        if let Some(made) = &frame.made {
            self.soa = made.soa.entry().map_or(self.soa.clone(), |entry| entry.set);
            self.name_servers =
                made.name_servers.entry().map_or(self.name_servers.clone(), |entry| entry.set);
        }
        for (name, rtype) in &frame.gone {
            let node = self.nodes.get_mut(name);
            if node.is_some_and(|node| node.remove(rtype).is_some() && node.is_empty()) {
                self.nodes.remove(name);
            }
        }
        // An earlier version may have kept types that no record may have.
        let allowed = frame.put.iter().filter(|saved| saved.r#type.refusal().is_none());
        for entry in allowed.filter_map(Saved::entry) {
            self.nodes.entry(entry.set.name.clone()).or_default().insert(entry.set.rtype, entry);
        }
    }

    /// The whole zone as one frame.
    pub(super) fn frame(&self) -> Frame {
        let put = self.nodes.values().flat_map(BTreeMap::values).map(Saved::of).collect();
        let (soa, name_servers) = (self.soa.clone().into(), self.name_servers.clone().into());
        let made = Some(Made { soa: Saved::of(&soa), name_servers: Saved::of(&name_servers) });
        let (zone, damaged) = (self.origin.clone(), self.is_damaged);
        Frame { zone, serial: self.serial, made, put, gone: Vec::new(), damaged }
    }

    /// What a batch amounts to, and how each of its changes fares; an error is about all of them.
    pub(super) fn judged(&self, batch: &Batch, now: Timestamp) -> Result<Judged, Failure> {
        let guarded =
            batch.guards.iter().all(|(key, set)| self.entry(key).map(|entry| &entry.set) == set.as_ref());
        if !guarded {
            return Err(Failure::Changed);
        }
        let mut results: Vec<Result<(), Failure>> =
            batch.changes.iter().map(|change| self.judged_alone(change)).collect();
        self.judge_together(&batch.changes, &mut results);
        let good = || {
            batch.changes.iter().zip(&results).filter(|(_, result)| result.is_ok()).map(|(change, _)| change)
        };
        let put: Vec<Saved> = good().filter_map(|change| change.after.as_ref()).map(Saved::of).collect();
        let gone: Vec<(Name, Rtype)> = good()
            .filter(|change| change.after.is_none() && self.entry(&change.key).is_some())
            .map(|change| (change.key.name.clone(), change.key.rtype))
            .collect();
        let frame = (!put.is_empty() || !gone.is_empty()).then(|| {
            let (zone, serial) = (self.origin.clone(), next_serial(self.serial, now));
            Frame { zone, serial, made: None, put, gone, damaged: false }
        });
        Ok((frame, results))
    }

    fn judged_alone(&self, change: &SetChange) -> Result<(), Failure> {
        let SetKey { name, rtype } = &change.key;
        let fits = change.after.as_ref().is_none_or(|entry| SetKey::of(&entry.set) == change.key);
        let is_refused = rtype.refusal().is_some() && change.after.is_some();
        if !fits || is_refused || !name.is_in(&self.origin) || *rtype == Rtype::SOA {
            return Err(REFUSED);
        }
        if *rtype == Rtype::CNAME && *name == self.origin && change.after.is_some() {
            return Err(REFUSED);
        }
        let same =
            self.entry(&change.key).map(|entry| &entry.set) == change.before.as_ref().map(|entry| &entry.set);
        if same { Ok(()) } else { Err(Failure::Changed) }
    }

    /// Refuses what would put a CNAME beside other data, judging each name by what it would have in the end.
    fn judge_together(&self, changes: &[SetChange], results: &mut [Result<(), Failure>]) {
        let mut after: BTreeMap<&Name, BTreeSet<Rtype>> = BTreeMap::new();
        for (change, result) in changes.iter().zip(results.iter()) {
            let held = || self.nodes.get(&change.key.name).map(|node| node.keys().copied().collect());
            let types = after.entry(&change.key.name).or_insert_with(|| held().unwrap_or_default());
            match (&change.after, result) {
                (Some(_), Ok(())) => drop(types.insert(change.key.rtype)),
                (None, Ok(())) => drop(types.remove(&change.key.rtype)),
                (_, Err(_)) => {}
            }
        }
        for (change, result) in changes.iter().zip(results) {
            let types = &after[&change.key.name];
            let mixed = types.contains(&Rtype::CNAME) && types.len() > 1;
            if mixed && change.after.is_some() && result.is_ok() {
                *result = Err(REFUSED);
            }
        }
    }

    /// What the server is told of a change.
    pub(super) fn updates_of(&self, frame: &Frame) -> Vec<ZoneUpdate> {
        let names = frame.put.iter().map(|saved| &saved.name).chain(frame.gone.iter().map(|(name, _)| name));
        let names: BTreeSet<&Name> = names.chain([&self.origin]).collect();
        std::iter::once(self.head()).chain(names.into_iter().map(|name| self.node(name))).collect()
    }

    /// What the server is told of the whole zone.
    pub(super) fn updates(&self) -> Vec<ZoneUpdate> {
        if self.is_damaged {
            let (origin, reason) = (self.origin.clone(), DAMAGED.to_owned());
            return vec![ZoneUpdate::Unavailable { origin, reason }];
        }
        let names: BTreeSet<&Name> = self.nodes.keys().chain([&self.origin]).collect();
        std::iter::once(self.head()).chain(names.into_iter().map(|name| self.node(name))).collect()
    }

    fn head(&self) -> ZoneUpdate {
        ZoneUpdate::PutZone { origin: self.origin.clone(), soa: self.soa(), base: None }
    }

    fn node(&self, name: &Name) -> ZoneUpdate {
        let node = self.nodes.get(name);
        let mut sets: Vec<RecordSet> =
            node.into_iter().flat_map(BTreeMap::values).map(|entry| entry.set.clone()).collect();
        if *name == self.origin && !sets.iter().any(|set| set.rtype == Rtype::NS) {
            sets.push(self.name_servers.clone());
        }
        let (origin, name) = (self.origin.clone(), name.clone());
        match sets.is_empty() {
            true => ZoneUpdate::RemoveNode { origin, name },
            false => ZoneUpdate::PutNode { origin, name, sets },
        }
    }

    fn soa(&self) -> RecordSet {
        let soa = self.soa.data.first().and_then(Rdata::as_soa);
        let data = soa.map(|soa| Rdata::soa(&Soa { serial: self.serial, ..soa }));
        RecordSet::new(self.origin.clone(), Rtype::SOA, self.soa.ttl, data.into_iter().collect())
    }
}

impl Frame {
    /// The frame that makes a zone.
    pub(super) fn new_zone(zone: &NewZone, now: Timestamp) -> Frame {
        let (soa, name_servers) = (zone.soa.clone().into(), zone.name_servers.clone().into());
        let made = Some(Made { soa: Saved::of(&soa), name_servers: Saved::of(&name_servers) });
        let serial = next_serial(0, now);
        Frame { zone: zone.origin.clone(), serial, made, put: Vec::new(), gone: Vec::new(), damaged: false }
    }
}

impl Saved {
    fn of(entry: &Entry) -> Saved {
        Saved {
            name: entry.set.name.clone(),
            r#type: entry.set.rtype,
            ttl: entry.set.ttl,
            data: entry.set.data.iter().map(ToString::to_string).collect(),
            domain: entry.domain.clone(),
            properties: entry.properties.clone(),
        }
    }

    fn entry(&self) -> Option<Entry> {
        let parse = |text: &String| Rdata::parse(self.r#type, text, &Name::root()).ok();
        let data = self.data.iter().map(parse).collect::<Option<Vec<_>>>()?;
        let set = RecordSet::new(self.name.clone(), self.r#type, self.ttl, data);
        Some(Entry::new(set, self.domain.clone(), self.properties.clone()))
    }
}

/// A zone with the defaults of a Zone object.
pub fn usual(origin: &Name) -> NewZone {
    // A name so long that no label fits before it can still be a zone, served by itself.
    let below = |label: &[u8]| origin.child(label).unwrap_or_else(|_| origin.clone());
    let (mname, rname) = (below(b"ns"), below(b"noc"));
    let name_servers = vec![Rdata::name(Rtype::NS, &mname)];
    let soa = Soa { mname, rname, serial: 0, refresh: 86_400, retry: 7200, expire: 3_600_000, minimum: 360 };
    NewZone {
        origin: origin.clone(),
        soa: RecordSet::new(origin.clone(), Rtype::SOA, 360, vec![Rdata::soa(&soa)]),
        name_servers: RecordSet::new(origin.clone(), Rtype::NS, 360, name_servers),
    }
}

/// The later of today's first serial and the one after the last.
fn next_serial(last: u32, now: Timestamp) -> u32 {
    let date = now.to_zoned(TimeZone::UTC).date();
    let number = |part: i8| u32::from(part.unsigned_abs());
    let today = u32::from(date.year().unsigned_abs()) * 1_000_000
        + number(date.month()) * 10_000
        + number(date.day()) * 100;
    today.max(last.wrapping_add(1))
}
