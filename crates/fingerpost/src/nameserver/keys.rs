//! DNSSEC keys of a server in a cluster: read from Secrets, and kept in the state directory so that a
//! restart without the API server signs as before.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use planner::ViewInfo;
use server::dnssec::ZoneKeys;

use crate::instance::Instance;
use crate::instance::signing::KeySource;
use crate::keys::{self, KeyFolder, KeysError, SecretVaults};

/// How often the Secrets are looked at.
const EVERY: Duration = Duration::from_secs(10);

/// The keys that a server hears of.
#[derive(Debug)]
pub(super) struct HeardKeys {
    kept: Option<KeyFolder>,
    /// The vaults that were read, and when all of them were last looked at.
    read: BTreeSet<String>,
    looked: Option<Instant>,
}

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

    /// Reads the Secrets of these views, where one was never read or it is time; says whether any key
    /// is another.
    pub(super) async fn look(
        &mut self,
        instance: &Instance,
        vaults: &SecretVaults,
        views: &[ViewInfo],
    ) -> bool {
        let vault = |view: &ViewInfo| view.dnssec.as_ref().map(|spec| keys::vault(&view.name, spec));
        let wanted: BTreeSet<String> = views.iter().filter_map(vault).collect();
        let is_time = self.looked.is_none_or(|looked| looked.elapsed() >= EVERY);
        let due: Vec<&String> =
            wanted.iter().filter(|vault| is_time || !self.read.contains(*vault)).collect();
        let mut changed = false;
        for vault in due {
            changed |= match vaults.load(vault).await {
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

    fn take(&self, instance: &Instance, vault: &str, found: Vec<Result<ZoneKeys, KeysError>>) -> bool {
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
