//! The text of a file that nobody is writing at the moment.

use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use super::bounds;
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

/// A file, and how much of it is read at most.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted<'a> {
    /// The folder that it is in; a link that leads out of it is refused.
    pub(super) root: &'a Path,
    /// Its path, the folder's included.
    pub(super) path: &'a Path,
    /// The most octets that it may have.
    pub(super) most: u64,
}

/// Reads a file that is the same before and after.
pub(super) fn read(wanted: Wanted<'_>) -> Result<(Stamp, String), Unread> {
    attempt(|| {
        let mut text = String::new();
        let stamp = stamped(wanted, |file| file.read_to_string(&mut text).map(drop))?;
        Ok(stamp.map(|stamp| (stamp, text)))
    })
}

/// Reads a file part by part, once; `None` where it changed meanwhile, and what was read is to be
/// forgotten.
pub(super) fn read_parts(wanted: Wanted<'_>, take: &mut dyn FnMut(&[u8])) -> io::Result<Option<Stamp>> {
    let mut part = vec![0; PART];
    stamped(wanted, |file| {
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

/// The file may be replaced as well as written to, so the metadata afterwards is that of the path, not of
/// the handle.
fn stamped(
    wanted: Wanted<'_>,
    read: impl FnOnce(&mut dyn Read) -> io::Result<()>,
) -> io::Result<Option<Stamp>> {
    let file = bounds::open(wanted.root, wanted.path, wanted.most)?;
    let before = Stamp::of(&file.metadata()?);
    read(&mut bounds::bounded(file, wanted.most))?;
    let after = Stamp::of(&fs::metadata(wanted.path)?);
    Ok((before == after).then_some(after))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use super::*;
    use std::io::Write;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    fn whole(path: &Path) -> Wanted<'_> {
        Wanted { root: path.parent().unwrap(), path, most: 1 << 20 }
    }

    #[test]
    fn a_file_that_is_too_large_or_no_regular_file_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.yaml");
        fs::write(&path, "abcd").unwrap();
        assert_eq!(read(Wanted { most: 4, ..whole(&path) }).unwrap().1, "abcd");
        let refused = |wanted| match read(wanted) {
            Err(Unread::Unreadable(why)) => why,
            other => panic!("{other:?}"),
        };
        assert!(refused(Wanted { most: 3, ..whole(&path) }).contains("divide it"));
        let fifo = folder.path().join("b.yaml");
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        assert!(refused(whole(&fifo)).contains("not a regular file"));
        assert!(refused(whole(folder.path())).contains("not a regular file"));
        // A file without a length, such as those of /proc, is bounded as it is read.
        let endless = bounds::bounded(fs::File::open("/dev/zero").unwrap(), 1 << 20);
        assert!(endless.take(2 << 20).read_to_end(&mut Vec::new()).is_err());
        let link = folder.path().join("c.yaml");
        std::os::unix::fs::symlink("/etc/hostname", &link).unwrap();
        assert!(refused(whole(&link)).contains("leads out of the folder"));
    }

    #[test]
    fn a_quiet_file_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.yaml");
        fs::write(&path, "a: 1").unwrap();
        assert_eq!(read(whole(&path)).unwrap().1, "a: 1");
    }

    #[test]
    fn a_file_that_is_not_text_or_not_there_says_why() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.yaml");
        assert!(matches!(read(whole(&path)), Err(Unread::Unreadable(why)) if why.contains("No such file")));
        fs::write(&path, [0xff, 0xfe]).unwrap();
        assert!(matches!(read(whole(&path)), Err(Unread::Unreadable(why)) if why.contains("UTF-8")));
    }

    #[test]
    fn a_file_that_changes_between_its_parts_does_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("a.zone"), folder.path().join("b.zone"));
        fs::write(&path, "one").unwrap();
        assert!(read_parts(whole(&path), &mut |_| {}).unwrap().is_some());
        let written = read_parts(whole(&path), &mut |_| fs::write(&path, "longer").unwrap());
        assert_eq!(written.unwrap(), None);
        fs::write(&path, "one").unwrap();
        let replaced = read_parts(whole(&path), &mut |_| {
            fs::write(&other, "two").unwrap();
            fs::rename(&other, &path).unwrap();
        });
        assert_eq!(replaced.unwrap(), None);
        assert!(read_parts(whole(&path), &mut |_| drop(fs::remove_file(&path))).is_err());
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
                    (0..1000).for_each(|_| file.write_all(b"x").unwrap());
                    sleep(PAUSE);
                }
            }
        });
        // The writer rests now and then, so that some readings find a file that does not grow.
        let (mut whole_texts, mut whole_parts) = (0, 0);
        for _ in 0..10_000 {
            if whole_texts > 0 && whole_parts > 0 {
                break;
            }
            if let Ok((stamp, text)) = read(whole(&path)) {
                assert_eq!(stamp.size(), text.len() as u64);
                whole_texts += 1;
            }
            let mut length = 0;
            if let Some(stamp) = read_parts(whole(&path), &mut |part| length += part.len() as u64).unwrap() {
                assert_eq!(stamp.size(), length);
                whole_parts += 1;
            }
        }
        stop.store(true, Ordering::Relaxed);
        writer.join().unwrap();
        assert!(whole_texts > 0 && whole_parts > 0, "{whole_texts} texts and {whole_parts} parts were read");
    }
}
