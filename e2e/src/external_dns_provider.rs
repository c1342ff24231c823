//! The real ExternalDNS as a server of its own webhook protocol, on one of its providers.

use std::fs::File;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::powerdns::API_KEY;
use crate::{PowerDns, Process, own_address};

/// Where it listens; there is no flag for it.
const ADDRESS: &str = "127.0.0.1:8888";

/// A running webhook server; it is killed when the value goes.
pub struct ExternalDnsProvider {
    process: Process,
    // Held as long as the address is in use, by whichever test process. Dropped after the process.
    _turn: File,
}

impl ExternalDnsProvider {
    /// On the provider that keeps zones in memory.
    pub fn in_memory(zones: &[&str]) -> Result<ExternalDnsProvider> {
        let zones = zones.iter().map(|zone| format!("--inmemory-zone={zone}"));
        let arguments = ["--provider=inmemory".to_owned()].into_iter().chain(zones);
        ExternalDnsProvider::start(arguments.collect())
    }

    /// On the provider that writes to PowerDNS.
    pub fn powerdns(into: &PowerDns) -> Result<ExternalDnsProvider> {
        ExternalDnsProvider::start(vec![
            "--provider=pdns".to_owned(),
            format!("--pdns-server={}", into.url()),
            format!("--pdns-api-key={API_KEY}"),
        ])
    }

    fn start(arguments: Vec<String>) -> Result<ExternalDnsProvider> {
        let turn = File::create(std::env::temp_dir().join("fingerpost-test-external-dns-8888.lock"))?;
        turn.lock().context("cannot wait for the address of the webhook server")?;
        let program =
            xtask::tools::program("external-dns").context("external-dns is not in the table of tools")?;
        ensure!(program.is_file(), "{} is missing: run `cargo xtask tools`", program.display());
        let mut command = Command::new(program);
        command.args(["--webhook-server", "--source=fake", "--webhook-provider-read-timeout=60s"]);
        command.arg(format!("--metrics-address={}:7979", own_address())).args(arguments);
        let mut process = Process::start("external-dns", &command)?;
        let url = format!("http://{ADDRESS}/");
        process.wait_until("the webhook server to be ready", || ureq::get(&url).call().is_ok())?;
        Ok(ExternalDnsProvider { process, _turn: turn })
    }

    /// Where it is.
    pub fn url(&self) -> String {
        format!("http://{ADDRESS}")
    }

    /// Everything that it has printed.
    pub fn output(&self) -> String {
        self.process.output()
    }

    /// Its process.
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }
}
