//! The log, on standard error: for people or for machines.

use std::io::{IsTerminal, stderr};

use tracing_subscriber::EnvFilter;

use crate::cli::LogFormat;

/// Starts the log; `RUST_LOG` says what is in it, else `level` does.
pub(super) fn start(level: &str, format: LogFormat) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| level.into());
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(stderr)
        .with_ansi(stderr().is_terminal());
    // Logging can be set up once; where it is already, that one does.
    let _ = match format {
        LogFormat::Text => log.try_init(),
        LogFormat::Json => log.json().try_init(),
    };
}
