//! What directs a Placement, step by step.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use planner::Direction;

use super::director::{Director, Refusal, RegionState, Rules, Witnessed};
use crate::witness::{Document, Intent};

use RegionState::{Down, Unknown, Up};

const LEASE: Duration = Duration::from_secs(30);
const RENEW: Duration = Duration::from_secs(10);
const HOLD: Intent = Intent::Hold(Duration::ZERO);

fn rules(automatic: bool, own: Option<&str>) -> Rules {
    Rules {
        regions: ["a", "b", "c"].map(Arc::from).to_vec(),
        automatic,
        ordered: true,
        own: own.map(Arc::from),
        witness: own.map(|_| (LEASE, RENEW)),
        checked: true,
    }
}

fn director(automatic: bool, own: Option<&str>) -> Director {
    Director::new(rules(automatic, own), Direction::default())
}

fn hear(director: &mut Director, states: [RegionState; 3], now: Instant) {
    let health: Vec<_> = ["a", "b", "c"].map(Arc::from).into_iter().zip(states).collect();
    director.hear(&health, now, 1);
}

fn held(by: &str, generation: u64) -> Document {
    let (holder, lease_milliseconds) = (by.to_owned(), 30_000);
    Document { holder, generation, lease_milliseconds, ..Document::default() }
}

fn see(director: &mut Director, document: Document, now: Instant) {
    director.observe(&Witnessed { document: Some(document), ..Witnessed::default() }, now, 2);
}

fn active(director: &Director) -> Option<&str> {
    director.direction().active.as_deref()
}

fn latest(director: &Director) -> String {
    let latest = &director.direction().moves[0];
    let text = |region: &Option<Arc<str>>| region.as_deref().unwrap_or("nowhere").to_owned();
    format!("{} -> {}: {}", text(&latest.from), text(&latest.to), latest.message)
}

#[test]
fn with_manual_failback_clients_stay_where_they_were_moved_to() {
    let (mut one, now) = (director(false, None), Instant::now());
    hear(&mut one, [Unknown, Up, Up], now);
    assert_eq!(active(&one), None, "not known is not down");
    hear(&mut one, [Down, Up, Up], now);
    assert_eq!((active(&one), latest(&one)), (Some("b"), "a -> b: a is down".into()));
    hear(&mut one, [Up, Up, Up], now);
    assert_eq!(active(&one), Some("b"));
    one.order("a", false, now, 3).unwrap();
    assert_eq!((active(&one), latest(&one)), (Some("a"), "b -> a: switchover to a".into()));
}

#[test]
fn with_automatic_failback_nothing_is_pinned_and_moves_are_told() {
    let (mut one, now) = (director(true, None), Instant::now());
    hear(&mut one, [Down, Up, Up], now);
    assert_eq!((active(&one), latest(&one)), (None, "a -> b: a is down".into()));
    hear(&mut one, [Up, Up, Up], now);
    assert_eq!((active(&one), latest(&one)), (None, "b -> a: a is up again".into()));
    one.order("c", false, now, 3).unwrap();
    hear(&mut one, [Up, Up, Up], now);
    assert_eq!(active(&one), Some("c"), "what people ordered stays");
    hear(&mut one, [Up, Up, Down], now);
    assert_eq!((active(&one), latest(&one)), (None, "c -> a: c is down".into()), "while it is up");
}

#[test]
fn all_down_moves_nothing() {
    for automatic in [true, false] {
        let (mut one, now) = (director(automatic, None), Instant::now());
        hear(&mut one, [Down, Down, Down], now);
        assert!(one.direction().moves.is_empty());
    }
}

#[test]
fn history_is_bounded_and_the_newest_is_first() {
    let (mut one, now) = (director(true, None), Instant::now());
    for _ in 0..30 {
        hear(&mut one, [Down, Up, Up], now);
        hear(&mut one, [Up, Up, Up], now);
    }
    assert_eq!(one.direction().moves.len(), 20);
    assert_eq!(latest(&one), "b -> a: a is up again");
}

#[test]
fn dns_follows_the_lease_and_not_health() {
    let (mut one, now) = (director(false, Some("b")), Instant::now());
    see(&mut one, held("a", 1), now);
    hear(&mut one, [Down, Up, Up], now);
    assert_eq!(active(&one), Some("a"), "the lease did not move");
    assert_eq!(one.intent(now), HOLD, "who is up waits for it to run out");
    see(&mut one, held("b", 2), now);
    assert_eq!(active(&one), Some("b"));
    assert_eq!(latest(&one), "a -> b: a is down and b took the lease (generation 2)");
}

#[test]
fn losing_the_witness_freezes() {
    let (mut one, now) = (director(false, Some("b")), Instant::now());
    hear(&mut one, [Up, Up, Up], now);
    see(&mut one, held("a", 1), now);
    hear(&mut one, [Down, Up, Up], now);
    let trouble = Witnessed { trouble: Some("gone".into()), age: LEASE * 3, document: None };
    one.observe(&trouble, now, 9);
    assert_eq!((active(&one), one.direction().witness_trouble.as_deref()), (Some("a"), Some("gone")));
    assert_eq!(one.order("b", false, now, 9), Err(Refusal::Witness("gone".into())));
    see(&mut one, held("a", 1), now);
    assert_eq!(one.direction().witness_trouble, None);
}

#[test]
fn a_region_that_is_not_up_does_not_take_the_lease_and_preferred_ones_come_first() {
    let now = Instant::now();
    for (own, states, intent) in [
        ("a", [Up, Up, Up], HOLD),
        ("b", [Up, Up, Up], Intent::Hold(RENEW)),
        ("c", [Up, Up, Up], Intent::Hold(RENEW * 2)),
        ("b", [Down, Up, Up], HOLD),
        ("c", [Down, Unknown, Up], Intent::Hold(RENEW)),
        ("b", [Up, Down, Up], Intent::Watch),
        ("b", [Up, Unknown, Up], Intent::Watch),
    ] {
        let mut one = director(false, Some(own));
        hear(&mut one, states, now);
        assert_eq!(one.intent(now), intent, "{own} {states:?}");
    }
}

#[test]
fn a_holder_keeps_the_lease_unless_it_is_down_and_another_is_up() {
    let now = Instant::now();
    for (states, intent) in [
        ([Up, Up, Up], HOLD),
        ([Unknown, Unknown, Unknown], HOLD),
        ([Down, Down, Down], HOLD),
        ([Down, Unknown, Unknown], HOLD),
        ([Down, Up, Down], Intent::Yield(None, false)),
    ] {
        let mut one = director(false, Some("a"));
        hear(&mut one, states, now);
        see(&mut one, held("a", 1), now);
        assert_eq!(one.intent(now), intent, "{states:?}");
    }
}

#[test]
fn automatic_failback_waits_until_the_better_region_is_steady() {
    let (mut one, now) = (director(true, Some("b")), Instant::now());
    hear(&mut one, [Up, Up, Up], now);
    see(&mut one, held("b", 4), now);
    assert_eq!(one.intent(now + LEASE), HOLD);
    assert_eq!(one.intent(now + LEASE * 2), Intent::Yield(Some("a".into()), false));
    see(&mut one, Document { planned: true, ..held("b", 4) }, now);
    assert_eq!(one.intent(now + LEASE * 2), HOLD, "what people ordered stays");
    let mut by_hand = director(false, Some("b"));
    hear(&mut by_hand, [Up, Up, Up], now);
    see(&mut by_hand, held("b", 4), now);
    assert_eq!(by_hand.intent(now + LEASE * 9), HOLD);
}

#[test]
fn a_region_that_does_not_take_what_it_is_offered_is_not_offered_it_at_once_again() {
    let (mut one, now) = (director(true, Some("b")), Instant::now());
    hear(&mut one, [Up, Up, Up], now);
    see(&mut one, held("b", 4), now);
    let later = now + LEASE * 2;
    see(&mut one, Document { successor: Some("a".into()), ..held("", 4) }, later);
    assert_eq!(
        (active(&one), one.intent(later)),
        (Some("b"), HOLD),
        "it goes on answering and takes it back"
    );
    see(&mut one, held("b", 5), later + LEASE);
    assert_eq!(latest(&one), "b -> b: a did not take the lease: b took it back");
    assert_eq!(one.intent(later + LEASE * 2), HOLD);
    assert_eq!(one.intent(later + LEASE * 40), Intent::Yield(Some("a".into()), false));
}

#[test]
fn a_switchover_hands_the_lease_over_and_is_given_up_in_time() {
    let (mut one, now) = (director(false, Some("a")), Instant::now());
    hear(&mut one, [Up, Up, Down], now);
    see(&mut one, held("a", 1), now);
    assert_eq!(
        one.order("x", false, now, 3).unwrap_err().to_string(),
        "there is no region `x`: choose one of `a`, `b`, `c`"
    );
    assert_eq!(one.order("a", false, now, 3), Err(Refusal::Already("a".into())));
    assert_eq!(one.order("c", false, now, 3), Err(Refusal::NotUp("c".into())));
    one.order("b", false, now, 3).unwrap();
    assert_eq!((one.intent(now), active(&one)), (Intent::HandOver("b".into()), Some("a")));
    see(&mut one, Document { planned: true, ..held("b", 2) }, now);
    assert_eq!((active(&one), one.ordered()), (Some("b"), None));
    assert_eq!(latest(&one), "a -> b: the lease was handed to b (generation 2)");
    one.order("a", false, now, 3).unwrap();
    let late = now + LEASE * 3;
    see(&mut one, Document { successor: Some("a".into()), ..held("b", 2) }, late);
    let ordered = |one: &Director| one.ordered().map(|region| region.to_string());
    assert_eq!(one.intent(late), Intent::Withdraw("a".into()));
    assert_eq!(ordered(&one).as_deref(), Some("a"), "as long as the witness has it");
    see(&mut one, held("b", 2), late);
    assert_eq!(ordered(&one), None);
    assert_eq!(latest(&one), "b -> b: the switchover to a was given up: it did not get the lease");
    assert_eq!(one.intent(late), Intent::Hold(RENEW));
}

#[test]
fn who_orders_clients_to_stay_takes_back_the_order_to_move() {
    let (mut one, now) = (director(false, Some("a")), Instant::now());
    hear(&mut one, [Up, Up, Up], now);
    see(&mut one, held("a", 1), now);
    one.order("b", false, now, 3).unwrap();
    one.order("a", true, now, 4).unwrap();
    assert_eq!((one.intent(now), active(&one)), (HOLD, Some("a")));
    assert_eq!(latest(&one), "a -> a: the switchover to b was taken back");
    see(&mut one, held("a", 1), now);
    assert_eq!(one.order("a", true, now, 5), Err(Refusal::Already("a".into())), "there is none any more");
}

#[test]
fn a_holder_follows_the_request_in_the_document() {
    let (mut one, now) = (director(false, Some("a")), Instant::now());
    hear(&mut one, [Up, Up, Up], now);
    see(&mut one, Document { successor: Some("b".into()), ..held("a", 1) }, now);
    assert_eq!(one.intent(now), Intent::Yield(Some("b".into()), true));
    see(&mut one, Document { successor: Some("nowhere".into()), ..held("a", 1) }, now);
    assert_eq!(one.intent(now), HOLD);
}

#[test]
fn a_restart_goes_on_from_what_was_kept() {
    let (mut one, now) = (director(false, None), Instant::now());
    hear(&mut one, [Down, Up, Up], now);
    let key = (
        planner::ClusterId(0),
        planner::ObjectRef { kind: api::Kind::Placement, namespace: "apps".into(), name: "web".into() },
    );
    let kept = super::save(&[(key.clone(), one.direction().clone())]);
    let text = serde_json::to_vec(&kept).unwrap();
    let restored = super::restore(serde_json::from_slice(&text).unwrap());
    assert_eq!(&restored[&key], one.direction());
    let mut next = Director::new(rules(false, None), restored[&key].clone());
    hear(&mut next, [Up, Up, Up], now);
    assert_eq!(active(&next), Some("b"));
}

#[test]
fn a_region_that_no_health_check_looks_at_is_moved_to_by_force_only() {
    let now = Instant::now();
    let mut one = Director::new(Rules { checked: false, ..rules(true, None) }, Direction::default());
    one.hear(&[("a".into(), Up), ("b".into(), Up), ("c".into(), Up)], now, 1);
    assert_eq!(one.order("c", false, now, 2), Err(Refusal::Unchecked("c".into())));
    assert_eq!(one.order("c", true, now, 3), Ok(()));
    assert_eq!(one.direction().active.as_deref(), Some("c"));
}
