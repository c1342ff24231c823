//! The book: everything that one class wants and holds, and what is to be done about it.
//!
//! Pure: moments, chance and outcomes are arguments.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use dns::Name;

use super::agenda::{Agenda, Place};
use super::backoff::{Backoff, Moment};
use super::origin::Origin;
use super::task::{Job, Outcome, Task};
use super::zone::{At, Class, Zone, patience};
use super::{HeldDeletes, Known, Node, Order, Report, SetResult, Settings, Trouble};
use crate::{Failure, NewZone, OpenedZone, Provider, Reading, SetKey, marks};

/// So long nobody is asked again who had nothing to do although it was due.
const IDLE: Duration = Duration::from_millis(100);

/// What one class wants and holds.
pub(super) struct Book {
    class: Class,
    provider: Option<Result<Arc<dyn Provider>, Trouble>>,
    /// A provider that takes over when nothing is under way any more.
    next_provider: Option<Result<Arc<dyn Provider>, Trouble>>,
    /// Origins that no zone of the provider was found for yet.
    origins: BTreeMap<Name, Origin>,
    zones: BTreeMap<Name, Zone>,
    /// In which zone of the provider an origin lies.
    homes: BTreeMap<Name, Name>,
    adopted: BTreeSet<(Name, SetKey)>,
    agenda: Agenda,
    /// Failures of the server as a whole.
    backoff: Backoff,
    opening: BTreeSet<Name>,
    under_way: usize,
    reports: Vec<Report>,
    reached: Option<Result<(), Trouble>>,
    held: Option<HeldDeletes>,
}

impl Book {
    /// An empty one.
    pub(super) fn new(settings: Settings) -> Book {
        Book {
            class: Class { settings, reading: Reading::Zones, batch_size: 1, complete: false },
            provider: None,
            next_provider: None,
            origins: BTreeMap::new(),
            zones: BTreeMap::new(),
            homes: BTreeMap::new(),
            adopted: BTreeSet::new(),
            agenda: Agenda::default(),
            backoff: Backoff::default(),
            opening: BTreeSet::new(),
            under_way: 0,
            reports: Vec::new(),
            reached: None,
            held: None,
        }
    }

    /// Takes an order.
    pub(super) fn order(&mut self, order: Order, now: Moment) {
        match order {
            Order::Zone(zone) => self.put_zone(zone, now),
            Order::Nodes(nodes) => {
                nodes.into_iter().for_each(|node| self.put_node(node, now));
                self.tell_missing_provider();
            }
            Order::Known(known) => known.into_iter().for_each(|known| self.know(known, now)),
            Order::Adopt(sets) => sets.into_iter().for_each(|(zone, key)| self.adopt(zone, key, now)),
            Order::Complete => self.complete(now),
            Order::Provider(provider) => {
                self.next_provider = Some(provider);
                self.change_provider(now);
            }
            Order::Settings(settings) => self.set(settings, now),
            Order::Look => self.each_zone(now, |zone, at| zone.look(at)),
        }
        self.review(now);
    }

    /// The next request that may be sent now.
    pub(super) fn next(
        &mut self,
        now: Moment,
        generation: u64,
        may_write: &dyn Fn() -> bool,
    ) -> Option<Task> {
        let usable = matches!(self.provider, Some(Ok(_))) && self.next_provider.is_none();
        // After a failure of the server, one request at a time finds out whether it is back.
        let most = if self.backoff.is_failing() { 1 } else { self.class.settings.concurrency.max(1) };
        if !usable || self.backoff.until() > now || self.under_way >= most {
            return None;
        }
        while let Some((_, place)) = self.agenda.first().filter(|(due, _)| *due <= now) {
            let job = self.job(&place, now, generation, may_write);
            let due = self.due(&place, now).map(|due| if job.is_none() { due.max(now + IDLE) } else { due });
            self.agenda.set(place.clone(), due);
            if let Some(job) = job {
                self.under_way += 1;
                self.review(now);
                return Some(Task { place, job });
            }
        }
        self.review(now);
        None
    }

    /// When to ask for the next request, if nothing happens before.
    pub(super) fn wake(&self) -> Option<Moment> {
        let usable = matches!(self.provider, Some(Ok(_))) && self.next_provider.is_none();
        let due = self.agenda.first().filter(|_| usable).map(|(due, _)| due);
        due.map(|due| due.max(self.backoff.until()))
    }

    /// The way to the server, for the tasks.
    pub(super) fn provider(&self) -> Option<Arc<dyn Provider>> {
        self.provider.as_ref()?.as_ref().ok().cloned()
    }

    /// How many requests may be under way at once.
    pub(super) fn settings(&self) -> &Settings {
        &self.class.settings
    }

    /// Takes in how a request went.
    pub(super) fn done(&mut self, task: &Task, outcome: Outcome, now: Moment, jitter: f64) {
        self.under_way = self.under_way.saturating_sub(1);
        let failure = match &task.place {
            Place::Origin(origin) => self.opened(origin, outcome, now, jitter),
            Place::Zone(name) => self.zone_did(name, &task.job, outcome, now, jitter),
        };
        self.judge(failure, now, jitter);
        self.touch(&task.place, now);
        self.change_provider(now);
        self.review(now);
    }

    /// What there is to tell.
    pub(super) fn reports(&mut self) -> Vec<Report> {
        std::mem::take(&mut self.reports)
    }

    fn job(
        &mut self,
        place: &Place,
        now: Moment,
        generation: u64,
        may_write: &dyn Fn() -> bool,
    ) -> Option<Job> {
        match place {
            Place::Origin(name) => {
                let facts = self.origins.get(name)?.facts.clone()?;
                let may = !self.opening.contains(name) && may_write();
                may.then(|| {
                    self.opening.insert(name.clone());
                    Job::Open(facts)
                })
            }
            Place::Zone(name) => {
                let at = At { class: &self.class, now, jitter: 0.5 };
                self.zones.get_mut(name)?.next(at, generation, may_write)
            }
        }
    }

    fn due(&self, place: &Place, now: Moment) -> Option<Moment> {
        match place {
            Place::Origin(name) => {
                let origin = self.origins.get(name).filter(|_| !self.opening.contains(name))?;
                origin.facts.is_some().then(|| origin.backoff.until().max(now))
            }
            Place::Zone(name) => self.zones.get(name)?.due(At { class: &self.class, now, jitter: 0.5 }),
        }
    }

    fn touch(&mut self, place: &Place, now: Moment) {
        let due = self.due(place, now);
        self.agenda.set(place.clone(), due);
    }

    fn put_zone(&mut self, zone: NewZone, now: Moment) {
        let name = zone.origin.clone();
        if self.in_zone(&name, now, |home, at| home.put_facts(zone.clone(), at)) {
            return;
        }
        self.origins.entry(name.clone()).or_default().facts = Some(zone);
        self.touch(&Place::Origin(name), now);
    }

    fn put_node(&mut self, node: Node, now: Moment) {
        let name = node.zone.clone();
        if !self.in_zone(&name, now, |home, at| home.put_node(node.clone(), at)) {
            self.origins.entry(name).or_default().put(node);
        }
    }

    fn know(&mut self, known: Known, now: Moment) {
        let name = known.zone.clone();
        if !self.in_zone(&name, now, |home, at| home.know(known.clone(), at)) {
            self.origins.entry(name).or_default().know(known);
        }
    }

    fn adopt(&mut self, zone: Name, key: SetKey, now: Moment) {
        self.in_zone(&zone, now, |home, at| home.adopt(key.clone(), at));
        self.adopted.insert((zone, key));
    }

    fn complete(&mut self, now: Moment) {
        self.class.complete = true;
        self.each_zone(now, |zone, at| zone.work_out_all(at));
    }

    /// Another owner has other marks, so that everything has to be read anew.
    fn set(&mut self, settings: Settings, now: Moment) {
        let same_owner = self.class.settings.owner == settings.owner;
        self.class.settings = settings;
        if !same_owner {
            self.next_provider = self.next_provider.take().or_else(|| self.provider.clone());
            self.change_provider(now);
        }
    }

    /// Turns to a new provider, as soon as nothing is under way at the old one.
    fn change_provider(&mut self, now: Moment) {
        if self.under_way > 0 {
            return;
        }
        let Some(provider) = self.next_provider.take() else { return };
        let names: Vec<Name> = self.zones.keys().cloned().collect();
        names.iter().for_each(|name| self.dissolve(name, now));
        if let Ok(provider) = &provider {
            self.class.reading = provider.reading();
            self.class.batch_size = provider.batch_size();
        }
        self.backoff = Backoff::default();
        self.origins.values_mut().for_each(|origin| origin.backoff = Backoff::default());
        self.provider = Some(provider);
        let places: Vec<Place> = self.origins.keys().cloned().map(Place::Origin).collect();
        places.iter().for_each(|place| self.touch(place, now));
        self.tell_missing_provider();
    }

    /// Where there is no way to the server, everything that is wanted has failed.
    fn tell_missing_provider(&mut self) {
        if let Some(Err(trouble)) = self.provider.clone() {
            self.origins
                .iter_mut()
                .for_each(|(zone, origin)| fail_all(zone, origin, &trouble, false, &mut self.reports));
            self.reach(Err(trouble));
        }
    }

    /// Takes in whether a zone for an origin was found.
    fn opened(&mut self, name: &Name, outcome: Outcome, now: Moment, jitter: f64) -> Option<Failure> {
        self.opening.remove(name);
        match outcome {
            Outcome::Opened(Ok(opened)) if name.is_in(&opened.origin) => self.settle_in(name, opened, now),
            Outcome::Opened(Err(failure)) => return self.not_opened(name, failure, now, jitter),
            _ => return self.not_opened(name, Failure::Unreadable, now, jitter),
        }
        None
    }

    fn settle_in(&mut self, name: &Name, opened: OpenedZone, now: Moment) {
        let Some(origin) = self.origins.remove(name) else { return };
        let at = At { class: &self.class, now, jitter: 0.5 };
        let home = opened.origin;
        let zone = self.zones.entry(home.clone()).or_insert_with(|| Zone::new(home.clone(), at));
        zone.take(name.clone(), origin, opened.made, at);
        for (_, key) in self.adopted.iter().filter(|(zone, _)| zone == name) {
            zone.adopt(key.clone(), at);
        }
        self.homes.insert(name.clone(), home.clone());
        self.touch(&Place::Zone(home), now);
    }

    /// An origin without a zone waits alone, unless the server as a whole is in trouble.
    fn not_opened(&mut self, name: &Name, failure: Failure, now: Moment, jitter: f64) -> Option<Failure> {
        let retry = &self.class.settings.retry;
        if let Some(origin) = self.origins.get_mut(name) {
            origin.backoff.fail(retry, now, jitter, patience(&failure));
            let exhausted = origin.backoff.is_exhausted(retry);
            fail_all(name, origin, &Trouble::from(&failure), exhausted, &mut self.reports);
        }
        Some(failure)
    }

    fn zone_did(
        &mut self,
        name: &Name,
        job: &Job,
        outcome: Outcome,
        now: Moment,
        jitter: f64,
    ) -> Option<Failure> {
        let at = At { class: &self.class, now, jitter };
        let failure = self.zones.get_mut(name)?.done(job, outcome, at);
        if failure == Some(Failure::NoZone) {
            self.reopen(name, now, jitter);
        }
        failure
    }

    /// The provider no longer has a zone: its origins are to be found or made again.
    fn reopen(&mut self, name: &Name, now: Moment, jitter: f64) {
        let origins: Vec<Name> =
            self.zones.get(name).map(|zone| zone.origins.keys().cloned().collect()).unwrap_or_default();
        self.dissolve(name, now);
        for origin in origins {
            let retry = &self.class.settings.retry;
            if let Some(content) = self.origins.get_mut(&origin) {
                content.backoff.fail_softly(retry, now, jitter);
            }
            self.touch(&Place::Origin(origin), now);
        }
    }

    fn dissolve(&mut self, name: &Name, now: Moment) {
        let Some(mut zone) = self.zones.remove(name) else { return };
        self.reports.append(&mut zone.reports);
        self.touch(&Place::Zone(name.clone()), now);
        for (name, origin) in zone.dissolve() {
            self.homes.remove(&name);
            self.origins.insert(name, origin);
        }
    }

    /// Learns from a request how the server as a whole is.
    fn judge(&mut self, failure: Option<Failure>, now: Moment, jitter: f64) {
        let of_server =
            failure.filter(|failure| *failure != Failure::NoZone && !failure.is_about_the_record());
        let Some(failure) = of_server else {
            self.backoff = Backoff::default();
            return self.reach(Ok(()));
        };
        let retry = &self.class.settings.retry;
        self.backoff.fail(retry, now, jitter, patience(&failure));
        let exhausted = self.backoff.is_exhausted(retry);
        let trouble = Trouble::from(&failure);
        self.zones.values_mut().for_each(|zone| zone.tell_trouble(&trouble, exhausted));
        for (zone, origin) in &mut self.origins {
            fail_all(zone, origin, &trouble, exhausted, &mut self.reports);
        }
        self.reach(Err(trouble));
    }

    fn reach(&mut self, reached: Result<(), Trouble>) {
        if self.reached.as_ref() != Some(&reached) {
            self.reached = Some(reached.clone());
            self.reports.push(Report::Reached(reached));
        }
    }

    /// Does something to the zone in which an origin lies; says whether there is one.
    fn in_zone(&mut self, origin: &Name, now: Moment, act: impl FnOnce(&mut Zone, At<'_>)) -> bool {
        let Some(home) = self.homes.get(origin).cloned() else { return false };
        let at = At { class: &self.class, now, jitter: 0.5 };
        let Some(zone) = self.zones.get_mut(&home) else { return false };
        act(zone, at);
        self.touch(&Place::Zone(home), now);
        true
    }

    fn each_zone(&mut self, now: Moment, act: impl Fn(&mut Zone, At<'_>)) {
        let names: Vec<Name> = self.zones.keys().cloned().collect();
        for name in names {
            let at = At { class: &self.class, now, jitter: 0.5 };
            if let Some(zone) = self.zones.get_mut(&name) {
                act(zone, at);
            }
            self.touch(&Place::Zone(name), now);
        }
    }

    /// Gathers what zones tell, and deletions that wait for consent.
    fn review(&mut self, now: Moment) {
        for zone in self.zones.values_mut() {
            self.reports.append(&mut zone.reports);
            zone.review();
        }
        let held = self.held_deletes();
        if held
            .as_ref()
            .is_some_and(|held| self.class.settings.allow_mass_delete.as_ref() == Some(&held.hash))
        {
            return self.consent(now);
        }
        if held != self.held {
            self.held.clone_from(&held);
            self.reports.push(Report::Held(held));
        }
    }

    fn held_deletes(&self) -> Option<HeldDeletes> {
        let keys: Vec<String> = self
            .zones
            .values()
            .flat_map(|zone| {
                zone.guard.held.iter().map(|key| format!("{} {} {}\n", zone.name, key.name, key.rtype))
            })
            .collect();
        (!keys.is_empty())
            .then(|| HeldDeletes { count: keys.len(), hash: marks::hex(keys.concat().as_bytes(), 8) })
    }

    fn consent(&mut self, now: Moment) {
        self.each_zone(now, |zone, at| zone.guard.consent(at.now));
        if self.held.take().is_some() {
            self.reports.push(Report::Held(None));
        }
    }
}

/// Tells a failure of everything that is wanted in an origin.
fn fail_all(zone: &Name, origin: &mut Origin, trouble: &Trouble, exhausted: bool, reports: &mut Vec<Report>) {
    let result = SetResult::Failed { trouble: trouble.clone(), exhausted };
    for (name, wanted) in &mut origin.nodes {
        for set in wanted.sets.iter_mut() {
            let key = SetKey { name: name.clone(), rtype: set.entry.set.rtype };
            if set.is_news(&result) {
                reports.push(Report::Set { zone: zone.clone(), key, result: result.clone() });
            }
        }
    }
}
