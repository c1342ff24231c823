//! Delivery: keeps what one provider holds equal to what is wanted there.
//!
//! ```text
//! Order ──► Book (pure) ──► Task ──► runner ──► dyn Provider
//!             ▲   └─► Report                        │
//!             └───────────── Outcome ◄──────────────┘
//! ```
//!
//! The book decides everything and does nothing: time, chance and outcomes are told to it, so that a
//! simulation can drive it through any fault. What it promises:
//!
//! - what is not ours (by a mark, or where a provider has none, by memory) is never changed or deleted;
//! - a mark stands before the set that it marks, and goes after it;
//! - what was written is read back before it is reported and before anything is deleted;
//! - nothing is deleted before the whole plan was told, nor a large share of a zone without consent;
//! - what owners share is what their marks add up to, and what one of them has alone passes to another only
//!   from one that is gone or gives it;
//! - a failure delays the record, zone or provider that it is about, and never for good.

mod agenda;
mod backoff;
mod book;
mod origin;
mod runner;
mod task;
mod zone;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use dns::{Name, RecordSet, Rtype};
use tokio::sync::mpsc::{self, UnboundedSender};
use tokio::task::JoinHandle;

use crate::{Entry, Failure, NewZone, Provider, SetKey};

pub use backoff::Retry;

/// How a class is delivered to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Who we are in marks. Whoever changes it loses sight of what the old name owns.
    pub owner: String,
    /// When a failed attempt is repeated.
    pub retry: Retry,
    /// How many requests may be under way at once; at most one of them per zone.
    pub concurrency: usize,
    /// How often to look whether somebody else changed something.
    pub drift: Duration,
    /// The hash of the deletions that may be more than the guard lets pass.
    pub allow_mass_delete: Option<String>,
    /// How long a request may take.
    pub timeout: Duration,
}

/// What is wanted at a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Our zone.
    pub zone: Name,
    /// The name.
    pub name: Name,
    /// What is to stand there.
    pub sets: Vec<Entry>,
    /// Types of which whatever stands there of ours stays for now.
    pub kept: Vec<Rtype>,
    /// Types of which other owners may add records to ours, where the provider has marks.
    pub shared: Vec<Rtype>,
    /// The owner that is to take over what is ours alone, as soon as it waits for it.
    pub heir: Option<String>,
}

/// What may stand at a provider because of us.
///
/// Where a provider has marks, they decide and this only asks for a report. Elsewhere it is our
/// memory: tell what is still wanted too, lest our own older content be taken for somebody else's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// Our zone.
    pub zone: Name,
    /// Which set.
    pub key: SetKey,
    /// The domain that it was told relative to.
    pub domain: Option<Name>,
}

/// What a delivery is told.
pub enum Order {
    /// A zone: before its nodes, and again when its SOA or name servers change.
    Zone(NewZone),
    /// What is wanted at these names now, instead of before.
    Nodes(Vec<Node>),
    /// These names are reported again, by zone and name: what is wanted there is the same, but what it stands for is not.
    Report(Vec<(Name, Name)>),
    /// What may stand there because of us.
    Known(Vec<Known>),
    /// Sets that stand there without a mark of ours, or with one of ExternalDNS's, and become ours as
    /// soon as they are wanted. What another of us marked stays that one's.
    Adopt(Vec<(Name, SetKey)>),
    /// The whole plan has been told: what is not wanted may go from now on.
    Complete,
    /// A new way to the server, or why there is none.
    Provider(Result<Arc<dyn Provider>, Trouble>),
    /// New settings.
    Settings(Settings),
    /// Look for drift now.
    Look,
}

/// Why something does not stand, in fixed words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// The reason in a condition.
    pub reason: &'static str,
    /// The code in `status.error`.
    pub code: &'static str,
    /// A sentence.
    pub message: String,
}

/// Whether this process may write.
pub trait Fence: Send + Sync {
    /// Whether a request that takes up to `timeout` may be sent now.
    fn may_send(&self, timeout: Duration) -> bool;
    /// The fencing token; it only grows.
    fn generation(&self) -> u64;
}

/// What a delivery tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// How a record set fares.
    Set {
        /// Our zone.
        zone: Name,
        /// Which set.
        key: SetKey,
        /// How.
        result: SetResult,
    },
    /// Deletions that wait for consent; none: no longer.
    Held(Option<HeldDeletes>),
    /// How the last request went, as far as the server as a whole goes; only when it changes.
    Reached(Result<(), Trouble>),
}

/// Deletions that are more than the guard lets pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldDeletes {
    /// How many sets.
    pub count: usize,
    /// A hash of which; consent names it.
    pub hash: String,
}

/// How a record set fares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetResult {
    /// It was read and is what is wanted; told when it became so or was written.
    Stands {
        /// As it was read; of a set that owners share, our part.
        set: RecordSet,
        /// What was done for it.
        written: Option<Written>,
        /// Whether other owners may have records beside these.
        is_shared: bool,
    },
    /// Nothing of ours stands there, and nothing is wanted.
    Absent {
        /// Whether we deleted it just now.
        deleted: bool,
    },
    /// It is not as wanted.
    Failed {
        /// Why.
        trouble: Trouble,
        /// Whether the fast attempts are used up; the slow ones go on.
        exhausted: bool,
    },
    /// Somebody else's record stands there, and is left alone.
    Foreign {
        /// Whose, if a mark says so.
        owner: Option<String>,
    },
}

/// What was done for a record set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// It was not there before.
    Created,
    /// It was something else before.
    Updated,
}

impl From<&Failure> for Trouble {
    fn from(failure: &Failure) -> Trouble {
        Trouble { reason: failure.reason(), code: failure.code(), message: failure.to_string() }
    }
}

/// Starts to deliver to one class, until the sender of orders is dropped.
///
/// Nothing is sent before the first [`Order::Provider`].
pub fn start(
    settings: Settings,
    fence: Arc<dyn Fence>,
    reports: UnboundedSender<Vec<Report>>,
) -> (UnboundedSender<Order>, JoinHandle<()>) {
    let (sender, orders) = mpsc::unbounded_channel();
    (sender, tokio::spawn(runner::run(settings, fence, orders, reports)))
}
