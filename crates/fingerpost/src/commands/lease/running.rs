//! The command that runs, in a process group of its own.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::sync::watch;

/// Where the command finds the generation of its lease.
const GENERATION: &str = "FINGERPOST_LEASE_GENERATION";

/// A command that runs; it is killed when this goes.
pub(super) struct Running {
    group: Option<Pid>,
    status: watch::Receiver<Option<u8>>,
}

impl Running {
    pub(super) fn start(command: &[String], generation: u64) -> Result<Running> {
        let (program, arguments) = command.split_first().context("there is no command")?;
        let mut command = Command::new(program);
        command.args(arguments).env(GENERATION, generation.to_string()).process_group(0);
        let mut child = command.spawn().with_context(|| format!("cannot run {program}"))?;
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let (ended, status) = watch::channel(None);
        std::thread::spawn(move || {
            let code = child.wait().map_or(1, code);
            // Nobody may wait for it any more.
            let _ = ended.send(Some(code));
        });
        Ok(Running { group, status })
    }

    /// Waits for the command to end; its exit code as a shell tells it.
    pub(super) async fn ended(&mut self) -> Result<u8> {
        let code = self.status.wait_for(Option::is_some).await.context("cannot wait for the command")?;
        Ok(code.unwrap_or(1))
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
        // The number of a group that has ended may be another's by now.
        if self.status.borrow().is_none() {
            self.kill();
        }
    }
}

fn code(status: ExitStatus) -> u8 {
    let signal = || status.signal().map(|signal| signal.saturating_add(128));
    let code = status.code().or_else(signal).unwrap_or(1);
    u8::try_from(code).unwrap_or(1)
}
