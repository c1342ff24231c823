//! The router family: where a cluster is, which DNS controllers there are, and which services
//! are reached through which gateway (document 000).

mod cluster_identity;
mod dns_configuration;
mod dns_policy;
mod gateway;
mod service_route;

pub use cluster_identity::{ClusterIdentity, ClusterIdentitySpec, ClusterIdentityStatus, unserved_regions};
pub use dns_configuration::{
    DNSConfiguration, DNSConfigurationSpec, DNSConfigurationStatus, ExternalDNSController,
};
pub use dns_policy::{DNSPolicy, DNSPolicySpec, DNSPolicyStatus, PolicyMode};
pub use gateway::{Gateway, GatewaySpec, GatewayStatus};
pub use service_route::{ServiceRoute, ServiceRouteSpec, ServiceRouteStatus};
