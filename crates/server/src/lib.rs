//! The authoritative DNS server.
//!
//! ```text
//!  plan ── ZoneUpdate ──► Zones ─┐
//!                                ├─ ViewTable ── one atomic swap ──► Views
//!  endpoints, client networks ───┘                                     │
//!                                                                      ▼
//!  UDP, TCP (listen) ── query bytes ──► answer (pure) ── reply bytes ──► client
//! ```
//!
//! Answering is a pure function on bytes; the transports only carry them. A query reads one
//! version of the table from start to end, so an answer never mixes old and new content.

mod answer;
mod counters;
mod fast;
mod listen;
mod network;
mod rcode;
mod views;
mod zones;

pub use answer::{
    Answer, Circumstances, ExtendedError, Reply, Sight, Step, Transport, answer, lookup, respond,
};
pub use counters::{Counters, CountersSnapshot};
pub use fast::respond_fast;
pub use listen::{Bound, Limits, ListenError, ServeHandle, bind, serve, serve_with};
pub use network::{Network, NetworkError};
pub use rcode::Rcode;
pub use views::{Endpoint, EndpointId, ViewTable, Views};
pub use zones::{Zone, ZoneUpdate, Zones};
