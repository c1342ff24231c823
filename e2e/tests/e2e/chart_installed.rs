//! The chart on a real API server: what it renders is accepted, and no object is lost on the way in or out.

use std::sync::OnceLock;

use anyhow::{Result, anyhow};
use e2e::chart::{NAMESPACE, deploy, helm_in, render, roles, template};
use e2e::{Cluster, Start};
use serde_json::{Value, json};

use crate::chart::{of_kind, values_sets};

/// Kinds of others that the chart's options or roles are about.
const FOREIGN: [&str; 4] =
    ["istio-crds", "external-dns-crds", "cert-manager-crds", "prometheus-operator-crds"];

/// Nobody answers for the webhook here, so it is waited for at every write: not for long.
const VALUES: &str = "webhook: {timeoutSeconds: 1}";
const VALUES_WITH_ROLES: &str =
    "{webhook: {timeoutSeconds: 1}, userRoles: {gatewayNamespaces: [istio-system]}}";

const CONFIGURATION: &str =
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/fingerpost";

/// A cluster with the chart installed by Helm, for the tests that do not take it away.
pub(crate) fn installed() -> Result<&'static Cluster> {
    static INSTALLED: OnceLock<Result<Cluster>> = OnceLock::new();
    INSTALLED.get_or_init(install).as_ref().map_err(|error| anyhow!("{error:#}"))
}

fn install() -> Result<Cluster> {
    let cluster = Cluster::own(Start::Empty)?;
    FOREIGN.iter().try_for_each(|name| cluster.install_definitions(name))?;
    ["istio-system", "dns-system"].iter().try_for_each(|name| cluster.ensure_namespace(name))?;
    cluster.apply(&namespace())?;
    helm_in(&cluster, &arguments("install", &[]), VALUES_WITH_ROLES)?.success()?;
    cluster.wait_for_definitions()?;
    Ok(cluster)
}

/// The namespace as strict as the documentation says that it may be.
fn namespace() -> String {
    let labels = json!({"pod-security.kubernetes.io/enforce": "restricted"});
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": labels}})
        .to_string()
}

fn arguments<'a>(command: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    // The path lives as long as the tests do.
    let chart: &'static str = deploy("chart").display().to_string().leak();
    [&[command, "fingerpost", chart, "--namespace", NAMESPACE, "--values", "-"], more].concat()
}

#[test]
fn the_api_server_accepts_every_values_set() -> Result<()> {
    let cluster = installed()?;
    let dry = ["apply", "--server-side", "--force-conflicts", "--dry-run=server", "-f", "-"];
    // Apart from what is installed: fields that Helm set there would be mixed with these.
    let namespace = cluster.namespace("values")?;
    // The namespaces in which a values set permits the operator to read Secrets.
    for with_secrets in ["dns", "apps"] {
        cluster.ensure_namespace(with_secrets)?;
    }
    for (name, values) in values_sets()? {
        let said = cluster.kubectl_with("admin", &dry, &template(&namespace, &values)?)?;
        assert!(said.well, "{name}: {}", said.complaint);
        assert!(!said.complaint.contains("unknown field"), "{name}: {}", said.complaint);
    }
    Ok(())
}

#[test]
fn the_api_server_accepts_alerts_and_health_scripts() -> Result<()> {
    let cluster = installed()?;
    cluster.ensure_namespace("argocd")?;
    for file in ["alerts/fingerpost.yaml", "argocd/argocd-cm.yaml"] {
        let file = deploy(file).display().to_string();
        cluster.kubectl("admin", &["apply", "--server-side", "-f", &file])?.success()?;
    }
    Ok(())
}

#[test]
fn accounts_and_roles_stand_without_the_rest() -> Result<()> {
    let cluster = installed()?;
    let namespace = cluster.namespace("roles")?;
    let dry = ["apply", "--server-side", "--force-conflicts", "--dry-run=server", "-f", "-"];
    let said = cluster.kubectl_with("admin", &dry, &roles(&namespace)?)?.success()?;
    assert_eq!(said.matches("serviceaccount/").count(), 2, "{said}");
    Ok(())
}

#[test]
fn the_folder_is_a_base_for_kustomize() -> Result<()> {
    let built =
        installed()?.kubectl("admin", &["kustomize", &deploy("").display().to_string()])?.success()?;
    let plain = std::fs::read_to_string(deploy("install.yaml"))?;
    let objects = |text: &str| text.lines().filter(|line| line.starts_with("kind: ")).count();
    assert_eq!(objects(&built), objects(&plain));
    Ok(())
}

#[test]
fn pods_are_admitted_where_only_restricted_ones_are() -> Result<()> {
    let cluster = installed()?;
    for deployment in of_kind(&render(NAMESPACE, "{}")?, "Deployment") {
        let mut pod = pod_of(deployment);
        create_dry(cluster, &pod)?.success()?;
        pod["spec"]["containers"][0]["securityContext"]["allowPrivilegeEscalation"] = json!(true);
        let said = create_dry(cluster, &pod)?.failure()?;
        assert!(said.contains("violates PodSecurity"), "{said}");
    }
    Ok(())
}

fn pod_of(deployment: &Value) -> Value {
    let metadata = json!({"name": "try", "namespace": NAMESPACE});
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": deployment["spec"]["template"]["spec"]})
}

fn create_dry(cluster: &Cluster, object: &Value) -> Result<e2e::Said> {
    cluster.kubectl_with("admin", &["create", "--dry-run=server", "-f", "-"], &object.to_string())
}

#[test]
fn a_dead_webhook_stops_nobody() -> Result<()> {
    let cluster = installed()?;
    assert!(cluster.api().get(CONFIGURATION)?.is_some());
    cluster.ensure_namespace("without-webhook")?;
    cluster.apply(ZONE)?;
    assert!(cluster.api().get(ZONE_PATH)?.is_some());
    Ok(())
}

const ZONE: &str = "
apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata: {name: example-org, namespace: without-webhook}
spec: {domainName: example.org.}
";
const ZONE_PATH: &str = "/apis/kubi.zone/v1alpha1/namespaces/without-webhook/zones/example-org";

#[test]
fn the_way_from_plain_manifests_to_helm_and_out_again_loses_no_object() -> Result<()> {
    let cluster = Cluster::own(Start::Empty)?;
    apply_install_yaml(&cluster)?;
    let before = versions(&cluster)?;
    apply_install_yaml(&cluster)?;
    assert_eq!(versions(&cluster)?, before, "applied again, something changed");

    cluster.ensure_namespace("without-webhook")?;
    cluster.apply(ZONE)?;
    let taken = arguments("install", &["--take-ownership", "--force-conflicts"]);
    helm_in(&cluster, &taken, VALUES)?.success()?;
    an_upgrade_keeps_the_authority(&cluster)?;

    helm_in(&cluster, &["uninstall", "fingerpost", "--namespace", NAMESPACE], "")?.success()?;
    assert!(cluster.api().get(CONFIGURATION)?.is_none());
    assert!(cluster.api().get(ZONE_PATH)?.is_some(), "uninstalling took the Zone");

    helm_in(&cluster, &arguments("install", &[]), VALUES)?.success()?;
    assert!(cluster.api().get(ZONE_PATH)?.is_some(), "installing again took the Zone");
    Ok(())
}

fn apply_install_yaml(cluster: &Cluster) -> Result<()> {
    let file = deploy("install.yaml").display().to_string();
    cluster.kubectl("admin", &["apply", "--server-side", "-f", &file])?.success()?;
    cluster.wait_for_definitions()
}

/// The version of every object that was installed.
fn versions(cluster: &Cluster) -> Result<String> {
    let file = deploy("install.yaml").display().to_string();
    let columns = "custom-columns=KIND:.kind,NAME:.metadata.name,VERSION:.metadata.resourceVersion";
    cluster.kubectl("admin", &["get", "-f", &file, "-o", columns])?.success()
}

fn an_upgrade_keeps_the_authority(cluster: &Cluster) -> Result<()> {
    let authority = std::fs::read_to_string(cluster.folder().join("ca.crt"))?;
    fill_in(cluster, &authority)?;
    let filled = caller(cluster)?;
    assert!(filled["caBundle"].is_string(), "{filled}");
    for way in ["--server-side=true", "--server-side=false"] {
        helm_in(cluster, &arguments("upgrade", &[way]), "webhook: {timeoutSeconds: 2}")?.success()?;
        assert_eq!(caller(cluster)?, filled, "{way}");
    }
    Ok(())
}

/// Does what the operator does with its authority.
fn fill_in(cluster: &Cluster, authority: &str) -> Result<()> {
    let kept = cluster.kubectl_with(
        "admin",
        &[
            "create",
            "secret",
            "generic",
            "authority",
            "--from-file=ca=/dev/stdin",
            "--dry-run=client",
            "-o",
            "json",
        ],
        authority,
    )?;
    let secret: Value = serde_json::from_str(&kept.success()?)?;
    let patch =
        json!([{"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": secret["data"]["ca"]}]);
    let arguments = ["patch", "validatingwebhookconfiguration", "fingerpost", "--type=json", "--patch"];
    cluster.kubectl("admin", &[&arguments[..], &[&patch.to_string()]].concat())?.success().map(drop)
}

fn caller(cluster: &Cluster) -> Result<Value> {
    let configuration = cluster.api().get(CONFIGURATION)?.unwrap_or_default();
    Ok(configuration["webhooks"][0]["clientConfig"].clone())
}
