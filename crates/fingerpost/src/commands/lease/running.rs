//! The command that runs, in a process group of its own.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};

/// Where the command finds the generation of its lease.
const GENERATION: &str = "FINGERPOST_LEASE_GENERATION";

/// A command that runs; it is killed when this goes.
pub(super) struct Running {
    child: Child,
    group: Option<Pid>,
}

impl Running {
    pub(super) fn start(command: &[String], generation: u64) -> Result<Running> {
        let (program, arguments) = command.split_first().context("there is no command")?;
        let mut command = Command::new(program);
        command.args(arguments).env(GENERATION, generation.to_string());
        let child = command.process_group(0).kill_on_drop(true).spawn();
        let child = child.with_context(|| format!("cannot run {program}"))?;
        let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        Ok(Running { child, group })
    }

    /// Waits for the command to end by itself; its exit code as a shell tells it.
    pub(super) async fn ended(&mut self) -> Result<u8> {
        let status = self.child.wait().await.context("cannot wait for the command")?;
        Ok(code(status))
    }

    pub(super) fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    pub(super) fn kill(&self) {
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        // A group that has ended needs no signal.
        let _ = self.group.map(|group| kill_process_group(group, signal));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The group is ours until its first process was waited for and all others are gone.
        if self.child.id().is_some() {
            self.kill();
        }
    }
}

fn code(status: ExitStatus) -> u8 {
    let signal = || status.signal().map(|signal| signal.saturating_add(128));
    let code = status.code().or_else(signal).unwrap_or(1);
    u8::try_from(code).unwrap_or(1)
}
