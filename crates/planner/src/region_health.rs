//! How the regions of a Placement are, by the probes of their targets.

use api::placement::{RegionHealth, RegionStatus};
use dns::ProbeId;
use jiff::Timestamp;

use crate::facts::ObjectKey;
use crate::front::placement::{PlacementOutcome, Region};
use crate::input::{ClusterId, ObjectRef};
use crate::output::Outcome;
use crate::planner::Planner;
use crate::probe::TargetState;
use crate::snapshot::{Entry, Id};

/// How a region is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegionState {
    /// Its name.
    pub name: std::sync::Arc<str>,
    /// Up where one of its targets is, down where all are.
    pub state: TargetState,
    /// Since when, in Unix seconds, where that is known.
    pub since: Option<i64>,
    /// Which of its targets are down and why; empty where none is.
    pub message: String,
    /// Whether clients are sent to it.
    pub is_answering: bool,
    /// Who watches its targets.
    pub probes: Vec<ProbeId>,
}

impl RegionState {
    /// `goes_on` says that nothing is known yet that could have moved clients.
    fn told_after(&self, before: Option<&RegionStatus>, goes_on: bool) -> RegionState {
        let Some(before) = before.filter(|_| !self.probes.is_empty()) else { return self.clone() };
        let since = before.since.as_ref().and_then(|time| time.parse::<Timestamp>().ok());
        let since = since.map(Timestamp::as_second);
        let known = match before.health {
            RegionHealth::Up => TargetState::Up,
            RegionHealth::Down => TargetState::Down,
            RegionHealth::Unknown => TargetState::Unknown,
        };
        let mut told = self.clone();
        told.is_answering = if goes_on { before.answering } else { self.is_answering };
        if self.state == TargetState::Unknown {
            (told.state, told.since) = (known, since);
            told.message = before.message.clone().unwrap_or_default();
        } else if self.state == known {
            told.since = self.since.into_iter().chain(since).min();
        }
        told
    }
}

impl Planner {
    /// How the regions of a Placement are, in the order of its list.
    pub fn regions(&self, cluster: ClusterId, reference: &ObjectRef) -> Vec<RegionState> {
        let id = self.snapshot.id(&ObjectKey::new(cluster, reference.clone()));
        let outcome = id.and_then(|id| Some((id, self.placement_outcome(id)?)));
        outcome.map(|(id, outcome)| self.region_states(id, outcome)).unwrap_or_default()
    }

    pub(crate) fn placement_outcome(&self, id: Id) -> Option<&PlacementOutcome> {
        match &self.evaluated(id)?.output.outcome {
            Outcome::Placement(outcome) => Some(outcome),
            _ => None,
        }
    }

    pub(crate) fn region_states(&self, id: Id, outcome: &PlacementOutcome) -> Vec<RegionState> {
        let claims = self.evaluated(id).map(|one| &one.output.claims[..]).unwrap_or_default();
        // What belongs to another is not answered for this one.
        let claims = if self.lost(id).is_empty() { claims } else { &[] };
        let answered: std::collections::BTreeSet<String> =
            claims.iter().flat_map(|claim| self.answered(id, claim).0).collect();
        let is_answering = |region: &Region| {
            outcome.line.contains(&region.name) && region.texts().iter().any(|text| answered.contains(text))
        };
        let state = |region: &Region| RegionState {
            name: region.name.clone(),
            state: self.region_state(region),
            since: self.region_since(region),
            message: self.region_message(region),
            is_answering: is_answering(region),
            probes: region.probes().collect(),
        };
        outcome.regions.iter().map(state).collect()
    }

    /// How the regions are told in the status. Until their probes were heard of they are as an earlier process
    /// told them, and what is the same since then is so since then: a restart alone is no news.
    pub(crate) fn told_regions(&self, id: Id, entry: &Entry, outcome: &PlacementOutcome) -> Vec<RegionState> {
        let states = self.region_states(id, outcome);
        let published = self.snapshot.published_placement(&entry.key).map(|published| &published.status);
        let Some(before) = published.filter(|status| status.observed_generation == entry.generation()) else {
            return states;
        };
        let nobody_was_heard = states.iter().all(|state| state.state == TargetState::Unknown);
        let goes_on = nobody_was_heard && before.active.as_deref() == outcome.active.as_deref();
        let told = |state: &RegionState| {
            let addresses = outcome.region(&state.name).map(Region::texts).unwrap_or_default();
            let same = |region: &&RegionStatus| region.name == *state.name && region.addresses == addresses;
            state.told_after(before.regions.iter().find(same), goes_on)
        };
        states.iter().map(told).collect()
    }

    fn target_states(&self, region: &Region) -> Vec<TargetState> {
        let state = |probe| self.probing.health(probe).map_or(TargetState::Unknown, |health| health.state);
        region.probes().map(state).collect()
    }

    fn region_state(&self, region: &Region) -> TargetState {
        let states = self.target_states(region);
        match () {
            () if states.contains(&TargetState::Up) => TargetState::Up,
            () if states.is_empty() || states.contains(&TargetState::Unknown) => TargetState::Unknown,
            () => TargetState::Down,
        }
    }

    /// Up since the first of those that are up was; down since the last went down.
    fn region_since(&self, region: &Region) -> Option<i64> {
        let state = self.region_state(region);
        let healths = region.probes().filter_map(|probe| self.probing.health(probe));
        let since = healths.filter(|health| health.state == state).map(|health| health.since);
        match state {
            TargetState::Up => since.min(),
            TargetState::Down => since.max(),
            TargetState::Unknown => None,
        }
    }

    fn region_message(&self, region: &Region) -> String {
        let down = region.targets.iter().filter_map(|(target, probe)| {
            let health = self.probing.health((*probe)?)?;
            (health.state == TargetState::Down).then(|| format!("{}: {}", target.text(), health.reason))
        });
        down.collect::<Vec<_>>().join("; ")
    }
}
