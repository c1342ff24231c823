//! How our zones find their places at a provider, and lose them.

use dns::Name;

use super::super::Trouble;
use super::super::agenda::Place;
use super::super::backoff::{Backoff, Moment};
use super::super::task::Outcome;
use super::super::zone::{At, Zone, patience};
use super::Book;
use crate::{Failure, OpenedZone};

impl Book {
    /// Turns to a new provider, as soon as nothing is under way at the old one.
    pub(super) fn change_provider(&mut self, now: Moment) {
        if self.under_way > 0 {
            return;
        }
        let Some(provider) = self.next_provider.take() else { return };
        self.catch_up(now);
        let names: Vec<Name> = self.zones.keys().cloned().collect();
        names.iter().for_each(|name| self.dissolve(name, now));
        if let Ok(provider) = &provider {
            self.class.reading = provider.reading();
            self.class.batch_size = provider.batch_size();
            self.class.is_shared = provider.is_shared();
        }
        self.backoff = Backoff::default();
        self.origins.values_mut().for_each(|origin| origin.backoff = Backoff::default());
        self.provider = Some(provider);
        self.touch_origins(now);
        self.tell_missing_provider();
    }

    pub(super) fn touch_origins(&mut self, now: Moment) {
        let places: Vec<Place> = self.origins.keys().cloned().map(Place::Origin).collect();
        places.iter().for_each(|place| self.touch(place, now));
    }

    /// Where there is no way to the server, everything that is wanted has failed.
    pub(super) fn tell_missing_provider(&mut self) {
        if let Some(Err(trouble)) = self.provider.clone() {
            for (zone, origin) in &mut self.origins {
                origin.fail(zone, &trouble, false, &mut self.reports);
            }
            self.reach(Err(trouble));
        }
    }

    /// Takes in whether a zone for an origin was found.
    pub(super) fn opened(
        &mut self,
        name: &Name,
        outcome: Outcome,
        now: Moment,
        jitter: f64,
    ) -> Option<Failure> {
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
            origin.fail(name, &Trouble::from(&failure), exhausted, &mut self.reports);
        }
        Some(failure)
    }

    /// The provider no longer has a zone: its origins are to be found or made again.
    pub(super) fn reopen(&mut self, name: &Name, now: Moment, jitter: f64) {
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
}
