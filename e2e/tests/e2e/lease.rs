//! Two operators and one Lease on a real API server: one leads, the other takes over, and nobody writes
//! who does not lead.

use std::time::Duration;

use anyhow::{Context, Result};
use e2e::chart::roles;
use e2e::{Alone, Cluster, Fault, OPERATOR_NAMESPACE, Operator, Place, Proxy, Rule};
use serde_json::Value;

/// A lease of a few seconds, so that its end can be waited for.
const SHORT: [&str; 4] = [
    "--leader-election-lease-duration=4s",
    "--leader-election-renew-deadline=3s",
    "--leader-election-retry-period=200ms",
    "--kube-api-timeout=1s",
];

const ZONE: &str = "{apiVersion: kubi.zone/v1alpha1, kind: Zone, \
    metadata: {namespace: NAMESPACE, name: NAME}, spec: {domainName: NAME.example.}}";

fn zone(namespace: &str, name: &str) -> String {
    ZONE.replace("NAMESPACE", namespace).replace("NAME", name)
}

/// The shared cluster with the operator's account and its roles, as the chart has them.
pub(crate) fn cluster() -> Result<Alone> {
    let cluster = Cluster::alone()?;
    cluster.ensure_namespace(OPERATOR_NAMESPACE)?;
    cluster.kubectl_with("admin", &["apply", "-f", "-"], &roles(OPERATOR_NAMESPACE)?)?.success()?;
    Ok(cluster)
}

/// An operator's place, by way of this server, with the chart's account.
pub(crate) fn place(cluster: &Cluster, server: &str, flags: &[&str]) -> Result<Place> {
    let account = "fingerpost-operator";
    Ok(Place::new(&cluster.kubeconfig_of_account(server, OPERATOR_NAMESPACE, account)?, flags))
}

fn lease(cluster: &Cluster) -> Result<Value> {
    let path = format!("/apis/coordination.k8s.io/v1/namespaces/{OPERATOR_NAMESPACE}/leases");
    Ok(cluster.api().get(&format!("{path}/fingerpost-operator"))?.unwrap_or_default()["spec"].clone())
}

/// Waits until this operator holds the Lease.
pub(crate) fn wait_for_leader(cluster: &Cluster, place: &Place) -> Result<Value> {
    let name = format!("operator-{}_", place.webhook().ip());
    cluster.wait_for("the operator to lead", |_| {
        let lease = lease(cluster)?;
        let holder = lease["holderIdentity"].as_str().unwrap_or_default();
        Ok(holder.starts_with(&name).then_some(lease))
    })
}

fn wait_for_status(cluster: &Cluster, namespace: &str, name: &str) -> Result<()> {
    let path = format!("/apis/kubi.zone/v1alpha1/namespaces/{namespace}/zones/{name}");
    cluster.wait_for("the zone's status", |api| {
        let zone = api.get(&path)?.context("the zone is gone")?;
        Ok((zone["status"]["observedGeneration"] == zone["metadata"]["generation"]).then_some(()))
    })
}

#[test]
fn killed_leader_is_followed_by_the_other_replica() -> Result<()> {
    let cluster = cluster()?;
    let namespace = cluster.namespace("lease")?;
    let mut first = Operator::start(place(&cluster, &cluster.url(), &SHORT)?)?;
    wait_for_leader(&cluster, first.place())?;
    let second = Operator::start(place(&cluster, &cluster.url(), &SHORT)?)?;
    cluster.apply(&zone(&namespace, "a"))?;
    wait_for_status(&cluster, &namespace, "a")?;
    first.process().kill()?;
    cluster.apply(&zone(&namespace, "b"))?;
    let lease = wait_for_leader(&cluster, second.place())?;
    assert_eq!(
        (&lease["leaseDurationSeconds"], &lease["leaseTransitions"]),
        (&4.into(), &1.into()),
        "{lease}"
    );
    wait_for_status(&cluster, &namespace, "b")
}

#[test]
fn leader_that_ends_gives_its_lease_back() -> Result<()> {
    let cluster = cluster()?;
    // Nobody else could have it for a day.
    let long = ["--leader-election-lease-duration=24h", "--leader-election-renew-deadline=10s"];
    let mut first = Operator::start(place(&cluster, &cluster.url(), &long)?)?;
    wait_for_leader(&cluster, first.place())?;
    first.process().terminate()?;
    assert_eq!(first.process().wait_for_end()?, Some(0), "{}", first.output());
    let given = lease(&cluster)?;
    assert_eq!(
        (&given["holderIdentity"], &given["leaseDurationSeconds"]),
        (&"".into(), &1.into()),
        "{given}"
    );
    let second = Operator::start(place(&cluster, &cluster.url(), &long)?)?;
    wait_for_leader(&cluster, second.place()).map(drop)
}

#[test]
fn stalled_leader_writes_nothing_after_waking() -> Result<()> {
    let cluster = cluster()?;
    let namespace = cluster.namespace("lease")?;
    let proxy = Proxy::start(&cluster)?;
    let mut first = Operator::start(place(&cluster, &proxy.url(), &SHORT)?)?;
    wait_for_leader(&cluster, first.place())?;
    cluster.apply(&zone(&namespace, "a"))?;
    wait_for_status(&cluster, &namespace, "a")?;
    let second = Operator::start(place(&cluster, &cluster.url(), &SHORT)?)?;
    first.process().suspend()?;
    // What it would have to write lies in its sockets when it wakes.
    cluster.apply(&zone(&namespace, "b"))?;
    wait_for_leader(&cluster, second.place())?;
    wait_for_status(&cluster, &namespace, "b")?;
    cluster.apply(&zone(&namespace, "c"))?;
    wait_for_status(&cluster, &namespace, "c")?;
    proxy.wait_for_calm(Duration::from_millis(300))?;
    proxy.forget();
    first.process().resume()?;
    cluster.wait_for("the stalled one to look at the Lease", |_| {
        Ok(proxy.calls().iter().any(|call| call.is_about("leases")).then_some(()))
    })?;
    proxy.wait_for_quiet(Duration::from_secs(1))?;
    assert_eq!(proxy.writes(), []);
    wait_for_leader(&cluster, second.place()).map(drop)
}

#[test]
fn lost_answers_and_conflicts_do_not_unseat_a_leader() -> Result<()> {
    let cluster = cluster()?;
    let proxy = Proxy::start(&cluster)?;
    let first = Operator::start(place(&cluster, &proxy.url(), &SHORT)?)?;
    wait_for_leader(&cluster, first.place())?;
    let second = Operator::start(place(&cluster, &cluster.url(), &SHORT)?)?;
    let renewal = |call: &e2e::Call| call.is_about("leases") && call.method == "PUT";
    for fault in [Fault::DropAnswer, Fault::Drop, Fault::Status(409), Fault::Status(429), Fault::Status(500)]
    {
        proxy.forget();
        proxy.add(Rule::new(fault, renewal).times(1));
        cluster.wait_for("renewals after the fault", |_| {
            let good = |call: &&e2e::Call| renewal(call) && call.code == Some(200);
            Ok((proxy.calls().iter().filter(good).count() >= 3).then_some(()))
        })?;
    }
    let lease = wait_for_leader(&cluster, first.place())?;
    assert_eq!(lease["leaseTransitions"], 0, "{lease}\n{}\n{}", first.output(), second.output());
    Ok(())
}

#[test]
fn leader_that_cannot_renew_steps_down_and_the_other_leads() -> Result<()> {
    let cluster = cluster()?;
    let namespace = cluster.namespace("lease")?;
    let proxy = Proxy::start(&cluster)?;
    let first = Operator::start(place(&cluster, &proxy.url(), &SHORT)?)?;
    wait_for_leader(&cluster, first.place())?;
    let second = Operator::start(place(&cluster, &cluster.url(), &SHORT)?)?;
    // Everything else still passes: only the lease keeps it from writing.
    proxy.add(Rule::new(Fault::Hang, |call| call.is_about("leases")));
    wait_for_leader(&cluster, second.place())?;
    proxy.forget();
    cluster.apply(&zone(&namespace, "a"))?;
    wait_for_status(&cluster, &namespace, "a")?;
    assert_eq!(proxy.writes(), []);
    proxy.clear();
    drop(second);
    wait_for_leader(&cluster, first.place()).map(drop)
}
