//! The hosts that a gateway must accept: an ordered, counted set with a size limit.
//!
//! An Istio Gateway is one object and cannot be split, so it takes the oldest routes whose names
//! together stay under the limit; the youngest past that are turned away.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use dns::Name;
use rustc_hash::FxHasher;

use crate::rank::Rank;
use crate::snapshot::Id;

/// How many octets of host names one Istio Gateway may have.
pub(crate) const LIMIT: usize = 1 << 20;

/// The hosts of one gateway, oldest route first. All that is in is older than all that is out.
#[derive(Debug, Default)]
pub(crate) struct HostSet {
    within: BTreeMap<Rank, (Id, Name)>,
    beyond: BTreeMap<Rank, (Id, Name)>,
    size: usize,
    fingerprint: u64,
}

impl HostSet {
    /// Adds a route's host; gives the routes that are in or out now and were not before.
    pub(crate) fn insert(&mut self, rank: Rank, id: Id, host: Name, limit: usize) -> Vec<Id> {
        let youngest_out = self.beyond.first_key_value();
        if youngest_out.is_some_and(|(first, _)| *first < rank) {
            self.beyond.insert(rank, (id, host));
            return vec![id];
        }
        self.enter(rank, id, host);
        self.shrink(limit)
    }

    /// Takes a route's host away; gives the routes that have room now.
    pub(crate) fn remove(&mut self, rank: &Rank, limit: usize) -> Vec<Id> {
        if self.beyond.remove(rank).is_none()
            && let Some((_, host)) = self.within.remove(rank)
        {
            self.leave(&host);
        }
        self.grow(limit)
    }

    fn shrink(&mut self, limit: usize) -> Vec<Id> {
        let mut out = Vec::new();
        while self.size > limit {
            let Some((rank, (id, host))) = self.within.pop_last() else { break };
            self.leave(&host);
            self.beyond.insert(rank, (id, host));
            out.push(id);
        }
        out
    }

    fn grow(&mut self, limit: usize) -> Vec<Id> {
        let mut entered = Vec::new();
        while let Some(first) = self.beyond.first_entry() {
            let length = size(&first.get().1);
            if self.size + length > limit {
                break;
            }
            let (rank, (id, host)) = first.remove_entry();
            self.enter(rank, id, host);
            entered.push(id);
        }
        entered
    }

    fn enter(&mut self, rank: Rank, id: Id, host: Name) {
        self.size += size(&host);
        self.fingerprint = self.fingerprint.wrapping_add(hash(&host));
        self.within.insert(rank, (id, host));
    }

    fn leave(&mut self, host: &Name) {
        self.size -= size(host);
        self.fingerprint = self.fingerprint.wrapping_sub(hash(host));
    }

    /// A sum over the hosts, kept by difference, that tells whether they are others than before.
    pub(crate) fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    pub(crate) fn has_room_for(&self, rank: &Rank) -> bool {
        !self.beyond.contains_key(rank)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.within.is_empty() && self.beyond.is_empty()
    }

    /// The hosts as an Istio Gateway lists them: sorted, each once.
    pub(crate) fn sorted(&self) -> Vec<String> {
        let mut hosts: Vec<_> = self.within.values().map(|(_, host)| host.undotted()).collect();
        hosts.sort_unstable();
        hosts.dedup();
        hosts
    }
}

/// The octets of a host as text.
fn size(host: &Name) -> usize {
    host.wire_len().saturating_sub(2)
}

fn hash(host: &Name) -> u64 {
    let mut hasher = FxHasher::default();
    host.hash(&mut hasher);
    hasher.finish()
}
