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
mod spread;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::foreign::ListenerGateway;
use api::kuadrant::KuadrantDNSPolicySpec;
use api::{Kind, Object, Spec};
use dns::{Geo, Name, RecordSet, Rtype};

use self::clusters::{Cluster, clusters};
use self::sets::host_sets;
pub(crate) use self::spread::Spread;
use crate::backing::Backing;
use crate::front::gateway::rejected;
use crate::front::kuadrant_policy::{DEFAULT, applied, is_default_policy, spec_of};
use crate::output::{ChildSeed, Claim, Outcome, Output};
use crate::place::{Place, Scope};
use crate::probe::ProbeSpec;
use crate::rank::Rank;
use crate::tenancy::{NotGranted, Refusal};
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
    /// What stands behind the classes among those places.
    pub(crate) backings: BTreeMap<Arc<str>, Backing>,
    /// How many listeners are for hosts that are not.
    pub(crate) left_alone: usize,
    /// The clusters, with their weight and place.
    pub(crate) clusters: Vec<(Arc<str>, u32, Option<Geo>)>,
    /// What the names are answered by, to be remembered.
    pub(crate) spreads: Vec<Spread>,
    /// Why the clusters cannot be answered with as the policy says: then what was answered before stays.
    pub(crate) trouble: Option<Trouble>,
    /// What there is no answer for and never was as far as is remembered: class, zone and host. An earlier
    /// process may have had one, which stays.
    pub(crate) starved: Vec<(Arc<str>, Name, Name)>,
    pub(crate) problems: BTreeSet<ListenerProblem>,
    /// What was not used, each in a sentence.
    pub(crate) remarks: Vec<String>,
    /// What is ignored of the addresses in its status.
    pub(crate) rejected: Option<Box<str>>,
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
    NotGranted(Name, NotGranted),
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
    outcome.rejected = rejected(object);
    outcome.trouble = trouble(spec, &clusters);
    outcome.spreads = spreads(spec, clusters, &outcome, || earlier(view, object, policy.map(|(_, one)| one)));
    let mut output = Output::new(Outcome::Silent);
    for (host, scope) in outcome.managed.clone() {
        for set in sets(view, &host, &scope, &mut outcome) {
            match claim(view, object, set, &scope) {
                Ok(claim) => output.claims.push(claim),
                Err(problem) => drop(outcome.problems.insert(problem)),
            }
        }
    }
    keep_probes(&output.claims, &mut outcome.probes);
    outcome.starved = starved(view, &outcome, &output.claims);
    output.children.extend(seeds(view, &output.claims));
    output.outcome = Outcome::Listeners(Box::new(outcome));
    output
}

/// What the names are answered by: the clusters as they are. Where these cannot be answered with as the policy
/// says, each name keeps what it was answered by before, and a new one gets all clusters anyhow.
fn spreads(
    policy: &KuadrantDNSPolicySpec,
    clusters: Vec<Cluster>,
    outcome: &ListenersOutcome,
    earlier: impl FnOnce() -> Vec<Spread>,
) -> Vec<Spread> {
    let anyhow = outcome.trouble.is_some();
    let mut names: BTreeSet<Name> = outcome.managed.iter().map(|(host, _)| host.clone()).collect();
    let mut spreads = if anyhow { earlier() } else { Vec::new() };
    for spread in &mut spreads {
        spread.names.retain(|name| names.remove(name));
    }
    if !clusters.is_empty() {
        let (default, health) = (default_geo(policy), policy.health.clone());
        spreads.push(Spread { names, clusters, default, health, anyhow });
    }
    spreads.retain(|spread| !spread.names.is_empty());
    spreads
}

/// What the names were answered by, as this process remembers it; else as the policy's status says.
fn earlier(view: &View<'_>, object: &Object, policy: Option<&Object>) -> Vec<Spread> {
    let own = view.placed(object).spreads;
    let Some(policy) = policy.filter(|_| own.is_empty()) else { return own };
    let published = view.published_answers(policy).iter().cloned();
    published.filter_map(|answers| Spread::try_from(answers).ok()).collect()
}

fn sets(view: &View<'_>, host: &Name, scope: &Scope, outcome: &mut ListenersOutcome) -> Vec<RecordSet> {
    let spread = outcome.spreads.iter().find(|spread| spread.names.contains(host));
    let as_tree = scope.class().is_some_and(|class| external(view, class).is_some());
    let (sets, probes) = spread.map(|spread| host_sets(host, spread, as_tree)).unwrap_or_default();
    outcome.probes.extend(probes);
    sets
}

/// The names of classes that a gateway without addresses has no answer for.
fn starved(view: &View<'_>, outcome: &ListenersOutcome, claims: &[Claim]) -> Vec<(Arc<str>, Name, Name)> {
    let is_answered =
        |host: &Name, scope: &Scope| claims.iter().any(|claim| claim.name == *host && claim.scope == *scope);
    let name = |(host, scope): &(Name, Scope)| {
        let (origin, _) = zone(view, host, scope).ok()?;
        (!is_answered(host, scope)).then_some((scope.class()?.into(), origin, host.clone()))
    };
    match outcome.trouble {
        Some(_) => outcome.managed.iter().filter_map(name).collect(),
        None => Vec::new(),
    }
}

/// The probes of the claims, each once.
fn keep_probes(claims: &[Claim], probes: &mut Vec<ProbeSpec>) {
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
        let Some(host) = Name::parse(text).ok().filter(|host| dns::reserved_name(host).is_none()) else {
            outcome.problems.insert(ListenerProblem::BadName(text.as_str().into()));
            continue;
        };
        let scopes = scopes(view, &host);
        outcome.left_alone += usize::from(scopes.is_empty());
        managed.extend(scopes.into_iter().map(|scope| (scope, host.clone())));
    }
    outcome.managed = managed.into_iter().map(|(scope, host)| (host, scope)).collect();
    let classes = outcome.managed.iter().filter_map(|(_, scope)| scope.class());
    let backing = |class: &str| Some((Arc::from(class), view.class(class).and_then(Backing::of)?));
    outcome.backings = classes.filter_map(backing).collect();
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
    let refused = |refusal| match refusal {
        Refusal::NotDelegated(zone) => ListenerProblem::NotDelegated(set.name.clone(), set.rtype, zone),
        Refusal::NotGranted(reason) => ListenerProblem::NotGranted(set.name.clone(), reason),
    };
    let entitled = view.permit(object, zone.map(|zone| &**zone), &set.name, set.rtype).map_err(refused)?;
    if set.rtype == Rtype::CNAME && set.name == origin {
        return Err(ListenerProblem::ApexAlias(set.name));
    }
    let RecordSet { name, rtype, ttl, data, steering } = set;
    Ok(Claim {
        zone: origin,
        name,
        rtype,
        ttl,
        data,
        steering,
        scope: scope.clone(),
        shared: false,
        entitled,
    })
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
