//! Edits whose references point nowhere, in a cluster.

use std::time::Duration;

use anyhow::{Context, Result};
use e2e::{Cluster, Start};
use serde_json::{Value, json};

use crate::world::{World, endpoint, example_text, router};

const LAST_VALID: &str = "/metadata/annotations/fingerpost.dev~1last-valid-spec";

#[test]
fn an_edit_that_points_nowhere_stays_out_of_force_over_a_restart_of_the_operator() -> Result<()> {
    let world = World::of(Cluster::own(Start::AllKinds)?)?;
    let mut operator = world.operator(&[])?;
    world.apply(&example_text("quickstart")?)?;
    let (child, route) = (endpoint("shop", "web-external-dns-weu"), router("serviceroutes", "shop", "web"));
    let dns_name = json!("web-ns-p-prod-shop.example.org");
    world.expect_field(&child, "/spec/endpoints/0/dnsName", &dns_name).with_context(|| operator.output())?;

    let edit = json!({"spec": {"gatewayName": "defualt-gateway", "serviceName": "shop"}});
    world.api().merge(&route, &edit)?;
    let is_kept = || -> Result<()> {
        world.expect_condition(&route, "Ready", "False", "GatewayNotFound")?;
        world.expect_condition(&route, "Stalled", "True", "GatewayNotFound")?;
        world.expect("the spec in force to be annotated", |api| {
            let object = api.get(&route).map_err(|error| error.to_string())?.unwrap_or_default();
            let kept = object.pointer(LAST_VALID).and_then(Value::as_str).unwrap_or_default();
            let kept: Value = serde_json::from_str(kept).unwrap_or_default();
            let is_right = kept["gatewayName"] == "default-gateway" && kept["serviceName"] == "web";
            if is_right { Ok(()) } else { Err(object.to_string()) }
        })?;
        world.proxy.wait_for_quiet(Duration::from_secs(2))?;
        world.expect_field(&child, "/spec/endpoints/0/dnsName", &dns_name)?;
        world.nothing_deleted("an edit that points nowhere")
    };
    is_kept().with_context(|| operator.output())?;
    operator.process().terminate()?;
    operator.process().wait_for_end()?;
    operator.restart()?;
    is_kept().with_context(|| operator.output())?;

    world.apply(
        "apiVersion: routing.router.io/v1alpha1\nkind: Gateway\n\
         metadata: {name: defualt-gateway, namespace: istio-system}\n\
         spec: {controller: istio-ingressgateway, targetPostfix: other}\n",
    )?;
    let moved = json!("shop-ns-p-prod-shop.example.org");
    world.expect_field(&child, "/spec/endpoints/0/dnsName", &moved).with_context(|| operator.output())?;
    world.expect_field(&route, LAST_VALID, &Value::Null)?;
    world.expect_condition(&route, "Ready", "True", "ReconciliationSucceeded")
}
