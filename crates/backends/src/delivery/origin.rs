//! One of our zones: what is wanted in it, and what of ours may have to leave.

use std::collections::BTreeMap;

use dns::{Name, Rtype};

use super::backoff::Backoff;
use super::{Known, Node, Report, SetResult, Trouble};
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
    /// What was last told about everything that is to leave.
    told_leaving: Told,
}

/// What is wanted at a name.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    pub(super) sets: Vec<WantedSet>,
    pub(super) kept: Vec<Rtype>,
    pub(super) shared: Vec<Rtype>,
    pub(super) heir: Option<String>,
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
        let new = Wanted { sets, kept: node.kept, shared: node.shared, heir: node.heir };
        for rtype in new.types() {
            self.leaving.remove(&SetKey { name: node.name.clone(), rtype });
        }
        for rtype in old.types().filter(|rtype| new.types().all(|other| other != *rtype)) {
            let domain = old.set(rtype).and_then(|set| set.entry.domain.clone());
            self.leaving.insert(SetKey { name: node.name.clone(), rtype }, domain);
            self.told_leaving = Told::Nothing;
        }
        if new.types().next().is_some() {
            self.nodes.insert(node.name, new);
        }
    }

    /// Forgets what was reported of the sets of a name, so that the next look at it is reported.
    pub(super) fn report_again(&mut self, name: &Name) {
        let sets = self.nodes.get_mut(name).into_iter().flat_map(|wanted| &mut wanted.sets);
        sets.for_each(|set| set.told = Told::Nothing);
    }

    /// Whether it has to be found at the provider: to be filled, or to be rid of something.
    pub(super) fn is_of_interest(&self, complete: bool) -> bool {
        self.facts.is_some() || (complete && !self.leaving.is_empty())
    }

    /// Tells a failure of everything that is wanted here, and of everything that is to leave.
    pub(super) fn fail(
        &mut self,
        zone: &Name,
        trouble: &Trouble,
        exhausted: bool,
        reports: &mut Vec<Report>,
    ) {
        let result = SetResult::Failed { trouble: trouble.clone(), exhausted };
        for (name, wanted) in &mut self.nodes {
            for set in wanted.sets.iter_mut() {
                let key = SetKey { name: name.clone(), rtype: set.entry.set.rtype };
                if set.is_news(&result) {
                    reports.push(Report::Set { zone: zone.clone(), key, result: result.clone() });
                }
            }
        }
        self.fail_leaving(zone, trouble, exhausted, reports);
    }

    /// Tells a failure of everything that is to leave.
    pub(super) fn fail_leaving(
        &mut self,
        zone: &Name,
        trouble: &Trouble,
        exhausted: bool,
        reports: &mut Vec<Report>,
    ) {
        let result = SetResult::Failed { trouble: trouble.clone(), exhausted };
        if !self.told_leaving.is_news(&result) {
            return;
        }
        for key in self.leaving.keys() {
            reports.push(Report::Set { zone: zone.clone(), key: key.clone(), result: result.clone() });
        }
    }

    /// Remembers what may stand there because of us.
    pub(super) fn know(&mut self, known: Known) {
        let wanted = self.nodes.get(&known.key.name);
        if wanted.is_none_or(|wanted| wanted.types().all(|rtype| rtype != known.key.rtype)) {
            self.leaving.insert(known.key.clone(), known.domain.clone());
            self.told_leaving = Told::Nothing;
        }
        self.known.insert(known.key, known.domain);
    }

    /// The names at which something is wanted or to leave.
    pub(super) fn names(&self) -> impl Iterator<Item = Name> {
        self.nodes.keys().chain(self.leaving.keys().map(|key| &key.name)).cloned()
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
        let same_terms = self.shared == node.shared && self.heir == node.heir;
        same_terms && self.kept == node.kept && self.sets.iter().map(|set| &set.entry).eq(&node.sets)
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

impl Told {
    /// Whether a result is news; remembers it.
    fn is_news(&mut self, result: &SetResult) -> bool {
        let told = match result {
            SetResult::Stands { .. } => Told::Stands,
            SetResult::Foreign { owner } => Told::Foreign(owner.clone()),
            SetResult::Failed { trouble, exhausted } => Told::Failed(Box::new((trouble.clone(), *exhausted))),
            SetResult::Absent { .. } => Told::Nothing,
        };
        let written = matches!(result, SetResult::Stands { written: Some(_), .. });
        let news = written || told != *self;
        *self = told;
        news
    }
}

impl WantedSet {
    /// Whether a result is news; remembers it.
    pub(super) fn is_news(&mut self, result: &SetResult) -> bool {
        self.told.is_news(result)
    }
}

/// The keys of all types at a name.
pub(super) fn keys_of(name: &Name) -> std::ops::RangeInclusive<SetKey> {
    let key = |number| SetKey { name: name.clone(), rtype: Rtype(number) };
    key(0)..=key(u16::MAX)
}
