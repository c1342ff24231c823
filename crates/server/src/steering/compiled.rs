//! A steering tree made ready for queries.
//!
//! From the root down one branch is taken at each node; the leaf at the end says which members there
//! are, and those that are alive are chosen. What counts as alive is tried in four rounds, each more
//! forgiving than the one before, and the first that finds anything is the answer.

use std::cell::Cell;

use dns::{Geo, Member, RecordSet, Rtype, Steering};

use super::sticky::{self, is_before, lateness, mix};
use super::tree::{Branch, Choice, Compiler, Names, Node, Rule, Sources, member, only_member};
use super::{Asker, Candidate, Chosen, Decision, GeoSource, Health, State};

/// A steering tree that answers without allocation and without a lock.
#[derive(Debug)]
pub struct Compiled {
    tree: Box<[u8]>,
    sources: Sources,
    names: Names,
    geo: GeoSource,
    health: Health,
}

/// What counts as alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Round {
    /// Whether probes are believed; else those are up that were the last to go down.
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
trait Witness {
    fn nothing_found(&mut self, _: Round) {}
    fn taken(&mut self, _: &Sight<'_>, _: &Branch<'_>, _: usize, _: &Asker) {}
}

impl Witness for () {}

impl Compiled {
    /// Compiles a tree; its leaves are positions in a set's data.
    pub fn new(steering: &Steering, geo: &GeoSource, health: &Health) -> Compiled {
        let mut sources = Sources::default();
        let (tree, names) = Compiler::new(geo, health, &mut sources).tree(steering);
        Compiled { tree: tree.into(), sources, names, geo: geo.clone(), health: health.clone() }
    }

    /// The octets of the same tree for [`choose`], with numbers in `sources`.
    pub(crate) fn packed(&self, steering: &Steering, sources: &mut Sources) -> Vec<u8> {
        Compiler::new(&self.geo, &self.health, sources).tree(steering).0
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
        choose(&self.tree, &self.sources, asker, chosen)
    }

    /// Chooses, and tells how.
    pub fn explain(&self, asker: &Asker, chosen: &mut Chosen) -> (u8, Vec<Decision>) {
        let mut telling = Telling { compiled: self, decisions: Vec::new(), way: Vec::new() };
        let bits = decide(&self.tree, &self.sources, asker, chosen, &mut telling);
        (bits, telling.decisions)
    }

    /// What to give to those who cannot be steered: of places the default, of weights all above 0, of
    /// groups the first that is alive, of the rest all that is alive.
    fn choose_present(&self, chosen: &mut Chosen) {
        for round in ROUNDS {
            chosen.clear();
            Sight::new(&self.tree, &self.sources, round).flatten(&self.tree, chosen);
            if !chosen.is_empty() {
                break;
            }
        }
        chosen.sort();
    }
}

/// Chooses from a tree that was packed; see [`Compiled::choose`].
#[inline]
pub(crate) fn choose(tree: &[u8], sources: &Sources, asker: &Asker, chosen: &mut Chosen) -> u8 {
    decide(tree, sources, asker, chosen, &mut ())
}

#[inline]
fn decide(
    tree: &[u8],
    sources: &Sources,
    asker: &Asker,
    chosen: &mut Chosen,
    witness: &mut impl Witness,
) -> u8 {
    let mut bits = 0;
    for round in ROUNDS {
        chosen.clear();
        bits = bits.max(Sight::new(tree, sources, round).descend(asker, chosen, witness));
        if !chosen.is_empty() {
            break;
        }
        witness.nothing_found(round);
    }
    bits
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

/// A number below `end`, from one that was drawn.
#[inline]
fn below(end: u64, drawn: u64) -> u64 {
    ((u128::from(drawn) * u128::from(end)) >> 64) as u64
}

/// A tree as one round sees it.
struct Sight<'a> {
    tree: &'a [u8],
    sources: &'a Sources,
    round: Round,
    /// Whether any target of the set has been seen up, once that was needed.
    seen: Cell<Option<bool>>,
    /// When the last target of the set went down, once that was needed.
    last_fall: Cell<Option<u64>>,
}

impl<'a> Sight<'a> {
    #[inline]
    fn new(tree: &'a [u8], sources: &'a Sources, round: Round) -> Sight<'a> {
        Sight { tree, sources, round, seen: Cell::new(None), last_fall: Cell::new(None) }
    }

    #[inline]
    fn descend(&self, asker: &Asker, chosen: &mut Chosen, witness: &mut impl Witness) -> u8 {
        let (mut node, mut bits) = (self.tree, 0);
        loop {
            let branch = match Node::read(node) {
                Some(Node::Branch(branch)) => branch,
                Some(Node::Leaf(members)) => {
                    self.collect(members, chosen);
                    return bits;
                }
                None => return bits,
            };
            let (taken, looked_at) = self.take(&branch, asker);
            bits = bits.max(looked_at);
            let Some((at, choice)) = taken else { return bits };
            witness.taken(self, &branch, at, asker);
            // What was taken is alive.
            if let Some((data, _)) = only_member(choice.node) {
                chosen.push(data);
                return bits;
            }
            node = choice.node;
        }
    }

    /// Takes the branch that is right for a client among those that are alive.
    #[inline]
    fn take(&self, branch: &Branch<'a>, asker: &Asker) -> (Option<(usize, Choice<'a>)>, u8) {
        match branch.rule {
            Rule::First => (self.eligible(branch).next(), 0),
            Rule::Draw(node) => (self.draw(branch, asker.draw ^ node), 0),
            Rule::Sticky => self.stick(branch, asker),
            Rule::Geo(table) | Rule::Closest(table) => {
                let Some(table) = self.sources.table(table) else { return (None, 0) };
                let (order, bits) = table.find(asker.address);
                let mut order = order.iter().map(|at| usize::from(*at));
                // Of an address that is known in part no more than that part was looked at.
                (order.find_map(|at| self.if_eligible(branch, at)), bits)
            }
        }
    }

    #[inline]
    fn eligible(&self, branch: &Branch<'a>) -> impl Iterator<Item = (usize, Choice<'a>)> {
        branch.choices().enumerate().filter(|(_, choice)| self.is_eligible(choice))
    }

    #[inline]
    fn if_eligible(&self, branch: &Branch<'a>, at: usize) -> Option<(usize, Choice<'a>)> {
        branch.nth(at).filter(|choice| self.is_eligible(choice)).map(|choice| (at, choice))
    }

    /// Draws one in a single pass: each that is alive takes the place of the one before with the chance that its
    /// weight has among those seen so far, which gives each its share in the end.
    #[inline]
    fn draw(&self, branch: &Branch<'a>, drawn: u64) -> Option<(usize, Choice<'a>)> {
        let (mut total, mut taken) = (0, 0);
        for (at, choice) in branch.choices().enumerate() {
            if self.is_eligible(&choice) {
                let weight = u64::from(choice.weight.max(1));
                total += weight;
                taken = if below(total, mix(drawn ^ at as u64)) < weight { at } else { taken };
            }
        }
        if total > 0 { branch.nth(taken).map(|choice| (taken, choice)) } else { None }
    }

    fn stick(&self, branch: &Branch<'a>, asker: &Asker) -> (Option<(usize, Choice<'a>)>, u8) {
        let (client, bits) = sticky::client(asker);
        let timed =
            self.eligible(branch).map(|one| (one, (lateness(client, one.1.key), one.1.weight.max(1))));
        let first = timed.reduce(|one, other| if is_before(other.1, one.1) { other } else { one });
        (first.map(|(one, _)| one), bits)
    }

    #[inline(always)]
    fn is_eligible(&self, choice: &Choice<'_>) -> bool {
        (choice.weight > 0 || self.round.drained) && self.is_live(choice.node)
    }

    #[inline(always)]
    fn is_live(&self, node: &[u8]) -> bool {
        if let Some(member) = only_member(node) {
            return self.is_up(member.1);
        }
        self.is_any_live(node)
    }

    /// Apart, so that the common case of a leaf with one member is short.
    fn is_any_live(&self, node: &[u8]) -> bool {
        match Node::read(node) {
            Some(Node::Leaf(members)) => members.iter().any(|one| self.is_up(member(one).1)),
            Some(Node::Branch(branch)) => branch.choices().any(|choice| self.is_eligible(&choice)),
            None => false,
        }
    }

    #[inline(always)]
    fn is_up(&self, probe: Option<u32>) -> bool {
        let Some(probe) = probe else { return true };
        match self.state(probe) {
            State::Up | State::Unheard => true,
            _ if !self.round.probes => self.was_usable(probe),
            State::Down => false,
            State::Unknown => !self.any_seen(),
        }
    }

    /// Whether a target went down with the last of its set.
    fn was_usable(&self, probe: u32) -> bool {
        let last = self.last_fall.get().unwrap_or_else(|| self.fallen_at(self.tree));
        self.last_fall.set(Some(last));
        let fall = self.sources.slot(probe).and_then(|slot| slot.fall()).unwrap_or_default();
        fall.at + fall.span >= last
    }

    /// When the last target below a node went down; 0 where nobody knows.
    fn fallen_at(&self, node: &[u8]) -> u64 {
        let at = |probe| self.sources.slot(probe).and_then(|slot| slot.fall()).map_or(0, |fall| fall.at);
        match Node::read(node) {
            Some(Node::Leaf(members)) => {
                members.iter().filter_map(|one| member(one).1).map(at).max().unwrap_or(0)
            }
            Some(Node::Branch(branch)) => {
                branch.choices().map(|choice| self.fallen_at(choice.node)).max().unwrap_or(0)
            }
            None => 0,
        }
    }

    #[inline]
    fn state(&self, probe: u32) -> State {
        self.sources.slot(probe).map(|slot| slot.state()).unwrap_or_default()
    }

    fn any_seen(&self) -> bool {
        let seen = self.seen.get().unwrap_or_else(|| self.is_seen(self.tree));
        self.seen.set(Some(seen));
        seen
    }

    /// Whether any target below a node has been seen up.
    fn is_seen(&self, node: &[u8]) -> bool {
        let known = |probe| matches!(self.state(probe), State::Up | State::Down);
        match Node::read(node) {
            Some(Node::Leaf(members)) => members.iter().any(|one| member(one).1.is_some_and(known)),
            Some(Node::Branch(branch)) => branch.choices().any(|choice| self.is_seen(choice.node)),
            None => false,
        }
    }

    #[inline]
    fn collect(&self, members: &[[u8; 6]], chosen: &mut Chosen) {
        let up = members.iter().map(member).filter(|(_, probe)| self.is_up(*probe));
        up.for_each(|(data, _)| chosen.push(data));
    }

    fn flatten(&self, node: &[u8], chosen: &mut Chosen) {
        let branch = match Node::read(node) {
            Some(Node::Leaf(members)) => return self.collect(members, chosen),
            Some(Node::Branch(branch)) => branch,
            None => return,
        };
        let mut eligible = branch.choices().filter(|choice| self.is_eligible(choice));
        match branch.rule {
            Rule::Draw(_) | Rule::Sticky | Rule::Closest(_) => {
                eligible.for_each(|choice| self.flatten(choice.node, chosen));
            }
            Rule::First => {
                eligible.next().into_iter().for_each(|choice| self.flatten(choice.node, chosen));
            }
            Rule::Geo(_) => {
                let default = branch.choices().last().filter(|choice| self.is_eligible(choice));
                let taken = default.or_else(|| eligible.next());
                taken.into_iter().for_each(|choice| self.flatten(choice.node, chosen));
            }
        }
    }
}

/// Puts down how a choice is made.
struct Telling<'a> {
    compiled: &'a Compiled,
    decisions: Vec<Decision>,
    /// The way from the root.
    way: Vec<usize>,
}

impl Witness for Telling<'_> {
    fn nothing_found(&mut self, round: Round) {
        self.way.clear();
        self.decisions.push(Decision::NothingFound { drained: round.drained, probes: round.probes });
    }

    fn taken(&mut self, sight: &Sight<'_>, branch: &Branch<'_>, at: usize, asker: &Asker) {
        if matches!(branch.rule, Rule::Geo(_) | Rule::Closest(_)) {
            let (place, origin) = self.compiled.geo.place(asker.address);
            self.decisions.push(Decision::Client { address: asker.address, place, origin });
        }
        self.decisions.push(self.decision(sight, branch, at, asker));
        self.way.push(at);
    }
}

impl Telling<'_> {
    fn decision(&self, sight: &Sight<'_>, branch: &Branch<'_>, at: usize, asker: &Asker) -> Decision {
        let candidate = |at: usize, choice: Choice<'_>| Candidate {
            name: self.label(branch.rule, at),
            place: self.geo(branch.rule, at),
            weight: choice.weight,
            live: sight.is_live(choice.node),
        };
        let candidates = branch.choices().enumerate().map(|(at, choice)| candidate(at, choice)).collect();
        match branch.rule {
            Rule::Draw(_) => Decision::Drawn { candidates, taken: at },
            Rule::Sticky => {
                let network = crate::Network::new(asker.address, sticky::client(asker).1);
                Decision::Sticky { network, candidates, taken: at }
            }
            Rule::Geo(_) => {
                let (place, _) = self.compiled.geo.place(asker.address);
                Decision::Geo { place, candidates, default: same_as_last(branch), taken: at }
            }
            Rule::Closest(_) => Decision::Closest { candidates, taken: at },
            Rule::First => Decision::Failover { candidates, taken: at },
        }
    }

    /// What to call a choice of the branch that was come to; nothing where its place is all there is to say.
    fn label(&self, rule: Rule, at: usize) -> Option<String> {
        let name = self.compiled.names.get(&[&self.way[..], &[at]].concat()).map(|name| (**name).to_owned());
        name.or_else(|| match rule {
            Rule::Geo(_) => None,
            Rule::Closest(_) if self.geo(rule, at).is_some() => None,
            Rule::First => Some(format!("group {}", at + 1)),
            _ => Some(format!("choice {}", at + 1)),
        })
    }

    fn geo(&self, rule: Rule, at: usize) -> Option<Geo> {
        match rule {
            Rule::Geo(table) | Rule::Closest(table) => self.compiled.sources.table(table)?.geo(at),
            _ => None,
        }
    }
}

/// Which choice has the same members as the last, which is the default of a choice by place.
fn same_as_last(branch: &Branch<'_>) -> Option<usize> {
    let choices: Vec<Vec<u16>> = branch.choices().map(|choice| members_below(choice.node)).collect();
    let (last, others) = choices.split_last()?;
    others.iter().position(|one| one == last)
}

/// The positions of all members below a node, sorted.
fn members_below(node: &[u8]) -> Vec<u16> {
    let mut all: Vec<u16> = match Node::read(node) {
        Some(Node::Leaf(members)) => members.iter().map(|one| member(one).0).collect(),
        Some(Node::Branch(branch)) => branch.choices().flat_map(|one| members_below(one.node)).collect(),
        None => Vec::new(),
    };
    all.sort_unstable();
    all
}
