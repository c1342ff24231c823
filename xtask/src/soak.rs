//! `cargo xtask soak`: the promises in numbers for which a test has no time.
//!
//! The tests are those of `cargo xtask test`, told by the environment to do a hundred times as much. What they
//! count they say in lines that begin with [`COUNTED`]; those go to docs/promises.md, with the day and the machine.

mod page;

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;

use crate::cargo::{self, cargo, root};
use crate::{fuzz, install};

/// How a line begins in which a test says what it counted.
const COUNTED: &str = "counted: ";
/// How a line begins in which libFuzzer says how many inputs it tried.
const EXECUTED: &str = "stat::number_of_executed_units:";
/// Where the counts are kept.
const PAGE: &str = "docs/promises.md";

/// What can be counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// Hostile packets to `up`, and its memory before and after
    Packets,
    /// Any octets into everything that reads octets from strangers
    Fuzz,
    /// Random histories of deliveries with faults and crashes
    Histories,
    /// Slow readers, half requests and large bodies to every HTTP listener, and the memory that they cost
    Http,
    /// `kill -9` before and after every write of the operator, on a real API server
    Kills,
    /// Flipped bits in the files of the state directory and of the provider's store
    Flips,
    /// Attempts to take a name of another namespace
    Hijack,
}

/// How much of each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbers {
    /// Hostile packets.
    pub(crate) packets: u64,
    /// Inputs to each program of the folder fuzz.
    pub(crate) inputs: u64,
    /// Histories of deliveries.
    pub(crate) histories: u64,
    /// Bits that are flipped one at a time.
    pub(crate) flips: u64,
}

/// Counts these parts, all where none is named, and writes each to the page as soon as it is done.
pub(crate) fn run(only: &[Part], numbers: Numbers) -> Result<()> {
    let all = Part::value_variants();
    for part in if only.is_empty() { all } else { only } {
        let counted = part.count(numbers)?;
        write(*part, &counted)?;
    }
    Ok(())
}

impl Part {
    fn key(self) -> &'static str {
        match self {
            Part::Packets => "packets",
            Part::Fuzz => "fuzz",
            Part::Histories => "histories",
            Part::Http => "http",
            Part::Kills => "kills",
            Part::Flips => "flips",
            Part::Hijack => "hijack",
        }
    }

    fn count(self, numbers: Numbers) -> Result<Vec<String>> {
        match self {
            Part::Packets => packets(numbers.packets),
            Part::Fuzz => fuzzed(numbers.inputs),
            Part::Histories => histories(numbers.histories),
            Part::Http => http(),
            Part::Kills => kills(),
            Part::Flips => flips(numbers.flips),
            Part::Hijack => hijack(),
        }
    }
}

fn packets(number: u64) -> Result<Vec<String>> {
    cargo::run(cargo(&["build", "--release", "--package", "fingerpost"]))?;
    let mut command = end_to_end("hostile::hostile_packets_leave_nothing_behind");
    command.env("FINGERPOST_HOSTILE_PACKETS", number.to_string());
    counted(command)
}

fn fuzzed(inputs: u64) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    for (target, command) in fuzz::programs(&[], fuzz::Until::Inputs(inputs))? {
        let executed = said(command, Stream::Errors, EXECUTED)?;
        lines.extend(executed.iter().map(|count| format!("{target}: {} inputs", count.trim())));
    }
    Ok(lines)
}

fn histories(number: u64) -> Result<Vec<String>> {
    let mut command = cargo(&["test", "--release", "--package", "backends", "--lib", "--"]);
    command.args(["hold_in_random_histories", "--nocapture", "--test-threads", "1"]);
    command.env("FINGERPOST_SEEDS", format!("0..{number}"));
    counted(command)
}

fn http() -> Result<Vec<String>> {
    cargo::run(cargo(&["build", "--release", "--package", "fingerpost"]))?;
    let mut lines = Vec::new();
    for test in ["http::slow_readers_and_half_requests_stop_nothing", "http::large_bodies_stop_nothing"] {
        let mut command = end_to_end(test);
        command.env("FINGERPOST_SOAK", "1");
        lines.extend(counted(command)?);
    }
    Ok(lines)
}

fn kills() -> Result<Vec<String>> {
    install::run()?;
    cargo::run(cargo(&["build", "--release", "--package", "fingerpost"]))?;
    let mut command = end_to_end("kill_operator::every_kill_ends_in_the_same_state");
    command.env("FINGERPOST_SOAK", "1");
    counted(command)
}

fn flips(number: u64) -> Result<Vec<String>> {
    let mut command = cargo(&["test", "--release", "--package", "fingerpost", "--lib", "--"]);
    command.args(["flips::", "--nocapture"]);
    command.env("FINGERPOST_FLIPS", number.to_string());
    counted(command)
}

fn hijack() -> Result<Vec<String>> {
    let mut command = cargo(&["test", "--package", "planner", "--test", "plan", "--"]);
    command.args(["every_attempt_to_take_a_name_of_another_namespace_is_refused", "--exact", "--nocapture"]);
    counted(command)
}

fn end_to_end(test: &str) -> Command {
    let mut command = cargo(&["test", "--release", "--package", "e2e", "--test", "e2e", "--"]);
    command.args([test, "--exact", "--nocapture"]);
    command
}

/// Runs a test and gives what it counted; one that counts nothing did not run.
fn counted(command: Command) -> Result<Vec<String>> {
    let line = cargo::line(&command);
    let lines = said(command, Stream::Output, COUNTED)?;
    if lines.is_empty() {
        bail!("`{line}` counted nothing");
    }
    Ok(lines)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stream {
    Output,
    Errors,
}

/// Runs a command with its output shown, and gives what comes after a prefix in the lines of one stream.
fn said(mut command: Command, stream: Stream, prefix: &str) -> Result<Vec<String>> {
    let line = cargo::line(&command);
    match stream {
        Stream::Output => command.stdout(Stdio::piped()),
        Stream::Errors => command.stderr(Stdio::piped()),
    };
    let mut child = command.spawn().with_context(|| format!("cannot start `{line}`"))?;
    let stdout = child.stdout.take().map(|pipe| Box::new(pipe) as Box<dyn Read>);
    let pipe = stdout.or_else(|| child.stderr.take().map(|pipe| Box::new(pipe) as Box<dyn Read>));
    let found = pipe.map(|pipe| shown(pipe, prefix)).unwrap_or_default();
    let status = child.wait()?;
    if !status.success() {
        bail!("`{line}` failed ({status})");
    }
    Ok(found)
}

fn shown(pipe: impl Read, prefix: &str) -> Vec<String> {
    let lines = BufReader::new(pipe).lines().map_while(Result::ok);
    let lines = lines.inspect(|line| println!("{line}"));
    // A test that says something has its own name before it in the line.
    lines.filter_map(|line| line.split_once(prefix).map(|(_, rest)| rest.to_owned())).collect()
}

fn write(part: Part, counted: &[String]) -> Result<()> {
    let path = root().join(PAGE);
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {PAGE}"))?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let seen = format!("{} ({}, {cores} cores)", counted.join("; "), today()?);
    let text = page::with(&text, part.key(), &seen)?;
    std::fs::write(&path, text).with_context(|| format!("cannot write {PAGE}"))?;
    println!("{PAGE}: {}: {seen}", part.key());
    Ok(())
}

fn today() -> Result<String> {
    let mut command = Command::new("date");
    command.args(["-u", "+%F"]);
    Ok(cargo::output(command)?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn every_part_has_a_row_in_the_page() {
        let text = std::fs::read_to_string(root().join(PAGE)).unwrap();
        for part in Part::value_variants() {
            assert!(page::with(&text, part.key(), "something").is_ok(), "{} has no row", part.key());
        }
    }

    #[test]
    fn what_a_test_counts_is_found_behind_its_name() {
        let mut command = Command::new("printf");
        command.arg("running 1 test\ntest one ... counted: 7 things\ncounted: 8 others\nok\n");
        assert_eq!(counted(command).unwrap(), ["7 things", "8 others"]);
    }

    #[test]
    fn a_test_that_fails_or_counts_nothing_is_told() {
        let silent = counted(Command::new("true")).unwrap_err().to_string();
        assert_eq!(silent, "`true` counted nothing");
        let failed = counted(Command::new("false")).unwrap_err().to_string();
        assert!(failed.starts_with("`false` failed"), "{failed}");
    }
}
