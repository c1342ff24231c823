//! The board that probes write on and answers read from.
//!
//! A lock is taken only to find a probe's slot, when a tree is compiled or a probe reports. Reading a
//! slot is one atomic load, so a change of health needs no new zones.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use dns::ProbeId;

/// How a target fares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum State {
    /// Never seen up: it counts as up until another of its set has been seen up.
    #[default]
    Unknown,
    /// Up.
    Up,
    /// Seen up before, and not any more.
    Down,
}

/// How every probed target fares; clones share one board.
#[derive(Clone, Debug, Default)]
pub struct Health(Arc<Mutex<BTreeMap<ProbeId, Slot>>>);

/// One probe's place on the board.
#[derive(Clone, Debug, Default)]
pub struct Slot(Arc<AtomicU8>);

impl Health {
    /// A board on which nothing was seen yet.
    pub fn new() -> Health {
        Health::default()
    }

    /// The place of a probe; it is made where there is none.
    pub fn slot(&self, probe: ProbeId) -> Slot {
        self.slots(|slots| slots.entry(probe).or_default().clone())
    }

    /// Says how a target fares.
    pub fn set(&self, probe: ProbeId, state: State) {
        self.slot(probe).set(state);
    }

    /// How a target fares.
    pub fn state(&self, probe: ProbeId) -> State {
        self.slots(|slots| slots.get(&probe).map(Slot::state)).unwrap_or_default()
    }

    /// Drops every place that nobody has in hand and that is not kept.
    pub fn retain(&self, keep: impl Fn(ProbeId) -> bool) {
        self.slots(|slots| slots.retain(|probe, slot| Arc::strong_count(&slot.0) > 1 || keep(*probe)));
    }

    fn slots<T>(&self, work: impl FnOnce(&mut BTreeMap<ProbeId, Slot>) -> T) -> T {
        // Whoever panicked with the lock has left a map that is whole.
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Slot {
    /// How the target fares.
    pub fn state(&self) -> State {
        match self.0.load(Ordering::Relaxed) {
            1 => State::Up,
            2 => State::Down,
            _ => State::Unknown,
        }
    }

    /// Says how the target fares.
    pub fn set(&self, state: State) {
        let number = match state {
            State::Unknown => 0,
            State::Up => 1,
            State::Down => 2,
        };
        self.0.store(number, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn a_slot_in_hand_sees_what_is_said_later() {
        let health = Health::new();
        let slot = health.slot(ProbeId(7));
        assert_eq!(slot.state(), State::Unknown);
        for state in [State::Up, State::Down, State::Unknown] {
            health.clone().set(ProbeId(7), state);
            assert_eq!((slot.state(), health.state(ProbeId(7))), (state, state));
        }
    }

    #[test]
    fn what_is_neither_kept_nor_in_hand_is_forgotten() {
        let health = Health::new();
        let _in_hand = health.slot(ProbeId(1));
        (2..4).for_each(|number| health.set(ProbeId(number), State::Up));
        health.set(ProbeId(1), State::Up);
        health.retain(|probe| probe == ProbeId(2));
        let states = [1, 2, 3].map(|number| health.state(ProbeId(number)));
        assert_eq!(states, [State::Up, State::Up, State::Unknown]);
    }
}
