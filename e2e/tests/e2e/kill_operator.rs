//! `kill -9` before and after every write of the operator: the end is always the same (PROMISES 18).

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use e2e::{OPERATOR_NAMESPACE, Place, Scenario, Step, chart, documents};
use serde_json::{Value, json};

use crate::world::{World, example_text, route};

/// How far apart the writes are at which the operator is killed alone; `FINGERPOST_SOAK=1` takes them all.
///
/// In between it is killed at every write, one life after the other.
const STRIDE: usize = 10;

const RECORDS: &str = "
{apiVersion: kubi.zone/v1alpha1, kind: Zone, metadata: {name: shop, namespace: dns}, \
    spec: {domainName: shop, zoneRef: {name: example-org}}}
---
{apiVersion: kubi.zone/v1alpha1, kind: Record, metadata: {name: mail, namespace: dns}, \
    spec: {domainName: mail.shop, zoneRef: {name: example-org}, type: A, rdata: 192.0.2.25}}
";

const IDENTITY: &str = "{apiVersion: cluster.router.io/v1alpha1, kind: ClusterIdentity, \
    metadata: {name: cluster-identity}, \
    spec: {region: weu, cluster: aks02, domain: example.org, environmentLetter: p}}";

#[test]
fn every_kill_ends_in_the_same_state() -> Result<()> {
    let world = World::alone()?;
    for namespace in ["dns", "shop", "istio-system"] {
        world.cluster.ensure_namespace(namespace)?;
    }
    lend_rights(&world)?;
    let start = |kubeconfig: &Path| Place::new(kubeconfig, &["--leader-elect=false"]).process();
    let scenario = Scenario {
        name: "operator",
        cluster: &world.cluster,
        user: "operator",
        before: example_text("quickstart")?,
        steps: steps()?,
        start: &start,
        patience: Duration::from_secs(60),
    };
    let begun = Instant::now();
    let stride = if std::env::var_os("FINGERPOST_SOAK").is_some() { 1 } else { STRIDE };
    let in_turn = scenario.kill_at_all_writes_in_turn()?;
    println!("{in_turn} kill points in turn after {:?}", begun.elapsed());
    let kills = scenario.kill_at_every(stride)?;
    println!("{} kill points alone after {:?}", kills.points, begun.elapsed());
    println!(
        "counted: {in_turn} kills of the operator in turn and {} alone, at {} writes",
        kills.points,
        kills.writes.len()
    );
    assert!(in_turn >= 20 && kills.points >= 6, "{in_turn} {kills:?}");
    Ok(())
}

/// Something is made, something changed, everything renamed, something deleted.
fn steps() -> Result<Vec<Step>> {
    let more = format!("{}\n---\n{RECORDS}", route("new"));
    let changed = json!({"spec": {"application": "store"}});
    let mut renamed = documents(&route("web"))?.remove(0);
    renamed["spec"]["application"] = changed["spec"]["application"].clone();
    let gone = format!("{}\n---\n{RECORDS}", route("api"));
    Ok(vec![
        Step::Apply(more),
        Step::Apply(renamed.to_string()),
        Step::Apply(IDENTITY.to_owned()),
        Step::Delete(gone),
    ])
}

/// The rights of the chart's operator, for the user that the harness speaks as.
fn lend_rights(world: &World<e2e::Alone>) -> Result<()> {
    let is_operators = |object: &Value| {
        let (kind, role) = (object["kind"].as_str(), object["roleRef"]["name"].as_str());
        kind.is_some_and(|kind| kind.ends_with("Binding")) && role == Some("fingerpost-operator")
    };
    let roles = documents(&chart::roles(OPERATOR_NAMESPACE)?)?;
    for mut binding in roles.into_iter().filter(is_operators) {
        binding["metadata"]["name"] = json!("the-operator-of-the-tests");
        binding["subjects"] =
            json!([{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "operator"}]);
        world.api().apply(&binding)?;
    }
    Ok(())
}
