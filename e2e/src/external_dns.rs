//! The real ExternalDNS on DNSEndpoints, into PowerDNS or a webhook provider, started and ended by a test.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::powerdns::API_KEY;
use crate::{PowerDns, Process, own_address};

/// A running ExternalDNS; it is killed when the value goes.
pub struct ExternalDns {
    process: Process,
}

impl ExternalDns {
    /// Starts it on the DNSEndpoints of a cluster, into PowerDNS; `flags` come on top.
    pub fn start(kubeconfig: &Path, into: &PowerDns, domain: &str, flags: &[&str]) -> Result<ExternalDns> {
        let (server, key) = (format!("--pdns-server={}", into.url()), format!("--pdns-api-key={API_KEY}"));
        let into = ["--provider=pdns", server.as_str(), key.as_str()];
        ExternalDns::into(kubeconfig, &into, domain, flags)
    }

    /// Starts it on the DNSEndpoints of a cluster, into a webhook provider at this URL.
    pub fn with_webhook(kubeconfig: &Path, url: &str, domain: &str, flags: &[&str]) -> Result<ExternalDns> {
        let url = format!("--webhook-provider-url={url}");
        // It ends when a provider takes longer than this, and on a busy machine one may.
        let patience = ["--webhook-provider-read-timeout=60s", "--webhook-provider-write-timeout=60s"];
        let provider = [&["--provider=webhook", &url], &patience[..]].concat();
        ExternalDns::into(kubeconfig, &provider, domain, flags)
    }

    fn into(kubeconfig: &Path, provider: &[&str], domain: &str, flags: &[&str]) -> Result<ExternalDns> {
        let program =
            xtask::tools::program("external-dns").context("external-dns is not in the table of tools")?;
        ensure!(program.is_file(), "{} is missing: run `cargo xtask tools`", program.display());
        let mut command = Command::new(program);
        command.args([
            "--source=crd",
            "--crd-source-apiversion=externaldns.k8s.io/v1alpha1",
            "--crd-source-kind=DNSEndpoint",
            "--registry=txt",
            "--policy=sync",
            "--events",
            "--interval=5s",
            "--min-event-sync-interval=100ms",
            "--kube-api-qps=2000",
            "--kube-api-burst=4000",
            "--managed-record-types=A",
            "--managed-record-types=AAAA",
            "--managed-record-types=CNAME",
        ]);
        command.args(provider);
        command.arg(format!("--kubeconfig={}", kubeconfig.display()));
        command.arg(format!("--domain-filter={domain}"));
        command.arg(format!("--metrics-address={}:7979", own_address()));
        command.args(flags);
        Ok(ExternalDns { process: Process::start("external-dns", &command)? })
    }

    /// The id of its process.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Everything that it has printed.
    pub fn output(&self) -> String {
        self.process.output()
    }

    /// Kills it.
    pub fn kill(&mut self) -> Result<()> {
        self.process.kill()
    }
}
