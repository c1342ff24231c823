//! Developer commands, run as `cargo xtask COMMAND`.
//!
//! Each command does the set-up that it needs, says what it runs, and where something fails it names the
//! command to repeat by hand.

mod bench;
mod cargo;
mod coverage;
mod crds;
mod fuzz;
mod install;
mod install_yaml;
#[cfg(test)]
mod links;
mod packages;
mod purity;
mod reference;
mod soak;
mod steps;
mod test;
mod timings;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// Developer commands of Fingerpost.
#[derive(Parser)]
#[command(bin_name = "cargo xtask", version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Everything that the CI runs: formatting, lints, documentation, purity, all tests
    ///
    /// The tests with real clients need dig, kdig, named-checkzone, kzonecheck and lua5.1. As root on Debian the
    /// missing packages are installed; otherwise the command to install them is printed and the step fails.
    /// The Kubernetes servers of the tests are built once, as `cargo xtask tools` does.
    Test,
    /// Build the real servers of the tests: Kubernetes, etcd, Helm, ExternalDNS
    ///
    /// Each is built once, with Go, into the user's cache directory (about 20 minutes on two cores the first
    /// time). A directory with etcd, kube-apiserver and kubectl in KUBEBUILDER_ASSETS is used instead of ours.
    Tools,
    /// Write deploy/crds and the chart's copy anew from the kinds in crates/api
    Crds,
    /// Write deploy/install.yaml anew from the chart, by real Helm
    InstallYaml,
    /// Write docs/reference.md and docs/reference anew from the CRDs in deploy/crds
    Reference,
    /// Line coverage of the pure crates (dns, api, planner) by their own tests
    ///
    /// Builds into target/coverage with the compiler's own instrumentation. Inline test modules and test
    /// files are not counted. Needs the rustup component llvm-tools and adds it when it is missing.
    Coverage {
        /// The crates to measure
        #[arg(default_values = cargo::PURE_CRATES, value_name = "CRATE")]
        crates: Vec<String>,
        /// The share of lines, in percent, under which a crate fails
        #[arg(long, default_value_t = 90.0, value_name = "PERCENT")]
        minimum: f64,
    },
    /// Feed any octets to everything that reads octets from strangers
    ///
    /// Builds the programs of the folder fuzz into target/fuzz, on libFuzzer (needs a C++ compiler), and runs
    /// one after the other. What ends one is kept there, to be given to it again as an argument.
    Fuzz {
        /// The programs to run; default: all
        #[arg(value_name = "PROGRAM")]
        programs: Vec<String>,
        /// How long each runs
        #[arg(long, default_value_t = fuzz::SHORT, value_name = "SECONDS")]
        seconds: u32,
    },
    /// Run the promises in full numbers and write the counts to docs/promises.md
    ///
    /// `cargo xtask test` runs the same code on a hundredth of them. Takes hours in all; each part is written
    /// down as soon as it is done. Kills need the real servers that `cargo xtask tools` builds.
    Soak {
        /// What to count; default: all
        #[arg(value_name = "PART")]
        parts: Vec<soak::Part>,
        /// How many hostile packets
        #[arg(long, default_value_t = 10_000_000, value_name = "NUMBER")]
        packets: u64,
        /// How many inputs each program of the folder fuzz gets
        #[arg(long, default_value_t = 10_000_000, value_name = "NUMBER")]
        inputs: u64,
        /// How many histories of deliveries
        #[arg(long, default_value_t = 10_000, value_name = "NUMBER")]
        histories: u64,
        /// How many bits are flipped one at a time
        #[arg(long, default_value_t = 10_000, value_name = "NUMBER")]
        flips: u64,
    },
    /// Measurements, in release mode; docs/benchmarks.md says how to read them
    Bench {
        #[command(subcommand)]
        subject: bench::Subject,
    },
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<()> {
    match command {
        Command::Test => test::run(),
        Command::Tools => install::run(),
        Command::Crds => crds::run(),
        Command::InstallYaml => install_yaml::run(),
        Command::Reference => reference::run(),
        Command::Coverage { crates, minimum } => coverage::run(&crates, minimum),
        Command::Fuzz { programs, seconds } => fuzz::run(&programs, seconds),
        Command::Soak { parts, packets, inputs, histories, flips } => {
            soak::run(&parts, soak::Numbers { packets, inputs, histories, flips })
        }
        Command::Bench { subject } => bench::run(&subject),
    }
}
