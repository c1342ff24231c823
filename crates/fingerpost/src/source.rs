//! Folders of manifests and zone files, as changes to what the planner knows.
//!
//! ```text
//! folders ──walk──► changed files ──read──► objects, zones ──difference──► Reading
//!                        ▲                                                    │
//!    inotify ──debounce──┘                     problems with file, line, column
//! ```
//!
//! What it promises:
//!
//! - Nothing is deleted except on proof: a file that is gone from a folder that could be read. A
//!   folder or file that cannot be read, a text that is not YAML or declares nothing, and a directory
//!   that was replaced by an empty one leave in force what was there before, after a restart too when
//!   there is a state directory.
//! - What a file may cost is bounded (see `bounds`), so that no file delays another.
//! - One broken object is that object's trouble; the rest of its file stands. While a file has a broken document,
//!   an object that it declared before and does not mention stays in force: a write that was cut off leaves such a
//!   file.
//! - An object declared twice is the first one's, by folder, path and place in the file.
//! - A reading costs one look at each file's metadata, and the text of those that changed. While
//!   watching, a changed file costs that file.
//!
//! Read are `.yaml`, `.yml` and `.json` (several documents, and `List`s) and `.zone` files at any
//! depth, but nothing hidden. Every `.zone` file is a zone of its own, included or not.

mod arguments;
mod batch;
mod bounds;
mod claims;
mod cluster;
mod documents;
mod fields;
mod list;
mod manifest;
mod meter;
mod problem;
mod settled;
#[cfg(test)]
mod tests;
mod walk;
mod watch;
mod yaml;
mod zone;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use planner::{Change, ClusterId, Location, ObjectRef};

pub use arguments::{ArgumentError, ClusterFolders, STANDARD_INPUT, UNNAMED};
use batch::{Batch, Circumstances};
pub use bounds::standard_input;
use claims::FileKey;
use cluster::{Cluster, Folder};
pub use fields::Fields;
use meter::Meter;
pub use meter::Progress;
pub use problem::{Severity, SourceProblem};
use walk::{FileKind, Listing, Stamp};
pub use watch::{Locator, Pace, Watch};

use crate::secrets::FolderSecrets;
use crate::state::{HeldDirectories, StateDir};

/// The folders of all clusters, and what was last reported of them.
#[derive(Debug)]
pub struct Source {
    clusters: Vec<Cluster>,
    state: Option<Arc<StateDir>>,
    patience: Duration,
    tidied: bool,
    /// The directories as they were last saved.
    held: Vec<HeldDirectories>,
    /// The clusters of the folders that these follow.
    previous: Vec<Cluster>,
}

/// What a reading found.
#[derive(Debug, Default)]
pub struct Reading {
    /// The difference to what was reported before.
    pub changes: Vec<Change>,
    /// Everything that is wrong as it now stands, whenever it was found.
    pub problems: Vec<SourceProblem>,
    /// The Secrets of all folders, as they now stand.
    pub secrets: FolderSecrets,
    /// How many objects stand.
    pub objects: usize,
    /// How many files there are.
    pub files: usize,
    /// How many records the zone files hold.
    pub records: usize,
    /// Whether some file looked gone, empty or half-written, so that a second look is due.
    pub unsettled: bool,
}

impl Source {
    /// Makes a source of these folders; nothing is read yet. A cluster's rank is its place.
    pub fn new(clusters: &[ClusterFolders]) -> Source {
        let clusters = (0..).zip(clusters).map(|(rank, folders)| Cluster::new(rank, folders)).collect();
        Source {
            clusters,
            state: None,
            patience: Duration::ZERO,
            tidied: false,
            held: Vec::new(),
            previous: Vec::new(),
        }
    }

    /// Keeps the last good content in a state directory, and takes it from there at the start.
    pub fn with_state(mut self, state: Arc<StateDir>) -> Source {
        let held = state.load_directories();
        self.clusters.iter_mut().for_each(|cluster| cluster.take_held(&held));
        Source { state: Some(state), held, ..self }
    }

    /// Takes other folders, which have been read, as what was in force before: a file that is empty or broken
    /// has the content of the file of the same path there.
    pub fn following(self, previous: Source) -> Source {
        Source { previous: previous.clusters, ..self }
    }

    /// Takes a text as what the argument [`STANDARD_INPUT`] stands for.
    pub fn with_standard_input(mut self, text: &str) -> Source {
        let text = Arc::from(text);
        self.clusters.iter_mut().flat_map(|cluster| &mut cluster.folders).for_each(|one| one.give(&text));
        self
    }

    /// Believes that a file is gone or empty only when it has been so for this long. Without it
    /// the first look counts.
    pub fn with_patience(self, patience: Duration) -> Source {
        Source { patience, ..self }
    }

    /// Walks the folders and reads what changed.
    pub fn read(&mut self) -> Reading {
        self.read_with_progress(&mut |_| {})
    }

    /// Like [`Source::read`]; `progress` is told how far it has come.
    pub fn read_with_progress(&mut self, progress: &mut dyn FnMut(&Progress)) -> Reading {
        let listings: Vec<Vec<io::Result<Listing>>> = self.clusters.iter().map(listings).collect();
        let files = || listings.iter().flatten().flatten().flat_map(|listing| listing.files.values());
        let octets = files().flatten().map(Stamp::size).sum();
        let meter = Meter::new(files().count(), octets, progress);
        let mut reading = Reading::default();
        let circumstances = circumstances(self.state.as_deref(), &self.previous, self.patience, &meter);
        for (cluster, listings) in self.clusters.iter_mut().zip(listings) {
            let mut batch = Batch::default();
            for (folder, listing) in listings.into_iter().enumerate() {
                cluster.refresh(folder, listing, circumstances, &mut batch);
            }
            cluster.recall(circumstances, &mut batch);
            reading.changes.extend(cluster.finish(batch, circumstances));
        }
        self.tidy();
        self.save_directories();
        self.complete(reading)
    }

    fn save_directories(&mut self) {
        let Some(state) = &self.state else { return };
        let held: Vec<HeldDirectories> = self.clusters.iter().flat_map(Cluster::held).collect();
        if held != self.held {
            state.save_directories(&held);
            self.held = held;
        }
    }

    /// Reads what may have changed at these absolute paths; `None` when they are not our concern.
    ///
    /// A known file costs that file; anything else that matters costs a walk.
    pub fn read_changed(&mut self, paths: &[PathBuf]) -> Option<Reading> {
        let mut files: Vec<(usize, FileKey)> = Vec::new();
        for path in paths {
            match self.concern(path) {
                Concern::None => {}
                Concern::Walk => return Some(self.read()),
                Concern::Files(found) => files.extend(found),
            }
        }
        files.sort();
        files.dedup();
        (!files.is_empty()).then(|| self.read_files(&files))
    }

    fn read_files(&mut self, files: &[(usize, FileKey)]) -> Reading {
        let mut reading = Reading::default();
        let mut nobody = |_: &Progress| {};
        let meter = Meter::new(0, 0, &mut nobody);
        let circumstances = circumstances(self.state.as_deref(), &self.previous, self.patience, &meter);
        for (index, cluster) in self.clusters.iter_mut().enumerate() {
            let mut batch = Batch::default();
            for (_, key) in files.iter().filter(|(of, _)| *of == index) {
                cluster.look(key, circumstances, &mut batch);
            }
            reading.changes.extend(cluster.finish(batch, circumstances));
        }
        self.complete(reading)
    }

    /// The clusters that may declare objects which could not be read.
    pub fn unproven(&self) -> impl Iterator<Item = ClusterId> {
        self.clusters.iter().filter(|cluster| cluster.is_unproven()).map(Cluster::id)
    }

    /// The file, line and column where an object is declared.
    pub fn locate(&self, cluster: ClusterId, object: &ObjectRef) -> Option<(PathBuf, u32, u32)> {
        self.clusters.get(usize::from(cluster.0))?.locate(object)
    }

    /// Where objects are declared, one by one.
    pub fn locations(&self, objects: &[(ClusterId, ObjectRef)]) -> Vec<Option<Location>> {
        let location = |(cluster, object): &(ClusterId, ObjectRef)| {
            let (file, line, column) = self.locate(*cluster, object)?;
            Some(Location { file: file.display().to_string(), line, column })
        };
        objects.iter().map(location).collect()
    }

    /// What an event at a path asks for.
    fn concern(&self, path: &Path) -> Concern {
        let folders = || self.clusters.iter().flat_map(|cluster| cluster.below(path));
        if folders().all(|(_, below)| is_hidden(below)) {
            // A ConfigMap's new content comes by a new `..data`.
            let swapped = folders().any(|(_, below)| below.to_string_lossy().starts_with(".."));
            return if swapped { Concern::Walk } else { Concern::None };
        }
        let clusters = self.clusters.iter().enumerate();
        let found: Vec<(usize, FileKey)> = clusters
            .flat_map(|(index, c)| c.files_at(path).into_iter().map(move |key| (index, key)))
            .collect();
        match found.is_empty() {
            false if path.is_file() => Concern::Files(found),
            true if FileKind::of(path).is_none() && !self.is_directory(path) => Concern::None,
            _ => Concern::Walk,
        }
    }

    fn is_directory(&self, path: &Path) -> bool {
        path.is_dir() || self.directories().any(|(directory, _)| directory == path)
    }

    /// The directories that were read, with device and inode.
    fn directories(&self) -> impl Iterator<Item = (PathBuf, (u64, u64))> {
        let folders = self.clusters.iter().flat_map(|cluster| &cluster.folders);
        folders.flat_map(|folder| {
            folder.directories.iter().map(|(below, identity)| (joined(&folder.absolute, below), *identity))
        })
    }

    /// Whether some folder could not be read.
    fn misses_a_folder(&self) -> bool {
        self.clusters.iter().flat_map(|cluster| &cluster.folders).any(|folder| folder.trouble.is_some())
    }

    /// Once everything could be read, what was deleted while nobody watched is dropped from the
    /// state directory.
    fn tidy(&mut self) {
        let Some(state) = &self.state else { return };
        if !self.tidied && !self.misses_a_folder() {
            self.tidied = true;
            state.keep_only(&self.clusters.iter().flat_map(Cluster::saved_keys).collect::<Vec<_>>());
        }
    }

    fn complete(&self, mut reading: Reading) -> Reading {
        for cluster in &self.clusters {
            cluster.problems(&mut reading.problems);
            cluster.secrets(&mut reading.secrets);
            let (objects, files, records) = cluster.counts();
            reading.objects += objects;
            reading.files += files;
            reading.records += records;
            reading.unsettled |= cluster.is_unsettled();
        }
        reading
    }
}

enum Concern {
    None,
    Walk,
    Files(Vec<(usize, FileKey)>),
}

fn listings(cluster: &Cluster) -> Vec<io::Result<Listing>> {
    cluster.folders.iter().map(Folder::listing).collect()
}

fn circumstances<'a>(
    state: Option<&'a StateDir>,
    previous: &'a [Cluster],
    patience: Duration,
    meter: &'a Meter<'a>,
) -> Circumstances<'a> {
    Circumstances { state, previous, now: Instant::now(), patience, meter }
}

fn is_hidden(below: &Path) -> bool {
    below.iter().any(|name| name.as_encoded_bytes().starts_with(b"."))
}

/// Without the final slash that joining an empty path would leave.
fn joined(root: &Path, below: &Path) -> PathBuf {
    if below.as_os_str().is_empty() { root.to_owned() } else { root.join(below) }
}
