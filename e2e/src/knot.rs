//! A real Knot DNS as a secondary, started and ended by a test.

use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::process::Command;

use anyhow::{Context, Result};
use tempfile::TempDir;

use crate::{Process, dig};

/// A running Knot; it goes with its data.
pub struct Knot {
    process: Process,
    address: IpAddr,
    // Held so that the data stays for as long as the process needs it.
    _folder: TempDir,
}

impl Knot {
    /// Starts a secondary of one zone at this address, which listens to its primary's NOTIFY.
    pub fn secondary(address: IpAddr, zone: &str, primary: SocketAddr) -> Result<Knot> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("knot.conf");
        fs::write(&path, configuration(&folder, address, zone, primary))?;
        let mut command = Command::new("/usr/sbin/knotd");
        command.arg("-c").arg(&path);
        let hint = "run `cargo xtask test` as root, or `apt-get install knot`";
        let mut process = Process::start("knotd", &command).context(hint)?;
        let own = SocketAddr::new(address, 53);
        process.wait_until("Knot to answer", || dig(own, ". SOA").is_ok())?;
        Ok(Knot { process, address, _folder: folder })
    }

    /// Where it answers queries.
    pub fn dns(&self) -> SocketAddr {
        SocketAddr::new(self.address, 53)
    }

    /// Everything that it has printed.
    pub fn output(&self) -> String {
        self.process.output()
    }
}

fn configuration(folder: &TempDir, address: IpAddr, zone: &str, primary: SocketAddr) -> String {
    let (folder, from, port) = (folder.path().display(), primary.ip(), primary.port());
    format!(
        "server:\n  rundir: {folder}\n  listen: {address}@53\n\
         database:\n  storage: {folder}\n\
         log:\n  - target: stderr\n    any: info\n\
         remote:\n  - id: primary\n    address: {from}@{port}\n    via: {address}\n\
         acl:\n  - id: notify\n    address: 127.0.0.0/8\n    action: notify\n\
         template:\n  - id: default\n    storage: {folder}\n\
         zone:\n  - domain: {zone}\n    master: primary\n    acl: notify\n"
    )
}
