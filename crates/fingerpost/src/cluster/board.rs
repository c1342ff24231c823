//! What is known of each watch: whether it is synced, its kind missing, or its reading forbidden.
//! Readiness, metrics and the log speak from it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::Subject;

/// How a watch stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Nothing was heard yet.
    Waiting,
    /// Everything has been read, and changes are followed.
    Synced,
    /// The kind's CRD is not installed; it is waited for.
    Missing,
    /// The API server does not let us.
    Denied(String),
    /// Something else is in the way.
    Troubled(String),
}

/// One watch as it stands.
#[derive(Clone, Debug)]
pub struct Entry {
    /// How it stands now.
    pub standing: Standing,
    /// Whether its objects have been read once, or it is known that there is no such kind.
    pub settled: bool,
    /// How many objects it has.
    pub objects: usize,
    /// When it last heard from the API server.
    pub heard: Instant,
}

/// All watches; clones show the same.
#[derive(Clone, Debug, Default)]
pub struct Board(Arc<Mutex<BTreeMap<Subject, Entry>>>);

impl Board {
    /// A board on which these are waited for.
    pub fn new(subjects: &[Subject]) -> Board {
        let waiting =
            || Entry { standing: Standing::Waiting, settled: false, objects: 0, heard: Instant::now() };
        Board(Arc::new(Mutex::new(subjects.iter().map(|subject| (*subject, waiting())).collect())))
    }

    /// All entries.
    pub fn entries(&self) -> BTreeMap<Subject, Entry> {
        self.lock().clone()
    }

    /// How a watch stands.
    pub fn standing(&self, subject: Subject) -> Option<Standing> {
        self.lock().get(&subject).map(|entry| entry.standing.clone())
    }

    /// What keeps us from working, in lines; nothing when all is well.
    ///
    /// A missing kind is no trouble, and neither is an API server that is away after the first sync.
    pub fn troubles(&self) -> Vec<String> {
        self.lock().iter().filter_map(|(subject, entry)| trouble(*subject, entry)).collect()
    }

    /// What the API server does not let us read, in lines.
    pub fn denials(&self) -> Vec<String> {
        let entries = self.lock();
        let denied = entries.iter().filter(|(_, entry)| matches!(entry.standing, Standing::Denied(_)));
        denied.filter_map(|(subject, entry)| trouble(*subject, entry)).collect()
    }

    /// How long ago the watch was heard of that has been silent for longest.
    pub fn silence(&self) -> Duration {
        let entries = self.lock();
        let synced = entries.values().filter(|entry| entry.standing != Standing::Missing);
        synced.map(|entry| entry.heard.elapsed()).max().unwrap_or_default()
    }

    pub(super) fn set(&self, subject: Subject, standing: Standing) {
        let mut entries = self.lock();
        let Some(entry) = entries.get_mut(&subject) else { return };
        entry.settled |= matches!(standing, Standing::Synced | Standing::Missing);
        if entry.standing != standing {
            log(subject, &standing);
        }
        entry.standing = standing;
    }

    pub(super) fn heard(&self, subject: Subject, objects: usize) {
        if let Some(entry) = self.lock().get_mut(&subject) {
            entry.heard = Instant::now();
            entry.objects = objects;
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Subject, Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn trouble(subject: Subject, entry: &Entry) -> Option<String> {
    let name = subject.qualified();
    match &entry.standing {
        Standing::Denied(message) => Some(format!("{name}: list and watch are forbidden: {message}")),
        Standing::Troubled(message) if !entry.settled => Some(format!("{name}: {message}")),
        Standing::Waiting => Some(format!("{name}: not read yet")),
        _ => None,
    }
}

fn log(subject: Subject, standing: &Standing) {
    let name = subject.qualified();
    match standing {
        Standing::Waiting => {}
        Standing::Synced => tracing::info!(kind = name, "synced"),
        Standing::Missing => tracing::info!(kind = name, "its CRD is not installed; waiting for it"),
        Standing::Denied(message) => {
            tracing::error!(
                kind = name,
                verb = "list, watch",
                "forbidden: {message}; grant it in the ClusterRole"
            );
        }
        Standing::Troubled(message) => tracing::warn!(kind = name, "cannot be read: {message}; trying again"),
    }
}
