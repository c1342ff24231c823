//! The real binary: every command, every exit code, and what it says about bad input.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "commands/bad_input.rs"]
mod bad_input;
#[path = "commands/changes.rs"]
mod changes;
#[path = "commands/check.rs"]
mod check;
#[path = "commands/explain.rs"]
mod explain;
#[path = "commands/explained.rs"]
mod explained;
#[path = "commands/folder.rs"]
mod folder;
#[path = "commands/golden.rs"]
mod golden;
#[path = "commands/help.rs"]
mod help;
#[path = "commands/holders.rs"]
mod holders;
#[path = "commands/import.rs"]
mod import;
#[path = "commands/in_force.rs"]
mod in_force;
#[path = "commands/messages.rs"]
mod messages;
#[path = "commands/plan.rs"]
mod plan;
#[path = "commands/running.rs"]
mod running;
#[path = "commands/schema.rs"]
mod schema;
#[path = "commands/terminal.rs"]
mod terminal;
#[path = "commands/up.rs"]
mod up;
#[path = "commands/up_faults.rs"]
mod up_faults;

use std::path::Path;
use std::process::Command;

/// What a run printed, and its exit code.
struct Run {
    code: i32,
    stdout: String,
    stderr: String,
}

/// Runs the binary at the root of the workspace, so that paths in the output are the same everywhere.
fn fingerpost(arguments: &[&str]) -> Run {
    let output = command(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Run { code: output.status.code().unwrap(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("fingerpost"));
    command.args(arguments).current_dir(root()).env_remove("RUST_LOG").env_remove("NO_COLOR");
    command
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}
