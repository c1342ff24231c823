//! The board that probes write on and answers read from.
//!
//! A lock is taken only to find a probe's slot, when a tree is compiled or a probe reports. Reading a
//! slot is one atomic load, so a change of health needs no new zones.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use dns::ProbeId;

/// How a target fares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum State {
    /// Nobody has heard of it yet: it counts as up, so that a start moves nobody.
    #[default]
    Unheard,
    /// Never seen up: it counts as up until another of its set has been seen up.
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
pub struct Slot(Arc<AtomicU64>);

/// When a target went down.
///
/// Those that go down within the time that finding out takes went down together: where everything is
/// down, the last to go are the last usable set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fall {
    /// When it was noticed, in milliseconds since some moment that all targets share.
    pub at: u64,
    /// How long noticing may take, in milliseconds.
    pub span: u64,
}

/// Two bits say how a target fares, then 40 bits when it fell, then 22 the span: 34 years, 70 minutes.
const AT_SHIFT: u32 = 2;
const SPAN_SHIFT: u32 = 42;
const MOST_AT: u64 = (1 << (SPAN_SHIFT - AT_SHIFT)) - 1;
const MOST_SPAN: u64 = (1 << (u64::BITS - SPAN_SHIFT)) - 1;

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
        state(self.0.load(Ordering::Relaxed))
    }

    /// Says how the target fares; of one that is down nobody knows since when.
    pub fn set(&self, state: State) {
        let number = match state {
            State::Unheard => 0,
            State::Up => 1,
            State::Down => 2,
            State::Unknown => 3,
        };
        self.0.store(number, Ordering::Relaxed);
    }

    /// Says that the target is down, and since when.
    pub fn set_fallen(&self, fall: Fall) {
        let (at, span) = (fall.at.min(MOST_AT), fall.span.min(MOST_SPAN));
        self.0.store(2 | at << AT_SHIFT | span << SPAN_SHIFT, Ordering::Relaxed);
    }

    /// When the target went down, if it is.
    pub(super) fn fall(&self) -> Option<Fall> {
        let number = self.0.load(Ordering::Relaxed);
        let fall = Fall { at: number >> AT_SHIFT & MOST_AT, span: number >> SPAN_SHIFT };
        (state(number) == State::Down).then_some(fall)
    }
}

fn state(number: u64) -> State {
    match number & 3 {
        1 => State::Up,
        2 => State::Down,
        3 => State::Unknown,
        _ => State::Unheard,
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
        assert_eq!(slot.state(), State::Unheard);
        for state in [State::Up, State::Down, State::Unknown, State::Unheard] {
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
        assert_eq!(states, [State::Up, State::Up, State::Unheard]);
    }

    #[test]
    fn a_fall_is_kept_with_its_time_and_span_until_the_target_is_up() {
        let slot = Slot::default();
        for fall in [Fall::default(), Fall { at: 1, span: 2 }, Fall { at: MOST_AT, span: MOST_SPAN }] {
            slot.set_fallen(fall);
            assert_eq!((slot.state(), slot.fall()), (State::Down, Some(fall)));
        }
        slot.set_fallen(Fall { at: u64::MAX, span: u64::MAX });
        assert_eq!(slot.fall(), Some(Fall { at: MOST_AT, span: MOST_SPAN }));
        slot.set(State::Up);
        assert_eq!((slot.state(), slot.fall()), (State::Up, None));
    }
}
