//! The command line of the bench, and of this program as one of its servers.

use std::net::SocketAddr;

use anyhow::{Context, Result, bail};

use crate::rows::Row;
use crate::{echo_server, ours};

/// What this process does.
pub(crate) enum Task {
    /// The floor.
    Echo {
        /// Where it listens.
        listen: SocketAddr,
        /// How long its answers are.
        length: usize,
    },
    /// Our server.
    Ours {
        /// Where it listens.
        listen: SocketAddr,
    },
    /// The bench itself.
    Measure(Arguments),
}

/// What is measured.
pub(crate) struct Arguments {
    /// How many rounds each row gets.
    pub(crate) rounds: usize,
    /// The rows of the table.
    pub(crate) rows: Vec<Row>,
    /// Whether waiting times are measured.
    pub(crate) latency: bool,
    /// Whether the zone of a million names is.
    pub(crate) million: bool,
}

/// Reads the arguments after the program's name.
pub(crate) fn read(arguments: impl Iterator<Item = String>) -> Result<Task> {
    // Cargo says `--bench` to every bench.
    let words: Vec<String> = arguments.filter(|word| word != "--bench").collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    Ok(match words.as_slice() {
        [echo_server::ARGUMENT, listen, length] => {
            Task::Echo { listen: listen.parse()?, length: length.parse()? }
        }
        [ours::ARGUMENT, listen] => Task::Ours { listen: listen.parse()? },
        [rounds, parts] => Task::Measure(measured(rounds, parts)?),
        _ => bail!("usage: cargo xtask bench server [--rounds NUMBER] [--rows PART,PART]"),
    })
}

fn measured(rounds: &str, parts: &str) -> Result<Arguments> {
    let rounds = rounds.parse().context("the number of rounds")?;
    let mut arguments = Arguments { rounds, rows: Vec::new(), latency: false, million: false };
    for part in parts.split(',') {
        match part {
            "all" => arguments = Arguments { rounds, rows: Row::ALL.to_vec(), latency: true, million: true },
            "latency" => arguments.latency = true,
            "million" => arguments.million = true,
            key => arguments.rows.push(row(key)?),
        }
    }
    Ok(arguments)
}

fn row(key: &str) -> Result<Row> {
    let found = Row::ALL.into_iter().find(|row| row.key() == key);
    let keys = Row::ALL.map(Row::key).join(", ");
    found.with_context(|| format!("no part `{key}`; there are all, {keys}, latency and million"))
}
