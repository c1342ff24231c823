//! Steered record sets as PowerDNS holds them: LUA records.
//!
//! ```text
//! RecordSet{steering} ──► Expression ──► LUA record data
//! ```
//!
//! The addresses of a name are LUA records all together or not at all, since PowerDNS answers with both
//! where both stand. Pure: whether the server can do what is asked for was decided before.

#[cfg(test)]
mod tests;

use std::net::IpAddr;

use dns::{Geo, ProbeId, Rdata, RecordSet, Rtype, Steering};
use planner::{ProbeQuestion, ProbeSpec, Probes};

use super::content::LUA;
use super::lua::{Expression, Options, Place, PortUp, Program, Selector, UrlUp, Weighted};
use super::{Version, request};
use crate::Entry;

/// The version that came with a way to check more exactly.
const EXACT: Version = Version { major: 5, minor: 0 };

/// What a PowerDNS is to hold at a name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lowered {
    /// The record sets as they are to stand there.
    pub entries: Vec<Entry>,
    /// The record sets that its LUA records stand for.
    pub spoken_for: Vec<RecordSet>,
}

/// The type of the record sets that stand for others.
pub const STEERED: Rtype = LUA;

/// Whether a steered set of addresses can be written as Lua, for whichever version: a newer one is told more.
/// The other type's may be as long.
pub fn is_writable(set: &RecordSet, probes: Probes<'_>) -> bool {
    let written = lua_set(std::slice::from_ref(set), probes, EXACT);
    written.is_some_and(|(program, _)| program.len() <= request::LARGEST_SET / 2)
}

/// What a PowerDNS of a version is to hold for the record sets of one name. What cannot be written as Lua
/// is held as a plain set of everything; the planner asks [`is_writable`] before it comes to that.
pub fn lowered(entries: Vec<Entry>, probes: Probes<'_>, version: Version) -> Lowered {
    if entries.iter().all(|entry| entry.set.steering.is_none()) {
        return Lowered { entries, spoken_for: Vec::new() };
    }
    let is_address = |entry: &Entry| matches!(entry.set.rtype, Rtype::A | Rtype::AAAA);
    let (addresses, mut others): (Vec<Entry>, Vec<Entry>) = entries.into_iter().partition(is_address);
    let sets: Vec<RecordSet> = addresses.iter().map(|entry| entry.set.clone()).collect();
    match lua_set(&sets, probes, version).filter(|_| sets.iter().any(is_choosing)) {
        Some((program, ttl)) => {
            let name = sets.first().map(|set| set.name.clone());
            others.extend(name.map(|name| program.at(name, ttl)));
            Lowered { entries: unsteered(others), spoken_for: sets }
        }
        None => Lowered { entries: unsteered([others, addresses].concat()), spoken_for: Vec::new() },
    }
}

/// Whether PowerDNS has anything to choose or to check for a set.
fn is_choosing(set: &RecordSet) -> bool {
    fn chooses(steering: &Steering) -> bool {
        match steering {
            Steering::All(members) => members.iter().any(|member| member.probe.is_some()),
            Steering::Named(_, choice) => chooses(choice),
            _ => true,
        }
    }
    set.steering.as_deref().is_some_and(chooses)
}

/// Record sets of everything, whoever asks.
pub(crate) fn unsteered(entries: Vec<Entry>) -> Vec<Entry> {
    let plain = |entry: Entry| Entry { set: RecordSet { steering: None, ..entry.set }, ..entry };
    entries.into_iter().map(plain).collect()
}

/// The program that answers as all of these sets say, and its TTL.
fn lua_set(sets: &[RecordSet], probes: Probes<'_>, version: Version) -> Option<(Program, u32)> {
    let answers = sets.iter().map(|set| {
        let expression = Writer { data: &set.data, probes, version }.set(set)?;
        Some((set.rtype, expression))
    });
    let answers = answers.collect::<Option<Vec<_>>>()?;
    let program =
        Program::new(answers.iter().map(|(rtype, expression)| (*rtype, expression)), version).ok()?;
    let ttl = sets.iter().map(|set| set.ttl).min()?;
    (program.len() <= request::LARGEST_SET).then_some((program, ttl))
}

struct Writer<'a, 'p> {
    data: &'a [Rdata],
    probes: Probes<'p>,
    version: Version,
}

impl Writer<'_, '_> {
    fn set(&self, set: &RecordSet) -> Option<Expression> {
        match &set.steering {
            Some(steering) => self.expression(steering),
            None => set.data.iter().map(address).collect::<Option<_>>().map(Expression::All),
        }
    }

    fn expression(&self, steering: &Steering) -> Option<Expression> {
        match steering {
            Steering::Named(_, choice) => self.expression(choice),
            Steering::All(_) => self.checked(&[steering]),
            Steering::Failover(groups) => self.checked(&groups.iter().collect::<Vec<_>>()),
            Steering::Closest(choices) => self.closest(choices.iter().map(|(_, choice)| choice)),
            Steering::Weighted { sticky, choices } => self.weighted(*sticky, choices),
            Steering::Geo { choices, default } => self.places(choices, default),
        }
    }

    /// The first group with a live member, by the one question that all are asked.
    fn checked(&self, groups: &[&Steering]) -> Option<Expression> {
        let addresses = groups.iter().map(|group| self.addresses(group)).collect::<Option<Vec<_>>>()?;
        let addresses: Vec<_> = addresses.into_iter().filter(|group| !group.is_empty()).collect();
        match groups.iter().find_map(|group| first_probe(group)) {
            Some(probe) => self.check((self.probes)(probe)?, addresses, Selector::All),
            None => addresses.into_iter().next().map(Expression::All),
        }
    }

    fn closest<'s>(&self, choices: impl Iterator<Item = &'s Steering> + Clone) -> Option<Expression> {
        let addresses = choices.clone().map(|choice| self.addresses(choice)).collect::<Option<Vec<_>>>()?;
        let addresses = addresses.concat();
        match choices.clone().find_map(first_probe) {
            Some(probe) => self.check((self.probes)(probe)?, vec![addresses], Selector::Closest),
            None => Some(Expression::Closest(addresses)),
        }
    }

    fn check(&self, probe: &ProbeSpec, groups: Vec<Vec<IpAddr>>, selector: Selector) -> Option<Expression> {
        let is_exact = self.version >= EXACT;
        let options = Options {
            selector,
            timeout: Some(seconds(probe.timeout)),
            failures: is_exact.then_some(probe.failures),
            interval: is_exact.then(|| seconds(probe.interval)),
            ..Options::default()
        };
        let ProbeQuestion::Page { tls, host, path, codes } = &probe.question else {
            return Some(Expression::PortUp(PortUp { port: probe.port, groups, options }));
        };
        let scheme = if tls.is_some() { "https" } else { "http" };
        let url = url(scheme, host, probe.port, path)?;
        let code = codes.first().map(|(first, _)| *first).filter(|_| is_exact);
        Some(Expression::UrlUp(UrlUp { url, groups, options: Options { code, ..options } }))
    }

    fn weighted(&self, sticky: bool, choices: &[(u32, Steering)]) -> Option<Expression> {
        let weights: Vec<u32> = choices.iter().map(|(weight, _)| *weight).collect();
        let weights = if sticky { shares(&weights) } else { fitting(&weights) };
        let members = weights.into_iter().zip(choices);
        let members = members.map(|(weight, (_, choice))| Some((weight, self.addresses(choice)?)));
        let members = members.collect::<Option<Vec<_>>>()?;
        let members = members.into_iter().filter(|(_, addresses)| !addresses.is_empty()).collect();
        Some(Expression::Weighted(Weighted { sticky, members }))
    }

    /// Countries before continents: the most specific place decides.
    fn places(&self, choices: &[(Geo, Steering)], default: &Steering) -> Option<Expression> {
        let mut choices: Vec<_> = choices.iter().collect();
        choices.sort_by_key(|(geo, _)| matches!(geo, Geo::Continent(_)));
        let places = choices.into_iter().map(|(geo, choice)| Some((place(*geo), self.expression(choice)?)));
        let places = places.collect::<Option<Vec<_>>>()?;
        Some(Expression::Places(places, Box::new(self.expression(default)?)))
    }

    fn addresses(&self, steering: &Steering) -> Option<Vec<IpAddr>> {
        let members = steering.members();
        members.iter().map(|member| self.data.get(usize::from(member.data)).and_then(address)).collect()
    }
}

fn address(data: &Rdata) -> Option<IpAddr> {
    match data.rtype() {
        Rtype::A => <[u8; 4]>::try_from(data.wire()).ok().map(IpAddr::from),
        Rtype::AAAA => <[u8; 16]>::try_from(data.wire()).ok().map(IpAddr::from),
        _ => None,
    }
}

fn first_probe(steering: &Steering) -> Option<ProbeId> {
    steering.members().iter().find_map(|member| member.probe)
}

fn place(geo: Geo) -> Place {
    let code = |letters: [u8; 2]| letters.map(char::from).iter().collect();
    match geo {
        Geo::Country(letters) => Place::Country(code(letters)),
        Geo::Continent(letters) => Place::Continent(code(letters)),
    }
}

/// PowerDNS counts in whole seconds.
fn seconds(milliseconds: u64) -> u32 {
    u32::try_from(milliseconds.div_ceil(1_000).max(1)).unwrap_or(u32::MAX)
}

/// What the weights of a sticky draw add up to.
const WHOLE: u64 = 1_000_000;

/// Weights in the same relation and always of the same sum: PowerDNS takes a remainder by it, so with another
/// sum nearly every client would draw anew. Where all are drained, all are equal.
fn shares(weights: &[u32]) -> Vec<u32> {
    let (sum, weights) = match weights.iter().map(|weight| u64::from(*weight)).sum() {
        0 => (weights.len() as u64, vec![1; weights.len()]),
        sum => (sum, weights.to_vec()),
    };
    let ends = weights.iter().scan(0, |end, weight| {
        *end += u64::from(*weight);
        Some(*end * WHOLE / sum)
    });
    let shares = ends.scan(0, |start, end| Some(end - std::mem::replace(start, end)));
    // What is not drained keeps a share.
    let share = |(share, weight): (u64, &u32)| (share as u32).max(u32::from(*weight > 0));
    shares.zip(&weights).map(share).collect()
}

/// Weights whose sum PowerDNS can hold, in the same relation; where all are drained, all are equal.
fn fitting(weights: &[u32]) -> Vec<u32> {
    let sum: u64 = weights.iter().map(|weight| u64::from(*weight)).sum();
    let (most, count) = (u64::from(i32::MAX.unsigned_abs()), weights.len() as u64);
    let fit = |weight: u32| match weight {
        0 => 0,
        // Rounding up adds at most one for each.
        weight if sum > most => (u64::from(weight) * (most - count) / sum).max(1) as u32,
        weight => weight,
    };
    match sum {
        0 => vec![1; weights.len()],
        _ => weights.iter().map(|weight| fit(*weight)).collect(),
    }
}

/// The URL that is asked for. PowerDNS puts the host onto each address by itself, unless it is an address.
fn url(scheme: &str, host: &str, port: u16, path: &str) -> Option<String> {
    let is_letter = |octet: u8| octet.is_ascii_alphanumeric() || b".-_".contains(&octet);
    let is_host = !host.is_empty() && host.bytes().all(is_letter) && host.parse::<IpAddr>().is_err();
    is_host.then(|| format!("{scheme}://{host}:{port}{}", request::escape_path(path)))
}
