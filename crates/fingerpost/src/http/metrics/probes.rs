//! Counters of probes. However many targets there are, the list of them stays short.

use std::collections::BTreeMap;

use dns::ProbeId;
use planner::TargetState;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

use crate::probes::{Sighting, Sightings};

/// The most targets that are listed one by one.
const MOST: usize = 1000;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StateLabels {
    state: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TargetLabels {
    probe: String,
    target: String,
    port: u16,
    protocol: &'static str,
}

pub(super) fn add(registry: &mut Registry, sightings: &Sightings) {
    let (all, counts) = (sightings.all(), sightings.counts());
    registry.register("probes", "Targets by what is known of them", states(&all));
    registry.register("probe_up", "Whether a target is up, of at most 1,000", targets(&all));
    registry.register("probe_runs", "Probes that were run", counts.runs.clone());
    let help = "How long one run of a probe took";
    registry.register_with_unit("probe_duration", help, Unit::Seconds, counts.seconds.clone());
}

fn states(all: &BTreeMap<ProbeId, Sighting>) -> Family<StateLabels, Gauge> {
    let states = Family::<StateLabels, Gauge>::default();
    for state in [TargetState::Up, TargetState::Down, TargetState::Unknown] {
        let count = all.values().filter(|seen| seen.health.state == state).count();
        let labels = StateLabels { state: Sighting::word(state) };
        states.get_or_create(&labels).set(i64::try_from(count).unwrap_or(i64::MAX));
    }
    states
}

fn targets(all: &BTreeMap<ProbeId, Sighting>) -> Family<TargetLabels, Gauge> {
    let targets = Family::<TargetLabels, Gauge>::default();
    let known = all.iter().filter(|(_, seen)| seen.health.state != TargetState::Unknown);
    for (probe, seen) in known.take(MOST) {
        let labels = TargetLabels {
            probe: format!("{:016x}", probe.0),
            target: seen.target(),
            port: seen.spec.port,
            protocol: seen.protocol().name(),
        };
        targets.get_or_create(&labels).set(i64::from(seen.health.state == TargetState::Up));
    }
    targets
}
