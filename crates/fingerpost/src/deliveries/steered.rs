//! Steered record sets at a class that steers by itself.
//!
//! ```text
//! wanted A, AAAA ──► LUA ──► delivery
//! told   A, AAAA ◄── LUA ◄──┘
//! ```
//!
//! Its delivery is told of the records that stand for them, and what it says of those is passed on as said
//! of the sets themselves. Before the server has said what it can do, what stands there of them stays. Pure.

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use api::DNSClassSpec;
use api::dnsclass::Backend;
use backends::delivery::{Node, Report, SetResult};
use backends::powerdns::steered::STEERED;
use backends::{Dialect, SetKey};
use dns::{Name, RecordSet, Rtype};
use planner::Probes;

const ADDRESSES: [Rtype; 2] = [Rtype::A, Rtype::AAAA];

/// The zone, as the plan has it, and the name.
type Where = (Name, Name);

/// What of a class's record sets is steered by itself.
#[derive(Debug, Default)]
pub(super) struct Steered {
    /// Whether the server has yet to say what it can do.
    is_open: bool,
    /// How it is told of what it steers.
    dialect: Dialect,
    /// Names that are to be told, now that it has, or once it does.
    undecided: Vec<Where>,
    names: HashMap<Where, Spoken>,
    /// Names whose records stand for other sets than before and are the same: the delivery is to report them again.
    reinterpreted: Vec<Where>,
}

/// The sets of the plan that others stand for at a name: LUA records, or where there is nothing to choose
/// plain sets.
#[derive(Debug, Default)]
struct Spoken {
    lua: Option<RecordSet>,
    sets: Vec<RecordSet>,
    /// What LUA records stood for before, and what is wanted no more.
    leaving: Vec<Rtype>,
}

impl Steered {
    /// That of a class of which nothing is known yet.
    pub(super) fn of(spec: &DNSClassSpec) -> Steered {
        Steered { is_open: matches!(spec.backend(), Some(Backend::Powerdns(_))), ..Steered::default() }
    }

    /// The server has said what it can do; what it was told in another dialect is told again.
    pub(super) fn decide(&mut self, dialect: Dialect) {
        if self.dialect != dialect {
            self.undecided.extend(self.names.keys().cloned());
        }
        (self.is_open, self.dialect) = (false, dialect);
    }

    /// The names that waited for that.
    pub(super) fn decided(&mut self) -> Vec<Where> {
        if self.is_open { Vec::new() } else { std::mem::take(&mut self.undecided) }
    }

    /// The names that the delivery is to report again, once it has their nodes.
    pub(super) fn reinterpreted(&mut self) -> Vec<Where> {
        std::mem::take(&mut self.reinterpreted)
    }

    /// A node as its delivery is told of it; `is_steered` where the plan steers its addresses.
    pub(super) fn tell(&mut self, mut node: Node, is_steered: bool, probes: Probes<'_>) -> Node {
        let place = (node.zone.clone(), node.name.clone());
        if self.is_open && is_steered {
            self.undecided.push(place);
            node.sets.retain(|entry| !ADDRESSES.contains(&entry.set.rtype));
            node.kept.extend([Rtype::A, Rtype::AAAA, STEERED]);
            return node;
        }
        let steered: Vec<RecordSet> =
            node.sets.iter().map(|entry| &entry.set).filter(|set| set.steering.is_some()).cloned().collect();
        if steered.is_empty() && self.names.is_empty() {
            return node;
        }
        let result = self.dialect.lowered(std::mem::take(&mut node.sets), probes);
        node.sets = result.entries;
        self.note(place, &node, if result.spoken_for.is_empty() { steered } else { result.spoken_for });
        node
    }

    fn note(&mut self, place: Where, node: &Node, sets: Vec<RecordSet>) {
        let lua = node.sets.iter().find(|entry| entry.set.rtype == STEERED).map(|entry| entry.set.clone());
        let before = self.names.remove(&place).unwrap_or_default();
        if !before.sets.is_empty() && before.sets != sets && before.lua == lua {
            self.reinterpreted.push(place.clone());
        }
        let by_lua = before.sets.iter().filter(|_| before.lua.is_some()).map(|set| set.rtype);
        let types = by_lua.chain(before.leaving);
        let is_told = |rtype: &Rtype| {
            sets.iter().chain(node.sets.iter().map(|entry| &entry.set)).any(|set| set.rtype == *rtype)
        };
        let leaving: Vec<Rtype> = types.filter(|rtype| !is_told(rtype)).collect();
        if !sets.is_empty() || !leaving.is_empty() {
            self.names.insert(place, Spoken { lua, sets, leaving });
        }
    }

    /// What a report of the delivery says of the sets of the plan.
    pub(super) fn hear(&mut self, report: Report) -> Vec<Report> {
        let Report::Set { zone, key, result } = report else { return vec![report] };
        let spoken = self.names.get_mut(&(zone.clone(), key.name.clone()));
        if key.rtype == STEERED {
            let told = spoken.map(|spoken| spoken.told(&result)).unwrap_or_default();
            let name = &key.name;
            let report = |(rtype, result)| {
                let key = SetKey { name: name.clone(), rtype };
                Report::Set { zone: zone.clone(), key, result }
            };
            return told.into_iter().map(report).collect();
        }
        let result = match spoken {
            Some(spoken) => spoken.told_of_plain(key.rtype, result),
            None => Some(result),
        };
        result.map(|result| Report::Set { zone, key, result }).into_iter().collect()
    }
}

impl Spoken {
    fn told(&mut self, result: &SetResult) -> Vec<(Rtype, SetResult)> {
        match result {
            SetResult::Stands { set, written, is_shared } if self.lua.as_ref() == Some(set) => {
                let stands = |set: &RecordSet| SetResult::Stands {
                    set: set.clone(),
                    written: *written,
                    is_shared: *is_shared,
                };
                self.sets.iter().map(|set| (set.rtype, stands(set))).collect()
            }
            // Of what was wanted before.
            SetResult::Stands { .. } => Vec::new(),
            SetResult::Absent { .. } if self.lua.is_none() => {
                self.leaving.drain(..).map(|rtype| (rtype, result.clone())).collect()
            }
            _ => self.sets.iter().map(|set| (set.rtype, result.clone())).collect(),
        }
    }

    /// What is told of a set of addresses: nothing where LUA records stand for it.
    fn told_of_plain(&self, rtype: Rtype, result: SetResult) -> Option<SetResult> {
        let Some(own) = self.sets.iter().find(|set| set.rtype == rtype) else { return Some(result) };
        match result {
            _ if self.lua.is_some() => None,
            SetResult::Stands { set, written, is_shared } if (&set.data, set.ttl) == (&own.data, own.ttl) => {
                Some(SetResult::Stands { set: own.clone(), written, is_shared })
            }
            result => Some(result),
        }
    }
}
