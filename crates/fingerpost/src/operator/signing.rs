//! Looks after DNSSEC keys in a cluster: makes those of zones that have none and takes the steps that
//! fall due, in Secrets that the servers read.
//!
//! Only the leader writes, and at rest it writes nothing. The others read along, so that whoever leads
//! next counts the same serials, and remembers what somebody may have emptied.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use api::dnsclass::Dnssec;
use dns::Name;
use planner::Planner;
use ring::rand::SystemRandom;
use server::Zone;
use server::dnssec::{ClockReading, Timing, ZoneKeys};

use super::lease::Leadership;
use crate::instance::signing::{KeySource, timing};
use crate::instance::{Instance, zones};
use crate::keys::{self, KeysError, SecretVaults};

/// How often keys are looked at.
const EVERY: Duration = Duration::from_secs(10);

/// The zones that have their keys in one vault, and how new keys are made there.
#[derive(Debug, Default)]
struct Vault {
    spec: Dnssec,
    zones: BTreeSet<Name>,
}

/// Hears of all keys that there are, so that the first plan has the serials that go with them.
pub(super) async fn hear(instance: &Instance, vaults: &SecretVaults) {
    instance.signings.set_source(KeySource::Given);
    match vaults.all().await {
        Ok(found) => found.into_iter().for_each(|(vault, keys)| take(instance, &vault, keys)),
        Err(error) => tracing::warn!("DNSSEC: {error}"),
    }
}

fn take(instance: &Instance, vault: &str, keys: Result<ZoneKeys, KeysError>) {
    // What cannot be read is told of by whoever looks after it.
    if let Ok(keys) = keys {
        instance.signings.hear(vault, &keys.zone.clone(), Ok(keys));
    }
}

/// Looks after the keys for as long as the process lives; a call takes no longer than `timeout`.
pub(super) async fn run(
    instance: Arc<Instance>,
    vaults: SecretVaults,
    leadership: Leadership,
    timeout: Duration,
) {
    let mut complaints = BTreeSet::new();
    loop {
        tokio::time::sleep(EVERY).await;
        // Read in every round, also by a follower, so that whoever leads next has seen a clock that was set.
        let clock = instance.clock.read();
        let wanted = wanted(&instance.planner());
        let mut problems = BTreeSet::new();
        for (name, vault) in &wanted {
            // A write is sent only while more of the lease is left than it may take.
            let found = match leadership.may_send(timeout) {
                true => look_after(&instance, &vaults, name, vault, clock).await,
                false => read_along(&instance, &vaults, name).await,
            };
            problems.extend(found.into_iter().map(|error| error.to_string()));
        }
        // What was told once is not told again until it is another.
        problems.difference(&complaints).for_each(|problem| tracing::error!("DNSSEC: {problem}"));
        complaints = problems;
        // With a new week too, which moves no key.
        if !wanted.is_empty() {
            instance.signatures_moved.notify_one();
        }
    }
}

/// Which zones are to be signed, by vault.
fn wanted(planner: &Planner) -> BTreeMap<String, Vault> {
    let mut vaults = BTreeMap::<String, Vault>::new();
    let zones = planner.zones();
    for signer in planner.signers() {
        let vault = vaults.entry(signer.vault.clone()).or_default();
        vault.spec = signer.spec.clone();
        let seen = zones.iter().filter(|zone| zone.soa.is_some() && zone.scope.covers(&signer.place));
        vault.zones.extend(seen.map(|zone| zone.origin.clone()));
    }
    vaults
}

/// Hears of the keys in one vault; returns what is wrong with it.
async fn read_along(instance: &Instance, vaults: &SecretVaults, name: &str) -> Vec<KeysError> {
    match vaults.load(name).await {
        Ok(stored) => {
            let (keys, problems): (Vec<_>, Vec<_>) =
                stored.unwrap_or_default().into_iter().partition(Result::is_ok);
            keys.into_iter().for_each(|keys| take(instance, name, keys));
            problems.into_iter().filter_map(Result::err).collect()
        }
        Err(error) => vec![error],
    }
}

/// Writes what is missing or due in one vault; returns what is wrong with it.
///
/// A zone whose entry cannot be read must not keep the others from going on.
async fn look_after(
    instance: &Instance,
    vaults: &SecretVaults,
    name: &str,
    vault: &Vault,
    clock: ClockReading,
) -> Vec<KeysError> {
    let stored = match vaults.load(name).await {
        Ok(stored) => stored.unwrap_or_default(),
        Err(error) => return vec![error],
    };
    let known: BTreeMap<&Name, &ZoneKeys> =
        stored.iter().filter_map(|keys| keys.as_ref().ok()).map(|keys| (&keys.zone, keys)).collect();
    let mut problems = Vec::new();
    for zone in &vault.zones {
        let settled = known.get(zone).filter(|keys| !keys.is_due(Timing::default(), clock));
        let kept = match settled {
            Some(keys) => Ok((*keys).clone()),
            None => edit(instance, vaults, (name, zone), &vault.spec, clock).await,
        };
        match kept {
            Ok(keys) => take(instance, name, Ok(keys)),
            Err(error) => problems.push(error),
        }
    }
    problems
}

/// Writes the keys of one zone: made, put back or a step further.
async fn edit(
    instance: &Instance,
    vaults: &SecretVaults,
    (name, zone): (&str, &Name),
    spec: &Dnssec,
    clock: ClockReading,
) -> Result<ZoneKeys, KeysError> {
    let step = |before: Option<ZoneKeys>| match before {
        Some(keys) => Ok(stepped(keys, instance, clock)),
        None => {
            let remembered = instance.signings.keys(name, zone);
            if remembered.is_some() {
                tracing::warn!("DNSSEC: the keys of {zone} are gone from the Secret {name} and are put back");
            }
            first_keys(remembered, zone, spec, clock.now)
        }
    };
    vaults.edit(name, zone, step).await
}

/// The keys of a zone whose vault has none. Those that sign already stay: the parent knows them.
fn first_keys(
    remembered: Option<ZoneKeys>,
    zone: &Name,
    spec: &Dnssec,
    now: u64,
) -> Result<ZoneKeys, KeysError> {
    let create = || ZoneKeys::create(zone.clone(), keys::algorithm(spec), now, &SystemRandom::new());
    remembered.map_or_else(|| Ok(create()?), Ok)
}

/// The keys after every step that falls due.
fn stepped(mut keys: ZoneKeys, instance: &Instance, clock: ClockReading) -> ZoneKeys {
    // Caches may hold what the old key signed for as long as the zone's longest TTL. The zone is worked out
    // only now: a step that does not fall due by the least waiting times does not come here.
    let zones = zones(&instance.planner());
    let served: Vec<&Arc<Zone>> = zones.values().filter_map(|zones| zones.zone(&keys.zone)).collect();
    let timing = timing::of(&keys, &served);
    keys.step(timing, clock);
    keys
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn keys_that_were_emptied_away_are_put_back_and_none_are_made_in_their_place() {
        let (zone, spec): (Name, _) = ("e.org.".parse().unwrap(), Dnssec::default());
        let made = first_keys(None, &zone, &spec, 1000).unwrap();
        let again = first_keys(Some(made.clone()), &zone, &spec, 2000).unwrap();
        assert_eq!(again.to_stored(), made.to_stored());
        assert_ne!(first_keys(None, &zone, &spec, 1000).unwrap().to_stored(), made.to_stored());
    }
}
