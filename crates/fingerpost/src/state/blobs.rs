//! Packed zones in the state directory: each is there once, under the hash of its content, however
//! many views and source files have it; and once in memory, however often it is asked for.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use dns::PackedZone;

use super::hex;
use super::sealed::{self, Checksum, SealError};

/// The folder of packed zones.
#[derive(Debug)]
pub(super) struct Blobs {
    folder: PathBuf,
    known: Mutex<Known>,
}

/// The zones in memory whose hashes are known.
#[derive(Debug, Default)]
struct Known {
    zones: HashMap<String, Weak<PackedZone>>,
    /// By where the zone is. The weak pointer keeps that place from being given to another.
    hashes: HashMap<usize, (Weak<PackedZone>, String)>,
    /// With so many entries it is time to look for zones that are gone.
    full: usize,
}

impl Blobs {
    pub(super) fn new(folder: PathBuf) -> Blobs {
        Blobs { folder, known: Mutex::default() }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn path(&self, hash: &str) -> PathBuf {
        self.folder.join(hash)
    }

    /// The zone with this hash, where it is in memory.
    pub(super) fn in_memory(&self, hash: &str) -> Option<Arc<PackedZone>> {
        self.known().zones.get(hash).and_then(Weak::upgrade)
    }

    /// Reads one copy of a zone; `None` when there is none, the inner `None` when the octets are no zone.
    pub(super) fn read(&self, hash: &str, path: &Path) -> Result<Option<Option<Arc<PackedZone>>>, SealError> {
        let Some((checksum, octets)) = sealed::read_one(path)? else { return Ok(None) };
        if hex(&checksum) != hash {
            return Err(SealError::Checksum);
        }
        let zone = PackedZone::from_vec(octets).ok().map(Arc::new);
        zone.iter().for_each(|zone| self.known().add(zone, hash));
        Ok(Some(zone))
    }

    /// Writes a zone unless it is there; gives its hash. The folder still has to be synced.
    pub(super) fn write(&self, zone: &Arc<PackedZone>) -> io::Result<String> {
        let (head, nodes) = zone.as_parts();
        let parts = [&head[..], nodes];
        let known = self.hash_of(zone).filter(|hash| sealed::exists(&self.path(hash)));
        if let Some(hash) = known {
            return Ok(hash);
        }
        let checksum: Checksum = sealed::checksum(&parts);
        let hash = hex(&checksum);
        if !sealed::exists(&self.path(&hash)) {
            sealed::replace(&self.path(&hash), &checksum, &parts)?;
        }
        self.known().add(zone, &hash);
        Ok(hash)
    }

    fn hash_of(&self, zone: &Arc<PackedZone>) -> Option<String> {
        self.known().hashes.get(&address(zone)).map(|(_, hash)| hash.clone())
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn address(zone: &Arc<PackedZone>) -> usize {
    Arc::as_ptr(zone) as usize
}

impl Known {
    fn add(&mut self, zone: &Arc<PackedZone>, hash: &str) {
        if self.hashes.len() >= self.full {
            self.hashes.retain(|_, (zone, _)| zone.strong_count() > 0);
            self.zones.retain(|_, zone| zone.strong_count() > 0);
            self.full = 2 * self.hashes.len() + 16;
        }
        self.hashes.insert(address(zone), (Arc::downgrade(zone), hash.to_owned()));
        self.zones.insert(hash.to_owned(), Arc::downgrade(zone));
    }
}
