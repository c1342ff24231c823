//! What is wrong with the webhook's certificate at the moment, for logs and `/readyz`.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::watch;

/// What a problem is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    /// The Secret.
    Secret,
    /// The ValidatingWebhookConfiguration.
    Configuration,
}

/// The problems that stand; clones share them.
#[derive(Clone, Debug)]
pub struct Problems {
    told: Arc<watch::Sender<BTreeMap<Part, String>>>,
}

impl Problems {
    pub(super) fn new() -> Problems {
        Problems { told: Arc::new(watch::Sender::new(BTreeMap::new())) }
    }

    /// The problems in words; none when all is well.
    pub fn list(&self) -> Vec<String> {
        self.told.borrow().values().cloned().collect()
    }

    /// Those that the operator's role is to blame for; each names verb and object.
    pub fn denials(&self) -> Vec<String> {
        self.list().into_iter().filter(|problem| problem.starts_with("forbidden to")).collect()
    }

    /// Says in the log what is new, once.
    pub(super) fn tell(&self, part: Part, problem: Option<String>) {
        let changed = self.told.send_if_modified(|told| match &problem {
            Some(problem) => told.insert(part, problem.clone()).as_ref() != Some(problem),
            None => told.remove(&part).is_some(),
        });
        match (changed, problem) {
            (true, Some(problem)) => tracing::warn!("{problem}"),
            // It may be another replica's now, so this is no promise that all is well.
            (true, None) => tracing::debug!("no longer a problem of this replica: the webhook's {part:?}"),
            (false, _) => {}
        }
    }
}
