//! Which zones are signed, and by which keys.
//!
//! ```text
//!  ViewInfo.dnssec, zones ──► Signings ──► ZoneUpdate::Sign
//!  KeyFolder or Secret ────►     │
//!                                └── refresh, every few seconds: other keys, steps that fall due
//! ```
//!
//! Keys are kept before they sign anything. Where they cannot be had, the last ones go on signing;
//! with none ever known the zone goes on unsigned, and says so: a resolver that has no DS for it
//! loses nothing, and to one that has, no answer and an unsigned one are the same.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use api::dnsclass::Dnssec;
use dns::Name;
use planner::ViewInfo;
use ring::rand::SystemRandom;
use server::dnssec::{ClockReading, Denial, SharedSignatures, Signing, Timing, WINDOW, ZoneKeys};
use server::{Zone, ZoneUpdate, Zones};

use crate::keys::{self, KeyFolder, KeysError};

pub(crate) mod clock;
pub(crate) mod timing;

/// Where keys come from.
#[derive(Clone, Debug, Default)]
pub enum KeySource {
    /// A folder: keys that are missing are made.
    Folder(KeyFolder),
    /// Nowhere: they are made anew with every start.
    #[default]
    Nowhere,
    /// Somebody else, who hands them over.
    Given,
}

/// The keys of all zones that are signed.
#[derive(Debug, Default)]
pub struct Signings {
    known: Mutex<Known>,
    cache: SharedSignatures,
}

#[derive(Debug, Default)]
struct Known {
    source: KeySource,
    zones: BTreeMap<(String, Name), Signed>,
    problems: BTreeMap<(String, Name), String>,
}

/// The keys of a zone, and what signs with them.
#[derive(Debug)]
struct Signed {
    keys: ZoneKeys,
    stamp: Option<keys::Stamp>,
    signing: Vec<(Denial, Arc<Signing>)>,
}

impl Signings {
    /// Takes keys from here from now on.
    pub fn set_source(&self, source: KeySource) {
        self.known().source = source;
    }

    /// Signs the zones of a view as its class says.
    pub fn apply(&self, view: &ViewInfo, zones: &mut Zones, now: u64) {
        let wanted = |origin: &Name| view.dnssec.as_ref().and_then(|spec| self.of(view, spec, origin, now));
        let differs = |origin: &Name| {
            let (zone, wanted) = (zones.zone(origin)?, wanted(origin));
            (!same(zone.signing(), wanted.as_ref())).then(|| (origin.clone(), wanted))
        };
        let updates: Vec<(Name, Option<Arc<Signing>>)> = zones.origins().filter_map(differs).collect();
        for (origin, signing) in updates {
            zones.apply(ZoneUpdate::Sign { origin, signing });
        }
    }

    /// What signs a zone of a view.
    fn of(&self, view: &ViewInfo, spec: &Dnssec, zone: &Name, now: u64) -> Option<Arc<Signing>> {
        let id = (spec.vault(&view.name), zone.clone());
        let mut known = self.known();
        if !known.zones.contains_key(&id) {
            let found = known.source.find(&id, spec, now);
            known.take(id.clone(), found);
        }
        known.zones.get_mut(&id)?.signing(keys::denial(spec), &self.cache)
    }

    /// Looks for other keys and takes the steps that fall due; says whether anything is another.
    pub fn refresh<'a>(
        &self,
        served: impl Fn(&Name) -> Vec<&'a Arc<Zone>>,
        clock: impl Into<ClockReading>,
    ) -> bool {
        let clock = clock.into();
        let mut known = self.known();
        let KeySource::Folder(folder) = known.source.clone() else { return false };
        let ids: Vec<(String, Name)> = known.zones.keys().chain(known.problems.keys()).cloned().collect();
        let mut changed = false;
        for id in ids {
            if known.is_current(&folder, &id) && !known.is_due(&id, &served, clock) {
                continue;
            }
            let found = stepped(&folder, &id, &served, clock);
            changed |= known.take(id, found);
        }
        // A zone that never had keys may get them now: the disk may be writable again.
        changed | known.problems.keys().any(|id| !known.zones.contains_key(id))
    }

    /// Takes keys that somebody else keeps; says whether anything is another.
    pub fn hear(&self, vault: &str, zone: &Name, found: Result<ZoneKeys, KeysError>) -> bool {
        self.known().take((vault.to_owned(), zone.clone()), found.map(|keys| (keys, None)))
    }

    /// The keys of a zone in a vault as they were last had.
    pub fn keys(&self, vault: &str, zone: &Name) -> Option<ZoneKeys> {
        self.known().zones.get(&(vault.to_owned(), zone.clone())).map(|signed| signed.keys.clone())
    }

    /// For each zone in a vault a number that is another whenever its signatures are: with every step of
    /// its keys, and every week, because a secondary's signatures end.
    pub fn numbers(&self, now: u64) -> BTreeMap<(String, Name), u64> {
        let number =
            |(id, signed): (&(String, Name), &Signed)| (id.clone(), number_of(&signed.keys, now / WINDOW));
        self.known().zones.iter().map(number).collect()
    }

    /// What is wrong, each a line for the user.
    pub fn problems(&self) -> Vec<String> {
        self.known().problems.values().cloned().collect()
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keys with the moment at which they were written.
type Found = Result<(ZoneKeys, Option<keys::Stamp>), KeysError>;

impl KeySource {
    /// The keys of a zone; a folder that has none makes them.
    fn find(&self, (vault, zone): &(String, Name), spec: &Dnssec, now: u64) -> Found {
        let create = || Ok(ZoneKeys::create(zone.clone(), keys::algorithm(spec), now, &SystemRandom::new())?);
        match self {
            KeySource::Folder(folder) => {
                let keys = folder.edit(vault, zone, |before| before.map_or_else(create, Ok))?;
                Ok((keys, folder.stamp(vault, zone)))
            }
            KeySource::Nowhere => Ok((create()?, None)),
            KeySource::Given => Err(KeysError::None(zone.clone())),
        }
    }
}

impl Known {
    /// Takes what was found; keys that cannot be had leave the last ones.
    fn take(&mut self, id: (String, Name), found: Found) -> bool {
        let (keys, stamp) = match found {
            Ok(found) => found,
            Err(error) => {
                self.complain(id, &error);
                return false;
            }
        };
        self.problems.remove(&id);
        let same = self.zones.get(&id).is_some_and(|known| known.keys.to_stored() == keys.to_stored());
        match self.zones.get_mut(&id) {
            Some(known) if same => known.stamp = stamp,
            _ => drop(self.zones.insert(id, Signed { keys, stamp, signing: Vec::new() })),
        }
        !same
    }

    fn complain(&mut self, id: (String, Name), error: &KeysError) {
        let kept =
            if self.zones.contains_key(&id) { "the last keys go on signing" } else { "it is not signed" };
        let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
        let problem = format!("DNSSEC of {}: {error}{cause}; {kept}", id.1);
        if self.problems.get(&id) != Some(&problem) {
            tracing::error!("{problem}");
        }
        self.problems.insert(id, problem);
    }

    fn is_current(&self, folder: &KeyFolder, id: &(String, Name)) -> bool {
        self.zones.get(id).is_some_and(|known| known.stamp == folder.stamp(&id.0, &id.1))
    }

    fn is_due<'a>(
        &self,
        id: &(String, Name),
        served: &impl Fn(&Name) -> Vec<&'a Arc<Zone>>,
        clock: ClockReading,
    ) -> bool {
        self.zones.get(id).is_some_and(|known| timing::is_due(&known.keys, &served(&id.1), clock))
    }
}

impl Signed {
    fn signing(&mut self, denial: Denial, cache: &SharedSignatures) -> Option<Arc<Signing>> {
        if let Some((_, signing)) = self.signing.iter().find(|(of, _)| *of == denial) {
            return Some(signing.clone());
        }
        let signing = Arc::new(Signing::new(&self.keys, denial, cache.clone())?);
        self.signing.push((denial, signing.clone()));
        Some(signing)
    }
}

/// The keys of a zone as the folder has them, after the steps that fall due.
fn stepped<'a>(
    folder: &KeyFolder,
    (vault, zone): &(String, Name),
    served: &impl Fn(&Name) -> Vec<&'a Arc<Zone>>,
    clock: ClockReading,
) -> Found {
    let keys = folder.edit(vault, zone, |before| {
        let mut keys = before.ok_or_else(|| KeysError::None(zone.clone()))?;
        let timing: Timing = timing::of(&keys, &served(zone));
        keys.step(timing, clock);
        Ok(keys)
    })?;
    Ok((keys, folder.stamp(vault, zone)))
}

fn number_of(keys: &ZoneKeys, week: u64) -> u64 {
    let states: String = keys.keys().iter().map(|key| format!("{} {}\n", key.key.tag(), key.state)).collect();
    let text = format!("{week}\n{states}");
    let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    digest.as_ref().first_chunk().map_or(0, |octets| u64::from_be_bytes(*octets))
}

fn same(one: Option<&Arc<Signing>>, other: Option<&Arc<Signing>>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => Arc::ptr_eq(one, other),
        (None, None) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
