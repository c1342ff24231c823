//! From old keys to new ones, with the waiting times that caches need (RFC 7583, RFC 6781).
//!
//! ```text
//!  ZSK, pre-publication      new:  Published ──(caches know it)──► Active
//!                            old:  Active ─────────────────────► Retired ──(signatures gone)──► ∅
//!
//!  KSK, double signature     new:  Published ──(caches know it)──► Ready ──(DS published)──► Active
//!                            old:  Active ─────────────────────────────────► Retired ──(DS gone)──► ∅
//! ```
//!
//! A step depends on the stored states and the time alone and may be made again without harm, so
//! whoever is killed in between goes on where the store says. Time only ever adds waiting: a clock
//! that is set back takes no step, and after a clock was set forward every key waits its whole time
//! anew, because nothing shows that the time in between has passed.

use ring::rand::SecureRandom;

use super::DNSKEY_TTL;
use super::key::{KeyError, Role};
use super::keys::{KeyState, ZoneKey, ZoneKeys};

/// How long the world takes to notice, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Until every server of the zone has a change.
    pub propagation: u64,
    /// The longest TTL in the zone: so long a cache may keep a signature by an old key.
    pub zone_ttl: u64,
    /// The TTL of the DS record at the parent, with the parent's own propagation.
    pub parent_ds_ttl: u64,
}

/// The time, and for how long it can be relied on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockReading {
    /// In seconds since 1970.
    pub now: u64,
    /// For how many seconds the clock has not been set forward; [`u64::MAX`] where it never was.
    pub steady: u64,
}

impl From<u64> for ClockReading {
    /// A clock that was never set forward.
    fn from(now: u64) -> ClockReading {
        ClockReading { now, steady: u64::MAX }
    }
}

/// Why a rollover is not begun or ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RolloverError {
    /// One rollover of a role at a time.
    #[error("a rollover of the {0} is under way: `fingerpost keys list` shows its next step")]
    UnderWay(Role),
    /// No key-signing key waits for its DS.
    #[error(
        "no key waits for its DS record at the parent: `fingerpost keys list` shows the state of each key"
    )]
    NothingWaits,
    /// The key that waits is not known to every cache yet.
    #[error("the new key is not known to every resolver yet; the parent must not have its DS before")]
    TooEarly,
    /// No new key.
    #[error(transparent)]
    Key(#[from] KeyError),
}

impl Default for Timing {
    /// An hour for secondaries, a day at most in a zone, two days at the parent.
    fn default() -> Timing {
        Timing { propagation: 3600, zone_ttl: 86_400, parent_ds_ttl: 2 * 86_400 }
    }
}

impl ZoneKeys {
    /// Begins the rollover of a role: makes the new key and publishes it.
    pub fn roll(&mut self, role: Role, now: u64, random: &dyn SecureRandom) -> Result<(), RolloverError> {
        if self.of(role).count() > 1 {
            return Err(RolloverError::UnderWay(role));
        }
        Ok(self.add(role, KeyState::Published, now, random)?)
    }

    /// The parent has the DS of the key that waited for it: that key is in use now, and the one
    /// before it retires.
    pub fn ds_published(&mut self, now: u64) -> Result<(), RolloverError> {
        let waits = |key: &ZoneKey| key.key.role() == Role::KeySigning && key.state == KeyState::Ready;
        let Some(place) = self.keys.iter().rposition(waits) else {
            let early = self.of(Role::KeySigning).any(|key| key.state == KeyState::Published);
            return Err(if early { RolloverError::TooEarly } else { RolloverError::NothingWaits });
        };
        self.succeed(place, now);
        Ok(())
    }

    /// Takes every step whose time has come; says whether there was one.
    pub fn step(&mut self, timing: Timing, clock: impl Into<ClockReading>) -> bool {
        let clock = clock.into();
        let mut changed = false;
        while let Some(place) = self.keys.iter().position(|key| key.is_due(timing, clock)) {
            self.take_step(place, clock.now);
            changed = true;
        }
        changed
    }

    /// Whether the time of a step has come.
    pub fn is_due(&self, timing: Timing, clock: impl Into<ClockReading>) -> bool {
        let clock = clock.into();
        self.keys.iter().any(|key| key.is_due(timing, clock))
    }

    fn take_step(&mut self, place: usize, now: u64) {
        let key = &mut self.keys[place];
        match (key.state, key.key.role()) {
            (KeyState::Published, Role::KeySigning) => key.enter(KeyState::Ready, now),
            (KeyState::Published, Role::ZoneSigning) => self.succeed(place, now),
            _ => {
                self.keys.remove(place);
            }
        }
    }

    /// The key at this place is in use from now on, in the place of the one before it.
    fn succeed(&mut self, place: usize, now: u64) {
        let role = self.keys[place].key.role();
        for (at, key) in self.keys.iter_mut().enumerate().filter(|(_, key)| key.key.role() == role) {
            match (at == place, key.state) {
                (true, _) => key.enter(KeyState::Active, now),
                (false, KeyState::Active | KeyState::Ready) => key.enter(KeyState::Retired, now),
                (false, _) => {}
            }
        }
    }

    /// When the next step falls due; none while nothing is under way or the parent is waited for.
    pub fn next_step(&self, timing: Timing) -> Option<u64> {
        self.keys.iter().filter_map(|key| key.due(timing)).min()
    }
}

impl ZoneKey {
    /// When this key leaves its state by itself.
    pub fn due(&self, timing: Timing) -> Option<u64> {
        self.wait(timing).map(|wait| self.since.saturating_add(wait))
    }

    fn is_due(&self, timing: Timing, clock: ClockReading) -> bool {
        let is_over = |wait| self.since.saturating_add(wait) <= clock.now && wait <= clock.steady;
        self.wait(timing).is_some_and(is_over)
    }

    /// How long this key stays in its state.
    fn wait(&self, timing: Timing) -> Option<u64> {
        match (self.state, self.key.role()) {
            (KeyState::Published, _) => Some(u64::from(DNSKEY_TTL) + timing.propagation),
            (KeyState::Retired, Role::ZoneSigning) => Some(timing.zone_ttl + timing.propagation),
            (KeyState::Retired, Role::KeySigning) => Some(timing.parent_ds_ttl),
            (KeyState::Ready | KeyState::Active, _) => None,
        }
    }

    fn enter(&mut self, state: KeyState, now: u64) {
        (self.state, self.since) = (state, now);
    }
}

#[cfg(test)]
mod tests;
