//! Alerts and the dashboard: promtool runs every alert, and the running binaries say which metrics there are.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use e2e::chart::deploy;
use e2e::{DocumentServer, Folder, Options, ProviderServer, Up, call, wait_for};
use serde_json::Value;

use crate::world::World;

/// Metrics that are on no panel, with the reason.
const EXCUSED: [(&str, &str); 5] = [
    ("fingerpost_source_problems", "counts what logs and statuses name one by one"),
    ("fingerpost_watch_objects", "fingerpost_objects has those that count"),
    ("fingerpost_events_dropped", "a debugging aid"),
    ("fingerpost_crd_missing_fields", "the log names the fields at the start"),
    ("leader_election_master_status", "fingerpost_leader by another name"),
];

/// A class for the DNS server to serve: without one it is not ready.
const CLASS: &str = "{apiVersion: dns.homelab.mortenolsen.pro/v1alpha1, kind: DNSClass, \
    metadata: {name: edge}, spec: {embedded: {}}}";

/// A target whose port is closed, so that a probe of it has a result at once.
const PROBED: &str = "{apiVersion: fingerpost.dev/v1alpha1, kind: Placement, metadata: {name: app, namespace: apps}, \
    spec: {hostname: app.example.net, mode: single-region, regions: [{name: weu, addresses: [127.0.0.1]}], \
    healthCheck: {protocol: TCP, port: 1, interval: 100ms, timeout: 100ms, failures: 1}}}";

/// A record that is delivered to a provider.
const DELIVERED: &str = "{apiVersion: dns.homelab.mortenolsen.pro/v1alpha1, kind: DNSClass, \
    metadata: {name: files}, spec: {zoneFile: {directory: DIRECTORY}}}
---
{apiVersion: dns.homelab.mortenolsen.pro/v1alpha1, kind: DNSRecord, metadata: {name: app, namespace: files}, \
    spec: {type: A, domain: example.com, subdomain: app, values: [192.0.2.1], dnsClassRef: {name: files}}}
";

/// A zone that is signed.
const SIGNED: &str = "{apiVersion: dns.homelab.mortenolsen.pro/v1alpha1, kind: DNSClass, \
    metadata: {name: signed}, spec: {embedded: {dnssec: {}}}}
---
{apiVersion: dns.homelab.mortenolsen.pro/v1alpha1, kind: DNSRecord, metadata: {name: signed, namespace: files}, \
    spec: {type: A, domain: signed.example, subdomain: app, values: [192.0.2.1], dnsClassRef: {name: signed}}}
";

/// A Placement whose witness is a document on a server.
const WITNESSED: &str = "{apiVersion: fingerpost.dev/v1alpha1, kind: Placement, \
    metadata: {name: witnessed, namespace: apps}, spec: {hostname: witnessed.example.net, mode: active-hotstandby, \
    regions: [{name: weu, addresses: [192.0.2.1]}, {name: neu, addresses: [192.0.2.2]}], \
    witness: {region: weu, lease: 1s, renew: 300ms, http: {url: 'URL'}}}}";

/// Metrics that a process has only while something waits.
const PASSING: [&str; 1] = ["workqueue_depth"];

/// How the names of our metrics begin.
const PREFIXES: [&str; 6] =
    ["fingerpost_", "controller_runtime_", "rest_client_", "workqueue_", "leader_election_", "process_"];

fn alerts() -> Result<Vec<Value>> {
    let rules: Value = serde_saphyr::from_str(&std::fs::read_to_string(deploy("alerts/fingerpost.yaml"))?)?;
    let groups = rules["spec"]["groups"].as_array().context("no groups")?;
    Ok(groups.iter().flat_map(|group| group["rules"].as_array().cloned().unwrap_or_default()).collect())
}

/// The queries of all panels.
fn panels() -> Result<Vec<String>> {
    let board: Value = serde_json::from_str(&std::fs::read_to_string(deploy("dashboards/fingerpost.json"))?)?;
    let panels = board["panels"].as_array().context("no panels")?;
    let identifiers: BTreeSet<_> = panels.iter().map(|panel| panel["id"].as_u64()).collect();
    ensure!(identifiers.len() == panels.len(), "two panels have the same id");
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    Ok(targets.filter_map(|target| target["expr"].as_str()).map(str::to_owned).collect())
}

/// The metrics of ours that a query uses, as families: without what a sample adds to the name.
fn used(query: &str) -> BTreeSet<String> {
    let words = query.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let ours = words.filter(|word| PREFIXES.iter().any(|prefix| word.starts_with(prefix)));
    let family = |word: &str| {
        let ends = ["_total", "_bucket", "_count", "_sum"];
        ends.iter().find_map(|end| word.strip_suffix(end)).unwrap_or(word).to_owned()
    };
    ours.map(family).collect()
}

/// The families of a page of metrics.
fn families(page: &str) -> BTreeSet<String> {
    let types = page.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    types.filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

/// The families that `up`, `operator`, `dns` and `provider` have.
fn running() -> Result<BTreeSet<String>> {
    let folder = Folder::copy_of("quickstart")?;
    folder.write("probed.yaml", PROBED)?;
    let zones = tempfile::tempdir()?;
    folder.write("delivered.yaml", &DELIVERED.replace("DIRECTORY", &zones.path().display().to_string()))?;
    folder.write("signed.yaml", SIGNED)?;
    let witness = DocumentServer::start()?;
    folder.write("witnessed.yaml", &WITNESSED.replace("URL", &witness.url()))?;
    let up = Up::start(Options::folder(folder.path()))?;
    let awaited = [
        "fingerpost_probe_up{",
        "fingerpost_class_healthy{",
        "fingerpost_placement_region_up{",
        "fingerpost_witness_lease_held{",
        "fingerpost_zone_signature_age_seconds{",
        "fingerpost_provider_request_duration_seconds_bucket{",
    ];
    wait_for("a probe, a delivery, a lease and a signature", || {
        let page = up.get("/metrics")?;
        let missing: Vec<_> = awaited.iter().filter(|start| !page.contains(**start)).collect();
        ensure!(missing.is_empty(), "missing: {missing:?}");
        Ok(Some(()))
    })?;
    let store = Folder::new()?;
    let secret = store.path().join("secret");
    std::fs::write(&secret, "a-secret-that-both-sides-know")?;
    let flags = ["--zone", "example.com", "--hmac-secret-file", secret.to_str().context("no UTF-8")?];
    let provider = ProviderServer::start(&store.path().join("state"), &flags)?;
    provider.send("GET", "/records/A/example.com/www", &Value::Null)?;
    let world = World::alone()?;
    world.apply(CLASS)?;
    let operator = world.operator(&[])?;
    let server = world.dns("observability", &[])?;
    let pages =
        [up.get("/metrics")?, operator.get("/metrics")?, server.get("/metrics")?, provider.page("/metrics")?];
    Ok(pages.iter().flat_map(|page| families(page)).collect())
}

#[test]
fn every_metric_is_on_a_panel_or_excused_and_every_query_has_its_metrics() -> Result<()> {
    let families = running()?;
    ensure!(families.len() > 30, "{families:?}");
    let shown: BTreeSet<String> = panels()?.iter().flat_map(|query| used(query)).collect();
    let excused: BTreeSet<String> = EXCUSED.iter().map(|(name, _)| (*name).to_owned()).collect();
    let hidden: Vec<_> = families.difference(&shown).filter(|name| !excused.contains(*name)).collect();
    assert!(hidden.is_empty(), "on no panel and not excused: {hidden:?}");
    let needless: Vec<_> = excused.intersection(&shown).collect();
    assert!(needless.is_empty(), "excused, and on a panel: {needless:?}");
    let alerts = alerts()?;
    let queries = alerts.iter().filter_map(|alert| alert["expr"].as_str());
    let wanted: BTreeSet<String> = queries.flat_map(used).chain(shown).collect();
    let unknown: Vec<_> =
        wanted.difference(&families).filter(|name| !PASSING.contains(&name.as_str())).collect();
    assert!(unknown.is_empty(), "no binary has them: {unknown:?}");
    Ok(())
}

#[test]
fn every_alert_says_what_to_do() -> Result<()> {
    for alert in alerts()? {
        for part in ["summary", "runbook"] {
            assert!(alert["annotations"][part].as_str().is_some_and(|text| !text.is_empty()), "{alert}");
        }
    }
    Ok(())
}

#[test]
fn every_alert_fires_when_it_should_and_only_then() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let rules: Value = serde_saphyr::from_str(&std::fs::read_to_string(deploy("alerts/fingerpost.yaml"))?)?;
    // JSON is YAML.
    std::fs::write(folder.path().join("rules.yaml"), rules["spec"].to_string())?;
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/alerts/fingerpost.yaml");
    let cases = std::fs::read_to_string(cases)?;
    let file = folder.path().join("cases.yaml");
    std::fs::write(&file, &cases)?;
    let output = call("promtool", "prometheus", &["test", "rules", file.to_str().context("no UTF-8")?])?;
    let said = [output.stdout, output.stderr].concat();
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&said));
    let cases: Value = serde_saphyr::from_str(&cases)?;
    for alert in alerts()? {
        let name = alert["alert"].as_str().context("no name")?;
        let of_alert = cases["tests"].as_array().into_iter().flatten();
        let of_alert = of_alert.flat_map(|case| case["promql_expr_test"].as_array().into_iter().flatten());
        let of_alert: Vec<_> = of_alert
            .filter(|test| test["expr"].as_str().is_some_and(|expr| expr.contains(&format!("\"{name}\""))))
            .map(|test| test["exp_samples"].as_array().is_some_and(|samples| !samples.is_empty()))
            .collect();
        ensure!(of_alert.contains(&true), "no case makes {name} fire");
        ensure!(of_alert.contains(&false), "no case keeps {name} from firing");
    }
    Ok(())
}
