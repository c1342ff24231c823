//! Looks after DNSSEC keys in a cluster: makes those of zones that have none and takes the steps that
//! fall due, in Secrets that the servers read.
//!
//! Only the leader writes, and at rest it writes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use api::dnsclass::Dnssec;
use dns::Name;
use jiff::Timestamp;
use planner::{Planner, ViewInfo};
use ring::rand::SystemRandom;
use server::Zone;
use server::dnssec::{Timing, ZoneKeys};

use super::lease::Leadership;
use crate::instance::signing::{KeySource, timing};
use crate::instance::{Instance, zones};
use crate::keys::{self, KeysError, SecretVaults};

/// How often keys are looked at.
const EVERY: Duration = Duration::from_secs(10);
/// A write is sent only while more than this is left of the lease.
const TIMEOUT: Duration = Duration::from_secs(5);

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

/// Looks after the keys for as long as the process lives.
pub(super) async fn run(instance: Arc<Instance>, vaults: SecretVaults, leadership: Leadership) {
    let mut complaints = BTreeSet::new();
    loop {
        tokio::time::sleep(EVERY).await;
        if !leadership.may_send(TIMEOUT) {
            continue;
        }
        let wanted = wanted(&instance.planner());
        let mut problems = BTreeSet::new();
        for (name, vault) in &wanted {
            let looked = look_after(&instance, &vaults, name, vault, now()).await;
            problems.extend(looked.err().map(|error| error.to_string()));
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

fn now() -> u64 {
    Timestamp::now().as_second().unsigned_abs()
}

/// Which zones are to be signed, by vault.
fn wanted(planner: &Planner) -> BTreeMap<String, Vault> {
    let mut vaults = BTreeMap::<String, Vault>::new();
    let zones = planner.zones();
    for view in planner.views() {
        let Some(spec) = &view.dnssec else { continue };
        let vault = vaults.entry(keys::vault(&view.name, spec)).or_default();
        vault.spec = spec.clone();
        let seen = zones.iter().filter(|zone| zone.soa.is_some() && sees(&view, &zone.scope));
        vault.zones.extend(seen.map(|zone| zone.origin.clone()));
    }
    vaults
}

fn sees(view: &ViewInfo, scope: &planner::Scope) -> bool {
    view.place.as_ref().is_some_and(|place| scope.covers(place))
}

/// Writes what is missing or due in one vault.
async fn look_after(
    instance: &Instance,
    vaults: &SecretVaults,
    name: &str,
    vault: &Vault,
    now: u64,
) -> Result<(), KeysError> {
    let stored = vaults.load(name).await?.unwrap_or_default();
    // One entry that cannot be read must not keep the others from going on; it is told of below.
    let known: BTreeMap<&Name, &ZoneKeys> =
        stored.iter().filter_map(|keys| keys.as_ref().ok()).map(|keys| (&keys.zone, keys)).collect();
    for zone in &vault.zones {
        let settled = known.get(zone).is_some_and(|keys| !is_due(keys, Timing::default(), now));
        if !settled {
            let step = |before| stepped(before, instance, zone, &vault.spec, now);
            take(instance, name, Ok(vaults.edit(name, zone, step).await?));
        } else if let Some(keys) = known.get(zone) {
            take(instance, name, Ok((*keys).clone()));
        }
    }
    stored.into_iter().find_map(Result::err).map_or(Ok(()), Err)
}

/// Whether a step falls due with these waiting times.
fn is_due(keys: &ZoneKeys, timing: Timing, now: u64) -> bool {
    keys.next_step(timing).is_some_and(|due| due <= now)
}

/// The keys after every step that falls due; new ones where there are none.
fn stepped(
    before: Option<ZoneKeys>,
    instance: &Instance,
    zone: &Name,
    spec: &Dnssec,
    now: u64,
) -> Result<ZoneKeys, KeysError> {
    let Some(mut keys) = before else {
        return Ok(ZoneKeys::create(zone.clone(), keys::algorithm(spec), now, &SystemRandom::new())?);
    };
    // Caches may hold what the old key signed for as long as the zone's longest TTL. The zone is worked out
    // only now: a step that does not fall due by the least waiting times does not come here.
    let zones = zones(&instance.planner());
    let served: Vec<&Arc<Zone>> = zones.values().filter_map(|zones| zones.zone(zone)).collect();
    let timing = timing::of(&keys, &served);
    if is_due(&keys, timing, now) {
        keys.step(timing, now);
    }
    Ok(keys)
}
