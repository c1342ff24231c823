//! The one thread that writes the state directory.
//!
//! What waits is written in one go, so that a burst of changes to one file costs one write, and
//! one to the zones one write to their journal.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use super::blobs::Blobs;
use super::journal::Journal;
use super::{SavedFile, SavedZones, Troubles, sealed, zones};

/// Hands work to the thread, and ends it when dropped, after its work is done.
#[derive(Debug)]
pub(super) struct Writer {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
    /// The journal takes no more: there is none, it failed, or it is long.
    journal_ends: Arc<AtomicBool>,
}

enum Job {
    Write(PathBuf, Content),
    Remove(PathBuf),
    Zones(SavedZones),
    Append(Vec<u8>),
    Flush(Sender<()>),
}

/// What is to stand in a file; a source file becomes octets on the thread, since a large zone takes
/// its time.
enum Content {
    Octets(Vec<u8>),
    Source(Box<SavedFile>),
}

impl Writer {
    pub(super) fn start(root: PathBuf, blobs: Arc<Blobs>, troubles: Troubles) -> io::Result<Writer> {
        let (jobs, work) = channel();
        let journal_ends = Arc::new(AtomicBool::new(true));
        let mut disk = Disk { root, blobs, troubles, journal: None, journal_ends: journal_ends.clone() };
        let thread = thread::Builder::new().name("state".into()).spawn(move || disk.run(&work))?;
        Ok(Writer { jobs: Some(jobs), thread: Some(thread), journal_ends })
    }

    /// Replaces a file, named below the root.
    pub(super) fn write(&self, name: PathBuf, content: Vec<u8>) {
        self.send(Job::Write(name, Content::Octets(content)));
    }

    /// Replaces the state of a source file.
    pub(super) fn write_source(&self, name: PathBuf, saved: SavedFile) {
        self.send(Job::Write(name, Content::Source(Box::new(saved))));
    }

    pub(super) fn remove(&self, name: PathBuf) {
        self.send(Job::Remove(name));
    }

    pub(super) fn zones(&self, zones: SavedZones) {
        self.journal_ends.store(false, Ordering::Release);
        self.send(Job::Zones(zones));
    }

    /// Adds to the journal of the zones that were handed over last.
    pub(super) fn append(&self, content: Vec<u8>) {
        self.send(Job::Append(content));
    }

    pub(super) fn journal_ends(&self) -> bool {
        self.journal_ends.load(Ordering::Acquire)
    }

    pub(super) fn flush(&self) {
        let (done, wait) = channel();
        self.send(Job::Flush(done));
        // An error means that the thread is gone, and with it all waiting.
        let _ = wait.recv();
    }

    fn send(&self, job: Job) {
        if let Some(jobs) = &self.jobs {
            let _ = jobs.send(job);
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Everything that waits, the last word on each file only.
#[derive(Default)]
struct Batch {
    files: BTreeMap<PathBuf, Option<Content>>,
    zones: Option<SavedZones>,
    /// What goes into the journal, after the zones.
    appended: Vec<Vec<u8>>,
    flushes: Vec<Sender<()>>,
}

impl Batch {
    fn add(&mut self, job: Job) {
        match job {
            Job::Write(name, content) => drop(self.files.insert(name, Some(content))),
            Job::Remove(name) => drop(self.files.insert(name, None)),
            Job::Zones(zones) => {
                self.zones = Some(zones);
                // The zones have all that was said before them.
                self.appended.clear();
            }
            Job::Append(content) => self.appended.push(content),
            Job::Flush(done) => self.flushes.push(done),
        }
    }
}

/// The thread's own side.
struct Disk {
    root: PathBuf,
    blobs: Arc<Blobs>,
    troubles: Troubles,
    journal: Option<Journal>,
    journal_ends: Arc<AtomicBool>,
}

impl Disk {
    fn run(&mut self, work: &Receiver<Job>) {
        while let Ok(first) = work.recv() {
            let mut batch = Batch::default();
            batch.add(first);
            work.try_iter().for_each(|job| batch.add(job));
            self.apply(&batch);
            for done in batch.flushes {
                let _ = done.send(());
            }
        }
    }

    /// One file's failure does not keep the others from the disk.
    fn apply(&mut self, batch: &Batch) {
        let mut touched = BTreeSet::new();
        for (name, content) in &batch.files {
            let path = self.root.join(name);
            let replaced = self.replace(&path, content.as_ref());
            self.report(replaced.map(|()| touched.extend(path.parent().map(Path::to_owned))));
        }
        touched.iter().for_each(|directory| self.report(sealed::sync_directory(directory)));
        self.write_zones(batch);
    }

    fn replace(&self, path: &Path, content: Option<&Content>) -> io::Result<()> {
        match content {
            Some(Content::Octets(octets)) => sealed::write(path, octets).map(drop),
            Some(Content::Source(saved)) => {
                let octets = saved.to_bytes(|zone| {
                    let hash = self.blobs.write(zone)?;
                    sealed::sync_directory(self.blobs.folder()).map(|()| hash)
                });
                sealed::write(path, &octets?).map(drop)
            }
            None => match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            },
        }
    }

    /// Writes the zones and their journal. What fails there ends the journal: a later frame would
    /// stand on something that is not on the disk.
    fn write_zones(&mut self, batch: &Batch) {
        // Other files say nothing about the journal of zones that are still on their way.
        if batch.zones.is_none() && batch.appended.is_empty() {
            return;
        }
        let journal = self.journal.take();
        let begun = match &batch.zones {
            Some(zones) => zones::write(&self.root, &self.blobs, zones).map(Some),
            None => Ok(journal),
        };
        match begun.and_then(|journal| appended(journal, &batch.appended)) {
            Ok(journal) => self.journal = journal,
            Err(error) => self.report(Err(error)),
        }
        let ends = self.journal.as_ref().is_none_or(Journal::is_long);
        self.journal_ends.store(ends, Ordering::Release);
    }

    fn report(&self, result: io::Result<()>) {
        if let Err(error) = result {
            self.troubles.add(format!("the state in {} cannot be kept: {error}", self.root.display()));
        }
    }
}

/// The journal with more in it. Without one the whole zones will come, and have it all.
fn appended(mut journal: Option<Journal>, contents: &[Vec<u8>]) -> io::Result<Option<Journal>> {
    match &mut journal {
        Some(journal) if !contents.is_empty() => journal.append(contents)?,
        _ => {}
    }
    Ok(journal)
}
