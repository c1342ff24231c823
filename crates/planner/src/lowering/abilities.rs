//! What a provider can do of steering by itself, as data: what it can do, and never who it is.
//!
//! Nobody has abilities for what no provider does so far: verifying certificates, waiting for several
//! successes, several right codes, and times that are no whole seconds. Where one of these is asked for,
//! the probing is ours.

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
}

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
