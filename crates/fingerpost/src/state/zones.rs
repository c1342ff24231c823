//! Compiled zones on disk: one file per zone, named by its content, and an index of the views.
//!
//! A zone that did not change keeps its name and is not written again. The index is replaced
//! after its zones are there and before the old ones go, so that it never names what is missing.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use ring::digest::{SHA256, digest};

use super::{SavedZones, hex, sealed};

pub(super) const INDEX: &str = "zones";
pub(super) const BLOBS: &str = "zone";

/// For each view its zones' file names.
type Index = Vec<(String, Vec<String>)>;

pub(super) fn parse_index(bytes: &[u8]) -> Option<Index> {
    serde_json::from_slice(bytes).ok()
}

pub(super) fn write(root: &Path, zones: &SavedZones) -> io::Result<()> {
    let mut index = Index::new();
    for (view, blobs) in zones {
        let hashes: io::Result<Vec<String>> = blobs.iter().map(|blob| write_blob(root, blob)).collect();
        index.push((view.clone(), hashes?));
    }
    sealed::sync_directory(&root.join(BLOBS))?;
    sealed::write(&root.join(INDEX), &serde_json::to_vec(&index)?)?;
    sealed::sync_directory(root)?;
    remove_others(root, &index)
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
