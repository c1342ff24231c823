//! One file of the state directory: versioned, checksummed, replaced in one step, and there twice.
//!
//! ```text
//! NAME        "fingerpost state 1\n" │ SHA-256 of the rest, 32 octets │ content
//! NAME.copy   the same
//! ```
//!
//! A reader gets the old content or the new one, never a mixture: the new one is written to a file aside,
//! synced and renamed, first as `NAME` and then as `NAME.copy`. So one damaged file loses nothing. What fails
//! its checksum is an error here; the caller sets it aside.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use ring::digest::{Context, SHA256};

use super::private;

const HEADER: &[u8] = b"fingerpost state 1\n";
const CHECKSUM: usize = 32;

/// The SHA-256 of a content.
pub(super) type Checksum = [u8; CHECKSUM];
/// The ending of a file that is not finished.
pub(super) const ASIDE: &str = "new";
/// The ending of the second copy of a file.
pub(super) const COPY: &str = "copy";

/// Why a file of the state is not what was written.
#[derive(Debug, thiserror::Error)]
pub(super) enum SealError {
    /// The file system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Another version wrote it, or something else did.
    #[error("it was not written by this version of fingerpost")]
    Version,
    /// It is torn or was changed.
    #[error("its checksum does not match: it is torn or was changed")]
    Checksum,
}

/// The checksum of a content that comes in parts.
pub(super) fn checksum(parts: &[&[u8]]) -> Checksum {
    let mut context = Context::new(&SHA256);
    parts.iter().for_each(|part| context.update(part));
    let mut checksum = [0; CHECKSUM];
    checksum.copy_from_slice(context.finish().as_ref());
    checksum
}

/// The content of a file, and its checksum; `size` is how long the file is thought to be.
fn unseal(mut file: impl Read, size: usize) -> Result<(Checksum, Vec<u8>), SealError> {
    let mut header = [0; HEADER.len()];
    read_all(&mut file, &mut header)?;
    if header != HEADER {
        return Err(SealError::Version);
    }
    let mut expected = [0; CHECKSUM];
    read_all(&mut file, &mut expected)?;
    // Exactly so much room that a large content is read into the place where it stays.
    let mut content = Vec::with_capacity(size.saturating_sub(HEADER.len() + CHECKSUM));
    file.read_to_end(&mut content)?;
    if checksum(&[&content]) == expected { Ok((expected, content)) } else { Err(SealError::Checksum) }
}

fn read_all(file: &mut impl Read, out: &mut [u8]) -> Result<(), SealError> {
    file.read_exact(out).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => SealError::Checksum,
        _ => error.into(),
    })
}

/// The second copy of a file.
pub(super) fn copy_of(path: &Path) -> PathBuf {
    path.with_extension(COPY)
}

/// Reads and checks one of the two copies; `None` when it is missing.
pub(super) fn read_one(path: &Path) -> Result<Option<(Checksum, Vec<u8>)>, SealError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let size = usize::try_from(file.metadata()?.len()).unwrap_or_default();
    unseal(file, size).map(Some)
}

/// The first copy that checks out; `None` when there is none, an error when both are damaged.
pub(super) fn read(path: &Path) -> Result<Option<Vec<u8>>, SealError> {
    match read_one(path) {
        Ok(Some((_, content))) => Ok(Some(content)),
        first => match (first, read_one(&copy_of(path))) {
            (_, Ok(Some((_, content)))) => Ok(Some(content)),
            (Err(error), _) | (_, Err(error)) => Err(error),
            _ => Ok(None),
        },
    }
}

/// Replaces both copies; the directory still has to be synced. Writes nothing when both hold this content
/// already, and reports whether it wrote.
pub(super) fn write(path: &Path, content: &[u8]) -> io::Result<bool> {
    let holds = |path: &Path| {
        read_one(path).is_ok_and(|found| found.is_some_and(|(_, standing)| standing == content))
    };
    if holds(path) && holds(&copy_of(path)) {
        return Ok(false);
    }
    replace(path, &checksum(&[content]), &[content])?;
    Ok(true)
}

/// Whether both copies of a file are there, whatever they hold.
pub(super) fn exists(path: &Path) -> bool {
    path.exists() && copy_of(path).exists()
}

/// Replaces both copies, each in one step, by a content that comes in parts and has this checksum; the
/// directory still has to be synced.
pub(super) fn replace(path: &Path, checksum: &Checksum, parts: &[&[u8]]) -> io::Result<()> {
    let seal = [HEADER, checksum].concat();
    let parts: Vec<&[u8]> = std::iter::once(&seal[..]).chain(parts.iter().copied()).collect();
    replace_one(path, &parts)?;
    replace_one(&copy_of(path), &parts)
}

/// Replaces one file in one step. On a full disk the unfinished file is removed.
pub(super) fn replace_one(path: &Path, parts: &[&[u8]]) -> io::Result<()> {
    let aside = path.with_extension(ASIDE);
    let written = write_synced(&aside, parts).and_then(|()| fs::rename(&aside, path));
    if written.is_err() {
        // It may never have been there.
        let _ = fs::remove_file(&aside);
    }
    written
}

fn write_synced(path: &Path, parts: &[&[u8]]) -> io::Result<()> {
    let mut file = private::create(path)?;
    parts.iter().try_for_each(|part| file.write_all(part))?;
    file.sync_all()
}

/// Removes both copies.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    [copy_of(path), path.to_owned()].iter().try_for_each(|path| match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    })
}

/// Replaces the copy that is damaged, missing or older by the other one. A damaged file is set aside first, and
/// given back. Where neither copy checks out nothing is done.
pub(super) fn repair(path: &Path) -> io::Result<Option<PathBuf>> {
    let copy = copy_of(path);
    let (first, second) = (read_one(path), read_one(&copy));
    let (good, other, content, found) = match (first, second) {
        (Ok(Some((_, first))), Ok(Some((_, second)))) if first == second => return Ok(None),
        (Ok(Some((checksum, content))), other) => (checksum, copy, content, other),
        (other, Ok(Some((checksum, content)))) => (checksum, path.to_owned(), content, other),
        _ => return Ok(None),
    };
    let damaged = match found {
        Err(SealError::Io(error)) => return Err(error),
        Err(_) => Some(set_aside(&other)?),
        Ok(_) => None,
    };
    replace_one(&other, &[HEADER, &good, &content])?;
    Ok(damaged)
}

/// The files in a folder, each by its first copy, whichever of the two copies is there.
pub(super) fn files_in(folder: &Path) -> BTreeSet<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    // Another ending marks a file that is unfinished or set aside.
    let is_copy = |path: &PathBuf| path.extension().is_none_or(|ending| ending == COPY);
    entries.filter(is_copy).map(|path| path.with_extension("")).filter(|path| !path.is_dir()).collect()
}

/// Moves an unreadable file out of the way, under a name that is free, so that a person can look.
pub(super) fn set_aside(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let free = (1u32..).map(|n| path.with_file_name(format!("{name}.bad-{n}"))).find(|to| !to.exists());
    let to = free.ok_or_else(|| io::Error::other("no free name"))?;
    fs::rename(path, &to)?;
    Ok(to)
}

/// Makes renames in a directory last.
pub(super) fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn seal(content: &[u8]) -> Vec<u8> {
        [HEADER, &checksum(&[content]), content].concat()
    }

    fn unseal(octets: &[u8]) -> Result<Vec<u8>, SealError> {
        super::unseal(octets, octets.len()).map(|(_, content)| content)
    }

    #[test]
    fn a_file_torn_at_any_byte_is_refused() {
        let sealed = seal(b"some content");
        assert_eq!(unseal(&sealed).unwrap(), b"some content");
        for length in 0..sealed.len() {
            assert!(unseal(&sealed[..length]).is_err(), "torn after {length} octets");
        }
    }

    #[test]
    fn a_changed_bit_anywhere_is_refused() {
        let sealed = seal(b"some content");
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert!(unseal(&changed).is_err(), "changed at {at}");
        }
    }

    #[test]
    fn another_version_is_told_apart_from_damage() {
        let other = [b"fingerpost state 2\n", &[0; 40][..]].concat();
        assert!(matches!(unseal(&other), Err(SealError::Version)));
    }

    #[test]
    fn the_same_content_is_not_written_twice() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("serials");
        assert!(write(&path, b"one").unwrap());
        assert!(!write(&path, b"one").unwrap());
        assert!(write(&path, b"two").unwrap());
        assert_eq!(read(&path).unwrap().unwrap(), b"two");
    }

    #[test]
    fn one_damaged_octet_in_either_copy_loses_nothing_and_is_repaired() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("serials");
        write(&path, b"some content").unwrap();
        let whole = fs::read(&path).unwrap();
        for damaged in [path.clone(), copy_of(&path)] {
            for at in 0..whole.len() {
                let mut changed = whole.clone();
                changed[at] ^= 1 << (at % 8);
                fs::write(&damaged, &changed).unwrap();
                assert_eq!(read(&path).unwrap().unwrap(), b"some content", "octet {at}");
                let aside = repair(&path).unwrap().unwrap();
                assert_eq!(fs::read(&aside).unwrap(), changed);
                fs::remove_file(aside).unwrap();
                assert_eq!(fs::read(&damaged).unwrap(), whole);
            }
            fs::remove_file(&damaged).unwrap();
            assert_eq!(read(&path).unwrap().unwrap(), b"some content");
            assert_eq!(repair(&path).unwrap(), None, "a file that is missing is not set aside");
            assert_eq!(fs::read(&damaged).unwrap(), whole);
        }
    }

    #[test]
    fn two_damaged_copies_are_an_error_and_stay_for_people() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("serials");
        write(&path, b"some content").unwrap();
        for damaged in [path.clone(), copy_of(&path)] {
            fs::write(&damaged, "torn").unwrap();
        }
        assert!(read(&path).is_err());
        assert_eq!(repair(&path).unwrap(), None);
        assert!(exists(&path));
    }

    #[test]
    fn a_crash_between_the_two_copies_leaves_the_newer_content() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("serials");
        write(&path, b"one").unwrap();
        let old = fs::read(copy_of(&path)).unwrap();
        write(&path, b"two").unwrap();
        fs::write(copy_of(&path), old).unwrap();
        assert_eq!(read(&path).unwrap().unwrap(), b"two");
        assert_eq!(repair(&path).unwrap(), None);
        assert_eq!(fs::read(copy_of(&path)).unwrap(), fs::read(&path).unwrap());
    }

    #[test]
    fn files_are_for_their_owner_alone() {
        use std::os::unix::fs::MetadataExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("serials");
        write(&path, b"one").unwrap();
        for path in [path.clone(), copy_of(&path)] {
            assert_eq!(fs::metadata(path).unwrap().mode() & 0o777, 0o600);
        }
    }
}
