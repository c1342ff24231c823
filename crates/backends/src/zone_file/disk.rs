//! Zone files on a disk: read with care, written aside, synced and renamed.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use dns::{Name, RecordSet, read_zone, write_zone};

use super::edit::Content;
use super::parent;
use crate::Failure;

/// The first line of every file that we have written.
const HEADER: &str = "; Written by Fingerpost. Edits are kept, but not their comments and layout.\n";

const NO_DIRECTORY: Failure =
    Failure::Unsupported("the directory of the zone files cannot be read or written");

/// A zone's file.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) origin: Name,
    pub(super) path: PathBuf,
}

impl Place {
    /// The file's text and what it holds. What cannot be read whole is not read at all.
    pub(super) fn read(&self) -> Result<(String, Content), Failure> {
        let octets = fs::read(&self.path).map_err(|error| of_reading(&error))?;
        let text = String::from_utf8(octets).map_err(|_| Failure::BrokenFile(None))?;
        let content = self.parse(&text).map_err(Failure::BrokenFile)?;
        Ok((text, content))
    }

    /// The content of a text, or the line with the error where it is one line.
    fn parse(&self, text: &str) -> Result<Content, Option<u32>> {
        // What another file holds could not be written back to where it came from.
        let mut nothing_included = |_: &str, _: &str| Err("nothing is included".to_owned());
        let read = read_zone(&self.path.to_string_lossy(), text, &mut nothing_included);
        let read = read.map_err(|error| Some(error.line))?;
        let sets: Vec<RecordSet> = read.zone.iter().collect();
        // What the parser leaves out or changes would be lost with the next writing.
        let is_whole = read.is_whole && *read.zone.origin() == self.origin;
        is_whole.then(|| Content::new(self.origin.clone(), sets)).ok_or(None)
    }

    /// Replaces the text that was read before, if any, by new content.
    pub(super) fn write(&self, before: Option<&str>, content: &Content) -> Result<(), Failure> {
        let text = rendered(&self.origin, content);
        if self.parse(&text).as_ref() != Ok(content) {
            return Err(Failure::Refused("INVALID_ZONE"));
        }
        let aside = self.beside("new");
        write_synced(&aside, &text).map_err(|_| NO_DIRECTORY)?;
        let replaced = self.replace(before, &aside);
        if replaced.is_err() {
            // It may be left; the next writing takes its name again.
            let _ = fs::remove_file(&aside);
        }
        replaced
    }

    fn replace(&self, before: Option<&str>, aside: &Path) -> Result<(), Failure> {
        let now = match fs::read(&self.path) {
            Ok(octets) => Some(octets),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(_) => return Err(NO_DIRECTORY),
        };
        if now.as_deref() != before.map(str::as_bytes) {
            return Err(Failure::Changed);
        }
        if let Some(text) = before.filter(|text| self.is_edited(text)) {
            write_synced(&self.beside("edited"), text).map_err(|_| NO_DIRECTORY)?;
        }
        fs::rename(aside, &self.path).map_err(|_| NO_DIRECTORY)?;
        File::open(parent(&self.path)).and_then(|folder| folder.sync_all()).map_err(|_| NO_DIRECTORY)
    }

    /// Whether a text is not what we would have written, so that comments or a layout would be lost.
    fn is_edited(&self, text: &str) -> bool {
        self.parse(text).ok().is_none_or(|content| rendered(&self.origin, &content) != text)
    }

    /// A file of another use, which no server takes for a zone.
    fn beside(&self, ending: &str) -> PathBuf {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        self.path.with_file_name(format!(".{name}.{ending}"))
    }

    /// A number that moves with every writing of the file, whoever writes.
    pub(super) fn revision(&self) -> Result<u64, Failure> {
        let metadata = fs::metadata(&self.path).map_err(|error| of_reading(&error))?;
        let written = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let nanoseconds = written.ok_or(NO_DIRECTORY)?.as_nanos();
        // Two writings within one tick of the file system's clock are two files, since each is renamed into
        // place. Of the nanoseconds the low half moves all the time; the high half is no more than the century.
        Ok(nanoseconds as u64 ^ metadata.ino().rotate_left(32) ^ metadata.len().rotate_left(16))
    }
}

/// Whether a file was made by us, so that its SOA and name servers follow the plan.
pub(super) fn is_ours(text: &str) -> bool {
    text.starts_with(HEADER)
}

fn rendered(origin: &Name, content: &Content) -> String {
    format!("{HEADER}{}", write_zone(origin, content.sets().cloned()))
}

fn of_reading(error: &std::io::Error) -> Failure {
    match error.kind() {
        ErrorKind::NotFound => Failure::NoZone,
        _ => NO_DIRECTORY,
    }
}

fn write_synced(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Makes a directory, but none of those above it: one that is missing there is a disk that is not mounted.
pub(super) fn make_directory(path: &Path) -> Result<(), Failure> {
    match fs::create_dir(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(NO_DIRECTORY),
        _ => Ok(()),
    }
}

/// Whether files can be kept there, or it can be made.
pub(super) fn is_usable(path: &Path) -> Result<(), Failure> {
    let is_directory = |path: &Path| fs::metadata(path).is_ok_and(|metadata| metadata.is_dir());
    let is_missing = fs::metadata(path).is_err_and(|error| error.kind() == ErrorKind::NotFound);
    match is_directory(path) || (is_missing && is_directory(parent(path))) {
        true => Ok(()),
        false => Err(NO_DIRECTORY),
    }
}

/// Runs what waits for the disk where it keeps nobody else waiting.
pub(super) async fn in_background<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    tokio::task::spawn_blocking(work).await.unwrap_or(Err(NO_DIRECTORY))
}
