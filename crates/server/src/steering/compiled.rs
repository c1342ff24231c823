//! A steering tree made ready for queries.
//!
//! From the root down one branch is taken at each node; the leaf at the end says which members there
//! are, and those that are alive are chosen. What counts as alive is tried in four rounds, each more
//! forgiving than the one before, and the first that finds anything is the answer.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

use dns::{Location, Member, ProbeId, RecordSet, Rtype, Steering};

use super::geo::{Places, Table};
use super::sticky::{self, is_before, lateness, mix};
use super::{Asker, Candidate, Chosen, Decision, GeoSource, Health, Slot, State};

/// A steering tree that answers without allocation and without a lock.
#[derive(Debug)]
pub struct Compiled {
    root: Node,
    /// Every probe of the set, once.
    slots: Box<[Slot]>,
    geo: GeoSource,
}

#[derive(Debug)]
pub(super) enum Node {
    /// Members, in the order of the data.
    Leaf(Box<[(u16, Option<Slot>)]>),
    Branch(Rule, Box<[Choice]>),
}

/// How a branch is taken.
#[derive(Debug)]
pub(super) enum Rule {
    /// By a fresh draw; the number makes draws of different nodes independent.
    Draw(u64),
    Sticky,
    /// The first in the order that is right for where the client is.
    Geo(Arc<Table>),
    Closest(Arc<Table>),
    First,
}

#[derive(Debug)]
pub(super) struct Choice {
    name: Option<Arc<str>>,
    /// What a sticky choice knows it by.
    key: u64,
    /// 0 is drained; where nothing is weighed it is 1.
    weight: u32,
    node: Node,
}

/// What counts as alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Round {
    /// Whether probes are believed; else everything is up.
    probes: bool,
    /// Whether drained choices serve too.
    drained: bool,
}

/// Each is tried where the one before finds nothing.
const ROUNDS: [Round; 4] = [
    Round { probes: true, drained: false },
    Round { probes: true, drained: true },
    Round { probes: false, drained: false },
    Round { probes: false, drained: true },
];

/// Who is told how a choice was made. Nobody is while queries are answered.
pub(super) trait Witness {
    fn decided(&mut self, decision: impl FnOnce() -> Decision);
}

impl Witness for () {
    fn decided(&mut self, _: impl FnOnce() -> Decision) {}
}

impl Witness for Vec<Decision> {
    fn decided(&mut self, decision: impl FnOnce() -> Decision) {
        self.push(decision());
    }
}

impl Compiled {
    /// Compiles a tree; its leaves are positions in a set's data.
    pub fn new(steering: &Steering, geo: &GeoSource, health: &Health) -> Compiled {
        let mut compiler = Compiler { geo, health, slots: BTreeMap::new(), draws: 0 };
        let root = compiler.node(steering);
        Compiled { root, slots: compiler.slots.into_values().collect(), geo: geo.clone() }
    }

    /// Compiles the steering of a set. One that leads nowhere or beyond the data is none: the whole
    /// set is the answer then.
    pub fn of(set: &RecordSet, geo: &GeoSource, health: &Health) -> Option<Compiled> {
        let steering = set.steering.as_deref()?;
        let members = steering.members();
        let fits = |member: &Member| usize::from(member.data) < set.data.len();
        (!members.is_empty() && members.iter().all(fits)).then(|| Compiled::new(steering, geo, health))
    }

    /// Fills `chosen` with positions in the set's data, never with none, and gives how many bits of
    /// the address it looked at; 0 is none.
    pub fn choose(&self, asker: &Asker, chosen: &mut Chosen) -> u8 {
        self.decide(asker, chosen, &mut ())
    }

    /// Chooses, and tells how.
    pub fn explain(&self, asker: &Asker, chosen: &mut Chosen) -> (u8, Vec<Decision>) {
        let mut decisions = Vec::new();
        let bits = self.decide(asker, chosen, &mut decisions);
        (bits, decisions)
    }

    fn decide(&self, asker: &Asker, chosen: &mut Chosen, witness: &mut impl Witness) -> u8 {
        let mut bits = 0;
        for round in ROUNDS {
            chosen.clear();
            bits = bits.max(self.sight(round).descend(asker, chosen, witness));
            if !chosen.is_empty() {
                break;
            }
            witness.decided(|| Decision::NothingFound { drained: round.drained, probes: round.probes });
        }
        bits
    }

    /// What to give to those who cannot be steered: of places the default, of weights all above 0, of
    /// groups the first that is alive, of the rest all that is alive.
    fn choose_present(&self, chosen: &mut Chosen) {
        for round in ROUNDS {
            chosen.clear();
            self.sight(round).flatten(&self.root, chosen);
            if !chosen.is_empty() {
                break;
            }
        }
        chosen.sort();
    }

    fn sight(&self, round: Round) -> Sight<'_> {
        Sight { compiled: self, round, seen: Cell::new(None) }
    }
}

/// The present answer of a steered set, as a set without steering: for transfers and exports.
pub fn present(set: &RecordSet, compiled: &Compiled) -> RecordSet {
    let mut chosen = Chosen::new();
    compiled.choose_present(&mut chosen);
    reduced(set, &mut chosen, 0)
}

/// The part of a set that was chosen, as a set without steering.
pub(crate) fn reduced(set: &RecordSet, chosen: &mut Chosen, draw: u64) -> RecordSet {
    if matches!(set.rtype, Rtype::CNAME | Rtype::DNAME) {
        chosen.keep_one(draw);
    }
    let data = chosen.iter().filter_map(|at| set.data.get(usize::from(*at)).cloned()).collect();
    RecordSet { name: set.name.clone(), data, steering: None, ..*set }
}

/// A tree as one round sees it.
struct Sight<'a> {
    compiled: &'a Compiled,
    round: Round,
    /// Whether any target of the set has been seen up, once that was needed.
    seen: Cell<Option<bool>>,
}

impl Sight<'_> {
    fn descend(&self, asker: &Asker, chosen: &mut Chosen, witness: &mut impl Witness) -> u8 {
        let (mut node, mut bits) = (&self.compiled.root, 0);
        loop {
            let (rule, choices) = match node {
                Node::Leaf(members) => {
                    self.collect(members, chosen);
                    return bits;
                }
                Node::Branch(rule, choices) => (rule, choices),
            };
            let (at, looked_at) = self.take(rule, choices, asker);
            bits = bits.max(looked_at);
            let Some((at, choice)) = at.and_then(|at| Some((at, choices.get(at)?))) else { return bits };
            if matches!(rule, Rule::Geo(_) | Rule::Closest(_)) {
                witness.decided(|| self.place(asker));
            }
            witness.decided(|| self.decision(rule, choices, at, asker));
            node = &choice.node;
        }
    }

    /// Takes the branch that is right for a client among those that are alive.
    fn take(&self, rule: &Rule, choices: &[Choice], asker: &Asker) -> (Option<usize>, u8) {
        let mut eligible = (0..choices.len()).filter(|at| self.is_eligible(&choices[*at]));
        match rule {
            Rule::First => (eligible.next(), 0),
            Rule::Draw(node) => (self.draw(choices, mix(asker.draw ^ node)), 0),
            Rule::Sticky => {
                let (client, bits) = sticky::client(asker);
                let timed = eligible.map(|at| {
                    let choice = &choices[at];
                    (at, (lateness(client, choice.key), choice.weight.max(1)))
                });
                let first = timed.reduce(|one, other| if is_before(other.1, one.1) { other } else { one });
                (first.map(|(at, _)| at), bits)
            }
            Rule::Geo(table) | Rule::Closest(table) => {
                let (order, bits) = table.find(asker.address);
                let mut order = order.iter().map(|at| usize::from(*at));
                // Of an address that is known in part no more than that part was looked at.
                (order.find(|at| choices.get(*at).is_some_and(|one| self.is_eligible(one))), bits)
            }
        }
    }

    fn draw(&self, choices: &[Choice], drawn: u64) -> Option<usize> {
        let eligible = || choices.iter().enumerate().filter(|(_, choice)| self.is_eligible(choice));
        let weight = |choice: &Choice| u64::from(choice.weight.max(1));
        let total: u64 = eligible().map(|(_, choice)| weight(choice)).sum();
        let mut left = ((u128::from(drawn) * u128::from(total)) >> 64) as u64;
        let mut last = None;
        for (at, choice) in eligible() {
            if left < weight(choice) {
                return Some(at);
            }
            left -= weight(choice);
            last = Some(at);
        }
        // A probe may have reported since the weights were added up.
        last
    }

    fn is_eligible(&self, choice: &Choice) -> bool {
        (choice.weight > 0 || self.round.drained) && self.is_live(&choice.node)
    }

    fn is_live(&self, node: &Node) -> bool {
        match node {
            Node::Leaf(members) => members.iter().any(|(_, slot)| self.is_up(slot.as_ref())),
            Node::Branch(_, choices) => choices.iter().any(|choice| self.is_eligible(choice)),
        }
    }

    fn is_up(&self, slot: Option<&Slot>) -> bool {
        let Some(slot) = slot.filter(|_| self.round.probes) else { return true };
        match slot.state() {
            State::Up => true,
            State::Down => false,
            State::Unknown => !self.any_seen(),
        }
    }

    fn any_seen(&self) -> bool {
        let look = || self.compiled.slots.iter().any(|slot| slot.state() != State::Unknown);
        let seen = self.seen.get().unwrap_or_else(look);
        self.seen.set(Some(seen));
        seen
    }

    fn collect(&self, members: &[(u16, Option<Slot>)], chosen: &mut Chosen) {
        let up = members.iter().filter(|(_, slot)| self.is_up(slot.as_ref()));
        up.for_each(|(data, _)| chosen.push(*data));
    }

    fn flatten(&self, node: &Node, chosen: &mut Chosen) {
        let (rule, choices) = match node {
            Node::Leaf(members) => return self.collect(members, chosen),
            Node::Branch(rule, choices) => (rule, choices),
        };
        let mut eligible = choices.iter().filter(|choice| self.is_eligible(choice));
        match rule {
            Rule::Draw(_) | Rule::Sticky | Rule::Closest(_) => {
                eligible.for_each(|choice| self.flatten(&choice.node, chosen));
            }
            Rule::First => {
                eligible.next().into_iter().for_each(|choice| self.flatten(&choice.node, chosen));
            }
            Rule::Geo(_) => {
                let default = choices.last().filter(|choice| self.is_eligible(choice));
                let taken = default.or_else(|| eligible.next());
                taken.into_iter().for_each(|choice| self.flatten(&choice.node, chosen));
            }
        }
    }

    fn place(&self, asker: &Asker) -> Decision {
        let (place, origin) = self.compiled.geo.place(asker.address);
        Decision::Client { address: asker.address, place, origin }
    }

    fn decision(&self, rule: &Rule, choices: &[Choice], at: usize, asker: &Asker) -> Decision {
        let candidate = |at: usize, choice: &Choice| Candidate {
            name: label(rule, at, choice),
            weight: choice.weight,
            live: self.is_live(&choice.node),
        };
        let candidates = choices.iter().enumerate().map(|(at, choice)| candidate(at, choice)).collect();
        match rule {
            Rule::Draw(_) => Decision::Drawn { candidates, taken: at },
            Rule::Sticky => {
                let network = crate::Network::new(asker.address, sticky::client(asker).1);
                Decision::Sticky { network, candidates, taken: at }
            }
            Rule::Geo(_) => Decision::Geo { candidates, taken: at },
            Rule::Closest(_) => Decision::Closest { candidates, taken: at },
            Rule::First => Decision::Failover { candidates, taken: at },
        }
    }
}

/// What to call a choice.
fn label(rule: &Rule, at: usize, choice: &Choice) -> String {
    let name = choice.name.as_deref();
    let place = match rule {
        Rule::Geo(table) => Some(table.label(at)),
        _ => None,
    };
    match (name, place, rule) {
        (Some(name), Some(place), _) => format!("{name} for {place}"),
        (Some(name), None, _) => name.to_owned(),
        (None, Some(place), _) => place,
        (None, None, Rule::First) => format!("group {}", at + 1),
        (None, None, _) => format!("choice {}", at + 1),
    }
}

struct Compiler<'a> {
    geo: &'a GeoSource,
    health: &'a Health,
    slots: BTreeMap<ProbeId, Slot>,
    draws: u64,
}

impl Compiler<'_> {
    fn node(&mut self, steering: &Steering) -> Node {
        match steering {
            Steering::All(members) => self.leaf(members),
            Steering::Weighted { sticky, choices } => {
                let rule = if *sticky { Rule::Sticky } else { self.draw_rule() };
                let choices = choices.iter().enumerate();
                Node::Branch(rule, choices.map(|(at, (weight, one))| self.choice(at, *weight, one)).collect())
            }
            Steering::Geo { choices, default } => {
                let places = choices.iter().map(|(geo, _)| *geo).collect();
                let rule = Rule::Geo(self.geo.table(Places::Geo(places)));
                self.branch(rule, choices.iter().map(|(_, one)| one).chain([&**default]))
            }
            Steering::Failover(groups) => self.branch(Rule::First, groups.iter()),
            Steering::Closest(choices) => {
                let places: Vec<Location> = choices.iter().map(|(location, _)| *location).collect();
                let rule = Rule::Closest(self.geo.table(Places::Closest(places)));
                self.branch(rule, choices.iter().map(|(_, one)| one))
            }
            Steering::Named(_, one) => self.node(one),
        }
    }

    fn draw_rule(&mut self) -> Rule {
        self.draws += 1;
        Rule::Draw(mix(self.draws))
    }

    fn branch<'a>(&mut self, rule: Rule, choices: impl Iterator<Item = &'a Steering>) -> Node {
        Node::Branch(rule, choices.enumerate().map(|(at, one)| self.choice(at, 1, one)).collect())
    }

    fn choice(&mut self, at: usize, weight: u32, steering: &Steering) -> Choice {
        let name = match steering {
            Steering::Named(name, _) => Some(name.clone()),
            _ => None,
        };
        let key = name.as_deref().map_or(at as u64, sticky::name_key);
        Choice { name, key, weight, node: self.node(steering) }
    }

    fn leaf(&mut self, members: &[Member]) -> Node {
        let mut members: Vec<(u16, Option<Slot>)> =
            members.iter().map(|member| (member.data, member.probe.map(|probe| self.slot(probe)))).collect();
        members.sort_by_key(|(data, _)| *data);
        Node::Leaf(members.into())
    }

    fn slot(&mut self, probe: ProbeId) -> Slot {
        self.slots.entry(probe).or_insert_with(|| self.health.slot(probe)).clone()
    }
}
