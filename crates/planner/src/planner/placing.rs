//! First stage: where zones stand, and which views there are.

use std::collections::BTreeSet;
use std::sync::Arc;

use api::{Kind, Spec};
use dns::Name;

use super::{Planner, Work};
use crate::facts::{Fact, Index, Reader};
use crate::front;
use crate::input::ClusterId;
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
        let mut standing: BTreeSet<Id> = BTreeSet::new();
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
            work.objects.insert(*id);
            work.statuses.insert(*id);
            work.children.insert(*id);
        }
        for id in standing {
            self.place_zone(id, &mut origins, work);
        }
        for (cluster, path) in std::mem::take(&mut work.files) {
            let candidate = self.file_candidate(cluster, &path);
            origins.extend(self.table.set(Source::File(cluster, path), candidate));
        }
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

    /// Whether an object is, or was, a Zone.
    fn may_stand(&self, id: Id) -> bool {
        let is_zone = self.snapshot.entry(id).map(|entry| entry.key.reference.kind == Kind::Zone);
        is_zone.unwrap_or_else(|| self.table.standing(id).is_some())
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

    fn place_zone(&mut self, id: Id, origins: &mut BTreeSet<Name>, work: &mut Work) {
        let Some(entry) = self.snapshot.entry(id) else {
            self.ledger.forget(Reader::origin(id));
            self.table.stand(id, None);
            origins.extend(self.table.set(Source::Object(id), None));
            return;
        };
        let Some(Spec::Zone(spec)) = entry.object.as_ref().map(|object| &object.spec) else { return };
        let Some(object) = &entry.object else { return };
        let key = entry.key.clone();
        let view = View::new(key.cluster, &self.snapshot, &self.table, &mut self.ledger);
        let standing = front::zone::standing(&view, object, spec);
        let candidate = match &standing {
            Standing::At(origin) => front::zone::candidate(&view, id, object, spec, origin),
            _ => None,
        };
        let reads = view.into_reads();
        self.ledger.record(Reader::origin(id), reads);
        if self.table.stand(id, Some(standing)) {
            work.objects.extend(self.ledger.readers(&Fact::ZoneObject(key)).map(Reader::id));
        }
        origins.extend(self.table.set(Source::Object(id), candidate));
        work.objects.insert(id);
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
        let state = &mut self.zones[number as usize];
        let zone = |candidate: &Option<Candidate>| candidate.as_ref().map(|one| one.zone.clone());
        let seen_changed = zone(&state.holder) != zone(&holder);
        let base = |candidate: &Option<Candidate>| candidate.as_ref().and_then(|one| one.base.clone());
        let base_changed = base(&state.holder) != base(&holder);
        if state.holder != holder {
            state.holder = holder;
            work.zones.insert(number);
            if !state.holder.as_ref().is_some_and(|holder| matches!(holder.zone.source, Source::Object(_))) {
                state.parent = None;
            }
            work.delegations.insert(number);
            work.delta.zones.push(origin.clone());
            work.nodes.push((number, origin.clone()));
        }
        if base_changed {
            work.nodes.extend(state.nodes.keys().map(|name| (number, name.clone())));
        }
        // Those that only wanted the origin say whose it is.
        for other in self.table.others(&origin).iter().chain(self.table.holder(&origin)) {
            if let Source::Object(id) = other.zone.source {
                work.objects.insert(id);
            }
        }
        if seen_changed {
            work.objects.extend(self.ledger.readers_below(&origin).map(Reader::id));
            work.statuses.extend(self.delivering.owing_below(&origin));
        }
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
