//! ExternalDNS's endpoints, and record sets as endpoints.
//!
//! Names are written without a final dot, but in SRV and NAPTR, where ExternalDNS wants one. TXT is
//! written in quotes, as ExternalDNS's own registry does; some providers give it back without.

use std::collections::BTreeMap;

use dns::{Name, Rdata, RecordSet, Rtype};
use serde::{Deserialize, Deserializer, Serialize};

use crate::{Entry, SetKey};

/// The TTL of a record that the provider says none of.
const UNTOLD_TTL: u32 = 300;

/// Some records of one name and type, as the protocol has them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Endpoint {
    pub(super) dns_name: String,
    #[serde(deserialize_with = "or_none")]
    pub(super) targets: Vec<String>,
    pub(super) record_type: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) set_identifier: String,
    /// Seconds; 0 is unset.
    #[serde(rename = "recordTTL", skip_serializing_if = "is_unset")]
    pub(super) record_ttl: i64,
    #[serde(deserialize_with = "or_none", skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) labels: BTreeMap<String, String>,
    #[serde(deserialize_with = "or_none", skip_serializing_if = "Vec::is_empty")]
    pub(super) provider_specific: Vec<Property>,
}

/// A setting that only one provider knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Property {
    pub(super) name: String,
    pub(super) value: String,
}

fn is_unset(ttl: &i64) -> bool {
    *ttl == 0
}

/// Go writes an empty list as `null`.
fn or_none<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default)
}

impl Endpoint {
    /// A record set as an endpoint.
    pub(super) fn of(entry: &Entry) -> Endpoint {
        let set = &entry.set;
        let property =
            |(name, value): (&String, &String)| Property { name: name.clone(), value: value.clone() };
        Endpoint {
            dns_name: set.name.undotted(),
            targets: set.data.iter().map(target).collect(),
            record_type: set.rtype.to_string(),
            record_ttl: i64::from(set.ttl),
            provider_specific: entry.properties.iter().map(property).collect(),
            ..Endpoint::default()
        }
    }

    /// Which record set it is a part of; `None` for a type that only this provider has.
    pub(super) fn key(&self) -> Option<SetKey> {
        let rtype = self.record_type.parse().ok().filter(|rtype: &Rtype| !rtype.is_meta())?;
        Some(SetKey { name: Name::parse(&self.dns_name).ok()?, rtype })
    }

    pub(super) fn properties(&self) -> BTreeMap<String, String> {
        self.provider_specific
            .iter()
            .map(|property| (property.name.clone(), property.value.clone()))
            .collect()
    }

    fn data(&self, rtype: Rtype) -> Option<Vec<Rdata>> {
        self.targets.iter().map(|target| read_target(rtype, target)).collect()
    }
}

/// The endpoints of one key as a record set; `None` where they say something that no record set can,
/// such as an alias to a load balancer.
pub(super) fn set_of(key: &SetKey, endpoints: &[&Endpoint]) -> Option<RecordSet> {
    let data: Vec<Vec<Rdata>> =
        endpoints.iter().map(|endpoint| endpoint.data(key.rtype)).collect::<Option<_>>()?;
    let data: Vec<Rdata> = data.into_iter().flatten().collect();
    let ttl = endpoints.iter().filter_map(|endpoint| ttl(endpoint.record_ttl)).min();
    (!data.is_empty()).then(|| RecordSet::new(key.name.clone(), key.rtype, ttl.unwrap_or(UNTOLD_TTL), data))
}

/// A TTL, where there is one.
pub(super) fn ttl(seconds: i64) -> Option<u32> {
    u32::try_from(seconds).ok().filter(|ttl| *ttl != 0)
}

/// The text of one record's data.
fn target(data: &Rdata) -> String {
    let text = data.to_string();
    match data.rtype() {
        Rtype::CNAME | Rtype::NS | Rtype::PTR | Rtype::DNAME | Rtype::MX => {
            text.strip_suffix('.').map(str::to_owned).unwrap_or(text)
        }
        _ => text,
    }
}

/// Reads one record's data; names are absolute with and without a final dot.
fn read_target(rtype: Rtype, text: &str) -> Option<Rdata> {
    if rtype == Rtype::TXT && !text.starts_with('"') {
        return Some(Rdata::txt(text));
    }
    Rdata::parse(rtype, text, &Name::root()).ok()
}
