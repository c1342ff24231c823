//! Whose turn it is: places by the moment at which they have something to do.

use std::collections::{BTreeMap, BTreeSet};

use dns::Name;

use super::backoff::Moment;

/// Something that has tasks of its own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// An origin that no zone of the provider was found for yet.
    Origin(Name),
    /// A zone of the provider.
    Zone(Name),
}

/// Places by the moment at which they are due; whoever is due longest comes first.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    by_moment: BTreeSet<(Moment, Place)>,
    moments: BTreeMap<Place, Moment>,
}

impl Agenda {
    /// Sets when a place is due; `None`: not by itself.
    pub(super) fn set(&mut self, place: Place, due: Option<Moment>) {
        if let Some(old) = self.moments.remove(&place) {
            self.by_moment.remove(&(old, place.clone()));
        }
        if let Some(due) = due {
            self.moments.insert(place.clone(), due);
            self.by_moment.insert((due, place));
        }
    }

    /// The place that is due first, and when.
    pub(super) fn first(&self) -> Option<(Moment, Place)> {
        self.by_moment.first().cloned()
    }
}
