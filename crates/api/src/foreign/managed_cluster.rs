//! Open Cluster Management's ManagedCluster: its labels say where a cluster is and what it counts for.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::Published;
use crate::meta::ForeignMetadata;
use crate::object::{Body, Manifest};
use crate::{Meta, Problem};

/// A ManagedCluster; all that we read of it is in its metadata.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ManagedCluster {}

impl Body for ManagedCluster {
    type Manifest = ClusterManifest;

    fn write(&self) -> Value {
        json!({ "spec": {} })
    }

    fn validate(&self, _: &Meta) -> Vec<Problem> {
        Vec::new()
    }
}

/// A ManagedCluster as it is read.
#[derive(Deserialize)]
pub(crate) struct ClusterManifest {
    metadata: ForeignMetadata,
}

impl Manifest for ClusterManifest {
    type Body = ManagedCluster;

    fn open(self) -> (Meta, ManagedCluster, Option<Published>) {
        (self.metadata.into(), ManagedCluster {}, None)
    }
}
