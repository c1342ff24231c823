//! What is kept of one source file: its last good content, and the last valid version of those of
//! its objects that are not valid now.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::hex;

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
    /// A zone file, packed as [`dns::PackedZone::to_bytes`] has it: what it includes is in it.
    Zone(Vec<u8>),
}

/// What stands before the text or the packed zone, as one line of JSON.
#[derive(Serialize, Deserialize)]
struct Head {
    key: SavedKey,
    zone: bool,
    last_valid: Vec<Value>,
}

impl SavedKey {
    /// The file's name in the state directory.
    pub(super) fn file_name(&self) -> String {
        let text = [&self.cluster[..], &self.folder, &self.path].join("\0");
        hex(&ring::digest::digest(&ring::digest::SHA256, text.as_bytes()).as_ref()[..16])
    }
}

impl SavedFile {
    pub(super) fn to_bytes(&self) -> serde_json::Result<Vec<u8>> {
        let (zone, last_valid, body) = match &self.content {
            SavedContent::Manifests { text, last_valid } => (false, last_valid.clone(), text.as_bytes()),
            SavedContent::Zone(packed) => (true, Vec::new(), &packed[..]),
        };
        let mut bytes = serde_json::to_vec(&Head { key: self.key.clone(), zone, last_valid })?;
        bytes.push(b'\n');
        bytes.extend_from_slice(body);
        Ok(bytes)
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Option<SavedFile> {
        let end = bytes.iter().position(|octet| *octet == b'\n')?;
        let head: Head = serde_json::from_slice(&bytes[..end]).ok()?;
        let body = bytes[end + 1..].to_vec();
        let content = match head.zone {
            true => SavedContent::Zone(body),
            false => {
                SavedContent::Manifests { text: String::from_utf8(body).ok()?, last_valid: head.last_valid }
            }
        };
        Some(SavedFile { key: head.key, content })
    }
}

#[cfg(test)]
pub(super) mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    pub(crate) fn key(path: &str) -> SavedKey {
        SavedKey { cluster: "default".into(), folder: "/etc/dns".into(), path: path.into() }
    }

    #[test]
    fn a_saved_file_comes_back_as_it_was() {
        let last_valid = vec![serde_json::json!({"kind": "Zone", "metadata": {"name": "line\nbreak"}})];
        let manifests = SavedContent::Manifests { text: "a: 1\n---\nb: 2\n".into(), last_valid };
        for content in [manifests, SavedContent::Zone(vec![0, 10, 255])] {
            let saved = SavedFile { key: key("a.yaml"), content };
            assert_eq!(SavedFile::from_bytes(&saved.to_bytes().unwrap()).unwrap(), saved);
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
