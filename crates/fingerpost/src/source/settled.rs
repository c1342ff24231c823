//! The text of a file that nobody is writing at the moment.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use super::walk::Stamp;

const ATTEMPTS: u32 = 4;
const PAUSE: Duration = Duration::from_millis(2);
/// How much of a large file is in memory at a time.
const PART: usize = 256 << 10;

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
    attempt(|| {
        let mut text = String::new();
        let stamp = stamped(path, |file| file.read_to_string(&mut text).map(drop))?;
        Ok(stamp.map(|stamp| (stamp, text)))
    })
}

/// Reads a file part by part, once; `None` where it changed meanwhile, and what was read is to be
/// forgotten.
pub(super) fn read_parts(path: &Path, take: &mut dyn FnMut(&[u8])) -> io::Result<Option<Stamp>> {
    let mut part = vec![0; PART];
    stamped(path, |file| {
        loop {
            match file.read(&mut part) {
                Ok(0) => return Ok(()),
                Ok(length) => take(&part[..length]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    })
}

/// Tries again and again, for a little while, until the file is quiet.
pub(super) fn attempt<T>(mut once: impl FnMut() -> io::Result<Option<T>>) -> Result<T, Unread> {
    for attempt in 0..ATTEMPTS {
        if attempt > 0 {
            sleep(PAUSE);
        }
        if let Some(read) = once().map_err(|error| Unread::Unreadable(error.to_string()))? {
            return Ok(read);
        }
    }
    Err(Unread::Unsettled)
}

/// The file may be replaced as well as written to, so the path is asked again, not the handle.
fn stamped(path: &Path, read: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<Option<Stamp>> {
    let mut file = File::open(path)?;
    let before = Stamp::of(&file.metadata()?);
    read(&mut file)?;
    let after = Stamp::of(&fs::metadata(path)?);
    Ok((before == after).then_some(after))
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
    fn a_file_that_changes_between_its_parts_does_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("a.zone"), folder.path().join("b.zone"));
        fs::write(&path, "one").unwrap();
        assert!(read_parts(&path, &mut |_| {}).unwrap().is_some());
        let written = read_parts(&path, &mut |_| fs::write(&path, "longer").unwrap());
        assert_eq!(written.unwrap(), None);
        fs::write(&path, "one").unwrap();
        let replaced = read_parts(&path, &mut |_| {
            fs::write(&other, "two").unwrap();
            fs::rename(&other, &path).unwrap();
        });
        assert_eq!(replaced.unwrap(), None);
        assert!(read_parts(&path, &mut |_| drop(fs::remove_file(&path))).is_err());
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
            let mut length = 0;
            if let Some(stamp) = read_parts(&path, &mut |part| length += part.len() as u64).unwrap() {
                assert_eq!(stamp.size(), length);
            }
        }
        stop.store(true, Ordering::Relaxed);
        writer.join().unwrap();
    }
}
