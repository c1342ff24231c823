//! The names that objects of implied zones want, whether or not they get them.
//!
//! A Zone object that comes later must not take these names away. Whether it would is decided before
//! anything is evaluated, so it is decided by what the objects say and not by what came of it.

use std::collections::BTreeMap;

use api::{Kind, Object, Spec};
use dns::Name;
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use crate::input::ClusterId;
use crate::snapshot::{Id, Snapshot};

/// The names of one object.
pub(crate) type Names = SmallVec<[Name; 1]>;

/// Which objects want which names.
#[derive(Debug, Default)]
pub(crate) struct WantedNames {
    by_name: BTreeMap<Name, SmallVec<[Id; 1]>>,
    /// The creation time of each object, and its names.
    of_objects: Vec<(i64, Names)>,
    /// Which of the objects held a name before this run; nothing where that is not remembered.
    held: FxHashSet<(Id, Name)>,
}

impl WantedNames {
    /// Sets the names that an object wants; gives those that it did not want before and those that it no longer
    /// wants, or all where it has another age.
    pub(crate) fn set(&mut self, id: Id, created: i64, now: Names) -> Names {
        let at = id.0 as usize;
        if self.of_objects.len() <= at {
            if now.is_empty() {
                return Names::new();
            }
            self.of_objects.resize(at + 1, (created, Names::new()));
        }
        let (age, before) = std::mem::replace(&mut self.of_objects[at], (created, now.clone()));
        if before == now {
            return if age == created { Names::new() } else { now };
        }
        for name in before.iter().filter(|name| !now.contains(name)) {
            self.held.remove(&(id, name.clone()));
            if let Some(ids) = self.by_name.get_mut(name) {
                ids.retain(|one| *one != id);
                if ids.is_empty() {
                    self.by_name.remove(name);
                }
            }
        }
        for name in now.iter().filter(|name| !before.contains(name)) {
            self.by_name.entry(name.clone()).or_default().push(id);
        }
        let is_moved = |name: &&Name| age != created || before.contains(name) != now.contains(name);
        before.iter().chain(&now).filter(is_moved).cloned().collect()
    }

    /// Notes whether an object holds a name that it wants; tells whether that is new.
    pub(crate) fn hold(&mut self, id: Id, name: &Name, holds: bool) -> bool {
        match holds {
            true => self.held.insert((id, name.clone())),
            false => self.held.remove(&(id, name.clone())),
        }
    }

    /// Whether an object held a name before this run.
    pub(crate) fn was_held(&self, id: Id, name: &Name) -> bool {
        self.held.contains(&(id, name.clone()))
    }

    /// The objects that want exactly this name.
    pub(crate) fn at<'a>(&'a self, name: &'a Name) -> impl Iterator<Item = (&'a Name, Id)> {
        self.by_name.get(name).into_iter().flatten().map(move |id| (name, *id))
    }

    /// The objects that want names at or below this one.
    pub(crate) fn below<'a>(&'a self, name: &'a Name) -> impl Iterator<Item = (&'a Name, Id)> {
        let named = self.by_name.range(name.clone()..).take_while(|(below, _)| below.is_in(name));
        named.flat_map(|(below, ids)| ids.iter().map(move |id| (below, *id)))
    }
}

impl Snapshot {
    /// The names that an object wants in a zone that no Zone object declares.
    pub(crate) fn names_wanted(&self, id: Id) -> Names {
        let Some(entry) = self.entry(id) else { return Names::new() };
        let Some(object) = entry.object.as_deref().filter(|object| !object.meta.deleting) else {
            return Names::new();
        };
        let mut names = self.names_of(entry.key.cluster, object);
        names.sort();
        names.dedup();
        names
    }

    fn names_of(&self, cluster: ClusterId, object: &Object) -> Names {
        let identity = || self.identity(cluster);
        match &object.spec {
            Spec::DNSRecord(spec) => spec.name().ok().into_iter().collect(),
            Spec::Placement(spec) => Name::parse(&spec.hostname).ok().into_iter().collect(),
            Spec::DNSEndpoint(_) if crate::front::dns_endpoint::is_own_child(object) => Names::new(),
            Spec::DNSEndpoint(spec) => {
                spec.endpoints.iter().filter_map(|endpoint| Name::parse(&endpoint.dns_name).ok()).collect()
            }
            Spec::ServiceRoute(spec) => identity()
                .and_then(|one| one.route_host(&spec.service_name, &spec.environment, &spec.application).ok())
                .into_iter()
                .collect(),
            Spec::Gateway(spec) => {
                identity().and_then(|one| one.gateway_host(&spec.target_postfix).ok()).into_iter().collect()
            }
            _ => Names::new(),
        }
    }

    /// The objects whose names are made of a cluster's identity.
    pub(crate) fn named_by_identity(&self, cluster: ClusterId) -> Vec<Id> {
        let is_router = |kind: Kind| matches!(kind, Kind::ServiceRoute | Kind::Gateway);
        let entries = self.entries().filter(|(_, entry)| entry.key.cluster == cluster);
        entries.filter(|(_, entry)| is_router(entry.key.reference.kind)).map(|(id, _)| id).collect()
    }
}
