//! ExternalDNS's endpoints as record sets, and back.
//!
//! Targets are presentation format without final dots, but for SRV and NAPTR, whose hosts must have them.
//! Text may come with or without quotation marks; it goes out with them.

use std::collections::BTreeMap;

use api::Endpoint;
use api::foreign::ProviderSpecific;
use backends::{Entry, SetKey};
use dns::{MAX_TTL, Name, Rdata, RecordSet, Rtype};

use super::super::store::Wish;

/// What an endpoint asks for; an error is one line for people.
pub(super) fn wish(endpoint: &Endpoint, default_ttl: u32) -> Result<Wish, String> {
    if endpoint.set_identifier.as_deref().is_some_and(|identifier| !identifier.is_empty()) {
        return Err("it has a set identifier, and this store does not steer".to_owned());
    }
    let name = Name::parse(&endpoint.dns_name).map_err(|error| error.to_string())?;
    let rtype: Rtype = endpoint.record_type.parse().map_err(|error: dns::RtypeError| error.to_string())?;
    if let Some(refusal) = rtype.refusal_as_data() {
        return Err(format!("{rtype} {refusal}"));
    }
    // ExternalDNS's own ownership records are TXT like any other; ours are not its to write.
    if let Some(reserved) = dns::reserved_name(&name) {
        return Err(format!("the name {} {reserved}", name.undotted()));
    }
    let data: Vec<Rdata> =
        endpoint.targets.iter().map(|target| datum(rtype, target)).collect::<Result<_, _>>()?;
    if data.is_empty() || (rtype == Rtype::CNAME && data.len() > 1) {
        return Err(format!("{} targets do not make a {rtype} record", data.len()));
    }
    let set = RecordSet::new(name.clone(), rtype, ttl(endpoint, default_ttl), data);
    let properties = endpoint
        .provider_specific
        .iter()
        .map(|ProviderSpecific { name, value }| (name.clone(), value.clone()));
    let entry = Entry::new(set, None, properties.collect());
    Ok(Wish { key: SetKey { name, rtype }, after: Some(entry) })
}

/// What stands there, as an endpoint.
pub(super) fn of_entry(entry: &Entry) -> Endpoint {
    let property =
        |(name, value): (&String, &String)| ProviderSpecific { name: name.clone(), value: value.clone() };
    Endpoint {
        dns_name: entry.set.name.undotted(),
        targets: targets(&entry.set),
        record_type: entry.set.rtype.to_string(),
        set_identifier: None,
        record_ttl: Some(i64::from(entry.set.ttl)),
        labels: BTreeMap::new(),
        provider_specific: entry.properties.iter().map(property).collect(),
    }
}

/// The endpoint with its targets as they would be read back.
pub(super) fn normalized(endpoint: Endpoint, wish: &Wish) -> Option<Endpoint> {
    let targets = targets(&wish.after.as_ref()?.set);
    Some(Endpoint { targets, ..endpoint })
}

fn ttl(endpoint: &Endpoint, default: u32) -> u32 {
    let given = endpoint.record_ttl.filter(|ttl| *ttl > 0);
    given.map_or(default, |ttl| u32::try_from(ttl).unwrap_or(MAX_TTL).min(MAX_TTL))
}

fn datum(rtype: Rtype, target: &str) -> Result<Rdata, String> {
    match rtype {
        Rtype::TXT if !target.starts_with('"') => Ok(Rdata::txt(target)),
        _ => Rdata::parse(rtype, target, &Name::root()).map_err(|error| error.to_string()),
    }
}

fn targets(set: &RecordSet) -> Vec<String> {
    set.data.iter().map(target).collect()
}

fn target(data: &Rdata) -> String {
    let text = data.to_string();
    match data.rtype() {
        Rtype::CNAME | Rtype::NS | Rtype::PTR | Rtype::MX => {
            text.strip_suffix('.').filter(|short| !short.is_empty()).map(str::to_owned).unwrap_or(text)
        }
        _ => text,
    }
}
