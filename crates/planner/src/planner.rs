//! The planner: keeps the plan up to date with the world, at the cost of the change.
//!
//! ```text
//! changes ─► snapshot ─► zones ─► front-ends ─► hosts ─► claims ─► resolve ─► sub-zones ─► serials
//!               │          │          │                                                      │
//!               └──────────┴── ledger: who read what ──────────────────────────► Delta ◄─────┘
//! ```
//!
//! A plan over everything is the same code, fed with everything at once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::Spec;
use dns::{Name, RecordSet, Rtype};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::children::{ChildName, ChildRef, Made};
use crate::delta::{ChangeKind, Delta, RecordChange};
use crate::facts::{Fact, Ledger, ObjectKey, Reader};
use crate::front;
use crate::hosts::{HostSet, LIMIT};
use crate::input::{Change, ClusterId, ObjectRef, SavedSerial};
use crate::output::{Claim, Outcome, Output};
use crate::place::{Place, Scope};
use crate::rank::Rank;
use crate::resolve::{Contender, Loss, Set, Sets, resolve};
use crate::snapshot::{FileEntry, Id, Snapshot, Touched};
use crate::view::View;
use crate::views::{ViewInfo, views};
use crate::zone_state::ZoneState;
use crate::zone_table::{Candidate, Source, Standing, Zone, ZoneTable};

/// A claim that its object lost, and where.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LostClaim {
    pub(crate) claim: u16,
    pub(crate) place: Option<Place>,
    pub(crate) holder: Rank,
    zone: u32,
    name: Name,
}

/// An object's output and the rank it had when it was evaluated.
#[derive(Debug)]
pub(crate) struct Evaluated {
    pub(crate) rank: Rank,
    pub(crate) output: Output,
}

/// The plan of all clusters, kept up to date.
#[derive(Debug)]
pub struct Planner {
    pub(crate) clusters: Vec<String>,
    pub(crate) snapshot: Snapshot,
    pub(crate) table: ZoneTable,
    ledger: Ledger,
    pub(crate) evaluated: Vec<Option<Box<Evaluated>>>,
    pub(crate) hosts: FxHashMap<ObjectKey, HostSet>,
    /// Routes that their gateway has no room for.
    pub(crate) turned_away: FxHashSet<Id>,
    pub(crate) zone_numbers: FxHashMap<Name, u32>,
    pub(crate) zones: Vec<ZoneState>,
    pub(crate) losses: FxHashMap<Id, Vec<LostClaim>>,
    /// Nodes where claims for everywhere meet claims for one place: they depend on which views there are.
    mixed: FxHashSet<(u32, Name)>,
    pub(crate) views: Vec<ViewInfo>,
    pub(crate) child_names: FxHashMap<ChildName, SmallVec<[(Id, u16); 1]>>,
    pub(crate) made: FxHashMap<Id, SmallVec<[Made; 1]>>,
    /// How many octets of hosts a gateway takes; a test makes it small.
    pub(crate) host_limit: usize,
}

/// What is to be looked at again in one run.
#[derive(Debug, Default)]
struct Work {
    touched: Touched,
    files: BTreeSet<(ClusterId, Arc<str>)>,
    renumber_all: bool,
    objects: FxHashSet<Id>,
    nodes: Vec<(u32, Name)>,
    zones: BTreeSet<u32>,
    delegations: BTreeSet<u32>,
    statuses: FxHashSet<Id>,
    children: FxHashSet<Id>,
    gateways: FxHashSet<ObjectKey>,
    views: bool,
    gone: Vec<(Id, ObjectKey)>,
    delta: Delta,
}

impl Planner {
    /// A planner that knows nothing yet, for clusters in the order of their precedence.
    pub fn new(clusters: Vec<String>) -> Planner {
        let snapshot = Snapshot::default();
        let views = views(&snapshot, clusters.len());
        Planner {
            clusters,
            snapshot,
            table: ZoneTable::default(),
            ledger: Ledger::default(),
            evaluated: Vec::new(),
            hosts: FxHashMap::default(),
            turned_away: FxHashSet::default(),
            zone_numbers: FxHashMap::default(),
            zones: Vec::new(),
            losses: FxHashMap::default(),
            mixed: FxHashSet::default(),
            views,
            child_names: FxHashMap::default(),
            made: FxHashMap::default(),
            host_limit: LIMIT,
        }
    }

    /// Takes changes and brings the plan up to date; tells what that moved.
    ///
    /// Bad input never fails a plan: the last valid version stands in, and a note says why.
    pub fn apply(&mut self, changes: Vec<Change>) -> Delta {
        let mut work = Work::default();
        for change in changes {
            self.take(change, &mut work);
        }
        self.place_zones(&mut work);
        self.refresh_views(&mut work);
        let replaced = self.evaluate(&mut work);
        self.move_claims(replaced, &mut work);
        self.resolve_nodes(&mut work);
        self.renumber(&mut work);
        self.finish(work)
    }

    fn take(&mut self, change: Change, work: &mut Work) {
        let touched = &mut work.touched;
        match change {
            Change::Put(cluster, object) => self.snapshot.put(cluster, object, touched),
            Change::Broken(cluster, reference, problems) => {
                self.snapshot.refuse(ObjectKey::new(cluster, reference), problems, touched);
            }
            Change::Delete(cluster, reference) => {
                let key = ObjectKey::new(cluster, reference);
                if let Some(id) = self.snapshot.id(&key) {
                    work.gone.push((id, key.clone()));
                }
                self.snapshot.remove(&key, touched);
            }
            Change::PutFile(cluster, path, zone, notes) => {
                let entry = FileEntry { zone: Some(zone), notes, problem: None };
                self.snapshot.files.insert((cluster, path.clone()), entry);
                work.files.insert((cluster, path));
            }
            Change::BrokenFile(cluster, path, origin, note) => {
                let entry = self.snapshot.files.entry((cluster, path.clone())).or_default();
                entry.problem = Some((origin, note));
                work.files.insert((cluster, path));
            }
            Change::DeleteFile(cluster, path) => {
                self.snapshot.files.remove(&(cluster, path.clone()));
                work.files.insert((cluster, path));
            }
            Change::Serial(origin, saved) => {
                self.snapshot.serials.insert(origin, saved);
                work.renumber_all = true;
            }
            // The date is read when a hash moves, so midnight re-runs nothing.
            Change::Today(today) => self.snapshot.today = today,
        }
    }

    /// Works out where zones stand, before anybody looks for them.
    fn place_zones(&mut self, work: &mut Work) {
        let facts = std::mem::take(&mut work.touched.facts);
        let mut standing: BTreeSet<Id> = BTreeSet::new();
        for fact in &facts {
            self.dirty(fact, &mut standing, work);
        }
        let mut origins = BTreeSet::new();
        for id in work.touched.ids.iter().chain(&work.touched.removed) {
            standing.insert(*id);
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
        for cluster in 0..self.clusters.len() {
            let cluster = ClusterId(cluster as u16);
            let candidate = self.implied_candidate(cluster);
            origins.extend(self.table.set(Source::Identity(cluster), candidate));
        }
        for origin in origins {
            self.take_holder(origin, work);
        }
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
            self.ledger.record(Reader::origin(id), Vec::new());
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
            work.objects.extend(self.ledger.readers(&Fact::Zone(origin)).map(Reader::id));
        }
    }

    pub(crate) fn zone_number(&mut self, origin: &Name) -> u32 {
        if let Some(number) = self.zone_numbers.get(origin) {
            return *number;
        }
        let number = self.zones.len() as u32;
        self.zones.push(ZoneState::new(origin.clone()));
        self.zone_numbers.insert(origin.clone(), number);
        number
    }

    fn refresh_views(&mut self, work: &mut Work) {
        let now = views(&self.snapshot, self.clusters.len());
        if now != self.views {
            self.views = now;
            work.delta.views = true;
            work.views = true;
            work.nodes.extend(self.mixed.iter().cloned());
        }
    }

    pub(crate) fn evaluated(&self, id: Id) -> Option<&Evaluated> {
        self.evaluated.get(id.0 as usize)?.as_deref()
    }

    /// Evaluates what changed or looked at something that did; gives what was there before.
    fn evaluate(&mut self, work: &mut Work) -> Vec<(Id, Option<Box<Evaluated>>)> {
        let mut replaced = Vec::with_capacity(work.objects.len());
        let mut ids: Vec<Id> = work.objects.iter().copied().collect();
        ids.sort_unstable();
        for id in ids {
            let now = self.evaluate_one(id).map(Box::new);
            if self.evaluated.len() <= id.0 as usize {
                self.evaluated.resize_with(id.0 as usize + 1, || None);
            }
            let before = self.evaluated[id.0 as usize].take();
            let same = match (&before, &now) {
                (Some(before), Some(now)) => before.rank == now.rank && before.output == now.output,
                (None, None) => true,
                _ => false,
            };
            self.evaluated[id.0 as usize] = now;
            if !same {
                work.statuses.insert(id);
                work.children.insert(id);
                replaced.push((id, before));
            }
        }
        replaced
    }

    fn evaluate_one(&mut self, id: Id) -> Option<Evaluated> {
        let Some(entry) = self.snapshot.entry(id) else {
            self.ledger.record(Reader::main(id), Vec::new());
            return None;
        };
        let Some(object) = &entry.object else {
            let key = &entry.key;
            let rank = Rank::of_file(key.cluster, &key.reference.name);
            return Some(Evaluated { rank, output: Output::new(Outcome::Refused) });
        };
        let rank = Rank::of(entry.key.cluster, object);
        let view = View::new(entry.key.cluster, &self.snapshot, &self.table, &mut self.ledger);
        let output = front::evaluate(&view, id, object);
        let reads = view.into_reads();
        self.ledger.record(Reader::main(id), reads);
        Some(Evaluated { rank, output })
    }

    /// Moves hosts and claims from what objects yielded before to what they yield now.
    fn move_claims(&mut self, replaced: Vec<(Id, Option<Box<Evaluated>>)>, work: &mut Work) {
        let mut flipped: BTreeSet<Id> = BTreeSet::new();
        for (id, before) in &replaced {
            self.move_host(*id, before.as_deref(), &mut flipped, work);
        }
        let already: FxHashSet<Id> = replaced.iter().map(|(id, _)| *id).collect();
        for (id, before) in replaced {
            self.move_child_names(id, before.as_deref(), &mut work.children);
            let was_in = !self.turned_away.contains(&id);
            let is_in = self.has_room(id);
            self.set_room(id, is_in);
            let old =
                before.as_ref().filter(|_| was_in).map(|one| &one.output.claims[..]).unwrap_or_default();
            self.move_object_claims(id, old, is_in, work);
            self.note_parent(id, work);
        }
        for id in flipped.into_iter().filter(|id| !already.contains(id)) {
            let (was_in, is_in) = (!self.turned_away.contains(&id), self.has_room(id));
            if was_in == is_in {
                continue;
            }
            self.set_room(id, is_in);
            work.statuses.insert(id);
            work.children.insert(id);
            let claims = self.evaluated(id).map(|one| one.output.claims.clone()).unwrap_or_default();
            self.move_object_claims(id, if was_in { &claims } else { &[] }, is_in, work);
        }
    }

    fn set_room(&mut self, id: Id, room: bool) {
        if room {
            self.turned_away.remove(&id);
        } else {
            self.turned_away.insert(id);
        }
    }

    fn has_room(&self, id: Id) -> bool {
        let Some(evaluated) = self.evaluated(id) else { return true };
        let Some((gateway, _)) = &evaluated.output.host else { return true };
        self.hosts.get(gateway).is_none_or(|hosts| hosts.has_room_for(&evaluated.rank))
    }

    fn move_host(&mut self, id: Id, before: Option<&Evaluated>, flipped: &mut BTreeSet<Id>, work: &mut Work) {
        let now = self.evaluated.get(id.0 as usize).and_then(Option::as_deref);
        let hosted = |one: Option<&Evaluated>| {
            one.and_then(|one| {
                one.output.host.clone().map(|(gateway, host)| (gateway, host, one.rank.clone()))
            })
        };
        let (old, new) = (hosted(before), hosted(now));
        if old == new {
            return;
        }
        if let Some((gateway, _, rank)) = old {
            if let Some(hosts) = self.hosts.get_mut(&gateway) {
                flipped.extend(hosts.remove(&rank, self.host_limit));
                if hosts.is_empty() {
                    self.hosts.remove(&gateway);
                }
            }
            work.gateways.insert(gateway);
        }
        if let Some((gateway, host, rank)) = new {
            let hosts = self.hosts.entry(gateway.clone()).or_default();
            flipped.extend(hosts.insert(rank, id, host, self.host_limit));
            work.gateways.insert(gateway);
        }
    }

    fn move_object_claims(&mut self, id: Id, old: &[Claim], is_in: bool, work: &mut Work) {
        let new =
            self.evaluated(id).filter(|_| is_in).map(|one| one.output.claims.clone()).unwrap_or_default();
        for claim in old {
            let zone = self.zone_number(&claim.zone);
            if let Some(node) = self.zones[zone as usize].nodes.get_mut(&claim.name) {
                node.claims.retain(|(owner, _)| *owner != id);
            }
            work.nodes.push((zone, claim.name.clone()));
        }
        for (number, claim) in new.iter().enumerate() {
            let zone = self.zone_number(&claim.zone);
            let node = self.zones[zone as usize].nodes.entry(claim.name.clone()).or_default();
            node.claims.push((id, number as u16));
            work.nodes.push((zone, claim.name.clone()));
        }
    }

    /// Keeps the zone's link to the zone that delegates to it.
    fn note_parent(&mut self, id: Id, work: &mut Work) {
        let Some(Evaluated { output: Output { outcome: Outcome::Zone(outcome), .. }, .. }) =
            self.evaluated(id)
        else {
            return;
        };
        if let (Standing::At(origin), None) = (&outcome.standing, &outcome.conflict) {
            let (origin, parent) =
                (origin.clone(), outcome.parent.as_ref().map(|parent| parent.origin.clone()));
            let number = self.zone_number(&origin);
            self.zones[number as usize].parent = parent;
            work.delegations.insert(number);
        }
    }

    /// Decides every name that was touched, then what parents copy from sub-zones, until all stands.
    fn resolve_nodes(&mut self, work: &mut Work) {
        loop {
            let mut nodes = std::mem::take(&mut work.nodes);
            nodes.sort_unstable();
            nodes.dedup();
            for (zone, name) in nodes {
                self.resolve_node(zone, &name, work);
            }
            let Some(zone) = work.delegations.pop_first() else { break };
            self.copy_delegation(zone, work);
        }
    }

    fn resolve_node(&mut self, zone: u32, name: &Name, work: &mut Work) {
        let (sets, losses) = self.decide_node(zone, name);
        self.keep_losses(zone, name, losses, work);
        work.zones.insert(zone);
        let state = &mut self.zones[zone as usize];
        let Some(before) = state.settle(name, sets) else { return };
        if *name == state.origin || state.glue.contains(name) {
            work.delegations.insert(zone);
        }
        self.report(zone, name, &before, work);
    }

    fn decide_node(&mut self, zone: u32, name: &Name) -> (Sets, Vec<(Id, LostClaim)>) {
        let state = &self.zones[zone as usize];
        let claims = state.nodes.get(name).map(|node| node.claims.clone()).unwrap_or_default();
        if claims.is_empty() {
            // Nothing but the zone file wants the name, so the node adds nothing to it.
            self.mixed.remove(&(zone, name.clone()));
            return (Sets::new(), Vec::new());
        }
        let base = base_claims(state, name);
        let mut contenders: Vec<Contender<'_>> = Vec::with_capacity(claims.len() + base.len());
        let owner = |id: Id| self.evaluated.get(id.0 as usize).and_then(Option::as_deref);
        for (id, number) in &claims {
            let Some(evaluated) = owner(*id) else { continue };
            let Some(claim) = evaluated.output.claims.get(usize::from(*number)) else { continue };
            contenders.push(Contender { rank: &evaluated.rank, claim });
        }
        let of_objects = contenders.len();
        contenders.extend(base.iter().map(|(rank, claim)| Contender { rank, claim }));
        let places: Vec<Place> = self.views.iter().filter_map(|view| view.place.clone()).collect();
        let (sets, lost) = resolve(&contenders, &places);
        let is_mixed = contenders.iter().any(|one| one.claim.scope == Scope::Everywhere)
            && contenders.iter().any(|one| one.claim.scope != Scope::Everywhere);
        let lost_by_objects = lost.into_iter().filter(|loss| loss.contender < of_objects);
        let losses = lost_by_objects.map(|Loss { contender, place, holder }| {
            let (id, claim) = claims[contender];
            (id, LostClaim { claim, place, holder, zone, name: name.clone() })
        });
        let losses = losses.collect();
        if is_mixed {
            self.mixed.insert((zone, name.clone()));
        } else {
            self.mixed.remove(&(zone, name.clone()));
        }
        (sets, losses)
    }

    fn keep_losses(&mut self, zone: u32, name: &Name, losses: Vec<(Id, LostClaim)>, work: &mut Work) {
        let Some(node) = self.zones[zone as usize].nodes.get_mut(name) else { return };
        if losses.is_empty() && node.losers.is_empty() {
            return;
        }
        let mut losers: Vec<Id> = losses.iter().map(|(id, _)| *id).collect();
        losers.sort_unstable();
        losers.dedup();
        let before = std::mem::replace(&mut node.losers, losers.into());
        for id in before {
            if let Some(lost) = self.losses.get_mut(&id) {
                lost.retain(|one| one.zone != zone || one.name != *name);
                if lost.is_empty() {
                    self.losses.remove(&id);
                }
            }
            work.statuses.insert(id);
            work.children.insert(id);
        }
        for (id, loss) in losses {
            self.losses.entry(id).or_default().push(loss);
            work.statuses.insert(id);
            work.children.insert(id);
        }
    }

    /// Tells what moved at a name.
    fn report(&mut self, zone: u32, name: &Name, before: &Sets, work: &mut Work) {
        let state = &self.zones[zone as usize];
        let now = state.nodes.get(name).map(|node| &node.sets[..]).unwrap_or_default();
        let same = |set: &Set, sets: &[Set]| {
            sets.iter().find(|one| one.rtype == set.rtype && one.scope == set.scope).cloned()
        };
        let full =
            |set: Set| RecordSet { name: name.clone(), rtype: set.rtype, ttl: set.ttl, data: set.data };
        let origin = state.nodes.get(name).and_then(|node| node.claims.first()).map(|(id, _)| *id);
        let origin = origin.and_then(|id| self.reference(id));
        let change = |scope: &Scope, before: Option<Set>, after: Option<Set>| RecordChange {
            zone: state.origin.clone(),
            scope: scope.clone(),
            before: before.map(full),
            after: after.map(full),
            origin: origin.clone(),
        };
        for set in now {
            let old = same(set, before);
            if old.as_ref() != Some(set) {
                work.delta.records.push(change(&set.scope, old, Some(set.clone())));
            }
        }
        for set in before.iter().filter(|set| same(set, now).is_none()) {
            work.delta.records.push(change(&set.scope, Some(set.clone()), None));
        }
        work.delta.nodes.push((state.origin.clone(), name.clone()));
    }

    pub(crate) fn reference(&self, id: Id) -> Option<(ClusterId, ObjectRef)> {
        let key = &self.snapshot.entry(id)?.key;
        Some((key.cluster, key.reference.clone()))
    }

    /// Copies a sub-zone's name servers and their addresses into the zone that delegates to it.
    fn copy_delegation(&mut self, zone: u32, work: &mut Work) {
        let child = &self.zones[zone as usize];
        let origin = child.origin.clone();
        let (copies, glue) = match (&child.holder, &child.parent) {
            (Some(_), Some(_)) => delegation(child),
            _ => (BTreeMap::new(), BTreeSet::new()),
        };
        let parent = child.parent.clone().filter(|_| child.holder.is_some());
        let before = child.copied_to.clone().filter(|before| Some(before) != parent.as_ref());
        if let Some(before) = before.map(|before| self.zone_number(&before)) {
            self.replace_copies(before, &origin, &BTreeMap::new(), work);
        }
        if let Some(parent) = parent.as_ref().map(|parent| self.zone_number(parent)) {
            self.replace_copies(parent, &origin, &copies, work);
        }
        let child = &mut self.zones[zone as usize];
        (child.glue, child.copied_to) = (glue, parent);
    }

    fn replace_copies(
        &mut self,
        parent: u32,
        child: &Name,
        copies: &BTreeMap<Name, Vec<Set>>,
        work: &mut Work,
    ) {
        let state = &mut self.zones[parent as usize];
        let below: Vec<Name> = state
            .nodes_below(child)
            .filter(|(_, node)| node.copied.iter().any(|(from, _)| from == child))
            .map(|(name, _)| name.clone())
            .collect();
        for name in below.iter().filter(|name| !copies.contains_key(*name)) {
            if let Some(node) = state.nodes.get_mut(name) {
                node.copied.retain(|(from, _)| from != child);
            }
            work.nodes.push((parent, name.clone()));
        }
        for (name, sets) in copies {
            let node = state.nodes.entry(name.clone()).or_default();
            let before: Vec<Set> =
                node.copied.iter().filter(|(from, _)| from == child).map(|(_, set)| set.clone()).collect();
            if before != *sets {
                node.copied.retain(|(from, _)| from != child);
                node.copied.extend(sets.iter().map(|set| (child.clone(), set.clone())));
                work.nodes.push((parent, name.clone()));
            }
        }
    }

    fn renumber(&mut self, work: &mut Work) {
        let today = self.snapshot.today;
        let all = 0..self.zones.len() as u32;
        let touched: Vec<u32> =
            if work.renumber_all { all.collect() } else { work.zones.iter().copied().collect() };
        for number in touched {
            let state = &mut self.zones[number as usize];
            if state.renumber(&mut self.snapshot.serials, today) {
                work.delta.zones.push(state.origin.clone());
            }
            if let Some(Candidate { zone, .. }) = &state.holder {
                if let Source::Object(id) = zone.source {
                    work.statuses.insert(id);
                }
            }
        }
        work.delta.zones.sort();
        work.delta.zones.dedup();
    }

    /// Turns what was touched into the delta, and lets go of what is gone.
    fn finish(&mut self, mut work: Work) -> Delta {
        for key in std::mem::take(&mut work.gateways) {
            if let Some(id) = self.snapshot.id(&key) {
                work.children.insert(id);
                work.statuses.insert(id);
            }
        }
        let mut ids: Vec<Id> = work.children.iter().copied().collect();
        ids.sort_unstable();
        for id in ids {
            self.make_children(id, &mut work.delta);
        }
        for id in &work.statuses {
            work.delta.statuses.extend(self.reference(*id));
        }
        for (id, _) in &work.gone {
            self.evaluated[id.0 as usize] = None;
            self.snapshot.release(*id);
        }
        work.delta.statuses.sort();
        work.delta.children.sort();
        work.delta
    }

    fn make_children(&mut self, id: Id, delta: &mut Delta) {
        let now = self.children_of(id);
        let before = self.made.remove(&id).unwrap_or_default();
        for made in &now {
            let old = before.iter().find(|one| one.child == made.child);
            match old {
                None => delta.children.push((made.child.clone(), ChangeKind::Added)),
                Some(old) if old.fingerprint != made.fingerprint => {
                    delta.children.push((made.child.clone(), ChangeKind::Changed));
                }
                _ => {}
            }
        }
        let gone = |one: &&Made| !now.iter().any(|made| made.child == one.child);
        let gone: Vec<ChildRef> = before.iter().filter(gone).map(|one| one.child.clone()).collect();
        delta.children.extend(gone.into_iter().map(|child| (child, ChangeKind::Removed)));
        if !now.is_empty() {
            self.made.insert(id, now);
        }
    }

    /// The last serial of every origin, with the hash it stands for: what a restart wants to know.
    pub fn serials(&self) -> BTreeMap<Name, SavedSerial> {
        self.snapshot.serials.clone()
    }
}

/// A zone file's record sets at a name, as the claims of one owner.
fn base_claims(state: &ZoneState, name: &Name) -> Vec<(Rank, Claim)> {
    let Some(holder) = &state.holder else { return Vec::new() };
    let sets = state.base_at(name).into_iter();
    let claim = |set: RecordSet| Claim {
        zone: state.origin.clone(),
        name: name.clone(),
        rtype: set.rtype,
        ttl: set.ttl,
        data: set.data,
        scope: Scope::Everywhere,
        shared: false,
    };
    sets.map(|set| (holder.zone.rank.clone(), claim(set))).collect()
}

/// What a parent copies from a sub-zone: its NS sets, and the addresses of those servers that lie in it.
fn delegation(child: &ZoneState) -> (BTreeMap<Name, Vec<Set>>, BTreeSet<Name>) {
    let at = |name: &Name| child.nodes.get(name).map(|node| &node.sets[..]).unwrap_or_default();
    let servers: Vec<Set> = at(&child.origin).iter().filter(|set| set.rtype == Rtype::NS).cloned().collect();
    let targets = servers.iter().flat_map(|set| set.data.iter().filter_map(|data| data.target()));
    let glue: BTreeSet<Name> = targets.filter(|target| target.is_in(&child.origin)).collect();
    let mut copies = BTreeMap::from([(child.origin.clone(), servers)]);
    for name in &glue {
        let addresses = at(name).iter().filter(|set| matches!(set.rtype, Rtype::A | Rtype::AAAA)).cloned();
        let addresses: Vec<Set> = addresses.collect();
        if !addresses.is_empty() {
            copies.entry(name.clone()).or_default().extend(addresses);
        }
    }
    copies.retain(|_, sets| !sets.is_empty());
    (copies, glue)
}
