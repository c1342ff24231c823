//! Directing Placements in `up`: what an earlier process kept, and what is kept for the next.

use planner::{Change, Delta};
use tracing::debug;

use super::Up;
use crate::deliveries::Circumstances;
use crate::directing::{Directing, restore, save};
use crate::instance::Instance;
use crate::state::StateDir;
use crate::witness::Means;

/// Directs nothing yet.
pub(super) fn directing(
    circumstances: &Circumstances,
    instance: &Instance,
    state: Option<&StateDir>,
) -> Directing {
    let before = state.map(|state| restore(state.load_directions())).unwrap_or_default();
    let (secrets, guard) = (circumstances.secrets.clone(), circumstances.guard.clone());
    // Whoever wrote the folders wrote all of them.
    let means = Means { secrets, guard, tenants: false };
    Directing::new(means, circumstances.secret_changes.clone(), instance.directions.clone(), before)
}

impl Up {
    /// Where Placements were directed when this process last ran: answers go on from there.
    pub(super) fn kept_directions(&self) -> Vec<Change> {
        let kept = self.state.as_ref().map(|state| restore(state.load_directions())).unwrap_or_default();
        kept.into_iter().map(|((cluster, object), told)| Change::Direction(cluster, object, told)).collect()
    }

    /// Keeps the directions first, so that a crash does not turn an answer back.
    pub(super) async fn take_directions(&mut self, changes: Vec<Change>) {
        debug!(count = changes.len(), "Placements are directed");
        if let Some(state) = &self.state {
            state.save_directions(&save(&self.instance.directions.directions()));
        }
        self.take_changes(changes).await;
    }

    /// Lets the directors follow the plan.
    pub(super) fn direct(&mut self, delta: &Delta, anew: bool) {
        let planner = self.instance.planner();
        match anew {
            true => self.directing.begin(&planner),
            false => self.directing.follow(&planner, delta),
        }
    }
}
