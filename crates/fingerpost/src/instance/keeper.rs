//! Keeps what is served in the state directory, a moment after it changed.
//!
//! Serials are handed over at once, because a serial that was served must never be given to other
//! content. Zones cost a packing of all their records, so they wait for quiet.

use std::sync::Arc;
use std::time::Duration;

use planner::Delta;
use tokio::sync::mpsc::{Sender, channel};
use tokio::task::{JoinHandle, spawn_blocking};

use super::{Instance, saved};
use crate::state::StateDir;

/// How long changes are gathered before the zones are written.
const GATHER: Duration = Duration::from_secs(1);
/// How long the first answers wait for the disk: after that a restart is safe a little later.
const PATIENCE: Duration = Duration::from_secs(1);

/// Writes to the state directory in the background.
#[derive(Debug)]
pub struct Keeper {
    state: Arc<StateDir>,
    instance: Arc<Instance>,
    changed: Sender<()>,
    task: JoinHandle<()>,
}

impl Keeper {
    /// A keeper that writes in the background.
    pub fn new(state: Arc<StateDir>, instance: Arc<Instance>) -> Keeper {
        // One message in waiting says all: there is something to write.
        let (changed, mut changes) = channel(1);
        let (of, from) = (state.clone(), instance.clone());
        let task = tokio::spawn(async move {
            while changes.recv().await.is_some() {
                tokio::time::sleep(GATHER).await;
                keep_zones(of.clone(), from.clone()).await;
            }
        });
        Keeper { state, instance, changed, task }
    }

    /// Keeps the first plan, and waits for the disk unless that takes long.
    pub async fn keep_first(&self) {
        self.state.save_serials(&self.instance.planner().serials());
        let (state, instance) = (self.state.clone(), self.instance.clone());
        let kept = async move {
            keep_zones(state.clone(), instance).await;
            // A panic in there has been printed, and answers matter more than the disk.
            let _ = spawn_blocking(move || state.flush()).await;
        };
        // Past its time the work goes on by itself.
        let _ = tokio::time::timeout(PATIENCE, tokio::spawn(kept)).await;
    }

    /// Keeps a change of the plan.
    pub fn keep(&self, delta: &Delta) {
        if delta.is_empty() {
            return;
        }
        self.state.save_serials(&self.instance.planner().serials());
        // A full channel has the message already.
        let _ = self.changed.try_send(());
    }

    /// Keeps everything and waits for the disk.
    pub async fn finish(self) {
        self.task.abort();
        keep_zones(self.state.clone(), self.instance).await;
        let state = self.state;
        // As above: there is nobody left to tell.
        let _ = spawn_blocking(move || state.flush()).await;
    }
}

async fn keep_zones(state: Arc<StateDir>, instance: Arc<Instance>) {
    let table = Arc::clone(&instance.views.load());
    // Before the first plan there is nothing but what was kept before.
    if !table.synced {
        return;
    }
    let views = instance.planner().views();
    // A panic in there has been printed, and answers matter more than the disk.
    let _ = spawn_blocking(move || state.save_zones(saved::saved(&table, &views))).await;
}
