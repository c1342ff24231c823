//! Who declares which object: the first by path and place stands, the others are reported.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

use planner::ObjectRef;

/// A file by its folder's place on the command line and its path below the folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FileKey {
    pub(super) folder: usize,
    pub(super) path: Arc<Path>,
}

/// One place where an object is declared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Claim {
    /// Whether the file declares it no longer and its last good content is in force, or its kind is misspelt there:
    /// then every other declaration counts before it.
    pub(super) gives_way: bool,
    pub(super) file: FileKey,
    pub(super) index: u32,
}

/// All places of all objects of a cluster.
#[derive(Debug, Default)]
pub(super) struct Claims {
    claims: HashMap<ObjectRef, Vec<Claim>>,
    repeated: BTreeSet<ObjectRef>,
}

impl Claims {
    pub(super) fn len(&self) -> usize {
        self.claims.len()
    }

    /// The place that stands.
    pub(super) fn first(&self, object: &ObjectRef) -> Option<&Claim> {
        self.claims.get(object)?.first()
    }

    /// The objects that are declared more than once, with all their places in order.
    pub(super) fn repeated(&self) -> impl Iterator<Item = (&ObjectRef, &[Claim])> {
        self.repeated.iter().filter_map(|object| Some((object, &self.claims.get(object)?[..])))
    }

    pub(super) fn add(&mut self, object: &ObjectRef, claim: Claim) {
        let places = self.claims.entry(object.clone()).or_default();
        let at = places.partition_point(|other| *other < claim);
        places.insert(at, claim);
        if places.len() > 1 {
            self.repeated.insert(object.clone());
        }
    }

    /// Drops what one file declares.
    pub(super) fn remove(&mut self, object: &ObjectRef, file: &FileKey) {
        let Some(places) = self.claims.get_mut(object) else { return };
        places.retain(|claim| claim.file != *file);
        if places.len() < 2 {
            self.repeated.remove(object);
        }
        if places.is_empty() {
            self.claims.remove(object);
        }
    }
}
