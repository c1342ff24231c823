//! A line that says how far a row is, where somebody looks.

use std::io::{IsTerminal, Write};

/// A line that is written over.
pub(crate) struct Progress {
    what: &'static str,
    rounds: usize,
    is_seen: bool,
}

impl Progress {
    /// Says what begins.
    pub(crate) fn new(what: &'static str, rounds: usize) -> Progress {
        let is_seen = std::io::stderr().is_terminal();
        if !is_seen {
            eprintln!("{what}: {rounds} rounds");
        }
        Progress { what, rounds, is_seen }
    }

    /// Says which round begins.
    pub(crate) fn at(&self, round: usize) {
        if self.is_seen {
            eprint!("\r{}: round {} of {}  ", self.what, round + 1, self.rounds);
            let _ = std::io::stderr().flush();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_seen {
            eprint!("\r\x1b[K");
        }
    }
}
