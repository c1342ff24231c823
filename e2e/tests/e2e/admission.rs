//! The admission webhook, asked by the real API server.

use anyhow::{Context, Result, ensure};
use e2e::{Alone, Folder, Operator, run};
use serde_json::{Value, json};

use crate::world::{SOON, World, kubizone};

const SECRET: &str = "/api/v1/namespaces/fingerpost-system/secrets/fingerpost-webhook";
const CONFIGURATION: &str =
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/fingerpost";

/// What an operator outside of the cluster needs beyond the chart's role: nobody made the configuration.
const MAY_REGISTER: &str = "
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: may-register}, \
    rules: [{apiGroups: [admissionregistration.k8s.io], resources: [validatingwebhookconfigurations], verbs: [create]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: may-register}, \
    roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: may-register}, \
    subjects: [{kind: ServiceAccount, name: fingerpost-operator, namespace: fingerpost-system}]}
";

/// The schema lets it pass; the planner does not.
fn bad(namespace: &str, name: &str) -> String {
    let spec = json!({"domainName": "www.example.org.", "type": "A", "rdata": "no address"});
    let metadata = json!({"name": name, "namespace": namespace, "finalizers": ["example.org/hold"]});
    json!({"apiVersion": "kubi.zone/v1alpha1", "kind": "Record", "metadata": metadata, "spec": spec})
        .to_string()
}

fn started() -> Result<(World<Alone>, Operator)> {
    let world = World::alone()?;
    world.api().apply_text(MAY_REGISTER)?;
    world.cluster.ensure_namespace("web")?;
    world.api().delete(SECRET)?;
    let place = world.place(&[])?;
    let url = format!("--webhook-url=https://{}", place.webhook());
    let operator = Operator::start(place.flag(&url))?;
    refuses(&world, &operator)?;
    Ok((world, operator))
}

/// Waits until a bad object is refused, in the words of the planner.
fn refuses(world: &World<Alone>, operator: &Operator) -> Result<()> {
    let words = planners_words()?;
    world.expect("a refusal", |_| {
        let said = create(world, "web").map_err(|error| error.to_string())?;
        let refused =
            !said.well && said.complaint.contains("denied the request") && said.complaint.contains(&words);
        if refused { Ok(()) } else { Err(format!("{said:?}, not `{words}`\n{}", operator.output())) }
    })
}

fn create(world: &World<Alone>, namespace: &str) -> Result<e2e::Said> {
    world.cluster.kubectl_with("admin", &["create", "--dry-run=server", "-f", "-"], &bad(namespace, "bad"))
}

/// What `fingerpost check` has against the same object in a file.
fn planners_words() -> Result<String> {
    let folder = Folder::new()?;
    folder.write("bad.yaml", &bad("web", "bad"))?;
    let output = run(&["check", &folder.path().display().to_string(), "-o", "json"])?;
    let told: Value = serde_json::from_slice(&output.stdout).with_context(|| format!("{output:?}"))?;
    let text = told.pointer("/problems/0/message").or_else(|| told.pointer("/0/message"));
    let text = text.and_then(Value::as_str).with_context(|| told.to_string())?;
    Ok(text.to_owned())
}

#[test]
fn what_the_planner_refuses_is_refused_and_a_dead_webhook_blocks_nothing() -> Result<()> {
    let (world, mut operator) = started()?;
    for namespace in ["kube-system", "fingerpost-system"] {
        let said = create(&world, namespace)?;
        ensure!(said.well, "{namespace} is left out: {said:?}");
    }
    let configuration = world.api().get(CONFIGURATION)?.context("no configuration")?;
    ensure!(configuration["webhooks"][0]["failurePolicy"] == "Ignore", "{configuration}");
    operator.process().terminate()?;
    operator.process().wait_for_end()?;
    let said = world.cluster.kubectl_with("admin", &["create", "-f", "-"], &bad("web", "bad"))?;
    ensure!(said.well, "nobody answers, and so nobody refuses: {said:?}");
    operator.restart()?;
    refuses(&world, &operator)?;
    // What got in while it was away can be changed no further, but let go of.
    let path = kubizone("records", "web", "bad");
    let worse = world.api().merge(&path, &json!({"spec": {"rdata": "still no address"}}));
    ensure!(worse.is_err(), "{worse:?}");
    world.api().delete(&path)?;
    world.api().merge(&path, &json!({"metadata": {"finalizers": null}})).context("the finalizer")?;
    world.expect_gone(&path)
}

#[test]
fn an_expired_certificate_is_replaced_without_a_restart() -> Result<()> {
    let (world, mut operator) = started()?;
    let before = world.api().get(SECRET)?.context("no Secret")?["data"]["tls.crt"].clone();
    let expired = expired_pair()?;
    world.api().merge(SECRET, &json!({"data": null, "stringData": expired}))?;
    let there = world.api().get(SECRET)?.context("no Secret")?["data"]["tls.crt"].clone();
    // It looks every minute, and at once when it begins or ceases to lead.
    operator.process().suspend()?;
    std::thread::sleep(std::time::Duration::from_secs(4));
    operator.process().resume()?;
    let replaced = e2e::wait_for_within(2 * SOON, "another certificate", || {
        let now = world.api().get(SECRET)?.unwrap_or_default()["data"]["tls.crt"].clone();
        Ok((now.is_string() && now != there && now != before).then_some(()))
    });
    replaced.with_context(|| operator.output())?;
    refuses(&world, &operator)?;
    ensure!(operator.process().is_running(), "{}", operator.output());
    Ok(())
}

/// A certificate that was good once, with its key, in the fields of a Secret.
fn expired_pair() -> Result<Value> {
    let mut parameters = rcgen::CertificateParams::new(vec!["127.0.0.1".to_owned()])?;
    parameters.not_before = rcgen::date_time_ymd(2020, 1, 1);
    parameters.not_after = rcgen::date_time_ymd(2020, 2, 1);
    let key = rcgen::KeyPair::generate()?;
    let certificate = parameters.self_signed(&key)?.pem();
    Ok(json!({"tls.crt": certificate, "ca.crt": certificate, "tls.key": key.serialize_pem()}))
}
