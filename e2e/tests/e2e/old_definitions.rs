//! CRDs that are older than the operator, and objects that turned invalid because of them.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use e2e::{Call, Cluster, Start};
use serde_json::{Value, json};

use crate::world::{World, condition, endpoint, example_text, kubizone, route};

const IDENTITY: &str = "/apis/cluster.router.io/v1alpha1/clusteridentities/cluster-identity";
const LAST_VALID: &str = "/metadata/annotations/fingerpost.dev~1last-valid-spec";

/// Makes an installed definition older: without a field of its status, and without rules.
fn age(cluster: &Cluster, name: &str, field: &str) -> Result<()> {
    let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}");
    let mut definition = cluster.api().get(&path)?.with_context(|| format!("no {name}"))?;
    let schema = definition.pointer_mut("/spec/versions/0/schema/openAPIV3Schema").context("no schema")?;
    loosen(schema);
    let status = schema.pointer_mut("/properties/status/properties").and_then(Value::as_object_mut);
    let removed = status.and_then(|fields| fields.remove(field));
    ensure!(field.is_empty() || removed.is_some(), "{name} has no status.{field}");
    let body = definition.to_string();
    cluster.api().request("PUT", &path, Some(("application/json", &body)))?.json().map(drop)
}

fn loosen(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.remove("x-kubernetes-validations");
            if fields.get("pattern").is_some_and(Value::is_string) {
                fields.remove("pattern");
            }
            fields.values_mut().for_each(loosen);
        }
        Value::Array(items) => items.iter_mut().for_each(loosen),
        _ => {}
    }
}

#[test]
fn older_definitions_are_told_of_and_an_object_that_turns_invalid_stays_in_force() -> Result<()> {
    let world = World::of(Cluster::own(Start::AllKinds)?)?;
    age(world.cluster(), "zones.kubi.zone", "entryCount")?;
    age(world.cluster(), "clusteridentities.cluster.router.io", "")?;
    let mut operator = world.operator(&[])?;
    operator.process().wait_for_output("the installed CRD is older than this operator and lacks")?;
    operator.process().wait_for_output("status.entryCount")?;
    world.apply(&example_text("quickstart")?)?;
    let child = endpoint("shop", "web-external-dns-weu");
    world.expect_there(&child).with_context(|| operator.output())?;
    world.expect_condition(&kubizone("zones", "dns", "example-org"), "Ready", "True", "Served")?;
    world.proxy.wait_for_quiet(Duration::from_secs(6))?;
    world.proxy.forget();
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(world.proxy.writes().iter().map(Call::to_string).collect::<Vec<_>>(), Vec::<String>::new());

    let valid = world.api().get(IDENTITY)?.context("no identity")?["spec"].clone();
    world.expect("the looser schema", |api| {
        let merged = api.merge(IDENTITY, &json!({"spec": {"domain": "not_a domain"}}));
        merged.map(drop).map_err(|error| format!("{error:#}"))
    })?;
    stands(&world, &child, &valid).with_context(|| operator.output())?;
    operator.process().terminate()?;
    operator.process().wait_for_end()?;
    operator.restart()?;
    world.apply(&route("meanwhile"))?;
    let meanwhile = endpoint("shop", "meanwhile-external-dns-weu");
    let name = json!("meanwhile-ns-p-prod-shop.example.org");
    world.expect_field(&meanwhile, "/spec/endpoints/0/dnsName", &name).with_context(|| operator.output())?;
    stands(&world, &child, &valid)?;
    world.api().merge(IDENTITY, &json!({"spec": {"domain": "example.org", "cluster": "aks09"}}))?;
    world.expect_field(IDENTITY, LAST_VALID, &Value::Null).with_context(|| operator.output())?;
    world.expect_field(&child, "/spec/endpoints/0/targets", &json!(["aks09-weu-public.example.org"]))?;
    world.nothing_deleted("an object that turned invalid")
}

/// The last valid spec is in force and in the annotation, and the status says that something is wrong.
fn stands(world: &World<Cluster>, child: &str, valid: &Value) -> Result<()> {
    world.expect("the last valid spec to be kept", |api| {
        let identity = api.get(IDENTITY).map_err(|error| error.to_string())?.unwrap_or_default();
        let kept = identity.pointer(LAST_VALID).and_then(Value::as_str).unwrap_or_default();
        let kept: Value = serde_json::from_str(kept).unwrap_or_default();
        let holds = |kind: &str| condition(&identity, kind).unwrap_or_default()["status"].clone();
        let right = (&kept == valid || kept["spec"] == *valid)
            && holds("Ready") == "False"
            && holds("Stalled") == "True";
        if right { Ok(()) } else { Err(identity.to_string()) }
    })?;
    world.proxy.wait_for_quiet(Duration::from_secs(2))?;
    world.expect_field(child, "/spec/endpoints/0/dnsName", &json!("web-ns-p-prod-shop.example.org"))?;
    world.nothing_deleted("an object that turned invalid")
}
