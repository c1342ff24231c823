//! The authoritative DNS server.
//!
//! ```text
//!  plan ── ZoneUpdate ──► Zones ─┐
//!                                ├─ ViewTable ── one atomic swap ──► Views
//!  endpoints, client networks ───┘                                     │
//!                                                                      ▼
//!  UDP, TCP, TLS (listen) ── query bytes ──► answer (pure) ── reply bytes ──► client
//! ```
//!
//! Answering is a pure function on bytes; the transports only carry them. A query reads one
//! version of the table from start to end, so an answer never mixes old and new content. Common
//! questions over UDP are answered from compiled zones (fast), with the same result.

mod answer;
mod cookies;
mod counters;
pub mod dnssec;
mod fast;
mod identity;
mod listen;
mod network;
mod rate_limit;
mod rcode;
mod reader;
pub mod steering;
pub mod transfer;
mod views;
mod zones;

pub use answer::{
    Answer, Circumstances, CookieState, ExtendedError, Reply, Sight, Step, Transport, answer, lookup,
    respond, respond_limited,
};
pub use cookies::{CLIENT_COOKIE, CookieKeys, CookieKeysError, SERVER_COOKIE};
pub use counters::{Counters, CountersSnapshot};
pub use fast::respond_fast;
pub use identity::Identity;
pub use listen::{
    ALPN, Bound, BoundTls, Limits, ListenError, Options, ServeHandle, bind, bind_tls, serve, serve_tls,
    serve_with,
};
pub use network::{Network, NetworkError};
pub use rate_limit::{RateLimit, RateLimiter, ResponseKind, Verdict, subject};
pub use rcode::Rcode;
pub use views::{Endpoint, EndpointId, ViewTable, Views};
pub use zones::{Zone, ZoneUpdate, Zones};
