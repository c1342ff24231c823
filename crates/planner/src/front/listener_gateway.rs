//! Gateway of the Gateway API: the names that it listens for, answered with its clusters' addresses as
//! its policy spreads clients over them (document 001).
//!
//! ```text
//! listeners ─► managed hosts, each in its classes and views ─┐
//! addresses, ManagedClusters, policy ─► clusters ─► sets ────┴─► claims, trees for ExternalDNS, probes
//! ```
//!
//! The gateway has the claims, whichever policy applies: so a name never changes hands when a policy
//! comes, goes or gives way.

mod clusters;
mod sets;

use std::collections::BTreeSet;
use std::sync::Arc;

use api::foreign::ListenerGateway;
use api::kuadrant::KuadrantDNSPolicySpec;
use api::{Kind, Object, Spec};
use dns::{Geo, Name, RecordSet, Rtype};

use self::clusters::{Cluster, clusters};
use self::sets::{Manner, host_sets};
use crate::backing::Backing;
use crate::front::kuadrant_policy::{DEFAULT, applied, is_default_policy, spec_of};
use crate::output::{ChildSeed, Claim, Outcome, Output};
use crate::place::{Place, Scope};
use crate::probe::ProbeSpec;
use crate::rank::Rank;
use crate::view::View;
use crate::zone_table::{Source, Zone};

/// The TTL of what is steered.
const TTL: u32 = 30;

/// How a gateway's names fared, conflicts apart.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ListenersOutcome {
    /// The policy that applies, where there is one.
    pub(crate) policy: Option<Arc<str>>,
    /// There is no policy of a user's own, so that the default one may stand.
    pub(crate) wants_default: bool,
    /// The hosts that are ours to answer, each with where.
    pub(crate) managed: Vec<(Name, Scope)>,
    /// How many listeners are for hosts that are not.
    pub(crate) left_alone: usize,
    /// The clusters, with their weight and place.
    pub(crate) clusters: Vec<(Arc<str>, u32, Option<Geo>)>,
    /// Why the clusters cannot be answered with as the policy says: then what was answered before stays.
    pub(crate) trouble: Option<Trouble>,
    pub(crate) problems: BTreeSet<ListenerProblem>,
    /// What was not used, each in a sentence.
    pub(crate) remarks: Vec<String>,
    pub(crate) probes: Vec<ProbeSpec>,
}

/// Why the clusters cannot be answered with as the policy says.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Trouble {
    NoAddress,
    /// No cluster is in the default place.
    EmptyDefault(Geo),
    /// Every cluster has the weight 0.
    AllDrained,
}

/// Why a host is not answered everywhere.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ListenerProblem {
    BadName(Box<str>),
    NotDelegated(Name, Rtype, Rank),
    /// The host is a zone's own name, which cannot be an alias.
    ApexAlias(Name),
    /// Our own server has no zone to answer it from.
    NoZone(Name, Arc<str>),
}

pub(crate) fn evaluate(view: &View<'_>, object: &Object, gateway: &ListenerGateway) -> Output {
    let policy = applied(view, &object.meta.namespace, &object.meta.name);
    let spec = policy.and_then(|(_, policy)| spec_of(policy)).unwrap_or(&DEFAULT);
    let mut outcome = ListenersOutcome {
        policy: policy.map(|(_, policy)| policy.meta.name.clone()),
        wants_default: policy.is_none_or(|(_, policy)| is_default_policy(policy))
            && !view.has_unknown(Kind::KuadrantDNSPolicy, &object.meta.namespace),
        ..ListenersOutcome::default()
    };
    find_managed(view, gateway, &mut outcome);
    let (clusters, remarks) = clusters(view, gateway, &spec.load_balancing);
    outcome.clusters = clusters.iter().map(|one| (one.name.clone(), one.weight, one.geo)).collect();
    outcome.remarks = remarks;
    outcome.trouble = trouble(spec, &clusters);
    let mut output = Output::new(Outcome::Silent);
    for (host, scope) in outcome.managed.clone() {
        let kept = kept(view, &outcome, &host, &scope);
        if !kept.is_empty() {
            output.claims.extend(kept);
            continue;
        }
        let as_tree = scope.class().is_some_and(|class| external(view, class).is_some());
        let manner = Manner { anyhow: outcome.trouble.is_some(), as_tree };
        let (sets, probes) = host_sets(&host, &clusters, spec, manner);
        outcome.probes.extend(probes);
        for set in sets {
            match claim(view, object, set, &scope) {
                Ok(claim) => output.claims.push(claim),
                Err(problem) => drop(outcome.problems.insert(problem)),
            }
        }
    }
    keep_probes(view, &output.claims, &mut outcome.probes);
    output.children.extend(seeds(view, &output.claims));
    output.outcome = Outcome::Listeners(Box::new(outcome));
    output
}

/// What was answered before, where it cannot be answered as the policy says: host by host, so that a
/// listener that goes takes its name with it.
fn kept(view: &View<'_>, outcome: &ListenersOutcome, host: &Name, scope: &Scope) -> Vec<Claim> {
    let before = view.before.filter(|_| outcome.trouble.is_some());
    let claims = before.into_iter().flat_map(|before| &before.claims);
    claims.filter(|claim| claim.name == *host && claim.scope == *scope).cloned().collect()
}

/// The probes of the claims, those of kept ones among them; each once.
fn keep_probes(view: &View<'_>, claims: &[Claim], probes: &mut Vec<ProbeSpec>) {
    if let Some(Outcome::Listeners(before)) = view.before.map(|before| &before.outcome) {
        probes.extend(before.probes.iter().cloned());
    }
    let steerings = claims.iter().filter_map(|claim| claim.steering.as_ref());
    let used: BTreeSet<_> =
        steerings.flat_map(|steering| steering.members()).filter_map(|member| member.probe).collect();
    probes.retain(|probe| used.contains(&probe.id()));
    probes.sort();
    probes.dedup();
}

/// The trouble with the clusters, the worst first.
fn trouble(spec: &KuadrantDNSPolicySpec, clusters: &[Cluster]) -> Option<Trouble> {
    if clusters.is_empty() {
        return Some(Trouble::NoAddress);
    }
    let default = default_geo(spec);
    if let Some(default) = default
        && !clusters.iter().any(|cluster| cluster.geo.unwrap_or(default) == default)
    {
        return Some(Trouble::EmptyDefault(default));
    }
    clusters.iter().all(|cluster| cluster.weight == 0).then_some(Trouble::AllDrained)
}

/// The place whose clusters answer clients from anywhere else, where clients are told apart by place.
pub(crate) fn default_geo(spec: &KuadrantDNSPolicySpec) -> Option<Geo> {
    spec.load_balancing.geo().and_then(|geo| geo.default.parse().ok())
}

/// Sorts the listeners into hosts that are ours to answer, and others.
fn find_managed(view: &View<'_>, gateway: &ListenerGateway, outcome: &mut ListenersOutcome) {
    let mut managed = BTreeSet::new();
    for listener in &gateway.listeners {
        let Some(text) = &listener.hostname else {
            outcome.left_alone += 1;
            continue;
        };
        let Ok(host) = Name::parse(text) else {
            outcome.problems.insert(ListenerProblem::BadName(text.as_str().into()));
            continue;
        };
        let scopes = scopes(view, &host);
        outcome.left_alone += usize::from(scopes.is_empty());
        managed.extend(scopes.into_iter().map(|scope| (scope, host.clone())));
    }
    outcome.managed = managed.into_iter().map(|(scope, host)| (host, scope)).collect();
}

/// Where a host is ours to answer: the classes that list a domain around it, and where the Zone object
/// around it is published.
fn scopes(view: &View<'_>, host: &Name) -> Vec<Scope> {
    let mut scopes = Vec::new();
    for (_, class) in view.classes() {
        if let Spec::DNSClass(spec) = &class.spec
            && domain_of(&spec.zones, host).is_some()
        {
            scopes.push(Scope::At(Place::Class(class.meta.name.clone())));
        }
    }
    let is_object = |zone: &&Arc<Zone>| matches!(zone.source, Source::Object(_));
    scopes.extend(view.zones_around(host).find(is_object).map(|zone| zone.scope.clone()));
    scopes.sort();
    scopes.dedup();
    scopes
}

/// The longest of a class's domains that a host lies in.
fn domain_of(zones: &[String], host: &Name) -> Option<Name> {
    let domains = zones.iter().filter_map(|zone| Name::parse(zone).ok()).filter(|zone| host.is_in(zone));
    domains.max_by_key(Name::wire_len)
}

fn claim(view: &View<'_>, object: &Object, set: RecordSet, scope: &Scope) -> Result<Claim, ListenerProblem> {
    let (origin, zone) = zone(view, &set.name, scope)?;
    let permissions = zone.and_then(|zone| Some((zone, zone.permissions.as_ref()?)));
    if let Some((zone, allow)) = permissions
        && !allow.allow_record(&object.meta.namespace, &set.name, set.rtype)
    {
        return Err(ListenerProblem::NotDelegated(set.name, set.rtype, zone.rank.clone()));
    }
    if set.rtype == Rtype::CNAME && set.name == origin {
        return Err(ListenerProblem::ApexAlias(set.name));
    }
    let RecordSet { name, rtype, ttl, data, steering } = set;
    Ok(Claim { zone: origin, name, rtype, ttl, data, steering, scope: scope.clone(), shared: false })
}

/// The zone that a host is answered from. Listeners imply none: where a class lists the domain and nobody
/// has a Zone for it, the domain is a zone at the class's back-end.
fn zone<'a>(
    view: &View<'a>,
    host: &Name,
    scope: &Scope,
) -> Result<(Name, Option<&'a Arc<Zone>>), ListenerProblem> {
    let Some(class) = scope.class() else {
        let zone = view.zone_for(host, scope);
        let zone = zone.ok_or_else(|| ListenerProblem::NoZone(host.clone(), Arc::from("")))?;
        return Ok((zone.origin.clone(), Some(zone)));
    };
    let spec = view.class(class);
    let is_embedded = spec.and_then(Backing::of).is_some_and(|backing| backing == Backing::Embedded);
    let zone = match is_embedded {
        true => view.zone_for(host, scope),
        false => view.zone_of_route(host, scope),
    };
    if let Some(zone) = zone {
        return Ok((zone.origin.clone(), Some(zone)));
    }
    let domain = spec.filter(|_| !is_embedded).and_then(|spec| domain_of(&spec.zones, host));
    domain.map(|domain| (domain, None)).ok_or_else(|| ListenerProblem::NoZone(host.clone(), class.into()))
}

/// One DNSEndpoint for each ExternalDNS that is a class of some of the claims, which are sorted by class.
fn seeds(view: &View<'_>, claims: &[Claim]) -> Vec<ChildSeed> {
    let mut seeds: Vec<(Scope, ChildSeed)> = Vec::new();
    for (number, claim) in claims.iter().enumerate() {
        if let Some((_, seed)) = seeds.last_mut().filter(|(scope, _)| *scope == claim.scope) {
            seed.count += 1;
            continue;
        }
        if let Some(controller) = claim.scope.class().and_then(|class| external(view, class)) {
            let seed = ChildSeed { first: number as u16, ..ChildSeed::of_class(&controller) };
            seeds.push((claim.scope.clone(), seed));
        }
    }
    seeds.into_iter().map(|(_, seed)| seed).collect()
}

/// The ExternalDNS that a class is.
fn external(view: &View<'_>, class: &str) -> Option<Arc<str>> {
    match view.class(class).and_then(Backing::of)? {
        Backing::ExternalDNS(controller) => Some(controller),
        _ => None,
    }
}
