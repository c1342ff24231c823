//! How a cluster is reached: the pod's own account, a kubeconfig, or a context of it.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};

use super::requests::{CountRequests, Requests};

/// How long opening a connection may take.
const CONNECT: Duration = Duration::from_secs(5);

/// Which cluster.
#[derive(Clone, Debug, Default, Args)]
pub struct ClusterArguments {
    /// The kubeconfig file [default: the pod's own account, else $KUBECONFIG, else ~/.kube/config]
    #[arg(long, value_name = "FILE", env = "FINGERPOST_KUBECONFIG")]
    pub kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig [default: its current one]
    #[arg(long, value_name = "NAME", env = "FINGERPOST_CONTEXT")]
    pub context: Option<String>,
}

/// A cluster that can be asked.
#[derive(Clone)]
pub struct Connection {
    /// For everything but the lease.
    pub client: Client,
    /// What the client was made from.
    pub config: Config,
    /// The namespace of our own Lease, Secret and ConfigMap.
    pub namespace: String,
    /// What was asked, and how that went.
    pub requests: Requests,
}

impl Connection {
    /// Reads the configuration; nothing is asked yet.
    pub async fn open(arguments: &ClusterArguments) -> Result<Connection> {
        let (mut config, in_cluster) = configuration(arguments).await?;
        config.connect_timeout = Some(CONNECT);
        // A watch is silent for long, and every other call has a deadline of its own.
        config.read_timeout = None;
        // Each caller knows best whether and when to try again.
        config.default_retry = false;
        let requests = Requests::default();
        let builder = kube::client::ClientBuilder::try_from(config.clone())
            .context("the configuration of the cluster cannot be used")?;
        let client = builder.with_layer(&CountRequests(requests.clone())).build();
        let namespace = namespace(&config, in_cluster);
        Ok(Connection { client, config, namespace, requests })
    }
}

/// The error of a kubeconfig; why a file cannot be read is left to the caller to put behind its path.
fn without_the_path(error: KubeconfigError) -> anyhow::Error {
    match error {
        KubeconfigError::ReadConfig(cause, _) => cause.into(),
        other => other.into(),
    }
}

/// The configuration, and whether it is the pod's own.
async fn configuration(arguments: &ClusterArguments) -> Result<(Config, bool)> {
    let options = KubeConfigOptions { context: arguments.context.clone(), ..KubeConfigOptions::default() };
    if let Some(path) = &arguments.kubeconfig {
        let file = Kubeconfig::read_from(path)
            .map_err(without_the_path)
            .with_context(|| format!("cannot read the kubeconfig {}", path.display()))?;
        let config = Config::from_custom_kubeconfig(file, &options).await;
        return Ok((config.with_context(|| format!("the kubeconfig {}", path.display()))?, false));
    }
    let asked = arguments.context.is_some() || std::env::var_os("KUBECONFIG").is_some();
    if !asked && let Ok(config) = Config::incluster() {
        return Ok((config, true));
    }
    let config = Config::from_kubeconfig(&options).await;
    let hint =
        "no cluster to talk to: give --kubeconfig, set KUBECONFIG, or run in a pod with a service account";
    Ok((config.context(hint)?, false))
}

/// The pod's namespace, else what `POD_NAMESPACE` says, else the context's, which is `default` at last.
fn namespace(config: &Config, in_cluster: bool) -> String {
    let said = std::env::var("POD_NAMESPACE").ok().filter(|name| !name.is_empty() && !in_cluster);
    said.unwrap_or_else(|| config.default_namespace.clone())
}
