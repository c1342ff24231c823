//! The log, on standard error: for people or for machines.

use std::io::{self, IsTerminal, Write, stderr};

use dns::without_passwords;
use tracing_subscriber::EnvFilter;

use crate::cli::{LogFormat, MessageArguments};

/// Starts the log. A flag says what is in it, else `RUST_LOG` does, else `level`.
pub(super) fn start(level: &str, messages: &MessageArguments) {
    let filter = match flagged(messages) {
        Some(level) => level.into(),
        None => EnvFilter::try_from_default_env().unwrap_or_else(|_| level.into()),
    };
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(|| WithoutPasswords(stderr()))
        .with_ansi(stderr().is_terminal());
    // Logging can be set up once; where it is already, that one does.
    let _ = match messages.log_format {
        LogFormat::Text => log.try_init(),
        LogFormat::Json => log.json().try_init(),
    };
}

fn flagged(messages: &MessageArguments) -> Option<&'static str> {
    match messages {
        MessageArguments { quiet: true, .. } => Some("error"),
        MessageArguments { verbose: true, .. } => Some("debug"),
        _ => None,
    }
}

/// Hides the passwords of URLs in what is written. The log writes one whole event at a time.
struct WithoutPasswords<W>(W);

impl<W: Write> Write for WithoutPasswords<W> {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        match std::str::from_utf8(octets) {
            Ok(text) => self.0.write_all(without_passwords(text).as_bytes())?,
            Err(_) => self.0.write_all(octets)?,
        }
        Ok(octets.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_log_line_has_no_password() {
        let mut out = WithoutPasswords(Vec::new());
        out.write_all(b"WARN cannot ask url=\"http://u:secret@h:1/x\" error=refused\n").unwrap();
        assert_eq!(out.0, b"WARN cannot ask url=\"http://***@h:1/x\" error=refused\n");
    }
}
