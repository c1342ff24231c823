//! Zones that DNSRecords imply at their domains, and Placements at the parents of their hosts.
//!
//! Many objects imply one domain, so each domain counts them and nobody lists them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::Spec;
use dns::Name;
use rustc_hash::FxHashMap;

use super::{Planner, Work};
use crate::input::ClusterId;
use crate::memory::Identity;
use crate::place::{Place, Scope};
use crate::rank::Rank;
use crate::snapshot::Id;
use crate::zone_table::{Candidate, Source, Zone};

/// A domain that an object implies, the class that it is for (empty where it names none), and whether it is the one that its spec
/// names: only those have an age, since a DNS server knows no others.
type Implied = (Name, Arc<str>, bool);

/// Which domains are implied, by how many records of which class, and since when.
#[derive(Debug, Default)]
pub(crate) struct Domains {
    members: BTreeMap<Name, Members>,
    of_records: FxHashMap<Id, (Rank, Vec<Implied>)>,
}

/// Those who imply a domain.
#[derive(Debug, Default)]
struct Members {
    classes: BTreeMap<Arc<str>, u32>,
    /// How often each is among the classes, oldest first.
    ranks: BTreeMap<(Rank, Id), u32>,
}

impl Members {
    /// What decides whether and where there is a zone.
    fn summary(&self) -> (Vec<&Arc<str>>, Option<&Rank>) {
        (self.classes.keys().collect(), self.oldest())
    }

    fn oldest(&self) -> Option<&Rank> {
        self.ranks.first_key_value().map(|((rank, _), _)| rank)
    }

    fn count(&mut self, class: &Arc<str>, member: Option<&(Rank, Id)>, comes: bool) {
        change(&mut self.classes, class, comes);
        if let Some(member) = member {
            change(&mut self.ranks, member, comes);
        }
    }
}

/// Counts one more or one less; what is counted no more is gone.
fn change<K: Ord + Clone>(counts: &mut BTreeMap<K, u32>, key: &K, comes: bool) {
    let count = counts.entry(key.clone()).or_default();
    *count = if comes { *count + 1 } else { count.saturating_sub(1) };
    if *count == 0 {
        counts.remove(key);
    }
}

impl Domains {
    /// Sets what a record implies; gives the domains for which that decides something.
    fn set(&mut self, id: Id, rank: Rank, now: Vec<Implied>) -> Vec<Name> {
        let before = match now.is_empty() {
            true => self.of_records.remove(&id),
            false => self.of_records.insert(id, (rank.clone(), now.clone())),
        };
        let (old_rank, before) = before.unwrap_or_else(|| (rank.clone(), Vec::new()));
        if old_rank == rank && before == now {
            return Vec::new();
        }
        let comes = now.iter().map(|implied| (implied, (rank.clone(), id), true));
        let goes = before.iter().map(|implied| (implied, (old_rank.clone(), id), false));
        let mut touched = Vec::new();
        for ((domain, class, is_own), member, comes) in comes.chain(goes) {
            let member = is_own.then_some(&member);
            touched.extend(self.count(domain, class, member, comes).then(|| domain.clone()));
        }
        touched
    }

    fn count(&mut self, domain: &Name, class: &Arc<str>, member: Option<&(Rank, Id)>, comes: bool) -> bool {
        let members = self.members.entry(domain.clone()).or_default();
        let owned = |members: &Members| {
            let (classes, oldest) = members.summary();
            (classes.into_iter().cloned().collect::<Vec<_>>(), oldest.cloned())
        };
        let before = owned(members);
        members.count(class, member, comes);
        let decides = owned(members) != before;
        if members.classes.is_empty() {
            self.members.remove(domain);
        }
        decides
    }

    fn below<'a>(&'a self, origin: &'a Name) -> impl Iterator<Item = &'a Name> {
        self.members.range(origin.clone()..).map(|(domain, _)| domain).take_while(|one| one.is_in(origin))
    }

    /// Whether a domain above has been implied for longer: then this one is a part of it, so that nobody
    /// can cut a name off that another has.
    fn is_in_an_older(&self, domain: &Name, members: &Members) -> bool {
        let mut above = domain.suffixes().skip(1).filter_map(|above| self.members.get(&above));
        above.any(|above| match (above.oldest(), members.oldest()) {
            (Some(above), Some(own)) => above < own,
            (above, _) => above.is_some(),
        })
    }
}

impl Planner {
    /// Keeps count of the domains that an object implies: its own, and those of what may still stand
    /// at a provider because of it.
    pub(super) fn imply(&mut self, id: Id, work: &mut Work) {
        let rank = self.snapshot.entry(id).map(|entry| match &entry.object {
            Some(object) => Rank::of(entry.key.cluster, object),
            None => Rank::of_file(entry.key.cluster, &entry.key.reference.name),
        });
        let own = self.snapshot.object(id).filter(|object| !object.meta.deleting);
        let own = own.and_then(|object| implied(&object.spec));
        let remembered = self.delivering.memory.get(&id).into_iter().flat_map(|memory| memory.identities());
        // Where our own server answers, what once stood elsewhere is no zone.
        let is_elsewhere = |one: &&Identity| !self.views.places.contains(&Place::Class(one.class.clone()));
        let own = own.map(|(domain, class)| (domain, class, true));
        let remembered = remembered.filter(is_elsewhere);
        let remembered = remembered.map(|one| (one.domain.clone(), one.class.clone(), false));
        let all: BTreeSet<Implied> = own.into_iter().chain(remembered).collect();
        if !all.is_empty() || self.domains.of_records.contains_key(&id) {
            let rank = rank.unwrap_or_else(|| Rank::of_file(ClusterId(0), &Arc::from("")));
            work.domains.extend(self.domains.set(id, rank, all.into_iter().collect()));
        }
    }

    /// Puts up and takes away the zones of domains that were touched, or that lie in a declared zone that was.
    pub(super) fn place_domains(&mut self, origins: &mut BTreeSet<Name>, work: &mut Work) {
        let mut domains = std::mem::take(&mut work.domains);
        if std::mem::take(&mut work.all_domains) {
            let remembering: Vec<Id> = self.delivering.memory.keys().copied().collect();
            remembering.into_iter().for_each(|id| self.imply(id, work));
            domains.extend(self.domains.members.keys().cloned());
            domains.append(&mut work.domains);
        }
        for origin in origins.iter().chain(&domains.clone()) {
            domains.extend(self.domains.below(origin).cloned());
        }
        for domain in domains {
            let candidate = self.domain_candidate(&domain);
            origins.extend(self.table.set(Source::Domain(domain), candidate));
        }
    }

    fn domain_candidate(&self, domain: &Name) -> Option<Candidate> {
        let members = self.domains.members.get(domain)?;
        let is_held = || domain.parent().is_some_and(|above| self.is_held_around(&above));
        if self.domains.is_in_an_older(domain, members) || is_held() {
            return None;
        }
        let rank = Rank::of_file(ClusterId(0), &Arc::from(domain.undotted()));
        Some(Candidate::implied(Zone {
            origin: domain.clone(),
            source: Source::Domain(domain.clone()),
            rank,
            scope: self.domain_scope(&members.classes),
            ttl: None,
            permissions: None,
        }))
    }

    /// Our server answers an implied zone in the view of the class that it is for, and nowhere else:
    /// elsewhere nobody said anything about the domain. With two such classes, or for what names no class,
    /// it is in all views.
    fn domain_scope(&self, classes: &BTreeMap<Arc<str>, u32>) -> Scope {
        if classes.contains_key("") {
            return Scope::Everywhere;
        }
        let place = |class: &Arc<str>| Place::Class(class.clone());
        let mut served = classes.keys().map(place).filter(|place| self.views.places.contains(place));
        match (served.next(), served.next()) {
            (Some(only), None) => Scope::At(only),
            (None, _) => classes.keys().next().map_or(Scope::Everywhere, |class| Scope::At(place(class))),
            _ => Scope::Everywhere,
        }
    }
}

/// The domain that an object implies, and the class that it is for.
fn implied(spec: &Spec) -> Option<(Name, Arc<str>)> {
    match spec {
        Spec::DNSRecord(spec) => Identity::of(spec).map(|one| (one.domain, one.class)),
        Spec::Placement(spec) => {
            let class = spec.dns_class_ref.as_ref().map_or("", |class| &class.name);
            let above = Name::parse(&spec.hostname).ok()?.parent()?;
            (above != Name::root()).then(|| (above, Arc::from(class)))
        }
        _ => None,
    }
}
