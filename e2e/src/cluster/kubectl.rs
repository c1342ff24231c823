//! `kubectl`, as a user calls it.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, bail};

use super::{Cluster, commands};

/// What a command said and how it ended.
#[derive(Clone, Debug)]
pub struct Said {
    /// The command, for messages.
    pub command: String,
    /// Whether it ended well.
    pub well: bool,
    /// What it printed.
    pub output: String,
    /// What it complained about.
    pub complaint: String,
}

impl Said {
    /// What it printed, where it ended well.
    pub fn success(self) -> Result<String> {
        if !self.well {
            bail!("`{}` failed: {}{}", self.command, self.output, self.complaint);
        }
        Ok(self.output)
    }

    /// What it complained about, where it did not.
    pub fn failure(self) -> Result<String> {
        if self.well {
            bail!("`{}` should have failed, but said: {}", self.command, self.output);
        }
        Ok(self.complaint)
    }

    pub(crate) fn new(command: String, output: &Output) -> Said {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (printed, complaint) = (text(&output.stdout), text(&output.stderr));
        Said { command, well: output.status.success(), output: printed, complaint }
    }
}

impl Cluster {
    /// Runs `kubectl` as one of the users.
    pub fn kubectl(&self, user: &str, arguments: &[&str]) -> Result<Said> {
        self.kubectl_with(user, arguments, "")
    }

    /// Runs `kubectl` as one of the users, with this on its standard input.
    pub fn kubectl_with(&self, user: &str, arguments: &[&str], input: &str) -> Result<Said> {
        let mut command = self.kubectl_command(user)?;
        let mut child = command.args(arguments).spawn().context("cannot start kubectl")?;
        // It may end without reading; then what it says matters more than that.
        let _ = child.stdin.take().context("kubectl has no input")?.write_all(input.as_bytes());
        let output = child.wait_with_output().context("cannot wait for kubectl")?;
        Ok(Said::new(format!("kubectl {}", arguments.join(" ")), &output))
    }

    /// `kubectl` as one of the users, to be given arguments; everything else is set.
    pub fn kubectl_command(&self, user: &str) -> Result<Command> {
        let mut command = Command::new(commands::program("kubectl")?);
        command.env("KUBECONFIG", self.kubeconfig(user)?);
        // Its caches lie in the home directory, and what it found elsewhere is of no use here.
        command.env("HOME", self.folder());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(command)
    }

    /// Applies manifests as the administrator does, with plain `kubectl apply -f -`.
    pub fn apply(&self, manifests: &str) -> Result<()> {
        self.kubectl_with("admin", &["apply", "-f", "-"], manifests)?.success().map(drop)
    }
}
