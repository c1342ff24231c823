//! The nonces of writes, kept over a restart, so that none of the last minutes can be replayed after it.
//!
//! ```text
//! nonces.NUMBER   the writes of ten minutes, one line each: timestamp, a space, nonce
//! ```
//!
//! They are handed to the system before the write is made, and not waited for: a process that is killed loses
//! none, a machine that loses power may lose the last ones. Reads are not kept, since replaying one changes nothing.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use backends::webhook::WINDOW;

use crate::state::private;

/// How many seconds go into a file: no nonce counts for longer.
const PERIOD: i64 = 2 * WINDOW;
const NAME: &str = "nonces.";

/// The files of nonces in a folder.
pub struct KeptNonces {
    folder: PathBuf,
    current: Mutex<Option<(i64, File)>>,
}

impl KeptNonces {
    /// The files in this folder.
    pub fn new(folder: &Path) -> KeptNonces {
        KeptNonces { folder: folder.to_owned(), current: Mutex::default() }
    }

    /// What was kept, with the seconds of each timestamp.
    pub fn load(&self) -> io::Result<Vec<(i64, String)>> {
        let mut found = Vec::new();
        for path in self.files()? {
            let octets = fs::read(path)?;
            found.extend(String::from_utf8_lossy(&octets).lines().filter_map(parsed));
        }
        Ok(found)
    }

    /// Keeps a nonce; the times are seconds since 1970.
    pub fn keep(&self, nonce: &str, timestamp: i64, now: i64) -> io::Result<()> {
        let period = now.div_euclid(PERIOD);
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let file = match current.take() {
            Some((open, file)) if open == period => file,
            _ => self.begin(period)?,
        };
        let (_, file) = current.insert((period, file));
        // A line that a crash tore off must not swallow the next one.
        file.write_all(format!("\n{timestamp} {nonce}\n").as_bytes())
    }

    /// Opens the file of a period; those before the last one hold nothing that still counts.
    fn begin(&self, period: i64) -> io::Result<File> {
        for path in self.files()? {
            if number(&path).is_some_and(|number| number < period - 1) {
                fs::remove_file(path)?;
            }
        }
        private::append(&self.folder.join(format!("{NAME}{period}")))
    }

    fn files(&self) -> io::Result<Vec<PathBuf>> {
        let paths =
            fs::read_dir(&self.folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
        Ok(paths.into_iter().filter(|path| number(path).is_some()).collect())
    }
}

fn number(path: &Path) -> Option<i64> {
    path.file_name()?.to_str()?.strip_prefix(NAME)?.parse().ok()
}

fn parsed(line: &str) -> Option<(i64, String)> {
    let (timestamp, nonce) = line.split_once(' ')?;
    Some((timestamp.parse().ok()?, nonce.to_owned()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;

    #[test]
    fn what_was_kept_is_there_after_a_restart_and_the_files_do_not_pile_up() {
        let folder = tempfile::tempdir().unwrap();
        let kept = KeptNonces::new(folder.path());
        let start = 100 * PERIOD;
        kept.keep("one", start, start).unwrap();
        let again = KeptNonces::new(folder.path());
        again.keep("two", start + 10, start + 10).unwrap();
        let expected = [(start, "one".to_owned()), (start + 10, "two".to_owned())];
        assert_eq!(again.load().unwrap(), expected);
        again.keep("three", start + PERIOD, start + PERIOD).unwrap();
        assert_eq!(again.load().unwrap().len(), 3);
        again.keep("four", start + 2 * PERIOD, start + 2 * PERIOD).unwrap();
        let left: Vec<String> = again.load().unwrap().into_iter().map(|(_, nonce)| nonce).collect();
        assert_eq!(left.len(), 2, "{left:?}");
    }

    #[test]
    fn a_torn_line_costs_itself_alone() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("nonces.100"), "\n60000 one\n\n600").unwrap();
        let kept = KeptNonces::new(folder.path());
        kept.keep("two", 60_001, 100 * PERIOD).unwrap();
        assert_eq!(kept.load().unwrap(), [(60_000, "one".to_owned()), (60_001, "two".to_owned())]);
    }
}
