//! What answers say; nothing here is sent.

use std::net::IpAddr;

use dns::{Name, Rdata, RecordSet, Rtype};

use super::Delegation;
use crate::Failure;
use crate::rfc2136::message::{Answer, Found, set_of};
use crate::rfc2136::rcode;

/// A name server of a zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Its name.
    pub name: Name,
    /// Where it is, as far as that is known.
    pub addresses: Vec<IpAddr>,
}

/// An answer of a resolver that says something: that there is no such name is something too.
pub(super) fn told(answer: Answer) -> Result<Answer, Failure> {
    match answer.rcode {
        rcode::NOERROR | rcode::NXDOMAIN => Ok(answer),
        code => Err(rcode::failure(code)),
    }
}

/// The servers of a zone, answered or referred to, with the addresses that came along; by name.
pub(super) fn servers(answer: &Answer, zone: &Name) -> Vec<Server> {
    let named = |records| set_of(records, zone, Rtype::NS);
    let set = named(&answer.answer).or_else(|| named(&answer.authority));
    let names = set.iter().flat_map(|set| set.data.iter()).filter_map(Rdata::target);
    let mut servers: Vec<Server> = names
        .map(|name| {
            let own = answer.additional.iter().filter(|found| found.name == name);
            let addresses = addresses(own);
            Server { name, addresses }
        })
        .collect();
    servers.sort_by(|one, other| one.name.cmp(&other.name));
    servers
}

/// The zone that a name without servers of its own lies in, where the name is there at all.
pub(super) fn zone_around(answer: &Answer, name: &Name) -> Option<Name> {
    let is_around = |found: &&Found| {
        found.data.rtype() == Rtype::SOA && name.is_below(&found.name) && !found.name.is_root()
    };
    let soa = answer.authority.iter().find(is_around).filter(|_| answer.rcode == rcode::NOERROR);
    soa.map(|found| found.name.clone())
}

/// The addresses among some records, IPv4 first.
pub(super) fn addresses<'a>(records: impl IntoIterator<Item = &'a Found>) -> Vec<IpAddr> {
    let mut addresses: Vec<IpAddr> = records.into_iter().filter_map(|found| address(&found.data)).collect();
    addresses.sort_unstable();
    addresses.dedup();
    addresses
}

fn address(data: &Rdata) -> Option<IpAddr> {
    match data.rtype() {
        Rtype::A => <[u8; 4]>::try_from(data.wire()).ok().map(IpAddr::from),
        Rtype::AAAA => <[u8; 16]>::try_from(data.wire()).ok().map(IpAddr::from),
        _ => None,
    }
}

/// What a zone's servers mean to a provider that has these itself, if it tells: one in common is enough,
/// since a provider's own list may lack secondaries.
pub(super) fn delegation(servers: Vec<Server>, own: Option<&[Name]>) -> Delegation {
    let is_own = |server: &Server| own.is_none_or(|own| own.contains(&server.name));
    match servers.iter().any(is_own) {
        true => Delegation::To(servers),
        false if servers.is_empty() => Delegation::Missing,
        false => Delegation::Elsewhere,
    }
}

/// Whether a server has a set, its TTL aside. Only its own word counts; what stands at or below a cut it
/// tells beside a referral. Of a set that is steered a part is the whole answer.
pub(super) fn has(answer: &Answer, set: &RecordSet) -> bool {
    let within = |records| set_of(records, &set.name, set.rtype);
    let seen = match answer.is_authoritative {
        true => within(&answer.answer),
        false => within(&answer.authority).or_else(|| within(&answer.additional)),
    };
    let is_it = |seen: RecordSet| match set.steering {
        Some(_) => !seen.data.is_empty() && seen.data.iter().all(|data| set.data.contains(data)),
        None => seen.data == set.data,
    };
    answer.rcode == rcode::NOERROR && seen.is_some_and(is_it)
}
