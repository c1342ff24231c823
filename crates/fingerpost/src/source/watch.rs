//! Watching the folders: a thread that waits for events, lets writers finish, and reads.
//!
//! ```text
//! inotify ─► wait for quiet ─► read what changed ─► deliver
//!               ▲                    │
//!               └── second look, slow walk
//! ```
//!
//! Each directory that is read is watched by itself, so `.git` and the like cost nothing. Events
//! can be lost and links lead to where nobody watches, so everything is walked now and then, and
//! more often while a folder is missing.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use notify::event::{AccessKind, AccessMode, Event, EventKind};
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use planner::{ClusterId, Location, ObjectRef};

use super::problem::{Severity, SourceProblem};
use super::{Reading, Source};
use crate::secrets::FolderSecrets;

/// How fast watching goes.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// How long the events must be quiet before files are read.
    pub quiet: Duration,
    /// How long reading may be put off by events that never end.
    pub at_most: Duration,
    /// How long a file must be gone or empty before that is believed.
    pub patience: Duration,
    /// How often everything is walked.
    pub walk: Duration,
    /// How often it is tried to read a folder that is missing.
    pub missing: Duration,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace {
            quiet: Duration::from_millis(15),
            at_most: Duration::from_millis(100),
            patience: Duration::from_millis(60),
            walk: Duration::from_secs(10),
            missing: Duration::from_millis(500),
        }
    }
}

/// Watches until it is dropped.
#[derive(Debug)]
pub struct Watch {
    signals: Sender<Signal>,
    thread: Option<JoinHandle<()>>,
}

enum Signal {
    Event(notify::Result<Event>),
    Locate(Vec<(ClusterId, ObjectRef)>, SyncSender<Vec<Option<Location>>>),
    End,
}

/// How long a watch that is busy reading may take to say where objects are declared.
const LOCATE_TIME: Duration = Duration::from_secs(2);

/// Asks a watch where objects are declared.
#[derive(Clone, Debug)]
pub struct Locator(Sender<Signal>);

impl Locator {
    /// Where objects are declared, one by one; nothing while the watch is busy for long.
    pub fn locations(&self, objects: &[(ClusterId, ObjectRef)]) -> Vec<Option<Location>> {
        let (reply, answer) = sync_channel(1);
        let asked = self.0.send(Signal::Locate(objects.to_vec(), reply));
        let found = asked.ok().and_then(|()| answer.recv_timeout(LOCATE_TIME).ok());
        found.unwrap_or_else(|| vec![None; objects.len()])
    }
}

impl Watch {
    /// Starts to watch. Each reading that has news is handed to `deliver`, on the watch's own
    /// thread, until it says `false` or the watch is dropped.
    ///
    /// Read the source once before: what changed in between is delivered first.
    pub fn start(
        source: Source,
        pace: Pace,
        deliver: impl FnMut(Reading) -> bool + Send + 'static,
    ) -> io::Result<Watch> {
        let (signals, events) = channel();
        let sender = signals.clone();
        // The other end is gone only when the watch has ended.
        let handler = move |event| drop(sender.send(Signal::Event(event)));
        let watcher = notify::recommended_watcher(handler).map_err(io::Error::other)?;
        let watching = Watching {
            source: source.with_patience(pace.patience),
            pace,
            watcher,
            watched: BTreeMap::new(),
            unwatched: BTreeMap::new(),
            told: Vec::new(),
            secrets: FolderSecrets::new(),
            deliver: Box::new(deliver),
        };
        let thread = thread::Builder::new().name("watch".into()).spawn(move || watching.run(&events))?;
        Ok(Watch { signals, thread: Some(thread) })
    }
}

impl Watch {
    /// Who asks this watch where objects are declared.
    pub fn locator(&self) -> Locator {
        Locator(self.signals.clone())
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // An error means that the thread has ended already.
        let _ = self.signals.send(Signal::End);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Watching {
    source: Source,
    pace: Pace,
    watcher: RecommendedWatcher,
    /// The directories that are watched, with device and inode.
    watched: BTreeMap<PathBuf, (u64, u64)>,
    /// Those that cannot be watched, and why.
    unwatched: BTreeMap<PathBuf, String>,
    /// The problems last delivered.
    told: Vec<SourceProblem>,
    /// The Secrets last delivered.
    secrets: FolderSecrets,
    deliver: Box<dyn FnMut(Reading) -> bool + Send>,
}

/// What came in while waiting.
#[derive(Default)]
struct Arrived {
    paths: BTreeSet<PathBuf>,
    /// Events were lost.
    lost: bool,
    end: bool,
}

impl Watching {
    fn run(mut self, events: &Receiver<Signal>) {
        let reading = self.read_all();
        let mut due = self.next_walk(&reading);
        let mut go_on = self.tell(reading);
        while go_on {
            let arrived = self.wait(events, due);
            if arrived.end {
                return;
            }
            let reading = if arrived.lost || Instant::now() >= due {
                let reading = self.read_all();
                due = self.next_walk(&reading);
                reading
            } else if let Some(reading) = self.read_some(&arrived.paths) {
                due = due.min(self.next_walk(&reading));
                reading
            } else {
                continue;
            };
            go_on = self.tell(reading);
        }
    }

    fn next_walk(&self, reading: &Reading) -> Instant {
        Instant::now()
            + match (reading.unsettled, self.source.misses_a_folder()) {
                (true, _) => self.pace.patience,
                (false, true) => self.pace.missing,
                (false, false) => self.pace.walk,
            }
    }

    /// Waits for an event and then for quiet, or until the walk is due.
    fn wait(&self, events: &Receiver<Signal>, due: Instant) -> Arrived {
        let mut arrived = Arrived::default();
        let mut until = due;
        let mut latest = None;
        loop {
            let now = Instant::now();
            match events.recv_timeout(until.saturating_duration_since(now)) {
                Ok(Signal::Event(event)) => {
                    if arrived.add(event) {
                        let latest = *latest.get_or_insert(Instant::now() + self.pace.at_most);
                        until = latest.min(Instant::now() + self.pace.quiet);
                    }
                }
                // Nobody waits any longer where the reply cannot be sent.
                Ok(Signal::Locate(objects, reply)) => drop(reply.send(self.source.locations(&objects))),
                Ok(Signal::End) | Err(RecvTimeoutError::Disconnected) => {
                    arrived.end = true;
                    return arrived;
                }
                Err(RecvTimeoutError::Timeout) => return arrived,
            }
        }
    }

    fn read_some(&mut self, paths: &BTreeSet<PathBuf>) -> Option<Reading> {
        let paths: Vec<PathBuf> = paths.iter().cloned().collect();
        let reading = self.source.read_changed(&paths)?;
        Some(self.follow(reading))
    }

    fn read_all(&mut self) -> Reading {
        let reading = self.source.read();
        self.follow(reading)
    }

    /// A directory that was just found may have been filled before it was watched, so it is
    /// walked again after that.
    fn follow(&mut self, mut reading: Reading) -> Reading {
        while self.watch_directories() {
            let more = self.source.read();
            let changes = std::mem::take(&mut reading.changes).into_iter().chain(more.changes).collect();
            reading = Reading { changes, ..more };
        }
        reading
    }

    /// Watches what is new and lets go what is gone; says whether anything is new.
    fn watch_directories(&mut self) -> bool {
        let wanted: BTreeMap<PathBuf, (u64, u64)> = self.source.directories().collect();
        let gone = |(path, identity): &(&PathBuf, &(u64, u64))| wanted.get(*path) != Some(*identity);
        let gone: Vec<PathBuf> = self.watched.iter().filter(gone).map(|(path, _)| path.clone()).collect();
        for path in gone {
            // The watch of a removed directory has ended by itself.
            let _ = self.watcher.unwatch(&path);
            self.watched.remove(&path);
        }
        self.unwatched.retain(|path, _| wanted.contains_key(path));
        let new = wanted.into_iter().filter(|(path, _)| !self.watched.contains_key(path));
        let new: Vec<_> = new.filter(|(path, _)| !self.unwatched.contains_key(path)).collect();
        new.into_iter()
            .map(|(path, identity)| self.watch_directory(path, identity))
            .filter(|new| *new)
            .count()
            > 0
    }

    fn watch_directory(&mut self, path: PathBuf, identity: (u64, u64)) -> bool {
        match self.watcher.watch(&path, RecursiveMode::NonRecursive) {
            Ok(()) => {
                self.watched.insert(path, identity);
                true
            }
            Err(error) => {
                self.unwatched.insert(path, error.to_string());
                false
            }
        }
    }

    /// Delivers a reading that has news; says whether to go on.
    fn tell(&mut self, mut reading: Reading) -> bool {
        reading.problems.extend(self.unwatched.iter().map(|(path, why)| self.unwatched_problem(path, why)));
        if reading.changes.is_empty() && reading.problems == self.told && reading.secrets == self.secrets {
            return true;
        }
        self.told.clone_from(&reading.problems);
        self.secrets.clone_from(&reading.secrets);
        (self.deliver)(reading)
    }

    fn unwatched_problem(&self, path: &std::path::Path, why: &str) -> SourceProblem {
        let message = format!(
            "changes here are seen only every {} s, because the directory cannot be watched: {why}",
            self.pace.walk.as_secs()
        );
        let (path, severity) = (path.to_owned(), Severity::Remark);
        SourceProblem { cluster: ClusterId(0), path, line: 0, column: 0, message, object: None, severity }
    }
}

impl Arrived {
    /// Says whether the event is one that a change of content makes; reading makes some, too.
    fn add(&mut self, event: notify::Result<Event>) -> bool {
        let Ok(event) = event else {
            self.lost = true;
            return true;
        };
        if event.need_rescan() {
            self.lost = true;
            return true;
        }
        let written = AccessKind::Close(AccessMode::Write);
        if matches!(event.kind, EventKind::Access(kind) if kind != written) {
            return false;
        }
        self.paths.extend(event.paths);
        true
    }
}
