//! `cargo xtask install-yaml`: writes `deploy/install.yaml` anew from the chart, by real Helm.

use std::process::Command;

use anyhow::{Result, ensure};

use crate::cargo::{self, cargo};

/// The test that guards the file.
const GUARD: &str = "chart::install_yaml_is_up_to_date";

/// Lets the guarding test write what it would otherwise compare, so that one place knows the file.
pub(crate) fn run() -> Result<()> {
    let output = cargo::output(guard())?;
    ensure!(output.contains("1 passed"), "the test {GUARD} is gone from e2e; it should write the file");
    println!("deploy/install.yaml is up to date");
    Ok(())
}

fn guard() -> Command {
    let mut command = cargo(&["test", "--package", "e2e", "--test", "e2e", "--", "--exact", GUARD]);
    command.env("UPDATE", "1");
    command
}
