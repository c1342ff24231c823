//! Document 000's takeover: two clusters of one region, their operators, and one PowerDNS. A route passes from the first to
//! the second: planned, because its policy says so, and unplanned, because the first one's operator is dead.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use e2e::{Cluster, OPERATOR_NAMESPACE, Operator, PowerDns, Start, dig, wait_for_within};
use serde_json::json;

use crate::records::class;
use crate::world::{World, condition, router};

const HOST: &str = "api-ns-p-prod-myapp.example.com";
/// Far longer than a takeover takes.
const LONG: Duration = Duration::from_secs(500);

/// A cluster of the region with a gateway and a route, whose names an operator of this owner has at PowerDNS.
fn cluster<C: AsRef<Cluster>>(
    world: &World<C>,
    name: &str,
    address: &str,
    powerdns: &PowerDns,
) -> Result<()> {
    world.api().apply(&json!({"apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "powerdns", "namespace": OPERATOR_NAMESPACE},
        "stringData": {"api-key": "test-key"}}))?;
    world.api().apply(&class("edge", &powerdns.url(), None))?;
    world.apply(&format!(
        "
apiVersion: cluster.router.io/v1alpha1
kind: ClusterIdentity
metadata: {{name: cluster-identity}}
spec: {{region: weu, cluster: {name}, domain: example.com, environmentLetter: p}}
---
apiVersion: cluster.router.io/v1alpha1
kind: DNSConfiguration
metadata: {{name: dns-config}}
spec: {{externalDNSControllers: [{{name: external-dns-weu, region: weu, dnsClassRef: {{name: edge}}}}]}}
---
apiVersion: v1
kind: Service
metadata: {{name: ingress, namespace: istio-system}}
spec: {{type: LoadBalancer, ports: [{{port: 443}}]}}
status: {{loadBalancer: {{ingress: [{{ip: {address}}}]}}}}
---
apiVersion: routing.router.io/v1alpha1
kind: Gateway
metadata: {{name: default-gateway, namespace: istio-system}}
spec: {{controller: ingress, credentialName: cert, targetPostfix: internal}}
---
apiVersion: routing.router.io/v1alpha1
kind: ServiceRoute
metadata: {{name: api-route, namespace: myapp}}
spec: {{serviceName: api, gatewayName: default-gateway, gatewayNamespace: istio-system, environment: prod, application: myapp}}
"
    ))
}

fn policy<C: AsRef<Cluster>>(world: &World<C>, annotations: &str) -> Result<()> {
    world.apply(&format!(
        "
apiVersion: routing.router.io/v1alpha1
kind: DNSPolicy
metadata: {{name: policy, namespace: myapp, annotations: {annotations}}}
spec: {{mode: Active}}
"
    ))
}

fn operator<C: AsRef<Cluster>>(world: &World<C>, owner: &str, flags: &[&str]) -> Result<Operator> {
    let owner = format!("--owner={owner}");
    let usual = ["--allow-target=127.0.0.0/8", "--retry-base-delay=200ms", "--retry-max-delay=1s", &owner];
    world.operator(&[&usual, flags].concat())
}

/// Waits until the route leads to a cluster; once it leads anywhere, it must do so at every look. Says how long it took.
fn wait_for_target(powerdns: &PowerDns, cluster: &str) -> Result<Duration> {
    let wanted = BTreeSet::from([format!("{cluster}-weu-internal.example.com.")]);
    let (start, mut was_answered, mut last) = (Instant::now(), false, BTreeSet::new());
    let waited = wait_for_within(LONG, &format!("{HOST} to lead to {wanted:?}"), || {
        last = dig(powerdns.dns(), &format!("{HOST} CNAME"))?.data("CNAME").into_iter().collect();
        let is_lost = was_answered && last.is_empty();
        was_answered |= !last.is_empty();
        Ok((is_lost || last == wanted).then_some(()))
    });
    waited.with_context(|| format!("it was {last:?}"))?;
    ensure!(last == wanted, "{HOST} was without an answer");
    Ok(start.elapsed())
}

/// Waits until a cluster's route says who has its name.
fn wait_for_holder<C: AsRef<Cluster>>(world: &World<C>, holder: &str) -> Result<()> {
    let path = router("serviceroutes", "myapp", "api-route");
    wait_for_within(LONG, "the route to say who has its name", || {
        let published = condition(&world.api().get(&path)?.unwrap_or_default(), "Published");
        Ok(published.filter(|published| published.to_string().contains(holder)).map(|_| ()))
    })
}

#[test]
fn routes_are_handed_over_by_their_policy_and_taken_back_when_the_new_holder_is_killed() -> Result<()> {
    let powerdns = PowerDns::start()?;
    let (first, second) = (World::alone()?, World::of(Cluster::own(Start::AllKinds)?)?);
    cluster(&first, "aks01", "192.0.2.1", &powerdns)?;
    cluster(&second, "aks02", "192.0.2.2", &powerdns)?;
    let one = operator(&first, "aks01", &[])?;
    policy(&first, "{}")?;
    wait_for_target(&powerdns, "aks01").with_context(|| one.output())?;
    let two = operator(&second, "aks02", &[])?;
    policy(&second, "{}")?;
    let output = |two: &Operator| format!("aks01:\n{}\naks02:\n{}", one.output(), two.output());
    wait_for_holder(&second, "aks01/edge").with_context(|| output(&two))?;
    policy(&first, "{fingerpost.dev/hand-over-to: aks02}")?;
    let took = wait_for_target(&powerdns, "aks02").with_context(|| output(&two))?;
    // A minute for the look, and two rounds; the machine may be busy.
    ensure!(took < Duration::from_secs(180), "it took {took:?}");
    // Dropping it is `kill -9`. The first waits from the moment of the handover on.
    policy(&first, "{}")?;
    drop(two);
    wait_for_target(&powerdns, "aks01").with_context(|| one.output())?;
    Ok(())
}

/// `if aks01 fails, manually update ServiceRoute or DNSPolicy so aks02 takes over`: nobody waited before.
#[test]
fn a_route_of_a_cluster_whose_operator_died_passes_to_one_that_is_told_to_have_it_then() -> Result<()> {
    let powerdns = PowerDns::start()?;
    let (first, second) = (World::alone()?, World::of(Cluster::own(Start::AllKinds)?)?);
    cluster(&first, "aks01", "192.0.2.1", &powerdns)?;
    cluster(&second, "aks02", "192.0.2.2", &powerdns)?;
    // So often a holder looks for those who wait, and so soon it is known to be gone.
    let quick = ["--drift-interval=2s"];
    let one = operator(&first, "aks01", &quick)?;
    let two = operator(&second, "aks02", &quick)?;
    policy(&first, "{}")?;
    wait_for_target(&powerdns, "aks01").with_context(|| one.output())?;
    drop(one);
    policy(&second, "{}")?;
    let took = wait_for_target(&powerdns, "aks02").with_context(|| two.output())?;
    ensure!(took > Duration::from_secs(90), "it took {took:?}, in which one that lives may not have looked");
    Ok(())
}
