//! `cargo xtask fuzz`: any octets into everything that reads octets from strangers.
//!
//! The programs are those of the folder `fuzz`, on libFuzzer. They need no nightly compiler and no
//! `cargo fuzz`: its flags for coverage are stable ones, and of sanitizers, which are not, code without
//! `unsafe` has little use.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::cargo::{self, cargo, root};

/// The programs, each with a folder of the same name in `fuzz/corpus`.
const TARGETS: [&str; 5] = ["query", "signed", "cookies", "zone_file", "snapshot"];

/// The compiler leaves traces that libFuzzer follows.
const FLAGS: [&str; 6] = [
    "--cfg=fuzzing",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
];

/// What the summary says to run.
pub(crate) const BY_HAND: &str = "cargo xtask fuzz";
/// How long each program runs in `cargo xtask test`.
pub(crate) const SHORT: u32 = 20;

/// When a program has done enough.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Until {
    /// After so many seconds.
    Seconds(u32),
    /// After so many inputs.
    Inputs(u64),
}

/// Builds the programs and runs them, each for so many seconds; finds stay in `target/fuzz`.
pub(crate) fn run(only: &[String], seconds: u32) -> Result<()> {
    programs(only, Until::Seconds(seconds))?.into_iter().try_for_each(|(_, command)| cargo::run(command))
}

/// Builds the programs; gives each with the command that runs it.
pub(crate) fn programs(only: &[String], until: Until) -> Result<Vec<(&'static str, Command)>> {
    let triple = cargo::host()?;
    cargo::run(build(&triple))?;
    let is_wanted = |target: &&str| only.is_empty() || only.iter().any(|name| name == target);
    let wanted = TARGETS.into_iter().filter(is_wanted);
    wanted.map(|target| Ok((target, program(&triple, target, until)?))).collect()
}

fn build(triple: &str) -> Command {
    // With a target named, the flags are not those of build scripts, which libFuzzer is no part of.
    let mut command = cargo(&["build", "--release", "--locked", "--bins", "--target", triple]);
    command.arg("--manifest-path").arg(root().join("fuzz/Cargo.toml"));
    command.arg("--target-dir").arg(folder());
    command.env("RUSTFLAGS", FLAGS.join(" "));
    command
}

fn program(triple: &str, target: &str, until: Until) -> Result<Command> {
    // What is new goes into the first folder, so that the one in the repository stays as it is.
    let finds = folder().join("corpus").join(target);
    std::fs::create_dir_all(&finds).with_context(|| format!("cannot make {}", finds.display()))?;
    let mut command = Command::new(folder().join(triple).join("release").join(target));
    command.arg(&finds).arg(root().join("fuzz/corpus").join(target));
    command.arg(match until {
        Until::Seconds(seconds) => format!("-max_total_time={seconds}"),
        Until::Inputs(inputs) => format!("-runs={inputs}"),
    });
    command.arg(format!("-artifact_prefix={}/{target}-", folder().display()));
    command.args(["-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1", "-verbosity=0"]);
    Ok(command)
}

fn folder() -> PathBuf {
    cargo::target().join("fuzz")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn every_program_has_a_source_and_a_corpus() {
        for target in TARGETS {
            assert!(root().join(format!("fuzz/targets/{target}.rs")).is_file(), "{target} has no source");
            let corpus = root().join("fuzz/corpus").join(target);
            assert!(
                corpus.read_dir().is_ok_and(|mut files| files.next().is_some()),
                "{target} has no corpus"
            );
        }
        assert_eq!(root().join("fuzz/targets").read_dir().unwrap().count(), TARGETS.len());
    }
}
