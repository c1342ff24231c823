//! Compiled zones on disk: an index of the views, and the packed zones that it names.
//!
//! A zone is kept as it is served: what is over a zone file, and the file under it, which is the
//! one that the source keeps. What did not change keeps its name and is not written again. The
//! index is replaced after its zones are there and before the old ones go, so that it never names
//! what is missing. The journal begins anew behind it: until then the one that stands belongs to
//! another index.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::blobs::Blobs;
use super::journal::{self, Checksum, Journal};
use super::{FILES, SavedZone, SavedZones, saved_file, sealed};

pub(super) const INDEX: &str = "zones";
pub(super) const BLOBS: &str = "zone";
const COPY_ENDING: &str = ".copy";

/// For each view its zones.
pub(super) type Index = Vec<(String, Vec<Kept>)>;

/// A zone by the names of its files.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Kept {
    pub(super) own: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) base: Option<String>,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub(super) names: Value,
}

pub(super) fn parse_index(bytes: &[u8]) -> Option<Index> {
    serde_json::from_slice(bytes).ok()
}

/// Writes all zones; gives the journal of what comes after them.
pub(super) fn write(root: &Path, blobs: &Blobs, zones: &SavedZones) -> io::Result<Journal> {
    let mut index = Index::new();
    for (view, zones) in zones {
        let kept: io::Result<Vec<Kept>> = zones.iter().map(|zone| write_zone(blobs, zone)).collect();
        index.push((view.clone(), kept?));
    }
    sealed::sync_directory(blobs.folder())?;
    let hash = write_index(root, &serde_json::to_vec(&index)?)?;
    let journal = Journal::begin(root, &hash, size(zones))?;
    sealed::sync_directory(root)?;
    remove_others(root, &index)?;
    Ok(journal)
}

fn write_zone(blobs: &Blobs, zone: &SavedZone) -> io::Result<Kept> {
    let base = zone.base.as_ref().map(|base| blobs.write(base)).transpose()?;
    Ok(Kept { own: blobs.write(&zone.own)?, base, names: zone.names.clone() })
}

fn size(zones: &SavedZones) -> u64 {
    let packed =
        zones.iter().flat_map(|(_, zones)| zones).flat_map(|zone| zone.base.iter().chain([&zone.own]));
    packed.map(|packed| packed.memory() as u64).sum()
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

/// Removes the packed zones that neither the index nor a source file has.
fn remove_others(root: &Path, index: &Index) -> io::Result<()> {
    // Where a source file's state cannot be read, it cannot be said what it has.
    let Some(mut kept) = saved_file::packed_zones(&root.join(FILES)) else { return Ok(()) };
    let zones = index.iter().flat_map(|(_, zones)| zones);
    kept.extend(zones.flat_map(|zone| zone.base.iter().chain([&zone.own])).cloned());
    remove_unnamed(&root.join(BLOBS), &kept)
}

fn remove_unnamed(folder: &Path, kept: &BTreeSet<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_kept = kept.contains(name.strip_suffix(COPY_ENDING).unwrap_or(&name));
        if !is_kept && !name.contains(".bad-") {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}
