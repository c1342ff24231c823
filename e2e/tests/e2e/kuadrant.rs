//! Policies of the kuadrant family in a cluster: what they make of a gateway's names, the one condition of
//! the gateway, and the default policy from its making to the day that a user takes it over.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use e2e::{DnsServer, dig, wait_for};
use serde_json::{Value, json};

use crate::world::{World, condition, endpoint, example_text};

const GATEWAY: &str = "/apis/gateway.networking.k8s.io/v1/namespaces/apps/gateways/edge";
const TREE: &str = "edge-dns-aws";
const AFFECTED: &str = "gateway.networking.k8s.io/PolicyAffected";
/// Nothing written for this long is nothing to write.
const QUIET: Duration = Duration::from_secs(3);

fn policy(name: &str) -> String {
    format!("/apis/kuadrant.io/v1alpha1/namespaces/apps/dnspolicies/{name}")
}

fn own_policy(weight: u16) -> Value {
    json!({
        "apiVersion": "kuadrant.io/v1alpha1", "kind": "DNSPolicy",
        "metadata": {"name": "mine", "namespace": "apps"},
        "spec": {"targetRef": {"name": "edge"}, "loadBalancing": {"weighted": {"default": weight}}},
    })
}

/// A gateway that has these clusters, as another controller writes it.
fn gateway(clusters: &[(&str, &str)]) -> Value {
    let address = |(cluster, address): &(&str, &str)| json!({"type": "kuadrant.io/MultiClusterIPAddress", "value": format!("{cluster}/{address}")});
    let accepted = json!({
        "type": "Accepted", "status": "True", "reason": "Accepted", "message": "by another controller",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    });
    json!({
        "apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway",
        "metadata": {"name": "edge", "namespace": "apps"},
        "spec": {
            "gatewayClassName": "multi",
            "listeners": [{"name": "app", "hostname": "app.example.org", "port": 443, "protocol": "HTTP"}],
        },
        "status": {
            "addresses": clusters.iter().map(address).collect::<Vec<_>>(),
            "conditions": [accepted],
        },
    })
}

const CLASS: &str = r#"
apiVersion: dns.homelab.mortenolsen.pro/v1alpha1
kind: DNSClass
metadata: {name: route53}
spec: {zones: [example.org], externalDNS: {controller: dns-aws}}
"#;

const EMBEDDED: &str = r#"
apiVersion: dns.homelab.mortenolsen.pro/v1alpha1
kind: DNSClass
metadata: {name: edge}
spec: {embedded: {}}
---
apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata: {name: example-org, namespace: apps}
spec: {domainName: example.org}
"#;

const MARKER: &str = r#"
apiVersion: dns.homelab.mortenolsen.pro/v1alpha1
kind: DNSRecord
metadata: {name: marker, namespace: apps}
spec: {type: A, domain: example.org, subdomain: marker, dnsClassRef: {name: edge}, values: [192.0.2.9], ttl: 60}
"#;

/// Waits until the weights of the tree are these, and as many clusters have addresses.
fn expect_tree(world: &World<e2e::Alone>, weights: &[&str]) -> Result<()> {
    world.expect(&format!("a tree with the weights {weights:?}"), |api| {
        let child =
            api.get(&endpoint("apps", TREE)).map_err(|error| format!("{error:#}"))?.unwrap_or_default();
        let endpoints = child["spec"]["endpoints"].as_array().cloned().unwrap_or_default();
        let property = |one: &Value| {
            let property = &one["providerSpecific"][0];
            (property["name"] == "aws/weight")
                .then(|| property["value"].as_str().unwrap_or_default().to_owned())
        };
        let found: Vec<String> = endpoints.iter().filter_map(property).collect();
        let addressed = endpoints.iter().filter(|one| one["recordType"] == "A").count();
        if found == weights && addressed == weights.len() { Ok(()) } else { Err(child.to_string()) }
    })
}

/// What the operator has taken of the gateway, by its managed fields.
fn taken(gateway: &Value) -> Vec<Value> {
    let fields = gateway["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    fields
        .into_iter()
        .filter(|one| one["manager"] == "fingerpost")
        .map(|one| one["fieldsV1"].clone())
        .collect()
}

#[test]
fn a_policy_spreads_clients_and_takes_one_condition_of_its_gateway() -> Result<()> {
    let world = World::alone()?;
    world.apply(CLASS)?;
    world.apply(&gateway(&[("weu", "192.0.2.1"), ("neu", "192.0.2.2")]).to_string())?;
    world.apply(&own_policy(5).to_string())?;
    let operator = world.operator(&[])?;
    expect_tree(&world, &["5", "5"]).with_context(|| operator.output())?;
    world.expect_condition(GATEWAY, AFFECTED, "True", "PolicyApplied")?;
    world.expect_condition(&policy("mine"), "Ready", "Unknown", "Pending")?;
    let held = world.expect_there(GATEWAY)?;
    ensure!(
        condition(&held, "Accepted").is_some_and(|one| one["message"] == "by another controller"),
        "{held}"
    );
    let [fields] = &taken(&held)[..] else { anyhow::bail!("more was taken: {held}") };
    let key = format!("k:{{\"type\":\"{AFFECTED}\"}}");
    let conditions = fields["f:status"]["f:conditions"].as_object().cloned().unwrap_or_default();
    ensure!(conditions.keys().eq([&key]), "{fields}");
    ensure!(fields.as_object().is_some_and(|parts| parts.len() == 1), "{fields}");
    // A cluster joins without an edit, and a label of it counts.
    world.apply(&gateway(&[("weu", "192.0.2.1"), ("neu", "192.0.2.2"), ("sea", "192.0.2.3")]).to_string())?;
    expect_tree(&world, &["5", "5", "5"]).with_context(|| operator.output())?;
    world.expect_condition(GATEWAY, AFFECTED, "True", "PolicyApplied")?;
    world.api().merge(
        &policy("mine"),
        &json!({"spec": {"loadBalancing": {"weighted": {"custom": [{"value": "big", "weight": 50}]}}}}),
    )?;
    let labels = json!({"kuadrant.io/lb-attribute-custom-weight": "big"});
    let metadata = json!({"name": "sea", "labels": labels});
    let cluster = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster", "metadata": metadata,
        "spec": {"hubAcceptsClient": true},
    });
    world.apply(&cluster.to_string())?;
    world.expect("the label to count", |api| {
        let child =
            api.get(&endpoint("apps", TREE)).map_err(|error| format!("{error:#}"))?.unwrap_or_default();
        if child.to_string().contains("\"50\"") { Ok(()) } else { Err(child.to_string()) }
    })?;
    world.proxy.wait_for_quiet(QUIET)?;
    world.api().delete(GATEWAY)?;
    world.expect_gone(&endpoint("apps", TREE)).with_context(|| operator.output())?;
    world.expect_condition(&policy("mine"), "Ready", "False", "TargetNotFound")
}

/// A new operator has no memory but the policy's status. That it has planned is seen by a new listener, which
/// has no old answers and gets every cluster.
#[test]
fn an_operator_that_starts_while_all_are_drained_keeps_the_old_answers() -> Result<()> {
    let world = World::alone()?;
    let clusters = [("weu", "192.0.2.1"), ("neu", "192.0.2.2")];
    world.apply(CLASS)?;
    world.apply(&gateway(&clusters).to_string())?;
    world.apply(&own_policy(5).to_string())?;
    let operator = world.operator(&[])?;
    expect_tree(&world, &["5", "5"]).with_context(|| operator.output())?;
    let nobody = json!({"default": 0, "custom": [{"value": "big", "weight": 50}]});
    world.api().merge(&policy("mine"), &json!({"spec": {"loadBalancing": {"weighted": nobody}}}))?;
    world.expect_condition(&policy("mine"), "Ready", "False", "AllDrained")?;
    world.expect_field(&policy("mine"), "/status/answers/0/clusters/0/weight", &json!(5))?;
    drop(operator);
    let mut more = gateway(&clusters);
    let new = json!({"name": "new", "hostname": "new.example.org", "port": 443, "protocol": "HTTP"});
    more["spec"]["listeners"].as_array_mut().context("listeners")?.push(new);
    world.apply(&more.to_string())?;
    let operator = world.operator(&[])?;
    expect_tree(&world, &["5", "5", "1", "1"]).with_context(|| operator.output())
}

#[test]
fn a_gateway_that_lost_its_addresses_is_answered_over_a_restart() -> Result<()> {
    let world = World::alone()?;
    world.apply(EMBEDDED)?;
    world.apply(&gateway(&[("weu", "192.0.2.1")]).to_string())?;
    world.apply(&own_policy(5).to_string())?;
    let mut server = world.dns("lost", &[])?;
    let answer = |server: &DnsServer| anyhow::Ok(dig(server.dns(), "app.example.org A")?.data("A"));
    wait_for("the answer", || Ok((answer(&server)? == ["192.0.2.1"]).then_some(())))
        .with_context(|| server.output())?;
    world.apply(&gateway(&[]).to_string())?;
    world.apply(MARKER)?;
    let marked = |server: &DnsServer| anyhow::Ok(dig(server.dns(), "marker.example.org A")?.data("A"));
    wait_for("the change after it", || Ok((!marked(&server)?.is_empty()).then_some(())))?;
    ensure!(answer(&server)? == ["192.0.2.1"], "{}", server.output());
    server.restart()?;
    world.apply(&MARKER.replace("192.0.2.9", "192.0.2.10"))?;
    wait_for("a plan of the new process", || Ok((marked(&server)? == ["192.0.2.10"]).then_some(())))?;
    ensure!(answer(&server)? == ["192.0.2.1"], "{}", server.output());
    Ok(())
}

#[test]
fn a_default_policy_is_made_once_steps_aside_and_is_the_users_once_edited() -> Result<()> {
    let world = World::alone()?;
    world.apply(CLASS)?;
    world.apply(&gateway(&[("weu", "192.0.2.1"), ("neu", "192.0.2.2")]).to_string())?;
    let operator = world.operator(&[])?;
    let default = policy("edge-default");
    let made = world.expect_there(&default).with_context(|| operator.output())?;
    ensure!(made["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "fingerpost", "{made}");
    ensure!(made["spec"]["loadBalancing"] == json!({"weighted": {"default": 10}}), "{made}");
    expect_tree(&world, &["10", "10"])?;
    world.expect_condition(GATEWAY, AFFECTED, "True", "PolicyApplied")?;
    world.apply(&own_policy(7).to_string())?;
    world.expect_gone(&default).with_context(|| operator.output())?;
    expect_tree(&world, &["7", "7"])?;
    world.api().delete(&policy("mine"))?;
    world.expect_there(&default).with_context(|| operator.output())?;
    expect_tree(&world, &["10", "10"])?;
    // Edited, it is the user's: neither undone nor taken away, by this operator or the next.
    world.api().merge(&default, &json!({"spec": {"loadBalancing": {"weighted": {"default": 20}}}}))?;
    expect_tree(&world, &["20", "20"])?;
    drop(operator);
    let operator = world.operator(&[])?;
    world.apply(&own_policy(7).to_string())?;
    world
        .expect_condition(&policy("mine"), "Ready", "False", "Conflicted")
        .with_context(|| operator.output())?;
    expect_tree(&world, &["20", "20"])?;
    world.proxy.wait_for_quiet(QUIET)?;
    ensure!(world.api().get(&default)?.is_some(), "a user's policy was deleted");
    Ok(())
}

#[test]
fn the_example_of_policies_applies_as_it_is() -> Result<()> {
    let world = World::alone()?;
    world.apply(&example_text("kuadrant")?)?;
    let operator = world.operator(&[])?;
    let path = "/apis/kuadrant.io/v1alpha1/namespaces/shop/dnspolicies/shop";
    world.expect_condition(path, "Ready", "True", "Applied").with_context(|| operator.output())
}
