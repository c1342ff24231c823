//! Witnesses: a third place that says which region holds a lease.
//!
//! ```text
//! claimant (pure: what to ask next) ◄──► keeper (timeouts, pauses) ──► Store: etcd, Lease, document
//! ```
//!
//! Every kind of witness is the same to us: one [`Document`] that can be read, and replaced only by
//! whoever read its latest version. Time is observed, never compared: a holder counts from when it
//! *sent* its renewal, everybody else from when they *saw* the document change, by their own clocks.
//! So a witness needs no clock, and one that lies about time changes nothing.

mod claimant;
mod connect;
mod document;
mod etcd;
mod http_document;
mod keeper;
mod kubeconfig;
mod kubernetes;
mod pledge;
#[cfg(test)]
mod simulation;
mod store;
#[cfg(test)]
mod tests;

pub use claimant::{Claimant, Intent, Seen, Terms};
pub use connect::{ConnectError, Means, connect, key};
pub use document::{Answer, Call, Document, Version};
pub use etcd::Etcd;
pub use http_document::HttpDocument;
pub use keeper::{Keeper, Report};
pub use kubernetes::KubernetesLease;
pub use pledge::Pledge;
pub use store::Store;
