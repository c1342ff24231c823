//! How a choice came about, as data for `explain`.

use std::net::IpAddr;

use dns::Geo;

use super::{Origin, Whereabouts};
use crate::Network;

/// One decision on the way to a choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Where the client is.
    Client {
        /// The address that was looked at.
        address: IpAddr,
        /// Where it is.
        place: Whereabouts,
        /// Who says so.
        origin: Origin,
    },
    /// A choice by place.
    Geo {
        /// Where the client is.
        place: Whereabouts,
        /// All there are, the default last.
        candidates: Vec<Candidate>,
        /// Which of the others has the same members as the default.
        default: Option<usize>,
        /// Which of them.
        taken: usize,
    },
    /// The nearest choice.
    Closest {
        /// All there are.
        candidates: Vec<Candidate>,
        /// Which of them.
        taken: usize,
    },
    /// A fresh draw by weight.
    Drawn {
        /// All there are.
        candidates: Vec<Candidate>,
        /// Which of them.
        taken: usize,
    },
    /// The choice that this client network always gets.
    Sticky {
        /// The network.
        network: Network,
        /// All there are.
        candidates: Vec<Candidate>,
        /// Which of them.
        taken: usize,
    },
    /// The first group that is alive.
    Failover {
        /// All there are, in their order.
        candidates: Vec<Candidate>,
        /// Which of them.
        taken: usize,
    },
    /// Nothing was alive; the next decisions are more forgiving.
    NothingFound {
        /// Whether drained choices counted.
        drained: bool,
        /// Whether probes were believed.
        probes: bool,
    },
}

/// Somebody who could have been taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// What it is called; `None` where its place is all that it is known by.
    pub name: Option<String>,
    /// The country or continent that it is for.
    pub place: Option<Geo>,
    /// Its weight; 0 is drained.
    pub weight: u32,
    /// Whether it has a live member.
    pub live: bool,
}
