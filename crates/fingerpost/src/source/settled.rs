//! The text of a file that nobody is writing at the moment.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use super::walk::Stamp;

const ATTEMPTS: u32 = 4;
const PAUSE: Duration = Duration::from_millis(2);

/// Why there is no text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unread {
    /// The file changed while it was read, again and again.
    Unsettled,
    /// It cannot be read, and why.
    Unreadable(String),
}

/// Reads a file that is the same before and after.
pub(super) fn read(path: &Path) -> Result<(Stamp, String), Unread> {
    for attempt in 0..ATTEMPTS {
        if attempt > 0 {
            sleep(PAUSE);
        }
        if let Some(read) = read_once(path).map_err(|error| Unread::Unreadable(error.to_string()))? {
            return Ok(read);
        }
    }
    Err(Unread::Unsettled)
}

/// The file may be replaced as well as written to, so the path is asked again, not the handle.
fn read_once(path: &Path) -> std::io::Result<Option<(Stamp, String)>> {
    let mut file = File::open(path)?;
    let before = Stamp::of(&file.metadata()?);
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    let after = Stamp::of(&fs::metadata(path)?);
    Ok((before == after).then_some((after, text)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use std::io::Write;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn a_quiet_file_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.yaml");
        fs::write(&path, "a: 1").unwrap();
        assert_eq!(read(&path).unwrap().1, "a: 1");
    }

    #[test]
    fn a_file_that_is_not_text_or_not_there_says_why() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.yaml");
        assert!(matches!(read(&path), Err(Unread::Unreadable(why)) if why.contains("No such file")));
        fs::write(&path, [0xff, 0xfe]).unwrap();
        assert!(matches!(read(&path), Err(Unread::Unreadable(why)) if why.contains("UTF-8")));
    }

    #[test]
    fn a_file_that_grows_is_never_read_in_part() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.yaml");
        fs::write(&path, "").unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let writer = std::thread::spawn({
            let (path, stop) = (path.clone(), stop.clone());
            move || {
                let mut file = fs::OpenOptions::new().append(true).open(path).unwrap();
                while !stop.load(Ordering::Relaxed) {
                    file.write_all(b"x").unwrap();
                }
            }
        });
        for _ in 0..20 {
            if let Ok((stamp, text)) = read(&path) {
                assert_eq!(stamp.size(), text.len() as u64);
            }
        }
        stop.store(true, Ordering::Relaxed);
        writer.join().unwrap();
    }
}
