//! Steering: which part of a record set a client is answered with.
//!
//! ```text
//!  dns::Steering ──┐
//!  GeoSource ──────┼─ Compiled::new ──► Compiled ── choose(Asker) ──► positions in the set's data
//!  Health ─────────┘   (when published)             (per query: no allocation, no lock)
//! ```
//!
//! Pure: where networks are, how targets fare and what chance says come in. What is promised:
//!
//! - an answer is never empty. A choice without a live member is passed over, a drained one (weight
//!   0) serves only when all else is down, and when everything is down those are taken to be up that
//!   went down last: the last usable set;
//! - a target that was never seen up counts as up until another of its set has been seen up, and one
//!   that nobody has heard of yet always does;
//! - every address in the network that `choose` says it looked at is given the same choice, fresh
//!   draws aside, as long as health stands.

use std::net::{IpAddr, Ipv4Addr};
use std::ops::Deref;

use smallvec::SmallVec;

mod compiled;
mod decision;
mod geo;
mod health;
mod sticky;
#[cfg(test)]
mod tests;
mod tree;

pub use compiled::{Compiled, present};
pub(crate) use compiled::{choose, reduced};
pub use decision::{Candidate, Decision};
pub(crate) use geo::Table;
pub use geo::{Database, DatabaseError, GeoSource, Origin, Whereabouts};
pub use health::{Fall, Health, Slot, State};
pub(crate) use tree::Sources;

/// Who asks, as far as steering looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asker {
    /// The client's network (RFC 7871), else where the query came from.
    pub address: IpAddr,
    /// How many bits of the address are known.
    pub prefix: u8,
    /// A number drawn for this query.
    pub draw: u64,
}

impl Asker {
    /// Somebody of whom nothing is known.
    pub const NOBODY: Asker = Asker { address: IpAddr::V4(Ipv4Addr::UNSPECIFIED), prefix: 0, draw: 0 };

    /// Somebody of whom the whole address is known; an IPv4 address mapped into IPv6 is IPv4.
    pub fn at(address: IpAddr, draw: u64) -> Asker {
        let address = address.to_canonical();
        Asker { address, prefix: if address.is_ipv4() { 32 } else { 128 }, draw }
    }
}

/// How many positions are kept without asking for memory: more than fit into a datagram.
const ROOM: usize = 96;

/// The positions that were chosen, in the order of the data.
#[derive(Clone, Debug, Default)]
pub struct Chosen(SmallVec<[u16; ROOM]>);

impl Chosen {
    /// Nothing chosen yet.
    #[inline]
    pub fn new() -> Chosen {
        Chosen::default()
    }

    #[inline]
    fn clear(&mut self) {
        self.0.clear();
    }

    /// Adds a position that is not below the last; the last itself is not added twice.
    #[inline]
    fn push(&mut self, position: u16) {
        if self.last() != Some(&position) {
            self.0.push(position);
        }
    }

    /// Puts what was collected from several parts into the order of the data.
    fn sort(&mut self) {
        self.0.sort_unstable();
        self.0.dedup();
    }

    /// Keeps one, by chance, of a type that may not have several at a name.
    fn keep_one(&mut self, draw: u64) {
        if let Some(kept) = self.get((draw % self.len().max(1) as u64) as usize).copied() {
            self.clear();
            self.push(kept);
        }
    }
}

impl Deref for Chosen {
    type Target = [u16];

    #[inline]
    fn deref(&self) -> &[u16] {
        &self.0
    }
}
