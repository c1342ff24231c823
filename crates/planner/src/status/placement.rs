//! The status of Placements beside their conditions.

use serde_json::{Map, Value, json};

use super::dnsclass::time;
use crate::direction::{LeaseFact, Move};
use crate::front::placement::PlacementOutcome;
use crate::planner::Planner;
use crate::probe::TargetState;
use crate::region_health::RegionState;
use crate::snapshot::{Entry, Id};

impl Planner {
    pub(super) fn placement_fields(
        &self,
        id: Id,
        entry: &Entry,
        outcome: &PlacementOutcome,
    ) -> Map<String, Value> {
        let mut fields = Map::new();
        let states = self.told_regions(id, entry, outcome);
        let answering: Vec<&str> =
            states.iter().filter(|state| state.is_answering).map(|state| &*state.name).collect();
        if !answering.is_empty() {
            fields.insert("answering".to_owned(), json!(answering));
        }
        let regions: Vec<Value> = states.iter().map(|state| region(state, outcome)).collect();
        fields.insert("regions".to_owned(), Value::Array(regions));
        if let Some(active) = &outcome.active {
            fields.insert("active".to_owned(), json!(active));
        }
        fields.extend(self.directed_fields(entry));
        fields
    }

    /// The lease and the latest moves, by whoever directs; else as they were last written.
    fn directed_fields(&self, entry: &Entry) -> Map<String, Value> {
        let mut fields = Map::new();
        if let Some(direction) = self.snapshot.directions.get(&entry.key) {
            fields.extend(direction.lease.iter().map(|fact| ("lease".to_owned(), lease(fact))));
            if !direction.moves.is_empty() {
                fields.insert("history".to_owned(), direction.moves.iter().map(history).collect());
            }
        } else if let Some(published) = self.snapshot.published_placement(&entry.key) {
            let status = &published.status;
            fields.extend(status.lease.iter().map(|lease| ("lease".to_owned(), json!(lease))));
            if !status.history.is_empty() {
                fields.insert("history".to_owned(), json!(status.history));
            }
        }
        fields
    }
}

fn region(state: &RegionState, outcome: &PlacementOutcome) -> Value {
    let health = match state.state {
        TargetState::Up => "Up",
        TargetState::Down => "Down",
        TargetState::Unknown => "Unknown",
    };
    let mut region = json!({ "name": state.name, "health": health, "answering": state.is_answering });
    if let Some(since) = state.since {
        region["since"] = json!(time(since));
    }
    if !state.message.is_empty() {
        region["message"] = json!(state.message);
    }
    let addresses = outcome.region(&state.name).map(|region| region.texts()).unwrap_or_default();
    if !addresses.is_empty() {
        region["addresses"] = json!(addresses);
    }
    region
}

fn lease(fact: &LeaseFact) -> Value {
    let mut lease = json!({ "generation": fact.generation });
    if let Some(holder) = &fact.holder {
        lease["holder"] = json!(holder);
    }
    if let Some(expires) = fact.expires {
        lease["expires"] = json!(time(expires));
    }
    lease
}

fn history(one: &Move) -> Value {
    let mut entry = json!({ "time": time(one.at), "message": one.message });
    if let Some(from) = &one.from {
        entry["from"] = json!(from);
    }
    if let Some(to) = &one.to {
        entry["to"] = json!(to);
    }
    entry
}
