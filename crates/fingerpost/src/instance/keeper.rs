//! Keeps what is served in the state directory, a moment after it changed.
//!
//! ```text
//! Delta ──► serials, at once
//!      └──► Moved ──► entries over the zones that were kept ──► journal
//!                └──► where entries cannot say it: all zones, after a second of quiet
//! ```
//!
//! Serials are handed over at once, because a serial that was served must never be given to other
//! content. Zones cost a packing of all their records, so they wait; a change of some names costs
//! these names. Whatever is written, what was written before it is older: one task writes, from
//! the table that came with the last change that it takes in.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use planner::Delta;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::timeout;

use super::journal::{Base, Moved, encoded};
use super::{Instance, saved};
use crate::state::StateDir;

/// How long changes are gathered before the zones are written.
const GATHER: Duration = Duration::from_secs(1);
/// How long the first answers wait for the disk: after that a restart is safe a little later.
const PATIENCE: Duration = Duration::from_secs(1);

/// Writes to the state directory in the background.
#[derive(Debug)]
pub struct Keeper {
    instance: Arc<Instance>,
    keeps_serials: bool,
    work: Arc<Work>,
    changed: Sender<()>,
    task: JoinHandle<()>,
}

impl Keeper {
    /// A keeper that writes in the background.
    pub fn new(state: Arc<StateDir>, instance: Arc<Instance>) -> Keeper {
        // One message in waiting says all: there is something to write.
        let (changed, changes) = channel(1);
        let work = Arc::new(Work { state, moved: Mutex::default(), base: Mutex::default() });
        let task = tokio::spawn(follow(work.clone(), changes));
        Keeper { instance, keeps_serials: true, work, changed, task }
    }

    /// A keeper for serials that others give: they say them again after a restart.
    pub fn without_serials(self) -> Keeper {
        Keeper { keeps_serials: false, ..self }
    }

    /// Keeps the first plan, and waits for the disk unless that takes long.
    pub async fn keep_first(&self) {
        self.hand_over(&everything());
        let work = self.work.clone();
        let kept = spawn_blocking(move || {
            work.keep_whole();
            work.state.flush();
        });
        // Past its time the work goes on by itself. A panic in there has been printed, and answers
        // matter more than the disk.
        let _ = timeout(PATIENCE, kept).await;
    }

    /// Keeps a change of the plan.
    pub fn keep(&self, delta: &Delta) {
        if delta.is_empty() {
            return;
        }
        self.hand_over(delta);
        // A full channel has the message already.
        let _ = self.changed.try_send(());
    }

    /// Keeps everything and waits for the disk.
    pub async fn finish(self) {
        self.hand_over(&everything());
        let Keeper { work, changed, task, .. } = self;
        drop(changed);
        // As above: there is nobody left to tell.
        let _ = task.await;
        let _ = spawn_blocking(move || {
            work.keep_whole();
            work.state.flush();
        })
        .await;
    }

    fn hand_over(&self, delta: &Delta) {
        let table = Arc::clone(&self.instance.views.load());
        // Before the first plan there is nothing but what was kept before.
        if !table.synced || !is_served(delta) {
            return;
        }
        let planner = self.instance.planner();
        if self.keeps_serials {
            self.work.state.save_serials(&planner.serials());
        }
        locked(&self.work.moved).get_or_insert_default().add(delta, table, planner.views());
    }
}

/// Whether answers moved: a child object alone is not in the zones.
fn is_served(delta: &Delta) -> bool {
    delta.views || !delta.zones.is_empty() || !delta.nodes.is_empty()
}

fn everything() -> Delta {
    Delta { views: true, ..Delta::default() }
}

/// Writes what moved whenever something did, until nobody is left to say so.
async fn follow(work: Arc<Work>, mut changes: Receiver<()>) {
    while changes.recv().await.is_some() {
        let journal = work.clone();
        if !spawn_blocking(move || journal.keep_change()).await.unwrap_or(false) {
            let gathered = async { while changes.recv().await.is_some() {} };
            // It ends before its time only at the end, where everything is kept anyway.
            let _ = timeout(GATHER, gathered).await;
            let whole = work.clone();
            let _ = spawn_blocking(move || whole.keep_whole()).await;
        }
    }
}

/// What is to be written, and over what.
#[derive(Debug)]
struct Work {
    state: Arc<StateDir>,
    moved: Mutex<Option<Moved>>,
    /// Held while something is written, so that nothing older comes after it.
    base: Mutex<Option<Base>>,
}

impl Work {
    /// Keeps what moved in the journal; where that cannot be, it stays to be kept whole.
    fn keep_change(&self) -> bool {
        let base = locked(&self.base);
        let Some(moved) = locked(&self.moved).take() else { return true };
        let usable = base.as_ref().filter(|_| !moved.whole && !self.state.wants_zones());
        let entries = usable.and_then(|base| base.entries(&moved));
        if entries.as_ref().is_some_and(Vec::is_empty) {
            return true;
        }
        let change = entries.and_then(|entries| encoded(&entries));
        let is_kept = change.map(|change| self.state.save_change(change)).is_some();
        if !is_kept {
            self.put_back(moved);
        }
        is_kept
    }

    /// Something newer may have come; then that has the table, and this says how much moved.
    fn put_back(&self, moved: Moved) {
        locked(&self.moved).get_or_insert(moved).whole = true;
    }

    /// Keeps all zones, in which everything is that was to be kept.
    fn keep_whole(&self) {
        let mut base = locked(&self.base);
        let Some(moved) = locked(&self.moved).take() else { return };
        self.state.save_zones(saved::saved(&moved.table, &moved.views));
        *base = Some(Base::new(&moved.table, &moved.views));
    }
}

/// Whoever panicked had the whole of it or nothing, so the poison means nothing.
fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
