//! Our server beside its peers, under load: `cargo xtask bench server`.
//!
//! ```text
//!  core 0: the load ──slices in rotation──► core 1: floor, ours, gdnsd, Knot, NSD, PowerDNS, BIND
//! ```
//!
//! All servers are up at once on addresses of their own, with the same zones. The floor and our own server
//! are this program again, in processes of their own.

mod arguments;
mod blaster;
mod datagrams;
mod echo;
mod echo_server;
mod geo_database;
mod health_page;
mod measure;
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
    let measured = rows(arguments)?;
    println!("\n{}\n{}\n{}", table::costs(&measured), table::ratios(&measured), table::loads(&measured));
    Ok(())
}

/// Starts all servers and measures row after row.
fn rows(arguments: &Arguments) -> Result<Vec<Measured>> {
    let health_port = health_page::start()?;
    let mut servers = vec![ours::start()?, peers::powerdns::start(health_port)?];
    for start in peers::ALL {
        servers.push(start(Work::Rows)?);
    }
    let first = &rows::Row::Static.questions()[0];
    for server in &mut servers {
        server.wait_for(first)?;
    }
    let row = |row: &rows::Row| {
        let able: Vec<&Running> = servers.iter().filter(|server| server.rows.contains(row)).collect();
        measure::measure(*row, &able, arguments.rounds)
    };
    arguments.rows.iter().map(row).collect()
}
