//! Gateway: the addresses of its target name, in the zones of every controller (document 000).
//!
//! Gateways with one controller and postfix share a target name. The first of them that has an
//! address, the lead, makes the claims and the DNSEndpoints; those of its namespace own them together.
//! A gateway of another namespace than the first one's leads only with a Service that the platform team
//! decides about: the target name belongs to the first one's namespace.

use std::net::IpAddr;
use std::sync::Arc;

use api::foreign::Service;
use api::router::GatewaySpec;
use api::{Kind, Object, Spec};
use dns::{Name, NameError, Rdata, Rtype};

use crate::facts::{Index, is_load_balancer};
use crate::front::service_route::holder_of_postfix;
use crate::output::{ChildSeed, Claim, Outcome, Output};
use crate::place::Scope;
use crate::rank::{Rank, Reason};
use crate::view::View;

/// How a gateway fared, its routes apart: those show only in the set of its hosts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GatewayOutcome {
    pub(crate) state: GatewayState,
    /// The first address, or the host name, of its load balancer.
    pub(crate) address: Option<Box<str>>,
    /// Its load balancer, as `namespace/name`.
    pub(crate) service: Option<Box<str>>,
    /// Addresses and a host name came together; the addresses won.
    pub(crate) host_name_ignored: Option<Box<str>>,
    /// What is ignored of the load balancer's status.
    pub(crate) rejected: Option<Box<str>>,
    /// Those that own the DNSEndpoints together with it, itself included; empty for all but the lead.
    pub(crate) owners: Vec<GatewayOwner>,
}

/// A gateway that owns DNSEndpoints.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct GatewayOwner {
    pub(crate) name: Arc<str>,
    pub(crate) uid: Option<Box<str>>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum GatewayState {
    Ready {
        host: Name,
    },
    NoIdentity,
    NoAddress {
        host: Name,
    },
    /// A gateway of another controller has the target name.
    Conflict {
        host: Name,
        holder: Rank,
        reason: Reason,
    },
    /// A gateway of another namespace has the target name, with another load balancer.
    ForeignName {
        host: Name,
        holder: Rank,
        reason: Reason,
    },
    BadHost(NameError),
}

pub(crate) fn evaluate(view: &View<'_>, object: &Object, spec: &GatewaySpec) -> Output {
    let service = load_balancer(view, object, spec);
    let targets = service.and_then(load_balancer_of).map(targets).unwrap_or_default();
    let mut outcome = GatewayOutcome {
        state: GatewayState::NoIdentity,
        address: targets.first.clone(),
        service: service.map(|service| format!("{}/{}", service.meta.namespace, service.meta.name).into()),
        host_name_ignored: targets.ignored.clone(),
        rejected: service.and_then(rejected),
        owners: Vec::new(),
    };
    let mut output = Output::new(Outcome::Silent);
    let reason = |holder: &Rank| {
        let index = Index::Gateways(view.cluster, (*spec.target_postfix).into());
        view.reason(&index, holder, &Rank::of(view.cluster, object))
    };
    if let Some(identity) = view.identity() {
        outcome.state = match identity.gateway_host(&spec.target_postfix) {
            Err(error) => GatewayState::BadHost(error),
            Ok(host) => match (holder_of_postfix(view, spec), foreign_holder(view, object, spec)) {
                (Some(holder), _) => {
                    let reason = reason(&holder);
                    GatewayState::Conflict { host, holder, reason }
                }
                (None, Some(holder)) => {
                    let reason = reason(&holder);
                    GatewayState::ForeignName { host, holder, reason }
                }
                (None, None) if targets.sets.is_empty() => {
                    let zone = view.zone_of_route(&host, &Scope::Everywhere);
                    let zone = zone.filter(|_| keeps_the_name(view, object, spec));
                    output.claims.extend(zone.map(|zone| Claim::reservation(&zone.origin, &host)));
                    GatewayState::NoAddress { host }
                }
                (None, None) => {
                    outcome.owners = owners(view, object, spec);
                    if !outcome.owners.is_empty() {
                        add_claims(view, &mut output, spec, &host, &targets.sets);
                    }
                    GatewayState::Ready { host }
                }
            },
        };
    }
    output.outcome = Outcome::Gateway(Box::new(outcome));
    output
}

/// Whether a gateway without an address keeps the target name: the oldest of those that share it, while none of
/// them has an address.
fn keeps_the_name(view: &View<'_>, object: &Object, spec: &GatewaySpec) -> bool {
    let sharing = sharing(view, spec);
    let is_first = sharing.first().is_some_and(|(_, first)| first.meta == object.meta);
    is_first && lead(view, &sharing, spec).is_none()
}

/// The gateways of this cluster with the controller and postfix of one, the oldest first.
fn sharing<'a>(view: &View<'a>, spec: &GatewaySpec) -> Vec<(&'a Rank, &'a Object)> {
    let shares =
        |other: &&Object| matches!(&other.spec, Spec::Gateway(of) if of.controller == spec.controller);
    let members = view.list(Index::Gateways(view.cluster, (*spec.target_postfix).into()));
    members.into_iter().filter(|(_, other)| shares(other)).collect()
}

/// The gateway whose addresses the target name has, and its Service.
fn lead<'a>(
    view: &View<'a>,
    sharing: &[(&'a Rank, &'a Object)],
    spec: &GatewaySpec,
) -> Option<(&'a Rank, &'a Object, &'a Object)> {
    let (first, _) = sharing.first()?;
    let named = &view.rules().gateway_service_namespaces;
    let may_lead = |gateway: &Object, service: &Object| {
        gateway.meta.namespace == first.namespace || named.contains(&service.meta.namespace)
    };
    sharing.iter().find_map(|(rank, gateway)| {
        let service = addressed(view, gateway, spec).filter(|service| may_lead(gateway, service))?;
        Some((*rank, *gateway, service))
    })
}

/// The Service of a gateway, where it has addresses.
fn addressed<'a>(view: &View<'a>, gateway: &Object, spec: &GatewaySpec) -> Option<&'a Object> {
    let has_targets =
        |object: &&Object| load_balancer_of(object).is_some_and(|service| !targets(service).sets.is_empty());
    load_balancer(view, gateway, spec).filter(has_targets)
}

/// The gateway of another namespace that has the target name, where this one's Service would give it other
/// addresses.
fn foreign_holder(view: &View<'_>, object: &Object, spec: &GatewaySpec) -> Option<Rank> {
    let own = addressed(view, object, spec)?;
    let sharing = sharing(view, spec);
    let (holder, service) = match lead(view, &sharing, spec) {
        Some((rank, _, service)) => (rank, Some(service)),
        None => (sharing.first()?.0, None),
    };
    let is_shared = service.is_some_and(|service| service.meta == own.meta);
    (holder.namespace != object.meta.namespace && !is_shared).then(|| holder.clone())
}

/// The gateways that own the DNSEndpoints, where `object` is the lead; nothing where it is not.
fn owners(view: &View<'_>, object: &Object, spec: &GatewaySpec) -> Vec<GatewayOwner> {
    let sharing = sharing(view, spec);
    if lead(view, &sharing, spec).is_none_or(|(_, lead, _)| lead.meta != object.meta) {
        return Vec::new();
    }
    let beside = |(_, other): &&(&Rank, &Object)| other.meta.namespace == object.meta.namespace;
    let owner = |(_, other): &(&Rank, &Object)| GatewayOwner {
        name: other.meta.name.clone(),
        uid: other.meta.uid.clone(),
    };
    let mut owners: Vec<_> = sharing.iter().filter(beside).map(owner).collect();
    owners.sort();
    owners
}

fn add_claims(
    view: &View<'_>,
    output: &mut Output,
    spec: &GatewaySpec,
    host: &Name,
    sets: &[(Rtype, Arc<[Rdata]>)],
) {
    let gateway: Box<str> = format!("{}-{}", spec.controller, spec.target_postfix).into();
    for controller in view.controllers().unwrap_or_default() {
        let scope = Scope::At(controller.place.clone());
        let Some(zone) = view.zone_of_route(host, &scope) else { continue };
        let ttl = view.ttl(Some(zone), &scope);
        let first = output.claims.len() as u16;
        for (rtype, data) in sets {
            let (zone, name, data) = (zone.origin.clone(), host.clone(), data.clone());
            output.claims.push(Claim {
                zone,
                name,
                rtype: *rtype,
                ttl,
                data,
                steering: None,
                scope: scope.clone(),
                shared: false,
                entitled: false,
            });
        }
        let delivery = view.delivery(&controller.place);
        let (controller, region) = (controller.name.clone(), controller.region.clone());
        output.children.push(ChildSeed {
            controller,
            region,
            gateway: Some(gateway.clone()),
            first,
            count: sets.len() as u16,
            delivery,
        });
    }
}

/// The Service of the gateway: by name beside it, else by label beside it, else by label in the namespaces that the command line names, the oldest first.
///
/// A label is free for everyone to set, so only the namespaces that the platform team named are looked in.
pub(crate) fn load_balancer<'a>(view: &View<'a>, object: &Object, spec: &GatewaySpec) -> Option<&'a Object> {
    let namespace = &object.meta.namespace;
    let labelled = |namespace: &Arc<str>| {
        let index = Index::LoadBalancers(view.cluster, namespace.clone(), (*spec.controller).into());
        view.first(index)
    };
    let named = view.get(Kind::Service, namespace, &spec.controller).map(|(_, object)| object);
    let named = named.filter(|object| load_balancer_of(object).is_some_and(is_load_balancer));
    let elsewhere = || {
        let found = view.rules().gateway_service_namespaces.iter().filter_map(labelled);
        found.min_by_key(|(rank, _)| *rank).map(|(_, object)| object)
    };
    named.or_else(|| labelled(namespace).map(|(_, object)| object)).or_else(elsewhere)
}

/// What is to be said of addresses in an object's status that are none.
pub(crate) fn rejected(object: &Object) -> Option<Box<str>> {
    let text = || format!("{} {}/{}", object.kind().kind(), object.meta.namespace, object.meta.name);
    Some(object.rejected_addresses()?.warning(&text())?.into())
}

pub(crate) fn load_balancer_of(object: &Object) -> Option<&Service> {
    match &object.spec {
        Spec::Service(service) => Some(service),
        _ => None,
    }
}

/// What a load balancer's ingress entries come to as record data.
#[derive(Default)]
struct Targets {
    sets: Vec<(Rtype, Arc<[Rdata]>)>,
    first: Option<Box<str>>,
    ignored: Option<Box<str>>,
}

fn targets(service: &Service) -> Targets {
    let addresses: Vec<IpAddr> =
        service.ingress.iter().filter_map(|entry| entry.ip.as_deref()?.parse().ok()).collect();
    let host_name = service.ingress.iter().find_map(|entry| entry.hostname.as_deref());
    if addresses.is_empty() {
        let name = host_name.and_then(|text| Name::parse(text).ok());
        let sets = name.map(|name| (Rtype::CNAME, Arc::from([Rdata::name(Rtype::CNAME, &name)])));
        return Targets { sets: sets.into_iter().collect(), first: host_name.map(Into::into), ignored: None };
    }
    let first = addresses.first().map(|address| address.to_string().into());
    let ignored = host_name.map(Into::into);
    Targets { sets: address_sets(&addresses), first, ignored }
}

fn address_sets(addresses: &[IpAddr]) -> Vec<(Rtype, Arc<[Rdata]>)> {
    let data = |address: &IpAddr| match address {
        IpAddr::V4(address) => Rdata::a(*address),
        IpAddr::V6(address) => Rdata::aaaa(*address),
    };
    let mut all: Vec<_> = addresses.iter().map(data).collect();
    all.sort();
    all.dedup();
    all.chunk_by(|one, other| one.rtype() == other.rtype())
        .map(|set| (set[0].rtype(), Arc::from(set)))
        .collect()
}
