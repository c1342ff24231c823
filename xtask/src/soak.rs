//! `cargo xtask soak`: hostile packets in numbers for which a test has no time.

use std::process::Command;

use anyhow::Result;

use crate::cargo::{self, cargo};

/// Sends so many hostile packets to `up` and compares its memory before and after.
pub(crate) fn run(packets: u64) -> Result<()> {
    cargo::run(cargo(&["build", "--release", "--package", "fingerpost"]))?;
    cargo::run(test(packets))
}

fn test(packets: u64) -> Command {
    let mut command = cargo(&["test", "--release", "--package", "e2e", "--test", "e2e", "--"]);
    command.args(["hostile::hostile_packets_leave_nothing_behind", "--exact", "--nocapture"]);
    command.env("FINGERPOST_HOSTILE_PACKETS", packets.to_string());
    command
}
