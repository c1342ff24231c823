//! Zones that DNSRecords imply at their domains.
//!
//! Many records imply one domain, so each domain counts them and nobody lists them.

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

/// A domain that a record implies, and the class that it is for.
type Implied = (Name, Arc<str>);

/// Which domains are implied, by how many records of which class.
#[derive(Debug, Default)]
pub(crate) struct Domains {
    counts: BTreeMap<Name, BTreeMap<Arc<str>, u32>>,
    of_records: FxHashMap<Id, Vec<Implied>>,
}

impl Domains {
    /// Sets what a record implies; gives the domains that have other classes than before.
    fn set(&mut self, id: Id, now: Vec<Implied>) -> Vec<Name> {
        let before = match now.is_empty() {
            true => self.of_records.remove(&id),
            false => self.of_records.insert(id, now.clone()),
        };
        let before = before.unwrap_or_default();
        let mut touched = Vec::new();
        for (domain, class) in now.into_iter().filter(|one| !before.contains(one)) {
            let count = self.counts.entry(domain.clone()).or_default().entry(class).or_default();
            *count += 1;
            touched.extend((*count == 1).then_some(domain));
        }
        let now = self.of_records.get(&id).map(|now| &now[..]).unwrap_or_default();
        let gone: Vec<Implied> = before.into_iter().filter(|one| !now.contains(one)).collect();
        touched.extend(gone.into_iter().filter_map(|(domain, class)| self.leave(domain, &class)));
        touched
    }

    fn leave(&mut self, domain: Name, class: &Arc<str>) -> Option<Name> {
        let classes = self.counts.get_mut(&domain)?;
        let count = classes.get_mut(class)?;
        *count -= 1;
        if *count > 0 {
            return None;
        }
        classes.remove(class);
        if classes.is_empty() {
            self.counts.remove(&domain);
        }
        Some(domain)
    }

    fn below<'a>(&'a self, origin: &'a Name) -> impl Iterator<Item = &'a Name> {
        self.counts.range(origin.clone()..).map(|(domain, _)| domain).take_while(|one| one.is_in(origin))
    }
}

impl Planner {
    /// Keeps count of the domains that an object implies: its own, and those of what may still stand
    /// at a provider because of it.
    pub(super) fn imply(&mut self, id: Id, work: &mut Work) {
        let own = self.snapshot.object(id).filter(|object| !object.meta.deleting);
        let own = own.and_then(|object| match &object.spec {
            Spec::DNSRecord(spec) => Identity::of(spec),
            _ => None,
        });
        let remembered = self.delivering.memory.get(&id).into_iter().flat_map(|memory| memory.identities());
        let all = own.iter().chain(remembered);
        let all: BTreeSet<Implied> = all.map(|one| (one.domain.clone(), one.class.clone())).collect();
        if !all.is_empty() || self.domains.of_records.contains_key(&id) {
            work.domains.extend(self.domains.set(id, all.into_iter().collect()));
        }
    }

    /// Puts up and takes away the zones of domains that were touched, or that lie in a declared zone that was.
    pub(super) fn place_domains(&mut self, origins: &mut BTreeSet<Name>, work: &mut Work) {
        let mut domains = std::mem::take(&mut work.domains);
        if std::mem::take(&mut work.all_domains) {
            domains.extend(self.domains.counts.keys().cloned());
        }
        for origin in origins.iter() {
            domains.extend(self.domains.below(origin).cloned());
        }
        for domain in domains {
            let candidate = self.domain_candidate(&domain);
            origins.extend(self.table.set(Source::Domain(domain), candidate));
        }
    }

    fn domain_candidate(&self, domain: &Name) -> Option<Candidate> {
        let classes = self.domains.counts.get(domain)?;
        if domain.parent().is_some_and(|above| self.is_declared_around(&above)) {
            return None;
        }
        let rank = Rank::of_file(ClusterId(0), &Arc::from(domain.undotted()));
        Some(Candidate::implied(Zone {
            origin: domain.clone(),
            source: Source::Domain(domain.clone()),
            rank,
            scope: self.domain_scope(classes),
            ttl: None,
            permissions: None,
        }))
    }

    /// Our server answers an implied zone in the view of the class that it is for, and nowhere else:
    /// elsewhere nobody said anything about the domain. With two such classes it is in all views.
    fn domain_scope(&self, classes: &BTreeMap<Arc<str>, u32>) -> Scope {
        let place = |class: &Arc<str>| Place::Class(class.clone());
        let mut served = classes.keys().map(place).filter(|place| self.views.places.contains(place));
        match (served.next(), served.next()) {
            (Some(only), None) => Scope::At(only),
            (None, _) => classes.keys().next().map_or(Scope::Everywhere, |class| Scope::At(place(class))),
            _ => Scope::Everywhere,
        }
    }
}
