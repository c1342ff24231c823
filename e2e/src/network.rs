//! Several hosts in network namespaces of their own, every two of them joined by a link that can be cut.
//!
//! A cut is silent, as real ones are: packets leave and never arrive. Each end that is cut off gets a false
//! idea of the other's hardware address, so nobody is told that anything is wrong.

use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Result, ensure};

use crate::call;

/// Hosts that can reach each other; the namespaces go with the value.
pub struct Network {
    hosts: Vec<String>,
}

/// A hardware address that nobody has.
const NOBODY: &str = "02:00:00:00:00:99";

impl Network {
    /// So many hosts, with a link between every two.
    pub fn mesh(count: usize) -> Result<Network> {
        // Tests run side by side in one process, and each may have a network.
        static NETWORKS: AtomicUsize = AtomicUsize::new(0);
        let (process, number) = (std::process::id(), NETWORKS.fetch_add(1, Ordering::Relaxed));
        let name = |host| format!("fingerpost-{process}-{number}-{host}");
        let network = Network { hosts: (0..count).map(name).collect() };
        for (host, name) in network.hosts.iter().enumerate() {
            ip(&["netns", "add", name])?;
            ip(&["-n", name, "link", "set", "lo", "up"])?;
            ip(&["-n", name, "address", "add", &format!("{}/32", network.address(host)), "dev", "lo"])?;
        }
        network.links().into_iter().try_for_each(|(one, other)| network.join(one, other))?;
        Ok(network)
    }

    /// Every link, by its two hosts.
    pub fn links(&self) -> Vec<(usize, usize)> {
        let count = self.hosts.len();
        (0..count).flat_map(|one| (one + 1..count).map(move |other| (one, other))).collect()
    }

    /// The address of a host.
    pub fn address(&self, host: usize) -> String {
        format!("10.99.0.{}", host + 1)
    }

    /// A command that runs on a host.
    pub fn command(&self, host: usize, program: &std::path::Path) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.hosts[host]]).arg(program);
        command
    }

    /// Has a host talk to itself in packets of no more than so many octets.
    pub fn narrow(&self, host: usize, octets: usize) -> Result<()> {
        ip(&["-n", &self.hosts[host], "link", "set", "lo", "mtu", &octets.to_string()])
    }

    /// Has a host believe that the way to itself takes packets of no more than so many octets.
    pub fn narrow_way(&self, host: usize, octets: usize) -> Result<()> {
        let (name, address, octets) = (&self.hosts[host], self.address(host), octets.to_string());
        let way = ["route", "replace", "local", &address, "dev", "lo", "table", "local"];
        ip(&[&["-n", name], &way[..], &["src", &address, "mtu", &octets]].concat())
    }

    /// Cuts a link, or mends it.
    pub fn set(&self, (one, other): (usize, usize), whole: bool) -> Result<()> {
        self.set_way((one, other), whole)?;
        self.set_way((other, one), whole)
    }

    /// Every way from one host to another.
    pub fn ways(&self) -> Vec<(usize, usize)> {
        self.links().into_iter().flat_map(|(one, other)| [(one, other), (other, one)]).collect()
    }

    /// Cuts one way of a link, or mends it: what is sent the other way still arrives.
    pub fn set_way(&self, (from, to): (usize, usize), whole: bool) -> Result<()> {
        let (host, address, device) = (&self.hosts[from], self.address(to), device(from, to));
        match whole {
            true => ip(&["-n", host, "neigh", "del", &address, "dev", &device]),
            false => {
                let wrong = ["lladdr", NOBODY, "dev", &device, "nud", "permanent"];
                ip(&[&["-n", host, "neigh", "replace", &address], &wrong[..]].concat())
            }
        }
    }

    fn join(&self, one: usize, other: usize) -> Result<()> {
        let (near, far) = (device(one, other), device(other, one));
        let (here, there) = (&self.hosts[one], &self.hosts[other]);
        ip(&["link", "add", &near, "netns", here, "type", "veth", "peer", "name", &far, "netns", there])?;
        for (from, to) in [(one, other), (other, one)] {
            let (host, device) = (&self.hosts[from], device(from, to));
            ip(&["-n", host, "link", "set", &device, "up"])?;
            let (to, source) = (format!("{}/32", self.address(to)), self.address(from));
            ip(&["-n", host, "route", "add", &to, "dev", &device, "src", &source])?;
        }
        Ok(())
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for host in &self.hosts {
            // One that was never made cannot be removed.
            let _ = ip(&["netns", "del", host]);
        }
    }
}

fn device(from: usize, to: usize) -> String {
    format!("to-{from}-{to}")
}

fn ip(arguments: &[&str]) -> Result<()> {
    let output = call("ip", "iproute2", arguments)?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "ip {}: {said}(needs root)", arguments.join(" "));
    Ok(())
}
