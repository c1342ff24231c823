//! Who keeps a name that two want: the older object (ERRATA, "One name, two claimants").

use std::fmt;
use std::sync::Arc;

use api::{Kind, Object};

use crate::input::ClusterId;

/// The order of claimants: by creation, then namespace/name, then cluster.
///
/// Objects from files have no creation time; they are equally old and come after those that have one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Rank {
    created: i64,
    /// The claimant's namespace.
    pub namespace: Arc<str>,
    /// The claimant's name.
    pub name: Arc<str>,
    /// The claimant's cluster.
    pub cluster: ClusterId,
    /// The claimant's kind; it decides nothing but makes the order total.
    pub kind: Option<Kind>,
}

impl Rank {
    /// The rank of an object.
    pub fn of(cluster: ClusterId, object: &Object) -> Rank {
        let created = object.meta.created.map_or(i64::MAX, |time| time.as_millisecond());
        let (namespace, name) = (object.meta.namespace.clone(), object.meta.name.clone());
        Rank { created, namespace, name, cluster, kind: Some(object.kind()) }
    }

    /// The rank of a zone file, which has no creation time.
    pub fn of_file(cluster: ClusterId, path: &Arc<str>) -> Rank {
        Rank { created: i64::MAX, namespace: Arc::from(""), name: path.clone(), cluster, kind: None }
    }
}

impl fmt::Display for Rank {
    /// `namespace/name`, as conflicts name their holder.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.namespace {
            "" => write!(f, "{}", self.name),
            namespace => write!(f, "{namespace}/{}", self.name),
        }
    }
}
