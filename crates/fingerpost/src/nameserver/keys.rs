//! DNSSEC keys of a server in a cluster: read from Secrets, and kept in the state directory so that a
//! restart without the API server signs as before.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use planner::Signer;
use server::dnssec::ZoneKeys;

use crate::instance::Instance;
use crate::instance::signing::KeySource;
use crate::keys::{KeyFolder, KeysError, SecretVaults};

/// How often the Secrets are looked at.
const EVERY: Duration = Duration::from_secs(10);

/// How often a Secret that was never read is asked for before zones go on without it, and the pause.
const FIRST_ATTEMPTS: usize = 3;
const PAUSE: Duration = Duration::from_millis(500);

/// The keys that a server hears of.
#[derive(Debug)]
pub(super) struct HeardKeys {
    kept: Option<KeyFolder>,
    /// The vaults that were read, and when all of them were last looked at.
    read: BTreeSet<String>,
    looked: Option<Instant>,
}

/// What a Secret holds, entry by entry.
type Found = Vec<Result<ZoneKeys, KeysError>>;

impl HeardKeys {
    /// Signs with the keys that were kept.
    pub(super) fn open(instance: &Instance, state: Option<&Path>) -> HeardKeys {
        instance.signings.set_source(KeySource::Given);
        let kept = state.map(|state| KeyFolder::new(state.join("keys")));
        for (vault, found) in kept.iter().flat_map(KeyFolder::all) {
            match found {
                Ok(keys) => drop(instance.signings.hear(&vault, &keys.zone.clone(), Ok(keys))),
                Err(error) => tracing::error!("{error}"),
            }
        }
        HeardKeys { kept, read: BTreeSet::new(), looked: None }
    }

    /// Reads the Secrets of these classes, where one was never read or it is time; says whether any key
    /// is another. Classes that this server does not answer for are among them: their signatures count
    /// in the serials of zones that it shares with them.
    pub(super) async fn look(
        &mut self,
        instance: &Instance,
        vaults: &SecretVaults,
        signers: &[Signer],
    ) -> bool {
        let wanted: BTreeSet<&String> = signers.iter().map(|signer| &signer.vault).collect();
        let is_time = self.looked.is_none_or(|looked| looked.elapsed() >= EVERY);
        let due = wanted.into_iter().filter(|vault| is_time || !self.read.contains(*vault));
        let mut changed = false;
        for vault in due.collect::<Vec<_>>() {
            changed |= match self.load(vaults, vault).await {
                Ok(found) => self.take(instance, vault, found.unwrap_or_default()),
                Err(error) => {
                    tracing::warn!("{error}");
                    false
                }
            };
            self.read.insert(vault.clone());
        }
        if is_time {
            self.looked = Some(Instant::now());
        }
        changed
    }

    /// At the first look a hiccup of the API server would leave zones unsigned until the next.
    async fn load(&self, vaults: &SecretVaults, vault: &str) -> Result<Option<Found>, KeysError> {
        let mut further = if self.read.contains(vault) { 0 } else { FIRST_ATTEMPTS - 1 };
        loop {
            match vaults.load(vault).await {
                Err(error) if further > 0 => tracing::debug!("{error}; it is tried again"),
                found => return found,
            }
            further -= 1;
            tokio::time::sleep(PAUSE).await;
        }
    }

    fn take(&self, instance: &Instance, vault: &str, found: Found) -> bool {
        let mut changed = false;
        for keys in found {
            let Ok(keys) = keys.inspect_err(|error| tracing::error!("{error}")) else { continue };
            if instance.signings.hear(vault, &keys.zone.clone(), Ok(keys.clone())) {
                changed = true;
                self.keep(vault, &keys);
            }
        }
        changed
    }

    fn keep(&self, vault: &str, keys: &ZoneKeys) {
        let Some(kept) = &self.kept else { return };
        if let Err(error) = kept.edit(vault, &keys.zone, |_| Ok(keys.clone())) {
            tracing::error!("{error}: after a restart without the API server the zone would not be signed");
        }
    }
}
