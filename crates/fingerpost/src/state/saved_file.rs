//! What is kept of one source file: its last good content, and the last valid version of those of
//! its objects that are not valid now.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::Arc;

use dns::PackedZone;
use planner::FileNote;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{hex, sealed};

/// Which source file: unique within one state directory, and the same after a restart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SavedKey {
    /// The cluster's name.
    pub cluster: String,
    /// The folder's absolute path.
    pub folder: String,
    /// The file's path below the folder.
    pub path: String,
}

/// The last good content of one source file.
#[derive(Clone, Debug, PartialEq)]
pub struct SavedFile {
    /// Which file it is.
    pub key: SavedKey,
    /// The content.
    pub content: SavedContent,
}

/// The content, by what the file is.
#[derive(Clone, Debug, PartialEq)]
pub enum SavedContent {
    /// A file of manifests.
    Manifests {
        /// The last text that was YAML throughout.
        text: String,
        /// The last valid version of those of its objects that are not valid in that text.
        last_valid: Vec<Value>,
    },
    /// A zone file: what it includes is in it.
    Zone(SavedZoneFile),
}

/// What a zone file was read to hold, and the texts that it was read from.
#[derive(Clone, Debug, PartialEq)]
pub struct SavedZoneFile {
    /// The zone.
    pub zone: Arc<PackedZone>,
    /// From which texts.
    pub texts: ZoneTexts,
    /// What there was to remark.
    pub notes: Vec<FileNote>,
}

/// The texts of a zone file and of what it includes, by their hashes: to one reader the same texts
/// are the same zone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZoneTexts {
    /// Which version read them.
    pub reader: String,
    /// The hash of the file's text.
    pub text: String,
    /// The length of the file's text, where its last line is whole.
    #[serde(default)]
    pub whole: Option<u64>,
    /// The included files by their paths below the folder.
    pub includes: Vec<(String, String)>,
    /// The lengths of those included files whose last line is whole.
    #[serde(default)]
    pub whole_includes: Vec<(String, u64)>,
}

/// What stands before the text, or alone for a zone, as one line of JSON.
#[derive(Serialize, Deserialize)]
struct Head {
    key: SavedKey,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    zone: Option<ZoneHead>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    last_valid: Vec<Value>,
}

#[derive(Serialize, Deserialize)]
struct ZoneHead {
    /// The hash of the packed zone, which stands by itself.
    packed: String,
    texts: ZoneTexts,
    /// Path, line, column and message.
    notes: Vec<(String, u32, u32, String)>,
}

/// The ending of the names of zone files' states.
const ZONE: &str = "-zone";

impl SavedKey {
    /// The file's name in the state directory.
    pub(super) fn file_name(&self) -> String {
        let text = [&self.cluster[..], &self.folder, &self.path].join("\0");
        let hash = hex(&ring::digest::digest(&ring::digest::SHA256, text.as_bytes()).as_ref()[..16]);
        if self.path.ends_with(".zone") { hash + ZONE } else { hash }
    }
}

impl SavedFile {
    /// As it is kept; a zone is written before that, and `write` gives its hash.
    pub(super) fn to_bytes(
        &self,
        write: impl FnOnce(&Arc<PackedZone>) -> io::Result<String>,
    ) -> io::Result<Vec<u8>> {
        let (zone, last_valid, body) = match &self.content {
            SavedContent::Manifests { text, last_valid } => (None, last_valid.clone(), text.as_bytes()),
            SavedContent::Zone(saved) => {
                (Some(ZoneHead::new(saved, write(&saved.zone)?)), Vec::new(), &[][..])
            }
        };
        let mut bytes = serde_json::to_vec(&Head { key: self.key.clone(), zone, last_valid })?;
        bytes.push(b'\n');
        bytes.extend_from_slice(body);
        Ok(bytes)
    }

    /// Reads what [`SavedFile::to_bytes`] wrote; `read` gives the zone with a hash. The inner `None`
    /// where that is not there.
    pub(super) fn from_bytes(
        bytes: &[u8],
        read: impl FnOnce(&str) -> Option<Arc<PackedZone>>,
    ) -> Option<Option<SavedFile>> {
        let (head, body) = head(bytes)?;
        let content = match head.zone {
            Some(zone) => match read(&zone.packed) {
                Some(packed) => SavedContent::Zone(zone.into_saved(packed)),
                None => return Some(None),
            },
            None => {
                let text = String::from_utf8(body.to_vec()).ok()?;
                SavedContent::Manifests { text, last_valid: head.last_valid }
            }
        };
        Some(Some(SavedFile { key: head.key, content }))
    }
}

impl ZoneHead {
    fn new(saved: &SavedZoneFile, packed: String) -> ZoneHead {
        let note = |note: &FileNote| (note.path.clone(), note.line, note.column, note.message.clone());
        ZoneHead { packed, texts: saved.texts.clone(), notes: saved.notes.iter().map(note).collect() }
    }

    fn into_saved(self, zone: Arc<PackedZone>) -> SavedZoneFile {
        let note = |(path, line, column, message)| FileNote { path, line, column, message };
        SavedZoneFile { zone, texts: self.texts, notes: self.notes.into_iter().map(note).collect() }
    }
}

fn head(bytes: &[u8]) -> Option<(Head, &[u8])> {
    let end = bytes.iter().position(|octet| *octet == b'\n')?;
    Some((serde_json::from_slice(&bytes[..end]).ok()?, &bytes[end + 1..]))
}

/// Whether a file of the state directory is that of a zone file.
pub(super) fn is_of_zone(path: &Path) -> bool {
    path.to_string_lossy().ends_with(ZONE)
}

/// The hashes of all packed zones that the files in a folder have; `None` where one cannot be read.
pub(super) fn packed_zones(folder: &Path) -> Option<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    for path in sealed::files_in(folder) {
        if !is_of_zone(&path) {
            continue;
        }
        let bytes = sealed::read(&path).ok()??;
        let (head, _) = head(&bytes)?;
        found.extend(head.zone.map(|zone| zone.packed));
    }
    Some(found)
}

#[cfg(test)]
pub(super) mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    pub(crate) fn key(path: &str) -> SavedKey {
        SavedKey { cluster: "default".into(), folder: "/etc/dns".into(), path: path.into() }
    }

    pub(crate) fn zone(serial: u32) -> Arc<PackedZone> {
        let text = format!("@ 60 IN SOA ns host {serial} 2 3 4 5\nwww 60 IN A 192.0.2.1\n");
        let mut nothing = |_: &str, _: &str| Err(String::new());
        Arc::new(dns::read_zone("example.org.zone", text, &mut nothing).unwrap().zone)
    }

    #[test]
    fn a_saved_file_comes_back_as_it_was() {
        let last_valid = vec![serde_json::json!({"kind": "Zone", "metadata": {"name": "line\nbreak"}})];
        let manifests = SavedContent::Manifests { text: "a: 1\n---\nb: 2\n".into(), last_valid };
        let includes = vec![("more.inc".to_owned(), "cd".to_owned())];
        let notes = vec![FileNote { path: "a.zone".into(), line: 3, column: 1, message: "left out".into() }];
        let whole_includes = vec![("more.inc".to_owned(), 9)];
        let texts =
            ZoneTexts { reader: "1".into(), text: "ab".into(), whole: Some(7), includes, whole_includes };
        for content in [manifests, SavedContent::Zone(SavedZoneFile { zone: zone(1), texts, notes })] {
            let saved = SavedFile { key: key("a.yaml"), content };
            let bytes = saved.to_bytes(|_| Ok("hash".into())).unwrap();
            let read = |hash: &str| (hash == "hash").then(|| zone(1));
            assert_eq!(SavedFile::from_bytes(&bytes, read).unwrap().unwrap(), saved);
        }
    }

    #[test]
    fn files_of_other_folders_have_other_names() {
        let mut other = key("a.yaml");
        assert_eq!(other.file_name(), key("a.yaml").file_name());
        other.folder = "/etc/other".into();
        assert_ne!(other.file_name(), key("a.yaml").file_name());
    }
}
