//! Everything that a planning run may see, as facts with keys.
//!
//! An object that turns invalid, or whose references lose their targets by an edit, keeps the version
//! before in force; the snapshot is where that rule lives ([`versions`]), so every reader sees the same
//! version.

mod versions;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::{Kind, Object, Problem, Published, Spec};
use dns::{Name, NameError, PackedZone};
use rustc_hash::FxHashMap;

use crate::direction::Direction;
use crate::facts::{Fact, Index, ObjectKey};
use crate::holders::{Arrivals, Owner};
use crate::identity::{Controller, Identity, Target};
use crate::input::{ClusterId, FileNote, ObjectRef, SavedSerial};
use crate::marks::{FINALIZER, ORPHAN};
use crate::memory::Placed;
use crate::rank::{Rank, Reason};
use crate::tenancy::{Grants, Rules, Tenancy};
pub(crate) use versions::{Versions, Waiting};

/// An object's number; numbers of deleted objects are used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Id(pub u32);

/// An object as the planner holds it.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) key: ObjectKey,
    /// The version in force: the newest one that is valid and whose references have targets.
    pub(crate) object: Option<Arc<Object>>,
    /// Why the newest version is not the one in force.
    pub(crate) trouble: Option<Box<Trouble>>,
    /// The newest version, where it is valid and waits for the targets of its references.
    pub(crate) waiting: Option<Box<Waiting>>,
}

/// A version of an object that cannot be used.
#[derive(Debug)]
pub(crate) struct Trouble {
    pub(crate) problems: Vec<Problem>,
    /// The version, where it decodes.
    newest: Option<Arc<Object>>,
    /// What can be told of a Zone that does not decode.
    sketch: Option<Arc<Object>>,
}

impl Entry {
    /// Whether the newest version, which is of no use, is to keep our finalizer.
    pub(crate) fn is_held(&self) -> bool {
        self.trouble
            .as_ref()
            .and_then(|trouble| trouble.newest.as_ref())
            .is_some_and(|newest| is_held(newest))
    }

    /// What the status says of the past: of the version in force, else of the newest.
    pub(crate) fn published(&self) -> Option<&Published> {
        let newest = || self.trouble.as_ref()?.newest.as_ref();
        self.object.as_ref().or_else(newest)?.published.as_deref()
    }

    /// The generation of the newest version, usable or not, as far as it is known.
    pub(crate) fn generation(&self) -> Option<i64> {
        let newest = self.newest().and_then(|newest| newest.meta.generation);
        newest.or_else(|| self.object.as_ref()?.meta.generation)
    }

    /// A Zone of which no valid version is known, as far as it can be told.
    pub(crate) fn broken_zone(&self) -> Option<&Arc<Object>> {
        let trouble = self.trouble.as_ref().filter(|_| self.object.is_none())?;
        let told = trouble.newest.as_ref().or(trouble.sketch.as_ref())?;
        matches!(told.spec, Spec::Zone(_)).then_some(told)
    }

    /// The newest version, where it is known and is not the one in force.
    pub(crate) fn newest(&self) -> Option<&Arc<Object>> {
        match (&self.waiting, &self.trouble) {
            (Some(waiting), _) => Some(&waiting.version),
            (None, Some(trouble)) => trouble.newest.as_ref(),
            (None, None) => None,
        }
    }
}

/// A zone file as the planner holds it.
#[derive(Clone, Debug, Default)]
pub(crate) struct FileEntry {
    /// The content in force: the newest good one.
    pub(crate) zone: Option<Arc<PackedZone>>,
    pub(crate) notes: Vec<FileNote>,
    /// Why the newest content is not the one in force.
    pub(crate) problem: Option<(Option<Name>, FileNote)>,
}

/// The facts of one planning run.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    ids: FxHashMap<ObjectKey, Id>,
    entries: Vec<Option<Entry>>,
    free: Vec<Id>,
    /// The members of each list: those that came earlier first, of those that came together the oldest.
    indexes: FxHashMap<Index, BTreeSet<(u32, Rank, Id)>>,
    /// Since when there are which members, where the first of a list displaces the others.
    pub(crate) arrivals: Arrivals<Index>,
    identities: BTreeMap<ClusterId, Arc<Identity>>,
    controllers: BTreeMap<ClusterId, Arc<[Controller]>>,
    /// Gateways' target names, by postfix.
    targets: BTreeMap<ClusterId, FxHashMap<Box<str>, Result<Target, NameError>>>,
    pub(crate) files: BTreeMap<(ClusterId, Arc<str>), FileEntry>,
    pub(crate) serials: BTreeMap<Name, SavedSerial>,
    /// What tells the signatures of zones apart, by the vault of their keys.
    pub(crate) signed: BTreeMap<Name, BTreeMap<String, u64>>,
    pub(crate) directions: BTreeMap<ObjectKey, Direction>,
    /// What Placements were last known to be reached by.
    pub(crate) placed: BTreeMap<ObjectKey, Placed>,
    /// Whether statuses are read: not in files.
    pub(crate) reads_statuses: bool,
    pub(crate) today: u32,
    /// The domains that are granted to namespaces.
    pub(crate) grants: Grants,
    /// What the platform team set on the command line.
    pub(crate) rules: Rules,
    /// Objects that are there and of which no valid version is known.
    pub(crate) unknown: BTreeSet<ObjectKey>,
    /// Versions that are not in force, or not yet.
    pub(crate) versions: Versions,
    /// The Zones of which no valid version is known: their origins, and whether no name there is answered.
    pub(crate) withheld: BTreeMap<ObjectKey, (Name, bool)>,
    /// The same as it was before this run.
    pub(crate) withheld_before: BTreeMap<ObjectKey, (Name, bool)>,
}

/// What changing the snapshot touched.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    pub(crate) ids: Vec<Id>,
    pub(crate) removed: Vec<Id>,
    pub(crate) facts: Vec<Fact>,
    /// Objects that came, went, or have a valid version now and had none, or the other way round.
    pub(crate) presence: Vec<ObjectKey>,
    /// Domains that are granted to other namespaces than before.
    pub(crate) grants: Vec<Name>,
    /// An object whose newest version is not in force was touched, or one that was such an object.
    pub(crate) versions: bool,
}

/// Whether others read the same from two versions of an object. What a Zone publishes they do not
/// read, and it comes back to us with every change of the zone.
fn says_the_same(one: Option<&Object>, other: Option<&Object>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one.meta == other.meta && one.spec == other.spec,
        (None, None) => true,
        _ => false,
    }
}

impl Snapshot {
    pub(crate) fn id(&self, key: &ObjectKey) -> Option<Id> {
        self.ids.get(key).copied()
    }

    /// Lets go of what Zones withheld while they had no valid version, where they have one now.
    pub(crate) fn forget_mended(&mut self) {
        let Snapshot { withheld, ids, entries, .. } = self;
        let is_broken = |key: &ObjectKey| {
            let entry = ids.get(key).and_then(|id| entries.get(id.0 as usize)?.as_ref());
            entry.is_none_or(|entry| entry.object.is_none())
        };
        withheld.retain(|key, _| is_broken(key));
    }

    pub(crate) fn entry(&self, id: Id) -> Option<&Entry> {
        self.entries.get(id.0 as usize)?.as_ref()
    }

    pub(crate) fn object(&self, id: Id) -> Option<&Arc<Object>> {
        self.entry(id)?.object.as_ref()
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = (Id, &Entry)> {
        let numbered = self.entries.iter().enumerate();
        numbered.filter_map(|(number, entry)| Some((Id(number as u32), entry.as_ref()?)))
    }

    pub(crate) fn identity(&self, cluster: ClusterId) -> Option<&Arc<Identity>> {
        self.identities.get(&cluster)
    }

    /// What decides which namespaces may claim a name.
    pub(crate) fn tenancy(&self) -> Tenancy<'_> {
        Tenancy { grants: &self.grants, rules: &self.rules }
    }

    pub(crate) fn controllers(&self, cluster: ClusterId) -> Option<&Arc<[Controller]>> {
        self.controllers.get(&cluster)
    }

    /// The target name of a postfix; `None` where no identity says how names are made.
    pub(crate) fn target(&self, cluster: ClusterId, postfix: &str) -> Option<&Result<Target, NameError>> {
        self.targets.get(&cluster)?.get(postfix)
    }

    pub(crate) fn indexed(&self, index: &Index) -> impl DoubleEndedIterator<Item = (&Rank, Id)> {
        self.indexes.get(index).into_iter().flatten().map(|(_, rank, id)| (rank, *id))
    }

    /// Why one member of a list comes before another.
    pub(crate) fn reason(&self, index: &Index, winner: &Rank, loser: &Rank) -> Reason {
        let since = |rank| self.arrivals.of(index, rank);
        Reason::of(winner, loser, since(winner) < since(loser))
    }

    /// At the end of a run: remembers who is in the lists that were touched.
    pub(crate) fn remember_arrivals(&mut self) -> FxHashMap<Index, Vec<(Owner, u32)>> {
        let members = |index: &Index| {
            let members = self.indexes.get(index).into_iter().flatten();
            members.map(|(since, rank, _)| (Owner::of_rank(rank), *since)).collect()
        };
        self.arrivals.commit(members)
    }

    /// Whether an object of this name is there that another has come to replace: the API server gave
    /// the two different identifiers.
    pub(crate) fn is_replaced_by(&self, key: &ObjectKey, object: &Object) -> bool {
        let known = self.id(key).and_then(|id| self.object(id)).and_then(|known| known.meta.uid.as_ref());
        known.is_some() && object.meta.uid.is_some() && known != object.meta.uid.as_ref()
    }

    /// Whether there is an object of a kind and namespace of which no valid version is known.
    pub(crate) fn has_unknown(&self, cluster: ClusterId, kind: Kind, namespace: &Arc<str>) -> bool {
        let first = ObjectRef { kind, namespace: namespace.clone(), name: Arc::from("") };
        let mut from = self.unknown.range(ObjectKey::new(cluster, first)..);
        from.next().is_some_and(|key| {
            key.cluster == cluster && key.reference.kind == kind && key.reference.namespace == *namespace
        })
    }

    fn id_or_new(&mut self, key: &ObjectKey) -> Id {
        if let Some(id) = self.ids.get(key) {
            return *id;
        }
        let entry = Entry { key: key.clone(), object: None, trouble: None, waiting: None };
        let id = match self.free.pop() {
            Some(id) => id,
            None => {
                self.entries.push(None);
                Id(self.entries.len() as u32 - 1)
            }
        };
        self.entries[id.0 as usize] = Some(entry);
        self.ids.insert(key.clone(), id);
        id
    }

    /// Takes an object away.
    pub(crate) fn remove(&mut self, key: &ObjectKey, touched: &mut Touched) {
        let Some(id) = self.ids.remove(key) else { return };
        if self.unknown.remove(key) {
            touched.facts.push(unknown(key));
        }
        let entry = self.entries.get_mut(id.0 as usize).and_then(Option::take);
        let was_held_back =
            self.versions.forget(id, entry.as_ref().and_then(|entry| entry.waiting.as_deref()));
        touched.versions |= was_held_back;
        touched.removed.push(id);
        touched.facts.push(Fact::Object(key.clone()));
        touched.presence.push(key.clone());
        let before = entry.and_then(|entry| entry.object);
        self.reindex(id, key, before.as_deref(), None, touched);
    }

    /// Lets the number of a removed object be used again, once nothing refers to it.
    pub(crate) fn release(&mut self, id: Id) {
        self.free.push(id);
    }

    fn reindex(
        &mut self,
        id: Id,
        key: &ObjectKey,
        before: Option<&Object>,
        after: Option<&Object>,
        touched: &mut Touched,
    ) {
        let cluster = key.cluster;
        let places =
            |object: Option<&Object>| object.map(|object| Index::of(cluster, object)).unwrap_or_default();
        for (object, insert) in [(before, false), (after, true)] {
            let Some(rank) = object.map(|object| Rank::of(cluster, object)) else { continue };
            for index in places(object) {
                self.index(index, (rank.clone(), id), insert, touched);
            }
        }
        match key.reference.kind {
            Kind::Gateway => self.compile_target(cluster, after),
            Kind::Namespace => touched.grants.extend(self.grants.set(key, after)),
            Kind::ClusterIdentity => {
                self.compile_identity(cluster, after);
                self.compile_targets(cluster);
                touched.facts.push(Fact::Identity(cluster));
            }
            Kind::DNSConfiguration => {
                self.compile_controllers(cluster, after);
                touched.facts.push(Fact::Controllers(cluster));
            }
            _ => {}
        }
    }

    fn index(&mut self, index: Index, (rank, id): (Rank, Id), insert: bool, touched: &mut Touched) {
        let since = if index.is_contested() { self.arrivals.of(&index, &rank) } else { 0 };
        if index.is_contested() {
            self.arrivals.touch(&index);
        }
        let member = (since, rank, id);
        let members = self.indexes.entry(index.clone()).or_default();
        let first = members.first().cloned();
        if insert {
            members.insert(member);
        } else {
            members.remove(&member);
        }
        // An object that changed without moving is not a change of the list, but leaves and
        // enters it again; the facts are read after both, so naming them twice is harmless.
        if members.first() != first.as_ref() {
            touched.facts.push(Fact::First(index.clone()));
        }
        if members.is_empty() {
            self.indexes.remove(&index);
        }
        touched.facts.push(Fact::List(index));
    }

    fn compile_identity(&mut self, cluster: ClusterId, object: Option<&Object>) {
        match object.map(|object| &object.spec) {
            Some(Spec::ClusterIdentity(spec)) => {
                if let Some(identity) = Identity::new(spec) {
                    self.identities.insert(cluster, Arc::new(identity));
                }
            }
            _ => drop(self.identities.remove(&cluster)),
        }
    }

    fn compile_target(&mut self, cluster: ClusterId, object: Option<&Object>) {
        let Some(Spec::Gateway(spec)) = object.map(|object| &object.spec) else { return };
        let Some(identity) = self.identities.get(&cluster) else { return };
        let target = Target::new(identity, &spec.target_postfix);
        self.targets.entry(cluster).or_default().insert((*spec.target_postfix).into(), target);
    }

    fn compile_targets(&mut self, cluster: ClusterId) {
        self.targets.remove(&cluster);
        let gateways = self.entries().filter(|(_, entry)| entry.key.cluster == cluster);
        let gateways = gateways.filter(|(_, entry)| entry.key.reference.kind == Kind::Gateway);
        let gateways: Vec<_> = gateways.filter_map(|(_, entry)| entry.object.clone()).collect();
        for gateway in gateways {
            self.compile_target(cluster, Some(&gateway));
        }
    }

    fn compile_controllers(&mut self, cluster: ClusterId, object: Option<&Object>) {
        match object.map(|object| &object.spec) {
            Some(Spec::DNSConfiguration(spec)) => {
                let controllers = spec.external_dns_controllers.iter().map(Controller::new);
                self.controllers.insert(cluster, controllers.collect());
            }
            _ => drop(self.controllers.remove(&cluster)),
        }
    }
}

fn unknown(key: &ObjectKey) -> Fact {
    Fact::Unknown(key.cluster, key.reference.kind, key.reference.namespace.clone())
}

fn is_held(object: &Object) -> bool {
    let meta = &object.meta;
    let released = meta.deleting && meta.annotations.get(ORPHAN).is_some_and(|value| value == "true");
    meta.finalizers.iter().any(|finalizer| finalizer == FINALIZER) && !released
}
