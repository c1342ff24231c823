//! etcd by itself, alone or as a cluster of several members.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use tempfile::TempDir;
use xtask::tools;

use crate::{Authority, Network, Process, own_address};

/// The port that tells how it is, without a certificate or a password.
const HEALTH: u16 = 2381;

/// A running member; it is killed when the value goes, and its data with it.
pub struct Etcd {
    process: Process,
    address: IpAddr,
    cluster: String,
    name: String,
    folder: TempDir,
    /// Whether clients need a certificate, so that nobody without one can call it.
    encrypted: bool,
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
            let process = process(&name, *address, &cluster, &folder, false)?;
            Ok(Etcd { process, address: *address, cluster: cluster.clone(), name, folder, encrypted: false })
        };
        let mut members: Vec<Etcd> = addresses.iter().enumerate().map(start).collect::<Result<_>>()?;
        members.iter_mut().try_for_each(Etcd::wait_until_ready)?;
        Ok(members)
    }

    /// One that is alone on a host of a network.
    pub fn on(network: &Network, host: usize) -> Result<(Process, TempDir)> {
        let address = network.address(host);
        let cluster = format!("member=http://{address}:2380");
        let mut command = network.command(host, &program()?);
        let folder = tempfile::tempdir()?;
        arguments(&mut command, "member", &format!("http://{address}:2379"), &cluster, folder.path());
        Ok((Process::start("etcd", &command)?, folder))
    }

    /// Lets in only who has a password; this user may write what is below a key, and nothing else.
    pub fn require_password(&self, user: &str, password: &str, below: &str) -> Result<()> {
        let (key, end) = (STANDARD.encode(format!("{below}/")), STANDARD.encode(format!("{below}0")));
        let permission = json!({"permType": "READWRITE", "key": key, "range_end": end});
        let calls = [
            ("user/add", json!({"name": "root", "password": "the root's own"})),
            ("role/add", json!({"name": "root"})),
            ("user/grant", json!({"user": "root", "role": "root"})),
            ("user/add", json!({"name": user, "password": password})),
            ("role/add", json!({"name": user})),
            ("role/grant", json!({"name": user, "perm": permission})),
            ("user/grant", json!({"user": user, "role": user})),
            ("enable", json!({})),
        ];
        calls
            .iter()
            .try_for_each(|(path, body)| self.call(&format!("/v3/auth/{path}"), &body.to_string()).map(drop))
    }

    /// Starts it again on its data, for clients with a certificate of this authority only.
    pub fn encrypt(&mut self, authority: &Authority) -> Result<()> {
        let own = authority.sign(&self.address.to_string())?;
        let files = [("ca", authority.certificate()), ("crt", own.certificate), ("key", own.key)];
        for (name, text) in files {
            std::fs::write(self.folder.path().join(format!("clients.{name}")), text)?;
        }
        self.encrypted = true;
        self.restart()
    }

    /// Where clients find it.
    pub fn url(&self) -> String {
        client_url(self.address, self.encrypted)
    }

    /// Kills it; its data stays.
    pub fn kill(&mut self) -> Result<()> {
        self.process.kill()
    }

    /// Starts it again on its data.
    pub fn restart(&mut self) -> Result<()> {
        self.kill()?;
        self.process = process(&self.name, self.address, &self.cluster, &self.folder, self.encrypted)?;
        self.wait_until_ready()
    }

    /// Calls its JSON gateway.
    pub fn call(&self, path: &str, body: &str) -> Result<String> {
        let url = format!("{}{path}", self.url());
        Ok(ureq::post(&url).send(body)?.body_mut().read_to_string()?)
    }

    fn wait_until_ready(&mut self) -> Result<()> {
        let page = format!("http://{}:{HEALTH}/health", self.address);
        self.process.wait_until("etcd to be ready", || ureq::get(&page).call().is_ok())
    }
}

fn program() -> Result<PathBuf> {
    let program = tools::program("etcd").context("nobody builds etcd")?;
    ensure!(program.is_file(), "{} is missing: run `cargo xtask tools`", program.display());
    Ok(program)
}

fn client_url(address: IpAddr, encrypted: bool) -> String {
    format!("{}://{address}:2379", if encrypted { "https" } else { "http" })
}

fn process(name: &str, address: IpAddr, cluster: &str, folder: &TempDir, encrypted: bool) -> Result<Process> {
    let mut command = Command::new(program()?);
    arguments(&mut command, name, &client_url(address, encrypted), cluster, folder.path());
    command.args(["--listen-metrics-urls", &format!("http://{address}:{HEALTH}")]);
    if encrypted {
        command.arg("--client-cert-auth");
        let files = [("--trusted-ca-file", "ca"), ("--cert-file", "crt"), ("--key-file", "key")];
        for (flag, file) in files {
            command.arg(flag).arg(folder.path().join(format!("clients.{file}")));
        }
    }
    Process::start(&format!("etcd {name}"), &command)
}

/// What every member is started with; its own part of the cluster is where others find it.
fn arguments(command: &mut Command, name: &str, client: &str, cluster: &str, folder: &Path) {
    let own = cluster.split(',').find_map(|member| member.strip_prefix(&format!("{name}=")));
    let peer = own.unwrap_or_default();
    command.arg("--data-dir").arg(folder);
    command.args(["--name", name, "--log-level", "warn"]);
    command.args(["--listen-client-urls", client, "--advertise-client-urls", client]);
    command.args(["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer]);
    command.args(["--initial-cluster", cluster]);
}
