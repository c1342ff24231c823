//! Steps with their time, and the summary at the end.
//!
//! A failed step does not hide what the later ones would have said: all of them run, and the summary
//! names the command to repeat for each that failed.

use std::fmt::Write;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::cargo;

/// The steps that have run.
#[derive(Default)]
pub(crate) struct Steps {
    finished: Vec<Finished>,
}

struct Finished {
    name: String,
    took: Duration,
    failure: Option<Failure>,
}

struct Failure {
    reason: String,
    by_hand: String,
}

impl Steps {
    /// Runs a command as one step, its output shown as it comes.
    pub(crate) fn command(&mut self, name: &str, command: Command) {
        let by_hand = cargo::line(&command);
        self.check(name, &by_hand, || cargo::run(command));
    }

    /// Runs a function as one step; `by_hand` is the command that repeats it.
    pub(crate) fn check(&mut self, name: &str, by_hand: &str, step: impl FnOnce() -> Result<()>) {
        println!("\n=== {name}: {by_hand}");
        let start = Instant::now();
        let failure =
            step().err().map(|error| Failure { reason: format!("{error:#}"), by_hand: by_hand.to_owned() });
        let finished = Finished { name: name.to_owned(), took: start.elapsed(), failure };
        println!("=== {}", finished.line());
        self.finished.push(finished);
    }

    /// Prints the summary and fails when a step did.
    pub(crate) fn finish(self) -> Result<()> {
        println!("\n{}", self.summary());
        match self.finished.iter().filter(|step| step.failure.is_some()).count() {
            0 => Ok(()),
            failed => bail!("{failed} of {} steps failed", self.finished.len()),
        }
    }

    fn summary(&self) -> String {
        let mut text = String::from("Summary\n");
        for step in &self.finished {
            let _ = writeln!(text, "  {}", step.line());
            if let Some(failure) = &step.failure {
                let _ = writeln!(text, "      {}\n      to repeat: {}", failure.reason, failure.by_hand);
            }
        }
        let total: Duration = self.finished.iter().map(|step| step.took).sum();
        let _ = write!(text, "  {:.1} s in all", total.as_secs_f64());
        text
    }
}

impl Finished {
    fn line(&self) -> String {
        let verdict = if self.failure.is_some() { "FAILED" } else { "ok" };
        format!("{:<16} {:>7.1} s  {verdict}", self.name, self.took.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_step_names_its_command_and_the_later_ones_still_run() {
        let mut steps = Steps::default();
        let mut ran = false;
        steps.check("first", "make first", || bail!("no flour"));
        steps.check("second", "make second", || {
            ran = true;
            Ok(())
        });
        let summary = steps.summary();
        assert!(ran);
        assert!(summary.contains("no flour") && summary.contains("to repeat: make first"), "{summary}");
        assert!(!summary.contains("make second"), "{summary}");
        assert_eq!(steps.finish().unwrap_err().to_string(), "1 of 2 steps failed");
    }
}
