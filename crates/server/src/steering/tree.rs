//! A steering tree as a run of octets, so that a choice reads few cache lines.
//!
//! ```text
//! leaf    0, members: position in the data, number of the probe
//! branch  rule, its number, length of each choice, choices: weight, what is in it
//! choice  a node; before it, where the choice is sticky, what it is known by
//! ```
//!
//! Where choices are not all as long as each other, the length of each is 0, and each has its own after its
//! weight. What a node is in says how long it is. Probes and tables of places are numbers in [`Sources`],
//! which several trees can share.

use std::collections::BTreeMap;
use std::sync::Arc;

use dns::{Location, Member, ProbeId, Steering};

use super::geo::{Places, Table};
use super::sticky::{self, mix};
use super::{GeoSource, Health, Slot};

const LEAF: u8 = 0;
const DRAW: u8 = 1;
const STICKY: u8 = 2;
const GEO: u8 = 3;
const CLOSEST: u8 = 4;
const FIRST: u8 = 5;
/// How many octets a choice's weight has.
const WEIGHT: usize = 4;
/// The number of a member that no probe watches.
const UNWATCHED: u32 = u32::MAX;

/// What the numbers in trees stand for.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    tables: Vec<Arc<Table>>,
    slots: Vec<Slot>,
    probes: BTreeMap<ProbeId, u32>,
}

impl Sources {
    #[inline]
    pub(super) fn table(&self, number: u64) -> Option<&Table> {
        self.tables.get(number as usize).map(|table| &**table)
    }

    #[inline]
    pub(super) fn slot(&self, number: u32) -> Option<&Slot> {
        self.slots.get(number as usize)
    }

    /// The table of places that a choice will likely look at.
    #[inline]
    pub(crate) fn likely_table(&self) -> Option<&Table> {
        self.tables.first().map(|table| &**table)
    }

    fn add_table(&mut self, table: Arc<Table>) -> u64 {
        let known = self.tables.iter().position(|known| Arc::ptr_eq(known, &table));
        let number = known.unwrap_or_else(|| {
            self.tables.push(table);
            self.tables.len() - 1
        });
        number as u64
    }

    fn add_probe(&mut self, probe: ProbeId, health: &Health) -> u32 {
        *self.probes.entry(probe).or_insert_with(|| {
            self.slots.push(health.slot(probe));
            self.slots.len() as u32 - 1
        })
    }
}

/// A node of a tree.
#[derive(Clone, Copy, Debug)]
pub(super) enum Node<'a> {
    /// Members, in the order of the data.
    Leaf(&'a [[u8; 6]]),
    Branch(Branch<'a>),
}

/// A node with choices.
#[derive(Clone, Copy, Debug)]
pub(super) struct Branch<'a> {
    pub(super) rule: Rule,
    /// How long the content of each choice is; 0 where each says so itself.
    length: usize,
    choices: &'a [u8],
}

/// How a branch is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// By a fresh draw; the number makes draws of different nodes independent.
    Draw(u64),
    Sticky,
    /// The first in the order that is right for where the client is, by the table with this number.
    Geo(u64),
    Closest(u64),
    First,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Choice<'a> {
    /// 0 is drained; where nothing is weighed it is 1.
    pub(super) weight: u32,
    /// What a sticky choice knows it by.
    pub(super) key: u64,
    pub(super) node: &'a [u8],
}

impl<'a> Node<'a> {
    /// Reads what [`Compiler`] wrote.
    #[inline]
    pub(super) fn read(octets: &'a [u8]) -> Option<Node<'a>> {
        let (kind, rest) = octets.split_first()?;
        if *kind == LEAF {
            return Some(Node::Leaf(rest.as_chunks().0));
        }
        let (number, rest) = rest.split_first_chunk()?;
        let (length, choices) = rest.split_first_chunk()?;
        let (number, length) = (u64::from_le_bytes(*number), u32::from_le_bytes(*length) as usize);
        let rule = match *kind {
            DRAW => Rule::Draw(number),
            STICKY => Rule::Sticky,
            GEO => Rule::Geo(number),
            CLOSEST => Rule::Closest(number),
            FIRST => Rule::First,
            _ => return None,
        };
        Some(Node::Branch(Branch { rule, length, choices }))
    }
}

impl<'a> Branch<'a> {
    #[inline]
    pub(super) fn choices(&self) -> impl Iterator<Item = Choice<'a>> + use<'a> {
        let mut rest = *self;
        std::iter::from_fn(move || rest.next())
    }

    /// A choice by its number; those as long as each other need not be counted out.
    #[inline]
    pub(super) fn nth(&self, at: usize) -> Option<Choice<'a>> {
        match self.length {
            0 => self.choices().nth(at),
            length => Branch { choices: self.choices.get(at * (WEIGHT + length)..)?, ..*self }.next(),
        }
    }

    /// Takes the first choice away.
    #[inline]
    fn next(&mut self) -> Option<Choice<'a>> {
        let (weight, mut rest) = self.choices.split_first_chunk::<WEIGHT>()?;
        let mut length = self.length;
        if length == 0 {
            let (own, after) = rest.split_first_chunk()?;
            (length, rest) = (u32::from_le_bytes(*own) as usize, after);
        }
        let (node, after) = rest.split_at_checked(length)?;
        self.choices = after;
        let weight = u32::from_le_bytes(*weight);
        if self.rule != Rule::Sticky {
            return Some(Choice { weight, key: 0, node });
        }
        let (key, node) = node.split_first_chunk()?;
        Some(Choice { weight, key: u64::from_le_bytes(*key), node })
    }
}

/// A member's position in the data, and the number of its probe where it has one.
#[inline]
pub(super) fn member([d0, d1, p0, p1, p2, p3]: &[u8; 6]) -> (u16, Option<u32>) {
    let probe = u32::from_le_bytes([*p0, *p1, *p2, *p3]);
    (u16::from_le_bytes([*d0, *d1]), (probe != UNWATCHED).then_some(probe))
}

/// The member of a leaf that has no other.
#[inline]
pub(super) fn only_member(node: &[u8]) -> Option<(u16, Option<u32>)> {
    match node {
        [LEAF, d0, d1, p0, p1, p2, p3] => Some(member(&[*d0, *d1, *p0, *p1, *p2, *p3])),
        _ => None,
    }
}

/// The names of choices by the way to them from the root.
pub(super) type Names = BTreeMap<Vec<usize>, Arc<str>>;

/// Writes a tree.
pub(super) struct Compiler<'a> {
    geo: &'a GeoSource,
    health: &'a Health,
    sources: &'a mut Sources,
    octets: Vec<u8>,
    names: Names,
    /// The way from the root.
    way: Vec<usize>,
    draws: u64,
}

impl<'a> Compiler<'a> {
    pub(super) fn new(geo: &'a GeoSource, health: &'a Health, sources: &'a mut Sources) -> Compiler<'a> {
        let (octets, names, way) = (Vec::new(), Names::new(), Vec::new());
        Compiler { geo, health, sources, octets, names, way, draws: 0 }
    }

    /// The octets of a tree, and what its choices are called.
    pub(super) fn tree(mut self, steering: &Steering) -> (Vec<u8>, Names) {
        self.node(steering);
        (self.octets, self.names)
    }

    fn node(&mut self, steering: &Steering) {
        match steering {
            Steering::All(members) => self.leaf(members),
            Steering::Weighted { sticky: true, choices } => {
                self.branch(STICKY, 0, choices.iter().map(|(weight, one)| (*weight, one)));
            }
            Steering::Weighted { sticky: false, choices } => {
                self.draws += 1;
                self.branch(DRAW, mix(self.draws), choices.iter().map(|(weight, one)| (*weight, one)));
            }
            Steering::Geo { choices, default } => {
                let places = choices.iter().map(|(geo, _)| *geo).collect();
                let table = self.sources.add_table(self.geo.table(Places::Geo(places)));
                let choices = choices.iter().map(|(_, one)| one).chain([&**default]);
                self.branch(GEO, table, choices.map(|one| (1, one)));
            }
            Steering::Failover(groups) => self.branch(FIRST, 0, groups.iter().map(|one| (1, one))),
            Steering::Closest(choices) => {
                let places: Vec<Location> = choices.iter().map(|(location, _)| *location).collect();
                let table = self.sources.add_table(self.geo.table(Places::Closest(places)));
                self.branch(CLOSEST, table, choices.iter().map(|(_, one)| (1, one)));
            }
            Steering::Named(_, one) => self.node(one),
        }
    }

    fn branch<'s>(&mut self, rule: u8, number: u64, choices: impl Iterator<Item = (u32, &'s Steering)>) {
        let start = self.octets.len();
        let contents: Vec<(u32, Vec<u8>)> = choices
            .enumerate()
            .map(|(at, (weight, one))| {
                self.way.push(at);
                self.choice(rule == STICKY, at, one);
                self.way.pop();
                (weight, self.octets.split_off(start))
            })
            .collect();
        let length = common_length(&contents).unwrap_or(0);
        self.octets.push(rule);
        self.octets.extend(number.to_le_bytes());
        self.octets.extend(length.to_le_bytes());
        for (weight, content) in contents {
            self.octets.extend(weight.to_le_bytes());
            if length == 0 {
                self.octets.extend((content.len() as u32).to_le_bytes());
            }
            self.octets.extend(content);
        }
    }

    fn choice(&mut self, sticky: bool, at: usize, steering: &Steering) {
        let mut key = at as u64;
        if let Steering::Named(name, _) = steering {
            self.names.insert(self.way.clone(), name.clone());
            key = sticky::name_key(name);
        }
        if sticky {
            self.octets.extend(key.to_le_bytes());
        }
        self.node(steering);
    }

    fn leaf(&mut self, members: &[Member]) {
        let mut members = members.to_vec();
        members.sort_by_key(|member| member.data);
        self.octets.push(LEAF);
        for Member { data, probe } in members {
            let probe = probe.map_or(UNWATCHED, |probe| self.sources.add_probe(probe, self.health));
            self.octets.extend(data.to_le_bytes());
            self.octets.extend(probe.to_le_bytes());
        }
    }
}

/// How long all contents are, where they are as long as each other.
fn common_length(contents: &[(u32, Vec<u8>)]) -> Option<u32> {
    let (_, first) = contents.first()?;
    contents.iter().all(|(_, one)| one.len() == first.len()).then_some(first.len() as u32)
}
