//! Compiled zones on disk: one file per zone, named by its content, and an index of the views.
//!
//! A zone that did not change keeps its name and is not written again. The index is replaced
//! after its zones are there and before the old ones go, so that it never names what is missing.
//! The journal begins anew behind it: until then the one that stands belongs to another index.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use ring::digest::{SHA256, digest};

use super::journal::{self, Checksum, Journal};
use super::{SavedZones, hex, sealed};

pub(super) const INDEX: &str = "zones";
pub(super) const BLOBS: &str = "zone";

/// For each view its zones' file names.
type Index = Vec<(String, Vec<String>)>;

pub(super) fn parse_index(bytes: &[u8]) -> Option<Index> {
    serde_json::from_slice(bytes).ok()
}

/// Writes all zones; gives the journal of what comes after them.
pub(super) fn write(root: &Path, zones: &SavedZones) -> io::Result<Journal> {
    let mut index = Index::new();
    for (view, blobs) in zones {
        let hashes: io::Result<Vec<String>> = blobs.iter().map(|blob| write_blob(root, blob)).collect();
        index.push((view.clone(), hashes?));
    }
    sealed::sync_directory(&root.join(BLOBS))?;
    let hash = write_index(root, &serde_json::to_vec(&index)?)?;
    let journal = Journal::begin(root, &hash, size(zones))?;
    sealed::sync_directory(root)?;
    remove_others(root, &index)?;
    Ok(journal)
}

fn size(zones: &SavedZones) -> u64 {
    zones.iter().flat_map(|(_, blobs)| blobs).map(|blob| blob.len() as u64).sum()
}

/// Replaces the index. A journal that belongs to no index that stands goes first: it might belong
/// to the new one, which may be the same as one before, and nothing in it is newer.
pub(super) fn write_index(root: &Path, index: &[u8]) -> io::Result<Checksum> {
    journal::remove_foreign(root, standing(root).as_ref())?;
    sealed::write(&root.join(INDEX), index)?;
    sealed::sync_directory(root)?;
    Ok(journal::index_hash(index))
}

/// The hash of the index on the disk.
pub(super) fn standing(root: &Path) -> Option<Checksum> {
    sealed::read(&root.join(INDEX)).ok().flatten().map(|index| journal::index_hash(&index))
}

fn write_blob(root: &Path, blob: &[u8]) -> io::Result<String> {
    let hash = hex(digest(&SHA256, blob).as_ref());
    let path = root.join(BLOBS).join(&hash);
    if !path.exists() {
        sealed::write(&path, blob)?;
    }
    Ok(hash)
}

fn remove_others(root: &Path, index: &Index) -> io::Result<()> {
    let kept: BTreeSet<&str> = index.iter().flat_map(|(_, hashes)| hashes).map(String::as_str).collect();
    for entry in fs::read_dir(root.join(BLOBS))? {
        let entry = entry?;
        let name = entry.file_name();
        let set_aside = name.to_string_lossy().contains(".bad-");
        if !set_aside && !name.to_str().is_some_and(|name| kept.contains(name)) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}
