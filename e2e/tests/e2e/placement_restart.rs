//! An operator that starts again finds Placements as they were told: nothing is written, nothing forgotten.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use e2e::{Backend, Etcd, Operator, own_address, wait_for};
use serde_json::{Value, json};

use crate::witness::{etcd_witness, placement};
use crate::world::World;

const PROBED: &str = "/apis/fingerpost.dev/v1alpha1/namespaces/apps/placements/probed";
const WITNESSED: &str = "/apis/fingerpost.dev/v1alpha1/namespaces/apps/placements/web";
/// Nothing written for this long, many probes and renewals, is nothing to write.
const QUIET: Duration = Duration::from_secs(5);

fn probed(regions: &[String]) -> String {
    let regions: Vec<Value> = ["weu", "neu"]
        .iter()
        .zip(regions)
        .map(|(name, address)| json!({"name": name, "addresses": [address]}))
        .collect();
    let check = json!({"protocol": "TCP", "port": e2e::BACKEND_PORT, "interval": "500ms", "timeout": "400ms",
        "failures": 2, "successes": 1});
    json!({"apiVersion": "fingerpost.dev/v1alpha1", "kind": "Placement",
        "metadata": {"name": "probed", "namespace": "apps"},
        "spec": {"hostname": "probed.example.net", "mode": "active-hotstandby", "regions": regions,
            "healthCheck": check}})
    .to_string()
}

/// Waits until the operator's own probes have told of every target.
fn heard(operator: &Operator, targets: usize) -> Result<()> {
    wait_for("every target to be probed", || {
        let page: Value = serde_json::from_str(&operator.get("/api/v1/health")?)?;
        let probes = page.as_array().context("no list")?;
        let known = probes.iter().filter(|probe| probe["state"] != "unknown").count();
        Ok((known >= targets).then_some(()))
    })
}

#[test]
fn a_restart_with_nothing_changed_writes_nothing_of_a_placement() -> Result<()> {
    let (world, etcd) = (World::alone()?, [Etcd::alone()?]);
    let regions = [own_address(), own_address()];
    // The first is down, so that there is a reason, and a region that clients were moved to.
    let _up = Backend::silent(regions[1])?;
    let objects = [probed(&regions.map(|region| region.to_string())), placement("weu", &etcd_witness(&etcd))];
    world.apply(&objects.join("\n---\n"))?;
    let mut operator = world.operator(&["--allow-target=127.0.0.0/8"])?;
    world.expect_field(PROBED, "/status/regions/0/health", &json!("Down"))?;
    world.expect_field(PROBED, "/status/regions/1/health", &json!("Up"))?;
    world.expect_condition(WITNESSED, "Witness", "True", "Held").with_context(|| operator.output())?;
    world.proxy.wait_for_quiet(QUIET)?;
    let statuses = || -> Result<Vec<Value>> {
        let status = |path: &&str| Ok(world.api().get(path)?.context("gone")?["status"].clone());
        [PROBED, WITNESSED].iter().map(status).collect()
    };
    let (told, before) = (statuses()?, world.cluster().requests()?);
    world.proxy.forget();
    operator.process().terminate()?;
    assert_eq!(operator.process().wait_for_end()?, Some(0), "{}", operator.output());
    operator.restart()?;
    world.expect("the new operator to lead", |_| {
        if operator.output().contains("engine: leading") { Ok(()) } else { Err(operator.output()) }
    })?;
    heard(&operator, 2)?;
    world.proxy.wait_for_quiet(QUIET)?;
    let writes = world.cluster().requests()?.since(&before).writes();
    ensure!(writes.total() == 0, "{:?}\n{:?}", writes.by_name(), world.proxy.writes());
    assert_eq!(statuses()?, told, "since when things are as they are is kept");
    Ok(())
}
