//! The state directory of `up`: what the next start needs to answer before, and better than, a
//! fresh reading of the folders could.
//!
//! ```text
//! lock            held while a process uses the directory
//! serials         the serial of every zone and the hash of the content that carried it
//! delivered       what may stand at webhook servers because of us
//! remembered      under what DNSRecords stand at providers, so that one that moves is made before it is broken
//! zones           which compiled zones each view has      zone/HASH   one compiled zone
//! journal         what changed in these zones since they were written
//! file/HASH       one source file's last good content and last valid objects
//! ```
//!
//! Every file is versioned, checksummed, written aside, synced and renamed by one thread of its
//! own, so that no answer waits for a disk, and a write costs what changed; the journal alone
//! grows in place. A file that cannot be read is set aside as `NAME.bad-N` and reported; it is
//! never fatal. A journal is used as far as it can be read. `plan`, `check` and `explain` do not
//! come here.

mod journal;
mod location;
mod saved_file;
mod sealed;
#[cfg(test)]
mod tests;
mod writer;
mod zones;

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use api::Kind;
use dns::Name;
use planner::{Change, ClusterId, Memory, ObjectRef, SavedSerial};

use crate::deliveries::Everything;

pub use location::default_location;
pub(crate) use location::{absolute, key};
pub use saved_file::{SavedContent, SavedFile, SavedKey};
use writer::Writer;

const FILES: &str = "file";
const SERIALS: &str = "serials";
const DELIVERED: &str = "delivered";
const REMEMBERED: &str = "remembered";

/// The zones of each view, in the views' order: the view's name, then its zones in a form that
/// only the caller knows.
pub type SavedZones = Vec<(String, Vec<Vec<u8>>)>;

/// A state directory that this process holds.
#[derive(Debug)]
pub struct StateDir {
    root: PathBuf,
    troubles: Troubles,
    writer: Writer,
    _lock: File,
}

/// Why there is no state directory.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// Another process has it.
    #[error(
        "the state directory {0} is in use by another fingerpost: stop that one, or give this one a directory \
         of its own with --state DIR"
    )]
    InUse(PathBuf),
    /// The file system refused.
    #[error("the state directory {path} cannot be used: name another with --state DIR")]
    Io {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl StateDir {
    /// Opens the directory, makes it where it is missing, and locks it for this process.
    pub fn open(root: &Path) -> Result<StateDir, StateError> {
        let failed = |source| StateError::Io { path: root.to_owned(), source };
        for directory in [FILES, zones::BLOBS] {
            fs::create_dir_all(root.join(directory)).map_err(failed)?;
        }
        let lock = lock(root)?;
        let troubles = Troubles::default();
        let writer = Writer::start(root.to_owned(), troubles.clone()).map_err(failed)?;
        Ok(StateDir { root: root.to_owned(), troubles, writer, _lock: lock })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// What went wrong since this was last asked; each is one line for the user.
    pub fn take_problems(&self) -> Vec<String> {
        self.troubles.take()
    }

    /// Waits until everything handed over is on the disk.
    pub fn flush(&self) {
        self.writer.flush();
    }

    /// The last good content of a source file.
    pub fn load_file(&self, key: &SavedKey) -> Option<SavedFile> {
        self.load_file_at(&self.root.join(FILES).join(key.file_name())).filter(|saved| saved.key == *key)
    }

    /// The last good content of every source file of one folder, by path: for a folder that is
    /// not there.
    pub fn load_folder(&self, cluster: &str, folder: &str) -> Vec<SavedFile> {
        let mut found: Vec<SavedFile> =
            self.saved_files().into_iter().filter_map(|path| self.load_file_at(&path)).collect();
        found.retain(|saved| saved.key.cluster == cluster && saved.key.folder == folder);
        found.sort_by(|a, b| a.key.cmp(&b.key));
        found
    }

    /// Keeps the last good content of a source file.
    pub fn save_file(&self, saved: &SavedFile) {
        match saved.to_bytes() {
            Ok(bytes) => self.writer.write(Path::new(FILES).join(saved.key.file_name()), bytes),
            Err(error) => {
                self.troubles.add(format!("the state of {} cannot be kept: {error}", saved.key.path))
            }
        }
    }

    /// Drops a source file that is gone.
    pub fn forget_file(&self, key: &SavedKey) {
        self.writer.remove(Path::new(FILES).join(key.file_name()));
    }

    /// Drops every source file but these: what was deleted while nobody watched.
    pub fn keep_only(&self, keys: &[SavedKey]) {
        let kept: std::collections::BTreeSet<String> = keys.iter().map(SavedKey::file_name).collect();
        for path in self.saved_files() {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if !kept.contains(&name) {
                self.writer.remove(Path::new(FILES).join(name));
            }
        }
    }

    /// The serials as last saved; none when there are none or they cannot be read.
    pub fn load_serials(&self) -> BTreeMap<Name, SavedSerial> {
        self.load(&self.root.join(SERIALS), |bytes| serde_json::from_slice(bytes).ok()).unwrap_or_default()
    }

    /// Keeps the serials.
    pub fn save_serials(&self, serials: &BTreeMap<Name, SavedSerial>) {
        match serde_json::to_vec(serials) {
            Ok(bytes) => self.writer.write(PathBuf::from(SERIALS), bytes),
            Err(error) => self.troubles.add(format!("the serials cannot be kept: {error}")),
        }
    }

    /// What may stand at servers because of us, as last saved.
    pub fn load_delivered(&self) -> Everything {
        self.load(&self.root.join(DELIVERED), |bytes| serde_json::from_slice(bytes).ok()).unwrap_or_default()
    }

    /// Keeps what may stand at servers because of us.
    pub fn save_delivered(&self, everything: &Everything) {
        match serde_json::to_vec(everything) {
            Ok(bytes) => self.writer.write(PathBuf::from(DELIVERED), bytes),
            Err(error) => self.troubles.add(format!("what was delivered cannot be kept: {error}")),
        }
    }

    /// Under what DNSRecords stood at providers, as last saved; an object's kind is left out, since all are
    /// DNSRecords.
    pub fn load_remembered(&self) -> Vec<Change> {
        let saved: Vec<(u16, Arc<str>, Arc<str>, Memory)> = self
            .load(&self.root.join(REMEMBERED), |bytes| serde_json::from_slice(bytes).ok())
            .unwrap_or_default();
        let change = |(cluster, namespace, name, memory)| {
            let reference = ObjectRef { kind: Kind::DNSRecord, namespace, name };
            Change::Remembered(ClusterId(cluster), reference, memory)
        };
        saved.into_iter().map(change).collect()
    }

    /// Keeps under what DNSRecords stand at providers.
    pub fn save_remembered(&self, remembered: &[(ClusterId, ObjectRef, Memory)]) {
        let saved: Vec<_> = remembered
            .iter()
            .map(|(cluster, object, memory)| (cluster.0, &object.namespace, &object.name, memory))
            .collect();
        match serde_json::to_vec(&saved) {
            Ok(bytes) => self.writer.write(PathBuf::from(REMEMBERED), bytes),
            Err(error) => self.troubles.add(format!("what DNSRecords stand under cannot be kept: {error}")),
        }
    }

    /// The compiled zones as last saved; a zone that cannot be read is left out and reported.
    pub fn load_zones(&self) -> SavedZones {
        let index = self.load(&self.root.join(zones::INDEX), zones::parse_index).unwrap_or_default();
        let blob =
            |hash: &String| self.load(&self.root.join(zones::BLOBS).join(hash), |bytes| Some(bytes.to_vec()));
        index.into_iter().map(|(view, hashes)| (view, hashes.iter().filter_map(blob).collect())).collect()
    }

    /// Keeps the compiled zones; only those that changed are written. The journal begins anew.
    pub fn save_zones(&self, zones: SavedZones) {
        self.writer.zones(zones);
    }

    /// Keeps a change of the zones that were handed over last, in a form that only the caller
    /// knows: all of it or nothing is read again.
    pub fn save_change(&self, change: Vec<u8>) {
        self.writer.append(change);
    }

    /// Whether the zones have to be written whole before a change of them can be kept.
    pub fn wants_zones(&self) -> bool {
        self.writer.journal_ends()
    }

    /// The changes since the zones were written, in order, up to the first that cannot be read.
    pub fn load_changes<T>(&self, decode: impl Fn(&[u8]) -> Option<T>) -> Vec<T> {
        let path = self.root.join(journal::JOURNAL);
        let Some(octets) = self.octets(&path) else { return Vec::new() };
        let frames = journal::frames(&octets);
        if frames.index.is_some() && frames.index != zones::standing(&self.root) {
            // The process ended between the zones and their journal: the zones are newer.
            return Vec::new();
        }
        let changes: Vec<T> = frames.contents.iter().map_while(|content| decode(content)).collect();
        if frames.torn || changes.len() < frames.contents.len() {
            self.troubles.add(format!(
                "{} cannot be read to its end (it is torn or was changed): the {} changes before that place \
                 stand",
                path.display(),
                changes.len()
            ));
        }
        changes
    }

    fn octets(&self, path: &Path) -> Option<Vec<u8>> {
        match fs::read(path) {
            Ok(octets) => Some(octets),
            Err(error) => {
                if error.kind() != io::ErrorKind::NotFound {
                    self.troubles.add(format!("{} cannot be read: {error}", path.display()));
                }
                None
            }
        }
    }

    fn load_file_at(&self, path: &Path) -> Option<SavedFile> {
        self.load(path, SavedFile::from_bytes)
    }

    fn saved_files(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.root.join(FILES)).into_iter().flatten().flatten();
        // What has an ending is unfinished or set aside.
        entries.map(|entry| entry.path()).filter(|path| path.extension().is_none()).collect()
    }

    /// Reads, checks and decodes a file; one that cannot be read is set aside and reported.
    fn load<T>(&self, path: &Path, decode: impl Fn(&[u8]) -> Option<T>) -> Option<T> {
        let trouble = match sealed::read(path) {
            Ok(None) => return None,
            Ok(Some(bytes)) => match decode(&bytes) {
                Some(decoded) => return Some(decoded),
                None => "its content makes no sense".to_owned(),
            },
            Err(error) => error.to_string(),
        };
        self.troubles.add(match sealed::set_aside(path) {
            Ok(to) => format!("{} cannot be used ({trouble}): set aside as {}", path.display(), to.display()),
            Err(error) => format!("{} cannot be used ({trouble}) nor set aside ({error})", path.display()),
        });
        None
    }
}

/// Keeps other processes out of a directory for as long as the file is open.
pub(crate) fn lock(root: &Path) -> Result<File, StateError> {
    let failed = |source| StateError::Io { path: root.to_owned(), source };
    let file = File::create(root.join("lock")).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StateError::InUse(root.to_owned())),
        Err(TryLockError::Error(source)) => Err(failed(source)),
    }
}

/// What went wrong, for the user to read; the same line is kept once.
#[derive(Clone, Debug, Default)]
struct Troubles(Arc<Mutex<Vec<String>>>);

impl Troubles {
    fn add(&self, line: String) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !lines.contains(&line) {
            lines.push(line);
        }
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Lower-case hexadecimal digits.
fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}
