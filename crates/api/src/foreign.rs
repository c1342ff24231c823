//! Kinds that others define: only what we read of them, and unknown fields do not matter.

mod addresses;
mod delivered_record;
mod dns_endpoint;
mod listener_gateway;
mod managed_cluster;
mod namespace;
mod service;

pub use addresses::Rejected;
pub use delivered_record::{DeliveredRecord, Delivery};
pub use dns_endpoint::{DNSEndpointSpec, Endpoint, ProviderSpecific};
pub use listener_gateway::{GatewayAddress, Listener, ListenerGateway};
pub use managed_cluster::ManagedCluster;
pub use namespace::{DOMAINS_ANNOTATION, Namespace, granted_domains};
pub use service::{Ingress, Service};
