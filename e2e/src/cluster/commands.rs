//! How the servers are started.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};
use xtask::tools;

use super::{Cluster, Server};

/// The command that starts a server on the cluster's folder and address.
pub(super) fn command(cluster: &Cluster, server: Server) -> Result<Command> {
    let mut command = Command::new(program(server.program())?);
    command.current_dir(&cluster.folder);
    match server {
        Server::Etcd => etcd(cluster, &mut command),
        Server::Api => api(cluster, &mut command),
        Server::Controllers => controllers(cluster, &mut command)?,
    }
    Ok(command)
}

/// Where a program is; where it is not, the error says how it is had.
pub(super) fn program(name: &str) -> Result<PathBuf> {
    let path = tools::program(name).with_context(|| format!("nobody builds {name}"))?;
    if !path.is_file() {
        bail!("{} is missing: run `cargo xtask tools`", path.display());
    }
    Ok(path)
}

fn etcd(cluster: &Cluster, command: &mut Command) {
    let (client, peer) = (url(cluster, 2379), url(cluster, 2380));
    command.args(["--data-dir", "etcd", "--unsafe-no-fsync", "--log-level", "warn"]);
    command.args(["--listen-client-urls", &client, "--advertise-client-urls", &client]);
    command.args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer]);
    command.args(["--initial-cluster", &format!("default={peer}")]);
}

fn api(cluster: &Cluster, command: &mut Command) {
    command.args(["--etcd-servers", &url(cluster, 2379)]);
    command.args(["--bind-address", &cluster.address.to_string(), "--secure-port", "6443"]);
    command.args(["--cert-dir", "certificates"]);
    command.args(["--tls-cert-file", "server.crt", "--tls-private-key-file", "server.key"]);
    command.args(["--service-cluster-ip-range", "10.0.0.0/24", "--endpoint-reconciler-type", "none"]);
    command.args(["--service-account-issuer", "https://kubernetes.default.svc"]);
    command.args(["--service-account-key-file", "sa.pub", "--service-account-signing-key-file", "sa.key"]);
    command.args(["--token-auth-file", "tokens.csv", "--authorization-mode", "RBAC"]);
    command.args(["--disable-admission-plugins", "ServiceAccount"]);
}

fn controllers(cluster: &Cluster, command: &mut Command) -> Result<()> {
    const CONTROLLERS: &str = "garbage-collector-controller,namespace-controller,\
        serviceaccount-controller,serviceaccount-token-controller";
    command.arg("--kubeconfig").arg(cluster.kubeconfig("admin")?);
    command.args(["--leader-elect=false", "--secure-port", "0", "--controllers", CONTROLLERS]);
    command.args(["--service-account-private-key-file", "sa.key"]);
    Ok(())
}

fn url(cluster: &Cluster, port: u16) -> String {
    format!("http://{}:{port}", cluster.address)
}
