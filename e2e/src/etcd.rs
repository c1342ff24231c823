//! etcd by itself, alone or as a cluster of several members.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;
use xtask::tools;

use crate::{Network, Process, own_address, wait_for};

/// A running member; it is killed when the value goes, and its data with it.
pub struct Etcd {
    process: Process,
    address: IpAddr,
    cluster: String,
    name: String,
    folder: TempDir,
}

impl Etcd {
    /// One that is alone.
    pub fn alone() -> Result<Etcd> {
        Etcd::members(1)?.pop().context("no member was started")
    }

    /// A cluster of so many members, each on an address of its own.
    pub fn members(count: usize) -> Result<Vec<Etcd>> {
        let addresses: Vec<IpAddr> = (0..count).map(|_| own_address()).collect();
        let named = addresses.iter().enumerate();
        let cluster: Vec<String> =
            named.map(|(number, address)| format!("member-{number}=http://{address}:2380")).collect();
        let cluster = cluster.join(",");
        let start = |(number, address): (usize, &IpAddr)| {
            let (name, folder) = (format!("member-{number}"), tempfile::tempdir()?);
            let process = process(&name, *address, &cluster, &folder)?;
            Ok(Etcd { process, address: *address, cluster: cluster.clone(), name, folder })
        };
        let members: Vec<Etcd> = addresses.iter().enumerate().map(start).collect::<Result<_>>()?;
        members.iter().try_for_each(Etcd::wait_until_ready)?;
        Ok(members)
    }

    /// One that is alone on a host of a network.
    pub fn on(network: &Network, host: usize) -> Result<(Process, TempDir)> {
        let address = network.address(host);
        let cluster = format!("member=http://{address}:2380");
        let mut command = network.command(host, &program()?);
        let folder = tempfile::tempdir()?;
        arguments(&mut command, "member", &address, &cluster, folder.path());
        Ok((Process::start("etcd", &command)?, folder))
    }

    /// Where clients find it.
    pub fn url(&self) -> String {
        format!("http://{}:2379", self.address)
    }

    /// Kills it; its data stays.
    pub fn kill(&mut self) -> Result<()> {
        self.process.kill()
    }

    /// Starts it again on its data.
    pub fn restart(&mut self) -> Result<()> {
        self.kill()?;
        self.process = process(&self.name, self.address, &self.cluster, &self.folder)?;
        self.wait_until_ready()
    }

    /// Calls its JSON gateway.
    pub fn call(&self, path: &str, body: &str) -> Result<String> {
        let url = format!("{}{path}", self.url());
        Ok(ureq::post(&url).send(body)?.body_mut().read_to_string()?)
    }

    fn wait_until_ready(&self) -> Result<()> {
        let page = format!("{}/health", self.url());
        wait_for("etcd to be ready", || Ok(ureq::get(&page).call().is_ok().then_some(())))
            .with_context(|| self.process.output())
    }
}

fn program() -> Result<PathBuf> {
    let program = tools::program("etcd").context("nobody builds etcd")?;
    ensure!(program.is_file(), "{} is missing: run `cargo xtask tools`", program.display());
    Ok(program)
}

fn process(name: &str, address: IpAddr, cluster: &str, folder: &TempDir) -> Result<Process> {
    let mut command = Command::new(program()?);
    arguments(&mut command, name, &address.to_string(), cluster, folder.path());
    Process::start(&format!("etcd {name}"), &command)
}

fn arguments(command: &mut Command, name: &str, address: &str, cluster: &str, folder: &Path) {
    let (client, peer) = (format!("http://{address}:2379"), format!("http://{address}:2380"));
    command.arg("--data-dir").arg(folder);
    command.args(["--name", name, "--log-level", "warn"]);
    command.args(["--listen-client-urls", &client, "--advertise-client-urls", &client]);
    command.args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer]);
    command.args(["--initial-cluster", cluster]);
}
