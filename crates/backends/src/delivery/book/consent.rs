//! Deletions that wait for consent, over all zones of a class.

use super::super::backoff::Moment;
use super::super::{HeldDeletes, Report};
use super::Book;
use crate::marks;

impl Book {
    /// Tells which deletions wait for consent, or lets them go where it was given.
    pub(super) fn review(&mut self, now: Moment) {
        if self.holding.is_empty() && self.held.is_none() {
            return;
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
        let zones = self.holding.iter().filter_map(|name| self.zones.get(name));
        let held = zones.flat_map(|zone| zone.guard.held.iter().map(move |key| (&zone.name, key)));
        let keys: Vec<String> =
            held.map(|(zone, key)| format!("{zone} {} {}\n", key.name, key.rtype)).collect();
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
