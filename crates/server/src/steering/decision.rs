//! How a choice came about, in data, and in words for `explain`.

use std::fmt;
use std::net::IpAddr;

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
        /// All there are, the default last.
        candidates: Vec<Candidate>,
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
    /// What it is called.
    pub name: String,
    /// Its weight; 0 is drained.
    pub weight: u32,
    /// Whether it has a live member.
    pub live: bool,
}

impl Candidate {
    fn with_weight(&self) -> String {
        match self.live {
            true => format!("{} (weight {})", self.name, self.weight),
            false => format!("{} (weight {}, down)", self.name, self.weight),
        }
    }

    fn plain(&self) -> String {
        if self.live { self.name.clone() } else { format!("{} (down)", self.name) }
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = |candidates: &[Candidate]| list(candidates, Candidate::plain);
        let weighted = |candidates: &[Candidate]| list(candidates, Candidate::with_weight);
        match self {
            Decision::Client { address, place, origin } => {
                write!(f, "{address} is in {place}, says {origin}")
            }
            Decision::Geo { candidates, taken } => {
                write!(f, "by place it gets {} of {}", name(candidates, *taken), plain(candidates))
            }
            Decision::Closest { candidates, taken } => {
                write!(
                    f,
                    "the nearest that is alive is {} of {}",
                    name(candidates, *taken),
                    plain(candidates)
                )
            }
            Decision::Drawn { candidates, taken } => {
                write!(
                    f,
                    "a draw by weight among {}; here {}",
                    weighted(candidates),
                    name(candidates, *taken)
                )
            }
            Decision::Sticky { network, candidates, taken } => {
                let (all, taken) = (weighted(candidates), name(candidates, *taken));
                write!(f, "among {all} the network {network} always gets {taken}")
            }
            Decision::Failover { candidates, taken } => {
                write!(f, "the first that is alive is {} of {}", name(candidates, *taken), plain(candidates))
            }
            Decision::NothingFound { probes: true, drained: false } => {
                f.write_str("nothing is alive but what is drained")
            }
            Decision::NothingFound { probes: true, drained: true } => {
                f.write_str("all targets are down, so those that went down last are taken to be up")
            }
            Decision::NothingFound { probes: false, .. } => f.write_str("everything is drained"),
        }
    }
}

fn list(candidates: &[Candidate], show: impl Fn(&Candidate) -> String) -> String {
    candidates.iter().map(show).collect::<Vec<_>>().join(", ")
}

fn name(candidates: &[Candidate], taken: usize) -> &str {
    candidates.get(taken).map_or("nothing", |candidate| &candidate.name)
}
