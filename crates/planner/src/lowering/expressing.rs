//! What a provider can express of a steering, by what it can do.
//!
//! All that is checked together is asked one question; a draw has no check of its own, so what it is
//! drawn from must not need one.

use dns::{Location, ProbeId, RecordSet, Steering};

use super::{Abilities, Checks, Probes};
use crate::probe::{Certificate, ProbeQuestion, ProbeSpec, ProbeTarget};

/// Whether a provider can do what a set's steering says, its probes included.
pub(crate) fn expresses(set: &RecordSet, probes: Probes<'_>, abilities: &Abilities) -> bool {
    let judge = Judge { abilities, probes };
    let can = |steering: &Steering| judge.expresses(steering) && abilities.room.0(set, probes);
    abilities.chooses && set.steering.as_deref().is_some_and(can)
}

struct Judge<'a, 'p> {
    abilities: &'a Abilities,
    probes: Probes<'p>,
}

impl Judge<'_, '_> {
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
                // A provider knows where addresses are by itself, and cannot be told where regions are.
                let is_told = choices.iter().any(|(at, _)| *at != Location::default());
                let choices: Vec<_> = choices.iter().map(|(_, choice)| choice).collect();
                self.abilities.knows_places && !is_told && self.checks_as_one(&choices)
            }
            Steering::Geo { choices, default } => {
                let inner = choices.iter().all(|(_, choice)| self.expresses(choice));
                self.abilities.knows_places && inner && self.expresses(default)
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
        let is_one_question = probes.len() == members.len() && probes.iter().all(is_alike);
        is_one_question && self.abilities.checks.can_ask(first, groups)
    }
}

impl Checks {
    /// Whether so many groups can be checked as a probe says.
    fn can_ask(&self, probe: &ProbeSpec, groups: usize) -> bool {
        let question = match &probe.question {
            ProbeQuestion::Connect => groups == 1 || self.orders_connections,
            ProbeQuestion::Page { tls, codes, .. } => {
                *tls != Some(Certificate::Verified) && self.can_expect(codes)
            }
        };
        let at_an_address = matches!(probe.target, ProbeTarget::Address(_));
        question && at_an_address && self.keeps_time(probe)
    }

    fn can_expect(&self, codes: &[(u16, u16)]) -> bool {
        match codes {
            [(first, last)] => first == last && (*first == 200 || self.is_told_codes),
            _ => false,
        }
    }

    fn keeps_time(&self, probe: &ProbeSpec) -> bool {
        let counts = probe.successes == 1 && (probe.failures == 1 || self.is_told_failures);
        counts && probe.timeout.is_multiple_of(1_000) && self.interval.allows(probe.interval)
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
