//! `fingerpost operator`, started and ended by a test.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::{Process, fetch, fingerpost, own_address};

/// The namespace that the tests' operators keep their Lease, Secret and ConfigMap in.
pub const OPERATOR_NAMESPACE: &str = "fingerpost-system";

/// A running operator; it is killed when the value goes.
pub struct Operator {
    process: Process,
    place: Place,
}

/// What an operator is started with, so that it can be started again the same way.
#[derive(Clone)]
pub struct Place {
    address: IpAddr,
    kubeconfig: PathBuf,
    flags: Vec<String>,
}

impl Place {
    /// On an address of its own, with the flags that a test adds.
    pub fn new(kubeconfig: &Path, flags: &[&str]) -> Place {
        let flags = flags.iter().map(|flag| (*flag).to_owned()).collect();
        Place { address: own_address(), kubeconfig: kubeconfig.to_path_buf(), flags }
    }

    /// The same operator by way of another kubeconfig.
    pub fn by(&self, kubeconfig: &Path) -> Place {
        Place { kubeconfig: kubeconfig.to_path_buf(), ..self.clone() }
    }

    /// Starts the process, without waiting for anything.
    pub fn process(&self) -> Result<Process> {
        let mut command = Command::new(fingerpost()?);
        command.arg("operator").arg("--kubeconfig").arg(&self.kubeconfig);
        let ports = [("metrics", 8080), ("health-probe", 8081), ("webhook", 9443)];
        for (name, port) in ports {
            command.arg(format!("--{name}-bind-address={}:{port}", self.address));
        }
        command.arg(format!("--api={}:8054", self.address));
        command.args(&self.flags).env("POD_NAMESPACE", OPERATOR_NAMESPACE);
        command.env("POD_NAME", format!("operator-{}", self.address));
        Process::start("`fingerpost operator`", &command)
    }

    /// Where webhooks are answered, for `--webhook-url`.
    pub fn webhook(&self) -> SocketAddr {
        SocketAddr::new(self.address, 9443)
    }

    /// Adds a flag that depends on where it is.
    pub fn flag(mut self, flag: &str) -> Place {
        self.flags.push(flag.to_owned());
        self
    }
}

impl Operator {
    /// Starts it and waits until it says that it is ready.
    pub fn start(place: Place) -> Result<Operator> {
        let mut operator = Operator::spawn(place)?;
        operator.wait_until_ready()?;
        Ok(operator)
    }

    /// Starts it without waiting for anything.
    pub fn spawn(place: Place) -> Result<Operator> {
        Ok(Operator { process: place.process()?, place })
    }

    /// Waits until it says that it is ready.
    pub fn wait_until_ready(&mut self) -> Result<()> {
        let page = self.place.page(8081, "/readyz");
        self.process.wait_until("the operator to be ready", || fetch(&page).is_ok())
    }

    /// Kills it and starts it again at the same place.
    pub fn restart(&mut self) -> Result<()> {
        self.process.kill()?;
        self.process = self.place.process()?;
        self.wait_until_ready()
    }

    /// Where it is.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Its process, to be signalled.
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// Everything that it has printed.
    pub fn output(&self) -> String {
        self.process.output()
    }

    /// A page of its health address; the error has the body where it is not ready.
    pub fn health(&self, path: &str) -> Result<String> {
        fetch(&self.place.page(8081, path))
    }

    /// A page of its metrics address, or of that of `/api/`.
    pub fn get(&self, path: &str) -> Result<String> {
        let port = if path.starts_with("/api/") { 8054 } else { 8080 };
        fetch(&self.place.page(port, path))
    }
}

impl Place {
    /// Where its metrics are.
    pub fn metrics(&self) -> String {
        format!("http://{}:8080", self.address)
    }

    /// Where its page and `/api/` are.
    pub fn api(&self) -> String {
        format!("http://{}:8054", self.address)
    }

    fn page(&self, port: u16, path: &str) -> String {
        format!("http://{}:{port}{path}", self.address)
    }
}
