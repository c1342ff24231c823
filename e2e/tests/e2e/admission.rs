//! The webhook of a running operator as a real API server asks it, and as kubectl shows its words.

use anyhow::{Context, Result};
use e2e::chart::render;
use e2e::{Cluster, Folder, OPERATOR_NAMESPACE, Operator, Place, run};
use serde_json::{Value, json};

use crate::lease::{cluster, place, wait_for_leader};

const CONFIGURATION: &str =
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/fingerpost";

/// Wrong in a way that no schema and no rule of the CRD can see.
const BAD: &str = "{apiVersion: kubi.zone/v1alpha1, kind: Record, metadata: {namespace: NAMESPACE, name: r}, \
    spec: {domainName: a.example.org., type: A, rdata: not-an-address}}\n";

pub(crate) fn bad(namespace: &str) -> String {
    BAD.replace("NAMESPACE", namespace)
}

/// An operator outside of the cluster. Its role lets it change the configuration but not make one, so that
/// is done for it.
pub(crate) fn outside(cluster: &Cluster) -> Result<Place> {
    cluster.api().apply(&json!({"apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration", "metadata": {"name": "fingerpost"}}))?;
    let place = place(cluster, &cluster.url(), &[])?;
    let url = format!("--webhook-url=https://{}", place.webhook());
    Ok(place.flag(&url))
}

/// Waits until the API server asks the webhook, and returns what kubectl shows.
pub(crate) fn wait_for_refusal(cluster: &Cluster, manifest: &str) -> Result<String> {
    let try_it = ["apply", "--dry-run=server", "-f", "-"];
    cluster.wait_for("the webhook to refuse", |_| {
        let said = cluster.kubectl_with("admin", &try_it, manifest)?;
        Ok((!said.well).then_some(said.complaint))
    })
}

fn secret(cluster: &Cluster) -> Result<Value> {
    let path = format!("/api/v1/namespaces/{OPERATOR_NAMESPACE}/secrets/fingerpost-webhook");
    cluster.api().get(&path)?.context("there is no Secret")
}

fn configuration(cluster: &Cluster) -> Result<Value> {
    cluster.api().get(CONFIGURATION)?.context("there is no configuration")
}

#[test]
fn refusal_has_the_words_of_check() -> Result<()> {
    let cluster = cluster()?;
    let namespace = cluster.namespace("admission")?;
    let _operator = Operator::start(outside(&cluster)?)?;
    let told = wait_for_refusal(&cluster, &bad(&namespace))?;
    let folder = Folder::new()?;
    folder.write("record.yaml", &bad(&namespace))?;
    let checked = run(&["check", "--output", "json", &folder.path().display().to_string()])?;
    let findings: Value = serde_json::from_slice(&checked.stdout)?;
    let words = findings[0]["message"].as_str().context("check finds nothing")?;
    assert!(told.contains("validate.fingerpost.dev") && told.contains(words), "{told}\n{words}");
    Ok(())
}

#[test]
fn dead_webhook_blocks_nobody_and_a_live_one_lets_clean_up() -> Result<()> {
    let cluster = cluster()?;
    let namespace = cluster.namespace("admission")?;
    let mut operator = Operator::start(outside(&cluster)?)?;
    wait_for_refusal(&cluster, &bad(&namespace))?;
    operator.process().kill()?;
    cluster.apply(&bad(&namespace))?;
    let path = format!("/apis/kubi.zone/v1alpha1/namespaces/{namespace}/records/r");
    cluster.api().merge(&path, &json!({"metadata": {"finalizers": ["example.org/held"]}}))?;
    operator.restart()?;
    wait_for_refusal(&cluster, &bad(&namespace).replace("name: r", "name: other"))?;
    let kubectl = |arguments: &[&str]| cluster.kubectl("admin", &[&["-n", &namespace], arguments].concat());
    kubectl(&["label", "record.kubi.zone", "r", "a=b"])?.success()?;
    let worse = r#"{"spec":{"rdata":"nor-is-this"}}"#;
    kubectl(&["patch", "record.kubi.zone", "r", "--type=merge", "-p", worse])?.failure()?;
    kubectl(&["delete", "record.kubi.zone", "r", "--wait=false"])?.success()?;
    let released = r#"{"metadata":{"finalizers":null}}"#;
    kubectl(&["patch", "record.kubi.zone", "r", "--type=merge", "-p", released])?.success()?;
    cluster.wait_for("the record to go", |api| Ok(api.get(&path)?.is_none().then_some(())))
}

#[test]
fn restart_rewrites_neither_certificate_nor_configuration() -> Result<()> {
    let cluster = cluster()?;
    let namespace = cluster.namespace("admission")?;
    let mut operator = Operator::start(outside(&cluster)?)?;
    wait_for_refusal(&cluster, &bad(&namespace))?;
    let before = (secret(&cluster)?, configuration(&cluster)?);
    operator.process().terminate()?;
    operator.process().wait_for_end()?;
    operator.restart()?;
    wait_for_leader(&cluster, operator.place())?;
    wait_for_refusal(&cluster, &bad(&namespace))?;
    assert_eq!((secret(&cluster)?, configuration(&cluster)?), before);
    Ok(())
}

#[test]
fn broken_certificate_is_made_anew() -> Result<()> {
    let cluster = cluster()?;
    let namespace = cluster.namespace("admission")?;
    let mut operator = Operator::start(outside(&cluster)?)?;
    wait_for_refusal(&cluster, &bad(&namespace))?;
    operator.process().terminate()?;
    operator.process().wait_for_end()?;
    let path = format!("/api/v1/namespaces/{OPERATOR_NAMESPACE}/secrets/fingerpost-webhook");
    cluster.api().merge(&path, &json!({"data": {"tls.key": "eA=="}}))?;
    operator.restart()?;
    wait_for_refusal(&cluster, &bad(&namespace))?;
    assert_ne!(secret(&cluster)?["data"]["tls.key"], "eA==");
    Ok(())
}

#[test]
fn configuration_of_the_chart_gets_the_authority_and_nothing_else() -> Result<()> {
    let cluster = cluster()?;
    let objects = render(OPERATOR_NAMESPACE, "{}")?;
    let rendered = objects.iter().find(|object| object["kind"] == "ValidatingWebhookConfiguration");
    cluster.api().apply(rendered.context("the chart has no configuration")?)?;
    let before = configuration(&cluster)?["webhooks"].clone();
    let _operator = Operator::start(place(&cluster, &cluster.url(), &[])?)?;
    let mut after = cluster.wait_for("the authority to be filled in", |_| {
        let authority = secret(&cluster)?["data"]["ca.crt"].clone();
        let webhooks = configuration(&cluster)?["webhooks"].clone();
        let filled = |webhook: &Value| webhook["clientConfig"]["caBundle"] == authority;
        Ok(webhooks.as_array().is_some_and(|all| all.iter().all(filled)).then_some(webhooks))
    })?;
    for webhook in after.as_array_mut().context("there are no webhooks")? {
        webhook["clientConfig"].as_object_mut().context("it asks nobody")?.remove("caBundle");
    }
    assert_eq!(after, before);
    Ok(())
}
