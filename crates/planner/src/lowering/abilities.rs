//! What a provider can do of steering by itself, as data: what it can do, and never who it is.
//!
//! Nobody has abilities for what no provider does so far: verifying certificates, waiting for several
//! successes, several right codes, and times that are no whole seconds. Where one of these is asked for,
//! the probing is ours.

use dns::{ProbeId, RecordSet};

use crate::probe::ProbeSpec;

/// What a probe does, by what it is known by.
pub type Probes<'a> = &'a dyn Fn(ProbeId) -> Option<&'a ProbeSpec>;

/// How much of the steering a provider can do by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Abilities {
    /// Whether it chooses for each client: by weight, and by what it finds to be up. Where it does not, it
    /// holds plain record sets.
    pub chooses: bool,
    /// Whether it knows where clients are.
    pub knows_places: bool,
    /// What it checks by itself.
    pub checks: Checks,
    /// Whether it has room for a steered set.
    pub room: Room,
}

/// Whether a set as it is steered can be written for a provider: it may get too long, or hold a text that
/// has no place there. Who writes it knows, so that is who is asked.
#[derive(Clone, Copy, Debug)]
pub struct Room(pub fn(&RecordSet, Probes<'_>) -> bool);

impl Room {
    /// Of a provider that can be told anything.
    pub const ENDLESS: Room = Room(|_, _| true);
}

/// Two that differ and are taken for one do the same; two of the same taken for different cost a look.
impl PartialEq for Room {
    fn eq(&self, other: &Room) -> bool {
        std::ptr::fn_addr_eq(self.0, other.0)
    }
}

impl Eq for Room {}

/// How exactly a provider checks by itself what it answers with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checks {
    /// Whether groups of addresses in an order can be checked by connecting, as they can by a page.
    pub orders_connections: bool,
    /// Whether it can be told which code a page must have; else that is 200.
    pub is_told_codes: bool,
    /// Whether it can be told after how many failures a target is down; else one is enough.
    pub is_told_failures: bool,
    /// How often it checks.
    pub interval: CheckInterval,
}

/// How often a provider checks, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckInterval {
    /// All targets alike.
    Fixed(u64),
    /// As it is told, in steps of this.
    StepsOf(u64),
}

impl Abilities {
    /// Those of a provider that holds plain record sets.
    pub const NONE: Abilities = Abilities {
        chooses: false,
        knows_places: false,
        checks: Checks {
            orders_connections: false,
            is_told_codes: false,
            is_told_failures: false,
            interval: CheckInterval::Fixed(0),
        },
        room: Room::ENDLESS,
    };
}

impl CheckInterval {
    /// Whether targets can be checked this often.
    pub(super) fn allows(self, interval: u64) -> bool {
        match self {
            CheckInterval::Fixed(own) => interval == own,
            CheckInterval::StepsOf(step) => interval > 0 && interval.is_multiple_of(step),
        }
    }
}
