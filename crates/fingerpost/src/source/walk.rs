//! Which files and directories a folder has, in path order.
//!
//! Links inside the folder are followed, and a directory is entered once however many ways lead to it,
//! so cycles end. A link that leads out of the folder is not followed. Hidden names are passed over: that leaves out editors' files, `.git`, and the inner
//! directories of a mounted ConfigMap, whose visible names are links into them. What a link
//! leads to twice is listed under its first path; a zone file under each, since its name may be
//! its origin.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::bounds;

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
    /// The stamp of a text that is no file.
    pub(super) fn of_text(text: &str) -> Stamp {
        Stamp { identity: (0, 0), size: text.len() as u64, modified: (0, 0), changed: (0, 0) }
    }

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
    /// Links to directories outside of the folder. What is behind them is not read, and not gone either.
    pub(super) outside: Vec<PathBuf>,
    seen: BTreeSet<(u64, u64)>,
    /// How many entries were found.
    entries: usize,
}

/// Lists a folder; an error is about the folder itself.
pub(super) fn walk(root: &Path) -> io::Result<Listing> {
    walk_within(root, bounds::ENTRIES)
}

/// The listing of one file that is named by itself; an error is about the file.
pub(super) fn only(root: &Path, file: &Path) -> io::Result<Listing> {
    let metadata = fs::metadata(root.join(file))?;
    let stamp = metadata.is_file().then(|| Stamp::of(&metadata));
    Ok(Listing { files: BTreeMap::from([(file.to_owned(), stamp)]), ..Listing::default() })
}

fn walk_within(root: &Path, most: usize) -> io::Result<Listing> {
    let metadata = fs::metadata(root)?;
    let names = names(root, most)?;
    let mut walk = Walk { root, most, listing: Listing::default() };
    walk.enter(Path::new(""), &metadata, names);
    Ok(walk.listing)
}

impl Listing {
    /// The listing of a text that is no file.
    pub(super) fn of_text(file: &Path, text: &str) -> Listing {
        let stamp = Some(Stamp::of_text(text));
        Listing { files: BTreeMap::from([(file.to_owned(), stamp)]), ..Listing::default() }
    }

    /// Whether a file is known to be gone: it is not listed, and every directory on the way to
    /// it could be read.
    pub(super) fn proves_gone(&self, path: &Path) -> bool {
        let unread = self.unread.iter().map(|(unread, _)| unread).chain(&self.outside);
        !self.files.contains_key(path) && !unread.into_iter().any(|unread| path.starts_with(unread))
    }

    /// Whether a directory, at any depth, has no file to read.
    pub(super) fn is_empty_below(&self, directory: &Path) -> bool {
        let mut from = self.files.range(directory.to_owned()..);
        !from.next().is_some_and(|(path, _)| path.starts_with(directory))
    }
}

/// A folder that is being listed.
struct Walk<'a> {
    root: &'a Path,
    most: usize,
    listing: Listing,
}

impl Walk<'_> {
    fn enter(&mut self, directory: &Path, metadata: &Metadata, names: Vec<Entry>) {
        let identity = (metadata.dev(), metadata.ino());
        if !self.listing.seen.insert(identity) {
            return;
        }
        self.listing.directories.push((directory.to_owned(), identity));
        self.listing.entries += names.len();
        for entry in names {
            self.visit(directory.join(&entry.name), entry.is_link);
        }
    }

    fn visit(&mut self, path: PathBuf, is_link: bool) {
        let full = self.root.join(&path);
        let leaves = is_link && full.exists() && bounds::real(self.root, &full).is_err();
        match fs::metadata(&full) {
            Ok(metadata) if metadata.is_dir() && leaves => self.listing.outside.push(path),
            Ok(metadata) if metadata.is_dir() => self.visit_directory(path, &full, &metadata),
            Ok(metadata) if metadata.is_file() && !leaves => self.listing.add_file(path, &metadata),
            // What has the name of a file to read and is none is there, and reading it says why not.
            _ if FileKind::of(&path).is_some() => drop(self.listing.files.insert(path, None)),
            _ => {}
        }
    }

    fn visit_directory(&mut self, path: PathBuf, full: &Path, metadata: &Metadata) {
        let left = self.most.saturating_sub(self.listing.entries);
        let names = match path.components().count() > bounds::DEPTH {
            true => Err(io::Error::other(format!("it is more than {} directories deep", bounds::DEPTH))),
            false => names(full, left),
        };
        match names {
            Ok(names) => self.enter(&path, metadata, names),
            Err(error) => self.listing.unread.push((path, error.to_string())),
        }
    }
}

impl Listing {
    fn add_file(&mut self, path: PathBuf, metadata: &Metadata) {
        let stamp = Stamp::of(metadata);
        match FileKind::of(&path) {
            Some(FileKind::Manifests) if !self.seen.insert(stamp.identity) => {}
            Some(_) => drop(self.files.insert(path, Some(stamp))),
            None => {}
        }
    }
}

/// A visible name in a directory.
struct Entry {
    name: PathBuf,
    is_link: bool,
}

/// The visible names in a directory, sorted; an error where there are more than so many.
fn names(directory: &Path, most: usize) -> io::Result<Vec<Entry>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        if name.as_encoded_bytes().starts_with(b".") {
            continue;
        }
        if names.len() >= most {
            let message = format!("the folder has more than {} entries: divide it", bounds::ENTRIES);
            return Err(io::Error::other(message));
        }
        let is_link = entry.file_type()?.is_symlink();
        names.push(Entry { name: PathBuf::from(name), is_link });
    }
    names.sort_by(|one, other| one.name.cmp(&other.name));
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
        symlink("b.yaml", folder.path().join("b.yaml")).unwrap();
        let listing = walk(folder.path()).unwrap();
        assert_eq!(listing.files[Path::new("a.yaml")], None);
        assert_eq!(listing.files[Path::new("b.yaml")], None);
    }

    #[test]
    fn a_link_that_leads_out_of_the_folder_is_not_followed() {
        let outside = folder(&["a.yaml", "deep/b.yaml"]);
        let folder = folder(&["c.yaml"]);
        symlink("/", folder.path().join("root")).unwrap();
        symlink(outside.path(), folder.path().join("other")).unwrap();
        symlink(outside.path().join("a.yaml"), folder.path().join("a.yaml")).unwrap();
        let listing = walk(folder.path()).unwrap();
        assert_eq!(listing.outside, [PathBuf::from("other"), PathBuf::from("root")]);
        assert_eq!(listing.entries, 4, "nothing behind the links was looked at");
        assert_eq!(listing.files.len(), 2);
        assert_eq!(listing.files[Path::new("a.yaml")], None, "it is there and is not read");
        assert!(!listing.proves_gone(Path::new("other/deep/b.yaml")));
    }

    #[test]
    fn a_fifo_and_a_device_are_there_but_are_not_looked_at() {
        let folder = folder(&["c.yaml"]);
        let fifo = folder.path().join("fifo.yaml");
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        symlink("/dev/zero", folder.path().join("zero.zone")).unwrap();
        let listing = walk(folder.path()).unwrap();
        assert_eq!(listing.files[Path::new("fifo.yaml")], None);
        assert_eq!(listing.files[Path::new("zero.zone")], None);
    }

    #[test]
    fn a_walk_ends_at_its_bounds_and_proves_nothing_beyond_them() {
        let folder = folder(&["a.yaml", "b/c.yaml", "b/d.yaml", "e/f.yaml"]);
        let listing = walk_within(folder.path(), 4).unwrap();
        assert_eq!(listing.unread[0].0, Path::new("b"));
        assert!(listing.unread[0].1.contains("entries"), "{:?}", listing.unread);
        assert!(!listing.proves_gone(Path::new("b/c.yaml")));
        assert!(listing.files.contains_key(Path::new("e/f.yaml")));

        let deep = super::tests::folder(&[&format!("{}a.yaml", "d/".repeat(bounds::DEPTH + 1))]);
        let listing = walk(deep.path()).unwrap();
        assert!(listing.files.is_empty());
        assert!(listing.unread[0].1.contains("64 directories deep"), "{:?}", listing.unread);
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
