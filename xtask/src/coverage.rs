//! `cargo xtask coverage`: which lines of the pure crates their own tests run.
//!
//! The compiler instruments (`-C instrument-coverage`), the tests write profiles, and the LLVM tools that
//! belong to this very compiler turn them into line counts; a distribution's own LLVM cannot read them.

mod lines;
mod tools;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::cargo::{self, cargo, root};
use lines::Coverage;
use tools::LlvmTools;

/// Measures each crate and fails when one is under `minimum` percent.
pub(crate) fn run(crates: &[String], minimum: f64) -> Result<()> {
    let tools = LlvmTools::ensure()?;
    let measured: Vec<_> = crates.iter().map(|name| measure(name, &tools)).collect::<Result<_>>()?;
    for coverage in &measured {
        println!("\n{coverage}");
    }
    let low: Vec<_> = measured.iter().filter(|coverage| coverage.percent() < minimum).collect();
    match low.as_slice() {
        [] => Ok(()),
        low => bail!("under {minimum} %: {}", low.iter().map(|c| c.name()).collect::<Vec<_>>().join(", ")),
    }
}

/// One crate by its own tests, so that another crate's tests cannot cover for it.
fn measure(name: &str, tools: &LlvmTools) -> Result<Coverage> {
    let profiles = folder().join(name);
    if profiles.exists() {
        std::fs::remove_dir_all(&profiles).context("cannot remove the profiles of the last run")?;
    }
    cargo::run(test(name, &profiles, &[]))?;
    let programs = programs(&cargo::output(test(name, &profiles, &["--no-run", "--message-format=json"]))?)?;
    let report = tools.line_counts(&profiles, &programs)?;
    Coverage::read(name, &report, &root().join("crates").join(name).join("src"))
}

fn test(name: &str, profiles: &Path, more: &[&str]) -> Command {
    let mut command =
        cargo(&["test", "--quiet", "--tests", "--package", name, "--target-dir", "target/coverage"]);
    command.args(more);
    // Counting makes unoptimized property tests very slow.
    command.envs([("CARGO_PROFILE_DEV_OPT_LEVEL", "1"), ("CARGO_PROFILE_TEST_OPT_LEVEL", "1")]);
    command.env("RUSTFLAGS", "-C instrument-coverage");
    command.env("LLVM_PROFILE_FILE", profiles.join("%p-%m.profraw"));
    command
}

fn folder() -> PathBuf {
    cargo::target().join("coverage/profiles")
}

/// The test programs among cargo's messages.
fn programs(messages: &str) -> Result<Vec<PathBuf>> {
    let messages = messages.lines().map(serde_json::from_str::<serde_json::Value>);
    let messages = messages.collect::<Result<Vec<_>, _>>().context("cannot read cargo's messages")?;
    let executables = messages.iter().filter_map(|message| message["executable"].as_str());
    Ok(executables.map(PathBuf::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_messages_with_an_executable_are_programs() {
        let messages =
            "{\"reason\":\"compiler-artifact\",\"executable\":null}\n{\"executable\":\"/t/dns-1\"}\n";
        assert_eq!(programs(messages).unwrap(), [PathBuf::from("/t/dns-1")]);
    }
}
