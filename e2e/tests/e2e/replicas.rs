//! Operators that both write, that may not do everything, and whose objects lie in a namespace that goes.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use e2e::{Alone, Call, Fault, OPERATOR_NAMESPACE, Operator, Proxy, Rule};
use serde_json::{Value, json};

use crate::world::{World, endpoint, example_text, route};

const ROLE: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles/fingerpost-operator";
const QUIET: Duration = Duration::from_secs(3);

fn child(name: &str) -> String {
    endpoint("shop", &format!("{name}-external-dns-weu"))
}

/// Another operator, with a proxy of its own so that its writes can be told apart.
fn second(world: &World<Alone>, flags: &[&str]) -> Result<(Proxy, Operator)> {
    let proxy = Proxy::start(&world.cluster)?;
    let kubeconfig =
        world.cluster.kubeconfig_of_account(&proxy.url(), OPERATOR_NAMESPACE, "fingerpost-operator")?;
    let operator = Operator::start(world.place(flags)?.by(&kubeconfig))?;
    Ok((proxy, operator))
}

#[test]
fn two_that_both_write_end_in_the_same_state() -> Result<()> {
    let world = World::alone()?;
    let first = world.operator(&["--leader-elect=false"])?;
    let (proxy, other) = second(&world, &["--leader-elect=false"])?;
    world.apply(&example_text("quickstart")?)?;
    world.expect_there(&child("web")).with_context(|| first.output())?;
    world.expect_there(&child("api"))?;
    proxy.wait_for_quiet(QUIET)?;
    world.proxy.wait_for_quiet(QUIET)?;
    let deleted = proxy.writes().into_iter().filter(|call| call.method == "DELETE").count();
    assert_eq!(deleted, 0, "{}", other.output());
    world.nothing_deleted("two at once")?;
    let leases = world.api().list("/apis/coordination.k8s.io/v1/namespaces/fingerpost-system/leases")?;
    ensure!(leases.is_empty(), "--leader-elect=false takes no Lease: {leases:?}");
    Ok(())
}

#[test]
fn a_child_is_not_removed_before_the_objects_that_it_is_made_from_arrive() -> Result<()> {
    let world = World::alone()?;
    let first = world.operator(&["--leader-elect=false"])?;
    let (proxy, other) = second(&world, &["--leader-elect=false"])?;
    proxy.add(Rule::new(Fault::Hang, |call| call.is_about("serviceroutes")));
    proxy.cut();
    world.apply(&example_text("quickstart")?)?;
    world.expect_there(&child("web")).with_context(|| first.output())?;
    // The other operator has the child, and not the route.
    std::thread::sleep(Duration::from_secs(1));
    let deleted: Vec<Call> = proxy.writes().into_iter().filter(|call| call.method == "DELETE").collect();
    ensure!(deleted.is_empty(), "{deleted:?}\n{}", other.output());
    proxy.clear();
    proxy.cut();
    proxy.wait_for_quiet(QUIET)?;
    world.expect_there(&child("web")).map(drop)
}

/// The operator's role without what is about a resource.
fn role_without(world: &World<Alone>, resource: &str) -> Result<Value> {
    let mut role = world.api().get(ROLE)?.context("there is no role")?;
    let metadata = json!({"name": role["metadata"]["name"], "labels": role["metadata"]["labels"]});
    for rule in role["rules"].as_array_mut().into_iter().flatten() {
        if let Some(resources) = rule["resources"].as_array_mut() {
            resources.retain(|one| one != resource);
        }
    }
    role["metadata"] = metadata;
    if let Some(rules) = role["rules"].as_array_mut() {
        rules.retain(|rule| rule["resources"].as_array().is_some_and(|all| !all.is_empty()));
    }
    role["apiVersion"] = json!("rbac.authorization.k8s.io/v1");
    role["kind"] = json!("ClusterRole");
    Ok(role)
}

#[test]
fn what_is_forbidden_is_named_and_heals() -> Result<()> {
    let world = World::alone()?;
    let whole = role_without(&world, "nothing")?;
    world.apply(&example_text("quickstart")?)?;
    let mut operator = world.operator(&[])?;
    world.expect_there(&child("web"))?;
    forbidden(
        &world,
        &operator,
        &whole,
        "serviceroutes/status",
        "serviceroutes.routing.router.io/status: patch",
    )?;
    world.expect_there(&child("web"))?;

    // What may not be read is no reason to delete, at a start either.
    operator.process().terminate()?;
    operator.process().wait_for_end()?;
    world.api().apply(&role_without(&world, "services")?)?;
    world.proxy.forget();
    let mut operator = Operator::spawn(operator.place().clone())?;
    says(&world, &operator, "services: list")?;
    world.nothing_deleted("Services may not be read")?;
    world.api().apply(&whole)?;
    operator.wait_until_ready()?;
    world.proxy.wait_for_quiet(QUIET)?;
    world.nothing_deleted("Services may be read again")
}

fn forbidden(
    world: &World<Alone>,
    operator: &Operator,
    whole: &Value,
    what: &str,
    words: &str,
) -> Result<()> {
    world.api().apply(&role_without(world, what)?)?;
    world.apply(&route("forbidden"))?;
    says(world, operator, words)?;
    ensure!(operator.output().contains("forbidden"), "{}", operator.output());
    world.api().apply(whole)?;
    let path = crate::world::router("serviceroutes", "shop", "forbidden");
    world.expect_condition(&path, "Ready", "True", "ReconciliationSucceeded")?;
    world.expect("readiness", |_| operator.health("/readyz").map(drop).map_err(|error| error.to_string()))
}

/// Waits until the operator is not ready, for a reason with these words.
fn says(world: &World<Alone>, operator: &Operator, words: &str) -> Result<()> {
    world.expect(&format!("/readyz to say `{words}`"), |_| match operator.health("/readyz") {
        Err(error) if error.to_string().contains(words) => Ok(()),
        other => Err(format!("{other:?}")),
    })
}

#[test]
fn a_namespace_that_is_being_deleted_delays_nobody() -> Result<()> {
    let world = World::alone()?;
    world.apply(&example_text("quickstart")?)?;
    let namespace = world.cluster.namespace("doomed")?;
    let inside = |text: &str| text.replace("shop", &namespace);
    world.apply(&inside(&route("web")))?;
    let policy = "{apiVersion: routing.router.io/v1alpha1, kind: DNSPolicy, \
        metadata: {name: own, namespace: shop}, spec: {mode: Active}}";
    world.apply(&inside(policy))?;
    // The namespace stays until this goes.
    world.apply(&inside(
        "{apiVersion: v1, kind: ConfigMap, \
        metadata: {name: last, namespace: shop, finalizers: [example.org/hold]}}",
    ))?;
    let operator = world.operator(&[])?;
    world.expect_there(&endpoint(&namespace, "web-external-dns-weu")).with_context(|| operator.output())?;
    world.api().delete(&format!("/api/v1/namespaces/{namespace}"))?;
    world.expect_gone(&endpoint(&namespace, "web-external-dns-weu"))?;
    world.apply(&route("meanwhile"))?;
    world.expect_there(&child("meanwhile"))?;
    let elsewhere = |call: &String| !call.contains(&namespace);
    let deleted: Vec<String> = world.deletions().into_iter().filter(elsewhere).collect();
    ensure!(deleted.is_empty(), "{deleted:?}");
    let config = format!("/api/v1/namespaces/{namespace}/configmaps/last");
    world.api().merge(&config, &json!({"metadata": {"finalizers": null}}))?;
    world.expect_gone(&format!("/api/v1/namespaces/{namespace}"))
}
