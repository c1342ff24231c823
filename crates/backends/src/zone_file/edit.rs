//! What a zone file holds, and what changes make of it. Nothing here touches a disk.

use std::collections::BTreeMap;

use dns::{Name, Rdata, RecordSet, Rtype, Soa};

use crate::provider::EXECUTED;
use crate::unit::{Claim, Unit, units};
use crate::{Batch, Failure, NewZone, SetChange, SetKey};

/// The record sets of one zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Content {
    origin: Name,
    sets: BTreeMap<SetKey, RecordSet>,
}

impl Content {
    pub(super) fn new(origin: Name, sets: impl IntoIterator<Item = RecordSet>) -> Content {
        let sets = sets.into_iter().map(|set| (SetKey::of(&set), set)).collect();
        Content { origin, sets }
    }

    /// A new zone: SOA and name servers.
    pub(super) fn of_new(zone: &NewZone) -> Content {
        Content::new(zone.origin.clone(), [zone.soa.clone(), zone.name_servers.clone()])
    }

    pub(super) fn get(&self, key: &SetKey) -> Option<&RecordSet> {
        self.sets.get(key)
    }

    pub(super) fn sets(&self) -> impl Iterator<Item = &RecordSet> {
        self.sets.values()
    }

    pub(super) fn into_sets(self) -> impl Iterator<Item = RecordSet> {
        self.sets.into_values()
    }

    /// The same with the SOA and the name servers that the zone should have.
    pub(super) fn following(&self, zone: &NewZone) -> Content {
        let mut followed = self.clone();
        followed.put(zone.name_servers.clone());
        followed.put(zone.soa.clone());
        followed.with_serial_after(self)
    }

    /// The content after a batch, and how each change fared. What stood differently before is left.
    pub(super) fn edited(&self, batch: &Batch) -> (Content, Vec<Result<(), Failure>>) {
        let (units, common) = units(batch);
        let mut results = vec![Err(Failure::Changed); batch.changes.len()];
        let mut edited = self.clone();
        for unit in units.iter().filter(|unit| self.stand(&common) && self.stand(&unit.guards)) {
            edited.take(unit, self, &mut results);
        }
        (edited.with_serial_after(self), results)
    }

    /// Makes the changes of one unit, but for those that cannot be.
    fn take(&mut self, unit: &Unit<'_>, old: &Content, results: &mut [Result<(), Failure>]) {
        for (number, change) in &unit.changes {
            results[*number] = old.judge(change).map(|()| self.apply(change));
        }
        // Only the whole shows what stands beside what: a CNAME may come in one change and the rest go in
        // another.
        for (number, change) in &unit.changes {
            if results[*number].is_ok() && self.is_crowded(&change.key.name) {
                results[*number] = Err(Failure::Refused("CNAME_BESIDE_OTHER_DATA"));
            }
        }
        for (_, change) in unit.changes.iter().filter(|(number, _)| results[*number].is_err()) {
            self.restore(&change.key, old);
        }
    }

    fn stand(&self, guards: &[Claim<'_>]) -> bool {
        guards.iter().all(|(key, set)| self.get(key) == *set)
    }

    fn judge(&self, change: &SetChange) -> Result<(), Failure> {
        let before = change.before.as_ref().map(|entry| &entry.set);
        let is_soa = change.key.rtype == Rtype::SOA;
        match (&change.after, self.get(&change.key)) {
            _ if change.writes_executed() => Err(EXECUTED),
            _ if !change.key.name.is_in(&self.origin) => Err(Failure::Refused("NOTZONE")),
            // The serial moves by itself, so a SOA is never quite what it was.
            (_, now) if now != before && !is_soa => Err(Failure::Changed),
            (None, _) if is_soa => Err(Failure::Unsupported("a zone's own SOA cannot be removed")),
            _ => Ok(()),
        }
    }

    fn apply(&mut self, change: &SetChange) {
        match &change.after {
            Some(entry) => self.put(entry.set.clone()),
            None => drop(self.sets.remove(&change.key)),
        }
    }

    fn put(&mut self, set: RecordSet) {
        self.sets.insert(SetKey::of(&set), set);
    }

    fn restore(&mut self, key: &SetKey, from: &Content) {
        match from.get(key) {
            Some(set) => self.put(set.clone()),
            None => drop(self.sets.remove(key)),
        }
    }

    /// Whether a name has a CNAME beside other data, or several (RFC 2181 section 10.1).
    fn is_crowded(&self, name: &Name) -> bool {
        let first = SetKey { name: name.clone(), rtype: Rtype(0) };
        let last = SetKey { name: name.clone(), rtype: Rtype(u16::MAX) };
        let here: Vec<&RecordSet> = self.sets.range(first..=last).map(|(_, set)| set).collect();
        let is_data = |set: &&RecordSet| !matches!(set.rtype, Rtype::RRSIG | Rtype::NSEC);
        let alias = here.iter().find(|set| set.rtype == Rtype::CNAME);
        alias.is_some_and(|alias| alias.data.len() > 1 || here.iter().copied().filter(is_data).count() > 1)
    }

    /// Moves the serial on where anything else has changed.
    fn with_serial_after(mut self, old: &Content) -> Content {
        let (Some((before, _)), Some((soa, set))) = (old.soa(), self.soa()) else { return self };
        let wanted = Soa { serial: before.serial, ..soa.clone() };
        let ttl = set.ttl;
        self.put(soa_set(&self.origin, ttl, &wanted));
        if self != *old {
            let serial = next(before.serial, soa.serial);
            self.put(soa_set(&self.origin, ttl, &Soa { serial, ..wanted }));
        }
        self
    }

    fn soa(&self) -> Option<(Soa, &RecordSet)> {
        let key = SetKey { name: self.origin.clone(), rtype: Rtype::SOA };
        let set = self.sets.get(&key)?;
        Some((set.data.first()?.as_soa()?, set))
    }
}

fn soa_set(origin: &Name, ttl: u32, soa: &Soa) -> RecordSet {
    RecordSet::new(origin.clone(), Rtype::SOA, ttl, vec![Rdata::soa(soa)])
}

/// The serial after this one: the wanted one where it lies ahead (RFC 1982), else one more.
fn next(serial: u32, wanted: u32) -> u32 {
    let ahead = wanted.wrapping_sub(serial);
    if (1..1 << 31).contains(&ahead) { wanted } else { serial.wrapping_add(1).max(1) }
}
