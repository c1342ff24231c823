//! The world of the benchmark: 100 routes and one policy a namespace, 1,000 routes a Gateway, three
//! controllers of which one is active, one domain.

use std::sync::Arc;

use api::Kind;
use planner::{Change, ClusterId};
use serde_json::{Value, json};

const ROUTES_A_NAMESPACE: usize = 100;
const ROUTES_A_GATEWAY: usize = 1_000;

/// Every object of a world with this many routes, as a source would report it.
pub(crate) fn world(routes: usize) -> Result<Vec<Change>, serde_json::Error> {
    let mut changes = vec![Change::Today(20260101), identity()?, configuration()?];
    for gateway in 0..routes.div_ceil(ROUTES_A_GATEWAY) {
        changes.extend([self::gateway(gateway)?, service(gateway)?]);
    }
    for namespace in 0..routes.div_ceil(ROUTES_A_NAMESPACE) {
        changes.push(policy(namespace)?);
    }
    for number in 0..routes {
        changes.push(route(number, "service")?);
    }
    Ok(changes)
}

/// One route, with its service's name as it now stands.
pub(crate) fn route(number: usize, service: &str) -> Result<Change, serde_json::Error> {
    put(
        Kind::ServiceRoute,
        json!({
            "metadata": {"name": format!("route-{number}"), "namespace": namespace(number / ROUTES_A_NAMESPACE)},
            "spec": {
                "serviceName": format!("{service}-{number}"),
                "gatewayName": format!("gateway-{}", number / ROUTES_A_GATEWAY),
                "environment": "prod",
                "application": "shop",
            },
        }),
    )
}

fn identity() -> Result<Change, serde_json::Error> {
    let spec =
        json!({"region": "weu", "cluster": "aks01", "domain": "apps.example.com", "environmentLetter": "p"});
    put(Kind::ClusterIdentity, json!({"metadata": {"name": "cluster-identity"}, "spec": spec}))
}

fn configuration() -> Result<Change, serde_json::Error> {
    let controllers =
        ["weu", "neu", "frc"].map(|region| json!({"name": format!("dns-{region}"), "region": region}));
    let spec = json!({"externalDNSControllers": controllers});
    put(Kind::DNSConfiguration, json!({"metadata": {"name": "dns-config"}, "spec": spec}))
}

fn gateway(number: usize) -> Result<Change, serde_json::Error> {
    let metadata = json!({"name": format!("gateway-{number}"), "namespace": "istio-system"});
    let spec =
        json!({"controller": format!("ingress-{number}"), "targetPostfix": format!("internal-{number}")});
    put(Kind::Gateway, json!({"metadata": metadata, "spec": spec}))
}

fn service(number: usize) -> Result<Change, serde_json::Error> {
    let metadata = json!({"name": format!("ingress-{number}"), "namespace": "istio-system"});
    let address = format!("192.0.2.{}", number % 256);
    let status = json!({"loadBalancer": {"ingress": [{"ip": address}]}});
    put(Kind::Service, json!({"metadata": metadata, "spec": {"type": "LoadBalancer"}, "status": status}))
}

fn policy(number: usize) -> Result<Change, serde_json::Error> {
    let metadata = json!({"name": "policy", "namespace": namespace(number)});
    put(Kind::DNSPolicy, json!({"metadata": metadata, "spec": {"mode": "Active"}}))
}

fn namespace(number: usize) -> String {
    format!("team-{number}")
}

fn put(kind: Kind, mut manifest: Value) -> Result<Change, serde_json::Error> {
    manifest["apiVersion"] = kind.api_version().into();
    manifest["kind"] = kind.kind().into();
    Ok(Change::Put(ClusterId(0), Arc::new(api::decode(kind, manifest)?)))
}
