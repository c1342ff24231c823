//! Whole rollovers with a moved clock, and what every resolver needs at each moment.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;
use crate::dnssec::{Algorithm, Key};
use proptest::prelude::*;
use ring::rand::SystemRandom;
use std::sync::Arc;

const TIMING: Timing = Timing { propagation: 100, zone_ttl: 5000, parent_ds_ttl: 9000 };
const START: u64 = 1_700_000_000;

fn fresh() -> ZoneKeys {
    ZoneKeys::create("e.org.".parse().unwrap(), Algorithm::Ed25519, START, &SystemRandom::new()).unwrap()
}

fn show(keys: &ZoneKeys) -> Vec<String> {
    keys.keys().iter().map(|key| format!("{} {}", key.key.role(), key.state)).collect()
}

fn after_start(keys: &ZoneKeys) -> Option<u64> {
    keys.next_step(TIMING).map(|at| at - START)
}

#[test]
fn a_zone_signing_key_is_known_everywhere_before_it_signs_and_stays_until_its_signatures_are_gone() {
    let mut keys = fresh();
    keys.ds_published(START).unwrap();
    keys.roll(Role::ZoneSigning, START, &SystemRandom::new()).unwrap();
    assert_eq!(show(&keys), ["KSK active", "ZSK active", "ZSK published"]);
    assert_eq!(after_start(&keys), Some(3700));
    assert!(!keys.step(TIMING, START + 3699));
    assert!(keys.step(TIMING, START + 3700));
    assert_eq!(show(&keys), ["KSK active", "ZSK retired", "ZSK active"]);
    assert_eq!(after_start(&keys), Some(3700 + 5100));
    assert!(!keys.step(TIMING, START + 8799));
    assert!(keys.step(TIMING, START + 8800));
    assert_eq!(show(&keys), ["KSK active", "ZSK active"]);
    assert_eq!(after_start(&keys), None);
}

#[test]
fn a_key_signing_key_waits_for_the_parent_however_long_that_takes() {
    let mut keys = fresh();
    keys.ds_published(START).unwrap();
    let old = parent(&keys);
    keys.roll(Role::KeySigning, START, &SystemRandom::new()).unwrap();
    assert_eq!(keys.ds_published(START), Err(RolloverError::TooEarly));
    assert_eq!(parent(&keys), old);
    keys.step(TIMING, START + 3700);
    assert_eq!(show(&keys), ["KSK active", "ZSK active", "KSK ready"]);
    let new = parent(&keys);
    assert_ne!(new, old);
    assert!(!keys.step(TIMING, START + 1_000_000_000));
    keys.ds_published(START + 10_000).unwrap();
    assert_eq!(show(&keys), ["KSK retired", "ZSK active", "KSK active"]);
    assert!(!keys.step(TIMING, START + 18_999));
    keys.step(TIMING, START + 19_000);
    assert_eq!((show(&keys), parent(&keys)), (vec!["ZSK active".to_owned(), "KSK active".to_owned()], new));
}

#[test]
fn one_rollover_of_a_role_at_a_time_and_no_confirmation_of_nothing() {
    let mut keys = fresh();
    keys.roll(Role::ZoneSigning, START, &SystemRandom::new()).unwrap();
    let again = keys.roll(Role::ZoneSigning, START, &SystemRandom::new());
    assert_eq!(again, Err(RolloverError::UnderWay(Role::ZoneSigning)));
    keys.ds_published(START).unwrap();
    assert_eq!(keys.ds_published(START), Err(RolloverError::NothingWaits));
}

fn parent(keys: &ZoneKeys) -> Vec<u16> {
    keys.for_parent().map(Key::tag).collect()
}

/// Something that happens to a zone's keys.
#[derive(Clone, Copy, Debug)]
enum Event {
    Roll(Role),
    DsPublished,
    Pass(u64),
    Killed,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        1 => Just(Event::Roll(Role::ZoneSigning)),
        1 => Just(Event::Roll(Role::KeySigning)),
        1 => Just(Event::DsPublished),
        4 => (1u64..6000).prop_map(Event::Pass),
        1 => Just(Event::Killed),
    ]
}

/// What one resolver with the longest allowed memory may still have: keys, signatures and DS
/// records, each with the time until when.
#[derive(Default)]
struct Memory {
    signatures: Vec<(u16, u64)>,
    key_sets: Vec<(Vec<u16>, u64)>,
    ds: Vec<(u16, u64)>,
}

impl Memory {
    fn look(&mut self, keys: &ZoneKeys, at_parent: Option<u16>, now: u64) {
        let tags = |keys: Vec<Arc<Key>>| keys.into_iter().map(|key| key.tag());
        for tag in tags(keys.signing(Role::ZoneSigning)) {
            self.signatures.push((tag, now + TIMING.zone_ttl));
        }
        let all = keys.keys().iter().map(|key| key.key.tag()).collect();
        self.key_sets.push((all, now + u64::from(DNSKEY_TTL)));
        self.ds.extend(at_parent.map(|tag| (tag, now + TIMING.parent_ds_ttl)));
        self.signatures.retain(|(_, until)| *until > now);
        self.key_sets.retain(|(_, until)| *until > now);
        self.ds.retain(|(_, until)| *until > now);
    }

    /// Every signature it may have is by a key in every key set that it may have, and every DS
    /// leads to a key that signs the key set now.
    fn validates(&self, keys: &ZoneKeys) -> bool {
        let now: Vec<u16> = keys.keys().iter().map(|key| key.key.tag()).collect();
        let key_sets = self.key_sets.iter().map(|(set, _)| set).chain([&now]);
        let known = key_sets.into_iter().all(|set| self.signatures.iter().all(|(tag, _)| set.contains(tag)));
        let entry: Vec<u16> = keys.signing(Role::KeySigning).iter().map(|key| key.tag()).collect();
        known && self.ds.iter().all(|(tag, _)| entry.contains(tag))
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn whatever_a_resolver_has_kept_still_validates(events in proptest::collection::vec(event(), 1..40)) {
        let (mut keys, mut now, mut memory) = (fresh(), START, Memory::default());
        let mut at_parent = None;
        memory.look(&keys, at_parent, now);
        for event in events {
            match event {
                Event::Roll(role) => drop(keys.roll(role, now, &SystemRandom::new())),
                Event::DsPublished => {
                    if keys.ds_published(now).is_ok() {
                        at_parent = keys.for_parent().map(Key::tag).next();
                    }
                }
                Event::Pass(seconds) => now += seconds,
                Event::Killed => keys = ZoneKeys::from_stored(&keys.to_stored()).unwrap(),
            }
            keys.step(TIMING, now);
            prop_assert!(!keys.step(TIMING, now), "a step is taken once");
            memory.look(&keys, at_parent, now);
            prop_assert!(memory.validates(&keys), "{:?} of {:?}", event, show(&keys));
        }
    }
}

#[test]
fn after_a_clock_was_set_forward_a_key_waits_its_whole_time_anew() {
    let mut keys = fresh();
    keys.ds_published(START).unwrap();
    keys.roll(Role::ZoneSigning, START, &SystemRandom::new()).unwrap();
    let month = 30 * 86_400;
    let reading = |now, steady| ClockReading { now, steady };
    assert!(
        !keys.is_due(TIMING, reading(START + month, 0)),
        "a month later, says a clock that was set forward"
    );
    assert!(!keys.step(TIMING, reading(START + month + 3699, 3699)));
    assert!(!keys.step(TIMING, reading(START + 60, 3700)), "set back, the time has not come");
    assert_eq!(show(&keys), ["KSK active", "ZSK active", "ZSK published"]);
    assert!(keys.step(TIMING, reading(START + month + 3700, 3700)), "so long has passed by any clock");
    assert_eq!(show(&keys), ["KSK active", "ZSK retired", "ZSK active"]);
}
