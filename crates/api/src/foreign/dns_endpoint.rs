//! ExternalDNS's DNSEndpoint: what we write for it, and what others write for us to deliver.

use std::collections::BTreeMap;

use dns::{Name, Rdata, Rtype};
use serde::{Deserialize, Serialize};

use super::other_fields::OtherFields;
use crate::object::{Body, Foreign};
use crate::{Meta, Problem};

/// The records that a DNSEndpoint asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DNSEndpointSpec {
    /// Its record sets.
    #[serde(default)]
    pub endpoints: Vec<Endpoint>,
    /// What else it has.
    #[serde(flatten, skip_serializing)]
    pub others: OtherFields,
}

impl DNSEndpointSpec {
    /// Its mistakes, each with its field.
    pub(super) fn mistakes(&self) -> Vec<Problem> {
        let misspelt = if self.endpoints.is_empty() { self.others.misspelt("endpoints") } else { Vec::new() };
        let misspelt = misspelt.into_iter().map(|field| field.problem("spec"));
        let numbered = self.endpoints.iter().enumerate();
        let wrong = numbered.filter_map(|(number, endpoint)| {
            let message = endpoint.record_set().err()?;
            Some(Problem::new(format!("spec.endpoints[{number}]"), "", message))
        });
        misspelt.chain(wrong).collect()
    }
}

impl Endpoint {
    /// The name, type and data; else what is wrong with it.
    pub fn record_set(&self) -> Result<(Name, Rtype, Vec<Rdata>), String> {
        let named = |error: &dyn std::fmt::Display| match &*self.dns_name {
            "" => error.to_string(),
            name => format!("{name}: {error}"),
        };
        let name = Name::parse(&self.dns_name).map_err(|error| named(&error))?;
        if let Some(reserved) = dns::reserved_name(&name) {
            return Err(named(&format!("the name {reserved}")));
        }
        let rtype: Rtype = self.record_type.parse().map_err(|error| named(&error))?;
        if let Some(refusal) = rtype.refusal_as_data() {
            return Err(named(&format!("{rtype} {refusal}")));
        }
        if self.targets.is_empty() {
            return Err(named(&"it has no targets"));
        }
        let data = |target: &String| match rtype {
            Rtype::TXT => Ok(Rdata::txt(target)),
            _ => Rdata::parse(rtype, target, &Name::root()),
        };
        let data: Result<Vec<_>, _> = self.targets.iter().map(data).collect();
        let data = data.map_err(|error| named(&error))?;
        match data.iter().find_map(dns::reserved_data) {
            Some(reserved) => Err(named(&format!("the value {reserved}"))),
            None => Ok((name, rtype, data)),
        }
    }
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
