//! The state directory of `up`: what the next start needs to answer before, and better than, a
//! fresh reading of the folders could.
//!
//! ```text
//! lock            held while a process uses the directory
//! serials         the serial of every zone and the hash of the content that carried it
//! delivered       what may stand at webhook servers because of us
//! remembered      under what DNSRecords stand at providers, so that one that moves is made before it is broken
//! directions      where Placements were directed, and the generations of their leases
//! zones           which compiled zones each view has, as packed zones
//! journal         what changed in these zones since they were written
//! file/HASH       one source file's last good content and last valid objects; a zone file's zone is packed
//! zone/HASH       one packed zone, of a view or of a source file or of both
//! ```
//!
//! Every file is versioned, checksummed, written aside, synced and renamed by one thread of its
//! own, so that no answer waits for a disk, and a write costs what changed; the journal alone
//! grows in place. A file that cannot be read is set aside as `NAME.bad-N` and reported; it is
//! never fatal. A journal is used as far as it can be read. `plan`, `check` and `explain` do not
//! come here.

mod blobs;
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

use dns::{Name, PackedZone};
use planner::{Change, ClusterId, Memory, ObjectRef, SavedSerial};

use serde_json::Value;

use crate::deliveries::Everything;
use crate::directing::SavedDirection;
use blobs::Blobs;
use sealed::SealError;

pub use location::default_location;
pub(crate) use location::{absolute, key};
pub use saved_file::{SavedContent, SavedFile, SavedKey, SavedZoneFile, ZoneTexts};
use writer::Writer;

const FILES: &str = "file";
const SERIALS: &str = "serials";
const DELIVERED: &str = "delivered";
const REMEMBERED: &str = "remembered";
const DIRECTIONS: &str = "directions";

/// The zones of each view, in the views' order.
pub type SavedZones = Vec<(String, Vec<SavedZone>)>;

/// A zone as it is kept: what is over its file, and the file.
#[derive(Clone, Debug, PartialEq)]
pub struct SavedZone {
    /// The SOA, and the names that are not as the file has them; all names where there is no file.
    pub own: Arc<PackedZone>,
    /// The zone file under them.
    pub base: Option<Arc<PackedZone>>,
    /// Names that a packed zone cannot say, in a form that only the caller knows.
    pub names: Value,
}

/// A state directory that this process holds.
#[derive(Debug)]
pub struct StateDir {
    root: PathBuf,
    blobs: Arc<Blobs>,
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
        let blobs = Arc::new(Blobs::new(root.join(zones::BLOBS)));
        let writer = Writer::start(root.to_owned(), blobs.clone(), troubles.clone()).map_err(failed)?;
        Ok(StateDir { root: root.to_owned(), blobs, troubles, writer, _lock: lock })
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
    pub fn save_file(&self, saved: SavedFile) {
        self.writer.write_source(Path::new(FILES).join(saved.key.file_name()), saved);
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
        self.load(&self.root.join(SERIALS), json).unwrap_or_default()
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
        self.load(&self.root.join(DELIVERED), json).unwrap_or_default()
    }

    /// Keeps what may stand at servers because of us.
    pub fn save_delivered(&self, everything: &Everything) {
        match serde_json::to_vec(everything) {
            Ok(bytes) => self.writer.write(PathBuf::from(DELIVERED), bytes),
            Err(error) => self.troubles.add(format!("what was delivered cannot be kept: {error}")),
        }
    }

    /// Under what DNSRecords stood at providers and what Placements and Gateways answered, as last saved.
    pub fn load_remembered(&self) -> Vec<Change> {
        let saved: Vec<(u16, Arc<str>, Arc<str>, Memory)> =
            self.load(&self.root.join(REMEMBERED), json).unwrap_or_default();
        let change = |(cluster, namespace, name, memory): (u16, Arc<str>, Arc<str>, Memory)| {
            let reference = ObjectRef { kind: memory.kind(), namespace, name };
            Change::Remembered(ClusterId(cluster), reference, memory)
        };
        saved.into_iter().map(change).collect()
    }

    /// Keeps under what DNSRecords stand at providers, and what Placements and Gateways answer.
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

    /// Where Placements were directed, as last saved.
    pub fn load_directions(&self) -> Vec<SavedDirection> {
        self.load(&self.root.join(DIRECTIONS), json).unwrap_or_default()
    }

    /// Keeps where Placements are directed.
    pub fn save_directions(&self, directions: &[SavedDirection]) {
        match serde_json::to_vec(directions) {
            Ok(bytes) => self.writer.write(PathBuf::from(DIRECTIONS), bytes),
            Err(error) => self.troubles.add(format!("where Placements are directed cannot be kept: {error}")),
        }
    }

    /// The compiled zones as last saved; a zone that cannot be read is left out and reported.
    pub fn load_zones(&self) -> SavedZones {
        let index = self.load(&self.root.join(zones::INDEX), zones::parse_index).unwrap_or_default();
        let zones =
            |kept: Vec<zones::Kept>| kept.into_iter().filter_map(|kept| self.load_zone(kept)).collect();
        index.into_iter().map(|(view, kept)| (view, zones(kept))).collect()
    }

    /// A zone that is there in part only would answer that the rest does not exist.
    fn load_zone(&self, kept: zones::Kept) -> Option<SavedZone> {
        let base = match &kept.base {
            Some(hash) => Some(self.packed(hash)?),
            None => None,
        };
        Some(SavedZone { own: self.packed(&kept.own)?, base, names: kept.names })
    }

    /// The packed zone with this hash; one that cannot be read is set aside and reported.
    fn packed(&self, hash: &str) -> Option<Arc<PackedZone>> {
        if let Some(zone) = self.blobs.in_memory(hash) {
            return Some(zone);
        }
        let path = self.blobs.path(hash);
        let trouble = match self.blobs.read(hash) {
            Ok(Some(Some(zone))) => return Some(zone),
            Ok(Some(None)) => SENSELESS.to_owned(),
            Ok(None) => {
                self.troubles.add(format!("{} is missing", path.display()));
                return None;
            }
            Err(error) => error.to_string(),
        };
        self.set_aside(&path, &trouble);
        None
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
        self.load(path, |bytes| SavedFile::from_bytes(bytes, |hash| self.packed(hash))).flatten()
    }

    fn saved_files(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.root.join(FILES)).into_iter().flatten().flatten();
        // What has an ending is unfinished or set aside.
        entries.map(|entry| entry.path()).filter(|path| path.extension().is_none()).collect()
    }

    /// Reads, checks and decodes a file; one that cannot be read is set aside and reported.
    fn load<T>(&self, path: &Path, decode: impl FnOnce(&[u8]) -> Option<T>) -> Option<T> {
        let read =
            |result: Result<Option<Vec<u8>>, SealError>| match result.map_err(|error| error.to_string())? {
                Some(bytes) => decode(&bytes).map(Some).ok_or_else(|| SENSELESS.to_owned()),
                None => Ok(None),
            };
        read(sealed::read(path)).unwrap_or_else(|trouble: String| {
            self.set_aside(path, &trouble);
            None
        })
    }

    fn set_aside(&self, path: &Path, trouble: &str) {
        self.troubles.add(match sealed::set_aside(path) {
            Ok(to) => format!("{} cannot be used ({trouble}): set aside as {}", path.display(), to.display()),
            Err(error) => format!("{} cannot be used ({trouble}) nor set aside ({error})", path.display()),
        });
    }
}

const SENSELESS: &str = "its content makes no sense";

fn json<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    serde_json::from_slice(bytes).ok()
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
pub(crate) fn hex(octets: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = |octet: &u8| [DIGITS[usize::from(octet >> 4)], DIGITS[usize::from(octet & 15)]];
    octets.iter().flat_map(digits).map(char::from).collect()
}
