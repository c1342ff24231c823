//! `cargo xtask bench`: measurements in release mode.

use std::process::Command;

use anyhow::Result;
use clap::Subcommand;

use crate::cargo::{self, cargo};
use crate::{install, packages};

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
    /// How the time of `fingerpost check` grows from 25k to 100k Records
    ///
    /// Checks Records that are right, Records without their zone, and Records that are wrong, at both sizes in
    /// turns. The shortest times count; a ratio of more than 5 fails.
    Check {
        /// How many times each size is checked
        #[arg(long, default_value_t = 3)]
        rounds: usize,
    },
    /// The operator and the DNS server on a real API server, beside ExternalDNS
    ///
    /// Creates the routes, changes the ClusterIdentity once and then one route at a time; prints times,
    /// writes to the API server, processor time and memory, at a tenth of the routes and at all of them.
    /// Then ExternalDNS does the same change on as many DNSEndpoints, into PowerDNS.
    Cluster {
        /// How many routes the world holds
        #[arg(long, default_value_t = 10_000)]
        routes: usize,
        /// How many changes are timed
        #[arg(long, default_value_t = 50)]
        changes: usize,
        /// Leave out ExternalDNS
        #[arg(long)]
        no_external_dns: bool,
    },
    /// Records into PowerDNS (sqlite and lmdb), beside a bare client, and into Knot
    ///
    /// Delivers the records into an empty zone and then ten changed ones; prints times and requests. The
    /// bare client sends the same RRsets in the best batches, in turns with ours.
    Providers {
        /// How many records are delivered
        #[arg(long, default_value_t = 10_000)]
        records: usize,
        /// How many times each
        #[arg(long, default_value_t = 5)]
        rounds: usize,
    },
    /// What probing 10,000 targets every five seconds costs: TCP, HTTP and HTTPS
    ///
    /// Starts `fingerpost up` on Placements whose addresses are all served by the bench, and prints the share
    /// of a core that the whole process takes. TCP and HTTP must stay below 30 %.
    Probes {
        /// How many targets are probed
        #[arg(long, default_value_t = 10_000)]
        targets: usize,
        /// For how long it is measured, in seconds
        #[arg(long, default_value_t = 30)]
        seconds: usize,
    },
    /// From the death of a TCP backend to the first right answer, beside PowerDNS and gdnsd
    ///
    /// Each round kills another name's backend and brings it back. Ours at its fastest, at one second and by
    /// default must keep to their bars. Takes about eight minutes, mostly for gdnsd's defaults. As root on
    /// Debian the servers are installed.
    Failover {
        /// How many rounds each setting gets
        #[arg(long, default_value_t = 20)]
        rounds: usize,
        /// Leave out PowerDNS and gdnsd
        #[arg(long)]
        alone: bool,
    },
    /// The DNS server beside gdnsd, Knot, NSD, PowerDNS and BIND, under load
    ///
    /// All are up at once, on one core, with the same zones; a load on another core takes them in turns of
    /// 0.08 s. Prints processor time per query, what ours is in terms of the kernel's floor and of gdnsd
    /// with intervals of 95 %, waiting times at 1,000 queries a second, and starts, memory and changes with
    /// a zone of a million names. Needs two cores and takes about ten minutes. As root on Debian the
    /// servers are installed.
    Server {
        /// How many turns each server gets in each row
        #[arg(long, default_value_t = 60)]
        rounds: usize,
        /// What to measure: all, or static, nxdomain, cookies, weighted, geo, failover, signed, latency, million
        #[arg(long, value_delimiter = ',', default_value = "all")]
        rows: Vec<String>,
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
        Subject::Check { rounds } => {
            cargo::run(cargo(&["build", "--release", "--package", "fingerpost"]))?;
            cargo::run(bench("check", &[*rounds]))
        }
        Subject::Cluster { routes, changes, no_external_dns } => {
            packages::ensure()?;
            install::run()?;
            cargo::run(cargo(&["build", "--release", "--package", "fingerpost"]))?;
            cargo::run(cluster(*routes, *changes, !no_external_dns))
        }
        Subject::Providers { records, rounds } => {
            packages::ensure()?;
            cargo::run(providers(*records, *rounds))
        }
        Subject::Probes { targets, seconds } => {
            cargo::run(cargo(&["build", "--release", "--package", "fingerpost"]))?;
            cargo::run(bench("probes", &[*targets, *seconds]))
        }
        Subject::Failover { rounds, alone } => {
            if !alone {
                packages::ensure_benched()?;
            }
            cargo::run(cargo(&["build", "--release", "--package", "fingerpost"]))?;
            cargo::run(bench("failover", &[*rounds, usize::from(*alone)]))
        }
        Subject::Server { rounds, rows } => {
            packages::ensure_benched()?;
            cargo::run(cargo(&["build", "--release", "--package", "fingerpost"]))?;
            cargo::run(server(*rounds, rows))
        }
    }
}

/// A bench of the end-to-end tests' crate with its numbers.
fn bench(name: &str, numbers: &[usize]) -> Command {
    let mut command = cargo(&["bench", "--package", "e2e", "--bench", name, "--"]);
    command.args(numbers.iter().map(usize::to_string));
    command
}

fn plan() -> Command {
    cargo(&["bench", "--package", "planner", "--bench", "plan"])
}

fn up(records: usize, changes: usize) -> Command {
    let mut command = cargo(&["bench", "--package", "e2e", "--bench", "up", "--"]);
    command.args([records.to_string(), changes.to_string()]);
    command
}

fn cluster(routes: usize, changes: usize, beside: bool) -> Command {
    let mut command = cargo(&["bench", "--package", "e2e", "--bench", "cluster", "--"]);
    command.args([routes.to_string(), changes.to_string(), usize::from(beside).to_string()]);
    command
}

fn providers(records: usize, rounds: usize) -> Command {
    let mut command = cargo(&["bench", "--package", "e2e", "--bench", "providers", "--"]);
    command.args([records.to_string(), rounds.to_string()]);
    command
}

fn server(rounds: usize, rows: &[String]) -> Command {
    let mut command = cargo(&["bench", "--package", "e2e", "--bench", "server", "--"]);
    command.args([rounds.to_string(), rows.join(",")]);
    command
}
