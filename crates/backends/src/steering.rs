//! What a provider says of steering: what it can do of it, which is the planner's to know, and how steered
//! record sets are written for it, which is ours. Pure.

use planner::{Abilities, Probes};

use crate::Entry;
use crate::powerdns::Version;
use crate::powerdns::steered::{Lowered, lowered, unsteered};

/// What a provider says of steering.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steers {
    /// How much of it the provider can do by itself.
    pub abilities: Abilities,
    /// How it is told of it.
    pub dialect: Dialect,
}

/// How steered record sets are written for a provider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// As plain record sets.
    #[default]
    Plain,
    /// As LUA records for a PowerDNS of this version.
    Lua(Version),
}

impl Steers {
    /// What a provider says that holds plain record sets.
    pub const NOTHING: Steers = Steers { abilities: Abilities::NONE, dialect: Dialect::Plain };
}

impl Dialect {
    /// What a provider is to hold for the record sets of one name.
    pub fn lowered(self, entries: Vec<Entry>, probes: Probes<'_>) -> Lowered {
        match self {
            Dialect::Plain => Lowered { entries: unsteered(entries), spoken_for: Vec::new() },
            Dialect::Lua(version) => lowered(entries, probes, version),
        }
    }
}
