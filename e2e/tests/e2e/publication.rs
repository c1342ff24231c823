//! With nothing of ours at the end: routes → our DNSEndpoints → the real ExternalDNS → the real PowerDNS → `dig`.

use std::net::SocketAddr;
use std::path::Path;

use anyhow::{Result, ensure};
use e2e::{Alone, Cluster, ExternalDns, Operator, Place, PowerDns, dig, wait_for};

const DOMAIN: &str = "published.example.org";

/// This cluster is in weu and has adopted neu; frc is somebody else's.
const PLATFORM: &str = "
apiVersion: cluster.router.io/v1alpha1
kind: ClusterIdentity
metadata: {name: cluster-identity}
spec: {region: weu, cluster: aks01, domain: published.example.org, environmentLetter: p, adoptsRegions: [neu]}
---
apiVersion: cluster.router.io/v1alpha1
kind: DNSConfiguration
metadata: {name: dns-config}
spec:
  externalDNSControllers:
  - {name: external-dns-weu, region: weu}
  - {name: external-dns-neu, region: neu}
  - {name: external-dns-frc, region: frc}
---
apiVersion: v1
kind: Service
metadata: {name: ingress, namespace: edge}
spec: {type: LoadBalancer, ports: [{port: 443}]}
status: {loadBalancer: {ingress: [{ip: 192.0.2.10}]}}
---
apiVersion: routing.router.io/v1alpha1
kind: Gateway
metadata: {name: public, namespace: edge}
spec: {controller: ingress, credentialName: cert, targetPostfix: public}
";

/// A region: what ExternalDNS writes into for it.
struct Region {
    power: PowerDns,
    // Held so that it goes on writing.
    _external: ExternalDns,
}

impl Region {
    fn start(kubeconfig: &Path, name: &str) -> Result<Region> {
        let power = PowerDns::start()?;
        power.make_zone(DOMAIN)?;
        let filter =
            format!("--annotation-filter=external-dns.alpha.kubernetes.io/controller=external-dns-{name}");
        let owner = format!("--txt-owner-id={name}");
        let external = ExternalDns::start(kubeconfig, &power, DOMAIN, &[&filter, &owner])?;
        Ok(Region { power, _external: external })
    }

    fn dns(&self) -> SocketAddr {
        self.power.dns()
    }
}

fn team(cluster: &Cluster, namespace: &str, policy: &str) -> Result<()> {
    cluster.ensure_namespace(namespace)?;
    cluster.apply(&format!(
        "
apiVersion: routing.router.io/v1alpha1
kind: DNSPolicy
metadata: {{name: policy, namespace: {namespace}}}
spec: {policy}
---
apiVersion: routing.router.io/v1alpha1
kind: ServiceRoute
metadata: {{name: web, namespace: {namespace}}}
spec: {{serviceName: web, environment: prod, application: {namespace}, gatewayName: public, gatewayNamespace: edge}}
"
    ))
}

fn host(namespace: &str) -> String {
    format!("web-ns-p-prod-{namespace}.{DOMAIN}")
}

fn wait_for_answer(server: SocketAddr, name: &str, expected: &[&str]) -> Result<()> {
    wait_for(&format!("{name} to be {expected:?} at {server}"), || {
        let answer = dig(server, &format!("{name} A"))?;
        let found: Vec<String> = ["CNAME", "A"].iter().flat_map(|kind| answer.data(kind)).collect();
        ensure!(found == expected, "it is {found:?}");
        Ok(Some(()))
    })
}

#[test]
fn routes_reach_dig_through_external_dns_and_powerdns() -> Result<()> {
    let cluster: Alone = Cluster::alone()?;
    let kubeconfig = cluster.kubeconfig("admin")?;
    cluster.ensure_namespace("edge")?;
    cluster.ensure_namespace(e2e::OPERATOR_NAMESPACE)?;
    let _operator = Operator::start(Place::new(&kubeconfig, &[]))?;
    cluster.api().apply_text(PLATFORM)?;
    team(&cluster, "active", "{mode: Active}")?;
    team(&cluster, "bound", "{mode: RegionBound, sourceRegion: weu}")?;
    team(&cluster, "elsewhere", "{mode: RegionBound, sourceRegion: neu}")?;
    let [weu, neu, frc] = ["weu", "neu", "frc"].map(|name| Region::start(&kubeconfig, name));
    let (weu, neu, frc) = (weu?, neu?, frc?);
    let target = format!("aks01-weu-public.{DOMAIN}.");
    // Active: in its own region, and in the one that this cluster has adopted.
    for region in [&weu, &neu] {
        wait_for_answer(region.dns(), &host("active"), &[&target, "192.0.2.10"])?;
    }
    // RegionBound: the region's cluster writes every zone.
    for region in [&weu, &neu, &frc] {
        wait_for_answer(region.dns(), &host("bound"), &[&target, "192.0.2.10"])?;
    }
    wait_for_answer(frc.dns(), &host("active"), &[])?;
    wait_for_answer(weu.dns(), &host("elsewhere"), &[])?;
    let route = "/apis/routing.router.io/v1alpha1/namespaces/active/serviceroutes/web";
    let status = cluster.api().get(route)?.unwrap_or_default();
    let published = status["status"]["conditions"]
        .as_array()
        .and_then(|conditions| conditions.iter().find(|condition| condition["type"] == "Published").cloned());
    let published = published.unwrap_or_default();
    // What ExternalDNS does with a DNSEndpoint it does not say, so neither do we.
    ensure!(published["status"] == "Unknown" && published["reason"] == "HandedOver", "{published}");
    cluster.api().delete(route)?;
    for region in [&weu, &neu] {
        wait_for_answer(region.dns(), &host("active"), &[])?;
        wait_for_answer(region.dns(), &host("bound"), &[&target, "192.0.2.10"])?;
    }
    Ok(())
}
