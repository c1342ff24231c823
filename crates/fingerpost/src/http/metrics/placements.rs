//! Regions of Placements and the leases of their witnesses. However many there are, the lists stay short.

use api::Kind;
use planner::{Planner, TargetState};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::directing::{Board, name_of};

/// The most regions, and the most leases, that are listed one by one.
const MOST: usize = 1000;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RegionLabels {
    placement: String,
    region: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PlacementLabels {
    placement: String,
}

pub(super) fn add(registry: &mut Registry, planner: &Planner, board: &Board) {
    let (up, answering) = regions(planner);
    registry.register(
        "placement_region_up",
        "Whether a probed region of a Placement is up, of at most 1,000",
        up,
    );
    registry.register(
        "placement_region_answering",
        "Whether clients are sent to a region, of at most 1,000",
        answering,
    );
    let (reachable, valid) = leases(board);
    let help = "Whether the witness of a Placement can be asked, of at most 1,000";
    registry.register("witness_reachable", help, reachable);
    let help = "Whether a region holds the lease of a Placement's witness, of at most 1,000";
    registry.register("witness_lease_held", help, valid);
}

fn regions(planner: &Planner) -> (Family<RegionLabels, Gauge>, Family<RegionLabels, Gauge>) {
    let (up, answering) =
        (Family::<RegionLabels, Gauge>::default(), Family::<RegionLabels, Gauge>::default());
    let placements = planner.objects().into_iter().filter(|(_, object)| object.kind == Kind::Placement);
    let regions = placements.flat_map(|(cluster, object)| {
        let name = name_of(&object);
        planner.regions(cluster, &object).into_iter().map(move |region| (name.clone(), region))
    });
    for (placement, region) in regions.take(MOST) {
        let labels = RegionLabels { placement, region: region.name.to_string() };
        if region.state != TargetState::Unknown {
            up.get_or_create(&labels).set(i64::from(region.state == TargetState::Up));
        }
        answering.get_or_create(&labels).set(i64::from(region.is_answering));
    }
    (up, answering)
}

fn leases(board: &Board) -> (Family<PlacementLabels, Gauge>, Family<PlacementLabels, Gauge>) {
    let (reachable, held) =
        (Family::<PlacementLabels, Gauge>::default(), Family::<PlacementLabels, Gauge>::default());
    let now = jiff::Timestamp::now().as_second();
    for (placement, direction) in board.witnessed(MOST) {
        let labels = PlacementLabels { placement };
        reachable.get_or_create(&labels).set(i64::from(direction.witness_trouble.is_none()));
        // Before the witness was asked for the first time nobody knows.
        if let Some(lease) = &direction.lease {
            let is_held = lease.holder.is_some() && lease.expires.is_none_or(|expires| expires > now);
            held.get_or_create(&labels).set(i64::from(is_held));
        }
    }
    (reachable, held)
}
