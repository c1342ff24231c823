//! The one thread that writes the state directory.
//!
//! What waits is written in one go, so that a burst of changes to one file costs one write, and
//! one to the zones one write to their journal. What the disk refuses waits too, and is tried again: a full or
//! read-only disk costs nothing but that the state on it is older. In idle times the thread compares the two
//! copies of every file, and repairs them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::blobs::Blobs;
use super::journal::Journal;
use super::opening::{self, Opened};
use super::{FOLDERS, SavedFile, SavedZones, StateError, Troubles, sealed, verifier, zones};
use verifier::Verifier;

/// How long until what the disk refused is tried again.
const RETRY: Duration = Duration::from_secs(5);
/// How much of the journal may wait for the disk before the zones are wanted whole.
const MOST_WAITING: usize = 1 << 20;

/// Hands work to the thread, and ends it when dropped, after its work is done.
#[derive(Debug)]
pub(super) struct Writer {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
    /// The journal takes no more: there is none, it failed, or it is long.
    journal_ends: Arc<AtomicBool>,
    refused: Arc<AtomicBool>,
}

enum Job {
    Write(PathBuf, Content),
    Remove(PathBuf),
    Repair(PathBuf),
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
    pub(super) fn start(
        root: PathBuf,
        opened: Opened,
        blobs: Arc<Blobs>,
        troubles: Troubles,
    ) -> io::Result<Writer> {
        let (jobs, work) = channel();
        let journal_ends = Arc::new(AtomicBool::new(true));
        let refused = Arc::new(AtomicBool::new(false));
        let mut disk = Disk {
            verifier: Verifier::new(&root),
            is_prepared: opened.refusal.is_none(),
            lock: opened.lock,
            root,
            blobs,
            troubles,
            journal: None,
            journal_ends: journal_ends.clone(),
            refused: refused.clone(),
        };
        disk.note(opened.refusal);
        let thread = thread::Builder::new().name("state".into()).spawn(move || disk.run(&work))?;
        Ok(Writer { jobs: Some(jobs), thread: Some(thread), journal_ends, refused })
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

    /// Replaces the damaged copy of a file by the other one.
    pub(super) fn repair(&self, path: PathBuf) {
        self.send(Job::Repair(path));
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

    /// Whether the disk refused the last write.
    pub(super) fn is_refused(&self) -> bool {
        self.refused.load(Ordering::Acquire)
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
    repairs: BTreeSet<PathBuf>,
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
            Job::Repair(path) => drop(self.repairs.insert(path)),
            Job::Zones(zones) => {
                self.zones = Some(zones);
                // The zones have all that was said before them.
                self.appended.clear();
            }
            Job::Append(content) => self.appended.push(content),
            Job::Flush(done) => self.flushes.push(done),
        }
    }

    fn is_empty(&self) -> bool {
        self.files.is_empty() && self.repairs.is_empty() && self.zones.is_none() && self.appended.is_empty()
    }
}

/// The thread's own side.
struct Disk {
    root: PathBuf,
    /// Whether the directory and its folders are there and locked for writing.
    is_prepared: bool,
    lock: Option<File>,
    blobs: Arc<Blobs>,
    troubles: Troubles,
    verifier: Verifier,
    journal: Option<Journal>,
    journal_ends: Arc<AtomicBool>,
    refused: Arc<AtomicBool>,
}

impl Disk {
    fn run(&mut self, work: &Receiver<Job>) {
        let mut waiting = Batch::default();
        loop {
            let pause = if waiting.is_empty() { self.verifier.pause(Instant::now()) } else { RETRY };
            match work.recv_timeout(pause) {
                Ok(job) => waiting.add(job),
                Err(RecvTimeoutError::Timeout) if waiting.is_empty() => {
                    self.verifier.step(&self.troubles, Instant::now());
                    continue;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            work.try_iter().for_each(|job| waiting.add(job));
            if !waiting.is_empty() {
                let outcome = self.apply(&mut waiting);
                self.note(outcome.err());
            }
            for done in waiting.flushes.drain(..) {
                let _ = done.send(());
            }
        }
    }

    /// Writes everything that waits; what fails stays. One file's failure does not keep the others from the
    /// disk.
    fn apply(&mut self, waiting: &mut Batch) -> io::Result<()> {
        self.prepare()?;
        let (mut touched, mut outcome) = (BTreeSet::new(), Ok(()));
        waiting.files.retain(|name, content| {
            let path = self.root.join(name);
            let replaced = self.replace(&path, content.as_ref());
            touched.extend(path.parent().map(Path::to_owned));
            retained(replaced, &mut outcome)
        });
        waiting.repairs.retain(|path| {
            touched.extend(path.parent().map(Path::to_owned));
            retained(sealed::repair(path).map(drop), &mut outcome)
        });
        for directory in &touched {
            retained(sealed::sync_directory(directory), &mut outcome);
        }
        retained(self.write_zones(waiting), &mut outcome);
        outcome
    }

    /// Creates and locks the directory, where the disk refused that before.
    fn prepare(&mut self) -> io::Result<()> {
        if self.is_prepared {
            return Ok(());
        }
        // The lock for reading is our own and would be in the way.
        self.lock = None;
        let lock = opening::prepare(&self.root, FOLDERS).map_err(|error| match error {
            StateError::Io { source, .. } => source,
            error @ StateError::InUse(_) => io::Error::other(error.to_string()),
        })?;
        (self.lock, self.is_prepared) = (Some(lock), true);
        Ok(())
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
            None => sealed::remove(path),
        }
    }

    /// Writes the zones and their journal. A frame goes only behind those that it was made behind, so what the
    /// disk refuses keeps its place.
    fn write_zones(&mut self, waiting: &mut Batch) -> io::Result<()> {
        // Other files say nothing about the journal of zones that are still on their way.
        if waiting.zones.is_none() && waiting.appended.is_empty() {
            return Ok(());
        }
        let written = self.write_waiting(waiting);
        let length: usize = waiting.appended.iter().map(Vec::len).sum();
        let ends = self.journal.as_ref().is_none_or(Journal::is_long) || length > MOST_WAITING;
        self.journal_ends.store(ends, Ordering::Release);
        written
    }

    fn write_waiting(&mut self, waiting: &mut Batch) -> io::Result<()> {
        if let Some(zones) = &waiting.zones {
            self.journal = None;
            self.journal = Some(zones::write(&self.root, &self.blobs, zones)?);
            waiting.zones = None;
        }
        // Without a journal the whole zones will come, and have it all.
        if let Some(journal) = self.journal.as_mut().filter(|_| !waiting.appended.is_empty()) {
            journal.append(&waiting.appended)?;
        }
        waiting.appended.clear();
        Ok(())
    }

    /// Reports the first refusal and the first success after it.
    fn note(&self, refusal: Option<io::Error>) {
        let was_refused = self.refused.swap(refusal.is_some(), Ordering::AcqRel);
        let root = self.root.display();
        match refusal {
            Some(error) if !was_refused => self.troubles.add(format!(
                "the state in {root} cannot be saved: {error}; answers go on, saving is tried again every {} s",
                RETRY.as_secs()
            )),
            None if was_refused => self.troubles.add(format!("the state in {root} is saved again")),
            _ => {}
        }
    }
}

/// Whether something failed and has to be tried again; the first failure is kept.
fn retained(result: io::Result<()>, outcome: &mut io::Result<()>) -> bool {
    let failed = result.is_err();
    if outcome.is_ok() {
        *outcome = result;
    }
    failed
}
