//! The owner ID of `up`: the name by which its ownership records at providers are told from those of others.
//!
//! ```text
//! --owner ─► the state directory ─► of an earlier version: host name and folders ─► made at random
//!                     ▲                                  └──────── saved ──────────────────┘
//! ```
//!
//! It is saved at the first use, so that a process recognises its own records after a change of its host name
//! or path. Nothing is delivered under an ID that could not be saved: after a restart the process would not know
//! its own records.

use std::path::Path;

use ring::rand::{SecureRandom, SystemRandom};

use crate::source::ClusterFolders;
use crate::state::{self, StateDir};

/// How many octets of an ID are random.
const RANDOM: usize = 8;

/// Why there is no owner ID.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoOwner {
    /// Nothing is kept.
    #[error(
        "without a state directory this process would not know its own records after a restart: give --owner NAME, \
         or a directory with --state DIR"
    )]
    NoState,
    /// It was saved and cannot be read any more.
    #[error(
        "the owner ID that was saved in {0} is damaged: give the one that the ownership records at the provider name, \
         with --owner NAME"
    )]
    Damaged(String),
    /// The disk refuses it.
    #[error("a new owner ID cannot be saved in {0}: mend that and start again, or give --owner NAME")]
    Unsaved(String),
    /// The system has no random numbers.
    #[error("no owner ID can be made: give --owner NAME")]
    NoChance,
}

/// The owner ID of a process that has this state directory; a new one is saved there.
pub fn of_state(state: Option<&StateDir>, clusters: &[ClusterFolders]) -> Result<String, NoOwner> {
    let state = state.ok_or(NoOwner::NoState)?;
    let path = || state.path().display().to_string();
    if let Some(owner) = state.load_owner() {
        return Ok(owner);
    }
    if state::had_owner(state.path()) {
        return Err(NoOwner::Damaged(path()));
    }
    let (owner, is_new) = match state::is_of_earlier_run(state.path()) {
        true => (of_earlier_versions(clusters), false),
        false => (random()?, true),
    };
    state.save_owner(&owner);
    if is_new && state.is_refused() {
        return Err(NoOwner::Unsaved(path()));
    }
    Ok(owner)
}

/// The owner ID that `up` has or will have with the state in this directory, as far as that is decided; for readers,
/// beside a process that uses the directory.
pub fn decided(directory: &Path, clusters: &[ClusterFolders]) -> Option<String> {
    let earlier = || {
        let is_earlier = !state::had_owner(directory) && state::is_of_earlier_run(directory);
        is_earlier.then(|| of_earlier_versions(clusters))
    };
    state::saved_owner(directory).or_else(earlier)
}

/// As versions before 0.2 made it, from the host name and the folders. A state of theirs keeps it.
fn of_earlier_versions(clusters: &[ClusterFolders]) -> String {
    let host = std::fs::read_to_string("/etc/hostname").unwrap_or_default();
    format!("up-{}-{:.8}", host.trim(), state::key(clusters))
}

fn random() -> Result<String, NoOwner> {
    let mut octets = [0; RANDOM];
    SystemRandom::new().fill(&mut octets).map_err(|_| NoOwner::NoChance)?;
    Ok(format!("up-{}", state::hex(&octets)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn clusters(folder: &Path) -> Vec<ClusterFolders> {
        ClusterFolders::parse(&[folder.to_str().unwrap()]).unwrap()
    }

    #[test]
    fn a_new_state_has_an_id_of_its_own_that_no_other_folder_changes() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let folders = clusters(Path::new("/nowhere/a"));
        let owner = {
            let state = StateDir::open(one.path()).unwrap();
            of_state(Some(&state), &folders).unwrap()
        };
        assert!(owner.starts_with("up-") && owner.len() == 3 + 2 * RANDOM, "{owner}");
        let moved = clusters(Path::new("/nowhere/b"));
        assert_eq!(decided(one.path(), &moved).as_ref(), Some(&owner));
        let state = StateDir::open(one.path()).unwrap();
        state.save_generation(7);
        assert_eq!(of_state(Some(&state), &moved), Ok(owner.clone()));
        let state = StateDir::open(other.path()).unwrap();
        assert_eq!(decided(other.path(), &folders), None, "nothing is decided before the first use");
        assert_ne!(of_state(Some(&state), &folders), Ok(owner));
    }

    #[test]
    fn a_state_of_an_earlier_version_keeps_its_id() {
        let directory = tempfile::tempdir().unwrap();
        let folders = clusters(Path::new("/nowhere/a"));
        let state = StateDir::open(directory.path()).unwrap();
        state.save_generation(7);
        state.flush();
        let derived = of_earlier_versions(&folders);
        assert_eq!(decided(directory.path(), &folders).as_ref(), Some(&derived));
        assert_eq!(of_state(Some(&state), &folders), Ok(derived.clone()));
        let moved = clusters(Path::new("/nowhere/b"));
        assert_eq!(of_state(Some(&state), &moved), Ok(derived), "from now on it is saved");
    }

    #[test]
    fn a_damaged_id_is_not_replaced_by_another() {
        let directory = tempfile::tempdir().unwrap();
        let folders = clusters(Path::new("/nowhere/a"));
        {
            let state = StateDir::open(directory.path()).unwrap();
            of_state(Some(&state), &folders).unwrap();
        }
        for name in ["owner", "owner.copy"] {
            std::fs::write(directory.path().join(name), "nonsense").unwrap();
        }
        for _ in 0..2 {
            let state = StateDir::open(directory.path()).unwrap();
            assert!(matches!(of_state(Some(&state), &folders), Err(NoOwner::Damaged(_))));
        }
        assert_eq!(decided(directory.path(), &folders), None);
        assert_eq!(of_state(None, &folders), Err(NoOwner::NoState));
    }
}
