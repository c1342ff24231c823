//! The floor as one of the servers.

use anyhow::Result;

use crate::rows::Row;
use crate::running::{self, Running, own_program};

/// What this program is called with to be the floor.
pub(crate) const ARGUMENT: &str = "echo";
/// What the table calls it.
pub(crate) const NAME: &str = "floor";

/// Starts it with answers of this length.
pub(crate) fn start(length: usize) -> Result<Running> {
    let listen = running::address()?;
    let mut command = own_program(ARGUMENT)?;
    command.args([listen.to_string(), length.to_string()]);
    Running::start(NAME, listen, &Row::ALL, &command, None)
}
