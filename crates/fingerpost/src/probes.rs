//! Probes: whether the targets of steered names are up.
//!
//! ```text
//! planner::ProbeSpec ──► schedule (when) ──► asking (IO) ──► verdict (what it adds up to)
//!                                                               │
//!              server::steering::Health ◄── at once ────────────┤
//!              planner, pages, metrics  ◄── sightings ──────────┘
//! ```
//!
//! What is promised:
//!
//! - a target and a way of asking it is one probe, however many names share it;
//! - answers move as soon as a verdict does: no plan is waited for;
//! - a change of the plan starts and stops only what changed, and everything else keeps its state;
//! - what we cannot ask for reasons of our own (no time, no files, no ports) is not a failure of the target;
//! - a probe goes only where requests may go ([`Guard`]), reads a bounded answer, takes a bounded time,
//!   and follows nobody elsewhere.

pub mod asking;
pub mod encryption;
mod engine;
pub mod page;
pub mod schedule;
mod sightings;
#[cfg(test)]
mod tests;
mod trouble;
pub mod verdict;

use std::io;
use std::sync::Arc;
use std::thread;

use backends::transport::guard::Guard;
use dns::ProbeId;
use planner::{Change, Planner, ProbeSpec};
use server::steering::Health;
use tokio::runtime::Builder;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use asking::Means;
use encryption::Encryption;
use engine::{Engine, Order};
pub use sightings::{Counts, Protocol, ProtocolLabels, Run, RunLabels, Sighting, Sightings};
pub use trouble::{Outcome, Trouble};

/// How many names are resolved at once.
const RESOLVERS: usize = 8;
/// Of the files that we may open, probes take at most this share, and at least so many.
const SHARE_OF_FILES: u64 = 2;
const LEAST_AT_ONCE: u64 = 64;

/// Running probes; they end with the value.
#[derive(Debug)]
pub struct Probes {
    orders: UnboundedSender<Order>,
    sightings: Sightings,
}

impl Probes {
    /// Starts with nothing to probe. Verdicts go onto the board at once.
    pub fn start(health: Health, guard: Arc<Guard>, sightings: Sightings) -> io::Result<Probes> {
        let encryption = Encryption::new().map_err(io::Error::other)?;
        let runtime = Builder::new_current_thread().enable_all().max_blocking_threads(RESOLVERS).build()?;
        let (orders, ordered) = unbounded_channel();
        let engine = Engine::new(Means { guard, encryption }, health, sightings.clone(), most_at_once());
        thread::Builder::new().name("probes".to_owned()).spawn(move || {
            runtime.block_on(engine.run(ordered));
            // A resolver that hangs is not waited for.
            runtime.shutdown_background();
        })?;
        Ok(Probes { orders, sightings })
    }

    /// Probes these and nothing else; what was probed before goes on as it is.
    pub fn set(&self, probes: Vec<(ProbeId, ProbeSpec)>) {
        // Nobody listens when the process ends.
        let _ = self.orders.send(Order::Set(probes));
    }

    /// Probes what a plan needs, and nothing else.
    pub fn follow(&self, planner: &Planner) {
        self.set(planner.probes().map(|(probe, spec)| (probe, spec.clone())).collect());
    }

    /// Probes what came and no more what went.
    pub fn change(&self, changed: Vec<(ProbeId, Option<ProbeSpec>)>) {
        if !changed.is_empty() {
            let _ = self.orders.send(Order::Change(changed));
        }
    }

    /// What the planner is to be told next. Waits for as long as nothing happens.
    pub async fn next(&self) -> Vec<Change> {
        self.sightings.news().await
    }
}

/// How many runs may be under way; as many files are opened as the system lets us.
fn most_at_once() -> usize {
    let files = crate::files::limit();
    let most = files.map_or(u64::MAX, |files| (files / SHARE_OF_FILES).max(LEAST_AT_ONCE));
    usize::try_from(most).unwrap_or(usize::MAX)
}
