//! The book: everything that one class wants and holds, and what is to be done about it.
//!
//! Pure: moments, chance and outcomes are arguments.

mod consent;
mod opening;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use dns::Name;

use super::agenda::{Agenda, Place};
use super::backoff::{Backoff, Moment};
use super::origin::Origin;
use super::task::{Job, Outcome, Task, Writing};
use super::zone::{At, Class, Zone, is_answer, patience};
use super::{HeldDeletes, Known, Node, Order, Report, Settings, Trouble};
use crate::{Failure, NewZone, Provider, Reading, SetKey};

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
    /// Whether the last answer was an odd one.
    in_doubt: bool,
    opening: BTreeSet<Name>,
    /// Zones that write, and can use the time while they do.
    writing: BTreeSet<Name>,
    under_way: usize,
    reports: Vec<Report>,
    reached: Option<Result<(), Trouble>>,
    held: Option<HeldDeletes>,
    /// Zones with deletions that wait for consent.
    holding: BTreeSet<Name>,
}

impl Book {
    /// An empty one.
    pub(super) fn new(settings: Settings) -> Book {
        Book {
            class: Class {
                settings,
                reading: Reading::Zones,
                batch_size: 1,
                is_shared: true,
                complete: false,
            },
            provider: None,
            next_provider: None,
            origins: BTreeMap::new(),
            zones: BTreeMap::new(),
            homes: BTreeMap::new(),
            adopted: BTreeSet::new(),
            agenda: Agenda::default(),
            backoff: Backoff::default(),
            in_doubt: false,
            opening: BTreeSet::new(),
            writing: BTreeSet::new(),
            under_way: 0,
            reports: Vec::new(),
            reached: None,
            held: None,
            holding: BTreeSet::new(),
        }
    }

    /// Takes an order.
    pub(super) fn order(&mut self, order: Order, now: Moment) {
        self.catch_up(now);
        match order {
            Order::Zone(zone) => self.put_zone(zone, now),
            Order::Nodes(nodes) => {
                nodes.into_iter().for_each(|node| self.put_node(node, now));
                self.tell_missing_provider();
            }
            Order::Report(names) => {
                names.iter().for_each(|(zone, name)| self.report_again(zone, name, now));
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
            if let Place::Zone(name) = &place {
                self.hear(name);
            }
            if let Some(job) = job {
                self.note_writing(&place, &job);
                self.under_way += 1;
                self.review(now);
                return Some(Task { place, job });
            }
        }
        self.review(now);
        None
    }

    /// Uses the time in which requests are under way: takes in what was written, and prepares what comes
    /// next. Gives the batches that are likely to be written next.
    pub(super) fn use_time(&mut self, now: Moment) -> Vec<Arc<Writing>> {
        self.catch_up(now);
        let mut prepared = Vec::new();
        for name in std::mem::take(&mut self.writing) {
            if let Some(zone) = self.zones.get_mut(&name) {
                prepared.extend(zone.prepare(At { class: &self.class, now, jitter: 0.5 }));
            }
        }
        prepared
    }

    /// The names that are not in the queue of what they need.
    #[cfg(test)]
    pub(super) fn misplaced(&self, now: Moment) -> Vec<Name> {
        let at = At { class: &self.class, now, jitter: 0.5 };
        self.zones.values().flat_map(|zone| zone.misplaced(at)).collect()
    }

    /// Takes in all that was written.
    fn catch_up(&mut self, now: Moment) {
        for name in self.writing.clone() {
            if let Some(zone) = self.zones.get_mut(&name) {
                zone.catch_up(At { class: &self.class, now, jitter: 0.5 });
            }
            self.touch(&Place::Zone(name), now);
        }
    }

    fn note_writing(&mut self, place: &Place, job: &Job) {
        if let (Place::Zone(name), Job::Write(_)) = (place, job) {
            self.writing.insert(name.clone());
        }
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
        self.note_writing(&task.place, &task.job);
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
                let origin = self.origins.get(name).filter(|_| !self.opening.contains(name))?;
                let job = match &origin.facts {
                    Some(facts) => may_write().then(|| Job::Open(facts.clone()))?,
                    None => Job::Seek,
                };
                self.opening.insert(name.clone());
                Some(job)
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
                origin.is_of_interest(self.class.complete).then(|| origin.backoff.until().max(now))
            }
            Place::Zone(name) => self.zones.get(name)?.due(At { class: &self.class, now, jitter: 0.5 }),
        }
    }

    /// Something happened at a place: takes what it tells, and sets when it is due.
    fn touch(&mut self, place: &Place, now: Moment) {
        if let Place::Zone(name) = place {
            self.hear(name);
        }
        let due = self.due(place, now);
        self.agenda.set(place.clone(), due);
    }

    fn hear(&mut self, name: &Name) {
        let Some(zone) = self.zones.get_mut(name) else {
            self.holding.remove(name);
            return;
        };
        self.reports.append(&mut zone.reports);
        match zone.holds_deletions() {
            true => self.holding.insert(name.clone()),
            false => self.holding.remove(name),
        };
    }

    fn put_zone(&mut self, zone: NewZone, now: Moment) {
        let name = zone.origin.clone();
        if self.homes.contains_key(&name) {
            return self.in_zone(&name, now, |home, at| home.put_facts(zone, at));
        }
        self.origins.entry(name.clone()).or_default().facts = Some(zone);
        self.touch(&Place::Origin(name), now);
    }

    fn put_node(&mut self, node: Node, now: Moment) {
        match self.homes.contains_key(&node.zone) {
            true => self.in_zone(&node.zone.clone(), now, |home, at| home.put_node(node, at)),
            false => self.origins.entry(node.zone.clone()).or_default().put(node),
        }
    }

    fn report_again(&mut self, zone: &Name, name: &Name, now: Moment) {
        match self.homes.contains_key(zone) {
            true => self.in_zone(zone, now, |home, at| home.report_again(zone, name, at)),
            false => self.origins.entry(zone.clone()).or_default().report_again(name),
        }
    }

    fn know(&mut self, known: Known, now: Moment) {
        match self.homes.contains_key(&known.zone) {
            true => self.in_zone(&known.zone.clone(), now, |home, at| home.know(known, at)),
            false => {
                let place = Place::Origin(known.zone.clone());
                self.origins.entry(known.zone.clone()).or_default().know(known);
                self.touch(&place, now);
            }
        }
    }

    fn adopt(&mut self, zone: Name, key: SetKey, now: Moment) {
        self.in_zone(&zone, now, |home, at| home.adopt(key.clone(), at));
        self.adopted.insert((zone, key));
    }

    fn complete(&mut self, now: Moment) {
        self.class.complete = true;
        self.each_zone(now, |zone, at| zone.work_out_all(at));
        self.touch_origins(now);
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

    fn zone_did(
        &mut self,
        name: &Name,
        job: &Job,
        outcome: Outcome,
        now: Moment,
        jitter: f64,
    ) -> Option<Failure> {
        let at = At { class: &self.class, now, jitter };
        let zone = self.zones.get_mut(name)?;
        let failure = zone.done(job, outcome, at)?;
        zone.tell_own_trouble(&failure, at);
        if failure == Failure::NoZone {
            self.reopen(name, now, jitter);
        }
        Some(failure)
    }

    /// Learns from a request how the server as a whole is.
    ///
    /// A single odd answer among good ones is the business of the zone that got it.
    fn judge(&mut self, failure: Option<Failure>, now: Moment, jitter: f64) {
        let of_server =
            failure.filter(|failure| *failure != Failure::NoZone && !failure.is_about_the_record());
        let Some(failure) = of_server else {
            self.backoff = Backoff::default();
            self.in_doubt = false;
            return self.reach(Ok(()));
        };
        if is_answer(&failure) && !std::mem::replace(&mut self.in_doubt, true) {
            return;
        }
        let retry = &self.class.settings.retry;
        self.backoff.fail(retry, now, jitter, patience(&failure));
        let exhausted = self.backoff.is_exhausted(retry);
        let trouble = Trouble::from(&failure);
        for zone in self.zones.values_mut() {
            zone.tell_trouble(&trouble, exhausted);
            self.reports.append(&mut zone.reports);
        }
        for (zone, origin) in &mut self.origins {
            origin.fail(zone, &trouble, exhausted, &mut self.reports);
        }
        self.reach(Err(trouble));
    }

    fn reach(&mut self, reached: Result<(), Trouble>) {
        if self.reached.as_ref() != Some(&reached) {
            self.reached = Some(reached.clone());
            self.reports.push(Report::Reached(reached));
        }
    }

    /// Does something to the zone in which an origin lies, if there is one.
    fn in_zone(&mut self, origin: &Name, now: Moment, act: impl FnOnce(&mut Zone, At<'_>)) {
        let Some(home) = self.homes.get(origin).cloned() else { return };
        let at = At { class: &self.class, now, jitter: 0.5 };
        if let Some(zone) = self.zones.get_mut(&home) {
            act(zone, at);
        }
        self.touch(&Place::Zone(home), now);
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
}
