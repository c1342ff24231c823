//! One file of the state directory: versioned, checksummed, replaced in one step.
//!
//! ```text
//! "fingerpost state 1\n" │ SHA-256 of the rest, 32 octets │ content
//! ```
//!
//! A reader sees the old content or the new one, never a mixture: the new one is written aside,
//! synced and renamed. What does not check out is an error here, and set aside by the caller.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ring::digest::{SHA256, digest};

const HEADER: &[u8] = b"fingerpost state 1\n";
const CHECKSUM: usize = 32;
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

/// The content as it stands in a file.
pub(super) fn seal(content: &[u8]) -> Vec<u8> {
    [HEADER, digest(&SHA256, content).as_ref(), content].concat()
}

/// The content of a file as [`seal`] wrote it.
pub(super) fn unseal(bytes: &[u8]) -> Result<&[u8], SealError> {
    let (Some(header), Some(rest)) = (bytes.get(..HEADER.len()), bytes.get(HEADER.len()..)) else {
        return Err(SealError::Checksum);
    };
    if header != HEADER {
        return Err(SealError::Version);
    }
    let (checksum, content) = rest.split_at_checked(CHECKSUM).ok_or(SealError::Checksum)?;
    if digest(&SHA256, content).as_ref() == checksum { Ok(content) } else { Err(SealError::Checksum) }
}

/// Reads and checks a file; `None` when there is none.
pub(super) fn read(path: &Path) -> Result<Option<Vec<u8>>, SealError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(unseal(&bytes)?.to_vec())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Replaces a file in one step; the directory still has to be synced. Writes nothing when the
/// file holds this content already, and says whether it wrote.
pub(super) fn write(path: &Path, content: &[u8]) -> io::Result<bool> {
    let sealed = seal(content);
    if fs::read(path).is_ok_and(|standing| standing == sealed) {
        return Ok(false);
    }
    let aside = path.with_extension(ASIDE);
    let mut file = File::create(&aside)?;
    file.write_all(&sealed)?;
    file.sync_all()?;
    fs::rename(&aside, path)?;
    Ok(true)
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
