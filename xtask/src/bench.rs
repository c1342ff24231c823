//! `cargo xtask bench`: measurements in release mode.

use std::process::Command;

use anyhow::Result;
use clap::Subcommand;

use crate::cargo::{self, cargo};

/// What is measured.
#[derive(Subcommand)]
pub(crate) enum Subject {
    /// The full plan at 1k to 1M routes, and one changed route at each size
    ///
    /// The world: 100 routes and one policy a namespace, 1,000 routes a Gateway, three controllers of
    /// which one is active, one domain. Bytes a route are resident memory after the plan minus before the
    /// snapshot.
    Plan,
    /// From a changed file to a changed answer, at 100k records
    ///
    /// Starts `fingerpost up` on files of 100 documents, changes one document at a time, and asks until
    /// the answer changes. Another client queries throughout and counts answers that are wrong or missing.
    Up {
        /// How many records the world holds
        #[arg(long, default_value_t = 100_000)]
        records: usize,
        /// How many changes are timed
        #[arg(long, default_value_t = 50)]
        changes: usize,
    },
}

/// Runs one measurement.
pub(crate) fn run(subject: &Subject) -> Result<()> {
    match subject {
        Subject::Plan => cargo::run(plan()),
        Subject::Up { records, changes } => {
            cargo::run(cargo(&["build", "--release", "--package", "fingerpost"]))?;
            cargo::run(up(*records, *changes))
        }
    }
}

fn plan() -> Command {
    cargo(&["bench", "--package", "planner", "--bench", "plan"])
}

fn up(records: usize, changes: usize) -> Command {
    let mut command = cargo(&["bench", "--package", "e2e", "--bench", "up", "--"]);
    command.args([records.to_string(), changes.to_string()]);
    command
}
