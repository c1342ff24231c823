//! The state directory of `up`: what the next start needs to answer before, and better than, a
//! fresh reading of the folders could.
//!
//! ```text
//! lock            held while a process uses the directory
//! serials         the serial of every zone and the hash of the content that carried it
//! owner           the owner ID in ownership records at providers
//! delivered       what may stand at webhook servers because of us
//! remembered      under what DNSRecords stand at providers, so that one that moves is made before it is broken
//! ports           which view answers on which of the addresses from `--dns` on
//! directories     device and inode of the source directories that held files
//! holders         which objects hold which names, origins and lists
//! recent-holders  what changed in that since it was written
//! directions      where Placements were directed, and the generations of their leases
//! zones           which compiled zones each view has, as packed zones
//! journal         what changed in these zones since they were written
//! file/HASH       one source file's last good content and last valid objects; a zone file's zone is packed
//! zone/HASH       one packed zone, of a view or of a source file or of both
//! ```
//!
//! Every file is versioned, checksummed, written aside, synced and renamed by one thread of its
//! own, so that no answer waits for a disk, and a write costs what changed; the journal alone
//! grows in place. Every file is there twice, as `NAME` and `NAME.copy`: where one is damaged the other is used
//! and the damaged one is set aside as `NAME.bad-N`, written again and reported. Where both are damaged both are
//! set aside. Neither is fatal. A journal is used as far as one of its copies can be read. A full or read-only
//! disk is not fatal either: what it holds is read, and what is to be written waits. All files are readable by
//! their owner alone. `plan`, `check` and `explain` do not come here.

mod blobs;
mod journal;
mod location;
mod opening;
pub(crate) mod private;
mod saved_file;
mod sealed;
#[cfg(test)]
mod tests;
mod verifier;
mod writer;
mod zones;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use dns::{Name, PackedZone};
use planner::{Change, ClusterId, Memory, ObjectRef, SavedChange, SavedHolder, SavedSerial};

use serde_json::Value;

use crate::deliveries::Everything;
use crate::directing::SavedDirection;
use blobs::Blobs;

pub use location::default_location;
pub(crate) use location::{absolute, key};
pub(crate) use opening::{Opened, open as open_directory};
pub use saved_file::{SavedContent, SavedFile, SavedKey, SavedZoneFile, ZoneTexts};
use writer::Writer;

const FILES: &str = "file";
/// The folders in a state directory.
const FOLDERS: &[&str] = &[FILES, zones::BLOBS];
const GENERATION: &str = "generation";
const OWNER: &str = "owner";
const SERIALS: &str = "serials";
const DELIVERED: &str = "delivered";
const REMEMBERED: &str = "remembered";
const DIRECTIONS: &str = "directions";
const DIRECTORIES: &str = "directories";
const PORTS: &str = "ports";
const HOLDERS: &str = "holders";
const RECENT_HOLDERS: &str = "recent-holders";

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

/// The directories of one source folder that held files when they were last read.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct HeldDirectories {
    /// The cluster's name.
    pub cluster: String,
    /// The folder's absolute path.
    pub folder: String,
    /// Path below the folder, device and inode of each.
    pub directories: Vec<(PathBuf, (u64, u64))>,
}

/// A state directory that this process holds.
#[derive(Debug)]
pub struct StateDir {
    root: PathBuf,
    blobs: Arc<Blobs>,
    troubles: Troubles,
    writer: Writer,
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
    /// Opens the directory, creates it where it is missing, and locks it for this process. One that cannot be
    /// written at the moment is read, and written as soon as that is possible.
    pub fn open(root: &Path) -> Result<StateDir, StateError> {
        let opened = opening::open(root, FOLDERS)?;
        let troubles = Troubles::default();
        let blobs = Arc::new(Blobs::new(root.join(zones::BLOBS)));
        let writer = Writer::start(root.to_owned(), opened, blobs.clone(), troubles.clone())
            .map_err(|source| StateError::Io { path: root.to_owned(), source })?;
        Ok(StateDir { root: root.to_owned(), blobs, troubles, writer })
    }

    /// Whether the disk refused the last write, so that what is saved is older than what is served.
    pub fn is_refused(&self) -> bool {
        self.writer.is_refused()
    }

    /// Whether an earlier process saved something here, readable or not.
    pub fn is_used(&self) -> bool {
        is_used(&self.root)
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

    /// The last good content of every file of manifests of one cluster, by folder and path.
    pub fn load_manifests(&self, cluster: &str) -> Vec<SavedFile> {
        let paths = self.saved_files().into_iter().filter(|path| !saved_file::is_of_zone(path));
        let mut found: Vec<SavedFile> = paths.filter_map(|path| self.load_file_at(&path)).collect();
        found.retain(|saved| saved.key.cluster == cluster);
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
        let kept: BTreeSet<String> = keys.iter().map(SavedKey::file_name).collect();
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

    /// The generation that the last run wrote to providers with.
    pub fn load_generation(&self) -> Option<u64> {
        self.load(&self.root.join(GENERATION), json)
    }

    /// Keeps the generation of this run.
    pub fn save_generation(&self, generation: u64) {
        self.writer.write(PathBuf::from(GENERATION), generation.to_string().into_bytes());
    }

    /// The owner ID in ownership records at providers, as saved at the first use.
    pub fn load_owner(&self) -> Option<String> {
        self.load(&self.root.join(OWNER), json)
    }

    /// Keeps the owner ID, and waits until that was tried.
    pub fn save_owner(&self, owner: &str) {
        self.writer.write(PathBuf::from(OWNER), Value::from(owner).to_string().into_bytes());
        self.flush();
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

    /// The source directories that held files, as last saved.
    pub fn load_directories(&self) -> Vec<HeldDirectories> {
        self.load(&self.root.join(DIRECTORIES), json).unwrap_or_default()
    }

    /// Keeps which source directories hold files.
    pub fn save_directories(&self, held: &[HeldDirectories]) {
        match serde_json::to_vec(held) {
            Ok(bytes) => self.writer.write(PathBuf::from(DIRECTORIES), bytes),
            Err(error) => self.troubles.add(format!("the source directories cannot be kept: {error}")),
        }
    }

    /// Which view had which port, as last saved.
    pub fn load_ports(&self) -> Vec<Option<String>> {
        self.load(&self.root.join(PORTS), json).unwrap_or_default()
    }

    /// Keeps which view has which port.
    pub fn save_ports(&self, given: &[Option<String>]) {
        match serde_json::to_vec(given) {
            Ok(bytes) => self.writer.write(PathBuf::from(PORTS), bytes),
            Err(error) => self.troubles.add(format!("the ports of views cannot be kept: {error}")),
        }
    }

    /// Which objects held what when everything was last saved, with the number of that saving.
    pub fn load_holders(&self) -> (i64, Vec<SavedHolder>) {
        self.load(&self.root.join(HOLDERS), json).unwrap_or_default()
    }

    /// Keeps which objects hold what.
    pub fn save_holders(&self, generation: i64, holders: &[SavedHolder]) {
        match serde_json::to_vec(&(generation, holders)) {
            Ok(bytes) => self.writer.write(PathBuf::from(HOLDERS), bytes),
            Err(error) => self.troubles.add(format!("who holds which names cannot be kept: {error}")),
        }
    }

    /// What changed since a saving of the holders, with the number of that saving.
    pub fn load_recent_holders(&self) -> (i64, SavedChange) {
        self.load(&self.root.join(RECENT_HOLDERS), json).unwrap_or_default()
    }

    /// Keeps what changed since a saving of the holders.
    pub fn save_recent_holders(&self, generation: i64, change: &SavedChange) {
        match serde_json::to_vec(&(generation, change)) {
            Ok(bytes) => self.writer.write(PathBuf::from(RECENT_HOLDERS), bytes),
            Err(error) => self.troubles.add(format!("who holds which names cannot be kept: {error}")),
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

    /// The packed zone with this hash, from the first copy that is whole.
    fn packed(&self, hash: &str) -> Option<Arc<PackedZone>> {
        if let Some(zone) = self.blobs.in_memory(hash) {
            return Some(zone);
        }
        let path = self.blobs.path(hash);
        let read = |path: &Path| match self.blobs.read(hash, path).map_err(|error| error.to_string())? {
            Some(Some(zone)) => Ok(Some(zone)),
            Some(None) => Err(SENSELESS.to_owned()),
            None => Ok(None),
        };
        if !path.exists() && !sealed::copy_of(&path).exists() {
            self.troubles.add(format!("{} is missing", path.display()));
            return None;
        }
        self.either_copy(&path, read)
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

    /// The changes since the zones were written, in order, up to the first that can be read in no copy.
    pub fn load_changes<T>(&self, decode: impl Fn(&[u8]) -> Option<T>) -> Vec<T> {
        let path = self.root.join(journal::JOURNAL);
        let copies: Vec<Vec<u8>> =
            journal::paths(&self.root).iter().filter_map(|path| self.octets(path)).collect();
        let copies: Vec<&[u8]> = copies.iter().map(|octets| &octets[..]).collect();
        let Some(index) = zones::standing(&self.root) else { return Vec::new() };
        // Where it does not belong, the process ended between the zones and their journal: the zones are newer.
        let frames = journal::frames(&copies, &index);
        let changes: Vec<T> = frames.contents.iter().map_while(|content| decode(content)).collect();
        if frames.lost || changes.len() < frames.contents.len() {
            self.troubles.add(format!(
                "{} cannot be read to its end (it is torn or was changed): the {} changes before that place \
                 are used",
                path.display(),
                changes.len()
            ));
        } else if frames.torn {
            self.troubles.add(format!(
                "one of the two copies of {} is torn or was changed: the other one is used",
                path.display()
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

    fn saved_files(&self) -> BTreeSet<PathBuf> {
        sealed::files_in(&self.root.join(FILES))
    }

    /// Reads, checks and decodes the first copy of a file that is whole.
    fn load<T>(&self, path: &Path, decode: impl Fn(&[u8]) -> Option<T>) -> Option<T> {
        let read = |path: &Path| match sealed::read_one(path).map_err(|error| error.to_string())? {
            Some((_, bytes)) => decode(&bytes).map(Some).ok_or_else(|| SENSELESS.to_owned()),
            None => Ok(None),
        };
        self.either_copy(path, read)
    }

    /// What the first copy of a file holds, or the second one where the first is damaged. A damaged copy is
    /// reported and written again; where both are damaged they are set aside.
    fn either_copy<T>(&self, path: &Path, read: impl Fn(&Path) -> Result<Option<T>, String>) -> Option<T> {
        let first = read(path);
        if let Ok(Some(found)) = first {
            return Some(found);
        }
        let copy = sealed::copy_of(path);
        let second = read(&copy);
        match (first, second) {
            (first, Ok(Some(found))) => {
                let trouble = first.err().unwrap_or_else(|| "it is missing".to_owned());
                self.troubles.add(format!(
                    "{} cannot be used ({trouble}): its copy is used, and it is written again",
                    path.display()
                ));
                self.writer.repair(path.to_owned());
                Some(found)
            }
            (first, second) => {
                first.err().into_iter().for_each(|trouble| self.set_aside(path, &trouble));
                second.err().into_iter().for_each(|trouble| self.set_aside(&copy, &trouble));
                None
            }
        }
    }

    fn set_aside(&self, path: &Path, trouble: &str) {
        self.troubles.add(match sealed::set_aside(path) {
            Ok(to) => format!("{} cannot be used ({trouble}): set aside as {}", path.display(), to.display()),
            Err(error) => format!("{} cannot be used ({trouble}) nor set aside ({error})", path.display()),
        });
    }
}

/// The owner ID in a state directory that another process may use.
pub fn saved_owner(root: &Path) -> Option<String> {
    sealed::read(&root.join(OWNER)).ok().flatten().and_then(|octets| json(&octets))
}

/// Whether an owner ID was saved in a state directory, readable or not.
pub fn had_owner(root: &Path) -> bool {
    has(root, OWNER)
}

/// Whether `up` served folders with a state directory before.
pub fn is_of_earlier_run(root: &Path) -> bool {
    is_used(root) || has(root, GENERATION)
}

fn is_used(root: &Path) -> bool {
    has(root, zones::INDEX) || fs::read_dir(root.join(FILES)).is_ok_and(|mut files| files.next().is_some())
}

/// Whether a file, its copy or a damaged one of the name is in a directory.
fn has(root: &Path, name: &str) -> bool {
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .any(|file| file.split('.').next() == Some(name))
}

const SENSELESS: &str = "its content makes no sense";

fn json<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    serde_json::from_slice(bytes).ok()
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
