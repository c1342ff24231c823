//! Kinds that others define: only what we read of them, and unknown fields do not matter.

use crate::{Object, Problem, Spec};

mod addresses;
mod delivered_record;
mod dns_endpoint;
mod listener_gateway;
mod managed_cluster;
mod namespace;
mod other_fields;
mod service;

pub use addresses::Rejected;
pub use delivered_record::{DeliveredRecord, Delivery};
pub use dns_endpoint::{DNSEndpointSpec, Endpoint, EndpointMistake, ProviderSpecific};
pub use listener_gateway::{GatewayAddress, Listener, ListenerGateway};
pub use managed_cluster::ManagedCluster;
pub use namespace::{DOMAINS_ANNOTATION, Namespace, granted_domains};
pub use other_fields::{MisspeltField, OtherFields};
pub(crate) use other_fields::{belongs_to_metadata, belongs_to_spec};
pub use service::{Ingress, Service};

impl Object {
    /// Mistakes in an object of others for which it is not refused: what is left of it is used. An edit that makes one
    /// is not in force all the same.
    pub fn mistakes(&self) -> Vec<Problem> {
        match &self.spec {
            Spec::DNSEndpoint(spec) => spec.mistakes(),
            Spec::ListenerGateway(gateway) => gateway.mistakes.clone(),
            Spec::Service(service) => service.mistakes.clone(),
            _ => Vec::new(),
        }
    }
}
