//! Health of targets: what it moves beside statuses.
//!
//! Our own server answers by health at once. Secondaries have a copy, in which steered names have the answers
//! of when it was made; so whoever moves serials has to hear when these move.

use std::collections::BTreeSet;

use dns::{Name, ProbeId};

use super::{Planner, Work};
use crate::output::Claim;
use crate::place::Place;
use crate::probe::{ProbeSpec, TargetHealth};
use crate::snapshot::Id;

/// The answers of one steered claim that secondaries have: its zone, and its data as texts.
type Answers = (Name, BTreeSet<String>);

impl Planner {
    /// Takes how a target is, and tells of the zones that secondaries have other answers of.
    pub(super) fn hear_health(&mut self, probe: ProbeId, health: TargetHealth, work: &mut Work) {
        let places = self.transferring();
        let before = self.transferred_answers(probe, &places);
        self.probing.take(probe, health);
        let now = self.transferred_answers(probe, &places);
        let wait = self.probing.spec(probe).map_or(0, until_all_have_seen);
        let moved = before.into_iter().zip(now).filter(|(before, now)| before != now);
        work.delta.answers.extend(moved.map(|((zone, _), _)| (zone, wait)));
    }

    /// The places whose zones secondaries may have.
    fn transferring(&self) -> Vec<Place> {
        let transfers = |place: &&Place| match place {
            Place::Class(class) => self.embedded_class(class).is_some_and(|spec| spec.transfer.is_some()),
            Place::Region(_) => false,
        };
        self.views.places.iter().filter(transfers).cloned().collect()
    }

    /// What the claims that a probe watches are answered with at some places, in a fixed order.
    fn transferred_answers(&self, probe: ProbeId, places: &[Place]) -> Vec<Answers> {
        if places.is_empty() {
            return Vec::new();
        }
        let answers = |id: Id| {
            let claims = self.evaluated(id).map(|one| &one.output.claims[..]).unwrap_or_default();
            let is_transferred = |claim: &&Claim| {
                claim.steering.is_some() && places.iter().any(|place| claim.scope.covers(place))
            };
            let claims = claims.iter().filter(is_transferred);
            claims.map(move |claim| (claim.zone.clone(), self.answered(id, claim).0))
        };
        self.probing.users(probe).flat_map(answers).collect()
    }
}

/// Others ask at other moments: whoever asks last has its answer after an interval and a timeout, and one more
/// interval is for the jitter.
fn until_all_have_seen(spec: &ProbeSpec) -> u64 {
    spec.interval.saturating_mul(2).saturating_add(spec.timeout)
}
