//! The one thread that writes the state directory.
//!
//! What waits is written in one go, so that a burst of changes to one file costs one write.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use super::{SavedZones, Troubles, sealed, zones};

/// Hands work to the thread, and ends it when dropped, after its work is done.
#[derive(Debug)]
pub(super) struct Writer {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

enum Job {
    Write(PathBuf, Vec<u8>),
    Remove(PathBuf),
    Zones(SavedZones),
    Flush(Sender<()>),
}

impl Writer {
    pub(super) fn start(root: PathBuf, troubles: Troubles) -> io::Result<Writer> {
        let (jobs, work) = channel();
        let run = move || run(&root, &work, &troubles);
        let thread = thread::Builder::new().name("state".into()).spawn(run)?;
        Ok(Writer { jobs: Some(jobs), thread: Some(thread) })
    }

    /// Replaces a file, named below the root.
    pub(super) fn write(&self, name: PathBuf, content: Vec<u8>) {
        self.send(Job::Write(name, content));
    }

    pub(super) fn remove(&self, name: PathBuf) {
        self.send(Job::Remove(name));
    }

    pub(super) fn zones(&self, zones: SavedZones) {
        self.send(Job::Zones(zones));
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
    files: BTreeMap<PathBuf, Option<Vec<u8>>>,
    zones: Option<SavedZones>,
    flushes: Vec<Sender<()>>,
}

impl Batch {
    fn add(&mut self, job: Job) {
        match job {
            Job::Write(name, content) => drop(self.files.insert(name, Some(content))),
            Job::Remove(name) => drop(self.files.insert(name, None)),
            Job::Zones(zones) => self.zones = Some(zones),
            Job::Flush(done) => self.flushes.push(done),
        }
    }
}

fn run(root: &Path, work: &Receiver<Job>, troubles: &Troubles) {
    while let Ok(first) = work.recv() {
        let mut batch = Batch::default();
        batch.add(first);
        work.try_iter().for_each(|job| batch.add(job));
        apply(root, &batch, troubles);
        for done in batch.flushes {
            let _ = done.send(());
        }
    }
}

/// One file's failure does not keep the others from the disk.
fn apply(root: &Path, batch: &Batch, troubles: &Troubles) {
    let report = |result: io::Result<()>| {
        if let Err(error) = result {
            troubles.add(format!("the state in {} cannot be kept: {error}", root.display()));
        }
    };
    let mut touched = BTreeSet::new();
    for (name, content) in &batch.files {
        let path = root.join(name);
        report(
            replace(&path, content.as_deref()).map(|()| touched.extend(path.parent().map(Path::to_owned))),
        );
    }
    touched.iter().for_each(|directory| report(sealed::sync_directory(directory)));
    report(batch.zones.as_ref().map_or(Ok(()), |saved| zones::write(root, saved)));
}

fn replace(path: &Path, content: Option<&[u8]>) -> io::Result<()> {
    match content {
        Some(content) => sealed::write(path, content).map(drop),
        None => match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        },
    }
}
