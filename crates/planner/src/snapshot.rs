//! Everything that a planning run may see, as facts with keys.
//!
//! An object that turns invalid keeps its last valid version in force; the snapshot is where
//! that rule lives, so every reader sees the same version.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::{Kind, Object, Problem, Published, Spec};
use dns::{Name, NameError, PackedZone};
use rustc_hash::FxHashMap;

use crate::direction::Direction;
use crate::facts::{Fact, Index, ObjectKey};
use crate::identity::{Controller, Identity, Target};
use crate::input::{ClusterId, FileNote, ObjectRef, SavedSerial};
use crate::marks::{FINALIZER, ORPHAN};
use crate::memory::Placed;
use crate::rank::Rank;

/// An object's number; numbers of deleted objects are used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Id(pub u32);

/// An object as the planner holds it.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) key: ObjectKey,
    /// The version in force: the newest valid one.
    pub(crate) object: Option<Arc<Object>>,
    /// Why the newest version is not the one in force.
    pub(crate) trouble: Option<Box<Trouble>>,
}

/// A version of an object that cannot be used.
#[derive(Debug)]
pub(crate) struct Trouble {
    pub(crate) problems: Vec<Problem>,
    generation: Option<i64>,
    /// It has our finalizer, and nobody let it go.
    is_held: bool,
    /// What its status says of the past.
    published: Option<Box<Published>>,
}

impl Entry {
    /// Whether the newest version, which is of no use, is to keep our finalizer.
    pub(crate) fn is_held(&self) -> bool {
        self.trouble.as_ref().is_some_and(|trouble| trouble.is_held)
    }

    /// What the status says of the past: of the version in force, else of the newest.
    pub(crate) fn published(&self) -> Option<&Published> {
        match &self.object {
            Some(object) => object.published.as_deref(),
            None => self.trouble.as_ref()?.published.as_deref(),
        }
    }

    /// The generation of the newest version, usable or not, as far as it is known.
    pub(crate) fn generation(&self) -> Option<i64> {
        let newest = self.trouble.as_ref().and_then(|trouble| trouble.generation);
        newest.or_else(|| self.object.as_ref()?.meta.generation)
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
    indexes: FxHashMap<Index, BTreeSet<(Rank, Id)>>,
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
    /// Objects that are there and of which no valid version is known.
    pub(crate) unknown: BTreeSet<ObjectKey>,
}

/// What changing the snapshot touched.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    pub(crate) ids: Vec<Id>,
    pub(crate) removed: Vec<Id>,
    pub(crate) facts: Vec<Fact>,
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

    pub(crate) fn controllers(&self, cluster: ClusterId) -> Option<&Arc<[Controller]>> {
        self.controllers.get(&cluster)
    }

    /// The target name of a postfix; `None` where no identity says how names are made.
    pub(crate) fn target(&self, cluster: ClusterId, postfix: &str) -> Option<&Result<Target, NameError>> {
        self.targets.get(&cluster)?.get(postfix)
    }

    pub(crate) fn indexed(&self, index: &Index) -> impl DoubleEndedIterator<Item = (&Rank, Id)> {
        self.indexes.get(index).into_iter().flatten().map(|(rank, id)| (rank, *id))
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

    /// Takes a new version of an object; an invalid one leaves the version in force as it is.
    pub(crate) fn put(&mut self, key: ObjectKey, object: Arc<Object>, touched: &mut Touched) {
        let (problems, generation) = (api::validate(&object), object.meta.generation);
        let trouble =
            Trouble { problems, generation, is_held: is_held(&object), published: object.published.clone() };
        let version = match trouble.problems.is_empty() {
            true => Some(object),
            false => self.deleted_version(&key, &object),
        };
        self.set(key, version, trouble, touched);
    }

    /// The version in force of an object whose newest version is of no use but for being deleted.
    fn deleted_version(&self, key: &ObjectKey, newest: &Object) -> Option<Arc<Object>> {
        let known = self.object(self.id(key)?).filter(|_| newest.meta.deleting)?;
        let (meta, published) = (newest.meta.clone(), newest.published.clone());
        Some(Arc::new(Object { meta, spec: known.spec.clone(), published }))
    }

    /// Notes that the newest version of an object cannot be used.
    pub(crate) fn refuse(&mut self, key: ObjectKey, problems: Vec<Problem>, touched: &mut Touched) {
        self.set(key, None, Trouble { problems, generation: None, is_held: false, published: None }, touched);
    }

    fn set(&mut self, key: ObjectKey, version: Option<Arc<Object>>, trouble: Trouble, touched: &mut Touched) {
        let id = self.id_or_new(&key);
        let Some(entry) = self.entries.get_mut(id.0 as usize).and_then(Option::as_mut) else { return };
        entry.trouble = (!trouble.problems.is_empty()).then(|| Box::new(trouble));
        let before = entry.object.clone();
        let after = version.or_else(|| before.clone());
        entry.object.clone_from(&after);
        let is_other = match after {
            Some(_) => self.unknown.remove(&key),
            None => self.unknown.insert(key.clone()),
        };
        if is_other {
            touched.facts.push(unknown(&key));
        }
        touched.ids.push(id);
        if !says_the_same(before.as_deref(), after.as_deref()) {
            touched.facts.push(Fact::Object(key.clone()));
            self.reindex(id, &key, before.as_deref(), after.as_deref(), touched);
        }
    }

    fn id_or_new(&mut self, key: &ObjectKey) -> Id {
        if let Some(id) = self.ids.get(key) {
            return *id;
        }
        let entry = Entry { key: key.clone(), object: None, trouble: None };
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
        touched.removed.push(id);
        touched.facts.push(Fact::Object(key.clone()));
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

    fn index(&mut self, index: Index, member: (Rank, Id), insert: bool, touched: &mut Touched) {
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
