//! A second opinion: what dnsperf sees of a server. It is the bottleneck itself, so this is no row.

use std::fmt::Write;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::rows::{NAMES, Row, label};
use crate::running::{Running, write};

const SECONDS: &str = "3";

/// Runs it on one server; the line that it says about the rate.
pub(crate) fn run(server: &Running) -> Result<String> {
    let folder = tempfile::tempdir()?;
    let mut queries = String::new();
    for number in 0..NAMES {
        let _ = writeln!(queries, "{}.{} A", label(number), Row::Static.zone());
    }
    write(folder.path(), "queries", queries)?;
    let mut command = Command::new("dnsperf");
    command.args(["-s", &server.address.ip().to_string(), "-p", &server.address.port().to_string()]);
    command.args(["-l", SECONDS, "-q", "200", "-d"]).arg(folder.path().join("queries"));
    let output = command.output().context("cannot run dnsperf: run `apt-get install dnsperf`")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let field = |key: &str| text.lines().find_map(|line| line.trim().strip_prefix(key)).map(str::trim);
    let lost = field("Queries lost:").context("dnsperf counts what is lost")?;
    ensure!(lost.starts_with("0 "), "dnsperf lost answers of {}: {lost}", server.name);
    let rate = field("Queries per second:").context("dnsperf says the rate")?;
    Ok(format!("{}: {} queries a second, none lost", server.name, rate.split('.').next().unwrap_or(rate)))
}
