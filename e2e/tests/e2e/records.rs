//! DNSRecords in a cluster: made at a real PowerDNS, moved, held back, let go, and never leaked.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result};
use e2e::{Alone, Between, OPERATOR_NAMESPACE, Operator, PowerDns, dig, wait_for, wait_for_within};
use serde_json::{Value, json};

use crate::cluster_transfers::grant;
use crate::world::{World, condition};

const FINALIZER: &str = "dns.homelab.mortenolsen.pro/finalizer";
/// Nothing written for this long is nothing to write.
const QUIET: Duration = Duration::from_secs(3);
/// Loopback is where the tests' servers are, and short pauses are what tests can wait for.
pub(crate) const FLAGS: [&str; 4] =
    ["--allow-target=127.0.0.0/8", "--retry-base-delay=200ms", "--retry-max-delay=1s", "--drift-interval=2s"];

pub(crate) fn record_path(name: &str) -> String {
    format!("/apis/dns.homelab.mortenolsen.pro/v1alpha1/namespaces/production/dnsrecords/{name}")
}

fn class_path(name: &str) -> String {
    format!("/apis/dns.homelab.mortenolsen.pro/v1alpha1/dnsclasses/{name}")
}

fn secret(namespace: &str, key: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "powerdns", "namespace": namespace},
        "stringData": {"api-key": key}})
}

pub(crate) fn class(name: &str, url: &str, namespace: Option<&str>) -> Value {
    let mut reference = json!({"name": "powerdns", "key": "api-key"});
    if let Some(namespace) = namespace {
        reference["namespace"] = json!(namespace);
    }
    json!({"apiVersion": "dns.homelab.mortenolsen.pro/v1alpha1", "kind": "DNSClass", "metadata": {"name": name},
        "spec": {"timeoutSeconds": 2, "powerdns": {"url": url, "apiKeySecretRef": reference}}})
}

pub(crate) fn record(name: &str, subdomain: &str, class: &str, address: &str) -> Value {
    json!({"apiVersion": "dns.homelab.mortenolsen.pro/v1alpha1", "kind": "DNSRecord",
        "metadata": {"name": name, "namespace": "production"},
        "spec": {"type": "A", "domain": "example.com", "subdomain": subdomain, "dnsClassRef": {"name": class},
            "values": [address], "ttl": 600}})
}

/// A cluster, PowerDNS, a proxy before it, and a class that leads there.
struct Scene {
    world: World<Alone>,
    powerdns: PowerDns,
    between: Between,
}

impl Scene {
    fn new() -> Result<Scene> {
        let world = World::alone()?;
        let powerdns = PowerDns::start()?;
        let between = Between::start(address(&powerdns)?)?;
        world.cluster.ensure_namespace("production")?;
        world.api().apply(&secret(OPERATOR_NAMESPACE, "test-key"))?;
        world.api().apply(&class("edge", &between.url(), None))?;
        Ok(Scene { world, powerdns, between })
    }

    fn operator(&self) -> Result<Operator> {
        self.world.operator(&FLAGS)
    }

    fn apply(&self, object: &Value) -> Result<()> {
        self.world.api().apply(object)
    }

    fn answers(&self, name: &str) -> Result<Vec<String>> {
        Ok(dig(self.powerdns.dns(), &format!("{name}.example.com A"))?.data("A"))
    }

    fn wait_for_answer(&self, name: &str, wanted: &[&str]) -> Result<()> {
        wait_for(&format!("{name} to be {wanted:?}"), || Ok((self.answers(name)? == wanted).then_some(())))
    }

    /// The writes that PowerDNS has seen.
    fn writes(&self) -> usize {
        self.between
            .calls()
            .iter()
            .filter(|call| call.method != "GET" && !call.path.ends_with("/rectify"))
            .count()
    }
}

pub(crate) fn address(powerdns: &PowerDns) -> Result<SocketAddr> {
    Ok(powerdns.url().trim_start_matches("http://").parse()?)
}

#[test]
fn a_record_lives_and_dies_with_its_object() -> Result<()> {
    let scene = Scene::new()?;
    let operator = scene.operator()?;
    scene.apply(&record("web-app", "www", "edge", "192.0.2.1"))?;
    let path = record_path("web-app");
    scene
        .world
        .expect_condition(&path, "Ready", "True", "RecordCreated")
        .with_context(|| operator.output())?;
    assert_eq!(scene.answers("www")?, ["192.0.2.1"]);
    let object = scene.world.expect_there(&path)?;
    assert_eq!(object["metadata"]["finalizers"], json!([FINALIZER]));
    assert_eq!(object["status"]["state"], "Created");
    assert_eq!(object["status"]["fqdn"], "www.example.com");
    assert_eq!(object["status"]["observedGeneration"], object["metadata"]["generation"]);
    scene.world.expect_condition(&class_path("edge"), "Ready", "True", "ServerHealthy")?;
    scene.apply(&record("web-app", "www", "edge", "192.0.2.9"))?;
    scene.world.expect_condition(&path, "Ready", "True", "RecordUpdated")?;
    assert_eq!(scene.answers("www")?, ["192.0.2.9"]);
    scene.world.api().delete(&path)?;
    scene.world.expect_gone(&path).with_context(|| operator.output())?;
    assert!(scene.answers("www")?.is_empty());
    Ok(())
}

#[test]
fn a_record_that_moves_is_answered_throughout_and_leaves_nothing_behind() -> Result<()> {
    let scene = Scene::new()?;
    let operator = scene.operator()?;
    scene.apply(&record("web-app", "www", "edge", "192.0.2.1"))?;
    let path = record_path("web-app");
    scene
        .world
        .expect_condition(&path, "Ready", "True", "RecordCreated")
        .with_context(|| operator.output())?;
    scene.apply(&record("web-app", "shop", "edge", "192.0.2.1"))?;
    scene.wait_for_answer("shop", &["192.0.2.1"])?;
    scene.wait_for_answer("www", &[]).with_context(|| operator.output())?;
    scene.world.expect_field(&path, "/status/fqdn", &json!("shop.example.com"))?;
    scene.world.expect_field(&path, "/status/applied/subdomain", &json!("shop"))?;
    let mut alias = record("web-app", "shop", "edge", "elsewhere.example.net");
    alias["spec"]["type"] = json!("CNAME");
    scene.apply(&alias)?;
    wait_for("the alias", || {
        let answer = dig(scene.powerdns.dns(), "shop.example.com CNAME")?.data("CNAME");
        Ok((answer == ["elsewhere.example.net."]).then_some(()))
    })
    .with_context(|| operator.output())?;
    assert!(scene.answers("shop")?.is_empty());
    let other = PowerDns::start()?;
    scene.apply(&class("other", &other.url(), None))?;
    scene.apply(&record("web-app", "shop", "other", "192.0.2.3"))?;
    wait_for("the other class", || {
        Ok((dig(other.dns(), "shop.example.com A")?.data("A") == ["192.0.2.3"]).then_some(()))
    })
    .with_context(|| operator.output())?;
    wait_for("the alias to go", || {
        Ok(dig(scene.powerdns.dns(), "shop.example.com CNAME")?.data("CNAME").is_empty().then_some(()))
    })
    .with_context(|| operator.output())?;
    scene.world.expect_field(&path, "/status/applied/class", &json!("other"))
}

#[test]
fn a_deletion_that_cannot_be_done_is_held_back_until_it_can_or_is_let_go() -> Result<()> {
    let scene = Scene::new()?;
    let operator = scene.operator()?;
    for name in ["one", "two"] {
        scene.apply(&record(name, name, "edge", "192.0.2.1"))?;
        scene.world.expect_condition(&record_path(name), "Ready", "True", "RecordCreated")?;
    }
    let api = scene.world.api();
    api.delete(&class_path("edge"))?;
    scene.world.expect_condition(&record_path("one"), "Ready", "False", "DNSClassNotFound")?;
    api.delete(&record_path("one"))?;
    api.delete(&record_path("two"))?;
    scene.world.expect_condition(&record_path("one"), "Ready", "False", "DNSClassNotFound")?;
    let held = scene.world.expect_there(&record_path("one"))?;
    assert_eq!(held["metadata"]["finalizers"], json!([FINALIZER]), "{held:#}");
    assert_eq!(scene.answers("one")?, ["192.0.2.1"]);
    api.merge(&record_path("two"), &json!({"metadata": {"annotations": {"fingerpost.dev/orphan": "true"}}}))?;
    scene.world.expect_gone(&record_path("two")).with_context(|| operator.output())?;
    assert_eq!(scene.answers("two")?, ["192.0.2.1"], "it was let go, not deleted");
    scene.apply(&class("edge", &scene.between.url(), None))?;
    scene.world.expect_gone(&record_path("one")).with_context(|| operator.output())?;
    assert!(scene.answers("one")?.is_empty());
    Ok(())
}

#[test]
fn a_restart_writes_nothing_and_a_rotated_secret_counts_at_once() -> Result<()> {
    let scene = Scene::new()?;
    let operator = scene.operator()?;
    scene.apply(&record("web-app", "www", "edge", "192.0.2.1"))?;
    scene.world.expect_condition(&record_path("web-app"), "Ready", "True", "RecordCreated")?;
    scene.world.expect_condition(&class_path("edge"), "Ready", "True", "ServerHealthy")?;
    scene.world.proxy.wait_for_quiet(QUIET)?;
    drop(operator);
    scene.world.proxy.forget();
    scene.between.forget();
    let operator = scene.operator()?;
    wait_for("a look at the provider", || Ok((scene.between.calls().len() > 1).then_some(())))?;
    scene.world.proxy.wait_for_quiet(QUIET)?;
    assert_eq!(scene.writes(), 0, "{:?}", scene.between.calls());
    let writes: Vec<String> = scene.world.proxy.writes().iter().map(ToString::to_string).collect();
    assert!(writes.is_empty(), "{writes:?}\n{}", operator.output());
    scene.apply(&secret(OPERATOR_NAMESPACE, "wrong"))?;
    scene.apply(&record("web-app", "www", "edge", "192.0.2.2"))?;
    scene.world.expect_condition(&record_path("web-app"), "Ready", "False", "AuthenticationFailed")?;
    scene.apply(&secret(OPERATOR_NAMESPACE, "test-key"))?;
    scene.wait_for_answer("www", &["192.0.2.2"])?;
    // Whose write that was is not certain: it may have been under way when the Secret changed.
    scene.apply(&record("web-app", "www", "edge", "192.0.2.3"))?;
    scene.world.expect_condition(&record_path("web-app"), "Ready", "True", "RecordUpdated")?;
    scene.wait_for_answer("www", &["192.0.2.3"])?;
    assert!(!operator.output().contains("test-key"), "{}", operator.output());
    Ok(())
}

#[test]
fn a_secret_of_another_namespace_must_allow_the_class() -> Result<()> {
    let scene = Scene::new()?;
    scene.world.cluster.ensure_namespace("elsewhere")?;
    scene.apply(&secret("elsewhere", "test-key"))?;
    scene.apply(&class("edge", &scene.between.url(), Some("elsewhere")))?;
    let operator = scene.operator()?;
    scene.apply(&record("web-app", "www", "edge", "192.0.2.1"))?;
    let path = record_path("web-app");
    // A Secret of another namespace is read every 30 seconds.
    let ready_says = |part: &str| {
        let said = wait_for_within(Duration::from_secs(120), part, || {
            let object = scene.world.api().get(&path)?.unwrap_or_default();
            let ready = condition(&object, "Ready").unwrap_or_default();
            let is_it = ready["message"].as_str().is_some_and(|message| message.contains(part));
            Ok((is_it && ready["reason"] == "SecretNotFound").then_some(()))
        });
        said.with_context(|| operator.output())
    };
    ready_says("add {namespace: elsewhere, names: [powerdns]} to rbac.secrets of the chart")?;
    grant(&scene.world, "rbac: {secrets: [{namespace: elsewhere, names: [powerdns]}]}")?;
    ready_says("fingerpost.dev/allow-dnsclass")?;
    let mut allowed = secret("elsewhere", "test-key");
    allowed["metadata"]["annotations"] = json!({"fingerpost.dev/allow-dnsclass": "edge"});
    scene.apply(&allowed)?;
    scene.world.expect_condition(&path, "Ready", "True", "RecordCreated").with_context(|| operator.output())
}

#[test]
fn a_class_that_points_at_the_api_server_or_at_loopback_reaches_nothing() -> Result<()> {
    let scene = Scene::new()?;
    let operator = scene.world.operator(&["--retry-base-delay=200ms"])?;
    scene.apply(&record("web-app", "www", "edge", "192.0.2.1"))?;
    let path = record_path("web-app");
    scene
        .world
        .expect_condition(&path, "Ready", "False", "InvalidConfiguration")
        .with_context(|| operator.output())?;
    assert!(scene.between.calls().is_empty(), "{:?}", scene.between.calls());
    Ok(())
}
