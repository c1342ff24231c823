//! Opening a state directory, also one that cannot be written at the moment.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use super::{StateError, private};

const LOCK: &str = "lock";
/// What `up`, `dns` and `provider` create in a state directory; earlier versions created some of it with wider
/// permissions.
const NAMES: &[&str] = &[
    LOCK,
    super::GENERATION,
    super::OWNER,
    super::SERIALS,
    super::DELIVERED,
    super::REMEMBERED,
    super::DIRECTIONS,
    super::DIRECTORIES,
    super::PORTS,
    super::HOLDERS,
    super::RECENT_HOLDERS,
    super::journal::JOURNAL,
    super::zones::INDEX,
    super::zones::BLOBS,
    super::FILES,
    "keys",
    "records",
    "generations",
    "nonces",
];

/// A state directory that other processes are kept out of.
#[derive(Debug)]
pub(crate) struct Opened {
    /// Held for as long as the directory is used; `None` while the disk refuses it.
    pub(crate) lock: Option<File>,
    /// Why nothing can be written.
    pub(crate) refusal: Option<io::Error>,
}

/// Creates the directory and these folders in it, for the owner alone, and locks it.
///
/// A full or read-only disk is no error: what is there can still be read. It is tried again with
/// [`prepare`].
pub(crate) fn open(root: &Path, folders: &[&str]) -> Result<Opened, StateError> {
    match prepare(root, folders) {
        Ok(lock) => Ok(Opened { lock: Some(lock), refusal: None }),
        Err(StateError::Io { source, .. }) if is_refusal(root, &source) => {
            Ok(Opened { lock: lock_for_reading(root)?, refusal: Some(source) })
        }
        Err(error) => Err(error),
    }
}

/// Creates the directory and these folders in it, for the owner alone, and locks it for writing.
pub(crate) fn prepare(root: &Path, folders: &[&str]) -> Result<File, StateError> {
    let failed = |source| StateError::Io { path: root.to_owned(), source };
    private::create_directory(root).map_err(failed)?;
    for folder in folders {
        private::create_directory(&root.join(folder)).map_err(failed)?;
    }
    let file = private::append(&root.join(LOCK)).map_err(failed)?;
    let file = locked(file, root)?;
    private::tighten(root, NAMES);
    Ok(file)
}

/// Whether the disk is full or read-only, or the directory belongs to another user who lets us read it.
fn is_refusal(root: &Path, error: &io::Error) -> bool {
    use io::ErrorKind::{PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    match error.kind() {
        ReadOnlyFilesystem | StorageFull | QuotaExceeded => true,
        PermissionDenied => fs::read_dir(root).is_ok(),
        _ => false,
    }
}

/// A read-only disk can still be locked against a process that reads and may write later.
fn lock_for_reading(root: &Path) -> Result<Option<File>, StateError> {
    match File::open(root.join(LOCK)) {
        Ok(file) => locked(file, root).map(Some),
        Err(_) => Ok(None),
    }
}

fn locked(file: File, root: &Path) -> Result<File, StateError> {
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StateError::InUse(root.to_owned())),
        Err(TryLockError::Error(source)) => Err(StateError::Io { path: PathBuf::from(root), source }),
    }
}
