//! A Kubernetes cluster as a source: one watch per kind, what arrives through them, and what the
//! planner is told.
//!
//! ```text
//! API server ──watch──► News ──feed──► planner::Change
//!                 └───► Board: what is synced, missing or forbidden (readyz, metrics)
//! ```

pub mod api_server;
pub mod arrival;
mod awaited;
pub mod board;
pub mod child;
pub mod connect;
pub mod feed;
pub mod fingerprint;
mod known;
pub mod reading;
pub mod requests;
pub mod serials;
mod stream;
pub mod subject;
pub mod watch;

pub use arrival::{Arrival, Key};
pub use awaited::Awaited;
pub use board::Board;
pub use connect::{ClusterArguments, Connection};
pub(crate) use stream::chain;
pub use subject::Subject;
pub use watch::News;
