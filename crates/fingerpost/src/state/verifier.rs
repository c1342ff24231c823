//! Compares the two copies of every file in idle times, so that damage is repaired while the other copy is whole.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::{FOLDERS, Troubles, sealed};

/// How long the writer is idle after a start before files are compared.
const FIRST: Duration = Duration::from_secs(5);
/// How long after a comparison of all files the next one begins.
const EVERY: Duration = Duration::from_secs(6 * 60 * 60);
/// How many files are compared before the writer looks for work.
const FILES: usize = 32;

/// Which files are still to be compared, and when.
pub(super) struct Verifier {
    root: PathBuf,
    due: Instant,
    files: Vec<PathBuf>,
}

impl Verifier {
    pub(super) fn new(root: &Path) -> Verifier {
        Verifier { root: root.to_owned(), due: Instant::now() + FIRST, files: Vec::new() }
    }

    /// How long the writer waits for work before the next step.
    pub(super) fn pause(&self, now: Instant) -> Duration {
        if self.files.is_empty() { self.due.saturating_duration_since(now) } else { Duration::ZERO }
    }

    /// Compares some files. A disk that refuses a repair is asked again with the next comparison.
    pub(super) fn step(&mut self, troubles: &Troubles, now: Instant) {
        if self.files.is_empty() && now >= self.due {
            self.files = files(&self.root);
            self.due = now + EVERY;
        }
        for path in self.files.split_off(self.files.len().saturating_sub(FILES)) {
            match sealed::repair(&path) {
                Ok(Some(aside)) => troubles.add(format!(
                    "one of the two copies of {} was damaged: it is written again from the other, and kept as {}",
                    path.display(),
                    aside.display()
                )),
                Ok(None) => {}
                Err(error) => tracing::debug!("{} cannot be compared: {error}", path.display()),
            }
        }
    }
}

fn files(root: &Path) -> Vec<PathBuf> {
    let folders = FOLDERS.iter().map(|folder| root.join(folder));
    folders.chain([root.to_owned()]).flat_map(|folder| sealed::files_in(&folder)).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn every_damaged_copy_is_found_and_written_again() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("file")).unwrap();
        let paths: Vec<PathBuf> = (0..100).map(|n| folder.path().join(format!("file/{n}"))).collect();
        for path in &paths {
            sealed::write(path, b"content").unwrap();
            std::fs::write(sealed::copy_of(path), "damaged").unwrap();
        }
        let (troubles, start) = (Troubles::default(), Instant::now());
        let mut verifier = Verifier::new(folder.path());
        assert!(verifier.pause(start) > Duration::ZERO);
        let later = start + FIRST + Duration::from_secs(1);
        verifier.step(&troubles, later);
        while verifier.pause(later) == Duration::ZERO {
            verifier.step(&troubles, later);
        }
        assert_eq!(troubles.take().len(), 100);
        for path in &paths {
            assert_eq!(sealed::read_one(&sealed::copy_of(path)).unwrap().unwrap().1, b"content");
        }
    }
}
