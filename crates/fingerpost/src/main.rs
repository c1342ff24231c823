//! The `fingerpost` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    fingerpost::commands::run()
}
