//! The kuadrant family: how clients are spread over the clusters of a Gateway API gateway
//! (document 001).

mod answers;
mod dns_policy;

pub use answers::{AnsweringCluster, Answers};
pub use dns_policy::{
    CustomWeight, GeoDefault, KuadrantDNSPolicy, KuadrantDNSPolicySpec, KuadrantDNSPolicyStatus,
    LoadBalancing, TargetRef, Weighted,
};
