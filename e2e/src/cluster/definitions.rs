//! The kinds of a cluster: ours as a user installs them, and the foreign ones from the cache.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use xtask::tools;

use super::{Cluster, Start};
use crate::run;

/// The foreign kinds that Fingerpost reads or writes.
const FOREIGN: [&str; 4] =
    ["istio-crds", "gateway-api-crds", "external-dns-crds", "open-cluster-management-crds"];

/// Installs the definitions and waits until all of them are served.
pub(super) fn install(cluster: &Cluster, start: Start) -> Result<()> {
    if start == Start::Empty {
        return Ok(());
    }
    cluster.install_own_kinds()?;
    if start == Start::AllKinds {
        FOREIGN.iter().try_for_each(|name| cluster.install_definitions(name))?;
    }
    cluster.wait_for_definitions()
}

impl Cluster {
    /// Does what the documentation says: `fingerpost crds | kubectl apply --server-side -f -`.
    pub fn install_own_kinds(&self) -> Result<()> {
        let printed = run(&["crds"])?;
        ensure!(printed.status.success(), "fingerpost crds failed");
        let manifests = String::from_utf8(printed.stdout).context("fingerpost crds printed no text")?;
        self.kubectl_with("admin", &["apply", "--server-side", "-f", "-"], &manifests)?.success().map(drop)
    }

    /// Installs one set of foreign definitions by its name in the table of `xtask::tools`.
    pub fn install_definitions(&self, name: &str) -> Result<()> {
        let folder = definitions(name)?.display().to_string();
        self.kubectl("admin", &["apply", "--server-side", "-f", &folder])?.success().map(drop)
    }

    /// Waits until the API server serves every definition that it has been given.
    pub fn wait_for_definitions(&self) -> Result<()> {
        let arguments = ["wait", "--for=condition=established", "--timeout=60s", "crd", "--all"];
        self.kubectl("admin", &arguments)?.success().map(drop)
    }
}

fn definitions(name: &str) -> Result<PathBuf> {
    let folder = tools::definitions(name).with_context(|| format!("nobody fetches {name}"))?;
    ensure!(folder.is_dir(), "{} is missing: run `cargo xtask tools`", folder.display());
    Ok(folder)
}
