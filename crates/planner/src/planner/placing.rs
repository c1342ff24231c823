//! First stage: where zones stand, and which views there are.

use std::collections::BTreeSet;
use std::sync::Arc;

use api::{Kind, Spec};
use dns::Name;

use super::{Planner, Work};
use crate::facts::{Fact, Index, ObjectKey, Reader};
use crate::front;
use crate::front::zone::NamesChecked;
use crate::holders::{Owner, Tenure};
use crate::input::ClusterId;
use crate::namespace_rule::{base_key, may_depend};
use crate::place::Scope;
use crate::rank::Rank;
use crate::snapshot::Id;
use crate::view::View;
use crate::views::Views;
use crate::zone_table::{Candidate, Source, Standing, Zone};

impl Planner {
    /// Works out where zones stand, before anybody looks for them.
    pub(super) fn place_zones(&mut self, work: &mut Work) {
        let touched = std::mem::take(&mut work.touched);
        let facts = touched.facts;
        let mut standing: BTreeSet<Id> = std::mem::take(&mut work.released);
        for fact in &facts {
            if let Fact::List(Index::Delivered(cluster, name, _)) = fact {
                work.delivered.push((*cluster, name.clone()));
            }
            self.dirty(fact, &mut standing, work);
        }
        let mut origins = BTreeSet::new();
        for id in touched.ids.iter().chain(&touched.removed) {
            if self.may_stand(*id) {
                standing.insert(*id);
            }
            self.imply(*id, work);
            self.want_names(*id, &mut standing, work);
            work.objects.insert(*id);
            work.statuses.insert(*id);
            work.children.insert(*id);
        }
        for fact in &facts {
            if let Fact::Identity(cluster) = fact {
                let named = self.snapshot.named_by_identity(*cluster);
                named.into_iter().for_each(|id| self.want_names(id, &mut standing, work));
            }
        }
        for key in &touched.presence {
            let readers = referring(key)
                .into_iter()
                .flat_map(|fact| self.ledger.readers(&fact).map(Reader::id).collect::<Vec<_>>());
            work.statuses.extend(readers);
        }
        for domain in touched.grants {
            self.imply_below(&domain, work);
            work.objects.extend(self.ledger.readers_below(&domain).map(Reader::id));
            let zones = self.table.zones_below(&domain).chain(self.table.zones_above(&domain));
            for id in zones.map(|(_, id)| id).collect::<Vec<_>>() {
                self.table.cleared.remove(&id);
                standing.insert(id);
            }
        }
        // Zone objects depend on the files around them, and files on nothing.
        let mut files = BTreeSet::new();
        for (cluster, path) in std::mem::take(&mut work.files) {
            let candidate = self.file_candidate(cluster, &path);
            files.extend(self.table.set(Source::File(cluster, path), candidate));
        }
        standing.extend(files.iter().flat_map(|origin| self.table.zones_below(origin)).map(|(_, id)| id));
        origins.extend(files);
        self.place_zone_objects(standing, &mut origins, work);
        // A declared zone that comes or goes may hold a domain, which is then no zone of its own.
        if !origins.is_empty() || facts.iter().any(|fact| matches!(fact, Fact::Identity(_))) {
            for cluster in (0..self.clusters.len() as u16).map(ClusterId) {
                let candidate = self.implied_candidate(cluster);
                origins.extend(self.table.set(Source::Identity(cluster), candidate));
            }
        }
        self.place_domains(&mut origins, work);
        for origin in origins {
            self.take_holder(origin, work);
        }
    }

    /// Places Zone objects, and those below them, which depend on the ones above.
    fn place_zone_objects(&mut self, first: BTreeSet<Id>, origins: &mut BTreeSet<Name>, work: &mut Work) {
        let (mut waiting, mut placed) = (first, BTreeSet::new());
        while !waiting.is_empty() {
            let mut moved = BTreeSet::new();
            for id in std::mem::take(&mut waiting) {
                self.place_zone(id, &mut moved, &mut waiting, work);
                placed.insert(id);
            }
            for origin in &moved {
                let below = self.table.zones_below(origin).filter(|(other, _)| *other != origin);
                waiting.extend(below.map(|(_, id)| id));
            }
            origins.extend(moved);
        }
        placed.into_iter().for_each(|id| self.forget_withheld(id, work));
    }

    /// Forgets whether a Zone without a valid version withholds its names, where it has no origin or is refused.
    ///
    /// That is known only when all Zones are placed: a Zone may be looked at before the one that its reference means.
    fn forget_withheld(&mut self, id: Id, work: &mut Work) {
        let Some(entry) = self.snapshot.entry(id).filter(|entry| entry.object.is_none()) else { return };
        if !matches!(self.table.standing(id), Some(Standing::At(_))) {
            let key = entry.key.clone();
            work.delta.versions |= self.snapshot.withheld.remove(&key).is_some();
        }
    }

    /// Keeps the names that an object wants, and has the Zones looked at that lie around or below them.
    fn want_names(&mut self, id: Id, standing: &mut BTreeSet<Id>, work: &mut Work) {
        let names = self.snapshot.names_wanted(id);
        let entry =
            self.snapshot.entry(id).and_then(|entry| Some((entry.key.cluster, entry.object.as_ref()?)));
        let created = entry.map_or(0, |(cluster, object)| Rank::of(cluster, object).created_at());
        let moved = self.table.wanted.set(id, created, names);
        self.recall_names(id, &moved);
        for name in moved {
            for zone in self.zones_touched_by(&name) {
                self.table.cleared.remove(&zone);
                standing.insert(zone);
                work.statuses.insert(zone);
            }
        }
    }

    /// What an object held in an earlier process, it wants since then.
    fn recall_names(&mut self, id: Id, names: &[Name]) {
        let (Some(recalled), Some(entry)) = (&self.recalled, self.snapshot.entry(id)) else { return };
        let owner = Owner::of_key(&entry.key);
        let wanted = &mut self.table.wanted;
        for name in names {
            let is_wanted = wanted.at(name).any(|(_, one)| one == id);
            let held = recalled.get(name).into_iter().flatten();
            if is_wanted && held.into_iter().any(|one| one.owner == owner && one.tenure == Tenure::Holds) {
                wanted.hold(id, name, true);
            }
        }
    }

    /// The Zones that must not take a name away, should another object hold it.
    pub(super) fn zones_touched_by(&self, name: &Name) -> Vec<Id> {
        let is_attached = |(origin, _): &(&Name, Id)| base_key(origin.key(), &[]) == name.key();
        let below = self.table.zones_below(name).filter(is_attached);
        self.table.zones_above(name).chain(below).map(|(_, id)| id).collect()
    }

    /// Whether an object is, or was, a Zone.
    fn may_stand(&self, id: Id) -> bool {
        let is_zone = self.snapshot.entry(id).map(|entry| entry.key.reference.kind == Kind::Zone);
        is_zone.unwrap_or_else(|| self.table.standing(id).is_some() || self.table.has(&Source::Object(id)))
    }

    fn dirty(&self, fact: &Fact, standing: &mut BTreeSet<Id>, work: &mut Work) {
        for reader in self.ledger.readers(fact) {
            if reader.is_origin() {
                standing.insert(reader.id());
            } else {
                work.objects.insert(reader.id());
            }
        }
    }

    fn place_zone(
        &mut self,
        id: Id,
        origins: &mut BTreeSet<Name>,
        waiting: &mut BTreeSet<Id>,
        work: &mut Work,
    ) {
        let before = self.table.standing(id).and_then(Standing::origin).cloned();
        let Some(entry) = self.snapshot.entry(id) else {
            self.ledger.forget(Reader::origin(id));
            self.table.stand(id, None);
            self.table.cleared.remove(&id);
            before.iter().for_each(|origin| self.look_around(id, origin, waiting));
            origins.extend(self.table.set(Source::Object(id), None));
            return;
        };
        let Some(object) = &entry.object else { return self.place_broken_zone(id, origins, work) };
        let Spec::Zone(spec) = &object.spec else { return };
        let key = entry.key.clone();
        let view = View::new(key.cluster, &self.snapshot, &self.table, &mut self.ledger);
        let mut cleared = None;
        let standing = match front::zone::standing(&view, object, spec) {
            Standing::At(origin) => match front::zone::permit(&view, id, object, &origin) {
                Err(refusal) => Standing::Refused(origin, Box::new(refusal)),
                Ok(NamesChecked(checked)) => {
                    cleared = checked.then(|| (Rank::of(key.cluster, object), origin.clone()));
                    Standing::At(origin)
                }
            },
            standing => standing,
        };
        let after = standing.origin().cloned();
        let candidate = match &standing {
            Standing::At(origin) => front::zone::candidate(&view, id, object, spec, origin),
            _ => None,
        };
        let reads = view.into_reads();
        self.ledger.record(Reader::origin(id), reads);
        if matches!(standing, Standing::Refused(..)) {
            // Its status says whose names it would take away; that may be another object now.
            work.statuses.insert(id);
        }
        if self.table.stand(id, Some(standing)) {
            work.objects.extend(self.ledger.readers(&Fact::ZoneObject(key.clone())).map(Reader::id));
        }
        match cleared {
            Some(cleared) => drop(self.table.cleared.insert(id, cleared)),
            None => drop(self.table.cleared.remove(&id)),
        }
        if before != after {
            before.iter().chain(&after).for_each(|origin| self.look_around(id, origin, waiting));
        }
        origins.extend(self.table.set(Source::Object(id), candidate));
        work.objects.insert(id);
    }

    /// Places a Zone of which no valid version is known, where its origin can be told.
    fn place_broken_zone(&mut self, id: Id, origins: &mut BTreeSet<Name>, work: &mut Work) {
        let Some(entry) = self.snapshot.entry(id) else { return };
        let key = entry.key.clone();
        let view = View::new(key.cluster, &self.snapshot, &self.table, &mut self.ledger);
        let placed = entry.broken_zone().and_then(|sketch| {
            let Spec::Zone(spec) = &sketch.spec else { return None };
            let Standing::At(origin) = front::zone::standing(&view, sketch, spec) else { return None };
            let refusal = front::zone::refusal(&view, id, sketch, &origin).map(Box::new);
            Some((front::zone::broken(&view, id, sketch, spec, &origin), refusal))
        });
        let reads = view.into_reads();
        self.ledger.record(Reader::origin(id), reads);
        let before = self.snapshot.withheld.get(&key).cloned();
        // It is looked at again with the Zones around it, as a valid one is.
        let standing = placed.as_ref().map(|(broken, refusal)| match refusal.clone() {
            Some(refusal) => Standing::Refused(broken.zone.origin.clone(), refusal),
            None => Standing::At(broken.zone.origin.clone()),
        });
        self.table.stand(id, standing);
        // A namespace that may not have a Zone there may not withhold the names there either.
        let candidate = placed.filter(|(_, refusal)| refusal.is_none()).map(|(broken, _)| broken);
        let candidate = candidate.filter(|one| self.withholds(&key, &one.zone.origin));
        work.delta.versions |= self.snapshot.withheld.get(&key) != before.as_ref();
        work.statuses.insert(id);
        origins.extend(self.table.set(Source::Object(id), candidate));
    }

    /// Whether a Zone of which no valid version is known keeps its names from being answered.
    ///
    /// It does where nothing is known of their answers. Where a zone was served at or around its origin before it
    /// came, that one goes on: an object that was never valid takes no answer away.
    fn withholds(&mut self, key: &ObjectKey, origin: &Name) -> bool {
        if let Some((known, decision)) = self.snapshot.withheld.get(key)
            && known == origin
        {
            return *decision;
        }
        let decision = !origin.suffixes().any(|around| self.was_served(&around));
        self.snapshot.withheld.insert(key.clone(), (origin.clone(), decision));
        decision
    }

    /// Whether a zone was served at an origin before this run.
    fn was_served(&self, origin: &Name) -> bool {
        let state = self.zone_numbers.get(origin).map(|number| &self.zones[*number as usize]);
        state.is_some_and(|state| state.soa.is_some()) || self.snapshot.serials.contains_key(origin)
    }

    /// The Zones around an origin are looked at again: this one may keep names from them, or no longer does.
    fn look_around(&mut self, id: Id, origin: &Name, waiting: &mut BTreeSet<Id>) {
        let around = self.table.zones_above(origin).map(|(_, other)| other).filter(|other| *other != id);
        for other in around.collect::<Vec<_>>() {
            self.table.cleared.remove(&other);
            waiting.insert(other);
        }
    }

    fn file_candidate(&self, cluster: ClusterId, path: &Arc<str>) -> Option<Candidate> {
        let entry = self.snapshot.files.get(&(cluster, path.clone()))?;
        let (origin, base) = match (&entry.zone, &entry.problem) {
            (Some(zone), _) => (zone.origin().clone(), Ok(zone.clone())),
            (None, Some((Some(origin), note))) => (
                origin.clone(),
                Err(format!("{}:{}:{}: {}", note.path, note.line, note.column, note.message)),
            ),
            _ => return None,
        };
        let rank = Rank::of_file(cluster, path);
        let source = Source::File(cluster, path.clone());
        let zone = Zone { origin, source, rank, scope: Scope::Everywhere, ttl: None, permissions: None };
        Some(Candidate::of_file(zone, base))
    }

    fn implied_candidate(&self, cluster: ClusterId) -> Option<Candidate> {
        let origin = self.snapshot.identity(cluster)?.domain.clone();
        if origin.parent().is_some_and(|above| self.is_declared_around(&above)) {
            return None;
        }
        let rank = Rank::of_file(cluster, &Arc::from("cluster-identity"));
        let source = Source::Identity(cluster);
        Some(Candidate::implied(Zone {
            origin,
            source,
            rank,
            scope: Scope::Everywhere,
            ttl: None,
            permissions: None,
        }))
    }

    /// Whether a Zone object or a zone file holds a name.
    fn is_declared_around(&self, name: &Name) -> bool {
        let is_declared = |origin: Name| {
            let holder = self.table.holder(&origin);
            holder.is_some_and(|holder| matches!(holder.zone.source, Source::Object(_) | Source::File(..)))
        };
        name.suffixes().any(is_declared)
    }

    /// Whether a zone holds a name that no DNSRecord implies.
    pub(super) fn is_held_around(&self, name: &Name) -> bool {
        let is_held = |origin: Name| {
            let holder = self.table.holder(&origin);
            holder.is_some_and(|holder| !matches!(holder.zone.source, Source::Domain(_)))
        };
        name.suffixes().any(is_held)
    }

    /// Lets a zone know who holds its origin now.
    fn take_holder(&mut self, origin: Name, work: &mut Work) {
        let holder = self.table.holder(&origin).cloned();
        let number = self.zone_number(&origin);
        let has_others = !self.table.others(&origin).is_empty();
        let state = &mut self.zones[number as usize];
        // Whether another Zone is equal depends on more than those who look for a zone see of it.
        let twins_changed = has_others && state.holder != holder;
        let zone = |candidate: &Option<Candidate>| candidate.as_ref().map(|one| one.zone.clone());
        let seen_changed = zone(&state.holder) != zone(&holder);
        let base = |candidate: &Option<Candidate>| candidate.as_ref().and_then(|one| one.base.clone());
        let base_changed = base(&state.holder) != base(&holder);
        let file = |candidate: &Option<Candidate>| {
            candidate.as_ref().filter(|one| one.base.is_some()).map(|one| one.zone.rank.clone())
        };
        if file(&state.holder) != file(&holder) {
            work.before.note_owners_moved(state.nodes.keys());
            // Those that lose a name to the zone file say which file it is.
            work.nodes.extend(state.nodes.keys().map(|name| (number, name.clone())));
        }
        let scope = |candidate: &Option<Candidate>| {
            candidate.as_ref().map_or(Scope::Everywhere, |candidate| candidate.zone.scope.clone())
        };
        if scope(&state.holder) != scope(&holder) {
            // What is seen where the zone is counts as its content.
            work.nodes.extend(state.nodes.keys().map(|name| (number, name.clone())));
        }
        let unavailable = |candidate: &Option<Candidate>| candidate.as_ref()?.unavailable.clone();
        let availability_changed = unavailable(&state.holder) != unavailable(&holder);
        if state.holder != holder {
            let before = std::mem::replace(&mut state.holder, holder);
            work.before.holders.entry(number).or_insert(before);
            work.zones.insert(number);
            if !state.holder.as_ref().is_some_and(|holder| matches!(holder.zone.source, Source::Object(_))) {
                state.parent = None;
            }
            work.delegations.insert(number);
            work.delta.zones.push(origin.clone());
            work.nodes.push((number, origin.clone()));
        }
        if base_changed {
            work.delta.files.push(origin.clone());
            work.nodes.extend(state.nodes.keys().map(|name| (number, name.clone())));
        }
        // Those that only wanted the origin say whose it is.
        for other in self.table.others(&origin).iter().chain(self.table.holder(&origin)) {
            if let Source::Object(id) = other.zone.source {
                work.objects.insert(id);
                // A Zone without a valid version is evaluated to the same, and its status says who answers.
                if other.unavailable.is_some() {
                    work.statuses.insert(id);
                }
            }
        }
        if availability_changed || (seen_changed && self.is_unavailable_around(&origin)) {
            // Statuses say of names in a zone whether the zone can be served.
            work.statuses.extend(self.ledger.readers_below(&origin).map(Reader::id));
        }
        if seen_changed && may_depend(&origin) {
            self.regroup(&origin, work);
        }
        if seen_changed || twins_changed {
            work.objects.extend(self.ledger.readers_below(&origin).map(Reader::id));
        }
        if seen_changed {
            work.statuses.extend(self.delivering.owing_below(&origin));
        }
    }

    fn is_unavailable_around(&self, name: &Name) -> bool {
        let mut around = name.suffix_keys().filter_map(|key| self.table.holder_by_key(key));
        around.any(|holder| holder.unavailable.is_some())
    }

    pub(super) fn refresh_views(&mut self, work: &mut Work) {
        let decides = |fact: &Fact| {
            matches!(fact, Fact::Identity(_) | Fact::Controllers(_) | Fact::List(Index::Classes))
        };
        if !work.touched.facts.iter().any(decides) {
            return;
        }
        let now = Views::of(&self.snapshot, self.clusters.len(), &self.setting);
        let before = std::mem::replace(&mut self.views, now);
        work.delta.views = before.shown != self.views.shown;
        work.renumber_all |= before.signers != self.views.signers;
        if before.places != self.views.places {
            work.nodes.extend(self.mixed.iter().cloned());
            work.all_domains = true;
        }
        self.tell_of_conflicts(&before, work);
    }

    /// A class that loses or gets its view says so, and so do those that are delivered by it.
    fn tell_of_conflicts(&self, before: &Views, work: &mut Work) {
        let now = &self.views.conflicted;
        for key in before.conflicted.keys().chain(now.keys()) {
            if before.conflicted.get(key) != now.get(key) {
                work.statuses.extend(self.snapshot.id(key));
                work.statuses.extend(self.ledger.readers(&Fact::Object(key.clone())).map(Reader::id));
            }
        }
    }
}

/// What those read that refer to an object.
fn referring(key: &ObjectKey) -> Vec<Fact> {
    let of_cluster = match key.reference.kind {
        Kind::ClusterIdentity => Some(Fact::Identity(key.cluster)),
        Kind::DNSConfiguration => Some(Fact::Controllers(key.cluster)),
        _ => None,
    };
    [Fact::Object(key.clone()), Fact::ZoneObject(key.clone())].into_iter().chain(of_cluster).collect()
}
