//! `cargo xtask crds`: writes `deploy/crds` anew.

use anyhow::Result;

use crate::cargo::{self, cargo};

/// Lets the test that guards `deploy/crds` write what it would otherwise compare, so that there is one
/// place that knows the files' names and text.
pub(crate) fn run() -> Result<()> {
    let mut command = cargo(&["test", "--package", "api", "crds"]);
    command.env("UPDATE", "1");
    cargo::run(command)?;
    println!("deploy/crds is up to date");
    Ok(())
}
