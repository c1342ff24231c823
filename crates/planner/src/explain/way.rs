//! The way from an object to its name and answers: the objects and settings that it is made of, as data.

use api::{Kind, Object, Spec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::delivery::{BackendName, backend_name};
use super::objects::ObjectName;
use crate::facts::ObjectKey;
use crate::input::{ClusterId, ObjectRef};
use crate::planner::Planner;
use crate::snapshot::Entry;

/// One step on the way from an object to a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "step", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum WayStep {
    /// The ClusterIdentity, which gives names their parts.
    Identity {
        /// The ClusterIdentity.
        object: ObjectName,
        /// The cluster's name in names of gateways.
        cluster_name: String,
        /// The cluster's region.
        region: String,
        /// The letter of the environment in names of routes.
        environment_letter: String,
        /// The domain below which names are.
        domain: String,
    },
    /// The router's DNSPolicy of a route's namespace.
    Policy {
        /// The DNSPolicy.
        object: ObjectName,
        /// Its mode.
        mode: String,
        /// The only region whose clusters follow it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source_region: Option<String>,
        /// The only cluster that follows it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source_cluster: Option<String>,
        /// The region of the cluster that it is in.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        own_region: Option<String>,
    },
    /// The router's Gateway that a route refers to.
    Gateway {
        /// The Gateway.
        object: ObjectName,
        /// Whether it exists.
        found: bool,
        /// The end of its label.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target_postfix: Option<String>,
        /// Its Istio controller.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        controller: Option<String>,
    },
    /// The Service whose load balancer gives a gateway its addresses.
    Service {
        /// The Service; none where no Service qualifies.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        object: Option<ObjectName>,
        /// The controller that it belongs to.
        controller: String,
    },
    /// The DNSClass that delivers the records.
    Class {
        /// The DNSClass.
        object: ObjectName,
        /// Whether it exists.
        found: bool,
        /// What it delivers to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        backend: Option<BackendName>,
    },
    /// No DNSClass is named: the name is answered wherever its zone is.
    NoClass,
    /// The Zone that a Record names.
    Zone {
        /// The Zone's name; none where the longest Zone that permits the Record adopts it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        zone_ref: Option<String>,
    },
    /// The DNSPolicy of a Gateway of the Gateway API.
    GatewayPolicy {
        /// The DNSPolicy; none where all clusters are answered alike.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        object: Option<ObjectName>,
    },
    /// A cluster that clients of a Gateway are sent to.
    Cluster {
        /// Its name.
        name: String,
        /// Its weight; 0 is drained.
        weight: u32,
        /// Where it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        geo: Option<String>,
    },
    /// How a Placement spreads clients.
    Mode {
        /// The mode.
        mode: String,
        /// Whether clients go back to the first region by hand only.
        manual_failback: bool,
    },
    /// The region of a Placement that is the first in order now.
    FirstRegion {
        /// Its name.
        region: String,
    },
    /// A region of a Placement.
    Region {
        /// Its name.
        name: String,
        /// Its addresses or host names.
        targets: Vec<String>,
        /// How it is.
        health: RegionHealth,
        /// Since when, in RFC 3339.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        since: Option<String>,
        /// Which of its targets are down and why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// Whether clients are sent to it.
        answering: bool,
    },
    /// A condition of the object that is about the way.
    Condition {
        /// Its type.
        #[serde(rename = "type")]
        condition: String,
        /// Its reason, in one word.
        reason: String,
        /// Its reason, in a sentence.
        message: String,
    },
}

/// How a region is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RegionHealth {
    /// It has no health check.
    NotProbed,
    /// One of its targets is up.
    Up,
    /// All of its targets are down.
    Down,
    /// It was not probed often enough.
    Unknown,
}

impl WayStep {
    pub(super) fn object_mut(&mut self) -> Option<&mut ObjectName> {
        match self {
            WayStep::Identity { object, .. }
            | WayStep::Policy { object, .. }
            | WayStep::Gateway { object, .. }
            | WayStep::Class { object, .. } => Some(object),
            WayStep::Service { object, .. } | WayStep::GatewayPolicy { object } => object.as_mut(),
            _ => None,
        }
    }
}

impl Planner {
    /// The objects that an object's name and answers are made of.
    pub(super) fn way(&self, entry: &Entry, object: &Object) -> Vec<WayStep> {
        let cluster = entry.key.cluster;
        match &object.spec {
            Spec::ServiceRoute(spec) => self.route_way(cluster, object, spec),
            Spec::Gateway(spec) => self.gateway_way(entry, spec),
            Spec::Placement(spec) => self.placement_way(entry, spec),
            Spec::ListenerGateway(_) => self.listeners_way(entry),
            Spec::DNSRecord(spec) => vec![self.class_step(cluster, &spec.dns_class_ref.name)],
            Spec::Record(spec) => {
                vec![WayStep::Zone { zone_ref: spec.zone_ref.as_ref().map(|zone| zone.name.clone()) }]
            }
            _ => Vec::new(),
        }
    }

    /// A class and what it delivers to.
    pub(super) fn class_step(&self, cluster: ClusterId, name: &str) -> WayStep {
        let object = self.named(cluster, Kind::DNSClass, "", name);
        let reference = ObjectRef { kind: Kind::DNSClass, namespace: "".into(), name: name.into() };
        let found = self.snapshot.id(&ObjectKey::new(cluster, reference));
        let found = found.and_then(|id| self.snapshot.object(id));
        let backend = found.and_then(|found| match &found.spec {
            Spec::DNSClass(spec) => backend_name(spec),
            _ => None,
        });
        WayStep::Class { object, found: found.is_some(), backend }
    }
}
