//! What the folders may hold: bounds on files, directories and links, and the opening of a file within
//! them.
//!
//! Only regular files inside the folder are read. A link may lead to another place in the folder, as those
//! of a mounted ConfigMap do, and not out of it.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The most octets that a file of manifests may have.
pub(super) const MANIFESTS: u64 = 64 << 20;
/// The most octets that a zone file may have.
pub(super) const ZONE_FILE: u64 = 256 << 20;
/// The most octets that all files together may have that one zone file includes.
pub(super) const INCLUDED: u64 = 64 << 20;
/// How many directory entries a folder may have at all depths, hidden ones aside.
pub(super) const ENTRIES: usize = 1_000_000;
/// How many directories may be inside one another.
pub(super) const DEPTH: usize = 64;

/// The path of an entry without links; an error where a link leads out of the folder.
pub(super) fn real(root: &Path, path: &Path) -> io::Result<PathBuf> {
    let real = path.canonicalize()?;
    if real.starts_with(root.canonicalize()?) { Ok(real) } else { Err(io::Error::other(LEAVES)) }
}

/// Said of a link to a place outside of the folder.
pub(super) const LEAVES: &str =
    "its link leads out of the folder: put a copy inside, or name the other folder too";

/// Opens a regular file inside the folder that has no more than so many octets. A FIFO or a device is
/// refused and not waited for.
pub(super) fn open(root: &Path, path: &Path, most: u64) -> io::Result<File> {
    let path = real(root, path)?;
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    if metadata.len() > most { Err(too_large(most)) } else { Ok(file) }
}

/// Reads standard input, which is a file of manifests.
pub fn standard_input() -> io::Result<String> {
    let mut text = String::new();
    let mut input = io::stdin().lock().take(MANIFESTS + 1);
    input.read_to_string(&mut text)?;
    if text.len() as u64 > MANIFESTS { Err(too_large(MANIFESTS)) } else { Ok(text) }
}

/// A reader of the file that fails where there are more octets than that, whatever its metadata says.
pub(super) fn bounded(file: File, most: u64) -> impl Read {
    Bounded { file, left: most, most }
}

struct Bounded {
    file: File,
    left: u64,
    most: u64,
}

impl Read for Bounded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.file.read(buffer)?;
        self.left = self.left.checked_sub(length as u64).ok_or_else(|| too_large(self.most))?;
        Ok(length)
    }
}

pub(super) fn too_large(most: u64) -> io::Error {
    io::Error::other(format!("it has more than {} MiB: divide it into several files", most >> 20))
}
