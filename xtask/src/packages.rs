//! The programs that the end-to-end tests call, and the Debian packages that hold them.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::cargo;

/// What the end-to-end tests need: the program, or the path of a file, and its Debian package.
const NEEDED: [(&str, &str); 20] = [
    ("dig", "bind9-dnsutils"),
    ("delv", "bind9-dnsutils"),
    ("dnssec-verify", "bind9-utils"),
    ("kdig", "knot-dnsutils"),
    ("kzonecheck", "knot-dnssecutils"),
    ("named-checkzone", "bind9-utils"),
    ("named", "bind9"),
    ("knotd", "knot"),
    ("nsd", "nsd"),
    ("g++", "g++"),
    ("lua5.1", "lua5.1"),
    ("pdns_server", "pdns-server"),
    ("/usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql", "pdns-backend-sqlite3"),
    ("/usr/share/doc/pdns-backend-lmdb/copyright", "pdns-backend-lmdb"),
    ("/usr/share/doc/pdns-backend-geoip/copyright", "pdns-backend-geoip"),
    ("sqlite3", "sqlite3"),
    ("ldns-verify-zone", "ldnsutils"),
    ("python3", "python3-venv"),
    ("ip", "iproute2"),
    ("promtool", "prometheus"),
];

/// What the bench of the server needs beside: the servers that it is compared with, and two loads.
const BENCHED: [(&str, &str); 9] = [
    ("dnsperf", "dnsperf"),
    ("gdnsd", "gdnsd"),
    ("knotd", "knot"),
    ("/usr/share/doc/knot-module-geoip/copyright", "knot-module-geoip"),
    ("nsd", "nsd"),
    ("pdns_server", "pdns-server"),
    ("/usr/share/doc/pdns-backend-bind/copyright", "pdns-backend-bind"),
    ("/usr/share/doc/pdns-backend-geoip/copyright", "pdns-backend-geoip"),
    ("named", "bind9"),
];

/// Where Debian asks whether a package may start its service.
const POLICY: &str = "/usr/sbin/policy-rc.d";

/// The command that installs everything, for the summary.
pub(crate) fn by_hand() -> String {
    format!("sudo {}", cargo::line(&install(&NEEDED.map(|(_, package)| package))))
}

/// Makes sure that the programs of the tests are there, installing them where that is possible.
pub(crate) fn ensure() -> Result<()> {
    ensure_all(&NEEDED)
}

/// Makes sure that the servers of the bench are there, and that none of them runs by itself.
pub(crate) fn ensure_benched() -> Result<()> {
    let _refusal = Refusal::of_services()?;
    ensure_all(&BENCHED)
}

fn ensure_all(needed: &[(&str, &'static str)]) -> Result<()> {
    let missing = missing(needed);
    if missing.is_empty() {
        println!("all of them are there");
        return Ok(());
    }
    if !is_root() || !is_installed("apt-get") {
        bail!("missing packages: {}; run: sudo {}", missing.join(" "), cargo::line(&install(&missing)));
    }
    let mut update = apt_get();
    update.arg("update");
    cargo::run(update)?;
    cargo::run(install(&missing))
}

fn missing(needed: &[(&str, &'static str)]) -> Vec<&'static str> {
    needed.iter().filter(|(program, _)| !is_installed(program)).map(|(_, package)| *package).collect()
}

/// While this lives, packages that are installed do not start their services: gdnsd would take port 53.
///
/// Where a policy is there already, it stands: it is the administrator's.
struct Refusal {
    is_ours: bool,
}

impl Refusal {
    fn of_services() -> Result<Refusal> {
        let is_ours = is_root() && !Path::new(POLICY).exists() && is_installed("apt-get");
        if is_ours {
            // 101 is "forbidden by policy".
            std::fs::write(POLICY, "#!/bin/sh\nexit 101\n")?;
            std::fs::set_permissions(POLICY, std::fs::Permissions::from_mode(0o755))?;
        }
        Ok(Refusal { is_ours })
    }
}

impl Drop for Refusal {
    fn drop(&mut self) {
        if self.is_ours {
            // Somebody may have taken it away meanwhile, which is what we want.
            let _ = std::fs::remove_file(POLICY);
        }
    }
}

fn install(packages: &[&str]) -> Command {
    let mut command = apt_get();
    command.args(["install", "--yes", "--no-install-recommends"]).args(packages);
    command
}

fn apt_get() -> Command {
    let mut command = Command::new("apt-get");
    command.env("DEBIAN_FRONTEND", "noninteractive");
    command
}

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    // named-checkzone is in sbin on older systems, which a user's PATH may lack.
    let folders = std::env::split_paths(&path).chain(["/usr/sbin", "/sbin"].map(PathBuf::from));
    folders.map(|folder| folder.join(program)).any(|file| Path::is_file(&file))
}

fn is_root() -> bool {
    let mut id = Command::new("id");
    id.arg("-u");
    cargo::output(id).is_ok_and(|user| user.trim() == "0")
}
