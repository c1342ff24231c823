//! What goes, when, and with whose consent.

use std::time::Duration;

use dns::{RecordSet, Rtype};

use super::super::super::{HeldDeletes, Known, Node, Order, Report, SetResult};
use super::super::fake::{Call, Fault, Nature, set};
use super::super::world::{World, name, settings};
use super::{ZONE, a, cname, delivered, failed, txt};
use crate::marks::corner;
use crate::{Failure, SetKey};

#[test]
fn promise_3_an_empty_reading_is_confirmed_by_a_second_one() {
    let mut world = delivered(&[a("www", 1)]);
    world.fake.plant(&name(ZONE), a("foreign", 9));
    world.order(Order::Look);
    let revision = world.next().unwrap();
    world.perform(&revision, None);
    let read = world.next().unwrap();
    world.perform(&read, Some(Fault::Nothing));
    world.settle();
    assert_eq!(world.fake.writes(), [], "the second reading showed that nothing was amiss");
    world.assert_no_breach();
}

#[test]
fn a_provider_that_restarts_empty_is_filled_again_without_a_delete() {
    let mut world = delivered(&[a("www", 1), a("ftp", 2)]);
    world.fake.with(|state| state.zones.clear());
    world.order(Order::Look);
    world.run(Duration::from_secs(120));
    assert!(world.stands(ZONE, &a("www", 1)) && world.stands(ZONE, &a("ftp", 2)));
    let deletes = world
        .fake
        .writes()
        .iter()
        .flat_map(|batch| batch.changes.clone())
        .filter(|change| change.after.is_none())
        .count();
    assert_eq!(deletes, 0);
}

#[test]
fn promise_4_a_large_share_is_deleted_only_with_consent_and_creations_go_on() {
    let sets: Vec<RecordSet> = (0..30).map(|n| a(&format!("h{n}"), n)).collect();
    let mut world = delivered(&sets);
    for n in 0..11 {
        world.change(ZONE, &format!("h{n}.{ZONE}"), &[]);
    }
    world.change(ZONE, "new.example.org", &[a("new", 1)]);
    world.settle();
    assert!(world.stands(ZONE, &a("h0", 0)) && world.stands(ZONE, &a("new", 1)));
    let held = world.reports.iter().rev().find_map(|report| match report {
        Report::Held(held) => Some(held.clone()),
        _ => None,
    });
    let Some(Some(HeldDeletes { count: 11, hash })) = held else { panic!("{held:?}") };

    let mut wrong = settings();
    wrong.allow_mass_delete = Some("0000000000000000".to_owned());
    world.order(Order::Settings(wrong));
    world.settle();
    assert!(world.stands(ZONE, &a("h0", 0)));

    let mut right = settings();
    right.allow_mass_delete = Some(hash);
    world.order(Order::Settings(right));
    world.settle();
    assert!(!world.stands(ZONE, &a("h0", 0)) && world.stands(ZONE, &a("h11", 11)));
    assert_eq!(
        world.reports.iter().rev().find(|report| matches!(report, Report::Held(_))),
        Some(&Report::Held(None))
    );
    assert_eq!(world.told("h3.example.org", Rtype::A), Some(SetResult::Absent { deleted: true }));
    world.assert_no_breach();
}

#[test]
fn promise_4_ten_are_always_let_go_and_so_is_a_small_share() {
    let sets: Vec<RecordSet> = (0..10).map(|n| a(&format!("h{n}"), n)).collect();
    let mut world = delivered(&sets);
    for n in 0..10 {
        world.change(ZONE, &format!("h{n}.{ZONE}"), &[]);
    }
    world.settle();
    assert!((0..10).all(|n| !world.stands(ZONE, &a(&format!("h{n}"), n))));
    let left = world.fake.sets(&name(ZONE)).keys().filter(|key| key.name != name(ZONE)).count();
    assert_eq!(left, 2, "the mark of the apex and our counter");
}

#[test]
fn held_deletions_that_are_wanted_again_are_held_no_longer() {
    let sets: Vec<RecordSet> = (0..20).map(|n| a(&format!("h{n}"), n)).collect();
    let mut world = delivered(&sets);
    (0..15).for_each(|n| world.change(ZONE, &format!("h{n}.{ZONE}"), &[]));
    world.settle();
    (0..15).for_each(|n| world.change(ZONE, &format!("h{n}.{ZONE}"), &[a(&format!("h{n}"), n)]));
    world.settle();
    assert_eq!(
        world.reports.iter().rev().find(|report| matches!(report, Report::Held(_))),
        Some(&Report::Held(None))
    );
    assert_eq!(world.fake.writes(), []);
}

#[test]
fn nothing_is_deleted_before_the_whole_plan_was_told() {
    let mut world = delivered(&[a("www", 1), a("old", 2)]);
    world.restart();
    world.want(ZONE, &[a("www", 3), cname("old", "www.example.org")]);
    world.change(ZONE, "old.example.org", &[]);
    world.settle();
    assert!(world.stands(ZONE, &a("www", 3)) && world.stands(ZONE, &a("old", 2)));
    world.order(Order::Complete);
    world.settle();
    assert!(!world.stands(ZONE, &a("old", 2)));
    assert_eq!(world.told("old.example.org", Rtype::A), None, "this process never wanted an A there");
    assert_eq!(world.told("old.example.org", Rtype::CNAME), Some(SetResult::Absent { deleted: false }));
}

#[test]
fn kept_types_are_neither_changed_nor_deleted() {
    let mut world = delivered(&[a("www", 1), txt("www", "x")]);
    let node = Node {
        zone: name(ZONE),
        name: name("www.example.org"),
        sets: vec![],
        kept: vec![Rtype::A],
        shared: vec![],
        heir: None,
    };
    world.order(Order::Nodes(vec![node]));
    world.settle();
    assert!(world.stands(ZONE, &a("www", 1)) && !world.stands(ZONE, &txt("www", "x")));
    assert_eq!(world.told("www.example.org", Rtype::TXT), Some(SetResult::Absent { deleted: true }));
    world.change(ZONE, "www.example.org", &[]);
    world.settle();
    assert_eq!(world.told("www.example.org", Rtype::A), Some(SetResult::Absent { deleted: true }));
    let marks = world
        .fake
        .sets(&name(ZONE))
        .keys()
        .filter(|key| key.name.is_in(&corner(&name(ZONE)).unwrap()))
        .count();
    assert_eq!(marks, 2, "the apex's, and our counter");
}

#[test]
fn what_was_known_is_reported_gone_whoever_deleted_it() {
    let mut world = delivered(&[a("www", 1)]);
    world.restart();
    world.want(ZONE, &[]);
    let known = |set: &RecordSet| Known { zone: name(ZONE), key: SetKey::of(set), domain: None };
    world.order(Order::Known(vec![known(&a("www", 1)), known(&a("never", 1))]));
    world.order(Order::Complete);
    world.settle();
    assert_eq!(world.told("www.example.org", Rtype::A), Some(SetResult::Absent { deleted: true }));
    assert_eq!(world.told("never.example.org", Rtype::A), Some(SetResult::Absent { deleted: false }));
}

#[test]
fn what_is_to_leave_a_zone_that_nobody_wants_any_more_is_found_and_no_zone_is_made_for_it() {
    let mut world = delivered(&[a("www", 1)]);
    world.restart();
    let known = |zone: &str, set: &RecordSet| Known { zone: name(zone), key: SetKey::of(set), domain: None };
    let below = set("x.below.example.org", Rtype::A, "192.0.2.1");
    let lost = set("www.lost.example", Rtype::A, "192.0.2.1");
    world.order(Order::Known(vec![
        known(ZONE, &a("www", 1)),
        known("below.example.org", &below),
        known("lost.example", &lost),
    ]));
    world.run(Duration::from_secs(10));
    assert_eq!(world.fake.calls(), [], "the plan was not told yet");
    world.order(Order::Complete);
    world.settle();
    assert_eq!(world.told("www.example.org", Rtype::A), Some(SetResult::Absent { deleted: true }));
    assert_eq!(world.told("x.below.example.org", Rtype::A), Some(SetResult::Absent { deleted: false }));
    assert_eq!(
        failed(world.told("www.lost.example", Rtype::A)).0,
        "ZONE_NOT_FOUND",
        "no proof that it is gone"
    );
    assert!(!world.fake.calls().iter().any(|call| matches!(call, Call::Open(_))));
}

#[test]
fn what_is_to_leave_is_told_when_the_server_is_in_trouble() {
    let mut world = delivered(&[a("www", 1)]);
    world.change(ZONE, "www.example.org", &[]);
    world.now += Duration::from_secs(10);
    let task = world.next().unwrap();
    world.perform(&task, Some(Fault::Before(Failure::Authentication)));
    assert_eq!(failed(world.told("www.example.org", Rtype::A)).0, "AUTH_FAILED");
    world.settle();
    assert_eq!(world.told("www.example.org", Rtype::A), Some(SetResult::Absent { deleted: true }));
}

#[test]
fn where_nobody_else_writes_no_share_is_too_large() {
    let mut world = World::new(Nature { is_shared: false, ..World::of_zones().fake.nature });
    let sets: Vec<RecordSet> = (0..30).map(|n| a(&format!("h{n}"), n)).collect();
    world.want(ZONE, &sets);
    world.order(Order::Complete);
    world.settle();
    (0..30).for_each(|n| world.change(ZONE, &format!("h{n}.{ZONE}"), &[]));
    world.settle();
    assert!(sets.iter().all(|set| !world.stands(ZONE, set)));
    assert!(!world.reports.iter().any(|report| matches!(report, Report::Held(_))));
}
