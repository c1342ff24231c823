//! What the plan says about a Placement, as far as directing it needs.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::placement::{Failback, PlacementMode, PlacementSpec, Witness};
use api::{Kind, Spec};
use jiff::Timestamp;
use planner::{ClusterId, Direction, LeaseFact, Move, ObjectRef, Planner, TargetState};
use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;

use super::Key;
use super::board::{Entry, Order};
use super::delivery::Delivery;
use super::director::{RegionState, Rules};

/// The annotation that orders a switchover in a cluster.
pub const SWITCHOVER: &str = "fingerpost.dev/switchover-to";
/// The annotation that makes that order hold for a region that is not known to be up: `"true"`.
pub const SWITCHOVER_FORCE: &str = "fingerpost.dev/switchover-force";

/// What is to be known about a Placement.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Facts {
    pub(super) rules: Rules,
    pub(super) hostname: String,
    pub(super) witness: Option<Witness>,
    pub(super) health: Vec<(Arc<str>, RegionState)>,
    /// The regions that the plan answers with.
    pub(super) answering: Vec<String>,
    /// Whether that stands where it is delivered.
    pub(super) delivery: Delivery,
    /// The region that an annotation orders, and whether another one insists on it.
    pub(super) ordered: Option<(String, bool)>,
}

impl Facts {
    /// The facts of a Placement that has to be directed; none of one whose regions all answer.
    pub(super) fn of(planner: &Planner, key: &Key) -> Option<Facts> {
        let (cluster, reference) = key;
        let object = planner.object(*cluster, reference)?;
        let Spec::Placement(spec) = &object.spec else { return None };
        let ordered = matches!(spec.mode, PlacementMode::ActiveHotstandby | PlacementMode::ActivePassiveWarm);
        if !ordered && spec.witness.is_none() {
            return None;
        }
        let status = planner.status(*cluster, reference).unwrap_or_default();
        Some(Facts {
            rules: rules(spec, ordered, own_region(planner, *cluster, spec)),
            hostname: spec.hostname.clone(),
            witness: spec.witness.clone(),
            health: health(spec, &planner.regions(*cluster, reference)),
            answering: texts(&status["answering"]),
            delivery: Delivery::of(&status["conditions"]),
            ordered: ordered_by(&object.meta.annotations),
        })
    }
}

impl Facts {
    /// What there is to show before anything was done.
    pub(super) fn entry(&self, direction: Direction, orders: UnboundedSender<Order>) -> Entry {
        Entry {
            hostname: self.hostname.clone(),
            rules: self.rules.clone(),
            direction,
            health: self.health.clone(),
            answering: self.answering.clone(),
            delivery: self.delivery.clone(),
            ordered: None,
            pledge: None,
            orders,
        }
    }
}

fn ordered_by(annotations: &BTreeMap<String, String>) -> Option<(String, bool)> {
    let force = annotations.get(SWITCHOVER_FORCE).is_some_and(|value| value == "true");
    Some((annotations.get(SWITCHOVER)?.clone(), force))
}

fn rules(spec: &PlacementSpec, ordered: bool, own: Option<Arc<str>>) -> Rules {
    Rules {
        regions: spec.regions.iter().map(|region| Arc::from(region.name.as_str())).collect(),
        automatic: spec.failback() == Failback::Automatic,
        ordered,
        own,
        witness: spec.witness.as_ref().map(|witness| (witness.lease.into(), witness.renew.into())),
        checked: spec.health_check.is_some(),
    }
}

fn own_region(planner: &Planner, cluster: ClusterId, spec: &PlacementSpec) -> Option<Arc<str>> {
    let said = spec.witness.as_ref().and_then(|witness| witness.region.as_deref());
    if let Some(said) = said {
        return Some(Arc::from(said));
    }
    let identity =
        |(at, object): &(ClusterId, ObjectRef)| *at == cluster && object.kind == Kind::ClusterIdentity;
    let (_, reference) = planner.objects().into_iter().find(identity)?;
    match &planner.object(cluster, &reference)?.spec {
        Spec::ClusterIdentity(identity) => Some(Arc::from(&*identity.region)),
        _ => None,
    }
}

/// How the regions are by what probes said, not by what an earlier process told: nothing moves on hearsay.
/// Where nobody looks they count as up; one that is drained is not to be moved to.
fn health(spec: &PlacementSpec, regions: &[planner::RegionState]) -> Vec<(Arc<str>, RegionState)> {
    let said = |name: &str| regions.iter().find(|region| *region.name == *name).map(|region| region.state);
    let state = |name: &str| match said(name) {
        _ if spec.health_check.is_none() => RegionState::Up,
        Some(TargetState::Up) => RegionState::Up,
        Some(TargetState::Down) => RegionState::Down,
        _ => RegionState::Unknown,
    };
    let of = |region: &api::placement::Region| {
        let drained = region.weight == Some(0);
        (Arc::from(region.name.as_str()), if drained { RegionState::Down } else { state(&region.name) })
    };
    spec.regions.iter().map(of).collect()
}

/// The direction that a Placement's own status tells of.
pub(super) fn direction(planner: &Planner, key: &Key) -> Option<Direction> {
    let status = planner.status(key.0, &key.1)?;
    let text = |value: &Value| value.as_str().map(Arc::from);
    let lease = Some(&status["lease"]).filter(|lease| lease.is_object()).map(|lease| LeaseFact {
        holder: text(&lease["holder"]),
        generation: lease["generation"].as_u64().unwrap_or_default(),
        expires: time(&lease["expires"]),
    });
    let entry = |entry: &Value| Move {
        at: time(&entry["time"]).unwrap_or_default(),
        from: text(&entry["from"]),
        to: text(&entry["to"]),
        message: entry["message"].as_str().unwrap_or_default().into(),
    };
    let moves = status["history"].as_array().into_iter().flatten().map(entry).collect();
    Some(Direction { active: text(&status["active"]), lease, witness_trouble: None, moves })
}

fn time(value: &Value) -> Option<i64> {
    value.as_str()?.parse::<Timestamp>().ok().map(Timestamp::as_second)
}

fn texts(value: &Value) -> Vec<String> {
    let texts = value.as_array().into_iter().flatten();
    texts.filter_map(|text| text.as_str().map(str::to_owned)).collect()
}
