//! Keys in a folder: each file with its checksum, and there twice.
//!
//! The checksum is the first entry of the file's JSON. A file without one was put there by a person, from a
//! Secret or a backup, and is taken as it is.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use dns::Name;
use server::dnssec::ZoneKeys;

use super::{KeysError, entry};
use crate::state::{hex, private};

/// The ending of a file that is not finished.
const ASIDE: &str = "new";
/// The ending of a key file, and of its second copy.
const KEYS: &str = "json";
const COPY: &str = "copy";
/// How the line with the checksum begins.
const CHECKSUM: &str = "  \"checksum\": ";

/// A folder of keys.
#[derive(Clone, Debug)]
pub struct KeyFolder {
    root: PathBuf,
}

/// How a change of a file is noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp(Option<SystemTime>, u64);

impl KeyFolder {
    /// The folder at this path; it is made with the first key.
    pub fn new(root: PathBuf) -> KeyFolder {
        KeyFolder { root }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// The keys of a zone; `None` where there are none.
    pub fn load(&self, vault: &str, zone: &Name) -> Result<Option<ZoneKeys>, KeysError> {
        self.read(&self.file(vault, zone), zone)
    }

    /// When the keys of a zone were last written.
    pub fn stamp(&self, vault: &str, zone: &Name) -> Option<Stamp> {
        let metadata = fs::metadata(self.file(vault, zone)).ok()?;
        Some(Stamp(metadata.modified().ok(), metadata.len()))
    }

    /// Changes the keys of a zone with nobody else at them, and keeps what comes of it before
    /// anybody uses it. What is given back unchanged is not written.
    ///
    /// While the disk refuses writes, keys that are there are given back as they are.
    pub fn edit(
        &self,
        vault: &str,
        zone: &Name,
        change: impl FnOnce(Option<ZoneKeys>) -> Result<ZoneKeys, KeysError>,
    ) -> Result<ZoneKeys, KeysError> {
        let path = self.file(vault, zone);
        let failed = |source| KeysError::Io { zone: zone.clone(), path: path.clone(), source };
        let _lock = match self.lock(vault) {
            Ok(lock) => lock,
            Err(error) => return self.read(&path, zone)?.ok_or_else(|| failed(error)),
        };
        let before = self.read(&path, zone)?;
        let text = before.as_ref().map(ZoneKeys::to_stored);
        let after = change(before)?;
        let stored = after.to_stored();
        match (write_both(&path, &stored), text) {
            // It is on the disk in one copy at least, or was put there by a person.
            (Err(_), Some(text)) if text == stored => Ok(after),
            (written, _) => written.map(|()| after).map_err(failed),
        }
    }

    /// Every zone that has keys, with its vault, in their order.
    pub fn all(&self) -> Vec<(String, Result<ZoneKeys, KeysError>)> {
        let mut files: Vec<(String, PathBuf)> = vaults(&self.root)
            .into_iter()
            .flat_map(|(vault, folder)| key_files(&folder).into_iter().map(move |path| (vault.clone(), path)))
            .collect();
        files.sort();
        let read = |(vault, path): (String, PathBuf)| {
            // A file that cannot be read is called what its zone would be.
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let zone = stem.parse().unwrap_or_else(|_| Name::root());
            let keys = self.read(&path, &zone).transpose()?;
            Some((vault, keys))
        };
        files.into_iter().filter_map(read).collect()
    }

    fn file(&self, vault: &str, zone: &Name) -> PathBuf {
        self.root.join(vault).join(entry(zone))
    }

    fn read(&self, path: &Path, zone: &Name) -> Result<Option<ZoneKeys>, KeysError> {
        match (read_one(path, zone), read_one(&path.with_extension(COPY), zone)) {
            (Ok(Some(keys)), _) | (_, Ok(Some(keys))) => Ok(Some(keys)),
            (Err(error), _) | (_, Err(error)) => Err(error),
            _ => Ok(None),
        }
    }

    fn lock(&self, vault: &str) -> io::Result<File> {
        private::create_directory(&self.root.join(vault))?;
        let file = private::append(&self.root.join("lock"))?;
        file.lock()?;
        Ok(file)
    }
}

fn read_one(path: &Path, zone: &Name) -> Result<Option<ZoneKeys>, KeysError> {
    let (zone, path) = (zone.clone(), path.to_owned());
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(KeysError::Io { zone, path, source }),
    };
    match verified(&text) {
        Some(text) => {
            ZoneKeys::from_stored(&text).map(Some).map_err(|source| KeysError::Stored { zone, path, source })
        }
        None => {
            let source = io::Error::new(io::ErrorKind::InvalidData, "its checksum does not match");
            Err(KeysError::Io { zone, path, source })
        }
    }
}

/// The text with a line more, after the first, that has the checksum of the rest.
fn with_checksum(text: &str) -> String {
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    format!("{first}\n{CHECKSUM}\"{}\",\n{rest}", checksum(text))
}

/// The text without its checksum; `None` where that is of another text.
fn verified(text: &str) -> Option<String> {
    let mut lines = text.splitn(3, '\n');
    let (Some(first), Some(line), Some(rest)) = (lines.next(), lines.next(), lines.next()) else {
        return Some(text.to_owned());
    };
    let Some(stated) = line.strip_prefix(CHECKSUM) else { return Some(text.to_owned()) };
    let plain = format!("{first}\n{rest}");
    (stated == format!("\"{}\",", checksum(&plain))).then_some(plain)
}

fn checksum(text: &str) -> String {
    hex(ring::digest::digest(&ring::digest::SHA256, text.as_bytes()).as_ref())
}

/// Replaces both copies, each in one step, where they hold something else.
fn write_both(path: &Path, stored: &str) -> io::Result<()> {
    let text = with_checksum(stored);
    for path in [path.to_owned(), path.with_extension(COPY)] {
        if !fs::read(&path).is_ok_and(|standing| standing == text.as_bytes()) {
            write(&path, text.as_bytes())?;
        }
    }
    Ok(())
}

/// Replaces a file that only its owner may read; what stands there is the old or the new content.
fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let aside = path.with_extension(ASIDE);
    let mut file = private::create(&aside)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&aside, path)?;
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

/// The key files of a vault, each by its first copy, whichever of the two is there.
fn key_files(folder: &Path) -> BTreeSet<PathBuf> {
    let is_copy = |path: &PathBuf| path.extension().is_some_and(|ending| ending == KEYS || ending == COPY);
    entries(folder).into_iter().filter(is_copy).map(|path| path.with_extension(KEYS)).collect()
}

fn vaults(root: &Path) -> Vec<(String, PathBuf)> {
    let folders = entries(root).into_iter().filter(|path| path.is_dir());
    folders
        .map(|path| (path.file_name().unwrap_or_default().to_string_lossy().into_owned(), path.clone()))
        .collect()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}
