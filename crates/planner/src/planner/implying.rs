//! Zones that DNSRecords imply at their domains, and Placements at the parents of their hosts.
//!
//! Many objects imply one domain, so each domain counts them and nobody lists them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::Spec;
use dns::Name;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Planner, Work};
use crate::input::ClusterId;
use crate::memory::Identity;
use crate::place::{Place, Scope};
use crate::rank::Rank;
use crate::snapshot::Id;
use crate::tenancy::Claimant;
use crate::zone_table::{Candidate, Source, Zone};

/// A domain that an object implies, the class that it is for (empty where it names none), and whether it is the one that its spec
/// names: only those have an age, since a DNS server knows no others.
type Implied = (Name, Arc<str>, bool);

/// Which domains are implied, by how many records of which class, and since when.
#[derive(Debug, Default)]
pub(crate) struct Domains {
    members: BTreeMap<Name, Members>,
    /// Those that were zones when the last run ended, where that is remembered: they stay zones as long as they have
    /// members.
    stood: FxHashSet<Name>,
    /// Those that may have become zones in this run, or ceased to be.
    touched: BTreeSet<Name>,
    of_records: FxHashMap<Id, (Rank, Vec<Implied>)>,
}

/// Those who imply a domain.
#[derive(Debug, Default)]
struct Members {
    classes: BTreeMap<Arc<str>, u32>,
    /// Those of the classes that a spec names. Where there are any, they alone decide where the zone is: a DNS
    /// server knows no others.
    named: BTreeMap<Arc<str>, u32>,
    /// How often each is among the classes, oldest first.
    ranks: BTreeMap<(Rank, Id), u32>,
    /// The same of those whose spec names the domain no longer, while a provider may have their records.
    remembered: BTreeMap<(Rank, Id), u32>,
}

impl Members {
    /// What decides whether and where there is a zone.
    fn summary(&self) -> (Vec<Arc<str>>, Option<Rank>) {
        (self.deciding().cloned().collect(), self.oldest().cloned())
    }

    fn deciding(&self) -> impl Iterator<Item = &Arc<str>> {
        let deciding = if self.named.is_empty() { &self.classes } else { &self.named };
        deciding.keys()
    }

    fn oldest(&self) -> Option<&Rank> {
        self.ranks.first_key_value().map(|((rank, _), _)| rank)
    }

    /// The object that the zone is there for: the oldest whose spec names the domain, else the oldest that named it.
    fn owner(&self) -> Option<Id> {
        let oldest = self.ranks.first_key_value().or_else(|| self.remembered.first_key_value());
        oldest.map(|((_, id), _)| *id)
    }

    fn count(&mut self, class: &Arc<str>, member: &(Rank, Id), is_own: bool, comes: bool) {
        change(&mut self.classes, class, comes);
        if is_own {
            change(&mut self.named, class, comes);
        }
        change(if is_own { &mut self.ranks } else { &mut self.remembered }, member, comes);
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
            touched.extend(self.count((domain, class, *is_own), &member, comes).then(|| domain.clone()));
        }
        touched
    }

    fn count(
        &mut self,
        (domain, class, is_own): (&Name, &Arc<str>, bool),
        member: &(Rank, Id),
        comes: bool,
    ) -> bool {
        let members = self.members.entry(domain.clone()).or_default();
        let before = members.summary();
        members.count(class, member, is_own, comes);
        let decides = members.summary() != before;
        if members.classes.is_empty() {
            self.members.remove(domain);
        }
        decides
    }

    fn owner(&self, domain: &Name) -> Option<Id> {
        self.members.get(domain)?.owner()
    }

    fn below<'a>(&'a self, origin: &'a Name) -> impl Iterator<Item = &'a Name> {
        self.members.range(origin.clone()..).map(|(domain, _)| domain).take_while(|one| one.is_in(origin))
    }

    /// Whether a domain above has been implied for longer: then this one is a part of it, so that nobody
    /// can cut a name off that another has. One that was a zone stays one, so that no domain that comes later above
    /// it takes its names into the view of another class.
    fn is_in_an_older(&self, domain: &Name, members: &Members) -> bool {
        if self.stood.contains(domain) {
            return false;
        }
        let mut above = domain.suffixes().skip(1).filter_map(|above| self.members.get(&above));
        above.any(|above| match (above.oldest(), members.oldest()) {
            // Of two that are equally old the one above is there: by a name nobody cuts anything off.
            (Some(above), Some(own)) => !own.is_created_before(above),
            (above, _) => above.is_some(),
        })
    }

    /// Takes which domains were zones before.
    pub(super) fn restore(&mut self, stood: impl IntoIterator<Item = Name>) {
        for domain in stood {
            self.touched.insert(domain.clone());
            self.stood.insert(domain);
        }
    }

    /// At the end of a run: remembers which domains are zones; gives those of which that is new.
    pub(super) fn commit(&mut self, is_zone: impl Fn(&Name) -> bool) -> Vec<Name> {
        let touched = std::mem::take(&mut self.touched).into_iter();
        let mut moved = |domain: &Name| match is_zone(domain) {
            true => self.stood.insert(domain.clone()),
            false => self.stood.remove(domain),
        };
        touched.filter(|domain| moved(domain)).collect()
    }

    /// The domains that are remembered to be zones.
    pub(super) fn stood(&self) -> impl Iterator<Item = &Name> {
        self.stood.iter()
    }

    pub(super) fn has_stood(&self, domain: &Name) -> bool {
        self.stood.contains(domain)
    }
}

impl Planner {
    /// The object that implies the zone at a domain; of several the oldest.
    pub(crate) fn implied_by(&self, domain: &Name) -> Option<Id> {
        self.domains.owner(domain)
    }

    /// Keeps count of the domains that an object implies: its own, and those of what may still stand
    /// at a provider because of it.
    pub(super) fn imply(&mut self, id: Id, work: &mut Work) {
        let rank = self.snapshot.entry(id).map(|entry| match &entry.object {
            Some(object) => Rank::of(entry.key.cluster, object),
            None => Rank::of_file(entry.key.cluster, &entry.key.reference.name),
        });
        let own = self.snapshot.object(id).filter(|object| !object.meta.deleting);
        let own = own.filter(|_| self.is_granted_all(id)).and_then(|object| implied(&object.spec));
        let memory = self.memory_so_far(id);
        let remembered = memory.iter().flat_map(|memory| memory.identities());
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

    /// Whether domain grants let an object have its names. One that may not have them implies no zone: it would make the
    /// server deny every other name of a domain that is not the namespace's.
    fn is_granted_all(&self, id: Id) -> bool {
        let tenancy = self.snapshot.tenancy();
        let Some(entry) = self.snapshot.entry(id).filter(|_| !tenancy.permits_everything()) else {
            return true;
        };
        let claimant = Claimant { cluster: entry.key.cluster, namespace: &entry.key.reference.namespace };
        self.snapshot.names_wanted(id).iter().all(|name| tenancy.grant(claimant, None, name).is_ok())
    }

    /// Counts anew what the objects at and below a domain imply, whose grant has changed.
    pub(super) fn imply_below(&mut self, domain: &Name, work: &mut Work) {
        let wanting: Vec<Id> = self.table.wanted.below(domain).map(|(_, id)| id).collect();
        wanting.into_iter().for_each(|id| self.imply(id, work));
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
            if self.remembers() {
                self.domains.touched.insert(domain.clone());
            }
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
            scope: self.domain_scope(members),
            ttl: None,
            permissions: None,
        }))
    }

    /// Our server answers an implied zone in the view of the class that it is for, and nowhere else:
    /// elsewhere nobody said anything about the domain. With two such classes, or for what names no class,
    /// it is in all views.
    fn domain_scope(&self, members: &Members) -> Scope {
        if members.classes.contains_key("") {
            return Scope::Everywhere;
        }
        let place = |class: &Arc<str>| Place::Class(class.clone());
        let mut served = members.deciding().map(place).filter(|place| self.views.places.contains(place));
        match (served.next(), served.next()) {
            (Some(only), None) => Scope::At(only),
            (None, _) => members.deciding().next().map_or(Scope::Everywhere, |class| Scope::At(place(class))),
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
