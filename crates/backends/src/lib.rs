//! Back-ends: how a plan reaches the places that hold records.
//!
//! ```text
//! plan ──► embedded                                  (our own server: the zones of each view)
//!      └─► delivery (pure) ──► dyn Provider ──► PowerDNS, RFC 2136, webhooks, zone files
//! ```
//!
//! What a provider holds, `lookup` asks the world for. One module per provider: pure request building and a thin transport. A plan leaves a back-end
//! nothing to choose.

pub mod delivery;
pub mod embedded;
pub mod external_dns_webhook;
mod failure;
pub mod lookup;
pub mod marks;
pub mod powerdns;
mod provider;
pub mod rfc2136;
mod steering;
pub mod transport;
mod unit;
pub mod webhook;
pub mod zone_file;

pub use failure::{Failure, Mistrust, Obstacle};
pub use provider::{Batch, Entry, NewZone, OpenedZone, Provider, Reading, Reply, SetChange, SetKey};
pub use steering::{Dialect, Steers};
