//! Children in a cluster: made, kept, given up, and never taken from somebody else.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use e2e::{Alone, Call, Cluster, Operator, Start};
use serde_json::json;

use crate::world::{World, endpoint, example_text, istio, route, router};

/// Nothing written for this long is nothing to write.
const QUIET: Duration = Duration::from_secs(3);

const WEB: &str = "web-external-dns-weu";
const GATEWAY: &str = "gateway-controller-istio-ingressgateway-public-external-dns-weu";
const CONFIGURATION: &str = "/apis/cluster.router.io/v1alpha1/dnsconfigurations/dns-config";

/// The quickstart in a cluster, with an operator that has nothing left to do.
fn quickstart() -> Result<(World<Alone>, Operator)> {
    let world = World::alone()?;
    world.apply(&example_text("quickstart")?)?;
    let operator = world.operator(&[])?;
    settled(&world)?;
    Ok((world, operator))
}

fn settled(world: &World<Alone>) -> Result<()> {
    world.expect_there(&endpoint("shop", WEB))?;
    world.expect_there(&endpoint("istio-system", GATEWAY))?;
    let hosts = json!(["api-ns-p-prod-shop.example.org", "web-ns-p-prod-shop.example.org"]);
    world.expect_field(&istio("istio-system", "default-gateway"), "/spec/servers/0/hosts", &hosts)?;
    world.proxy.wait_for_quiet(QUIET)
}

#[test]
fn what_is_ours_comes_back_and_what_is_not_is_left() -> Result<()> {
    let (world, operator) = quickstart()?;
    let (api, web, gateway) = (world.api(), endpoint("shop", WEB), istio("istio-system", "default-gateway"));
    let mine = json!({"metadata": {"labels": {"team": "blue"}, "annotations": {"note": "mine"}}});
    api.merge(&web, &mine)?;
    api.merge(&gateway, &json!({"spec": {"selector": {"extra": "label"}}}))?;
    let endpoints = api.get(&web)?.context("no child")?["spec"]["endpoints"].clone();
    api.merge(&web, &json!({"spec": {"endpoints": []}}))?;
    api.merge(&web, &json!({"metadata": {"labels": {"router.io/region": "elsewhere"}}}))?;
    world.expect_field(&web, "/spec/endpoints", &endpoints).with_context(|| operator.output())?;
    world.expect_field(&web, "/metadata/labels/router.io~1region", &json!("weu"))?;
    api.delete(&endpoint("istio-system", GATEWAY))?;
    api.delete(&gateway)?;
    world.expect_there(&endpoint("istio-system", GATEWAY))?;
    settled(&world)?;
    let child = api.get(&web)?.context("no child")?;
    assert_eq!(
        (&child["metadata"]["labels"]["team"], &child["metadata"]["annotations"]["note"]),
        (&json!("blue"), &json!("mine"))
    );
    world.nothing_deleted("changes by hand")
}

#[test]
fn children_go_with_what_they_were_made_for() -> Result<()> {
    let (world, operator) = quickstart()?;
    let api = world.api();
    let hosts = |names: &[&str]| {
        let hosts: Vec<String> =
            names.iter().map(|name| format!("{name}-ns-p-prod-shop.example.org")).collect();
        world.expect_field(&istio("istio-system", "default-gateway"), "/spec/servers/0/hosts", &json!(hosts))
    };
    api.delete(&router("serviceroutes", "shop", "api"))?;
    world.expect_gone(&endpoint("shop", "api-external-dns-weu"))?;
    hosts(&["web"]).with_context(|| operator.output())?;
    let policy = router("dnspolicies", "shop", "shop-dns");
    let inactive = json!({"spec": {"mode": "RegionBound", "sourceRegion": "neu"}});
    api.merge(&policy, &inactive)?;
    world.expect_gone(&endpoint("shop", WEB))?;
    world.expect_field(&policy, "/status/phase", &json!("Inactive"))?;
    api.merge(&policy, &json!({"spec": {"mode": "Active", "sourceRegion": null}}))?;
    world.expect_there(&endpoint("shop", WEB))?;
    api.delete(&policy)?;
    world.expect_gone(&endpoint("shop", WEB))?;
    world.apply(&example_text("quickstart")?)?;
    settled(&world)?;
    let other = json!({"spec": {"externalDNSControllers": [{"name": "external-dns-two", "region": "weu"}]}});
    api.merge(CONFIGURATION, &other)?;
    world.expect_gone(&endpoint("shop", WEB))?;
    world.expect_gone(&endpoint("istio-system", GATEWAY))?;
    world.expect_there(&endpoint("shop", "web-external-dns-two"))?;
    api.delete(&router("serviceroutes", "shop", "web"))?;
    api.delete(&router("serviceroutes", "shop", "api"))?;
    world.expect_gone(&istio("istio-system", "default-gateway"))?;
    world.expect_condition(
        &router("gateways", "istio-system", "default-gateway"),
        "Ready",
        "False",
        "NoServiceRoutes",
    )
}

#[test]
fn an_object_of_a_user_is_never_taken() -> Result<()> {
    let world = World::alone()?;
    let theirs = "{apiVersion: networking.istio.io/v1, kind: Gateway, \
        metadata: {name: default-gateway, namespace: istio-system}, \
        spec: {selector: {istio: own}, servers: [{port: {number: 80, name: http, protocol: HTTP}, hosts: [mine.example]}]}}";
    world.apply(theirs)?;
    world.apply(&example_text("quickstart")?)?;
    let operator = world.operator(&[])?;
    let (gateway, child) =
        (router("gateways", "istio-system", "default-gateway"), istio("istio-system", "default-gateway"));
    world.expect_condition(&gateway, "Ready", "False", "ApplyFailed").with_context(|| operator.output())?;
    world.expect_there(&endpoint("shop", WEB))?;
    world.proxy.wait_for_quiet(QUIET)?;
    world.expect_field(&child, "/spec/servers/0/hosts", &json!(["mine.example"]))?;
    world.nothing_deleted("somebody else's object")?;
    world.api().delete(&child)?;
    world.expect_field(&child, "/spec/servers/0/port/number", &json!(443))?;
    world.expect_condition(&gateway, "Ready", "True", "GatewayCreated")
}

#[test]
fn a_restart_with_nothing_changed_writes_nothing() -> Result<()> {
    let (world, mut operator) = quickstart()?;
    world.apply(CLASS)?;
    let mut server = world.dns("rest", &[])?;
    settled(&world)?;
    let before = world.cluster.requests()?;
    world.proxy.forget();
    operator.process().terminate()?;
    assert_eq!(operator.process().wait_for_end()?, Some(0), "{}", operator.output());
    operator.restart()?;
    server.restart()?;
    server.wait_until_ready()?;
    world.expect("the new operator to lead", |_| {
        if operator.output().contains("engine: leading") { Ok(()) } else { Err(operator.output()) }
    })?;
    world.proxy.wait_for_quiet(QUIET)?;
    let writes = world.cluster.requests()?.since(&before).writes();
    // The token of no account is made here, and nobody else is in this cluster.
    ensure!(writes.total() == 0, "{:?}\n{:?}", writes.by_name(), world.proxy.writes());
    // A second pass: everything is heard again, and nothing is to be done.
    world.proxy.cut();
    world.proxy.wait_for_quiet(QUIET)?;
    assert_eq!(world.proxy.writes().iter().map(Call::to_string).collect::<Vec<_>>(), Vec::<String>::new());
    Ok(())
}

const CLASS: &str = "{apiVersion: dns.homelab.mortenolsen.pro/v1alpha1, kind: DNSClass, \
    metadata: {name: edge}, spec: {embedded: {}}}";

#[test]
fn kinds_that_are_installed_later_are_waited_for() -> Result<()> {
    let world = World::of(Cluster::own(Start::Empty)?)?;
    let mut operator = world.operator(&[])?;
    ensure!(operator.output().contains("its CRD is not installed; waiting for it"), "{}", operator.output());
    let cluster = world.cluster();
    cluster.install_own_kinds()?;
    cluster.wait_for_definitions()?;
    world.apply(&example_text("quickstart")?)?;
    let gateway = router("gateways", "istio-system", "default-gateway");
    world.expect_condition(&gateway, "Ready", "False", "ApplyFailed").with_context(|| operator.output())?;
    operator.health("/readyz").context("missing foreign kinds are no reason")?;
    // Two children are missing; which of them is told of first is chance.
    world.expect("the Istio Gateway to be missed", |api| {
        let told = api.get(&gateway).map_err(|error| format!("{error:#}"))?.unwrap_or_default()["status"]
            .to_string();
        if told.contains("gateways.networking.istio.io is not installed") { Ok(()) } else { Err(told) }
    })?;
    ["istio-crds", "external-dns-crds"].iter().try_for_each(|name| cluster.install_definitions(name))?;
    world.expect_there(&endpoint("shop", WEB)).with_context(|| operator.output())?;
    world.expect_there(&istio("istio-system", "default-gateway"))?;
    world.expect_condition(&gateway, "Ready", "True", "GatewayCreated")?;
    world.nothing_deleted("kinds that came later")?;
    ensure!(operator.process().is_running(), "{}", operator.output());
    Ok(())
}

#[test]
fn a_kind_that_disappears_takes_no_children_along() -> Result<()> {
    let (world, mut operator) = quickstart()?;
    operator.process().terminate()?;
    operator.process().wait_for_end()?;
    // An API server that does not know our kinds, for as long as a start and a first plan take.
    let is_ours = |call: &Call| call.is_about("serviceroutes") || call.is_about("dnspolicies");
    world.proxy.add(e2e::Rule::new(e2e::Fault::Status(404), is_ours));
    operator.restart()?;
    world.proxy.forget();
    world.proxy.wait_for_quiet(QUIET)?;
    world.nothing_deleted("kinds that were not served")?;
    world.proxy.clear();
    world.apply(&route("new"))?;
    world.expect_there(&endpoint("shop", "new-external-dns-weu")).with_context(|| operator.output())?;
    world.nothing_deleted("kinds that came back")
}
