//! Kinds that others define: only what we read of them, and unknown fields do not matter.

mod delivered_record;
mod dns_endpoint;
mod service;

pub use delivered_record::{DeliveredRecord, Delivery};
pub use dns_endpoint::{DNSEndpointSpec, Endpoint, ProviderSpecific};
pub use service::{Ingress, Service};
