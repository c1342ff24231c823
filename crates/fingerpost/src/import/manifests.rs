//! Record sets as manifests that plan to just these record sets.

use std::fmt;

use backends::SetKey;
use backends::webhook::record::record;
use dns::{Name, RecordSet, Soa};
use serde_json::{Value, json};

use super::{Holder, Item, Verdict, is_executed, is_own_servers};

/// Which kinds the manifests are of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Form {
    /// A DNSRecord for each record set.
    #[default]
    #[value(name = "DNSRecord")]
    DnsRecord,
    /// A Zone, and a Record for each record.
    #[value(name = "Zone")]
    Zone,
}

/// Where manifests are to go.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// The class.
    pub class: &'a str,
    /// The zone.
    pub zone: &'a Name,
    /// The namespace.
    pub namespace: &'a str,
    /// The Zone object that there is of the zone.
    pub declared: Option<&'a DeclaredZone>,
}

/// A Zone object that declares the zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclaredZone {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl fmt::Display for DeclaredZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// What was made of record sets.
#[derive(Clone, Debug, Default)]
pub struct Manifests {
    /// The manifests.
    pub documents: Vec<Value>,
    /// The record sets that cannot be written so.
    pub unwritable: Vec<RecordSet>,
    /// How many record sets the manifests declare.
    pub sets: usize,
}

/// The manifests of what is or becomes ours and no object declares, and the record sets that cannot be written so.
pub fn manifests(form: Form, target: Target<'_>, soa: Option<&Soa>, items: &[Item]) -> Manifests {
    let undeclared = items.iter().filter(|item| item.planned.is_none());
    let of_interest = undeclared.filter(|item| {
        let is_others = matches!(item.holder, Holder::Other(_));
        item.verdict != Verdict::LeftAlone || (!is_others && is_undeclarable(form, target.zone, &item.set))
    });
    let is_writable = |set: &&RecordSet| !is_executed(set) && !set.data.iter().any(is_reserved);
    let (ours, unwritable): (Vec<&RecordSet>, Vec<&RecordSet>) =
        of_interest.map(|item| &item.set).partition(is_writable);
    let mut made = match form {
        Form::DnsRecord => dns_records(target, &ours),
        Form::Zone => zone(target, soa, &ours),
    };
    made.unwritable.extend(unwritable.into_iter().cloned());
    made
}

/// Whether no manifest of this form can declare a record set.
pub fn is_undeclarable(form: Form, zone: &Name, set: &RecordSet) -> bool {
    let target = Target { class: "any", zone, namespace: "any", declared: None };
    is_executed(set) || (form == Form::DnsRecord && dns_record(target, set).is_none())
}

fn is_reserved(data: &dns::Rdata) -> bool {
    dns::reserved_data(data).is_some()
}

fn dns_records(target: Target<'_>, sets: &[&RecordSet]) -> Manifests {
    let mut made = Manifests::default();
    for set in sets.iter().filter(|set| !is_own_servers(&SetKey::of(set), target.zone)) {
        match dns_record(target, set) {
            Some(manifest) => made.documents.push(manifest),
            None => made.unwritable.push((*set).clone()),
        }
    }
    made.sets = made.documents.len();
    made
}

fn dns_record(target: Target<'_>, set: &RecordSet) -> Option<Value> {
    let record = record(set, target.zone, false)?;
    let mut spec = json!({
        "type": record.r#type,
        "domain": record.domain,
        "subdomain": record.subdomain,
        "dnsClassRef": { "name": target.class },
        "values": record.values,
        "ttl": set.ttl,
    });
    if let Some(metadata) = record.metadata {
        spec["metadata"] = json!(metadata);
    }
    let manifest =
        object("dns.homelab.mortenolsen.pro/v1alpha1", "DNSRecord", target, &label(target, set, None), spec);
    // What validation would refuse is no DNSRecord.
    let object = api::decode(api::Kind::DNSRecord, &manifest).ok()?;
    api::validate(&object).is_empty().then_some(manifest)
}

/// A Zone, unless there is one, with its Records.
fn zone(target: Target<'_>, soa: Option<&Soa>, sets: &[&RecordSet]) -> Manifests {
    let (servers, others): (Vec<&RecordSet>, Vec<&RecordSet>) =
        sets.iter().partition(|set| is_own_servers(&SetKey::of(set), target.zone));
    let name = object_name(&target.zone.undotted());
    let zone_ref = match target.declared {
        Some(declared) if declared.namespace == target.namespace => json!({ "name": declared.name }),
        Some(declared) => json!({ "name": declared.name, "namespace": declared.namespace }),
        None => json!({ "name": name }),
    };
    let mut made = Manifests { sets: others.len(), ..Manifests::default() };
    if target.declared.is_none() {
        made.sets += servers.len();
        made.documents.push(object(
            "kubi.zone/v1alpha1",
            "Zone",
            target,
            &name,
            zone_spec(target, soa, &servers),
        ));
    }
    made.documents.extend(others.iter().flat_map(|set| records(target, &zone_ref, set)));
    made
}

fn zone_spec(target: Target<'_>, soa: Option<&Soa>, servers: &[&RecordSet]) -> Value {
    let mut spec = json!({ "domainName": target.zone.to_string(), "dnsClassRef": { "name": target.class } });
    if let Some(servers) = servers.first() {
        let names = servers.data.iter().filter_map(|data| data.target());
        spec["ttl"] = json!(servers.ttl);
        spec["nameServers"] = names.map(|name| json!(name.to_string())).collect();
    }
    if let Some(soa) = soa {
        spec["refresh"] = json!(soa.refresh);
        spec["retry"] = json!(soa.retry);
        spec["expire"] = json!(soa.expire);
        spec["negativeResponseCache"] = json!(soa.minimum);
        spec["admin"] = json!(soa.rname.to_string());
    }
    spec
}

fn records(target: Target<'_>, zone_ref: &Value, set: &RecordSet) -> Vec<Value> {
    let several = set.data.len() > 1;
    let record = |(number, data): (usize, &dns::Rdata)| {
        let spec = json!({
            "domainName": set.name.to_string(),
            "zoneRef": zone_ref,
            "type": set.rtype.to_string(),
            "ttl": set.ttl,
            "rdata": data.to_string(),
        });
        let name = label(target, set, several.then_some(number + 1));
        object("kubi.zone/v1alpha1", "Record", target, &name, spec)
    };
    set.data.iter().enumerate().map(record).collect()
}

fn object(api_version: &str, kind: &str, target: Target<'_>, name: &str, spec: Value) -> Value {
    let metadata = json!({ "name": name, "namespace": target.namespace });
    json!({ "apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec })
}

/// A name for an object: the record's own within the zone, its type and, of several, its number.
fn label(target: Target<'_>, set: &RecordSet, number: Option<usize>) -> String {
    let full = set.name.undotted();
    let inner = full.strip_suffix(&target.zone.undotted()).unwrap_or(&full).trim_end_matches('.');
    let inner = if inner.is_empty() { "@" } else { inner };
    let number = number.map(|number| format!("-{number}")).unwrap_or_default();
    object_name(&format!("{inner}-{}-{}{number}", target.zone.undotted(), set.rtype))
}

/// A text as the name of a Kubernetes object. What it cannot hold is spelled out, and a hash follows where a name
/// without such octets could be spelled the same: no two names become one.
fn object_name(text: &str) -> String {
    let text = text.to_ascii_lowercase();
    let spelled = spelled_out(&text);
    if spelled == text { shortened(&spelled) } else { hashed(&spelled, &text) }
}

fn spelled_out(text: &str) -> String {
    let mut name = String::new();
    for octet in text.bytes() {
        match octet {
            b'a'..=b'z' | b'0'..=b'9' | b'-' => name.push(char::from(octet)),
            b'.' => name.push('.'),
            b'*' => name.push_str("wildcard"),
            b'@' => name.push_str("apex"),
            b'_' => name.push_str("u-"),
            other => name.push_str(&format!("x{other:02x}")),
        }
    }
    let parts: Vec<&str> =
        name.split('.').map(|part| part.trim_matches('-')).filter(|part| !part.is_empty()).collect();
    parts.join(".")
}

/// The most octets that the name of an object has.
const MOST: usize = 253;

/// A name within the limit.
fn shortened(name: &str) -> String {
    if name.len() <= MOST { name.to_owned() } else { hashed(name, name) }
}

/// A name within the limit that ends with a hash of the text that it is made from.
fn hashed(name: &str, text: &str) -> String {
    let hash = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    let hash: String = hash.as_ref().iter().take(6).map(|octet| format!("{octet:02x}")).collect();
    let kept: String = name.chars().take(MOST - 13).collect();
    format!("{}-{hash}", kept.trim_end_matches(['-', '.']))
}
