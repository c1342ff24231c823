//! What may stand at servers that cannot be asked what of theirs is ours.
//!
//! In a cluster the records' own statuses remember it. On one machine the state directory does: a name is
//! written down before the first request about it is sent, and forgotten when it is known to be gone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::DNSClassSpec;
use backends::SetKey;
use backends::delivery::{Known, Node, Report, SetResult};
use dns::{Name, Rtype};

use super::connect::is_forgetful;
use crate::state::StateDir;

/// A record set at a class: its zone, name, type and the domain that it was told relative to.
type Remembered = (Name, Name, Rtype, Option<Name>);
/// What may stand at each class.
pub type Everything = BTreeMap<String, BTreeSet<Remembered>>;

/// What may stand at servers because of us.
#[derive(Default)]
pub struct Memory {
    state: Option<Arc<StateDir>>,
    standing: Everything,
}

impl Memory {
    /// A memory that remembers nothing: somebody else does.
    pub fn elsewhere() -> Memory {
        Memory::default()
    }

    /// A memory on disk; without a directory it lasts as long as the process.
    pub fn on_disk(state: Option<Arc<StateDir>>) -> Memory {
        let standing = state.as_deref().map(StateDir::load_delivered).unwrap_or_default();
        Memory { state, standing }
    }

    /// What may stand at a class.
    pub(super) fn known(&self, class: &str) -> impl Iterator<Item = Known> {
        let standing = self.standing.get(class).into_iter().flatten().cloned();
        standing.map(|(zone, name, rtype, domain)| Known { zone, key: SetKey { name, rtype }, domain })
    }

    /// Writes down what is about to be sent.
    pub(super) fn note(&mut self, class: &str, spec: &DNSClassSpec, nodes: &[Node]) {
        if !is_forgetful(spec) {
            return;
        }
        let standing = self.standing.entry(class.to_owned()).or_default();
        let before = standing.len();
        for node in nodes {
            let sets = node.sets.iter();
            standing.extend(
                sets.map(|entry| {
                    (node.zone.clone(), node.name.clone(), entry.set.rtype, entry.domain.clone())
                }),
            );
        }
        if standing.len() > before {
            self.save();
        }
    }

    /// Forgets what is known to be gone.
    pub(super) fn hear(&mut self, class: &str, reports: &[Report]) {
        let Some(standing) = self.standing.get_mut(class) else { return };
        let before = standing.len();
        for report in reports {
            if let Report::Set { zone, key, result: SetResult::Absent { .. } } = report {
                standing
                    .retain(|(of, name, rtype, _)| of != zone || *name != key.name || *rtype != key.rtype);
            }
        }
        if standing.len() < before {
            self.save();
        }
    }

    fn save(&self) {
        if let Some(state) = &self.state {
            state.save_delivered(&self.standing);
            // A request must not overtake what is known about it.
            state.flush();
        }
    }
}
