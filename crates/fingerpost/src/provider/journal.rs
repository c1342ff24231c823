//! A journal in two files: what must not be lost, on the disk before it is acknowledged.
//!
//! ```text
//! append:   NAME written and synced ─► NAME.copy written ─► acknowledged
//! rewrite:  NAME replaced ─► NAME.copy replaced, both with the next epoch
//! ```
//!
//! `NAME` is synced with every append; `NAME.copy` is written after that, and synced at most once a second. So
//! what was acknowledged survives a crash in `NAME`, and damage in one of the files is read from the other. A
//! tail that does not check out was never acknowledged where the other file ends before it: a crash leaves that.
//!
//! Opening writes nothing. A disk that refuses a write leaves the journal as it was, and the next append tries
//! again; where the files have to be written anew, the caller gives the whole content for that.

mod lines;
mod recovery;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::state::private;
use lines::{HEADER, Place};
pub use recovery::Loss;

/// How long the second file may stay behind the first one on the disk.
const BEHIND: Duration = Duration::from_secs(1);
/// How many octets are written to find out whether the disk takes some again.
const PROBE: usize = 4096;

/// A change that a journal can hold.
pub trait Change: Serialize + DeserializeOwned {
    /// To what the change belongs. It is kept apart from the change, so that damage is known by it.
    fn label(&self) -> String;
}

/// A journal of changes of one type.
#[derive(Debug)]
pub struct Journal<T> {
    path: PathBuf,
    /// The two files, ready to append to; none while they have to be written anew first.
    files: Option<[File; 2]>,
    next: Place,
    length: u64,
    synced: Option<Instant>,
    /// The files are damaged, and to be kept for people before they are written anew.
    damaged: bool,
    changes: PhantomData<fn(T)>,
}

/// What a journal held when it was opened.
#[derive(Debug)]
pub struct Opened<T> {
    /// The journal, to append to.
    pub journal: Journal<T>,
    /// What it holds, in order.
    pub changes: Vec<T>,
    /// What it held, and is in neither file.
    pub loss: Loss,
    /// What is wrong with it, for people.
    pub trouble: Option<String>,
}

impl<T: Change> Journal<T> {
    /// Reads a journal, or begins one; nothing is written.
    pub fn open(path: &Path) -> io::Result<Opened<T>> {
        let paths = paths(path);
        let copies = match (read(&paths[0]), read(&paths[1])) {
            (Ok(one), Ok(two)) => [one, two],
            (Ok(Some(one)), Err(_)) => [Some(one), None],
            (Err(_), Ok(Some(two))) => [None, Some(two)],
            (Err(error), _) | (_, Err(error)) => return Err(error),
        };
        let found = recovery::recover(&copies);
        let length = copies[0].as_ref().map_or(0, Vec::len) as u64;
        let files = found.is_whole.then(|| opened(&paths)).and_then(Result::ok);
        let journal = Journal {
            path: path.to_owned(),
            files,
            next: found.next,
            length,
            synced: None,
            damaged: found.is_damaged,
            changes: PhantomData,
        };
        let trouble = trouble(path, &found);
        Ok(Opened { journal, changes: found.changes, loss: found.loss, trouble })
    }

    /// Whether the files have to be written anew before anything can be appended.
    pub fn is_stale(&self) -> bool {
        self.files.is_none()
    }

    /// Appends changes and waits for the disk; `whole` is everything before them, for files that have to be
    /// written anew. After an error nothing of it counts.
    pub fn append(&mut self, changes: &[T], whole: impl FnOnce() -> Vec<T>) -> io::Result<()> {
        if self.files.is_none() {
            self.rewrite(&whole())?;
        }
        let (text, next) = lines::written(changes, self.next)?;
        let Some([one, two]) = &mut self.files else { return Err(io::Error::other("there is no journal")) };
        let sync = self.synced.is_none_or(|synced| synced.elapsed() >= BEHIND);
        let written = one.write_all(&text).and_then(|()| one.sync_data()).and_then(|()| two.write_all(&text));
        match written.and_then(|()| if sync { two.sync_data() } else { Ok(()) }) {
            Ok(()) => {
                self.synced = if sync { Some(Instant::now()) } else { self.synced };
                (self.next, self.length) = (next, self.length + text.len() as u64);
                Ok(())
            }
            Err(error) => {
                let taken_back = [one, two].iter().try_for_each(|file| {
                    file.set_len(self.length)?;
                    file.sync_data()
                });
                if taken_back.is_err() {
                    self.files = None;
                }
                Err(error)
            }
        }
    }

    /// Replaces everything by these changes, which amount to the same.
    pub fn rewrite(&mut self, changes: &[T]) -> io::Result<()> {
        let paths = paths(&self.path);
        if self.damaged {
            for path in &paths {
                keep_aside(path)?;
            }
            self.damaged = false;
        }
        let first = self.next.next_epoch(changes.len() as u64);
        let (text, next) = lines::written(changes, first)?;
        let text = [HEADER.as_bytes(), &text].concat();
        self.files = None;
        // Whatever fails from here on, no later file may have this epoch.
        self.next = first;
        let folder = self.path.parent().unwrap_or(Path::new("."));
        private::create_directory(folder)?;
        for path in &paths {
            replace(path, &text)?;
        }
        File::open(folder)?.sync_all()?;
        self.files = Some(opened(&paths)?);
        (self.next, self.length, self.synced) = (next, text.len() as u64, Some(Instant::now()));
        Ok(())
    }

    /// Finds out whether the disk takes a few octets.
    pub fn probe(&self) -> io::Result<()> {
        let path = self.path.with_extension("probe");
        let written = private::create(&path).and_then(|mut file| {
            file.write_all(&[0; PROBE])?;
            file.sync_all()
        });
        let removed = fs::remove_file(&path);
        written.and(removed)
    }

    /// How many octets each file has.
    pub fn length(&self) -> u64 {
        self.length
    }
}

fn paths(path: &Path) -> [PathBuf; 2] {
    [path.to_owned(), path.with_extension("copy")]
}

fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(octets) => Ok(Some(octets)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn opened(paths: &[PathBuf; 2]) -> io::Result<[File; 2]> {
    let open = |path: &Path| OpenOptions::new().append(true).open(path);
    Ok([open(&paths[0])?, open(&paths[1])?])
}

/// Replaces a file in one step. On a full disk the unfinished file is removed.
fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    let aside = path.with_extension("new");
    let written = private::create(&aside).and_then(|mut file| {
        file.write_all(text)?;
        file.sync_all()
    });
    let replaced = written.and_then(|()| fs::rename(&aside, path));
    if replaced.is_err() {
        // It may never have been there.
        let _ = fs::remove_file(&aside);
    }
    replaced
}

fn trouble<T>(path: &Path, found: &recovery::Recovered<T>) -> Option<String> {
    let path = path.display();
    match &found.loss {
        Loss::None if found.is_damaged => {
            Some(format!("one of {path} and its copy is damaged: everything is in the other, and both are written anew"))
        }
        Loss::None => found.is_torn.then(|| {
            format!("the end of {path} or of its copy was cut short by a crash: nothing that was acknowledged is lost")
        }),
        Loss::Labels(labels) => {
            let labels: Vec<String> = labels.iter().map(|label| dns::visible(label).to_string()).collect();
            Some(format!("{path} and its copy are damaged in the same places, which belong to {}", labels.join(", ")))
        }
        Loss::All => Some(format!("{path} and its copy are damaged in the same places, and cannot be used")),
    }
}

/// Copies a file under a name that is free, so that a person can look.
fn keep_aside(path: &Path) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let free = (1u32..).map(|n| path.with_file_name(format!("{name}.bad-{n}"))).find(|to| !to.exists());
    let to = free.ok_or_else(|| io::Error::other("no free name"))?;
    match fs::copy(path, &to) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            // A full disk must not lose more than this.
            let _ = fs::remove_file(&to);
            Err(error)
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
