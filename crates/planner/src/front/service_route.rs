//! ServiceRoute: one CNAME per active controller, and a host for its gateway (document 000).

use api::router::{GatewaySpec, ServiceRouteSpec};
use api::{Kind, Object, Spec};
use dns::{Name, NameError, Rtype};

use crate::facts::Index;
use crate::front::dns_policy::{self, PolicyState};
use crate::identity::{Controller, Identity, Target};
use crate::output::{ChildSeed, Claim, Outcome, Output};
use crate::place::Scope;
use crate::rank::Rank;
use crate::snapshot::Id;
use crate::view::View;

/// How a route fared, conflicts and a full gateway apart: those show only among all routes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RouteOutcome {
    Active {
        host: Name,
    },
    NoPolicy,
    PolicyInactive {
        host: Option<Name>,
        why: Box<PolicyState>,
    },
    NoGateway,
    /// The gateway's postfix belongs to another controller's gateway.
    GatewayConflict(Box<Rank>),
    NoIdentity,
    BadHost(Box<NameError>),
    /// The name of its gateway is too long.
    BadTarget(Box<NameError>),
    /// Its host is the apex of this zone, and an apex cannot be an alias (RFC 1912 section 2.4).
    AtApex(Box<Rank>),
}

pub(crate) fn evaluate(view: &View<'_>, object: &Object, spec: &ServiceRouteSpec) -> Output {
    let policy = dns_policy::applied(view, &object.meta.namespace);
    let (gateway_id, gateway) = gateway(view, spec).unzip();
    let identity = view.identity();
    let mut output = Output::new(Outcome::Route(RouteOutcome::NoPolicy));
    let host = match (identity, gateway) {
        (Some(identity), Some(gateway)) => route_and_target(view, identity, spec, gateway),
        _ => None,
    };
    if let Some(Ok((host, _))) = &host {
        output.host = gateway_id.and_then(|id| view.key(id)).map(|key| (key, host.clone()));
    }
    let outcome = match (policy, gateway, host) {
        (None, ..) => RouteOutcome::NoPolicy,
        (Some((why, _)), _, host) if stands_in_the_way(&why) => {
            let host = host.and_then(Result::ok).map(|(host, _)| host);
            RouteOutcome::PolicyInactive { host, why: Box::new(why) }
        }
        (_, None, _) => RouteOutcome::NoGateway,
        (_, _, None) => RouteOutcome::NoIdentity,
        (_, _, Some(Err(outcome))) => outcome,
        (Some((_, controllers)), Some(gateway), Some(Ok((host, target)))) => {
            match (holder_of_postfix(view, gateway), zone_at(view, &host)) {
                (Some(rank), _) => RouteOutcome::GatewayConflict(Box::new(rank)),
                (_, Some(rank)) => RouteOutcome::AtApex(Box::new(rank)),
                _ => {
                    add_claims(view, &mut output, &controllers, &host, target);
                    RouteOutcome::Active { host }
                }
            }
        }
    };
    if let (true, Some((_, host))) = (output.claims.is_empty(), &output.host) {
        // Another policy, gateway or region may give it its records any time.
        let zone = view.zone_of_route(host, &Scope::Everywhere);
        let reservation = zone.map(|zone| Claim::reservation(&zone.origin, host));
        output.claims.extend(reservation);
    }
    output.outcome = Outcome::Route(outcome);
    output
}

/// A policy that is undecided because the identity is missing leaves the word to gateway and identity.
fn stands_in_the_way(state: &PolicyState) -> bool {
    !matches!(state, PolicyState::Active | PolicyState::NoIdentity)
}

fn gateway<'a>(view: &View<'a>, spec: &ServiceRouteSpec) -> Option<(Id, &'a GatewaySpec)> {
    match view.get(Kind::Gateway, &spec.gateway_namespace, &spec.gateway_name)? {
        (id, Object { spec: Spec::Gateway(gateway), .. }) => Some((id, gateway)),
        _ => None,
    }
}

fn route_and_target<'a>(
    view: &View<'a>,
    identity: &Identity,
    spec: &ServiceRouteSpec,
    gateway: &GatewaySpec,
) -> Option<Result<(Name, &'a Target), RouteOutcome>> {
    let host = identity.route_host(&spec.service_name, &spec.environment, &spec.application);
    let target = view.target(&gateway.target_postfix)?;
    Some(match (host, target) {
        (Err(error), _) => Err(RouteOutcome::BadHost(Box::new(error))),
        (_, Err(error)) => Err(RouteOutcome::BadTarget(Box::new(error.clone()))),
        (Ok(host), Ok(target)) => Ok((host, target)),
    })
}

/// The gateway before it that has this postfix for another controller, if there is one: the target
/// name leads to that one, so a route must not be sent there.
pub(crate) fn holder_of_postfix(view: &View<'_>, gateway: &GatewaySpec) -> Option<Rank> {
    let (rank, oldest) = view.first(Index::Gateways(view.cluster, (*gateway.target_postfix).into()))?;
    match &oldest.spec {
        Spec::Gateway(holder) if holder.controller != gateway.controller => Some(rank.clone()),
        _ => None,
    }
}

/// The zone whose apex the name is.
fn zone_at(view: &View<'_>, name: &Name) -> Option<Rank> {
    let zone = view.zones_around(name).next()?;
    (zone.origin == *name).then(|| zone.rank.clone())
}

fn add_claims(
    view: &View<'_>,
    output: &mut Output,
    controllers: &[&Controller],
    host: &Name,
    target: &Target,
) {
    for controller in controllers {
        let scope = Scope::At(controller.place.clone());
        let Some(zone) = view.zone_of_route(host, &scope) else { continue };
        let ttl = view.ttl(Some(zone), &scope);
        let first = output.claims.len() as u16;
        let (zone, name) = (zone.origin.clone(), host.clone());
        output.claims.push(Claim {
            zone,
            name,
            rtype: Rtype::CNAME,
            ttl,
            data: target.alias.clone(),
            steering: None,
            scope,
            shared: false,
            entitled: false,
        });
        let delivery = view.delivery(&controller.place);
        let (controller, region) = (controller.name.clone(), controller.region.clone());
        output.children.push(ChildSeed { controller, region, gateway: None, first, count: 1, delivery });
    }
}
