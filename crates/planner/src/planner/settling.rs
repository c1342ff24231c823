//! After resolving: under what each DNSRecord stands, may stand, and is to stand at providers.
//!
//! ```text
//! wanted ─► owed ─► (read back) ─► applied ─► (moved: kept until the new one stands) ─► absent
//! ```

use std::borrow::Cow;
use std::hash::{Hash, Hasher};

use api::dnsclass::AppliedIdentity;
use api::{Kind, Object, Published};
use dns::{Name, Rtype};
use rustc_hash::FxHasher;

use super::{Planner, Work};
use crate::backing::Backing;
use crate::delivering::Duty;
use crate::delivery::{DeliveryResult, Told, Written};
use crate::facts::{Fact, ObjectKey};
use crate::front::dns_record::{DnsRecordOutcome, DnsRecordState};
use crate::marks::FINALIZER;
use crate::memory::{Identity, Memory};
use crate::output::Outcome;
use crate::resolve::Set;
use crate::setting::Setting;
use crate::snapshot::{Entry, Id};
use crate::zone_state::Node;

impl Planner {
    /// Brings up to date what is remembered of the DNSRecords whose state was touched; tells whether
    /// that moved a domain that they imply.
    pub(super) fn settle_records(&mut self, work: &mut Work) -> bool {
        self.hear_deliveries(work);
        for id in work.gone.clone() {
            self.forget_record(id, work);
        }
        loop {
            let mut ids = work.statuses.0.split_off(0);
            let fresh = ids.split_off(work.settled);
            work.settled = ids.len() + fresh.len();
            let mut touched = fresh.clone();
            work.statuses.0 = ids;
            work.statuses.0.extend(fresh);
            touched.sort_unstable();
            touched.dedup();
            if touched.is_empty() {
                return !work.domains.is_empty();
            }
            touched.into_iter().for_each(|id| self.settle_record(id, work));
        }
    }

    /// Lets those know of a report whom it is about: who wants the set, and who may owe it.
    fn hear_deliveries(&mut self, work: &mut Work) {
        for number in work.heard..work.told.len() {
            let told = &work.told[number];
            let (zone, name) = (self.zone_numbers.get(&told.zone).copied(), told.name.clone());
            let node = zone.and_then(|zone| self.zones[zone as usize].nodes.get(&name));
            work.statuses.extend(node.into_iter().flat_map(|node| node.claims.iter().map(|(id, _)| *id)));
            work.statuses.extend(self.delivering.owing(&name));
            self.delivering.forget_of_gone(told);
        }
        work.heard = work.told.len();
    }

    fn forget_record(&mut self, id: Id, work: &mut Work) {
        if let Some(memory) = self.delivering.memory.remove(&id) {
            self.delivering.index(id, &memory, &Memory::default());
        }
        self.imply(id, work);
        self.move_duties(id, Vec::new(), work);
    }

    fn settle_record(&mut self, id: Id, work: &mut Work) {
        // A DNS server delivers nothing.
        if matches!(self.setting, Setting::Server { .. }) {
            return;
        }
        let now = match self.record_outcome(id) {
            Some(outcome) => self.settled(id, outcome, work),
            None if self.is_unknown_record(id) => self.remembered_before(id),
            None => return self.settle_others(id, work),
        };
        let before = self.delivering.memory.insert(id, now.clone());
        if before.as_ref() != Some(&now) {
            let before = before.unwrap_or_default();
            self.delivering.index(id, &before, &now);
            // Who else may owe the same can let go of it, or not any more.
            for one in before.identities().chain(now.identities()) {
                work.statuses.extend(self.delivering.owing(&one.name).filter(|other| *other != id));
            }
            self.imply(id, work);
        }
        if let Some(entry) = self.snapshot.entry(id) {
            self.delivering.remembered.remove(&entry.key);
        }
        let duties = self.duties(id);
        self.move_duties(id, duties, work);
    }

    /// What providers are given of steered names follows the health of their targets.
    fn settle_others(&mut self, id: Id, work: &mut Work) {
        let claims = self.evaluated(id).map(|one| &one.output.claims[..]).unwrap_or_default();
        let is_steered = claims.iter().any(|claim| claim.steering.is_some());
        let has_terms = !claims.is_empty() && self.terms(id) != (false, None);
        let was_steered = || self.delivering.duties.contains_key(&id) || self.has_usable(id);
        if is_steered || has_terms || was_steered() {
            let duties = self.settle_steered(id);
            self.move_duties(id, duties, work);
        }
    }

    fn has_usable(&self, id: Id) -> bool {
        let placed = self.snapshot.entry(id).and_then(|entry| self.snapshot.placed.get(&entry.key));
        !self.snapshot.placed.is_empty() && placed.is_some_and(|placed| !placed.usable.is_empty())
    }

    /// What is remembered of a record now.
    fn settled(&self, id: Id, outcome: &DnsRecordOutcome, work: &Work) -> Memory {
        let mut memory = self.remembered_before(id);
        let wanted = self.wanted_identity(id, outcome);
        memory.retain(|one| {
            let is_gone = || self.was_found_absent(one, work) || self.is_taken(one, id);
            Some(one) == wanted || self.follows() || !is_gone()
        });
        let is_foreign =
            |one: &Identity| !self.follows() && matches!(self.told_of(one), Some(Told::Foreign { .. }));
        memory.disown(is_foreign);
        match wanted {
            Some(wanted) => {
                memory.want(wanted, !is_foreign(wanted) && !self.is_withheld(id, outcome));
                let written = self.told_written(wanted, work).filter(|_| !self.follows());
                memory.written = written.or(memory.written);
                if self.is_confirmed(wanted) {
                    memory.confirm(wanted);
                }
            }
            None => memory.owed.retain(|owed| owed.handed),
        }
        memory
    }

    /// What is remembered of an object, whether or not it was settled in this process. So the zones that it
    /// implies are there when it is settled for the first time.
    pub(super) fn memory_so_far(&self, id: Id) -> Option<Cow<'_, Memory>> {
        if let Some(known) = self.delivering.memory.get(&id) {
            return Some(Cow::Borrowed(known));
        }
        let entry = self.snapshot.entry(id)?;
        let delivers = !matches!(self.setting, Setting::Server { .. });
        let is_record = entry.key.reference.kind == Kind::DNSRecord;
        (delivers && is_record).then(|| Cow::Owned(self.remembered_before(id)))
    }

    fn remembered_before(&self, id: Id) -> Memory {
        let Some(entry) = self.snapshot.entry(id) else { return Memory::default() };
        let own = self.delivering.memory.get(&id).or_else(|| self.delivering.remembered.get(&entry.key));
        match own.filter(|_| !self.follows()) {
            Some(own) => own.clone(),
            None => self.published_record(entry).map(Memory::published).unwrap_or_default(),
        }
    }

    /// Whether another process decides and we believe what it writes.
    fn follows(&self) -> bool {
        self.setting == Setting::Operator && !self.leads
    }

    /// The status that a DNSRecord has in the cluster; statuses in files are not read.
    pub(crate) fn published_record<'a>(&self, entry: &'a Entry) -> Option<&'a api::PublishedRecord> {
        match entry.published()? {
            Published::Record(record) if self.snapshot.reads_statuses => Some(record),
            _ => None,
        }
    }

    /// Whether an object is a DNSRecord of which no valid version is known: nobody knows what it wants,
    /// so what it stood under stays as it is.
    fn is_unknown_record(&self, id: Id) -> bool {
        let entry = self.snapshot.entry(id);
        entry.is_some_and(|entry| entry.object.is_none() && entry.key.reference.kind == Kind::DNSRecord)
    }

    /// Whether what an object stood under stays where it is for now.
    pub(crate) fn is_kept_for(&self, id: Id, identity: &Identity) -> bool {
        match self.record_outcome(id) {
            Some(outcome) => self.is_kept(id, outcome, identity),
            None => self.is_unknown_record(id) && !self.is_crowded_out(identity),
        }
    }

    pub(crate) fn record_outcome(&self, id: Id) -> Option<&DnsRecordOutcome> {
        match &self.evaluated(id)?.output.outcome {
            Outcome::DnsRecord(outcome) => Some(outcome),
            _ => None,
        }
    }

    /// What a provider is to hold for a record, where it has its name.
    pub(crate) fn wanted_identity<'a>(&self, id: Id, outcome: &'a DnsRecordOutcome) -> Option<&'a Identity> {
        let is_provided = outcome.backing.as_ref().is_some_and(Backing::is_provider);
        let stands = outcome.state == DnsRecordState::Claimed && self.lost(id).is_empty();
        outcome.identity.as_ref().filter(|_| is_provided && stands)
    }

    /// Whether the provider must not be told yet, since a crash could forget what it was told.
    pub(crate) fn is_withheld(&self, id: Id, outcome: &DnsRecordOutcome) -> bool {
        if self.setting != Setting::Operator {
            return false;
        }
        let Some(entry) = self.snapshot.entry(id) else { return true };
        let is_held = entry.object.as_ref().is_some_and(|object| has_finalizer(object));
        let needs_name = outcome.backing == Some(Backing::Webhook);
        !is_held || (needs_name && !self.is_published(entry, outcome))
    }

    fn is_published(&self, entry: &Entry, outcome: &DnsRecordOutcome) -> bool {
        let Some(record) = self.published_record(entry) else { return false };
        let mut named = record.applied.iter().chain(&record.owed);
        named.any(|one: &AppliedIdentity| Identity::read(one) == outcome.identity)
    }

    fn was_found_absent(&self, identity: &Identity, work: &Work) -> bool {
        let absent = work.told_of(identity).any(|told| told.result == DeliveryResult::Absent);
        absent && self.told_of(identity).is_none()
    }

    fn told_written(&self, identity: &Identity, work: &Work) -> Option<(Written, i64)> {
        let zone = self.zone_of(identity);
        let told = work.told_of(identity).rev().filter(|told| told.zone == zone);
        told.filter_map(|told| match told.result {
            DeliveryResult::Stands { written, .. } => written,
            _ => None,
        })
        .next()
    }

    /// Whether another object has what this one stands under, in whichever zone that lies: which zones
    /// there are depends on what is remembered, and must not decide it.
    fn is_taken(&self, identity: &Identity, id: Id) -> bool {
        let zones = identity.name.suffix_keys().filter_map(|key| self.zone_numbers.get(key).copied());
        let mut nodes =
            zones.filter_map(|zone| Some((zone, self.zones[zone as usize].nodes.get(&identity.name)?)));
        nodes.any(|(zone, node)| self.is_taken_at(zone, node, identity, id))
    }

    fn is_taken_at(&self, zone: u32, node: &Node, identity: &Identity, id: Id) -> bool {
        let is_it = |set: &Set| set.is_of_class(&identity.class) && set.rtype == identity.rtype;
        if !node.sets.iter().any(is_it) {
            return false;
        }
        match self.set_owner(zone, node, &identity.class, identity.rtype) {
            Some(owner) if owner == id => false,
            // Who may not be told yet cannot take it back either.
            Some(owner) => self.record_outcome(owner).is_none_or(|outcome| !self.is_withheld(owner, outcome)),
            None => true,
        }
    }

    /// Who has a record set of a class: the oldest of those whose claims it is made of.
    pub(crate) fn set_owner(&self, zone: u32, node: &Node, class: &str, rtype: Rtype) -> Option<Id> {
        let owns = |(id, number): &&(Id, u16)| {
            let claim = self.evaluated(*id).and_then(|one| one.output.claims.get(usize::from(*number)));
            let is_lost = || self.lost(*id).iter().any(|lost| lost.claim == *number && lost.zone == zone);
            claim.is_some_and(|claim| claim.rtype == rtype && claim.scope.is_class(class)) && !is_lost()
        };
        let owners = node.claims.iter().filter(owns).map(|(id, _)| *id);
        owners.min_by_key(|id| self.evaluated(*id).map(|one| &one.rank))
    }

    /// The node that an identity is about.
    pub(crate) fn node_of(&self, identity: &Identity) -> Option<(u32, &Node)> {
        let zone = *self.zone_numbers.get(&self.zone_of(identity))?;
        Some((zone, self.zones[zone as usize].nodes.get(&identity.name)?))
    }

    /// The zone that an identity lies in, as the plan has it now.
    pub(crate) fn zone_of(&self, identity: &Identity) -> Name {
        let around = || identity.name.suffix_keys().filter_map(|key| self.table.holder_by_key(key));
        let here = around().find(|holder| holder.zone.scope.reaches_class(&identity.class));
        let zone = here.or_else(|| around().next()).map(|holder| holder.zone.origin.clone());
        zone.unwrap_or_else(|| identity.domain.clone())
    }

    /// What was last said of what an identity stands for.
    pub(crate) fn told_of(&self, identity: &Identity) -> Option<&Told> {
        let zone = *self.zone_numbers.get(&self.zone_of(identity))?;
        self.delivering.told.get(&identity.class, &(zone, identity.name.clone(), identity.rtype))
    }

    /// Whether what is wanted now was read back.
    pub(crate) fn is_confirmed(&self, identity: &Identity) -> bool {
        let Some((_, node)) = self.node_of(identity) else { return false };
        let set =
            node.sets.iter().find(|set| set.is_of_class(&identity.class) && set.rtype == identity.rtype);
        let hash = set.map(|set| crate::delivery::hash_of(&identity.name, set));
        hash.is_some_and(|hash| self.told_of(identity) == Some(&Told::Stands(hash)))
    }

    /// Whether what a record stood under stays where it is for now: until what it wants instead stands.
    pub(crate) fn is_kept(&self, id: Id, outcome: &DnsRecordOutcome, identity: &Identity) -> bool {
        let is_current = outcome.identity.as_ref() == Some(identity);
        let is_over = match &outcome.state {
            DnsRecordState::Deleting => true,
            DnsRecordState::NotDelegated(_) => is_current,
            DnsRecordState::Claimed => self.is_in_place(id, outcome),
            _ => false,
        };
        !is_over && self.wanted_identity(id, outcome) != Some(identity) && !self.is_crowded_out(identity)
    }

    /// Whether what a record wants stands, as far as that can be known.
    fn is_in_place(&self, id: Id, outcome: &DnsRecordOutcome) -> bool {
        match self.wanted_identity(id, outcome) {
            Some(wanted) => self.is_confirmed(wanted),
            None => self.lost(id).is_empty(),
        }
    }

    /// Whether something is wanted in its place, or beside which it cannot stand.
    fn is_crowded_out(&self, identity: &Identity) -> bool {
        let Some((_, node)) = self.node_of(identity) else { return false };
        let sets = node.sets.iter().filter(|set| set.is_of_class(&identity.class));
        let mut types = sets.map(|set| set.rtype);
        types.any(|rtype| rtype == identity.rtype || identity.excludes(rtype))
    }

    /// What delivery has to know of a record beside the content of its name.
    fn duties(&mut self, id: Id) -> Vec<Duty> {
        let mut duties: Vec<(Name, Name, u64)> = Vec::new();
        if let Some(outcome) = self.record_outcome(id)
            && let Some(wanted) = self.wanted_identity(id, outcome)
        {
            let withheld = self.is_withheld(id, outcome);
            let terms = (self.adopts(outcome), self.terms(id));
            let hash = hash(&(wanted.rtype, withheld, &wanted.domain, &outcome.properties, terms));
            duties.push((self.zone_of(wanted), wanted.name.clone(), hash));
        }
        let remembered = self.delivering.memory.get(&id).into_iter().flat_map(Memory::identities);
        for kept in remembered.filter(|one| self.is_kept_for(id, one)) {
            let hash = hash(&(kept.rtype, &kept.class, &kept.domain));
            duties.push((self.zone_of(kept), kept.name.clone(), hash));
        }
        duties.into_iter().map(|(zone, name, hash)| (self.zone_number(&zone), name, hash)).collect()
    }

    fn move_duties(&mut self, id: Id, now: Vec<Duty>, work: &mut Work) {
        let before = self.delivering.duties.get(&id).map(|duties| &duties[..]).unwrap_or_default();
        let moved = |one: &[Duty], other: &[Duty]| -> Vec<(u32, Name)> {
            let moved = one.iter().filter(|duty| !other.contains(duty));
            moved.map(|(zone, name, _)| (*zone, name.clone())).collect()
        };
        work.deliveries.extend(moved(before, &now));
        work.deliveries.extend(moved(&now, before));
        match now.is_empty() {
            true => drop(self.delivering.duties.remove(&id)),
            false => drop(self.delivering.duties.insert(id, now)),
        }
    }

    /// Tells of the provider classes that came, went or say something else.
    pub(super) fn refresh_classes(&mut self, work: &mut Work) {
        let classes = work.touched.facts.iter().filter_map(|fact| match fact {
            Fact::Object(ObjectKey { reference, .. }) if reference.kind == Kind::DNSClass => {
                Some(reference.name.clone())
            }
            _ => None,
        });
        let mut classes: Vec<_> = classes.collect();
        classes.sort();
        classes.dedup();
        for class in classes {
            let now = self.provider_class(&class);
            let before = self.delivering.classes.get(&class);
            let said = |object: Option<&std::sync::Arc<Object>>| {
                object.map(|object| (object.spec.clone(), object.meta.annotations.clone()))
            };
            if before.is_some() != now.is_some() {
                // Who is given members has something to remember.
                work.statuses.extend(self.steered_by_class(&class));
            }
            if said(before) != said(now.as_ref()) {
                work.delta.classes.push(class.clone());
                // A deleted record says whether what it owes can be deleted.
                let owes = |memory: &Memory| memory.identities().any(|one| one.class == class);
                let owing = self.delivering.memory.iter().filter(|(_, memory)| owes(memory));
                work.statuses.extend(owing.map(|(id, _)| *id));
            }
            match now {
                Some(now) => drop(self.delivering.classes.insert(class, now)),
                None => drop(self.delivering.classes.remove(&class)),
            }
        }
    }
}

pub(crate) fn has_finalizer(object: &Object) -> bool {
    object.meta.finalizers.iter().any(|finalizer| finalizer == FINALIZER)
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    value.hash(&mut hasher);
    hasher.finish()
}
