//! A process that a test starts, and that never outlives the test.
//!
//! A destructor is not enough: it does not run for statics, nor when the test process itself is killed. So
//! every program starts with a small shell beside it that waits on a pipe from here:
//!
//! ```text
//! test process ──pipe──► shell: a line says "it has ended, go"; the pipe's end says "kill it"
//!       └──starts──► program
//! ```

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::patience::{eventually, wait_for, wait_for_within};

/// How long the output of an ended program is waited for: a process that it started may still hold the pipe.
const LAST_OUTPUT: Duration = Duration::from_secs(5);

/// Becomes the program, after it has left the watching shell behind.
const WATCHED: &str = "exec 3<&0 </dev/null
{ read -r ended <&3 || kill -9 $$; } >/dev/null 2>&1 &
exec 3<&-
exec \"$@\"";

/// A running program; it is killed when the value goes.
pub struct Process {
    name: String,
    child: Child,
    // Apart from the child, because waiting for a child closes its input first.
    pipe: Option<ChildStdin>,
    output: Arc<Mutex<String>>,
    readers: Vec<JoinHandle<()>>,
}

impl Process {
    /// Starts a program with its output collected; `name` is what errors call it.
    pub fn start(name: &str, command: &Command) -> Result<Process> {
        let mut child = watched(command).spawn().with_context(|| format!("cannot start {name}"))?;
        let output = Arc::new(Mutex::new(String::new()));
        let stdout = child.stdout.take().map(|stream| collect(stream, &output));
        let stderr = child.stderr.take().map(|stream| collect(stream, &output));
        let readers = stdout.into_iter().chain(stderr).collect();
        Ok(Process { name: name.to_owned(), pipe: child.stdin.take(), child, output, readers })
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Everything that it has printed.
    pub fn output(&self) -> String {
        self.output.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until it has printed this.
    pub fn wait_for_output(&self, text: &str) -> Result<()> {
        eventually(|| self.output().contains(text))
            .with_context(|| format!("{} never printed `{text}`, but:\n{}", self.name, self.output()))
    }

    /// Waits until a look succeeds; an end of the program is an end of the waiting.
    pub fn wait_until(&mut self, what: &str, mut holds: impl FnMut() -> bool) -> Result<()> {
        let mut ended = None;
        let waited = wait_for(what, || {
            ended = self.child.try_wait()?;
            Ok((ended.is_some() || holds()).then_some(()))
        });
        match (ended, waited) {
            (Some(status), _) => bail!("{} ended with {status}:\n{}", self.name, self.output()),
            (None, waited) => waited.with_context(|| format!("{} said:\n{}", self.name, self.output())),
        }
    }

    /// Whether it is still there.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Ends it as the kernel does, without a chance to tidy up.
    pub fn kill(&mut self) -> Result<()> {
        if self.is_running() {
            self.child.kill().with_context(|| format!("cannot kill {}", self.name))?;
        }
        self.reap().map(drop)
    }

    /// Asks it to end (SIGTERM), without waiting.
    pub fn terminate(&mut self) -> Result<()> {
        self.signal("TERM")
    }

    /// Stops it where it stands (SIGSTOP), as a machine does that swaps; [`Process::resume`] goes on.
    pub fn suspend(&mut self) -> Result<()> {
        self.signal("STOP")
    }

    /// Lets it go on after [`Process::suspend`].
    pub fn resume(&mut self) -> Result<()> {
        self.signal("CONT")
    }

    fn signal(&mut self, signal: &str) -> Result<()> {
        // An id that has been reaped may be another's by now.
        if !self.is_running() {
            bail!("{} has ended:\n{}", self.name, self.output());
        }
        let status = Command::new("sh").args(["-c", &format!("kill -{signal} {}", self.id())]).status()?;
        anyhow::ensure!(status.success(), "cannot send {signal} to {}", self.name);
        Ok(())
    }

    /// Waits for it to end by itself and returns its exit code; none where a signal ended it.
    pub fn wait_for_end(&mut self) -> Result<Option<i32>> {
        let ended = wait_for(&format!("{} to end", self.name), || Ok(self.child.try_wait()?));
        ended.with_context(|| self.output())?;
        Ok(self.reap()?.code())
    }

    fn reap(&mut self) -> Result<ExitStatus> {
        let status = self.child.wait()?;
        if let Some(mut pipe) = self.pipe.take() {
            // The shell may have gone already, with a signal to the whole group.
            let _ = pipe.write_all(b"ended\n");
            self.read_to_end();
        }
        Ok(status)
    }

    /// Waits until everything that the program printed has been read.
    fn read_to_end(&self) {
        let is_read = || self.readers.iter().all(JoinHandle::is_finished);
        // Where a process of the program's lives on, what has been read by then is all there is.
        let _ = wait_for_within(LAST_OUTPUT, "the output", || Ok(is_read().then_some(())));
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already; either way nothing is left to do.
        let _ = self.kill();
    }
}

/// The command as the shell starts it.
fn watched(command: &Command) -> Command {
    let mut watched = Command::new("sh");
    watched.args(["-c", WATCHED, "sh"]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => watched.env(name, value),
            None => watched.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        watched.current_dir(folder);
    }
    watched.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    watched
}

fn collect(stream: impl Read + Send + 'static, output: &Arc<Mutex<String>>) -> JoinHandle<()> {
    let output = output.clone();
    std::thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
            output.push_str(&line);
            output.push('\n');
        }
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;

    fn is_alive(id: u32) -> bool {
        let state = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        // A process that nobody has waited for yet is dead all the same.
        !state.is_empty() && !state.contains(") Z ")
    }

    fn sleep() -> Process {
        let mut command = Command::new("sleep");
        Process::start("sleep", command.arg("1000")).unwrap()
    }

    #[test]
    fn a_process_ends_when_its_test_process_is_gone() {
        let mut process = sleep();
        let id = process.id();
        assert!(is_alive(id));
        // What the kernel does with a dead process's pipes.
        drop(process.pipe.take());
        eventually(|| !is_alive(id)).unwrap();
    }

    #[test]
    fn a_process_ends_with_its_value() {
        let process = sleep();
        let id = process.id();
        drop(process);
        assert!(!is_alive(id));
    }

    #[test]
    fn an_ended_program_has_all_of_its_output() {
        for _ in 0..20 {
            let mut command = Command::new("seq");
            let mut process = Process::start("seq", command.arg("20000")).unwrap();
            assert_eq!(process.wait_for_end().unwrap(), Some(0));
            assert!(process.output().ends_with("\n20000\n"));
        }
    }

    #[test]
    fn the_program_itself_has_the_id_and_the_exit_code() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo $$; echo $WORD; trap 'exit 7' TERM; while :; do sleep 0.01; done"]);
        let mut process = Process::start("sh", command.env("WORD", "hello")).unwrap();
        process.wait_for_output(&format!("{}\nhello", process.id())).unwrap();
        process.terminate().unwrap();
        assert_eq!(process.wait_for_end().unwrap(), Some(7));
        assert!(process.terminate().is_err());
    }
}
