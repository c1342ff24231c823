//! Our server beside its peers, under load: `cargo xtask bench server`.
//!
//! ```text
//!  core 1: the load ──slices in rotation──► core 0: floor, ours, gdnsd, Knot, NSD, PowerDNS, BIND
//! ```
//!
//! All servers are up at once on addresses of their own, with the same zones. The floor and our own server
//! are this program again, in processes of their own.

mod arguments;
mod blaster;
mod datagrams;
mod dnsperf;
mod echo;
mod echo_server;
mod geo_database;
mod health_page;
mod latency;
mod measure;
mod million;
mod ours;
mod peers;
mod processor;
mod progress;
mod random;
mod rows;
mod running;
mod statistics;
mod table;
mod zones;

use anyhow::{Context, Result};

use crate::arguments::{Arguments, Task};
use crate::measure::Measured;
use crate::rows::Row;
use crate::running::{LOAD_CORE, Running, Work};

fn main() -> Result<()> {
    match arguments::read(std::env::args().skip(1))? {
        Task::Echo { listen, length } => echo::run(listen, length),
        Task::Ours { listen } => ours::run(listen),
        Task::Measure(arguments) => bench(&arguments),
    }
}

fn bench(arguments: &Arguments) -> Result<()> {
    datagrams::pin(&[LOAD_CORE]).context("cannot take a core for the load")?;
    if !arguments.rows.is_empty() || arguments.latency {
        with_servers(arguments)?;
    }
    if arguments.million {
        million::measure(arguments.rounds.div_ceil(2))?;
    }
    Ok(())
}

/// Everything that is measured with all servers up at once.
fn with_servers(arguments: &Arguments) -> Result<()> {
    let servers = start()?;
    let (measured, failed) = rows(arguments, &servers);
    if !measured.is_empty() {
        println!("\n{}\n{}\n{}", table::costs(&measured), table::ratios(&measured), table::loads(&measured));
    }
    if let Some(text) = table::signed(&measured) {
        println!("{text}");
    }
    failed?;
    if arguments.latency {
        let find = |name| servers.iter().find(|server| server.name == name).context("a server is missing");
        let (ours, knot, gdnsd) = (find(ours::NAME)?, find("Knot")?, find("gdnsd")?);
        println!("{}", latency::measure(ours, knot)?);
        println!("dnsperf on one core, for comparison:\n{}\n{}\n", dnsperf::run(ours)?, dnsperf::run(gdnsd)?);
    }
    Ok(())
}

/// Starts all servers and waits until each answers.
fn start() -> Result<Vec<Running>> {
    let health_port = health_page::start()?;
    let mut servers = vec![ours::start()?, peers::powerdns::start(health_port)?];
    for start in peers::ALL {
        servers.push(start(Work::Rows)?);
    }
    let first = &Row::Static.questions()[0];
    for server in &mut servers {
        server.wait_for(first)?;
    }
    Ok(servers)
}

/// Measures row after row; a row that fails does not take the others' figures with it.
fn rows(arguments: &Arguments, servers: &[Running]) -> (Vec<Measured>, Result<()>) {
    let (mut measured, mut failed) = (Vec::new(), Ok(()));
    for row in &arguments.rows {
        let able: Vec<&Running> = servers.iter().filter(|server| server.rows.contains(row)).collect();
        match measure::measure(*row, &able, arguments.rounds) {
            Ok(row) => measured.push(row),
            Err(error) => {
                eprintln!("error: {error:#}");
                failed = Err(error);
            }
        }
    }
    (measured, failed)
}
