//! `cargo xtask test`: what the CI runs.
//!
//! Every build names the whole workspace, so that features are unified in one way only and no crate is
//! compiled twice for the tests.

use std::process::Command;

use anyhow::Result;

use crate::cargo::{self, cargo};
use crate::steps::Steps;
use crate::{fuzz, install, packages, purity, timings};

/// How many tests run at once, for each core.
const THREADS_PER_CORE: usize = 4;

/// Runs every step, prints the summary and fails when a step did.
pub(crate) fn run() -> Result<()> {
    let mut steps = Steps::default();
    steps.check("toolchain", "rustup component add rustfmt clippy", components);
    steps.check("packages", &packages::by_hand(), packages::ensure);
    steps.check("real servers", install::BY_HAND, install::run);
    steps.command("format", cargo(&["fmt", "--all", "--check"]));
    steps.command("lints", cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]));
    steps.command("documentation", documentation());
    steps.check("pure crates", purity::BY_HAND, purity::check);
    // The end-to-end tests start the binary; this build makes it, with the features that the tests have.
    steps.command("build", cargo(&["build", "--workspace", "--all-targets"]));
    steps.check("tests", &cargo::line(&tests()), || timings::run(tests()));
    steps.check("fuzzing", fuzz::BY_HAND, || fuzz::run(&[], fuzz::SHORT));
    steps.finish()
}

/// The end-to-end tests wait for others most of the time, so more run at once than there are cores.
fn tests() -> Command {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut command = cargo(&["test", "--workspace", "--no-fail-fast", "--lib", "--bins", "--tests"]);
    command.env("RUST_TEST_THREADS", (THREADS_PER_CORE * cores).to_string());
    command
}

fn documentation() -> Command {
    let mut command = cargo(&["doc", "--workspace", "--no-deps"]);
    command.env("RUSTDOCFLAGS", "-D warnings");
    command
}

/// Adds rustfmt and clippy to a toolchain that was installed without them.
fn components() -> Result<()> {
    let there = |tool| cargo::output(cargo(&[tool, "--version"]));
    if there("fmt").is_err() || there("clippy").is_err() {
        let mut add = Command::new("rustup");
        add.args(["component", "add", "rustfmt", "clippy"]);
        cargo::run(add)?;
    }
    print!("{}{}", there("fmt")?, there("clippy")?);
    Ok(())
}
