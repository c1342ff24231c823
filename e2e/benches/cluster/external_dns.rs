//! ExternalDNS on as many DNSEndpoints, into PowerDNS: the same change, for comparison.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use e2e::{Cluster, ExternalDns, PowerDns, Start, Usage, ask, wait_for_within};
use serde_json::{Value, json};

use crate::ours::spread;
use crate::world::{self, DOMAIN};

const PATIENCE: Duration = Duration::from_secs(600);

/// Measures ExternalDNS on this many DNSEndpoints of one A record.
pub(crate) fn measure(endpoints: usize, changes: usize) -> Result<()> {
    println!("\n## ExternalDNS 0.21 on {endpoints} DNSEndpoints, into PowerDNS");
    let cluster = Cluster::own(Start::AllKinds)?;
    cluster.ensure_namespace("records")?;
    let path = "/apis/externaldns.k8s.io/v1alpha1/namespaces/records/dnsendpoints";
    world::create(&cluster, endpoints, path, |number| endpoint(number, "192.0.2.1"))?;
    let power = PowerDns::start()?;
    power.make_zone(DOMAIN)?;
    let start = Instant::now();
    let external =
        ExternalDns::start(&cluster.kubeconfig("admin")?, &power, DOMAIN, &["--txt-owner-id=bench"])?;
    let last = format!("host-{}.{DOMAIN}", endpoints - 1);
    wait_for_within(PATIENCE, "all records", || Ok(has(&power, &last, "192.0.2.1").then_some(())))?;
    println!("all records stood after {:.1} s", start.elapsed().as_secs_f64());
    std::thread::sleep(Duration::from_secs(10));
    let before = Usage::of(external.id())?;
    let mut times = Vec::new();
    for round in 0..changes {
        times.push(change(&cluster, &power, round)?);
    }
    let after = Usage::of(external.id())?;
    println!("one changed object is answered after {}", spread(&mut times));
    println!(
        "processor time a change: {:.0} ms; memory {:.0} MiB",
        after.since(&before).as_secs_f64() * 1000.0 / changes as f64,
        after.memory as f64 / f64::from(1 << 20)
    );
    Ok(())
}

fn endpoint(number: usize, address: &str) -> Value {
    json!({
        "apiVersion": "externaldns.k8s.io/v1alpha1", "kind": "DNSEndpoint",
        "metadata": { "name": format!("host-{number}"), "namespace": "records" },
        "spec": { "endpoints": [{ "dnsName": format!("host-{number}.{DOMAIN}"), "recordType": "A", "targets": [address] }] },
    })
}

fn change(cluster: &Cluster, power: &PowerDns, round: usize) -> Result<Duration> {
    let address = format!("192.0.2.{}", round % 2 + 2);
    let start = Instant::now();
    let path = "/apis/externaldns.k8s.io/v1alpha1/namespaces/records/dnsendpoints/host-0";
    cluster.api().merge(path, &json!({ "spec": endpoint(0, &address)["spec"] }))?;
    let name = format!("host-0.{DOMAIN}");
    while !has(power, &name, &address) {
        ensure!(start.elapsed() < Duration::from_secs(120), "the answer did not change within 120 s");
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(start.elapsed())
}

fn has(power: &PowerDns, name: &str, address: &str) -> bool {
    ask(power.dns(), name).is_ok_and(|reply| reply.records.contains(&format!("A {address}")))
}
