//! Steered record sets from named parts: a region's or a cluster's addresses or host name.
//!
//! A record set has data of one type, so parts with addresses give A and AAAA sets and parts with a host
//! name give a CNAME set. A name has either; which one is decided before.

use std::net::IpAddr;
use std::sync::Arc;

use api::HealthCheck;
use api::placement::PlacementMode;
use dns::{Member, Name, ProbeId, Rdata, RecordSet, Rtype, Steering};

use crate::probe::{Certificate, ProbeQuestion, ProbeSpec, ProbeTarget};

/// What one choice of a steering is reached by.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Part {
    pub(crate) name: Arc<str>,
    pub(crate) targets: Vec<(ProbeTarget, Option<ProbeId>)>,
}

impl ProbeTarget {
    /// An address, or else a host name.
    pub(crate) fn parse(text: &str) -> Option<ProbeTarget> {
        let address = text.parse::<IpAddr>().ok().map(ProbeTarget::Address);
        address.or_else(|| Name::parse(text).ok().map(ProbeTarget::Host))
    }

    /// As a status has it.
    pub(crate) fn text(&self) -> String {
        match self {
            ProbeTarget::Address(address) => address.to_string(),
            ProbeTarget::Host(name) => name.undotted(),
        }
    }

    pub(crate) fn rtype(&self) -> Rtype {
        self.data().rtype()
    }

    pub(crate) fn data(&self) -> Rdata {
        match self {
            ProbeTarget::Address(IpAddr::V4(address)) => Rdata::a(*address),
            ProbeTarget::Address(IpAddr::V6(address)) => Rdata::aaaa(*address),
            ProbeTarget::Host(name) => Rdata::name(Rtype::CNAME, name),
        }
    }
}

/// The record sets of a name by type. `tree` makes the steering of one of them out of the leaves that
/// have data of its type, each with the number of its part; nothing means that all is answered.
pub(crate) fn sets(
    name: &Name,
    ttl: u32,
    parts: &[Part],
    tree: &dyn Fn(Rtype, Vec<(usize, Steering)>) -> Option<Steering>,
) -> Vec<RecordSet> {
    let types = [Rtype::A, Rtype::AAAA, Rtype::CNAME].into_iter();
    types.filter_map(|rtype| set(name, ttl, parts, rtype, tree)).collect()
}

fn set(
    name: &Name,
    ttl: u32,
    parts: &[Part],
    rtype: Rtype,
    tree: &dyn Fn(Rtype, Vec<(usize, Steering)>) -> Option<Steering>,
) -> Option<RecordSet> {
    let (mut data, mut leaves) = (Vec::new(), Vec::new());
    for (number, part) in parts.iter().enumerate() {
        let mut members = Vec::new();
        for (target, probe) in part.targets.iter().filter(|(target, _)| target.rtype() == rtype) {
            members.push(Member { data: data.len() as u16, probe: *probe });
            data.push(target.data());
        }
        if !members.is_empty() {
            leaves.push((number, Steering::Named(part.name.clone(), Box::new(Steering::All(members)))));
        }
    }
    if data.is_empty() {
        return None;
    }
    Some(match tree(rtype, leaves) {
        Some(tree) => RecordSet::steered(name.clone(), rtype, ttl, data, tree),
        None => RecordSet::new(name.clone(), rtype, ttl, data),
    })
}

/// What a health check asks of a target; the host is the name that is served where the check names none.
pub(crate) fn probe(
    check: &HealthCheck,
    mode: Option<PlacementMode>,
    host: &Name,
    target: ProbeTarget,
) -> Option<ProbeSpec> {
    use api::Protocol::{Http, Https, Tcp};
    let tls = match check.protocol {
        Https if check.insecure_skip_verify => Some(Certificate::Any),
        Https => Some(Certificate::Verified),
        Http | Tcp => None,
    };
    let question = match check.protocol {
        Tcp => ProbeQuestion::Connect,
        Http | Https => ProbeQuestion::Page {
            tls,
            host: check.host.clone().unwrap_or_else(|| asked_host(host)),
            path: check.path().to_owned(),
            codes: check.codes(),
        },
    };
    Some(ProbeSpec {
        target,
        port: check.port()?,
        question,
        interval: check.interval.as_millis(),
        timeout: check.timeout().as_millis(),
        failures: check.failures(mode),
        successes: check.successes,
    })
}

/// A page is not asked for of a wildcard, but of what it stands below.
fn asked_host(name: &Name) -> String {
    let text = name.undotted();
    text.strip_prefix("*.").map(str::to_owned).unwrap_or(text)
}
