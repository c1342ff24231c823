//! Placement: the regions of an application, and how clients are sent there (document 004).
//!
//! ```text
//! regions ─► what each is reached by ─► who may answer, in which order ─► one tree per record type
//! ```
//!
//! Health is not read here: it moves answers, not plans. What is promised: a name that had an answer has
//! one, as long as the object is there and allowed to have the name.

mod regions;
mod site;
mod tree;

use std::collections::BTreeMap;
use std::sync::Arc;

use api::Object;
use api::placement::{PlacementMode, PlacementSpec};
use dns::{Name, ProbeId, RecordSet, Rtype};

pub(crate) use self::regions::{Lack, Region};
use self::site::Site;
use crate::backing::Backing;
use crate::front::steered::{self, Part};
use crate::output::{ChildSeed, Claim, Outcome, Output};
use crate::probe::{ProbeSpec, ProbeTarget};
use crate::rank::Rank;
use crate::tenancy::NotGranted;
use crate::view::View;

/// How a Placement fared, conflicts, health and its provider apart.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PlacementOutcome {
    pub(crate) state: PlacementState,
    pub(crate) name: Option<Name>,
    /// The class that delivers it, and what stands behind that; none where our own servers answer.
    pub(crate) class: Option<(Arc<str>, Option<Backing>)>,
    pub(crate) regions: Vec<Region>,
    /// The regions that may answer, the first in line first.
    pub(crate) line: Vec<Arc<str>>,
    /// The region that clients are sent to before others, by whoever directs it.
    pub(crate) active: Option<Arc<str>>,
    /// What is probed.
    pub(crate) probes: Vec<ProbeSpec>,
    /// Something is answered that cannot be read any more.
    pub(crate) is_frozen: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PlacementState {
    Claimed,
    /// No region is reached by anything, and none ever was.
    NoTargets,
    NoClass(Arc<str>),
    /// The name is outside the domains that the class may write.
    OutsideClass(Box<[String]>),
    NoZone,
    NotDelegated(Rank, Rtype),
    NotGranted(NotGranted),
    /// Our own server does not answer the zone around the name from this class's view.
    OtherView(Rank),
    /// A host name as the answer at the zone's own name, which has an SOA and NS.
    ApexAlias,
}

impl PlacementOutcome {
    /// What may not be answered is not probed either.
    fn refuse(&mut self, state: PlacementState) {
        self.state = state;
        self.probes.clear();
        self.regions.iter_mut().flat_map(|region| &mut region.targets).for_each(|(_, probe)| *probe = None);
    }

    /// What the regions are reached by, of those that can be read.
    pub(crate) fn fresh_targets(&self) -> BTreeMap<String, Vec<String>> {
        let fresh = self.regions.iter().filter(|region| region.is_fresh && !region.targets.is_empty());
        fresh.map(|region| (region.name.to_string(), region.texts())).collect()
    }

    pub(crate) fn region(&self, name: &str) -> Option<&Region> {
        self.regions.iter().find(|region| *region.name == *name)
    }
}

pub(crate) fn evaluate(view: &View<'_>, object: &Object, spec: &PlacementSpec) -> Output {
    let name = Name::parse(&spec.hostname).ok();
    let mut regions = regions::read(view, object, spec);
    let active = view.active(object);
    let is_frozen = regions::freeze(&mut regions, &view.placed(object), spec, active.as_deref());
    let probes = name.as_ref().map(|name| add_probes(&mut regions, spec, name)).unwrap_or_default();
    let line = tree::line(&mut regions, spec, active.as_deref());
    let state = PlacementState::Claimed;
    let mut outcome = PlacementOutcome { state, name, class: None, regions, line, active, probes, is_frozen };
    let mut output = Output::new(Outcome::Silent);
    match place(view, object, spec, &mut outcome) {
        Ok(claims) => {
            output.children.extend(child(&outcome, claims.len()));
            output.claims.extend(claims);
        }
        Err(state) => outcome.refuse(state),
    }
    output.outcome = Outcome::Placement(Box::new(outcome));
    output
}

/// Gives every target its probe; tells which there are.
fn add_probes(regions: &mut [Region], spec: &PlacementSpec, name: &Name) -> Vec<ProbeSpec> {
    let Some(check) = &spec.health_check else { return Vec::new() };
    let mut probes: BTreeMap<ProbeId, ProbeSpec> = BTreeMap::new();
    for (target, id) in regions.iter_mut().flat_map(|region| &mut region.targets) {
        if let Some(probe) = steered::probe(check, Some(spec.mode), name, target.clone()) {
            *id = Some(probe.id());
            probes.insert(probe.id(), probe);
        }
    }
    probes.into_values().collect()
}

fn place(
    view: &View<'_>,
    object: &Object,
    spec: &PlacementSpec,
    outcome: &mut PlacementOutcome,
) -> Result<Vec<Claim>, PlacementState> {
    let name = outcome.name.clone().ok_or(PlacementState::NoZone)?;
    let Site { zone, scope, class } = site::find(view, object, spec, &name)?;
    outcome.class = class;
    let sets = sets(spec, &name, outcome);
    if sets.is_empty() {
        return Err(PlacementState::NoTargets);
    }
    let claim = |set: RecordSet| {
        let entitled = site::check(view, &zone, object, &name, set.rtype)?;
        let RecordSet { name, rtype, ttl, data, steering } = set;
        let (zone, scope) = (zone.origin.clone(), scope.clone());
        Ok(Claim { zone, name, rtype, ttl, data, steering, scope, shared: false, entitled })
    };
    sets.into_iter().map(claim).collect()
}

fn sets(spec: &PlacementSpec, name: &Name, outcome: &PlacementOutcome) -> Vec<RecordSet> {
    let regions: Vec<&Region> = outcome.line.iter().filter_map(|name| outcome.region(name)).collect();
    let part = |region: &&Region| Part { name: region.name.clone(), targets: region.targets.clone() };
    let parts: Vec<Part> = regions.iter().map(part).collect();
    let as_record_tree = matches!(outcome.class, Some((_, Some(Backing::ExternalDNS(_)))));
    let tree = |rtype, leaves| tree::tree(spec, as_record_tree, rtype, leaves, &regions);
    let mut sets = steered::sets(name, spec.ttl(), &parts, &tree);
    if spec.mode == PlacementMode::WeightedCanary {
        sets.retain(|set| !is_of_drained_only(&regions, set.rtype));
    }
    sets
}

/// Whether only drained regions have data of a type, which then is nobody's; not where all are drained.
fn is_of_drained_only(regions: &[&Region], rtype: Rtype) -> bool {
    let has = |region: &Region| region.targets.iter().any(|(target, _)| target.rtype() == rtype);
    let mut in_use = regions.iter().filter(|region| region.weight > 0).peekable();
    in_use.peek().is_some() && !in_use.any(|region| has(region))
}

/// The DNSEndpoint of a placement whose class is an ExternalDNS.
fn child(outcome: &PlacementOutcome, claims: usize) -> Option<ChildSeed> {
    match &outcome.class {
        Some((_, Some(Backing::ExternalDNS(controller)))) => {
            Some(ChildSeed { count: claims as u16, ..ChildSeed::of_class(controller) })
        }
        _ => None,
    }
}

/// A region's targets as texts.
pub(crate) fn texts(targets: &[(ProbeTarget, Option<ProbeId>)]) -> Vec<String> {
    targets.iter().map(|(target, _)| target.text()).collect()
}
