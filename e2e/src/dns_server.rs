//! `fingerpost dns`, started and ended by a test.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::operator::OPERATOR_NAMESPACE;
use crate::{Process, fetch, fingerpost, own_address};

/// A running DNS server; it is killed when the value goes.
pub struct DnsServer {
    process: Process,
    site: Site,
}

/// What a DNS server is started with, so that it can be started again the same way.
#[derive(Clone)]
pub struct Site {
    address: IpAddr,
    kubeconfig: PathBuf,
    state: PathBuf,
    flags: Vec<String>,
}

impl Site {
    /// On an address of its own, with its state in this folder.
    pub fn new(kubeconfig: &Path, state: &Path, flags: &[&str]) -> Site {
        let flags = flags.iter().map(|flag| (*flag).to_owned()).collect();
        let (kubeconfig, state) = (kubeconfig.to_path_buf(), state.to_path_buf());
        Site { address: own_address(), kubeconfig, state, flags }
    }

    fn process(&self) -> Result<Process> {
        let mut command = Command::new(fingerpost()?);
        command.arg("dns").arg("--kubeconfig").arg(&self.kubeconfig).arg("--state").arg(&self.state);
        command.args(["--dns", &format!("{}:5300", self.address)]);
        command.args(["--http", &format!("{}:8053", self.address)]);
        command.args(["--api", &format!("{}:8054", self.address)]);
        command.args(&self.flags).env("POD_NAMESPACE", OPERATOR_NAMESPACE);
        Process::start("`fingerpost dns`", &command)
    }
}

impl DnsServer {
    /// Starts it and waits until it says that it can answer.
    pub fn start(site: Site) -> Result<DnsServer> {
        let mut server = DnsServer::spawn(site)?;
        server.wait_until_ready()?;
        Ok(server)
    }

    /// Starts it without waiting for anything.
    pub fn spawn(site: Site) -> Result<DnsServer> {
        Ok(DnsServer { process: site.process()?, site })
    }

    /// Waits until it says that it can answer.
    pub fn wait_until_ready(&mut self) -> Result<()> {
        let page = format!("http://{}:8053/readyz", self.site.address);
        self.process.wait_until("the DNS server to be ready", || fetch(&page).is_ok())
    }

    /// Kills it and starts it again at the same site, without waiting.
    pub fn restart(&mut self) -> Result<()> {
        self.process.kill()?;
        self.process = self.site.process()?;
        Ok(())
    }

    /// Where it answers.
    pub fn dns(&self) -> SocketAddr {
        SocketAddr::new(self.site.address, 5300)
    }

    /// Where its page and `/api/` are.
    pub fn url(&self) -> String {
        format!("http://{}:8054", self.site.address)
    }

    /// A page of whichever of its HTTP addresses has it.
    pub fn get(&self, path: &str) -> Result<String> {
        let port = if path.starts_with("/api/") { 8054 } else { 8053 };
        fetch(&format!("http://{}:{port}{path}", self.site.address))
    }

    /// Its process, to be signalled.
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// Everything that it has printed.
    pub fn output(&self) -> String {
        self.process.output()
    }
}
