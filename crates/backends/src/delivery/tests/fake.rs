//! A provider in memory, with faults, that notes every breach of what a delivery promises.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use dns::{Name, Rdata, RecordSet, Rtype};
use futures::future::{BoxFuture, FutureExt, ready};

use crate::marks::{Mark, corner};
use crate::{Batch, Entry, Failure, NewZone, OpenedZone, Provider, Reading, Reply, SetChange, SetKey};

/// What goes wrong with the next request.
#[derive(Clone, Debug)]
pub(super) enum Fault {
    /// Nothing is done, and this is the answer.
    Before(Failure),
    /// Everything is done, and this is the answer.
    After(Failure),
    /// Only the changes of the first so many names are made, and this is the answer.
    Partly(usize, Failure),
    /// A reading finds nothing.
    Nothing,
}

/// What was asked of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Call {
    Open(Name),
    Revision,
    ReadZone,
    ReadSets(usize),
    Write(Batch),
    Settle,
}

/// How it behaves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Nature {
    pub(super) reading: Reading,
    pub(super) batch_size: usize,
    /// Whether it makes a change only where things are as the change says.
    pub(super) compares: bool,
    pub(super) has_revision: bool,
    pub(super) is_shared: bool,
}

pub(super) struct Fake {
    pub(super) nature: Nature,
    state: Mutex<State>,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) zones: BTreeMap<Name, BTreeMap<SetKey, Entry>>,
    /// What is somebody else's; nobody may touch it.
    pub(super) foreign: BTreeSet<(Name, SetKey)>,
    pub(super) refused: BTreeSet<Name>,
    pub(super) refused_types: BTreeSet<Rtype>,
    /// Whether it takes settings and does not tell them.
    pub(super) keeps_settings_to_itself: bool,
    /// Names that cannot be read one by one.
    pub(super) unreadable: BTreeSet<Name>,
    pub(super) fault: Option<Fault>,
    pub(super) calls: Vec<Call>,
    pub(super) breaches: Vec<String>,
    pub(super) generation: u64,
    revision: u64,
    /// What was put and not read since.
    unread: BTreeSet<(Name, SetKey)>,
    pub(super) makes_zones: bool,
    /// Names at which an answer must stand.
    pub(super) precious: BTreeSet<(Name, Name)>,
}

impl Fake {
    pub(super) fn new(nature: Nature) -> Fake {
        Fake { nature, state: Mutex::new(State { makes_zones: true, ..State::default() }) }
    }

    pub(super) fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.state.lock().unwrap())
    }

    /// Somebody else writes.
    pub(super) fn plant(&self, zone: &Name, set: RecordSet) {
        self.with(|state| {
            state.revision += 1;
            let key = SetKey::of(&set);
            state.foreign.insert((zone.clone(), key.clone()));
            state.zones.entry(zone.clone()).or_default().insert(key, Entry::from(set));
        });
    }

    /// Somebody removes something, whoever's it is.
    pub(super) fn remove(&self, zone: &Name, key: &SetKey) {
        self.with(|state| {
            state.revision += 1;
            state.foreign.remove(&(zone.clone(), key.clone()));
            state.zones.get_mut(zone).map(|sets| sets.remove(key));
        });
    }

    /// Somebody changes something of ours.
    pub(super) fn scribble(&self, zone: &Name, set: RecordSet) {
        self.with(|state| {
            state.revision += 1;
            state.zones.entry(zone.clone()).or_default().insert(SetKey::of(&set), Entry::from(set));
        });
    }

    pub(super) fn sets(&self, zone: &Name) -> BTreeMap<SetKey, Entry> {
        self.with(|state| state.zones.get(zone).cloned().unwrap_or_default())
    }

    /// The batches that were sent since the last call of this.
    pub(super) fn writes(&self) -> Vec<Batch> {
        let calls = self.with(|state| std::mem::take(&mut state.calls));
        calls
            .into_iter()
            .filter_map(|call| if let Call::Write(batch) = call { Some(batch) } else { None })
            .collect()
    }

    pub(super) fn calls(&self) -> Vec<Call> {
        self.with(|state| std::mem::take(&mut state.calls))
    }

    /// Answers a request that changes nothing.
    fn answer<T: Send + 'static>(
        &self,
        call: Call,
        act: impl FnOnce(&mut State) -> Result<T, Failure>,
    ) -> Reply<'static, T> {
        let answer = self.with(|state| {
            state.calls.push(call);
            match state.fault.take() {
                Some(Fault::Before(failure) | Fault::After(failure) | Fault::Partly(_, failure)) => {
                    Err(failure)
                }
                fault => {
                    state.fault = fault.clone();
                    let result = act(state);
                    state.fault = None;
                    result
                }
            }
        });
        ready(answer).boxed()
    }
}

impl State {
    fn apply_as(
        &mut self,
        batch: &Batch,
        compares: bool,
        at_once: bool,
        most: usize,
    ) -> Vec<Result<(), Failure>> {
        match at_once {
            true => self.apply(batch, compares, most),
            false => self.apply_singly(batch, most),
        }
    }

    fn apply(&mut self, batch: &Batch, compares: bool, most: usize) -> Vec<Result<(), Failure>> {
        let Some(zone) = self.zones.get(&batch.zone) else {
            return vec![Err(Failure::NoZone); batch.changes.len()];
        };
        let guarded =
            batch.guards.iter().all(|(key, set)| zone.get(key).map(|entry| &entry.set) == set.as_ref());
        if compares && !guarded {
            return vec![Err(Failure::Changed); batch.changes.len()];
        }
        let names: Vec<&Name> = batch.changes.iter().map(|change| &change.key.name).collect();
        let distinct: Vec<&Name> = names.iter().fold(Vec::new(), |mut seen, name| {
            if !seen.contains(name) {
                seen.push(name);
            }
            seen
        });
        let allowed: BTreeSet<&Name> = distinct.into_iter().take(most).collect();
        let mut results = Vec::new();
        let mut failed: BTreeSet<&Name> = BTreeSet::new();
        for name in &allowed {
            let changes = || batch.changes.iter().filter(|change| change.key.name == **name);
            let poisoned = changes().any(|change| self.refused.contains(*name) && change.after.is_some());
            let stale = changes()
                .any(|change| self.held(&batch.zone, &change.key) != change.before.as_ref().map(|e| &e.set));
            if poisoned || (compares && stale) {
                failed.insert(name);
            }
            if poisoned {
                continue;
            }
            if !(compares && stale) {
                changes().for_each(|change| self.make(batch, change));
            }
        }
        for change in &batch.changes {
            let name = &change.key.name;
            results.push(
                match (failed.contains(name), self.refused.contains(name) && change.after.is_some()) {
                    (true, true) => Err(Failure::Refused("INVALID")),
                    (true, false) => Err(Failure::Changed),
                    (false, _) => Ok(()),
                },
            );
        }
        results
    }

    /// Makes changes one by one, as a server without transactions does.
    fn apply_singly(&mut self, batch: &Batch, most: usize) -> Vec<Result<(), Failure>> {
        if !self.zones.contains_key(&batch.zone) {
            return vec![Err(Failure::NoZone); batch.changes.len()];
        }
        let change = |(index, change): (usize, &SetChange)| {
            let refused =
                self.refused.contains(&change.key.name) || self.refused_types.contains(&change.key.rtype);
            if refused && change.after.is_some() {
                return Err(Failure::Refused("INVALID"));
            }
            if index < most {
                self.make(batch, change);
            }
            Ok(())
        };
        batch.changes.iter().enumerate().map(change).collect()
    }

    fn told(&self, entry: &Entry) -> Entry {
        match self.keeps_settings_to_itself {
            true => Entry::from(entry.set.clone()),
            false => entry.clone(),
        }
    }

    fn held(&self, zone: &Name, key: &SetKey) -> Option<&RecordSet> {
        self.zones.get(zone)?.get(key).map(|entry| &entry.set)
    }

    fn make(&mut self, batch: &Batch, change: &SetChange) {
        let (zone, key) = (&batch.zone, &change.key);
        self.revision += 1;
        if self.foreign.contains(&(zone.clone(), key.clone())) {
            self.breaches.push(format!("touched the foreign {} {}", key.name, key.rtype));
        }
        let is_mark = corner(zone).is_some_and(|corner| key.name.is_in(&corner));
        let replaced = batch.changes.iter().any(|other| other.key.name == key.name && other.after.is_some());
        if change.after.is_none()
            && !is_mark
            && !replaced
            && self.unread.iter().any(|(other, _)| other == zone)
        {
            let unread: Vec<_> = self.unread.iter().map(|(_, key)| key.clone()).collect();
            self.breaches.push(format!("deleted {} {} before reading back {unread:?}", key.name, key.rtype));
        }
        let sets = self.zones.entry(zone.clone()).or_default();
        match &change.after {
            Some(after) => {
                sets.insert(key.clone(), after.clone());
                if !is_mark {
                    self.unread.insert((zone.clone(), key.clone()));
                }
            }
            None => {
                sets.remove(key);
                self.unread.remove(&(zone.clone(), key.clone()));
            }
        }
    }

    /// What must hold after every request.
    fn check(&mut self, zone: &Name, owner: &str) {
        let Some(sets) = self.zones.get(zone) else { return };
        let corner = corner(zone).unwrap();
        let marks =
            sets.values().filter_map(|entry| Mark::read(&entry.set, zone)).filter(|mark| mark.owner == owner);
        let marked: BTreeSet<SetKey> = marks
            .flat_map(|mark| {
                mark.types.into_iter().map(move |rtype| SetKey { name: mark.name.clone(), rtype })
            })
            .collect();
        for key in sets.keys().filter(|key| !key.name.is_in(&corner) && key.name != *zone) {
            if !marked.contains(key) && !self.foreign.contains(&(zone.clone(), key.clone())) {
                self.breaches.push(format!("no mark for {} {}", key.name, key.rtype));
            }
        }
        for (zone, name) in &self.precious {
            let answers = self
                .zones
                .get(zone)
                .is_some_and(|sets| sets.keys().any(|key| key.name == *name && leads_somewhere(key.rtype)));
            if !answers {
                self.breaches.push(format!("no answer for {name}"));
            }
        }
    }
}

impl Provider for Fake {
    fn reading(&self) -> Reading {
        self.nature.reading
    }

    fn is_shared(&self) -> bool {
        self.nature.is_shared
    }

    fn batch_size(&self) -> usize {
        self.nature.batch_size
    }

    fn health(&self) -> Reply<'_, ()> {
        ready(Ok(())).boxed()
    }

    fn open_zone<'a>(&'a self, zone: &'a NewZone) -> Reply<'a, OpenedZone> {
        self.answer(Call::Open(zone.origin.clone()), |state| {
            let home = zone.origin.suffixes().find(|name| state.zones.contains_key(name));
            match home {
                Some(origin) => Ok(OpenedZone { origin, made: false }),
                None if state.makes_zones => {
                    let sets = [&zone.soa, &zone.name_servers];
                    let sets = sets.map(|set| (SetKey::of(set), Entry::from(set.clone())));
                    state.zones.insert(zone.origin.clone(), sets.into_iter().collect());
                    Ok(OpenedZone { origin: zone.origin.clone(), made: true })
                }
                None => Err(Failure::NoZone),
            }
        })
    }

    fn revision<'a>(&'a self, zone: &'a Name) -> Reply<'a, Option<u64>> {
        let has_revision = self.nature.has_revision;
        self.answer(Call::Revision, move |state| {
            state.zones.get(zone).ok_or(Failure::NoZone)?;
            Ok(has_revision.then_some(state.revision))
        })
    }

    fn read_zone<'a>(&'a self, zone: &'a Name) -> Reply<'a, Vec<Entry>> {
        self.answer(Call::ReadZone, |state| {
            if matches!(state.fault, Some(Fault::Nothing)) {
                return Ok(Vec::new());
            }
            state.unread.retain(|(in_zone, _)| in_zone != zone);
            let sets = state.zones.get(zone).ok_or(Failure::NoZone)?;
            Ok(sets.values().map(|entry| state.told(entry)).collect())
        })
    }

    fn read_sets<'a>(
        &'a self,
        zone: &'a Name,
        keys: &'a [(SetKey, Option<Name>)],
    ) -> Reply<'a, Vec<Option<Entry>>> {
        self.answer(Call::ReadSets(keys.len()), |state| {
            if keys.iter().any(|(key, _)| state.unreadable.contains(&key.name)) {
                return Err(Failure::Refused("INVALID"));
            }
            for (key, _) in keys {
                state.unread.remove(&(zone.clone(), key.clone()));
            }
            let sets = state.zones.get(zone).ok_or(Failure::NoZone)?;
            Ok(keys.iter().map(|(key, _)| sets.get(key).map(|entry| state.told(entry))).collect())
        })
    }

    fn write<'a>(&'a self, batch: &'a Batch) -> BoxFuture<'a, Vec<Result<(), Failure>>> {
        let compares = self.nature.compares;
        let marked = self.nature.reading == Reading::Zones;
        let results = self.with(|state| {
            state.calls.push(Call::Write(batch.clone()));
            let all = |failure: Failure| vec![Err(failure); batch.changes.len()];
            if batch.generation < state.generation {
                return all(Failure::Fenced);
            }
            state.generation = batch.generation;
            let results = match state.fault.take() {
                Some(Fault::Before(failure)) => all(failure),
                Some(Fault::After(failure)) => {
                    state.apply_as(batch, compares, marked, usize::MAX);
                    all(failure)
                }
                Some(Fault::Partly(most, failure)) => {
                    state.apply_as(batch, compares, marked, most);
                    all(failure)
                }
                Some(Fault::Nothing) | None => state.apply_as(batch, compares, marked, usize::MAX),
            };
            if marked {
                state.check(&batch.zone, super::world::OWNER);
            }
            results
        });
        ready(results).boxed()
    }

    fn settle<'a>(&'a self, _zone: &'a Name) -> Reply<'a, ()> {
        self.answer(Call::Settle, |_| Ok(()))
    }
}

/// Whether clients are sent somewhere by it.
pub(super) fn leads_somewhere(rtype: Rtype) -> bool {
    matches!(rtype, Rtype::A | Rtype::CNAME)
}

/// A short way to a set.
pub(super) fn set(name: &str, rtype: Rtype, data: &str) -> RecordSet {
    let data = data.split('|').map(|one| match rtype {
        Rtype::TXT => Rdata::txt(one),
        Rtype::A => Rdata::a(one.parse().unwrap()),
        _ => Rdata::name(rtype, &Name::parse(one).unwrap()),
    });
    RecordSet::new(Name::parse(name).unwrap(), rtype, 300, data.collect())
}
