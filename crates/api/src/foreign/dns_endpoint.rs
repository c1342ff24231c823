//! ExternalDNS's DNSEndpoint: what we write for it, and what others write for us to deliver.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::object::{Body, Foreign};
use crate::{Meta, Problem};

/// The records that a DNSEndpoint asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DNSEndpointSpec {
    /// Its record sets.
    #[serde(default)]
    pub endpoints: Vec<Endpoint>,
}

/// One record set of a DNSEndpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Endpoint {
    /// The name.
    pub dns_name: String,
    /// The record data, in the form that ExternalDNS has for each type.
    pub targets: Vec<String>,
    /// The record type.
    pub record_type: String,
    /// Tells record sets of one name and type apart where the provider steers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set_identifier: Option<String>,
    /// The TTL; 0 or absent leaves it to the provider.
    #[serde(rename = "recordTTL", skip_serializing_if = "Option::is_none")]
    pub record_ttl: Option<i64>,
    /// ExternalDNS's own labels.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Settings that only one provider knows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub provider_specific: Vec<ProviderSpecific>,
}

/// A setting that only one provider knows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderSpecific {
    /// The setting.
    pub name: String,
    /// Its value.
    #[serde(default)]
    pub value: String,
}

impl Body for DNSEndpointSpec {
    type Manifest = Foreign<DNSEndpointSpec>;

    fn validate(&self, _: &Meta) -> Vec<Problem> {
        Vec::new()
    }
}
