//! `cargo xtask crds`: writes `deploy/crds` and the chart's copy of it anew.

use std::process::Command;

use anyhow::{Result, ensure};

use crate::cargo::{self, cargo};

/// The test that guards both folders.
const GUARD: &str = "definitions::files_in_deploy_are_up_to_date";

/// Lets the guarding test write what it would otherwise compare, so that one place knows the files.
pub(crate) fn run() -> Result<()> {
    let output = cargo::output(guard())?;
    ensure!(
        output.contains("1 passed"),
        "the test {GUARD} is gone from crates/api; it should write the files"
    );
    println!("deploy/crds and deploy/chart/files/crds are up to date");
    Ok(())
}

fn guard() -> Command {
    let mut command = cargo(&["test", "--package", "api", "--test", "api", "--", "--exact", GUARD]);
    command.env("UPDATE", "1");
    command
}
