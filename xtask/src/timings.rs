//! Runs the tests, and prints the slowest of them at the end.
//!
//! The test harness prints the time of each test only with unstable options, which it takes on a stable toolchain
//! where `RUSTC_BOOTSTRAP` is set. That variable is set for the test programs alone, by cargo's runner: for the
//! compiler it would change what is built.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::cargo;

/// What the test programs are started by.
const RUNNER: &str = "env RUSTC_BOOTSTRAP=1";
/// The arguments of the test programs.
const ARGUMENTS: [&str; 3] = ["--", "-Zunstable-options", "--report-time"];
/// How many of the tests are printed.
const SHOWN: usize = 10;

/// A test and how long it took.
#[derive(Clone, Debug, PartialEq)]
struct Timing {
    seconds: f64,
    test: String,
}

/// Runs a `cargo test` command, shows its output and then its slowest tests.
pub(crate) fn run(mut command: Command) -> Result<()> {
    let triple = cargo::host()?.to_uppercase().replace('-', "_");
    command.env(format!("CARGO_TARGET_{triple}_RUNNER"), RUNNER).args(ARGUMENTS).stdout(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("cannot start `{}`", cargo::line(&command)))?;
    let output = child.stdout.take().context("the output of the tests is not there")?;
    let mut timings = Vec::new();
    for line in BufReader::new(output).split(b'\n') {
        let line = String::from_utf8_lossy(&line?).into_owned();
        println!("{line}");
        timings.extend(timing(&line));
    }
    let status = child.wait()?;
    println!("\n{}", slowest(timings));
    if !status.success() {
        bail!("`{}` failed ({status})", cargo::line(&command));
    }
    Ok(())
}

/// The time in a line such as `test plan::a_name ... ok <1.234s>`.
fn timing(line: &str) -> Option<Timing> {
    let (test, result) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    let seconds = result.rsplit_once('<')?.1.strip_suffix("s>")?.parse().ok()?;
    Some(Timing { seconds, test: test.to_owned() })
}

fn slowest(mut timings: Vec<Timing>) -> String {
    timings.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    let lines = timings.iter().take(SHOWN).map(|one| format!("  {:>7.1} s  {}\n", one.seconds, one.test));
    format!("The {SHOWN} slowest of {} tests\n{}", timings.len(), lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_tests_come_first() {
        let output = "running 3 tests\n\
            test quick ... ok <0.010s>\n\
            test slow::case_1 ... FAILED <61.500s>\n\
            test ignored ... ignored\n\
            test middle ... ok <2.000s>\n\
            test result: FAILED. 2 passed; 1 failed";
        let text = slowest(output.lines().filter_map(timing).collect());
        let names: Vec<&str> = text.lines().skip(1).filter_map(|line| line.rsplit(' ').next()).collect();
        assert_eq!(names, ["slow::case_1", "middle", "quick"]);
        assert!(text.contains("61.5 s"), "{text}");
    }
}
