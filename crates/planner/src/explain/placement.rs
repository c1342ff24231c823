//! The way from a Placement to its answers: its class, its mode, who is first in line, and its regions.

use api::placement::{Failback, PlacementMode, PlacementSpec, Routing};
use jiff::Timestamp;

use super::listeners::condition_step;
use super::way::{RegionHealth, WayStep};
use crate::planner::Planner;
use crate::probe::TargetState;
use crate::region_health::RegionState;
use crate::snapshot::{Entry, Id};

impl Planner {
    pub(super) fn placement_way(&self, entry: &Entry, spec: &PlacementSpec) -> Vec<WayStep> {
        let class = match &spec.dns_class_ref {
            Some(class) => self.class_step(entry.key.cluster, &class.name),
            None => WayStep::NoClass,
        };
        let mut way = vec![class, mode_step(spec)];
        let Some(id) = self.snapshot.id(&entry.key) else { return way };
        let notes = self.notes_of(id).into_iter();
        let about = notes.filter(|note| ["Steering", "Regions", "Witness"].contains(&note.condition));
        way.extend(about.map(condition_step));
        let first = self.snapshot.active(&entry.key);
        way.extend(first.map(|region| WayStep::FirstRegion { region: region.to_string() }));
        way.extend(self.region_steps(id));
        way
    }

    fn region_steps(&self, id: Id) -> Vec<WayStep> {
        let Some(outcome) = self.placement_outcome(id) else { return Vec::new() };
        let states = self.region_states(id, outcome);
        let targets = |state: &RegionState| {
            outcome.region(&state.name).map(|region| region.texts()).unwrap_or_default()
        };
        states.iter().map(|state| region_step(state, targets(state))).collect()
    }
}

fn mode_step(spec: &PlacementSpec) -> WayStep {
    let mode = match spec.mode {
        PlacementMode::SingleRegion => "single-region",
        PlacementMode::ActiveActive if spec.routing == Routing::Closest => "active-active, closest",
        PlacementMode::ActiveActive => "active-active",
        PlacementMode::ActiveHotstandby => "active-hotstandby",
        PlacementMode::ActivePassiveWarm => "active-passive-warm",
        PlacementMode::WeightedCanary => "weighted-canary",
    };
    let manual_failback = matches!(
        (spec.mode, spec.failback()),
        (PlacementMode::ActiveHotstandby | PlacementMode::ActivePassiveWarm, Failback::Manual)
    );
    WayStep::Mode { mode: mode.to_owned(), manual_failback }
}

fn region_step(state: &RegionState, targets: Vec<String>) -> WayStep {
    let health = match (state.state, state.probes.is_empty()) {
        (_, true) => RegionHealth::NotProbed,
        (TargetState::Up, _) => RegionHealth::Up,
        (TargetState::Down, _) => RegionHealth::Down,
        (TargetState::Unknown, _) => RegionHealth::Unknown,
    };
    let since = state.since.and_then(|since| Timestamp::from_second(since).ok());
    WayStep::Region {
        name: state.name.to_string(),
        targets,
        health,
        since: since.map(|since| since.to_string()),
        message: (!state.message.is_empty()).then(|| state.message.clone()),
        answering: state.is_answering,
    }
}
