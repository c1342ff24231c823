//! The chart and the manifests that are made from it, as real Helm reads them.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use xtask::tools;

use crate::{Cluster, Said};

/// The namespace that the documentation installs into.
pub const NAMESPACE: &str = "fingerpost-system";

/// What makes an object Helm's own; manifests for kubectl go without it.
const HELM_LABELS: [&str; 2] = ["helm.sh/chart: ", "app.kubernetes.io/managed-by: Helm"];

/// A file or folder below `deploy`.
pub fn deploy(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy").join(path)
}

/// Runs Helm without a cluster, with this on its standard input.
pub fn helm(arguments: &[&str], input: &str) -> Result<Said> {
    say(command()?.env_remove("KUBECONFIG"), arguments, input)
}

/// Runs Helm on a cluster as its administrator, with this on its standard input.
pub fn helm_in(cluster: &Cluster, arguments: &[&str], input: &str) -> Result<Said> {
    let kubeconfig = cluster.kubeconfig("admin")?;
    say(command()?.env("KUBECONFIG", kubeconfig).env("HOME", cluster.folder()), arguments, input)
}

/// The text that the chart renders into a namespace with these values, which are YAML.
pub fn template(namespace: &str, values: &str) -> Result<String> {
    let chart = deploy("chart").display().to_string();
    helm(&["template", "fingerpost", &chart, "--namespace", namespace, "--values", "-"], values)?.success()
}

/// The objects that the chart renders into a namespace with these values, which are YAML.
pub fn render(namespace: &str, values: &str) -> Result<Vec<Value>> {
    let text = template(namespace, values)?;
    let documents: Vec<Value> = serde_saphyr::from_multiple(&text).context("the chart renders no YAML")?;
    Ok(documents.into_iter().filter(|document| !document.is_null()).collect())
}

/// The accounts and roles of the chart in a namespace, with their bindings, to be applied.
pub fn roles(namespace: &str) -> Result<String> {
    roles_with(namespace, "{}")
}

/// The same with these values, which are YAML.
pub fn roles_with(namespace: &str, values: &str) -> Result<String> {
    let objects = render(namespace, values)?.into_iter();
    let is_about_rights = |kind: &str| kind == "ServiceAccount" || kind.contains("Role");
    let rights = objects.filter(|object| object["kind"].as_str().is_some_and(is_about_rights));
    Ok(rights.map(|object| format!("---\n{object}\n")).collect())
}

/// `deploy/install.yaml` as it should be: the chart's defaults and their namespace.
pub fn install_yaml() -> Result<String> {
    // What keeps the CRDs at an uninstall by Helm says nothing to kubectl.
    let rendered = template(NAMESPACE, "crds: {keep: false}")?;
    let is_kept = |line: &&str| !HELM_LABELS.iter().any(|label| line.contains(label));
    let lines = rendered.lines().filter(is_kept).map(|line| format!("{line}\n"));
    Ok(format!("{PREFACE}{}", lines.collect::<String>()))
}

const PREFACE: &str = "\
# The chart with its default values, for kubectl. Made by `cargo xtask install-yaml`: edit the chart instead.
#
#   kubectl apply --server-side -f deploy/install.yaml
apiVersion: v1
kind: Namespace
metadata:
  name: fingerpost-system
  labels:
    pod-security.kubernetes.io/enforce: restricted
";

fn command() -> Result<Command> {
    let path = tools::program("helm").context("nobody builds helm")?;
    ensure!(path.is_file(), "{} is missing: run `cargo xtask tools`", path.display());
    let mut command = Command::new(path);
    command.env_remove("HELM_NAMESPACE").env_remove("HELM_KUBECONTEXT");
    Ok(command)
}

fn say(command: &mut Command, arguments: &[&str], input: &str) -> Result<Said> {
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().context("cannot start helm")?;
    // It may end without reading; then what it says matters more than that.
    let _ = child.stdin.take().context("helm has no input")?.write_all(input.as_bytes());
    let output = child.wait_with_output().context("cannot wait for helm")?;
    Ok(Said::new(format!("helm {}", arguments.join(" ")), &output))
}
