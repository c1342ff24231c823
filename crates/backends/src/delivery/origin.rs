//! One of our zones: what is wanted in it, and what of ours may have to leave.

use std::collections::BTreeMap;

use dns::{Name, Rtype};

use super::backoff::Backoff;
use super::{Known, Node, SetResult, Trouble};
use crate::{Entry, NewZone, SetKey};

/// One of our zones.
#[derive(Debug, Default)]
pub(super) struct Origin {
    /// What to make it with; nothing can be done before it is told.
    pub(super) facts: Option<NewZone>,
    pub(super) nodes: BTreeMap<Name, Wanted>,
    /// Sets whose leaving is to be reported, with their domains.
    pub(super) leaving: BTreeMap<SetKey, Option<Name>>,
    /// Sets that are ours by memory, with their domains.
    pub(super) known: BTreeMap<SetKey, Option<Name>>,
    /// Failures to find or make it at the provider.
    pub(super) backoff: Backoff,
}

/// What is wanted at a name.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    pub(super) sets: Vec<WantedSet>,
    pub(super) kept: Vec<Rtype>,
}

/// A wanted set, and what was last told about it.
#[derive(Debug)]
pub(super) struct WantedSet {
    pub(super) entry: Entry,
    pub(super) told: Told,
}

/// What was last told about a set, so that it is not told twice.
#[derive(Debug, Default, PartialEq)]
pub(super) enum Told {
    #[default]
    Nothing,
    Stands,
    Foreign(Option<String>),
    Failed(Box<(Trouble, bool)>),
}

impl Origin {
    /// Takes over what is wanted at a name; the types that it wants no longer are to leave.
    pub(super) fn put(&mut self, node: Node) {
        let mut old = self.nodes.remove(&node.name).unwrap_or_default();
        let sets = node.sets.into_iter().map(|entry| old.renew(entry)).collect();
        let new = Wanted { sets, kept: node.kept };
        for rtype in new.types() {
            self.leaving.remove(&SetKey { name: node.name.clone(), rtype });
        }
        for rtype in old.types().filter(|rtype| new.types().all(|other| other != *rtype)) {
            let domain = old.set(rtype).and_then(|set| set.entry.domain.clone());
            self.leaving.insert(SetKey { name: node.name.clone(), rtype }, domain);
        }
        if new.types().next().is_some() {
            self.nodes.insert(node.name, new);
        }
    }

    /// Remembers what may stand there because of us.
    pub(super) fn know(&mut self, known: Known) {
        let wanted = self.nodes.get(&known.key.name);
        if wanted.is_none_or(|wanted| wanted.types().all(|rtype| rtype != known.key.rtype)) {
            self.leaving.insert(known.key.clone(), known.domain.clone());
        }
        self.known.insert(known.key, known.domain);
    }

    /// The keys at a name whose leaving is to be reported.
    pub(super) fn leaving_at(&self, name: &Name) -> Vec<SetKey> {
        self.leaving.range(keys_of(name)).map(|(key, _)| key.clone()).collect()
    }
}

impl Wanted {
    /// The types that are wanted or kept.
    fn types(&self) -> impl Iterator<Item = Rtype> {
        let wanted = self.sets.iter().map(|set| set.entry.set.rtype);
        wanted.chain(self.kept.iter().copied())
    }

    /// Whether a node says nothing new.
    pub(super) fn is(&self, node: &Node) -> bool {
        self.kept == node.kept && self.sets.iter().map(|set| &set.entry).eq(&node.sets)
    }

    /// The set of a type.
    pub(super) fn set(&self, rtype: Rtype) -> Option<&WantedSet> {
        self.sets.iter().find(|set| set.entry.set.rtype == rtype)
    }

    /// A wanted set; what was told about the same content still holds.
    fn renew(&mut self, entry: Entry) -> WantedSet {
        match self.sets.iter_mut().find(|set| set.entry == entry) {
            Some(same) => WantedSet { entry, told: std::mem::take(&mut same.told) },
            None => WantedSet { entry, told: Told::Nothing },
        }
    }
}

impl WantedSet {
    /// Whether a result is news; remembers it if so.
    pub(super) fn is_news(&mut self, result: &SetResult) -> bool {
        let told = match result {
            SetResult::Stands { .. } => Told::Stands,
            SetResult::Foreign { owner } => Told::Foreign(owner.clone()),
            SetResult::Failed { trouble, exhausted } => Told::Failed(Box::new((trouble.clone(), *exhausted))),
            SetResult::Absent { .. } => Told::Nothing,
        };
        let written = matches!(result, SetResult::Stands { written: Some(_), .. });
        let news = written || told != self.told;
        self.told = told;
        news
    }
}

/// The keys of all types at a name.
pub(super) fn keys_of(name: &Name) -> std::ops::RangeInclusive<SetKey> {
    let key = |number| SetKey { name: name.clone(), rtype: Rtype(number) };
    key(0)..=key(u16::MAX)
}
