//! What directs a Placement besides its spec and the health of its targets: where clients were sent
//! last, and who holds the witness's lease.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// What directs a Placement. Whoever directs it says the whole of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Direction {
    /// The region that clients are sent to before others, where that is not simply the first that is
    /// up: a region moved to stays where `failback` is `Manual`, and with a witness it is the lease's
    /// holder.
    pub active: Option<Arc<str>>,
    /// The witness's lease as it was last heard of.
    pub lease: Option<LeaseFact>,
    /// Whether the witness can be asked; where it cannot, and why, everything stays as it is.
    pub witness_trouble: Option<Box<str>>,
    /// The latest moves, the newest first.
    pub moves: Vec<Move>,
}

/// A witness's lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseFact {
    /// The region that holds it; none while nobody does.
    pub holder: Option<Arc<str>>,
    /// It grows with every new holder.
    pub generation: u64,
    /// When it runs out unless it is renewed, in Unix seconds.
    pub expires: Option<i64>,
}

/// A move from one region to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Move {
    /// When, in Unix seconds.
    pub at: i64,
    /// From where.
    pub from: Option<Arc<str>>,
    /// To where.
    pub to: Option<Arc<str>>,
    /// Why, in a sentence of ours.
    pub message: Box<str>,
}
