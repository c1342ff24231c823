//! The memory of holders: what was there before a run, and what is remembered after it.

use std::ops::Bound;
use std::sync::Arc;

use dns::Name;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Planner, Work};
use crate::facts::ObjectKey;
use crate::holders::{Holders, Holding, Owner, Tenure};
use crate::place::Scope;
use crate::setting::Setting;
use crate::snapshot::Id;
use crate::zone_state::Kept;
use crate::zone_table::{Candidate, Source};

/// What was there before a run.
#[derive(Debug, Default)]
pub(super) struct Before {
    /// Whether there was anything that is remembered.
    has_names: bool,
    /// Who had the names that the run has decided so far.
    names: FxHashMap<Name, Arc<[Holding]>>,
    /// Who held the zones that have another holder now.
    pub(super) holders: FxHashMap<u32, Option<Candidate>>,
    /// The names that may have other owners now.
    moved: FxHashSet<Name>,
    /// The objects that were removed, of which some may have come back.
    pub(super) gone: FxHashMap<Id, ObjectKey>,
}

impl Before {
    /// Notes that names may have other owners now.
    pub(super) fn note_owners_moved<'a>(&mut self, names: impl IntoIterator<Item = &'a Name>) {
        if self.has_names {
            self.moved.extend(names.into_iter().cloned());
        }
    }
}

impl Planner {
    pub(super) fn before(&self) -> Before {
        let has_objects = self.snapshot.entries().next().is_some() || !self.snapshot.files.is_empty();
        let has_names = self.remembers() && has_objects;
        Before { has_names, ..Before::default() }
    }

    /// Whether holders are remembered: in a cluster creation times decide.
    pub(crate) fn remembers(&self) -> bool {
        self.setting == Setting::Folders
    }

    /// Who had a name before this run, in whichever zone it lay.
    pub(super) fn held_before(&self, zone: u32, name: &Name, work: &mut Work) -> Arc<[Holding]> {
        if !work.before.has_names && self.recalled.is_none() {
            return Arc::default();
        }
        if let Some(known) = work.before.names.get(name) {
            return known.clone();
        }
        let zones = name.suffix_keys().filter_map(|key| self.zone_numbers.get(key).copied());
        let mut held: Vec<Holding> = match work.before.has_names {
            true => zones.flat_map(|zone| self.holdings(zone, name, &work.before)).collect(),
            false => Vec::new(),
        };
        if let Some(recalled) = &self.recalled {
            held.extend(recalled.get(name).into_iter().flatten().cloned());
            if held.is_empty() {
                held = self.recalled_of_file(zone, name);
            }
        }
        let held: Arc<[Holding]> = held.into();
        work.before.names.insert(name.clone(), held.clone());
        held
    }

    /// Who had a name of a zone before this run.
    fn holdings(&self, zone: u32, name: &Name, before: &Before) -> Vec<Holding> {
        let state = &self.zones[zone as usize];
        let holder = before.holders.get(&zone).unwrap_or(&state.holder).as_ref();
        let file =
            holder.filter(|holder| holder.base.is_some()).map(|holder| Owner::of_rank(&holder.zone.rank));
        let owners = state.nodes.get(name).map(|node| node.owners()).unwrap_or_default();
        if !owners.is_empty() {
            let holding = |kept: Kept| {
                let owner = match kept.owner {
                    Some(id) => self.owner(id, before)?,
                    None => file.clone()?,
                };
                let scope = kept.place.map_or(Scope::Everywhere, Scope::At);
                Some(Holding { owner, scope, rtype: kept.rtype, tenure: kept.tenure })
            };
            return owners.into_iter().filter_map(holding).collect();
        }
        // Where no object wanted the name, it was the zone file's.
        let (Some(base), Some(owner)) = (holder.and_then(|holder| holder.base.as_ref()), file) else {
            return Vec::new();
        };
        let sets = base.sets_at(name.key()).into_iter();
        sets.map(|set| Holding::of_file(&owner, set.rtype)).collect()
    }

    /// The owner that a number stood for before this run.
    fn owner(&self, id: Id, before: &Before) -> Option<Owner> {
        let key = before.gone.get(&id).or_else(|| Some(&self.snapshot.entry(id)?.key));
        key.map(Owner::of_key)
    }

    /// What a zone file that was served before has of a name that no object had.
    fn recalled_of_file(&self, zone: u32, name: &Name) -> Vec<Holding> {
        let state = &self.zones[zone as usize];
        let Some(Candidate { zone, base: Some(base), .. }) = &state.holder else { return Vec::new() };
        if !matches!(zone.source, Source::File(..)) || !self.table.was_known(&zone.origin, &zone.rank) {
            return Vec::new();
        }
        let owner = Owner::of_rank(&zone.rank);
        base.sets_at(name.key()).into_iter().map(|set| Holding::of_file(&owner, set.rtype)).collect()
    }

    /// Takes what an earlier process remembered.
    pub(super) fn recall(&mut self, holders: Holders) {
        if self.remembers() {
            let (implied, declared): (Vec<_>, Vec<_>) = (holders.origins.into_iter())
                .flat_map(|(origin, members)| members.into_iter().map(move |member| (origin.clone(), member)))
                .partition(|(_, (owner, _))| owner.is_implied());
            self.domains.restore(implied.into_iter().map(|(origin, _)| origin));
            let mut origins: FxHashMap<Name, Vec<(Owner, u32)>> = FxHashMap::default();
            for (origin, member) in declared {
                origins.entry(origin).or_default().push(member);
            }
            self.table.arrivals.restore(origins);
            self.table.around.restore(holders.around);
            self.snapshot.arrivals.restore(holders.lists);
            self.recalled = Some(holders.names);
        }
    }

    /// Everything that is remembered of holders: what the next process wants to know.
    pub fn holders(&self) -> Holders {
        let mut holders = self.arrivals();
        for zone in 0..self.zones.len() {
            let mut after = None;
            while let Some((name, held)) = self.held_after(zone, after.as_ref()) {
                holders.names.entry(name.clone()).or_default().extend(held);
                after = Some(name);
            }
        }
        holders
    }

    /// The next name of a zone, by its number, that is remembered to have holders.
    pub(crate) fn held_after(&self, zone: usize, after: Option<&Name>) -> Option<(Name, Vec<Holding>)> {
        let nodes = &self.zones.get(zone).filter(|_| self.remembers())?.nodes;
        let (start, nothing) = (after.map_or(Bound::Unbounded, Bound::Excluded), Before::default());
        let held = |(name, _): (&Name, _)| {
            let held = self.holdings(zone as u32, name, &nothing);
            (!held.is_empty()).then(|| (name.clone(), held))
        };
        nodes.range::<Name, _>((start, Bound::Unbounded)).find_map(held)
    }

    /// What is remembered of holders besides those of names.
    pub(crate) fn arrivals(&self) -> Holders {
        let mut holders = Holders::default();
        if self.remembers() {
            let origins = self.table.arrivals.all().map(|(origin, _)| origin).chain(self.domains.stood());
            holders.origins =
                origins.map(|origin| (origin.clone(), self.members_of_origin(origin))).collect();
            let lists = self.snapshot.arrivals.all();
            holders.lists = lists.map(|(list, members)| (list.clone(), members.to_vec())).collect();
            let around = self.table.around.all();
            holders.around = around.map(|(origin, members)| (origin.clone(), members.to_vec())).collect();
        }
        holders
    }

    /// Lets go of names that were held before this run and are held no longer; tells whether a Zone object may be
    /// served because of that.
    pub(super) fn release_names(&mut self, work: &mut Work) -> bool {
        for name in &work.decided {
            let holding = self.holding_now(name);
            let wanting: Vec<Id> = self.table.wanted.at(name).map(|(_, id)| id).collect();
            for id in wanting.into_iter().filter(|id| !holding.contains(id)) {
                if self.table.wanted.hold(id, name, false) {
                    work.released.extend(self.zones_touched_by(name));
                }
            }
        }
        !work.released.is_empty()
    }

    /// The objects that hold a name.
    fn holding_now(&self, name: &Name) -> Vec<Id> {
        let zones = name.suffix_keys().filter_map(|key| self.zone_numbers.get(key));
        let nodes = zones.filter_map(|number| self.zones[*number as usize].nodes.get(name));
        let owners = nodes.flat_map(|node| node.owners()).filter(|one| one.tenure == Tenure::Holds);
        owners.filter_map(|one| one.owner).collect()
    }

    /// Remembers which of the objects that want a name hold it now.
    fn remember_wanted(&mut self, name: &Name, work: &mut Work) {
        let holding = self.holding_now(name);
        let holds = |id: Id| holding.contains(&id);
        let wanting: Vec<Id> = self.table.wanted.at(name).map(|(_, id)| id).collect();
        for id in wanting {
            if self.table.wanted.hold(id, name, holds(id)) {
                // A Zone that is not served because of such names says whose they are.
                work.statuses.extend(self.zones_touched_by(name));
            }
        }
    }

    /// At the end of a run: what the next one will find, and what of that is new.
    pub(super) fn remember_holders(&mut self, work: &mut Work) {
        for name in std::mem::take(&mut work.decided) {
            self.remember_wanted(&name, work);
        }
        self.snapshot.forget_mended();
        let around = self.table.remember_around(&self.snapshot);
        let declared = self.table.remember_arrivals();
        let implied = self.domains.commit(|domain| self.table.is_implied(domain));
        let lists = self.snapshot.remember_arrivals();
        self.recalled = None;
        if work.before.has_names {
            let names = std::mem::take(&mut work.before.moved).into_iter();
            let names = names.map(|name| (name.clone(), self.held_now(&name))).collect();
            let origins = declared.into_keys().chain(implied);
            let origins = origins.map(|origin| (origin.clone(), self.members_of_origin(&origin))).collect();
            work.delta.holders = Holders { names, origins, around, lists };
        }
    }

    /// Who declares the zone at an origin, and whether it is implied too.
    fn members_of_origin(&self, origin: &Name) -> Vec<(Owner, u32)> {
        let mut members = self.table.arrivals.members(origin).to_vec();
        members.extend(self.domains.has_stood(origin).then(|| (Owner::implied(), 0)));
        members
    }

    /// Who has a name now, in whichever zone it lies.
    fn held_now(&self, name: &Name) -> Vec<Holding> {
        let nothing = Before::default();
        let zones = name.suffix_keys().filter_map(|key| self.zone_numbers.get(key).copied());
        let zones = zones.filter(|zone| self.zones[*zone as usize].nodes.contains_key(name));
        zones.flat_map(|zone| self.holdings(zone, name, &nothing)).collect()
    }
}
