//! The files of one cluster, and what they declare together.

mod emit;
mod look;
mod mentioned;
mod restore;

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use api::Object;
use dns::PackedZone;
use planner::{ClusterId, ObjectRef};

use super::arguments::{ClusterFolders, STANDARD_INPUT, STANDARD_INPUT_NAME};
use super::batch::{Batch, Circumstances, Keep};
use super::bounds;
use super::claims::{Claims, FileKey};
use super::manifest::{Body, Declared};
use super::problem::{Severity, Trouble};
use super::settled::{self, Unread, Wanted};
use super::walk::{self, FileKind, Listing, Stamp};
use super::zone::{Digest, Include, LastIncludes, Place};
use crate::secrets::{FolderSecrets, Secret};
use crate::state::{HeldDirectories, SavedKey, absolute};

/// One cluster's world on disk.
#[derive(Debug)]
pub(super) struct Cluster {
    id: ClusterId,
    name: String,
    pub(super) folders: Vec<Folder>,
    files: BTreeMap<FileKey, File>,
    claims: Claims,
    /// The last valid versions of those objects that are not valid now.
    last_valid: HashMap<ObjectRef, Arc<Object>>,
    /// Folders of this cluster in an earlier run that are not named any more: it may have been moved.
    earlier_folders: Vec<String>,
    /// Whether the versions that an earlier run saved have been looked at.
    recalled: bool,
}

/// One folder of a cluster.
#[derive(Debug)]
pub(super) struct Folder {
    /// As the user wrote it.
    path: PathBuf,
    pub(super) absolute: PathBuf,
    /// Stands before the paths of its files where the cluster has several folders.
    prefix: String,
    /// The one file that is read, where a file is named and not a folder.
    only: Option<PathBuf>,
    /// The text of that file, where it is standard input.
    given: Option<Arc<str>>,
    /// Why it could not be read the last time.
    pub(super) trouble: Option<String>,
    /// Directories in it that could not be read.
    unread: Vec<(PathBuf, String)>,
    /// Links in it to directories outside of it.
    outside: Vec<PathBuf>,
    /// Directories that were replaced by empty ones, as when a mount is lost.
    replaced: Vec<PathBuf>,
    /// The directories whose files are in force, as they were when the files were read.
    pub(super) held: BTreeMap<PathBuf, Identity>,
    /// Its directories with device and inode, for watching.
    pub(super) directories: Vec<(PathBuf, (u64, u64))>,
    /// Whether it was ever read, or restored from the state directory.
    known: bool,
    empty: bool,
}

/// One file, and what it last gave.
#[derive(Debug, Default)]
struct File {
    stamp: Option<Stamp>,
    digest: Option<Digest>,
    /// The manifests that are in force.
    text: Option<Arc<str>>,
    /// Its text, where that cannot be understood as a whole.
    unclear: Option<Arc<str>>,
    /// Since when the file has looked gone, empty or half-written.
    doubt: Option<Instant>,
    speech: Speech,
    /// Whether its text declares nothing, so that its last good content is in force.
    empty: bool,
    declared: Vec<Declared>,
    secrets: Vec<((String, String), Secret)>,
    zone: Option<Arc<PackedZone>>,
    includes: Vec<Include>,
    /// The length of the zone file that is in force, where its last line is whole.
    good_length: Option<u64>,
    /// The included files of the zone that is in force.
    good_includes: LastIncludes,
    /// What is wrong in its text.
    troubles: Vec<Trouble>,
    /// Why its text cannot be had.
    unread: Option<Trouble>,
}

/// What became of the text of a file of manifests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Speech {
    /// It could not be read, or is not YAML.
    #[default]
    Nothing,
    /// Some document is broken: an object that the file does not mention is not proved to be gone.
    Unclear,
    /// Every document is a valid object.
    Clear,
}

impl Cluster {
    pub(super) fn new(rank: u16, folders: &ClusterFolders) -> Cluster {
        let several = folders.folders.len() > 1;
        Cluster {
            id: ClusterId(rank),
            name: folders.name.clone(),
            folders: folders.folders.iter().map(|path| Folder::new(path, several)).collect(),
            files: BTreeMap::new(),
            claims: Claims::default(),
            last_valid: HashMap::new(),
            earlier_folders: Vec::new(),
            recalled: false,
        }
    }

    pub(super) fn counts(&self) -> (usize, usize, usize) {
        let records = self.files.values().filter_map(|file| file.zone.as_ref()).map(|zone| zone.len()).sum();
        (self.claims.len(), self.files.len(), records)
    }

    pub(super) fn id(&self) -> ClusterId {
        self.id
    }

    /// Whether some file or directory could not be read or has no content at all, so that objects may be declared
    /// which are not known.
    pub(super) fn is_unproven(&self) -> bool {
        let is_unread = |folder: &Folder| folder.trouble.is_some() || !folder.unread.is_empty();
        let manifests = self.files.iter().filter(|(key, _)| FileKind::of(&key.path) != Some(FileKind::Zone));
        self.folders.iter().any(is_unread) || manifests.into_iter().any(|(_, file)| file.is_unproven())
    }

    /// The Secrets that its files declare; of two with one name the first stands.
    pub(super) fn secrets(&self, out: &mut FolderSecrets) {
        for (key, secret) in self.files.values().flat_map(|file| &file.secrets) {
            out.entry(key.clone()).or_insert_with(|| secret.clone());
        }
    }

    /// Whether something looked gone, empty or half-written, so that a second look is due.
    pub(super) fn is_unsettled(&self) -> bool {
        self.files.values().any(|file| file.doubt.is_some())
    }

    /// Takes a folder's listing: reads what changed, drops what is gone. A folder that cannot be
    /// listed proves nothing, and nothing changes.
    pub(super) fn refresh(
        &mut self,
        folder: usize,
        listing: io::Result<Listing>,
        circumstances: Circumstances<'_>,
        batch: &mut Batch,
    ) {
        let listing = match listing {
            Ok(listing) => listing,
            Err(error) => return self.folder_unread(folder, &error, circumstances, batch),
        };
        for (path, stamp) in &listing.files {
            let key = FileKey { folder, path: Arc::from(path.as_path()) };
            let done = circumstances.meter.octets() + stamp.as_ref().map_or(0, Stamp::size);
            if !self.is_unchanged(&key, *stamp) {
                self.look(&key, circumstances, batch);
            }
            circumstances.meter.done(done);
        }
        let replaced = self.folders[folder].replaced_in(&listing);
        self.restore_unlisted(folder, &listing, &replaced, circumstances, batch);
        let is_kept = |path: &Path| replaced.iter().any(|directory| path.starts_with(directory));
        let gone =
            |key: &&FileKey| key.folder == folder && listing.proves_gone(&key.path) && !is_kept(&key.path);
        for key in self.files.keys().filter(gone).cloned().collect::<Vec<_>>() {
            self.vanish(&key, circumstances, batch);
        }
        self.folders[folder].take(listing, replaced);
    }

    /// At the start, what the state directory has of directories that prove nothing.
    fn restore_unlisted(
        &mut self,
        folder: usize,
        listing: &Listing,
        replaced: &[PathBuf],
        circumstances: Circumstances<'_>,
        batch: &mut Batch,
    ) {
        let unread = listing.unread.iter().map(|(directory, _)| directory);
        let unlisted: Vec<&Path> =
            unread.chain(&listing.outside).chain(replaced).map(PathBuf::as_path).collect();
        if !self.folders[folder].known && !unlisted.is_empty() {
            let below = |path: &Path| unlisted.iter().any(|directory| path.starts_with(directory));
            self.restore_folder(folder, &below, circumstances, batch);
        }
    }

    fn is_unchanged(&self, key: &FileKey, stamp: Option<Stamp>) -> bool {
        let root = &self.folders[key.folder].absolute;
        self.files.get(key).is_some_and(|file| {
            let same = stamp.is_some() && file.stamp == stamp && file.doubt.is_none();
            same && !file.includes.iter().any(|include| include.changed(root))
        })
    }

    fn folder_unread(
        &mut self,
        folder: usize,
        error: &io::Error,
        circumstances: Circumstances<'_>,
        batch: &mut Batch,
    ) {
        self.folders[folder].trouble = Some(error.to_string());
        self.folders[folder].directories.clear();
        if !self.folders[folder].known {
            self.folders[folder].known = self.restore_folder(folder, &|_| true, circumstances, batch);
        }
    }

    /// Drops a file that is gone, once that is believed.
    fn vanish(&mut self, key: &FileKey, circumstances: Circumstances<'_>, batch: &mut Batch) {
        let Some(file) = self.files.get_mut(key) else { return };
        if circumstances.doubts(&mut file.doubt) {
            return;
        }
        self.declare(key, Vec::new(), batch);
        let file = self.files.remove(key);
        if FileKind::of(&key.path) == Some(FileKind::Zone) && file.is_some() {
            batch.changes.push(planner::Change::DeleteFile(self.id, self.label(key)));
        }
        batch.keeps.insert(key.clone(), Keep::Nothing);
    }

    /// Replaces what a file declares.
    fn declare(&mut self, key: &FileKey, declared: Vec<Declared>, batch: &mut Batch) {
        self.remember(key, &declared, batch);
        let file = self.files.entry(key.clone()).or_default();
        for gone in std::mem::replace(&mut file.declared, declared) {
            self.claims.remove(&gone.reference, key);
        }
        for (index, declared) in file.declared.iter().enumerate() {
            let gives_way = declared.kept || declared.misspelt;
            let claim = super::claims::Claim { gives_way, file: key.clone(), index: index as u32 };
            self.claims.add(&declared.reference, claim);
        }
    }

    /// Notes how everything stands that the file has or is about to have.
    fn remember(&self, key: &FileKey, coming: &[Declared], batch: &mut Batch) {
        let standing = self.files.get(key).map(|file| &file.declared[..]).unwrap_or_default();
        for declared in standing.iter().chain(coming) {
            if !batch.before.contains_key(&declared.reference) {
                let body = self.body(&declared.reference).cloned();
                batch.before.insert(declared.reference.clone(), body);
            }
        }
    }

    /// The object as it stands: the first declaration of it.
    fn body(&self, object: &ObjectRef) -> Option<&Body> {
        self.declared(object).map(|(_, declared)| &declared.body)
    }

    fn declared(&self, object: &ObjectRef) -> Option<(&FileKey, &Declared)> {
        let claim = self.claims.first(object)?;
        let declared = self.files.get(&claim.file)?.declared.get(claim.index as usize)?;
        Some((&claim.file, declared))
    }

    /// The file, line and column where an object stands.
    pub(super) fn locate(&self, object: &ObjectRef) -> Option<(PathBuf, u32, u32)> {
        let (key, declared) = self.declared(object)?;
        Some((self.shown(key), declared.line, declared.column))
    }

    /// The file that declares an object, with the line and column.
    pub(super) fn declaration(&self, object: &ObjectRef) -> Option<(&FileKey, u32, u32)> {
        let (key, declared) = self.declared(object)?;
        Some((key, declared.line, declared.column))
    }

    /// The file as the user would write its path.
    fn shown(&self, key: &FileKey) -> PathBuf {
        self.folders[key.folder].path.join(&key.path)
    }

    /// The file's name in changes and notes.
    fn label(&self, key: &FileKey) -> Arc<str> {
        Arc::from(format!("{}{}", self.folders[key.folder].prefix, key.path.display()))
    }

    fn place(&self, key: &FileKey) -> Place<'_> {
        let folder = &self.folders[key.folder];
        Place { root: &folder.absolute, prefix: &folder.prefix }
    }

    fn saved_key(&self, key: &FileKey) -> SavedKey {
        SavedKey {
            cluster: self.name.clone(),
            folder: self.folders[key.folder].absolute.display().to_string(),
            path: key.path.display().to_string(),
        }
    }

    /// The directories whose files are in force, for the state directory.
    pub(super) fn held(&self) -> impl Iterator<Item = HeldDirectories> {
        self.folders.iter().map(|folder| HeldDirectories {
            cluster: self.name.clone(),
            folder: folder.absolute.display().to_string(),
            directories: folder.held.iter().map(|(path, identity)| (path.clone(), *identity)).collect(),
        })
    }

    /// Takes what the state directory has of [`Cluster::held`].
    pub(super) fn take_held(&mut self, saved: &[HeldDirectories]) {
        let of_cluster = saved.iter().filter(|held| held.cluster == self.name);
        let is_named = |held: &&HeldDirectories| {
            self.folders.iter().any(|folder| folder.absolute.display().to_string() == held.folder)
        };
        self.earlier_folders =
            of_cluster.filter(|held| !is_named(held)).map(|held| held.folder.clone()).collect();
        for folder in &mut self.folders {
            let absolute = folder.absolute.display().to_string();
            let own = saved.iter().filter(|held| held.cluster == self.name && held.folder == absolute);
            folder.held = own.flat_map(|held| held.directories.iter().cloned()).collect();
        }
    }

    pub(super) fn saved_keys(&self) -> impl Iterator<Item = SavedKey> {
        self.files.keys().map(|key| self.saved_key(key))
    }

    /// The known file at an absolute path, and the zone files that include it.
    pub(super) fn files_at(&self, path: &Path) -> Vec<FileKey> {
        let mut found = Vec::new();
        for (folder, below) in self.below(path) {
            let key = FileKey { folder, path: Arc::from(below) };
            found.extend(self.files.contains_key(&key).then_some(key));
            let includes = |file: &File| file.includes.iter().any(|include| include.path == below);
            let including = self.files.iter().filter(|(key, file)| key.folder == folder && includes(file));
            found.extend(including.map(|(key, _)| key.clone()));
        }
        found
    }

    /// The folders that an absolute path lies in, each with the path below it.
    pub(super) fn below<'a>(&self, path: &'a Path) -> impl Iterator<Item = (usize, &'a Path)> {
        let folders = self.folders.iter().enumerate();
        folders.filter_map(|(folder, at)| Some((folder, path.strip_prefix(&at.absolute).ok()?)))
    }
}

impl Folder {
    /// A folder, or a file that is named by itself: then its folder is the one that holds it.
    fn new(path: &Path, several: bool) -> Folder {
        let only = path.file_name().filter(|_| path.is_file()).map(PathBuf::from);
        let path = if only.is_some() { path.parent().unwrap_or(path) } else { path };
        let is_here = path.as_os_str().is_empty();
        Folder {
            path: path.to_owned(),
            absolute: absolute(if is_here { Path::new(".") } else { path }),
            prefix: if several && !is_here { format!("{}/", path.display()) } else { String::new() },
            only,
            given: None,
            trouble: None,
            unread: Vec::new(),
            outside: Vec::new(),
            replaced: Vec::new(),
            held: BTreeMap::new(),
            directories: Vec::new(),
            known: false,
            empty: false,
        }
    }

    /// Takes the text of standard input, where the folder stands for it.
    pub(super) fn give(&mut self, text: &Arc<str>) {
        if self.path.as_os_str() == STANDARD_INPUT {
            self.path = PathBuf::new();
            self.only = Some(PathBuf::from(STANDARD_INPUT_NAME));
            self.given = Some(text.clone());
            self.prefix = String::new();
        }
    }

    /// Which files there are.
    pub(super) fn listing(&self) -> io::Result<Listing> {
        match (&self.only, &self.given) {
            (Some(file), Some(text)) => Ok(Listing::of_text(file, text)),
            (Some(file), None) => walk::only(&self.absolute, file),
            (None, _) => walk::walk(&self.absolute),
        }
    }

    /// The text of a file of manifests.
    pub(super) fn text(&self, path: &Path) -> Result<(Stamp, String), Unread> {
        match &self.given {
            Some(text) => Ok((Stamp::of_text(text), text.to_string())),
            None => {
                let path = self.absolute.join(path);
                settled::read(Wanted { root: &self.absolute, path: &path, most: bounds::MANIFESTS })
            }
        }
    }

    /// The directories that held files, are another directory now, and hold none.
    fn replaced_in(&self, listing: &Listing) -> Vec<PathBuf> {
        let now: BTreeMap<&Path, Identity> = listing
            .directories
            .iter()
            .map(|(directory, identity)| (directory.as_path(), *identity))
            .collect();
        let is_replaced = |(directory, before): &(&PathBuf, &Identity)| {
            now.get(directory.as_path()).is_some_and(|now| now != *before)
                && listing.is_empty_below(directory)
        };
        self.held.iter().filter(is_replaced).map(|(directory, _)| directory.clone()).collect()
    }

    fn take(&mut self, listing: Listing, replaced: Vec<PathBuf>) {
        self.empty = listing.files.is_empty() && listing.unread.is_empty() && replaced.is_empty();
        self.hold(&listing, &replaced);
        self.directories = listing.directories;
        self.unread = listing.unread;
        self.outside = listing.outside;
        self.replaced = replaced;
        self.trouble = None;
        self.known = true;
    }

    /// Notes the directories that hold files. Of one that was replaced or could not be read the identity
    /// stays that of the directory before, for as long as its files are in force.
    fn hold(&mut self, listing: &Listing, replaced: &[PathBuf]) {
        let is_replaced = |directory: &Path| replaced.iter().any(|other| directory.starts_with(other));
        self.held.retain(|directory, _| is_replaced(directory) || !listing.proves_gone(directory));
        let holding = listing.directories.iter().filter(|(directory, _)| !listing.is_empty_below(directory));
        self.held.extend(holding.cloned());
    }
}

impl File {
    /// Whether it may declare objects which are not known.
    fn is_unproven(&self) -> bool {
        let is_unclear =
            |trouble: &Trouble| trouble.severity == Severity::Refused && trouble.object.is_none();
        let is_blank = self.empty && self.stamp.as_ref().is_some_and(|stamp| stamp.size() == 0);
        is_blank || self.unread.iter().chain(&self.troubles).any(is_unclear)
    }
}

/// Device and inode.
pub(super) type Identity = (u64, u64);
