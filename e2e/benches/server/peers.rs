//! The other servers, each set up as its operators would for this work: one thread, one address.

pub(crate) mod bind;
pub(crate) mod gdnsd;
pub(crate) mod knot;
pub(crate) mod nsd;
pub(crate) mod powerdns;

use std::path::Path;

use anyhow::{Context, Result};
use tempfile::TempDir;

use crate::running::{Running, Work};

/// How each is started; PowerDNS is apart, because it probes by itself.
pub(crate) const ALL: [fn(Work<'_>) -> Result<Running>; 4] =
    [gdnsd::start, knot::start, nsd::start, bind::start];

/// A folder that a server may use whatever user it becomes.
fn folder() -> Result<TempDir> {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755))?;
    Ok(folder)
}

/// What to do where a server is missing.
fn hint(program: &Path, package: &str) -> Result<()> {
    anyhow::ensure!(
        program.is_file(),
        "{} is missing: run `cargo xtask bench server` as root, or `apt-get install {package}`",
        program.display()
    );
    Ok(())
}
