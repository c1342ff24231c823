//! The programs that the end-to-end tests call, and the Debian packages that hold them.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::cargo;

/// What the end-to-end tests need: the program, or the path of a file, and its Debian package.
const NEEDED: [(&str, &str); 15] = [
    ("dig", "bind9-dnsutils"),
    ("delv", "bind9-dnsutils"),
    ("dnssec-verify", "bind9-utils"),
    ("kdig", "knot-dnsutils"),
    ("named-checkzone", "bind9-utils"),
    ("named", "bind9"),
    ("knotd", "knot"),
    ("nsd", "nsd"),
    ("lua5.1", "lua5.1"),
    ("pdns_server", "pdns-server"),
    ("/usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql", "pdns-backend-sqlite3"),
    ("/usr/share/doc/pdns-backend-lmdb/copyright", "pdns-backend-lmdb"),
    ("sqlite3", "sqlite3"),
    ("ldns-verify-zone", "ldnsutils"),
    ("python3", "python3-venv"),
];

/// The command that installs everything, for the summary.
pub(crate) fn by_hand() -> String {
    format!("sudo {}", cargo::line(&install(&NEEDED.map(|(_, package)| package))))
}

/// Makes sure that the programs are there, installing them where that is possible.
pub(crate) fn ensure() -> Result<()> {
    let missing = missing();
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

fn missing() -> Vec<&'static str> {
    NEEDED.iter().filter(|(program, _)| !is_installed(program)).map(|(_, package)| *package).collect()
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
