//! The front-ends: from one object to claims, child objects and an outcome.

pub(crate) mod dns_endpoint;
pub(crate) mod dns_policy;
pub(crate) mod dns_record;
pub(crate) mod gateway;
pub(crate) mod kuadrant_policy;
pub(crate) mod listener_gateway;
pub(crate) mod placement;
pub(crate) mod record;
pub(crate) mod service_route;
pub(crate) mod steered;
pub(crate) mod zone;

use api::router::{ClusterIdentitySpec, DNSConfigurationSpec};
use api::{Object, Spec};

use crate::backing::Backing;
use crate::output::{Claim, Outcome, Output};
use crate::snapshot::Id;
use crate::terms::Terms;
use crate::view::View;

/// Evaluates one object.
pub(crate) fn evaluate(view: &View<'_>, id: Id, object: &Object) -> Output {
    let mut output = evaluate_by_kind(view, id, object);
    // Validation refuses these with the field; here they are dropped whatever they came from.
    output.claims.retain(|claim| !is_reserved(claim));
    if !output.claims.is_empty() {
        output.terms = Terms::of(view, object);
    }
    output
}

/// Whether a claim is to what ownership records are kept under, or looks like one.
fn is_reserved(claim: &Claim) -> bool {
    dns::reserved_name(&claim.name).is_some()
        || claim.data.iter().any(|data| dns::reserved_data(data).is_some())
}

fn evaluate_by_kind(view: &View<'_>, id: Id, object: &Object) -> Output {
    match &object.spec {
        Spec::ClusterIdentity(spec) => identity(view, spec),
        Spec::DNSConfiguration(spec) => configuration(view, spec),
        Spec::Gateway(spec) => gateway::evaluate(view, object, spec),
        Spec::DNSPolicy(spec) => dns_policy::evaluate(view, object, spec),
        Spec::ServiceRoute(spec) => service_route::evaluate(view, object, spec),
        Spec::Zone(spec) => zone::evaluate(view, id, object, spec),
        Spec::Record(spec) => record::evaluate(view, object, spec),
        Spec::DNSEndpoint(spec) => dns_endpoint::evaluate(view, object, spec),
        Spec::DNSRecord(spec) => dns_record::evaluate(view, object, spec),
        Spec::Placement(spec) => placement::evaluate(view, object, spec),
        Spec::DNSClass(spec) => Output::new(Backing::of(spec).map_or(Outcome::Silent, Outcome::Class)),
        Spec::KuadrantDNSPolicy(spec) => kuadrant_policy::evaluate(view, object, spec),
        Spec::Namespace(_) => namespace(object),
        Spec::ListenerGateway(gateway) => listener_gateway::evaluate(view, object, gateway),
        _ => Output::new(Outcome::Silent),
    }
}

fn namespace(object: &Object) -> Output {
    let (_, problems) = api::granted_domains(&object.meta);
    match problems.is_empty() {
        true => Output::new(Outcome::Silent),
        false => Output::new(Outcome::Namespace(problems.into())),
    }
}

fn identity(view: &View<'_>, spec: &ClusterIdentitySpec) -> Output {
    let served = view.controllers();
    let is_served = |region: &str| match served {
        Some(controllers) => controllers.iter().any(|controller| *controller.region == *region),
        None => true,
    };
    let unserved = spec.adopts_regions.iter().filter(|region| !is_served(region));
    Output::new(Outcome::Identity(unserved.map(|region| (**region).into()).collect()))
}

fn configuration(view: &View<'_>, spec: &DNSConfigurationSpec) -> Output {
    let classes =
        spec.external_dns_controllers.iter().filter_map(|controller| controller.dns_class_ref.as_ref());
    let missing = classes.filter(|class| view.class(&class.name).is_none());
    Output::new(Outcome::Configuration(missing.map(|class| (*class.name).into()).collect()))
}
