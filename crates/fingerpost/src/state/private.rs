//! Files and directories that only their owner may read: state may hold Secrets and private keys.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

const FILE: u32 = 0o600;
const DIRECTORY: u32 = 0o700;
/// The permissions of group and others.
const OTHERS: u32 = 0o077;

/// Creates a directory, and its missing parents, for the owner alone.
pub(crate) fn create_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(DIRECTORY).create(path)
}

/// Creates or truncates a file for the owner alone.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    owned(OpenOptions::new().write(true).create(true).truncate(true).mode(FILE).open(path)?)
}

/// Opens a file to append to it; creates it for the owner alone.
pub(crate) fn append(path: &Path) -> io::Result<File> {
    owned(OpenOptions::new().append(true).create(true).mode(FILE).open(path)?)
}

/// A file that an earlier version created may have wider permissions.
fn owned(file: File) -> io::Result<File> {
    if file.metadata()?.mode() & OTHERS != 0 {
        file.set_permissions(Permissions::from_mode(FILE))?;
    }
    Ok(file)
}

/// Removes the permissions of group and others from what an earlier version left in a state directory: from
/// the files and directories with these names, and from the directory itself where it holds nothing else.
///
/// A volume that another user owns keeps its permissions; the files in it are the owner's alone.
pub(crate) fn tighten(root: &Path, names: &[&str]) {
    if is_private(root) {
        return;
    }
    let mut foreign = false;
    for entry in fs::read_dir(root).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let stem = name.split('.').next().unwrap_or_default();
        match names.contains(&stem) {
            true => tighten_all(&entry.path()),
            false => foreign = true,
        }
    }
    if !foreign {
        restrict(root, DIRECTORY);
    }
}

fn tighten_all(path: &Path) {
    let Ok(metadata) = fs::symlink_metadata(path) else { return };
    if metadata.is_file() && metadata.mode() & OTHERS != 0 {
        restrict(path, FILE);
    }
    if metadata.is_dir() {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            tighten_all(&entry.path());
        }
        restrict(path, DIRECTORY);
    }
}

fn is_private(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.mode() & OTHERS == 0)
}

/// What cannot be restricted belongs to another user or is on a read-only disk.
fn restrict(path: &Path, mode: u32) {
    if let Err(error) = fs::set_permissions(path, Permissions::from_mode(mode)) {
        tracing::debug!("the permissions of {} stay as they are: {error}", path.display());
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn a_directory_of_an_earlier_version_is_tightened_with_all_that_is_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("state");
        fs::create_dir_all(root.join("file")).unwrap();
        for file in ["serials", "serials.bad-1", "file/0123"] {
            fs::write(root.join(file), "secret").unwrap();
            fs::set_permissions(root.join(file), Permissions::from_mode(0o644)).unwrap();
        }
        fs::set_permissions(&root, Permissions::from_mode(0o755)).unwrap();
        tighten(&root, &["serials", "file"]);
        for file in ["serials", "serials.bad-1", "file/0123"] {
            assert_eq!(mode(&root.join(file)), 0o600, "{file}");
        }
        assert_eq!((mode(&root), mode(&root.join("file"))), (0o700, 0o700));
    }

    #[test]
    fn a_directory_with_files_of_others_keeps_its_permissions_and_theirs() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        for file in ["serials", "other"] {
            fs::write(folder.path().join(file), "").unwrap();
            fs::set_permissions(folder.path().join(file), Permissions::from_mode(0o644)).unwrap();
        }
        tighten(folder.path(), &["serials"]);
        assert_eq!(mode(folder.path()), 0o755);
        assert_eq!(mode(&folder.path().join("other")), 0o644);
        assert_eq!(mode(&folder.path().join("serials")), 0o600);
    }

    #[test]
    fn a_file_with_wider_permissions_is_narrowed_when_it_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("serials.new");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
        drop(create(&path).unwrap());
        assert_eq!(mode(&path), 0o600);
    }
}
