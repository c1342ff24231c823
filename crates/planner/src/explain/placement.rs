//! The way from a Placement to its answers: its class, its mode, who is first in line, and its regions.

use api::placement::{Failback, PlacementMode, PlacementSpec, Routing};
use jiff::Timestamp;

use crate::planner::Planner;
use crate::probe::TargetState;
use crate::region_health::RegionState;
use crate::snapshot::{Entry, Id};

impl Planner {
    pub(super) fn placement_way(&self, entry: &Entry, spec: &PlacementSpec) -> Vec<String> {
        let class = match &spec.dns_class_ref {
            Some(class) => self.class_text(entry.key.cluster, &class.name),
            None => "no dnsClassRef: answered wherever its zone is".to_owned(),
        };
        let mut way = vec![class, mode_text(spec)];
        let Some(id) = self.snapshot.id(&entry.key) else { return way };
        let notes = self.notes_of(id).into_iter();
        let told = notes.filter(|note| ["Steering", "Regions", "Witness"].contains(&note.condition));
        way.extend(told.map(|note| format!("{} {}: {}", note.condition, note.reason, note.message)));
        way.extend(self.snapshot.active(&entry.key).map(|active| format!("first in line: {active}")));
        way.extend(self.region_lines(id));
        way
    }

    fn region_lines(&self, id: Id) -> Vec<String> {
        let Some(outcome) = self.placement_outcome(id) else { return Vec::new() };
        let states = self.region_states(id, outcome);
        let targets = |state: &RegionState| {
            outcome.region(&state.name).map(|region| region.texts().join(", ")).unwrap_or_default()
        };
        states.iter().map(|state| region_text(state, &targets(state))).collect()
    }
}

fn mode_text(spec: &PlacementSpec) -> String {
    let mode = match spec.mode {
        PlacementMode::SingleRegion => "single-region",
        PlacementMode::ActiveActive if spec.routing == Routing::Closest => "active-active, closest",
        PlacementMode::ActiveActive => "active-active",
        PlacementMode::ActiveHotstandby => "active-hotstandby",
        PlacementMode::ActivePassiveWarm => "active-passive-warm",
        PlacementMode::WeightedCanary => "weighted-canary",
    };
    let failback = match (spec.mode, spec.failback()) {
        (PlacementMode::ActiveHotstandby | PlacementMode::ActivePassiveWarm, Failback::Manual) => {
            ", clients go back by hand"
        }
        _ => "",
    };
    format!("mode {mode}{failback}")
}

fn region_text(state: &RegionState, targets: &str) -> String {
    let targets = if targets.is_empty() { "no address" } else { targets };
    let health = match (state.state, state.probes.is_empty()) {
        (_, true) => "not probed",
        (TargetState::Up, _) => "up",
        (TargetState::Down, _) => "down",
        (TargetState::Unknown, _) => "not probed often enough to tell",
    };
    let since = state.since.and_then(|since| Timestamp::from_second(since).ok());
    let since = since.map(|since| format!(" since {since}")).unwrap_or_default();
    let why = if state.message.is_empty() { String::new() } else { format!(" ({})", state.message) };
    let answering = if state.is_answering { "in the answer" } else { "not in the answer" };
    format!("region {}: {targets}; {health}{since}{why}; {answering}", state.name)
}
