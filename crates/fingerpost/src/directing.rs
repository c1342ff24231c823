//! Directing Placements: where clients are sent first, who holds the lease, and what happened.
//!
//! ```text
//! plan ──facts──► one task a Placement: director (pure) ──intent──► witness::Keeper
//!   ▲                                        ▲                           │
//!   └────── Change::Direction ◄──────────────┴───────── reports ◄────────┘
//! ```
//!
//! The lease moves before DNS does: the direction follows the holder that was seen in the witness, and
//! where the witness cannot be asked it stays as it was.

mod board;
mod delivery;
mod director;
pub(crate) mod facts;
mod saved;
mod task;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use api::Kind;
use planner::{Change, ClusterId, Delta, Direction, ObjectRef, Planner};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::witness::Means;

pub use board::{Board, Entry, Order, OrderError};
pub use delivery::{Delivery, DeliveryState};
pub use director::{Director, Refusal, RegionState, Rules, Witnessed};
use facts::Facts;
pub use facts::{SWITCHOVER, SWITCHOVER_FORCE};
pub use saved::{SavedDirection, restore, save};

/// Which Placement.
pub type Key = (ClusterId, ObjectRef);

/// The Placements that this process directs.
pub struct Directing {
    means: Means,
    secret_changes: watch::Receiver<u64>,
    board: Board,
    tasks: BTreeMap<Key, Directed>,
    /// What earlier processes knew.
    before: BTreeMap<Key, Direction>,
    changes: (UnboundedSender<Change>, UnboundedReceiver<Change>),
    begun: bool,
    done: Option<Done>,
}

/// Told when the order of a Placement's annotation needs nobody any more.
pub type Done = Arc<dyn Fn(&ObjectRef) + Send + Sync>;

struct Directed {
    facts: watch::Sender<Facts>,
    task: JoinHandle<()>,
}

impl Drop for Directed {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Directing {
    /// Directs nothing yet; `before` is what an earlier process kept.
    pub fn new(
        means: Means,
        secret_changes: watch::Receiver<u64>,
        board: Board,
        before: BTreeMap<Key, Direction>,
    ) -> Directing {
        let (tasks, changes) = (BTreeMap::new(), unbounded_channel());
        Directing { means, secret_changes, board, tasks, before, changes, begun: false, done: None }
    }

    /// Says whom to tell of annotations that were followed.
    pub fn on_done(mut self, done: Done) -> Directing {
        self.done = Some(done);
        self
    }

    /// Begins to direct all Placements of a plan.
    pub fn begin(&mut self, planner: &Planner) {
        self.begun = true;
        self.look_at_all(planner);
    }

    /// Directs nothing any more; the leases are left to whoever comes after.
    pub fn end(&mut self) {
        self.begun = false;
        self.tasks.clear();
        self.board.clear();
    }

    /// Follows a change of the plan.
    pub fn follow(&mut self, planner: &Planner, delta: &Delta) {
        if !self.begun {
            return;
        }
        let moved = |kind| delta.statuses.iter().any(|(_, object)| object.kind == kind);
        if moved(Kind::ClusterIdentity) {
            return self.look_at_all(planner);
        }
        for (cluster, object) in delta.statuses.iter().filter(|(_, object)| object.kind == Kind::Placement) {
            self.look_at(planner, (*cluster, object.clone()));
        }
        let gone = |(cluster, object): &&Key| planner.object(*cluster, object).is_none();
        let gone: Vec<Key> = self.tasks.keys().filter(gone).cloned().collect();
        gone.iter().for_each(|key| self.forget(key));
    }

    /// What the planner is to be told. Waits for it.
    pub async fn next(&mut self) -> Vec<Change> {
        let mut changes = Vec::new();
        // The sender is ours, so there is always a next one.
        changes.extend(self.changes.1.recv().await);
        while let Ok(change) = self.changes.1.try_recv() {
            changes.push(change);
        }
        changes
    }

    fn look_at_all(&mut self, planner: &Planner) {
        let placements = planner.objects().into_iter().filter(|(_, object)| object.kind == Kind::Placement);
        let keys: Vec<Key> = placements.collect();
        let gone: Vec<Key> = self.tasks.keys().filter(|key| !keys.contains(key)).cloned().collect();
        gone.iter().for_each(|key| self.forget(key));
        keys.into_iter().for_each(|key| self.look_at(planner, key));
    }

    fn look_at(&mut self, planner: &Planner, key: Key) {
        let Some(mut facts) = Facts::of(planner, &key) else { return self.forget(&key) };
        // Where nobody can take the annotation away it would order the same with every start.
        facts.ordered = facts.ordered.filter(|_| self.done.is_some());
        match self.tasks.get(&key) {
            Some(directed) => {
                directed.facts.send_if_modified(|before| {
                    let differs = *before != facts;
                    *before = facts;
                    differs
                });
            }
            None => self.start(planner, key, facts),
        }
    }

    fn start(&mut self, planner: &Planner, key: Key, facts: Facts) {
        let before = self.before.get(&key).cloned().or_else(|| facts::direction(planner, &key));
        let before = before.unwrap_or_default();
        let (orders, ordered) = unbounded_channel();
        // On the board at once: whoever keeps all directions must not miss one that was not heard of yet.
        self.board.put(&key, facts.entry(before.clone(), orders.clone()));
        let (sender, told) = watch::channel(facts);
        let task = task::Task {
            key: key.clone(),
            facts: told,
            means: self.means.clone(),
            secret_changes: self.secret_changes.clone(),
            board: self.board.clone(),
            changes: self.changes.0.clone(),
            done: self.done.clone(),
            orders,
            ordered,
        };
        let task = tokio::spawn(task.run(before));
        self.tasks.insert(key, Directed { facts: sender, task });
    }

    fn forget(&mut self, key: &Key) {
        self.before.remove(key);
        if self.tasks.remove(key).is_some() {
            self.board.remove(key);
        }
    }
}

/// A Placement as people name it.
pub fn name_of(object: &ObjectRef) -> String {
    match object.namespace.is_empty() {
        true => object.name.to_string(),
        false => format!("{}/{}", object.namespace, object.name),
    }
}
