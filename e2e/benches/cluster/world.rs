//! The objects that are measured with.

use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Result, ensure};
use e2e::{Api, Cluster};
use serde_json::{Value, json};

const ROUTES_A_NAMESPACE: usize = 100;
const ROUTES_A_GATEWAY: usize = 500;
const CONNECTIONS: usize = 8;

/// The domain of all names.
pub(crate) const DOMAIN: &str = "bench.example.org";

/// How many Gateways a world of this many routes has.
pub(crate) fn gateways(routes: usize) -> usize {
    routes.div_ceil(ROUTES_A_GATEWAY).max(2)
}

/// What the platform team declares.
pub(crate) fn prepare(cluster: &Cluster, routes: usize) -> Result<()> {
    let api = cluster.api();
    cluster.ensure_namespace(e2e::OPERATOR_NAMESPACE)?;
    cluster.ensure_namespace("gateways")?;
    api.apply(&json!({
        "apiVersion": "dns.homelab.mortenolsen.pro/v1alpha1", "kind": "DNSClass",
        "metadata": { "name": "edge" }, "spec": { "embedded": {} },
    }))?;
    api.apply(&json!({
        "apiVersion": "cluster.router.io/v1alpha1", "kind": "ClusterIdentity", "metadata": { "name": "cluster-identity" },
        "spec": { "region": "weu", "cluster": "aks01", "domain": DOMAIN, "environmentLetter": "p" },
    }))?;
    api.apply(&json!({
        "apiVersion": "cluster.router.io/v1alpha1", "kind": "DNSConfiguration", "metadata": { "name": "dns-config" },
        "spec": { "externalDNSControllers": [{ "name": "external-dns-weu", "region": "weu", "dnsClassRef": { "name": "edge" } }] },
    }))?;
    for number in 0..gateways(routes) {
        gateway(&api, number)?;
    }
    for number in 0..routes.div_ceil(ROUTES_A_NAMESPACE) {
        cluster.ensure_namespace(&namespace(number * ROUTES_A_NAMESPACE))?;
        api.apply(&json!({
            "apiVersion": "routing.router.io/v1alpha1", "kind": "DNSPolicy",
            "metadata": { "name": "policy", "namespace": namespace(number * ROUTES_A_NAMESPACE) },
            "spec": { "mode": "Active" },
        }))?;
    }
    Ok(())
}

/// A Gateway and the Service with its address.
fn gateway(api: &Api, number: usize) -> Result<()> {
    let controller = format!("ingress-{number}");
    api.apply(&json!({
        "apiVersion": "v1", "kind": "Service", "metadata": { "name": controller, "namespace": "gateways" },
        "spec": { "type": "LoadBalancer", "ports": [{ "port": 443 }] },
        "status": { "loadBalancer": { "ingress": [{ "ip": format!("192.0.2.{}", number % 250 + 1) }] } },
    }))?;
    api.apply(&json!({
        "apiVersion": "routing.router.io/v1alpha1", "kind": "Gateway",
        "metadata": { "name": format!("gateway-{number}"), "namespace": "gateways" },
        "spec": { "controller": controller, "credentialName": "cert", "targetPostfix": format!("post{number}") },
    }))
}

/// The namespace of a route.
pub(crate) fn namespace(route: usize) -> String {
    format!("team-{}", route / ROUTES_A_NAMESPACE)
}

/// The name of a route's host.
pub(crate) fn host(route: usize) -> String {
    format!("svc-{route}-ns-p-prod-app.{DOMAIN}")
}

/// A route, by the number of its Gateway.
pub(crate) fn route(number: usize, gateway: usize) -> Value {
    json!({
        "apiVersion": "routing.router.io/v1alpha1", "kind": "ServiceRoute",
        "metadata": { "name": format!("route-{number}"), "namespace": namespace(number) },
        "spec": {
            "serviceName": format!("svc-{number}"), "environment": "prod", "application": "app",
            "gatewayName": format!("gateway-{gateway}"), "gatewayNamespace": "gateways",
        },
    })
}

/// Creates many objects over several connections.
pub(crate) fn create(
    cluster: &Cluster,
    count: usize,
    path: &str,
    object: impl Fn(usize) -> Value + Sync,
) -> Result<()> {
    let next = AtomicUsize::new(0);
    let (next, object) = (&next, &object);
    std::thread::scope(|scope| {
        let worker = || {
            let api = cluster.api();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    return Ok(());
                }
                let manifest = object(number);
                let namespace = manifest["metadata"]["namespace"].as_str().unwrap_or_default();
                let path = path.replace("NAMESPACE", namespace);
                let answer = api.request("POST", &path, Some(("application/json", &manifest.to_string())))?;
                ensure!(answer.code == 201, "{} {}", answer.code, answer.body);
            }
        };
        let workers: Vec<_> = (0..CONNECTIONS).map(|_| scope.spawn(worker)).collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().unwrap_or_else(|_| anyhow::bail!("a worker panicked")))
    })
}
