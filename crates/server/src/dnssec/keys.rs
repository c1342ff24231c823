//! The keys of one zone with their states.

use std::sync::Arc;

use dns::Name;
use ring::rand::SecureRandom;

use super::key::{Algorithm, Key, KeyError, Role};

/// How far a key is on its way (RFC 7583).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum KeyState {
    /// In the zone, so that caches learn it before anything depends on it.
    Published,
    /// A key-signing key that every cache knows; the parent may have its DS now.
    Ready,
    /// In use.
    Active,
    /// No longer in use; caches may still have what depends on it.
    Retired,
}

impl std::fmt::Display for KeyState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            KeyState::Published => "published",
            KeyState::Ready => "ready",
            KeyState::Active => "active",
            KeyState::Retired => "retired",
        })
    }
}

/// A key and its state.
#[derive(Clone, Debug)]
pub struct ZoneKey {
    /// The key.
    pub key: Arc<Key>,
    /// Its state.
    pub state: KeyState,
    /// When it entered that state, in seconds since 1970.
    pub since: u64,
}

/// All keys of a zone, in the order in which they were made.
#[derive(Clone, Debug)]
pub struct ZoneKeys {
    /// The zone.
    pub zone: Name,
    pub(super) algorithm: Algorithm,
    pub(super) keys: Vec<ZoneKey>,
}

impl ZoneKeys {
    /// Makes the first keys of a zone. Nobody has heard of the zone's signatures, so they are used
    /// at once, and the parent may have the DS.
    pub fn create(
        zone: Name,
        algorithm: Algorithm,
        now: u64,
        random: &dyn SecureRandom,
    ) -> Result<ZoneKeys, KeyError> {
        let mut keys = ZoneKeys { zone, algorithm, keys: Vec::new() };
        keys.add(Role::KeySigning, KeyState::Ready, now, random)?;
        keys.add(Role::ZoneSigning, KeyState::Active, now, random)?;
        Ok(keys)
    }

    /// Adds a new key whose tag no other key of the zone has.
    pub(super) fn add(
        &mut self,
        role: Role,
        state: KeyState,
        now: u64,
        random: &dyn SecureRandom,
    ) -> Result<(), KeyError> {
        let mut key = Key::generate(self.algorithm, role, random)?;
        while self.keys.iter().any(|other| other.key.tag() == key.tag()) {
            key = Key::generate(self.algorithm, role, random)?;
        }
        self.keys.push(ZoneKey { key: Arc::new(key), state, since: now });
        Ok(())
    }

    /// All keys; every one of them is in the zone's DNSKEY set.
    pub fn keys(&self) -> &[ZoneKey] {
        &self.keys
    }

    /// How the keys sign.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The keys that sign now. All key-signing keys do, so that whichever DS a resolver has leads
    /// to a valid set of keys; of the others only the active one.
    pub(super) fn signing(&self, role: Role) -> Vec<Arc<Key>> {
        let signs = |key: &&ZoneKey| role == Role::KeySigning || key.state == KeyState::Active;
        self.of(role).filter(signs).map(|key| key.key.clone()).collect()
    }

    /// The key-signing key that the parent should have a DS for: the newest that every cache knows.
    pub fn for_parent(&self) -> impl Iterator<Item = &Key> {
        let known = |key: &&ZoneKey| matches!(key.state, KeyState::Ready | KeyState::Active);
        self.of(Role::KeySigning).filter(known).last().map(|key| key.key.as_ref()).into_iter()
    }

    pub(super) fn of(&self, role: Role) -> impl Iterator<Item = &ZoneKey> {
        self.keys.iter().filter(move |key| key.key.role() == role)
    }
}
