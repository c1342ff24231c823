//! The Kubernetes kinds of Fingerpost's five API families: fields, defaults, rules, and what is
//! read of foreign kinds.
//!
//! A manifest becomes an [`Object`] by [`decode`], is judged by [`validate`] as admission would
//! judge it, and turns back into a manifest by [`manifest`]. [`crds`] has the definitions to
//! install. Nothing in here does IO or reads a clock.

#![allow(clippy::duplicated_attributes, reason = "kube's printer columns are attributes of one form")]
#![allow(unreachable_pub, reason = "kube's KubeSchema repeats each public struct inside a function")]

mod checks;
mod country;
mod crds;
mod duration;
mod health_check;
mod kind;
mod kinds;
mod meta;
mod network;
mod object;
mod pattern;
mod problem;
mod prune;
mod published;
mod reference;
mod resemblance;
mod secret_use;
mod serde_forms;
mod sketch;
mod status;
mod target;

pub mod dnsclass;
pub mod foreign;
pub mod kuadrant;
pub mod kubizone;
pub mod placement;
pub mod router;

pub use crds::{crd_yaml, crds, crds_yaml};
pub use dnsclass::{DNSClassSpec, DNSRecordSpec};
pub use duration::{Duration, DurationError};
pub use foreign::{
    DNSEndpointSpec, DeliveredRecord, Delivery, Endpoint, GatewayAddress, Ingress, Listener, ListenerGateway,
    ManagedCluster, Namespace, Service, granted_domains,
};
pub use health_check::{HealthCheck, Protocol};
pub use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
pub use kind::{Kind, Lookup};
pub use kuadrant::KuadrantDNSPolicySpec;
pub use kubizone::{Delegation, RecordDelegation, RecordSpec, ZoneRef, ZoneSpec};
pub use meta::{Meta, Owner};
pub use object::{Object, Spec, decode, manifest, validate};
pub use pattern::is_place;
pub use placement::PlacementSpec;
pub use problem::{Problem, type_in_words, unknown_value_in_words};
pub use prune::prune;
pub use published::{
    Published, PublishedClass, PublishedCondition, PublishedPlacement, PublishedPolicy, PublishedRecord,
    PublishedSerial, RecordConditions,
};
pub use reference::{DNSClassRef, SecretKeyRef, SecretRef};
pub use router::{
    ClusterIdentitySpec, DNSConfigurationSpec, DNSPolicySpec, ExternalDNSController, GatewaySpec, PolicyMode,
    ServiceRouteSpec, unserved_regions,
};
pub use secret_use::{SecretUse, secret_uses};
pub use sketch::{zone_sketch, zone_sketches_of_text};
pub use status::{Condition, ConditionStatus, Phase, UNOBSERVED, first_sight};
pub use target::{embedded_addresses, forbidden_targets, is_inward};
