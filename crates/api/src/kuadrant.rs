//! The kuadrant family: how clients are spread over the clusters of a Gateway API gateway
//! (document 001).

mod dns_policy;

pub use dns_policy::{
    CustomWeight, GeoDefault, KuadrantDNSPolicy, KuadrantDNSPolicySpec, KuadrantDNSPolicyStatus,
    LoadBalancing, TargetRef, Weighted,
};
