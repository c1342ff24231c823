//! Objects as an explanation names them.

use api::{Kind, Lookup};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::facts::ObjectKey;
use crate::input::{ClusterId, ObjectRef};
use crate::planner::Planner;
use crate::rank::Rank;

/// An object, or a zone file, as an explanation names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObjectName {
    /// The cluster's name.
    pub cluster: String,
    /// The object's API version; none for a zone file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,
    /// The object's kind, or `zone file`.
    pub kind: String,
    /// `namespace/name`, the name of a cluster-scoped object, or the path of a zone file.
    pub object: String,
    /// Where the object is declared, where it comes from a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<Location>,
}

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Location {
    /// The file, as the user would write its path.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
}

impl ObjectName {
    /// The object, where it is one of a kind that is read; a zone file is none.
    pub fn reference(&self) -> Option<ObjectRef> {
        let Lookup::Known(kind) = Kind::lookup(self.api_version.as_deref()?, &self.kind) else { return None };
        let (namespace, name) = self.object.split_once('/').unwrap_or(("", &self.object));
        Some(ObjectRef { kind, namespace: namespace.into(), name: name.into() })
    }
}

impl Planner {
    pub(super) fn object_name(&self, key: &ObjectKey) -> ObjectName {
        self.named(key.cluster, key.reference.kind, &key.reference.namespace, &key.reference.name)
    }

    pub(super) fn named(&self, cluster: ClusterId, kind: Kind, namespace: &str, name: &str) -> ObjectName {
        ObjectName {
            cluster: self.cluster_name(cluster).to_owned(),
            api_version: Some(kind.api_version().to_owned()),
            kind: kind.kind().to_owned(),
            object: if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") },
            location: None,
        }
    }

    pub(super) fn zone_file_name(&self, cluster: ClusterId, path: &str) -> ObjectName {
        ObjectName {
            cluster: self.cluster_name(cluster).to_owned(),
            api_version: None,
            kind: "zone file".to_owned(),
            object: path.to_owned(),
            location: None,
        }
    }

    /// A claimant: an object, or a zone file.
    pub(super) fn claimant(&self, rank: &Rank) -> ObjectName {
        match rank.kind {
            Some(kind) => self.named(rank.cluster, kind, &rank.namespace, &rank.name),
            None => self.zone_file_name(rank.cluster, &rank.name),
        }
    }
}
