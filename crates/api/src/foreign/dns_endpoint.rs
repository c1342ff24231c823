//! ExternalDNS's DNSEndpoint: what we write for it, and what others write for us to deliver.

use std::collections::BTreeMap;
use std::fmt;

use dns::{Name, Rdata, Rtype};
use serde::{Deserialize, Serialize};

use super::other_fields::OtherFields;
use crate::checks::MAX_TTL;
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
            let EndpointMistake { field, message } = endpoint.record_set().err()?;
            Some(Problem::new(format!("spec.endpoints[{number}].{field}"), "", message))
        });
        misspelt.chain(wrong).collect()
    }
}

/// What is wrong with one entry of a DNSEndpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointMistake {
    /// The field of the entry, such as `targets[0]`.
    pub field: String,
    /// What is wrong, with the entry's name.
    pub message: String,
}

impl Endpoint {
    /// The name, type and data; else what is wrong with it.
    pub fn record_set(&self) -> Result<(Name, Rtype, Vec<Rdata>), EndpointMistake> {
        let name = Name::parse(&self.dns_name).map_err(|error| self.mistake("dnsName", &error))?;
        if let Some(reserved) = dns::reserved_name(&name) {
            return Err(self.mistake("dnsName", &format!("the name {reserved}")));
        }
        let rtype: Rtype = self.record_type.parse().map_err(|error| self.mistake("recordType", &error))?;
        if let Some(refusal) = rtype.refusal_as_data() {
            return Err(self.mistake("recordType", &format!("{rtype} {refusal}")));
        }
        if let Some(ttl) = self.record_ttl.filter(|ttl| !(0..=i64::from(MAX_TTL)).contains(ttl)) {
            let message = format!("`{ttl}` is no TTL: use 0 to {MAX_TTL} seconds, 0 for the usual TTL");
            return Err(self.mistake("recordTTL", &message));
        }
        if self.targets.is_empty() {
            return Err(self.mistake("targets", &"it has no targets"));
        }
        let targets = self.targets.iter().enumerate();
        let data: Result<Vec<Rdata>, _> =
            targets.map(|(number, target)| self.data(rtype, number, target)).collect();
        Ok((name, rtype, data?))
    }

    fn data(&self, rtype: Rtype, number: usize, target: &str) -> Result<Rdata, EndpointMistake> {
        let mistake = |error: &dyn fmt::Display| self.mistake(&format!("targets[{number}]"), error);
        let data = match rtype {
            Rtype::TXT => Rdata::txt(target),
            _ => Rdata::parse(rtype, target, &Name::root()).map_err(|error| mistake(&error))?,
        };
        match dns::reserved_data(&data) {
            Some(reserved) => Err(mistake(&format!("the value {reserved}"))),
            None => Ok(data),
        }
    }

    fn mistake(&self, field: &str, error: &dyn fmt::Display) -> EndpointMistake {
        let message = match &*self.dns_name {
            "" => error.to_string(),
            name => format!("{name}: {error}"),
        };
        EndpointMistake { field: field.to_owned(), message }
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
