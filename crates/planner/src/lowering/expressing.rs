//! What a provider can express of a steering, by what it says of itself.
//!
//! PowerDNS, as its own code has it: one success is up; up to 4.9 one failure is down, only 200 is
//! up and the server sets the interval; groups of addresses for a port came with 4.8; certificates
//! are never looked at; a draw has no health check of its own.

use dns::{ProbeId, Steering};

use super::Abilities;
use crate::probe::{Certificate, ProbeQuestion, ProbeSpec, ProbeTarget};

/// PowerDNS's interval up to 4.9, as long as nobody configured another, in milliseconds.
const SERVER_INTERVAL: u64 = 5_000;
/// The version that came with a way to check more exactly.
const EXACT: (u16, u16) = (5, 0);
/// The version that came with groups for ports.
const GROUPS: (u16, u16) = (4, 8);

/// What a probe does, by what it is known by.
pub(crate) type Probes<'a> = &'a dyn Fn(ProbeId) -> Option<&'a ProbeSpec>;

/// Whether a provider can do what a steering says, its probes included.
pub(crate) fn expresses(steering: &Steering, probes: Probes<'_>, abilities: &Abilities) -> bool {
    match abilities {
        Abilities::None | Abilities::Powerdns { lua: false, .. } => false,
        Abilities::Powerdns { version, geoip, lua: true } => {
            Powerdns { version: *version, geoip: *geoip, probes }.expresses(steering)
        }
    }
}

struct Powerdns<'a> {
    version: (u16, u16),
    geoip: bool,
    probes: Probes<'a>,
}

impl Powerdns<'_> {
    fn expresses(&self, steering: &Steering) -> bool {
        match steering {
            Steering::All(_) => self.checks(&[steering]),
            Steering::Named(_, choice) => self.expresses(choice),
            Steering::Failover(groups) => {
                let watched =
                    groups.iter().all(|group| group.members().iter().all(|one| one.probe.is_some()));
                watched && self.checks(&groups.iter().collect::<Vec<_>>())
            }
            Steering::Weighted { choices, .. } => choices.iter().all(|(_, choice)| is_unwatched_leaf(choice)),
            Steering::Closest(choices) => {
                let choices: Vec<_> = choices.iter().map(|(_, choice)| choice).collect();
                self.geoip && self.checks_as_one(&choices)
            }
            Steering::Geo { choices, default } => {
                let inner = choices.iter().all(|(_, choice)| self.expresses(choice));
                self.geoip && inner && self.expresses(default)
            }
        }
    }

    /// Whether groups of addresses can be checked: all by one question, or none.
    fn checks(&self, groups: &[&Steering]) -> bool {
        groups.iter().all(|group| is_leaf(group)) && self.asks(groups, groups.len())
    }

    /// Whether addresses can be checked that are chosen from by something else than their order.
    fn checks_as_one(&self, choices: &[&Steering]) -> bool {
        choices.iter().all(|choice| is_leaf(choice)) && self.asks(choices, 1)
    }

    fn asks(&self, choices: &[&Steering], groups: usize) -> bool {
        let members: Vec<_> = choices.iter().flat_map(|choice| choice.members()).collect();
        let probes: Vec<ProbeId> = members.iter().filter_map(|member| member.probe).collect();
        let Some(first) = probes.first() else { return true };
        let Some(first) = (self.probes)(*first) else { return false };
        let is_alike = |probe: &ProbeId| {
            let spec = (self.probes)(*probe);
            spec.is_some_and(|spec| ProbeSpec { target: first.target.clone(), ..spec.clone() } == *first)
        };
        probes.len() == members.len() && probes.iter().all(is_alike) && self.asks_so(first, groups)
    }

    fn asks_so(&self, probe: &ProbeSpec, groups: usize) -> bool {
        let question = match &probe.question {
            ProbeQuestion::Connect => groups == 1 || self.version >= GROUPS,
            ProbeQuestion::Page { tls, codes, .. } => {
                *tls != Some(Certificate::Verified) && self.expects(codes)
            }
        };
        let at_an_address = matches!(probe.target, ProbeTarget::Address(_));
        question && at_an_address && self.keeps_time(probe)
    }

    fn expects(&self, codes: &[(u16, u16)]) -> bool {
        match codes {
            [(first, last)] => first == last && (*first == 200 || self.version >= EXACT),
            _ => false,
        }
    }

    fn keeps_time(&self, probe: &ProbeSpec) -> bool {
        let is_whole = |time: u64| time.is_multiple_of(1_000);
        let is_exact = self.version >= EXACT && is_whole(probe.interval);
        let is_the_servers = probe.failures == 1 && probe.interval == SERVER_INTERVAL;
        probe.successes == 1 && is_whole(probe.timeout) && (is_exact || is_the_servers)
    }
}

fn is_leaf(steering: &Steering) -> bool {
    match steering {
        Steering::All(_) => true,
        Steering::Named(_, choice) => is_leaf(choice),
        _ => false,
    }
}

fn is_unwatched_leaf(steering: &Steering) -> bool {
    is_leaf(steering) && steering.members().iter().all(|member| member.probe.is_none())
}
