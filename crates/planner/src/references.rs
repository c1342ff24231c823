//! The references of an object to other objects, and which of them an edit leaves without a target.
//!
//! A reference is told apart by its field. Members of a list are told apart by their name, so that a
//! field means the same in two versions of an object.

use api::kubizone::ZoneRef;
use api::placement::{PlacementSpec, RegionRef};
use api::{DNSClassRef, Kind, Object, Spec};

use crate::front::gateway::load_balancer;
use crate::input::ObjectRef;
use crate::view::View;

/// One reference of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    /// The field that holds it, such as `spec.dnsClassRef`.
    field: String,
    target: Target,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Target {
    Object(ObjectRef),
    /// The load balancer of an ingress controller, which is found by name or by label.
    LoadBalancer(String),
}

/// A reference whose target does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Missing {
    /// The condition's reason.
    pub(crate) reason: &'static str,
    /// The field and the missing target.
    pub(crate) message: String,
}

/// The references of an object, in the order of its fields.
pub(crate) fn references(object: &Object) -> Vec<Reference> {
    match &object.spec {
        Spec::ServiceRoute(spec) => {
            let (namespace, name) = (&*spec.gateway_namespace, &*spec.gateway_name);
            vec![to_object("spec.gatewayName", Kind::Gateway, namespace, name)]
        }
        Spec::Gateway(spec) => {
            let target = Target::LoadBalancer(spec.controller.to_string());
            vec![Reference { field: "spec.controller".to_owned(), target }]
        }
        Spec::DNSConfiguration(spec) => {
            let controllers = spec.external_dns_controllers.iter();
            let class = |one: &api::router::ExternalDNSController| {
                let field = format!("spec.externalDNSControllers[{}].dnsClassRef", one.name);
                one.dns_class_ref.as_ref().map(|class| to_class(field, class))
            };
            controllers.filter_map(class).collect()
        }
        Spec::DNSRecord(spec) => vec![to_class("spec.dnsClassRef", &spec.dns_class_ref)],
        Spec::Placement(spec) => of_placement(object, spec),
        Spec::Zone(spec) => {
            let parent = spec.zone_ref.as_ref().map(|zone| to_zone(object, zone));
            let class = spec.dns_class_ref.as_ref().map(|class| to_class("spec.dnsClassRef", class));
            parent.into_iter().chain(class).collect()
        }
        Spec::Record(spec) => spec.zone_ref.iter().map(|zone| to_zone(object, zone)).collect(),
        Spec::KuadrantDNSPolicy(spec) => {
            let (namespace, name) = (&object.meta.namespace, &spec.target_ref.name);
            vec![to_object("spec.targetRef", Kind::ListenerGateway, namespace, name)]
        }
        _ => Vec::new(),
    }
}

fn of_placement(object: &Object, spec: &PlacementSpec) -> Vec<Reference> {
    let class = spec.dns_class_ref.iter().map(|class| to_class("spec.dnsClassRef", class));
    let region = |region: &api::placement::Region| {
        let field = format!("spec.regions[{}].ref", region.name);
        region.reference.as_ref().map(|reference| to_region(object, field, reference))
    };
    class.chain(spec.regions.iter().filter_map(region)).collect()
}

fn to_region(object: &Object, field: String, reference: &RegionRef) -> Reference {
    let namespace = reference.namespace.as_deref().unwrap_or(&object.meta.namespace);
    to_object(field, region_kind(reference), namespace, &reference.name)
}

/// The kind of the object that a region of a Placement refers to.
pub(crate) fn region_kind(reference: &RegionRef) -> Kind {
    match (&*reference.group, &*reference.kind) {
        ("", "Service") => Kind::Service,
        ("routing.router.io", "Gateway") => Kind::Gateway,
        _ => Kind::ListenerGateway,
    }
}

fn to_class(field: impl Into<String>, class: &DNSClassRef) -> Reference {
    to_object(field, Kind::DNSClass, "", &class.name)
}

fn to_zone(from: &Object, zone: &ZoneRef) -> Reference {
    let namespace = zone.namespace.as_deref().unwrap_or(&from.meta.namespace);
    to_object("spec.zoneRef", Kind::Zone, namespace, &zone.name)
}

fn to_object(field: impl Into<String>, kind: Kind, namespace: &str, name: &str) -> Reference {
    let target = Target::Object(ObjectRef { kind, namespace: namespace.into(), name: name.into() });
    Reference { field: field.into(), target }
}

/// Whether an edit names a target that the version in force does not name.
pub(crate) fn names_another(in_force: &Object, edited: &Object) -> bool {
    let edited = references(edited);
    if edited.is_empty() {
        return false;
    }
    let before = references(in_force);
    edited.iter().any(|reference| !before.contains(reference))
}

/// The references that an edit makes point nowhere.
///
/// A field whose target is missing in the version in force as well is none of them: the edit takes
/// nothing away there.
pub(crate) fn missing(view: &View<'_>, in_force: &Object, edited: &Object) -> Vec<Missing> {
    let before = references(in_force);
    let had_target = |field: &str| {
        let old = before.iter().find(|old| old.field == *field);
        old.is_none_or(|old| exists(view, in_force, old))
    };
    let new = references(edited).into_iter().filter(|reference| !before.contains(reference));
    let dangling = new.filter(|reference| had_target(&reference.field) && !exists(view, edited, reference));
    dangling.map(|reference| describe(view, edited, &reference)).collect()
}

/// Whether the target has a version that is in force.
fn exists(view: &View<'_>, object: &Object, reference: &Reference) -> bool {
    match (&reference.target, &object.spec) {
        (Target::Object(ObjectRef { kind, namespace, name }), _) => {
            view.get(*kind, namespace, name).is_some()
        }
        (Target::LoadBalancer(_), Spec::Gateway(spec)) => load_balancer(view, object, spec).is_some(),
        (Target::LoadBalancer(_), _) => true,
    }
}

fn describe(view: &View<'_>, object: &Object, reference: &Reference) -> Missing {
    let (reason, absence) = match &reference.target {
        Target::LoadBalancer(controller) => {
            ("ServiceNotFound", format!("there is no LoadBalancer Service for controller {controller}"))
        }
        Target::Object(target) => (reason(object.kind(), target.kind), view.absence(target)),
    };
    Missing { reason, message: format!("{}: {absence}", reference.field) }
}

fn reason(of: Kind, target: Kind) -> &'static str {
    match (of, target) {
        (Kind::KuadrantDNSPolicy, _) => "TargetNotFound",
        (_, Kind::DNSClass) => "DNSClassNotFound",
        (_, Kind::Zone) => "ZoneNotFound",
        (_, Kind::Service) => "ServiceNotFound",
        _ => "GatewayNotFound",
    }
}
