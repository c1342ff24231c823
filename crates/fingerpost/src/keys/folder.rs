//! Keys in a folder.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use dns::Name;
use server::dnssec::ZoneKeys;

use super::{KeysError, entry};

/// The ending of a file that is not finished.
const ASIDE: &str = "new";

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
    pub fn edit(
        &self,
        vault: &str,
        zone: &Name,
        change: impl FnOnce(Option<ZoneKeys>) -> Result<ZoneKeys, KeysError>,
    ) -> Result<ZoneKeys, KeysError> {
        let path = self.file(vault, zone);
        let failed = |source| KeysError::Io { zone: zone.clone(), path: path.clone(), source };
        let _lock = self.lock(vault).map_err(failed)?;
        let before = self.read(&path, zone)?;
        let text = before.as_ref().map(ZoneKeys::to_stored);
        let after = change(before)?;
        let stored = after.to_stored();
        if text.as_ref() != Some(&stored) {
            write(&path, stored.as_bytes()).map_err(failed)?;
        }
        Ok(after)
    }

    /// Every zone that has keys, with its vault, in their order.
    pub fn all(&self) -> Vec<(String, Result<ZoneKeys, KeysError>)> {
        let mut files: Vec<(String, PathBuf)> = vaults(&self.root)
            .into_iter()
            .flat_map(|(vault, folder)| entries(&folder).into_iter().map(move |path| (vault.clone(), path)))
            .filter(|(_, path)| path.extension().is_some_and(|extension| extension == "json"))
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
        let (zone, path) = (zone.clone(), path.to_owned());
        match fs::read_to_string(&path) {
            Ok(text) => ZoneKeys::from_stored(&text).map(Some).map_err(|source| KeysError::Stored {
                zone,
                path,
                source,
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(KeysError::Io { zone, path, source }),
        }
    }

    fn lock(&self, vault: &str) -> io::Result<File> {
        DirBuilder::new().recursive(true).mode(0o700).create(self.root.join(vault))?;
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(self.root.join("lock"))?;
        file.lock()?;
        Ok(file)
    }
}

/// Replaces a file that only its owner may read; what stands there is the old or the new content.
fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let aside = path.with_extension(ASIDE);
    // A file that somebody left half-written may have other rights.
    match fs::remove_file(&aside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&aside)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&aside, path)?;
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
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
