//! The words for the router family, as document 000 has them.

use api::{Kind, Spec};

use super::published::published;
use crate::front::dns_policy::{PolicyOutcome, PolicyState};
use crate::front::gateway::{GatewayOutcome, GatewayState};
use crate::front::service_route::RouteOutcome;
use crate::hosts::LIMIT;
use crate::input::ObjectRef;
use crate::note::{Note, Severity};
use crate::planner::Planner;
use crate::setting::Setting;
use crate::snapshot::{Entry, Id};

pub(crate) fn identity(unserved: &[Box<str>]) -> Vec<Note> {
    let mut notes = vec![Note::ready("ValidationSucceeded", "ClusterIdentity is valid")];
    if !unserved.is_empty() {
        let message = format!(
            "no controller of the DNSConfiguration serves {}, which adoptsRegions lists; it is skipped",
            unserved.join(", ")
        );
        notes.push(Note::lacking("AdoptedRegionsServed", "NoControllerForRegion", message));
    }
    notes
}

pub(crate) fn configuration(planner: &Planner, entry: &Entry, missing: &[Box<str>]) -> Vec<Note> {
    if missing.is_empty() {
        return vec![Note::ready("ConfigurationValid", "DNSConfiguration is valid")];
    }
    let absence = |class: &str| {
        let reference = ObjectRef { kind: Kind::DNSClass, namespace: "".into(), name: class.into() };
        planner.snapshot.absence(entry.key.cluster, &reference)
    };
    let message = format!(
        "{}; what is addressed to its controllers is not delivered; create it or correct dnsClassRef",
        missing.iter().map(|class| absence(class)).collect::<Vec<_>>().join(", ")
    );
    vec![Note::waiting("DNSClassNotFound", message)]
}

pub(crate) fn policy(planner: &Planner, entry: &Entry, outcome: &PolicyOutcome) -> Note {
    match &outcome.state {
        PolicyState::Active => Note::ready("PolicyActive", "DNSPolicy is active for this cluster"),
        PolicyState::Conflicted(holder, reason) => {
            let message = format!(
                "DNSPolicy {holder} of this namespace applies, which {reason}; remove one of the two"
            );
            Note::waiting("Conflicted", message)
        }
        // A policy that another cluster serves is as it should be here, so it is ready.
        PolicyState::OtherRegion { .. } | PolicyState::OtherCluster { .. } => {
            Note::ready("PolicyInactive", inactive(planner, entry, &outcome.state))
        }
        state => Note::waiting(missing_reason(state), inactive(planner, entry, state)),
    }
}

fn missing_reason(state: &PolicyState) -> &'static str {
    match state {
        PolicyState::NoIdentity => "ClusterIdentityNotFound",
        PolicyState::NoConfiguration => "DNSConfigurationNotFound",
        _ => "NoMatchingController",
    }
}

fn no_identity(planner: &Planner, entry: &Entry) -> String {
    planner.absent(entry.key.cluster, (Kind::ClusterIdentity, "", "cluster-identity"), "")
}

/// Why a policy does nothing here.
fn inactive(planner: &Planner, entry: &Entry, state: &PolicyState) -> String {
    match state {
        PolicyState::NoIdentity => no_identity(planner, entry),
        PolicyState::NoConfiguration => {
            planner.absent(entry.key.cluster, (Kind::DNSConfiguration, "", "dns-config"), "")
        }
        PolicyState::NoMatch(regions) => {
            format!(
                "no controller of the DNSConfiguration serves {}; add one with that region",
                regions.join(", ")
            )
        }
        PolicyState::OtherRegion { wanted, own } => {
            format!(
                "DNSPolicy is inactive in this cluster: sourceRegion is {wanted} and this cluster is in {own}"
            )
        }
        PolicyState::OtherCluster { wanted, own } => {
            format!(
                "DNSPolicy is inactive in this cluster: sourceCluster is {wanted} and this cluster is {own}"
            )
        }
        PolicyState::Conflicted(holder, _) => format!("DNSPolicy {holder} applies"),
        PolicyState::Active => "DNSPolicy is active for this cluster".to_owned(),
    }
}

pub(crate) fn gateway(planner: &Planner, id: Id, entry: &Entry, outcome: &GatewayOutcome) -> Vec<Note> {
    let mut notes = gateway_ready(planner, id, entry, outcome);
    if let Some(Spec::Gateway(spec)) = entry.object.as_ref().map(|object| &object.spec)
        && spec.credential_name.is_none()
    {
        let message = "spec.credentialName is not set, so the Istio Gateway has no certificate";
        notes.push(Note::lacking("TLSConfigured", "NoCredentialName", message));
    }
    if let Some(host) = &outcome.host_name_ignored {
        let message =
            format!("the load balancer has addresses and the host name {host}; the addresses are used");
        notes.push(Note::lacking("HostNameUsed", "AddressesWin", message));
    }
    if let Some(rejected) = &outcome.rejected {
        notes.push(Note::lacking("AddressesValid", "InvalidAddress", &**rejected));
    }
    notes.extend(published(planner, id));
    notes
}

fn gateway_ready(planner: &Planner, id: Id, entry: &Entry, outcome: &GatewayOutcome) -> Vec<Note> {
    if let Some(message) = planner.conflict(id) {
        return Note::stalled("NameConflict", message);
    }
    let waiting = |reason, message: &str| vec![Note::waiting(reason, message)];
    match &outcome.state {
        GatewayState::BadHost(error) => Note::stalled("InvalidHostname", bad_host(GATEWAY_PARTS, error)),
        GatewayState::Conflict { host, holder, reason } => {
            let message = format!(
                "{} belongs to Gateway {holder} of another controller, which {reason}; choose another targetPostfix",
                host.undotted()
            );
            Note::stalled("NameConflict", message)
        }
        GatewayState::ForeignName { host, holder, reason } => {
            let message = format!(
                "{} belongs to Gateway {holder}, which {reason}; its namespace is another one, so this Gateway's \
                 load balancer gives it no address: choose another targetPostfix",
                host.undotted()
            );
            Note::stalled("NameConflict", message)
        }
        GatewayState::NoIdentity => {
            vec![Note::waiting("ClusterIdentityNotFound", no_identity(planner, entry))]
        }
        _ if !planner.hosts.contains_key(&entry.key) => {
            waiting("NoServiceRoutes", "no valid ServiceRoute refers to this Gateway")
        }
        GatewayState::NoAddress { .. } => {
            waiting("NoAddress", "no LoadBalancer Service of this controller has an address yet")
        }
        GatewayState::Ready { .. } => {
            vec![gateway_made(&planner.setting)]
        }
    }
}

/// Only an operator makes the Istio Gateway.
fn gateway_made(setting: &Setting) -> Note {
    match setting {
        Setting::Folders => {
            let message = "the Istio Gateway is planned; an operator creates it in its cluster";
            Note::ready("GatewayPlanned", message)
        }
        _ => Note::ready("GatewayCreated", "Istio Gateway created successfully"),
    }
}

const GATEWAY_PARTS: &str = "cluster, region and targetPostfix";

/// Says which part to shorten: a label is made of the object's own words, the rest is the domain.
fn bad_host(parts: &str, error: &dns::NameError) -> String {
    match error {
        dns::NameError::NameTooLong { .. } => format!("{error}; shorten the domain of the ClusterIdentity"),
        _ => format!("{error}; shorten {parts}, of which the label is made"),
    }
}

pub(crate) fn route(planner: &Planner, id: Id, entry: &Entry, outcome: &RouteOutcome) -> Vec<Note> {
    let Some(Spec::ServiceRoute(spec)) = entry.object.as_ref().map(|object| &object.spec) else {
        return Vec::new();
    };
    let gateway = || format!("{}/{}", spec.gateway_namespace, spec.gateway_name);
    let namespace = &entry.key.reference.namespace;
    match outcome {
        RouteOutcome::NoPolicy => {
            vec![Note::waiting(
                "DNSPolicyNotFound",
                format!("namespace {namespace} has no valid DNSPolicy; create one"),
            )]
        }
        RouteOutcome::PolicyInactive { why, .. } => vec![route_of_inactive(planner, entry, why)],
        RouteOutcome::AtApex(zone) => Note::stalled(
            "NameConflict",
            format!(
                "the host is the apex of zone {zone}, which cannot be an alias; change serviceName, environment or application"
            ),
        ),
        RouteOutcome::NoGateway => vec![Note::waiting(
            "GatewayNotFound",
            planner.absent(
                entry.key.cluster,
                (Kind::Gateway, &spec.gateway_namespace, &spec.gateway_name),
                "; create it or correct gatewayName and gatewayNamespace",
            ),
        )],
        RouteOutcome::GatewayConflict(holder) => vec![Note::waiting(
            "GatewayConflicted",
            format!(
                "the target name of Gateway {} belongs to Gateway {holder}, which has another controller",
                gateway()
            ),
        )],
        RouteOutcome::NoIdentity => {
            vec![Note::waiting("ClusterIdentityNotFound", no_identity(planner, entry))]
        }
        RouteOutcome::BadHost(error) => {
            Note::stalled("InvalidHostname", bad_host("serviceName, environment and application", error))
        }
        RouteOutcome::BadTarget(error) => {
            let message = format!("the name of Gateway {}: {}", gateway(), bad_host(GATEWAY_PARTS, error));
            Note::stalled("InvalidHostname", message)
        }
        RouteOutcome::Active { .. } => active_route(planner, id, &gateway()),
    }
}

/// A route waits for its policy; where another cluster serves it, that is how it should be.
fn route_of_inactive(planner: &Planner, entry: &Entry, why: &PolicyState) -> Note {
    let waiting = Note::waiting("DNSPolicyInactive", inactive(planner, entry, why));
    match why {
        PolicyState::OtherRegion { .. } | PolicyState::OtherCluster { .. } => {
            Note { severity: Severity::Info, ..waiting }
        }
        _ => waiting,
    }
}

fn active_route(planner: &Planner, id: Id, gateway: &str) -> Vec<Note> {
    if planner.turned_away.contains(&id) {
        let message = format!(
            "Gateway {gateway} has {LIMIT} octets of older host names, which is all that an Istio Gateway holds; \
             use another Gateway"
        );
        return Note::stalled("GatewayFull", message);
    }
    let mut notes = match planner.conflict(id) {
        Some(message) => Note::stalled("NameConflict", message),
        None => vec![Note::ready("ReconciliationSucceeded", "ServiceRoute is active")],
    };
    notes.extend(published(planner, id));
    notes
}
