//! What a mark says to other owners of its name.

use std::collections::{BTreeMap, BTreeSet};

use dns::{Rdata, Rtype};

/// What a mark says to other owners; a mark of what is its owner's alone says nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// What the owner adds to the sets that it shares. A type that is not in here is its alone.
    pub shares: BTreeMap<Rtype, Share>,
    /// What another has and the owner waits for.
    pub wants: BTreeSet<Rtype>,
    /// Who may take over what is the owner's alone.
    pub heir: Option<String>,
    /// From whom the owner is taking over.
    pub from: Option<String>,
}

/// What one owner adds to a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// The longest that the set may be kept, as far as this owner goes.
    pub ttl: u32,
    /// The records; none: the owner is leaving.
    pub data: Vec<Rdata>,
}

impl Terms {
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        *self == Terms::default()
    }

    /// Takes back what was said about a type.
    pub fn forget(&mut self, rtype: Rtype) {
        self.shares.remove(&rtype);
        self.wants.remove(&rtype);
    }
}
