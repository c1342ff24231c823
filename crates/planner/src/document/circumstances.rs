//! What a running instance knows besides objects and files: how targets are, and where Placements are directed. A plan that
//! is compared with it goes on from there, so that health and switchovers are no differences.

use dns::ProbeId;
use serde::{Deserialize, Serialize};

use super::Document;
use crate::Planner;
use crate::direction::Direction;
use crate::input::{Change, ClusterId, ObjectRef};
use crate::probe::{TargetHealth, TargetState};

/// How a target is, by its probe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DocumentHealth {
    /// The probe's identity, as 16 hexadecimal digits.
    pub probe: String,
    /// Whether the target is up: true or false; none where the probe has not decided yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up: Option<bool>,
    /// Whether it was seen up since the instance began to ask.
    pub seen_up: bool,
    /// Since when, in Unix seconds.
    pub since: i64,
    /// Why it is down.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// Where a Placement is directed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DocumentDirection {
    /// The cluster's name.
    pub cluster: String,
    /// The Placement's namespace.
    pub namespace: String,
    /// The Placement's name.
    pub name: String,
    /// What directs it.
    #[serde(flatten)]
    pub direction: Direction,
}

impl Planner {
    /// What probes have seen, by probe.
    pub(super) fn saved_health(&self) -> Vec<DocumentHealth> {
        let seen = |probe: ProbeId| Some(DocumentHealth::of(probe, self.target_health(probe)?));
        self.probes().filter_map(|(probe, _)| seen(probe)).collect()
    }

    /// Where Placements are directed, by object.
    pub(super) fn saved_directions(&self) -> Vec<DocumentDirection> {
        let directions = self.snapshot.directions.iter();
        let saved = directions.map(|(key, direction)| DocumentDirection {
            cluster: self.cluster_name(key.cluster).to_owned(),
            namespace: key.reference.namespace.to_string(),
            name: key.reference.name.to_string(),
            direction: direction.clone(),
        });
        saved.collect()
    }
}

impl DocumentHealth {
    pub(super) fn of(probe: ProbeId, health: &TargetHealth) -> DocumentHealth {
        DocumentHealth {
            probe: format!("{:016x}", probe.0),
            up: match health.state {
                TargetState::Up => Some(true),
                TargetState::Down => Some(false),
                TargetState::Unknown => None,
            },
            seen_up: health.seen_up,
            since: health.since,
            reason: health.reason.to_string(),
        }
    }

    fn change(&self) -> Option<Change> {
        let probe = ProbeId(u64::from_str_radix(&self.probe, 16).ok()?);
        let state = match self.up {
            Some(true) => TargetState::Up,
            Some(false) => TargetState::Down,
            None => TargetState::Unknown,
        };
        let (since, seen_up) = (self.since, self.seen_up);
        Some(Change::Health(
            probe,
            TargetHealth { state, since, seen_up, reason: self.reason.as_str().into() },
        ))
    }
}

impl Document {
    /// How targets are in this plan. It counts for probes that are needed already, so it is told after the objects.
    pub fn health(&self) -> Vec<Change> {
        self.health.iter().filter_map(DocumentHealth::change).collect()
    }

    /// Where Placements are directed in this plan, for a plan of these clusters.
    pub fn directions(&self, clusters: &[String]) -> Vec<Change> {
        let change = |saved: &DocumentDirection| {
            let cluster = clusters.iter().position(|name| *name == saved.cluster)?;
            let (namespace, name) = (saved.namespace.as_str().into(), saved.name.as_str().into());
            let object = ObjectRef { kind: api::Kind::Placement, namespace, name };
            Some(Change::Direction(ClusterId(cluster as u16), object, saved.direction.clone()))
        };
        self.directions.iter().filter_map(change).collect()
    }
}
