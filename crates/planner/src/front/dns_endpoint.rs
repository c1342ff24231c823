//! DNSEndpoint as a front-end: what a user (or another tool) wrote for a controller that
//! Fingerpost delivers for.

use std::collections::BTreeMap;

use api::Object;
use api::foreign::{DNSEndpointSpec, EndpointMistake};
use dns::{Name, Rdata, RecordSet, Rtype};

use crate::marks::{CONTROLLER_ANNOTATIONS, CONTROLLER_LABEL, MANAGED_BY, MANAGER};
use crate::output::{Claim, Outcome, Output};
use crate::place::Scope;
use crate::rank::Rank;
use crate::tenancy::{NotGranted, Refusal};
use crate::view::View;

/// How a DNSEndpoint fared, conflicts apart.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct EndpointOutcome {
    /// One of our own children, read back: it says nothing new.
    pub(crate) ours: bool,
    /// The controller it is addressed to, where no DNSConfiguration knows it.
    pub(crate) unknown_controller: Option<Box<str>>,
    pub(crate) problems: Vec<EndpointProblem>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum EndpointProblem {
    Invalid(String),
    NotDelegated(Name, Rank),
    NotGranted(Name, NotGranted),
    OutsideZones(Name),
}

pub(crate) fn evaluate(view: &View<'_>, object: &Object, spec: &DNSEndpointSpec) -> Output {
    let mut outcome = EndpointOutcome { ours: is_own_child(object), ..EndpointOutcome::default() };
    let mut output = Output::new(Outcome::Silent);
    if !outcome.ours {
        match scope(view, object) {
            Ok(scope) => {
                for set in sets(view, spec, &scope, &mut outcome.problems) {
                    match claim(view, object, set, &scope) {
                        Ok(claim) => output.claims.push(claim),
                        Err(problem) => outcome.problems.push(problem),
                    }
                }
            }
            Err(controller) => outcome.unknown_controller = Some(controller),
        }
    }
    output.outcome = Outcome::Endpoint(Box::new(outcome));
    output
}

/// Whether an object is a child of ours that comes back to us: the plan already has what it says.
pub fn is_own_child(object: &Object) -> bool {
    let managed = object.meta.labels.get(MANAGED_BY).is_some_and(|manager| manager == MANAGER);
    managed && object.meta.owners.iter().any(|owner| is_child_owner(&owner.api_version))
}

/// Whether objects of this group and version have children of ours.
pub fn is_child_owner(api_version: &str) -> bool {
    let groups = [
        "routing.router.io/",
        "dns.homelab.mortenolsen.pro/",
        "kubi.zone/",
        "fingerpost.dev/",
        "gateway.networking.k8s.io/",
    ];
    groups.iter().any(|group| api_version.starts_with(group))
}

/// Where an endpoint goes: to its controller's place, or everywhere when it names none.
fn scope(view: &View<'_>, object: &Object) -> Result<Scope, Box<str>> {
    let annotated = CONTROLLER_ANNOTATIONS.iter().find_map(|key| object.meta.annotations.get(*key));
    let Some(name) = annotated.or_else(|| object.meta.labels.get(CONTROLLER_LABEL)) else {
        return Ok(Scope::Everywhere);
    };
    let mut controllers = view.controllers().unwrap_or_default().iter();
    let controller = controllers.find(|controller| *controller.name == **name);
    controller.map(|controller| Scope::At(controller.place.clone())).ok_or_else(|| name.as_str().into())
}

/// The record sets of an endpoint list; entries for one name and type add up.
fn sets(
    view: &View<'_>,
    spec: &DNSEndpointSpec,
    scope: &Scope,
    problems: &mut Vec<EndpointProblem>,
) -> Vec<RecordSet> {
    let mut sets: BTreeMap<(Name, Rtype), (u32, Vec<Rdata>)> = BTreeMap::new();
    for (number, endpoint) in spec.endpoints.iter().enumerate() {
        match endpoint.record_set() {
            Err(EndpointMistake { field, message }) => {
                problems
                    .push(EndpointProblem::Invalid(format!("spec.endpoints[{number}].{field}: {message}")));
            }
            Ok((name, rtype, data)) => {
                let own = endpoint.record_ttl.and_then(|ttl| u32::try_from(ttl).ok()).filter(|ttl| *ttl > 0);
                let ttl =
                    own.unwrap_or_else(|| view.ttl(view.zone_for(&name, scope).map(|zone| &**zone), scope));
                let set = sets.entry((name, rtype)).or_insert((ttl, Vec::new()));
                set.0 = set.0.min(ttl);
                set.1.extend(data);
            }
        }
    }
    sets.into_iter().map(|((name, rtype), (ttl, data))| RecordSet::new(name, rtype, ttl, data)).collect()
}

fn claim(view: &View<'_>, object: &Object, set: RecordSet, scope: &Scope) -> Result<Claim, EndpointProblem> {
    let outside = || match view.missing_grant(object, &set.name, set.rtype) {
        Some(reason) => EndpointProblem::NotGranted(set.name.clone(), reason),
        None => EndpointProblem::OutsideZones(set.name.clone()),
    };
    let zone = view.zone_for(&set.name, scope).ok_or_else(outside)?;
    let refused = |refusal| match refusal {
        Refusal::NotDelegated(zone) => EndpointProblem::NotDelegated(set.name.clone(), zone),
        Refusal::NotGranted(reason) => EndpointProblem::NotGranted(set.name.clone(), reason),
    };
    let entitled = view.permit(object, Some(zone), &set.name, set.rtype).map_err(refused)?;
    if set.rtype == Rtype::CNAME && set.name == zone.origin {
        let message = format!("{}: a CNAME cannot stand at a zone's own name", set.name.undotted());
        return Err(EndpointProblem::Invalid(message));
    }
    let scope = if *scope == Scope::Everywhere { zone.scope.clone() } else { scope.clone() };
    let RecordSet { name, rtype, ttl, data, .. } = set;
    Ok(Claim {
        zone: zone.origin.clone(),
        name,
        rtype,
        ttl,
        data,
        steering: None,
        scope,
        shared: false,
        entitled,
    })
}
