//! Which files and directories a folder has, in path order.
//!
//! Links are followed, and a directory is entered once however many ways lead to it, so cycles
//! end. Hidden names are passed over: that leaves out editors' files, `.git`, and the inner
//! directories of a mounted ConfigMap, whose visible names are links into them. What a link
//! leads to twice is listed under its first path; a zone file under each, since its name may be
//! its origin.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What a file is to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileKind {
    /// YAML or JSON manifests.
    Manifests,
    /// A master file.
    Zone,
}

impl FileKind {
    /// By the name's ending; anything else is not ours to read.
    pub(super) fn of(path: &Path) -> Option<FileKind> {
        match path.extension()?.to_str()? {
            "yaml" | "yml" | "json" => Some(FileKind::Manifests),
            "zone" => Some(FileKind::Zone),
            _ => None,
        }
    }
}

/// What changes when a file or directory does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    /// Device and inode.
    pub(super) identity: (u64, u64),
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    pub(super) fn of(metadata: &Metadata) -> Stamp {
        Stamp {
            identity: (metadata.dev(), metadata.ino()),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

/// A folder's content; paths are below the folder.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// The files to read; `None` for one that is there but cannot be looked at.
    pub(super) files: BTreeMap<PathBuf, Option<Stamp>>,
    /// The directories, the folder itself first as the empty path, each with device and inode.
    pub(super) directories: Vec<(PathBuf, (u64, u64))>,
    /// Directories that could not be read, and why: what is in them is unknown, not gone.
    pub(super) unread: Vec<(PathBuf, String)>,
    seen: BTreeSet<(u64, u64)>,
}

/// Lists a folder; an error is about the folder itself.
pub(super) fn walk(root: &Path) -> io::Result<Listing> {
    let mut listing = Listing::default();
    let metadata = fs::metadata(root)?;
    let names = names(root)?;
    listing.enter(root, Path::new(""), &metadata, names);
    Ok(listing)
}

impl Listing {
    /// Whether a file is known to be gone: it is not listed, and every directory on the way to
    /// it could be read.
    pub(super) fn proves_gone(&self, path: &Path) -> bool {
        !self.files.contains_key(path) && !self.unread.iter().any(|(unread, _)| path.starts_with(unread))
    }

    fn enter(&mut self, root: &Path, directory: &Path, metadata: &Metadata, names: Vec<PathBuf>) {
        let identity = (metadata.dev(), metadata.ino());
        if !self.seen.insert(identity) {
            return;
        }
        self.directories.push((directory.to_owned(), identity));
        for name in names {
            self.visit(root, directory.join(name));
        }
    }

    fn visit(&mut self, root: &Path, path: PathBuf) {
        let full = root.join(&path);
        match fs::metadata(&full) {
            Ok(metadata) if metadata.is_dir() => match names(&full) {
                Ok(names) => self.enter(root, &path, &metadata, names),
                Err(error) => self.unread.push((path, error.to_string())),
            },
            Ok(metadata) if metadata.is_file() => self.add_file(path, &metadata),
            // Reading a pipe or a device could wait for ever.
            Ok(_) => {}
            Err(_) if FileKind::of(&path).is_some() => drop(self.files.insert(path, None)),
            Err(_) => {}
        }
    }

    fn add_file(&mut self, path: PathBuf, metadata: &Metadata) {
        let stamp = Stamp::of(metadata);
        match FileKind::of(&path) {
            Some(FileKind::Manifests) if !self.seen.insert(stamp.identity) => {}
            Some(_) => drop(self.files.insert(path, Some(stamp))),
            None => {}
        }
    }
}

/// The visible names in a directory, sorted.
fn names(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory)? {
        let name = entry?.file_name();
        if !name.as_encoded_bytes().starts_with(b".") {
            names.push(PathBuf::from(name));
        }
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use std::os::unix::fs::symlink;

    fn folder(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, file).unwrap();
        }
        folder
    }

    fn listed(folder: &tempfile::TempDir) -> Vec<String> {
        walk(folder.path()).unwrap().files.keys().map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn manifests_and_zones_of_any_depth_are_listed_in_path_order() {
        let folder = folder(&["b.yml", "a/b/c.yaml", "a/z.zone", "c.json", "README.md", "values.yaml.tmpl"]);
        assert_eq!(listed(&folder), ["a/b/c.yaml", "a/z.zone", "b.yml", "c.json"]);
    }

    #[test]
    fn hidden_files_and_editor_droppings_are_passed_over() {
        let folder =
            folder(&["a.yaml", ".a.yaml", ".#a.yaml", "a.yaml~", ".a.yaml.swp", "#a.yaml#", ".git/b.yaml"]);
        assert_eq!(listed(&folder), ["a.yaml"]);
    }

    #[test]
    fn a_mounted_config_map_is_listed_once() {
        let folder = folder(&["..2026_11_16/a.yaml", "..2026_11_16/b.zone"]);
        symlink("..2026_11_16", folder.path().join("..data")).unwrap();
        symlink("..data/a.yaml", folder.path().join("a.yaml")).unwrap();
        symlink("..data/b.zone", folder.path().join("b.zone")).unwrap();
        assert_eq!(listed(&folder), ["a.yaml", "b.zone"]);
    }

    #[test]
    fn a_cycle_of_links_ends() {
        let folder = folder(&["a/b/c.yaml"]);
        symlink("..", folder.path().join("a/b/up")).unwrap();
        symlink(".", folder.path().join("self")).unwrap();
        assert_eq!(listed(&folder), ["a/b/c.yaml"]);
    }

    #[test]
    fn a_manifest_behind_two_links_is_listed_once_and_a_zone_under_each_name() {
        let folder = folder(&["a.yaml", "one.zone"]);
        symlink("a.yaml", folder.path().join("b.yaml")).unwrap();
        symlink("one.zone", folder.path().join("two.zone")).unwrap();
        assert_eq!(listed(&folder), ["a.yaml", "one.zone", "two.zone"]);
    }

    #[test]
    fn a_dangling_link_is_there_but_cannot_be_looked_at() {
        let folder = folder(&[]);
        symlink("nowhere", folder.path().join("a.yaml")).unwrap();
        assert_eq!(walk(folder.path()).unwrap().files[Path::new("a.yaml")], None);
    }

    #[test]
    fn a_folder_that_is_missing_or_a_file_is_an_error() {
        let folder = folder(&["a.yaml"]);
        assert!(walk(&folder.path().join("missing")).is_err());
        assert!(walk(&folder.path().join("a.yaml")).is_err());
    }

    #[test]
    fn what_lies_in_an_unread_directory_is_not_proved_gone() {
        let listing = Listing { unread: vec![("a".into(), "denied".into())], ..Listing::default() };
        assert!(!listing.proves_gone(Path::new("a/b.yaml")));
        assert!(listing.proves_gone(Path::new("ab.yaml")));
    }
}
