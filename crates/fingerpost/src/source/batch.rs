//! What one reading changes: the difference between before and after, whatever happened between.
//!
//! So an object that moves from one file to another within one reading does not change at all.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use api::Object;
use planner::{Change, ObjectRef};

use super::claims::FileKey;
use super::cluster::Cluster;
use super::manifest::Body;
use super::meter::Meter;
use crate::state::{SavedZoneFile, StateDir};

/// What is gathered while files are read.
#[derive(Default)]
pub(super) struct Batch {
    /// Every object that was touched, as it stood before.
    pub(super) before: BTreeMap<ObjectRef, Option<Body>>,
    /// Changes of zone files, in the order of reading.
    pub(super) changes: Vec<Change>,
    /// The valid versions that the state directory had of objects that are not valid now, or are other ones.
    pub(super) restored: HashMap<ObjectRef, Arc<Object>>,
    /// What the state directory is to be told.
    pub(super) keeps: BTreeMap<FileKey, Keep>,
}

/// What is to be kept of a file.
pub(super) enum Keep {
    /// The text of manifests.
    Text(String),
    /// The zone.
    Zone(SavedZoneFile),
    /// Nothing: it is gone.
    Nothing,
}

/// The circumstances of one reading.
#[derive(Clone, Copy)]
pub(super) struct Circumstances<'a> {
    pub(super) state: Option<&'a StateDir>,
    /// The clusters of folders that these follow: what a file lost, the file of the same path there had.
    pub(super) previous: &'a [Cluster],
    pub(super) now: Instant,
    /// How long a file must be gone or empty before that is believed.
    pub(super) patience: Duration,
    /// Who is told how far it has come.
    pub(super) meter: &'a Meter<'a>,
}

impl Circumstances<'_> {
    /// Whether to wait with believing what is doubtful since then.
    pub(super) fn doubts(&self, since: &mut Option<Instant>) -> bool {
        self.now.duration_since(*since.get_or_insert(self.now)) < self.patience
    }
}
