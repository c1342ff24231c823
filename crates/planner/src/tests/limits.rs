//! What has a limit: the hosts of an Istio Gateway, and the entries in a Zone's status.

use std::sync::Arc;

use api::Kind;
use serde_json::{Value, json};

use crate::{Change, ChildKind, ClusterId, ObjectRef, Planner};

const CLUSTER: ClusterId = ClusterId(0);

fn put(kind: Kind, mut manifest: Value) -> Change {
    manifest["apiVersion"] = kind.api_version().into();
    manifest["kind"] = kind.kind().into();
    Change::Put(CLUSTER, Arc::new(api::decode(kind, manifest).unwrap()))
}

fn reference(kind: Kind, namespace: &str, name: &str) -> ObjectRef {
    ObjectRef { kind, namespace: namespace.into(), name: name.into() }
}

/// A cluster with one gateway and one policy; a route's host there has 30 octets.
fn platform() -> Vec<Change> {
    let identity =
        json!({"region": "weu", "cluster": "aks01", "domain": "example.com", "environmentLetter": "p"});
    let controllers = json!({"externalDNSControllers": [{"name": "dns-weu", "region": "weu"}]});
    let gateway = json!({"controller": "ingress", "credentialName": "cert", "targetPostfix": "internal"});
    let in_system = json!({"name": "default-gateway", "namespace": "istio-system"});
    vec![
        Change::Today(20260101),
        put(Kind::ClusterIdentity, json!({"metadata": {"name": "cluster-identity"}, "spec": identity})),
        put(Kind::DNSConfiguration, json!({"metadata": {"name": "dns-config"}, "spec": controllers})),
        put(Kind::Gateway, json!({"metadata": in_system, "spec": gateway})),
        put(
            Kind::DNSPolicy,
            json!({"metadata": {"name": "dns", "namespace": "app"}, "spec": {"mode": "Active"}}),
        ),
    ]
}

fn route(name: &str, service: &str) -> Change {
    let spec = json!({
        "serviceName": service, "gatewayName": "default-gateway", "environment": "prod", "application": "shop",
    });
    put(Kind::ServiceRoute, json!({"metadata": {"name": name, "namespace": "app"}, "spec": spec}))
}

fn phase_and_reason(planner: &Planner, route: &str) -> (String, String) {
    let status = planner.status(CLUSTER, &reference(Kind::ServiceRoute, "app", route)).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (text(&status["phase"]), text(&status["conditions"][0]["reason"]))
}

fn children(planner: &Planner) -> Vec<String> {
    let endpoints = planner.children().into_iter().filter(|child| child.kind == ChildKind::DNSEndpoint);
    endpoints.map(|child| child.name.to_string()).collect()
}

fn hosts(planner: &Planner) -> Value {
    let gateway = planner.children().into_iter().find(|child| child.kind == ChildKind::IstioGateway);
    planner.child(&gateway.unwrap()).unwrap()["spec"]["servers"][0]["hosts"].clone()
}

const ONE: &str = "one-ns-p-prod-shop.example.com";
const TWO: &str = "two-ns-p-prod-shop.example.com";
const SIX: &str = "six-ns-p-prod-shop.example.com";

#[test]
fn the_youngest_routes_past_the_limit_of_a_gateway_fail() {
    let mut planner = Planner::new(vec!["default".to_owned()]);
    planner.host_limit = ONE.len() + TWO.len();
    let mut world = platform();
    world.extend([route("c", "six"), route("b", "two"), route("a", "one")]);
    planner.apply(world);
    assert_eq!(hosts(&planner), json!([ONE, TWO]));
    assert_eq!(phase_and_reason(&planner, "c"), ("Failed".to_owned(), "GatewayFull".to_owned()));
    assert_eq!(phase_and_reason(&planner, "b"), ("Active".to_owned(), "ReconciliationSucceeded".to_owned()));
    assert_eq!(children(&planner), ["a-dns-weu", "b-dns-weu"]);
}

#[test]
fn a_route_that_goes_makes_room_for_the_next() {
    let mut planner = Planner::new(vec!["default".to_owned()]);
    planner.host_limit = ONE.len() + TWO.len();
    let mut world = platform();
    world.extend([route("a", "one"), route("b", "two"), route("c", "six")]);
    planner.apply(world);
    let delta = planner.apply(vec![Change::Delete(CLUSTER, reference(Kind::ServiceRoute, "app", "a"))]);
    assert_eq!(hosts(&planner), json!([SIX, TWO]));
    assert_eq!(phase_and_reason(&planner, "c").0, "Active");
    assert_eq!(children(&planner), ["b-dns-weu", "c-dns-weu"]);
    assert!(delta.statuses.contains(&(CLUSTER, reference(Kind::ServiceRoute, "app", "c"))));
}

#[test]
fn an_older_route_takes_the_room_of_a_younger() {
    let mut planner = Planner::new(vec!["default".to_owned()]);
    planner.host_limit = ONE.len() + TWO.len();
    let mut world = platform();
    world.extend([route("b", "two"), route("c", "six")]);
    planner.apply(world);
    planner.apply(vec![route("a", "one")]);
    assert_eq!(hosts(&planner), json!([ONE, TWO]));
    assert_eq!(phase_and_reason(&planner, "c"), ("Failed".to_owned(), "GatewayFull".to_owned()));
}

#[test]
fn entries_of_a_status_stop_at_a_thousand_and_the_count_goes_on() {
    let zone =
        json!({"metadata": {"name": "example", "namespace": "dns"}, "spec": {"domainName": "example.org"}});
    let record = |number: usize| {
        let spec = json!({"domainName": format!("r{number}.example.org"), "type": "A", "rdata": "192.0.2.1"});
        let metadata = json!({"name": format!("r{number}"), "namespace": "dns"});
        put(Kind::Record, json!({"metadata": metadata, "spec": spec}))
    };
    let mut planner = Planner::new(vec!["default".to_owned()]);
    planner.apply(vec![Change::Today(20260101), put(Kind::Zone, zone)]);
    planner.apply((0..1_100).map(record).collect());
    let of_zone = reference(Kind::Zone, "dns", "example");
    let status = planner.status(CLUSTER, &of_zone).unwrap();
    let entries = status["entries"].as_array().unwrap();
    assert_eq!((entries.len(), &status["entryCount"]), (1_000, &json!(1_102)));
    assert_eq!(entries[0]["type"], "SOA");
    let hash = status["hash"].clone();
    planner.apply(vec![Change::Delete(CLUSTER, reference(Kind::Record, "dns", "r999"))]);
    let status = planner.status(CLUSTER, &of_zone).unwrap();
    assert_ne!(status["hash"], hash, "the hash speaks for what is not listed");
}

#[test]
fn a_record_that_many_views_show_is_one_entry() {
    let mut planner = Planner::new(vec!["default".to_owned()]);
    let controllers = json!({"externalDNSControllers": [
        {"name": "dns-weu", "region": "weu"}, {"name": "dns-neu", "region": "neu"},
    ]});
    let addresses: Vec<Value> = (1..=20).map(|last| json!({"ip": format!("192.0.2.{last}")})).collect();
    let zone =
        json!({"metadata": {"name": "example", "namespace": "dns"}, "spec": {"domainName": "example.com"}});
    let mut world = platform();
    world.extend([
        put(Kind::DNSConfiguration, json!({"metadata": {"name": "dns-config"}, "spec": controllers})),
        put(Kind::Zone, zone),
        put(
            Kind::Service,
            json!({
                "metadata": {"name": "ingress", "namespace": "istio-system"},
                "spec": {"type": "LoadBalancer"},
                "status": {"loadBalancer": {"ingress": addresses}},
            }),
        ),
    ]);
    planner.apply(world);
    let status = planner.status(CLUSTER, &reference(Kind::Zone, "dns", "example")).unwrap();
    assert_eq!(status["entries"].as_array().unwrap().len(), 22);
    assert_eq!(status["entryCount"], 22);
}
