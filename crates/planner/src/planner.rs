//! The planner: keeps the plan up to date with the world, at the cost of the change.
//!
//! ```text
//! changes ─► snapshot ─► versions ─► zones ─► front-ends ─► hosts ─► claims ─► resolve ─► sub-zones ─► serials
//!               │          │          │                                                      │
//!               └──────────┴── ledger: who read what ──────────────────────────► Delta ◄─────┘
//! ```
//!
//! A plan over everything is the same code, fed with everything at once.

mod answering;
mod delegating;
mod evaluating;
mod finishing;
mod grouping;
mod holding;
mod implying;
mod placing;
mod resolving;
pub(crate) mod settling;
mod versioning;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::{Kind, Object};
use dns::Name;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use self::grouping::Groups;
use self::holding::Before;
use self::implying::Domains;
use crate::children::{ChildRef, Made};
use crate::delivering::Delivering;
use crate::delivery::Delivered;
use crate::delta::Delta;
use crate::facts::{Ledger, ObjectKey};
use crate::holders::{Arrivals, Holding};
use crate::hosts::{HostSet, LIMIT};
use crate::input::{Change, ClusterId, ObjectRef, SavedSerial};
use crate::memory::Identity;
use crate::namespace_rule::may_depend;
use crate::output::Output;
use crate::place::Place;
use crate::probing::Probing;
use crate::rank::{Rank, Reason};
use crate::serial::merge;
use crate::setting::{Numbering, Setting};
use crate::snapshot::{Entry, FileEntry, Id, Snapshot, Touched};
use crate::tenancy::Rules;
use crate::views::Views;
use crate::zone_state::ZoneState;
use crate::zone_table::ZoneTable;

/// A claim that its object lost, and where.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LostClaim {
    pub(crate) claim: u16,
    pub(crate) place: Option<Place>,
    pub(crate) holder: Rank,
    pub(crate) reason: Reason,
    /// The name that the holder has, where it is of another namespace and this claim depends on it.
    pub(crate) depends_on: Option<Name>,
    pub(crate) zone: u32,
    pub(crate) name: Name,
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
    pub(crate) setting: Setting,
    /// Whether this process moves serials, where several could.
    pub(crate) leads: bool,
    pub(crate) snapshot: Snapshot,
    pub(crate) table: ZoneTable,
    pub(crate) ledger: Ledger,
    pub(crate) evaluated: Vec<Option<Box<Evaluated>>>,
    pub(crate) hosts: FxHashMap<ObjectKey, HostSet>,
    /// Routes that their gateway has no room for.
    pub(crate) turned_away: FxHashSet<Id>,
    pub(crate) zone_numbers: FxHashMap<Name, u32>,
    pub(crate) zones: Vec<ZoneState>,
    pub(crate) losses: FxHashMap<Id, Vec<LostClaim>>,
    /// Nodes where claims for everywhere meet claims for one place: they depend on which views there are.
    mixed: FxHashSet<(u32, Name)>,
    pub(crate) views: Views,
    /// Who wants which child name, by the name's hash.
    pub(crate) child_names: FxHashMap<u64, SmallVec<[(Id, u16); 1]>>,
    pub(crate) made: FxHashMap<Id, SmallVec<[Made; 1]>>,
    /// Who made a child under another name than it wanted, by the name's hash.
    pub(crate) renamed: FxHashMap<u64, SmallVec<[Id; 1]>>,
    /// Why children could not be applied: those of which an actuator says so.
    pub(crate) failures: BTreeMap<ChildRef, String>,
    pub(crate) delivering: Delivering,
    /// Gateways that have names of ours and no answer for them.
    pub(crate) starving: BTreeSet<Id>,
    pub(crate) probing: Probing,
    domains: Domains,
    /// Who had which name when an earlier process ended, or in the plan to compare with: for the run that it is
    /// told in.
    recalled: Option<FxHashMap<Name, Vec<Holding>>>,
    /// Zones whose own name depends on another name.
    dependent_zones: Vec<u32>,
    /// How many octets of hosts a gateway takes; a test makes it small.
    pub(crate) host_limit: usize,
}

/// Objects to look at, gathered in any order and as often as somebody names them.
#[derive(Debug, Default)]
pub(crate) struct Ids(Vec<Id>);

impl Ids {
    pub(crate) fn insert(&mut self, id: Id) {
        self.0.push(id);
    }

    pub(crate) fn extend(&mut self, ids: impl IntoIterator<Item = Id>) {
        self.0.extend(ids);
    }

    /// Each once, in the order in which the objects came.
    fn take(&mut self) -> Vec<Id> {
        let mut ids = std::mem::take(&mut self.0);
        ids.sort_unstable();
        ids.dedup();
        ids
    }
}

/// What is to be looked at again in one run.
#[derive(Debug, Default)]
struct Work {
    touched: Touched,
    files: BTreeSet<(ClusterId, Arc<str>)>,
    renumber_all: bool,
    objects: Ids,
    nodes: Vec<(u32, Name)>,
    zones: BTreeSet<u32>,
    delegations: BTreeSet<u32>,
    statuses: Ids,
    children: Ids,
    gateways: FxHashSet<ObjectKey>,
    outcomes: Vec<(ChildRef, Option<String>)>,
    /// Names of which ExternalDNS says something else than before.
    delivered: Vec<(ClusterId, Name)>,
    gone: Vec<Id>,
    /// What providers said, and how much of it was heard.
    told: Vec<Delivered>,
    told_at: FxHashMap<Name, SmallVec<[usize; 1]>>,
    heard: usize,
    /// How many of the statuses have been settled.
    settled: usize,
    /// Domains that DNSRecords imply or no longer do; or all, because classes became views.
    domains: BTreeSet<Name>,
    all_domains: bool,
    deliveries: BTreeSet<(u32, Name)>,
    /// What is decided for large groups of names, while names are resolved.
    groups: Groups,
    /// The names that were decided, where holders are remembered.
    decided: Vec<Name>,
    /// Zone objects that may be served now that names are held no longer.
    released: BTreeSet<Id>,
    /// What was remembered before this run.
    before: Before,
    delta: Delta,
}

impl Work {
    /// What was said of a class's set in this run, in whichever zone, the first first.
    fn told_of<'a>(&'a self, identity: &'a Identity) -> impl DoubleEndedIterator<Item = &'a Delivered> {
        let numbers = self.told_at.get(&identity.name).into_iter().flatten();
        let told = numbers.filter_map(|number| self.told.get(*number));
        told.filter(|told| told.class == identity.class && told.rtype == identity.rtype)
    }
}

impl Planner {
    /// A planner that knows nothing yet, for folders of clusters in the order of their precedence.
    pub fn new(clusters: Vec<String>) -> Planner {
        Planner::set(clusters, Setting::Folders)
    }

    /// The same planner under other rules than the default ones. Only one that knows nothing yet takes them.
    pub fn under(mut self, rules: Rules) -> Planner {
        self.snapshot.rules = rules;
        self
    }

    /// The same planner for objects of a running cluster, whose statuses say what was delivered. Only one that knows
    /// nothing yet takes this.
    pub fn reading_statuses(mut self) -> Planner {
        self.snapshot.reads_statuses = true;
        self
    }

    /// A planner that knows nothing yet, for one running cluster.
    pub fn in_cluster(name: String, setting: Setting) -> Planner {
        Planner::set(vec![name], setting)
    }

    fn set(clusters: Vec<String>, setting: Setting) -> Planner {
        let mut snapshot = Snapshot::default();
        snapshot.reads_statuses = setting != Setting::Folders;
        let remembers = setting == Setting::Folders;
        snapshot.arrivals = Arrivals::new(remembers);
        let views = Views::of(&snapshot, clusters.len(), &setting);
        Planner {
            clusters,
            setting,
            leads: true,
            snapshot,
            table: ZoneTable::new(remembers),
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
            renamed: FxHashMap::default(),
            failures: BTreeMap::new(),
            delivering: Delivering::default(),
            starving: BTreeSet::new(),
            probing: Probing::default(),
            domains: Domains::default(),
            recalled: None,
            dependent_zones: Vec::new(),
            host_limit: LIMIT,
        }
    }

    /// Takes changes and brings the plan up to date; tells what that moved.
    ///
    /// Bad input never fails a plan: the last valid version stands in, and a note says why.
    pub fn apply(&mut self, changes: Vec<Change>) -> Delta {
        let mut work = Work { before: self.before(), ..Work::default() };
        for change in changes {
            self.take(change, &mut work);
        }
        self.decide_versions(&mut work);
        self.snapshot.withheld_before.clone_from(&self.snapshot.withheld);
        self.refresh_views(&mut work);
        self.refresh_classes(&mut work);
        loop {
            self.place_zones(&mut work);
            let replaced = self.evaluate(&mut work);
            self.move_claims(replaced, &mut work);
            self.resolve_nodes(&mut work);
            if !self.settle_records(&mut work) && !self.release_names(&mut work) {
                break;
            }
        }
        self.renumber(&mut work);
        self.remember_holders(&mut work);
        self.finish(work)
    }

    fn take(&mut self, change: Change, work: &mut Work) {
        match change {
            Change::Put(cluster, object) => self.put(cluster, object, work),
            Change::LastValid(cluster, object) => {
                let key = ObjectKey::of(cluster, &object);
                // An object of a cluster carries its version in force itself, which others may have moved since.
                if self.setting != Setting::Folders {
                    self.snapshot.versions.forget_recalled(&key);
                }
                let known = self.snapshot.id(&key).and_then(|id| self.snapshot.object(id));
                let is_known = known.is_some() || self.snapshot.versions.is_recalled(&key);
                let is_needed = !is_known || self.snapshot.is_replaced_by(&key, &object);
                if is_needed && api::validate(&object).is_empty() {
                    self.put(cluster, object, work);
                }
            }
            Change::Broken(cluster, reference, problems) => {
                self.snapshot.refuse(ObjectKey::new(cluster, reference), problems, &mut work.touched);
            }
            Change::BrokenZone(cluster, sketch, problems) => {
                self.snapshot.refuse_zone(
                    ObjectKey::of(cluster, &sketch),
                    sketch,
                    problems,
                    &mut work.touched,
                );
            }
            Change::Delete(cluster, reference) => self.remove(&ObjectKey::new(cluster, reference), work),
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
            Change::Serial(origin, told) => {
                let saved = self.snapshot.serials.get(&origin).copied();
                let numbering = Numbering::of(&self.setting, self.leads);
                let known = if numbering == Numbering::Shared { merge(saved, told) } else { told };
                self.snapshot.serials.insert(origin, known);
                work.renumber_all = true;
            }
            Change::Holders(holders) => self.recall(*holders),
            Change::ChildOutcome(child, failure) => work.outcomes.push((child, failure)),
            Change::Delivered(told) => {
                let key = (self.zone_number(&told.zone), told.name.clone(), told.rtype);
                self.delivering.told.take(&told.class, key, &told.result);
                work.told_at.entry(told.name.clone()).or_default().push(work.told.len());
                work.told.push(told);
            }
            Change::LookedUp(told) => {
                let zone = self.zone_number(&told.zone);
                let node = self.zones[zone as usize].nodes.get(&told.name);
                work.statuses.extend(node.into_iter().flat_map(|node| node.claims.iter().map(|(id, _)| *id)));
                let key = (zone, told.name, told.rtype);
                self.delivering.told.take_look(&told.class, key, told.hash, told.sight);
            }
            Change::ClassHealth(class, health) => {
                work.statuses.extend(self.ids_of_class(&class));
                self.delivering.health.insert(class, health);
            }
            Change::ClassHeld(class, held) => {
                work.statuses.extend(self.ids_of_class(&class));
                match held {
                    Some(held) => drop(self.delivering.held.insert(class, held)),
                    None => drop(self.delivering.held.remove(&class)),
                }
            }
            Change::Remembered(cluster, reference, memory) => {
                let key = ObjectKey::new(cluster, reference);
                if self.snapshot.id(&key).is_none() {
                    self.remember(key, memory);
                }
            }
            Change::Leading(leads) => {
                if self.leads != leads {
                    let is_record = |entry: &Entry| entry.key.reference.kind == Kind::DNSRecord;
                    let records = self.snapshot.entries().filter(|(_, entry)| is_record(entry));
                    work.statuses.extend(records.map(|(id, _)| id));
                }
                work.renumber_all |= self.leads != leads;
                self.leads = leads;
            }
            // The date is read when a hash moves, so midnight re-runs nothing.
            Change::Today(today) => self.snapshot.today = today,
            Change::Health(probe, health) => {
                self.hear_health(probe, health, work);
                work.statuses.extend(self.probing.users(probe));
                // What an ExternalDNS is given follows our probes.
                work.children.extend(self.probing.users(probe));
            }
            Change::Direction(cluster, reference, direction) => {
                let key = ObjectKey::new(cluster, reference);
                work.touched.ids.extend(self.snapshot.id(&key));
                self.snapshot.directions.insert(key, direction);
            }
            Change::ClassAbilities(class, abilities) => {
                if self.delivering.abilities.get(&class) != Some(&abilities) {
                    work.statuses.extend(self.steered_by_class(&class));
                    self.delivering.abilities.insert(class, abilities);
                }
            }
            Change::Signed(vault, origin, number) => {
                work.zones.extend(self.zone_numbers.get(&origin));
                self.snapshot.signed.entry(origin).or_default().insert(vault, number);
            }
            Change::Answers(origin) => {
                if let Some(number) = self.zone_numbers.get(&origin) {
                    self.zones[*number as usize].answers_moved = true;
                    work.zones.insert(*number);
                }
            }
        }
    }

    fn put(&mut self, cluster: ClusterId, object: Arc<Object>, work: &mut Work) {
        let key = ObjectKey::of(cluster, &object);
        // What was valid of an object that is gone is not in force for the one after it.
        if self.snapshot.is_replaced_by(&key, &object) {
            self.remove(&key, work);
        }
        self.snapshot.put(key, object, &mut work.touched);
    }

    fn remove(&mut self, key: &ObjectKey, work: &mut Work) {
        if let Some(id) = self.snapshot.id(key) {
            work.gone.push(id);
            work.before.gone.insert(id, key.clone());
        }
        self.snapshot.versions.forget_recalled(key);
        self.snapshot.directions.remove(key);
        self.snapshot.placed.remove(key);
        self.snapshot.withheld.remove(key);
        self.snapshot.remove(key, &mut work.touched);
    }

    pub(crate) fn reference(&self, id: Id) -> Option<(ClusterId, ObjectRef)> {
        let key = &self.snapshot.entry(id)?.key;
        Some((key.cluster, key.reference.clone()))
    }

    pub(crate) fn zone_number(&mut self, origin: &Name) -> u32 {
        if let Some(number) = self.zone_numbers.get(origin) {
            return *number;
        }
        let number = self.zones.len() as u32;
        if may_depend(origin) {
            self.dependent_zones.push(number);
        }
        self.zones.push(ZoneState::new(origin.clone()));
        self.zone_numbers.insert(origin.clone(), number);
        number
    }

    pub(crate) fn evaluated(&self, id: Id) -> Option<&Evaluated> {
        self.evaluated.get(id.0 as usize)?.as_deref()
    }

    /// The last serial of every origin, with the hash it stands for: what a restart wants to know.
    pub fn serials(&self) -> BTreeMap<Name, SavedSerial> {
        let mut serials = self.snapshot.serials.clone();
        let numbered = self.zones.iter().filter(|zone| zone.soa.is_some());
        serials.extend(numbered.map(|zone| (zone.origin.clone(), zone.saved_serial())));
        serials
    }
}
