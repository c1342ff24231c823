//! Deliveries of `up`: what a class may reach, who we are there, and Secrets from folders and files.

use std::sync::Arc;

use anyhow::Result;
use api::Kind;
use backends::delivery::Fence;
use backends::transport::guard::Guard;
use planner::Delta;
use tokio::sync::watch;

use super::Up;
use crate::cli::UpArguments;
use crate::deliveries::{Circumstances, Counts};
use crate::secrets::{FolderSecrets, LocalSecrets};
use crate::state::StateDir;

/// Whoever runs `up` writes, and who started last is the newest.
struct Alone {
    generation: u64,
}

impl Fence for Alone {
    fn may_send(&self, _: std::time::Duration) -> bool {
        true
    }

    fn generation(&self) -> u64 {
        self.generation
    }
}

/// What deliveries start from.
pub(super) fn circumstances(
    arguments: &UpArguments,
    owner: Result<String, Arc<str>>,
    state: Option<&StateDir>,
    secrets: Arc<LocalSecrets>,
    secret_changes: watch::Receiver<u64>,
    counts: Counts,
) -> Result<Circumstances> {
    let delivery = &arguments.delivery;
    let guard = Arc::new(Guard::allowing(delivery.targets.networks_of(arguments.dns)?));
    let now = u64::try_from(jiff::Timestamp::now().as_microsecond()).unwrap_or_default();
    let generation = next_generation(state.and_then(StateDir::load_generation), now);
    state.inspect(|state| state.save_generation(generation));
    Ok(Circumstances {
        owner,
        eyes: delivery.eyes(&guard),
        guard,
        fence: Arc::new(Alone { generation }),
        secrets,
        secret_changes,
        retry: delivery.retry(),
        health_interval: delivery.health_check_interval,
        drift_interval: delivery.drift_interval,
        counts,
    })
}

/// The generation of this run: the time, and always more than the last one. Servers refuse a lower generation, so
/// after a run with a clock that was ahead the time alone would be refused until it has caught up.
fn next_generation(last: Option<u64>, now: u64) -> u64 {
    last.map_or(now, |last| now.max(last.saturating_add(1)))
}

impl Up {
    /// Takes the Secrets that the folders declare.
    pub(super) fn hear_secrets(&mut self, secrets: FolderSecrets) {
        if self.secrets.declare(secrets) {
            self.secret_changes.send_modify(|count| *count += 1);
        }
    }

    /// Looks whether Secrets in files are others now.
    pub(super) fn look_at_secret_files(&mut self) {
        if self.secrets.have_files_changed() {
            self.secret_changes.send_modify(|count| *count += 1);
        }
    }

    /// Keeps under what DNSRecords stand and what Placements and Gateways answer. It is written whole, so it is done
    /// now and then: a crash in between costs no record, only the order in which one that moved meanwhile is made
    /// and broken.
    pub(super) fn save_remembered(&mut self) {
        let Some(state) = self.state.as_ref().filter(|_| std::mem::take(&mut self.unsaved)) else { return };
        state.save_remembered(&self.instance.planner().remembered());
    }

    /// Keeps at once which versions are in force where those are not the newest: the files have only the newest, so
    /// a crash would take away what is served.
    pub(super) fn keep_versions(&mut self, delta: &Delta) {
        if delta.versions {
            self.unsaved = true;
            self.save_remembered();
        }
    }

    /// Lets the deliveries follow the plan; one that was made anew is told whole.
    pub(super) fn deliver(&mut self, delta: &Delta, anew: bool) {
        let is_kept = |kind: Kind| matches!(kind, Kind::Placement | Kind::ListenerGateway);
        let moved_answer = || delta.statuses.iter().any(|(_, reference)| is_kept(reference.kind));
        self.unsaved |= anew || !delta.deliveries.is_empty() || moved_answer();
        let planner = self.instance.planner();
        if anew {
            self.deliveries.end();
            self.deliveries.begin(&planner);
        } else {
            self.deliveries.follow(&planner, delta);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::next_generation;

    #[test]
    fn a_later_run_has_a_higher_generation_also_after_a_clock_was_set_back() {
        assert_eq!(next_generation(None, 1000), 1000);
        assert_eq!(next_generation(Some(900), 1000), 1000);
        assert_eq!(next_generation(Some(5000), 1000), 5001);
    }
}
