//! Who holds which names, to and from the state directory of `up`.
//!
//! ```text
//! first plan ──────────► holders          everything
//! Delta ──► recent ────► recent-holders   what changed since that was written
//!              └─ long ► holders          everything again, on a thread of its own
//! ```
//!
//! So a change costs what changed since everything was last written, which is bounded.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use planner::{Change, Holders};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::Instance;
use crate::state::StateDir;

/// How many names may have changed before everything is written again.
const MOST: usize = 4096;
/// How long the first answers wait for the disk.
const PATIENCE: Duration = Duration::from_secs(1);

/// Keeps who holds what in the state directory.
#[derive(Clone, Debug)]
pub struct HolderKeeper {
    state: Arc<StateDir>,
    instance: Arc<Instance>,
    clusters: Arc<[String]>,
    recent: Arc<Mutex<Recent>>,
}

/// What changed since everything was written.
#[derive(Debug, Default)]
struct Recent {
    /// Which writing of everything it is a change to.
    generation: i64,
    changes: Holders,
    /// What changed while everything is being written again.
    meanwhile: Option<Holders>,
}

impl HolderKeeper {
    /// A keeper for clusters in this order.
    pub fn new(state: Arc<StateDir>, instance: Arc<Instance>, clusters: Vec<String>) -> HolderKeeper {
        HolderKeeper { state, instance, clusters: clusters.into(), recent: Arc::default() }
    }

    /// What an earlier process kept, for the first plan.
    pub fn load(&self) -> Change {
        let (generation, saved) = self.state.load_holders();
        let mut holders = Holders::from_saved(&saved, &self.clusters);
        let (of, change) = self.state.load_recent_holders();
        if of == generation {
            holders.merge_saved(&change, &self.clusters);
        }
        Change::Holders(Box::new(holders))
    }

    /// Keeps everything, and waits for the disk unless that takes long.
    pub async fn keep_first(&self) {
        let keeper = self.clone();
        let kept = spawn_blocking(move || {
            keeper.keep_whole();
            keeper.state.flush();
        });
        // Past its time the work goes on by itself; answers matter more than the disk.
        let _ = timeout(PATIENCE, kept).await;
    }

    /// Keeps a change.
    pub fn keep(&self, change: &Holders) {
        if change.is_empty() {
            return;
        }
        let mut recent = self.recent();
        recent.changes.merge(change);
        if let Some(meanwhile) = &mut recent.meanwhile {
            meanwhile.merge(change);
        }
        self.save_recent(&recent);
        if recent.changes.len() > MOST && recent.meanwhile.is_none() {
            recent.meanwhile = Some(Holders::default());
            let keeper = self.clone();
            drop(recent);
            spawn_blocking(move || keeper.keep_whole());
        }
    }

    /// Writes everything; what changed before is in it.
    fn keep_whole(&self) {
        self.recent().meanwhile.get_or_insert_default();
        let holders = self.instance.planner().holders();
        let generation = jiff::Timestamp::now().as_microsecond();
        self.state.save_holders(generation, &holders.to_saved(&self.clusters));
        let mut recent = self.recent();
        let changes = recent.meanwhile.take().unwrap_or_default();
        *recent = Recent { generation, changes, meanwhile: None };
        self.save_recent(&recent);
    }

    fn save_recent(&self, recent: &Recent) {
        self.state.save_recent_holders(recent.generation, &recent.changes.to_saved_change(&self.clusters));
    }

    /// Whoever panicked had the whole of it or nothing, so the poison means nothing.
    fn recent(&self) -> MutexGuard<'_, Recent> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
