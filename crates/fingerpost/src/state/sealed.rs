//! One file of the state directory: versioned, checksummed, replaced in one step.
//!
//! ```text
//! "fingerpost state 1\n" │ SHA-256 of the rest, 32 octets │ content
//! ```
//!
//! A reader sees the old content or the new one, never a mixture: the new one is written aside,
//! synced and renamed. What does not check out is an error here, and set aside by the caller.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use ring::digest::{Context, SHA256};

const HEADER: &[u8] = b"fingerpost state 1\n";
const CHECKSUM: usize = 32;

/// The SHA-256 of a content.
pub(super) type Checksum = [u8; CHECKSUM];
/// The ending of a file that is not finished.
pub(super) const ASIDE: &str = "new";

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

/// Reads and checks a file; `None` when there is none.
pub(super) fn read(path: &Path) -> Result<Option<Vec<u8>>, SealError> {
    Ok(read_with_checksum(path)?.map(|(_, content)| content))
}

/// As [`read`], and gives the checksum too.
pub(super) fn read_with_checksum(path: &Path) -> Result<Option<(Checksum, Vec<u8>)>, SealError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let size = usize::try_from(file.metadata()?.len()).unwrap_or_default();
    unseal(file, size).map(Some)
}

/// Replaces a file in one step; the directory still has to be synced. Writes nothing when the
/// file holds this content already, and says whether it wrote.
pub(super) fn write(path: &Path, content: &[u8]) -> io::Result<bool> {
    let standing = read(path);
    if standing.is_ok_and(|standing| standing.is_some_and(|standing| standing == content)) {
        return Ok(false);
    }
    replace(path, &checksum(&[content]), &[content])?;
    Ok(true)
}

/// Replaces a file in one step by a content that comes in parts and has this checksum; the directory
/// still has to be synced.
pub(super) fn replace(path: &Path, checksum: &Checksum, parts: &[&[u8]]) -> io::Result<()> {
    let aside = path.with_extension(ASIDE);
    let mut file = File::create(&aside)?;
    file.write_all(&[HEADER, checksum].concat())?;
    parts.iter().try_for_each(|part| file.write_all(part))?;
    file.sync_all()?;
    fs::rename(&aside, path)
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
}
