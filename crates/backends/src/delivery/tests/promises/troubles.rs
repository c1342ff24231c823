//! Servers that refuse, fail, lie or are fenced off.

use std::time::Duration;

use dns::{RecordSet, Rtype};

use super::super::super::task::Job;
use super::super::super::{Node, Order, Report, SetResult, Trouble, Written};
use super::super::fake::{Call, Fault, set};
use super::super::world::{World, name};
use super::{ZONE, a, delivered, failed, txt};
use crate::{Failure, SetKey};

#[test]
fn promise_15_an_older_leader_is_refused_and_a_newer_one_is_not() {
    let mut world = delivered(&[a("www", 1)]);
    world.fake.with(|state| state.generation = 5);
    world.change(ZONE, "www.example.org", &[a("www", 2)]);
    world.settle();
    assert!(world.stands(ZONE, &a("www", 1)));
    assert_eq!(failed(world.told("www.example.org", Rtype::A)).0, "STALE_GENERATION");
    world.generation = 6;
    world.run(Duration::from_secs(120));
    assert!(world.stands(ZONE, &a("www", 2)));
}

#[test]
fn nothing_is_sent_that_changes_anything_while_the_lease_is_in_doubt() {
    let mut world = delivered(&[a("www", 1)]);
    world.may_write = false;
    world.change(ZONE, "www.example.org", &[a("www", 2)]);
    world.run(Duration::from_secs(60));
    let calls = world.fake.calls();
    assert!(
        calls.iter().all(|call| !matches!(call, Call::Write(_) | Call::Open(_) | Call::Settle)),
        "{calls:?}"
    );
    assert!(calls.len() < 20, "it is not asked again and again: {}", calls.len());
    world.may_write = true;
    world.settle();
    assert!(world.stands(ZONE, &a("www", 2)));
}

#[test]
fn promise_17_nothing_is_told_to_stand_before_it_was_read_back() {
    let mut world = delivered(&[]);
    world.change(ZONE, "www.example.org", &[a("www", 1)]);
    while let Some(task) = world.next() {
        let is_put = world.stands(ZONE, &a("www", 1));
        let told = world.told("www.example.org", Rtype::A);
        if is_put && told.is_none() {
            world.perform(&task, Some(Fault::Before(Failure::TimedOut)));
            break;
        }
        assert_eq!(told, None);
        world.perform(&task, None);
    }
    assert_eq!(failed(world.told("www.example.org", Rtype::A)).0, "TIMEOUT");
    world.settle();
    assert!(matches!(world.told("www.example.org", Rtype::A), Some(SetResult::Stands { .. })));
}

#[test]
fn a_name_that_is_to_be_reported_again_is_reported_without_a_write() {
    let mut world = delivered(&[a("www", 1)]);
    world.reports.clear();
    drop(world.fake.writes());
    world.order(Order::Report(vec![(name(ZONE), name("www.example.org"))]));
    world.settle();
    assert!(
        matches!(world.told("www.example.org", Rtype::A), Some(SetResult::Stands { set, .. }) if set == a("www", 1))
    );
    assert_eq!(world.fake.writes(), []);
}

/// The address that a wish returns to while a write of another one is under way, with its possible outcomes.
fn change_back_under_way(mut world: World, fault: Option<Fault>) {
    let host = "www.example.org";
    world.want(ZONE, &[a("www", 1)]);
    world.order(Order::Complete);
    world.settle();
    world.change(ZONE, host, &[a("www", 2)]);
    let is_other =
        |change: &crate::SetChange| change.after.as_ref().is_some_and(|after| after.set == a("www", 2));
    let task = loop {
        let task = world.next().unwrap();
        match &task.job {
            Job::Write(writing) if writing.batch.changes.iter().any(is_other) => break task,
            _ => world.perform(&task, None),
        }
    };
    world.reports.clear();
    world.change(ZONE, host, &[a("www", 1)]);
    assert_eq!(world.told(host, Rtype::A), None, "the other address may arrive at any moment");
    world.perform(&task, fault);
    for _ in 0..1000 {
        let is_told = matches!(world.told(host, Rtype::A), Some(SetResult::Stands { .. }));
        if is_told {
            break;
        }
        match world.next() {
            Some(task) => world.perform(&task, None),
            None => world.now = world.book.wake().unwrap(),
        }
    }
    let told = world.told(host, Rtype::A);
    assert!(matches!(told, Some(SetResult::Stands { set, .. }) if set == a("www", 1)));
    assert!(world.stands(ZONE, &a("www", 1)), "what was reported is at the provider");
}

#[test]
fn data_that_is_wanted_again_while_a_write_of_other_data_is_under_way_is_reported_after_a_reading() {
    let lost = || [None, Some(Fault::Before(Failure::TimedOut)), Some(Fault::After(Failure::TimedOut))];
    for fault in lost() {
        change_back_under_way(World::of_zones(), fault);
    }
    for fault in lost() {
        let world = World::of_sets();
        world.fake.with(|state| state.zones.insert(name(ZONE), Default::default()));
        change_back_under_way(world, fault);
    }
}

#[test]
fn a_set_that_is_being_written_is_not_reported_as_absent() {
    for mut world in [World::of_zones(), World::of_sets()] {
        world.fake.with(|state| state.zones.insert(name(ZONE), Default::default()));
        world.want(ZONE, &[]);
        world.order(Order::Complete);
        world.settle();
        world.change(ZONE, "www.example.org", &[a("www", 1)]);
        let key = SetKey::of(&a("www", 1));
        let task = loop {
            let task = world.next().unwrap();
            match &task.job {
                Job::Write(writing) if writing.batch.changes.iter().any(|change| change.key == key) => {
                    break task;
                }
                _ => world.perform(&task, None),
            }
        };
        world.change(ZONE, "www.example.org", &[]);
        assert_eq!(world.told("www.example.org", Rtype::A), None);
        world.perform(&task, None);
        world.settle();
        assert_eq!(world.told("www.example.org", Rtype::A), Some(SetResult::Absent { deleted: true }));
        assert!(!world.stands(ZONE, &a("www", 1)));
    }
}

#[test]
fn a_server_that_holds_something_else_than_was_written_is_told_and_not_hammered() {
    let mut world = delivered(&[a("www", 1)]);
    world.change(ZONE, "www.example.org", &[a("www", 2)]);
    let end = world.now + Duration::from_secs(600);
    while world.now < end {
        match world.next() {
            Some(task) => {
                world.perform(&task, None);
                world.fake.scribble(&name(ZONE), a("www", 66));
            }
            None => world.now = world.book.wake().unwrap_or(end).max(world.now + Duration::from_millis(1)),
        }
    }
    assert!(failed(world.told("www.example.org", Rtype::A)).1);
    assert!(world.fake.writes().len() < 25);
}

#[test]
fn promise_21_and_22_a_poisoned_record_waits_alone_and_is_never_given_up() {
    let mut world = World::of_zones();
    world.fake.with(|state| state.refused.insert(name("bad.example.org")));
    world.want(ZONE, &[a("bad", 1), a("good", 2), txt("bad", "x")]);
    world.order(Order::Complete);
    world.settle();
    assert!(world.stands(ZONE, &a("good", 2)));
    assert_eq!(failed(world.told("bad.example.org", Rtype::A)), ("INVALID", false));
    world.change(ZONE, "late.example.org", &[a("late", 3)]);
    world.run(Duration::from_secs(2));
    assert!(world.stands(ZONE, &a("late", 3)), "nobody waits for the poisoned one");
    world.run(Duration::from_secs(600));
    assert_eq!(failed(world.told("bad.example.org", Rtype::A)), ("INVALID", true));
    let tries = world.fake.writes().len();
    assert!(tries < 40, "{tries}");
    world.fake.with(|state| state.refused.clear());
    world.run(Duration::from_secs(61));
    assert!(world.stands(ZONE, &a("bad", 1)), "healed within one cap");
    world.assert_no_breach();
}

#[test]
fn new_content_is_tried_at_once_whatever_failed_before() {
    let mut world = World::of_zones();
    world.fake.with(|state| state.refused.insert(name("bad.example.org")));
    world.want(ZONE, &[a("bad", 1)]);
    world.order(Order::Complete);
    world.run(Duration::from_secs(600));
    world.fake.with(|state| state.refused.clear());
    world.change(ZONE, "bad.example.org", &[a("bad", 2)]);
    world.run(Duration::from_secs(1));
    assert!(world.stands(ZONE, &a("bad", 2)));
}

#[test]
fn a_server_in_trouble_is_asked_by_one_request_at_a_time_and_left_alone_as_long_as_it_asks() {
    let mut world = delivered(&[a("www", 1)]);
    world.change(ZONE, "www.example.org", &[a("www", 2)]);
    world.want("example.net", &[set("www.example.net", Rtype::A, "192.0.2.1")]);
    let task = world.next().unwrap();
    world.perform(&task, Some(Fault::Before(Failure::Limited(Some(Duration::from_secs(300))))));
    assert!(
        matches!(world.reports.iter().rev().find(|r| matches!(r, Report::Reached(_))), Some(Report::Reached(Err(t))) if t.code == "RATE_LIMITED")
    );
    world.fake.calls();
    world.run(Duration::from_secs(299));
    assert_eq!(world.fake.calls(), []);
    world.run(Duration::from_secs(30));
    assert!(world.stands(ZONE, &a("www", 2)));
    assert_eq!(
        world.reports.iter().rev().find(|r| matches!(r, Report::Reached(_))),
        Some(&Report::Reached(Ok(())))
    );
}

#[test]
fn without_a_provider_everything_has_failed_and_nothing_is_lost() {
    let mut world = delivered(&[a("www", 1)]);
    let trouble = Trouble { reason: "SecretNotFound", code: "SECRET", message: "no".into() };
    world.order(Order::Provider(Err(trouble)));
    assert_eq!(failed(world.told("www.example.org", Rtype::A)).0, "SECRET");
    world.change(ZONE, "new.example.org", &[a("new", 1)]);
    assert_eq!(failed(world.told("new.example.org", Rtype::A)).0, "SECRET");
    world.run(Duration::from_secs(3600));
    assert_eq!(world.fake.calls(), []);
    world.order(Order::Provider(Ok(world.fake.clone())));
    world.settle();
    assert!(matches!(world.told("www.example.org", Rtype::A), Some(SetResult::Stands { written: None, .. })));
    assert!(world.stands(ZONE, &a("new", 1)));
}

#[test]
fn without_marks_an_unreadable_name_waits_alone() {
    let mut world = World::of_sets();
    world.fake.with(|state| {
        state.zones.insert(name(ZONE), Default::default());
        state.unreadable.insert(name("bad.example.org"));
    });
    let sets: Vec<RecordSet> = (0..30).map(|n| a(&format!("h{n}"), n)).chain([a("bad", 1)]).collect();
    world.want(ZONE, &sets);
    world.order(Order::Complete);
    world.run(Duration::from_secs(60));
    let missing: Vec<&RecordSet> = sets.iter().filter(|set| !world.stands(ZONE, set)).collect();
    assert_eq!(missing, [&a("bad", 1)]);
    assert_eq!(failed(world.told("bad.example.org", Rtype::A)).0, "INVALID");
    world.fake.with(|state| state.unreadable.clear());
    world.run(Duration::from_secs(61));
    assert!(world.stands(ZONE, &a("bad", 1)));
}

#[test]
fn promise_22_a_zone_that_cannot_be_read_delays_no_other() {
    let mut world = delivered(&[a("www", 1)]);
    world.want("bad.example", &[set("www.bad.example", Rtype::A, "192.0.2.1")]);
    let end = world.now + Duration::from_secs(300);
    let mut changes = 0;
    while world.now < end {
        let Some(task) = world.next() else {
            world.now = world.book.wake().unwrap_or(end).max(world.now + Duration::from_millis(1));
            continue;
        };
        let is_bad = format!("{:?}", task.place).contains("Zone(bad.example");
        world.perform(&task, is_bad.then_some(Fault::Before(Failure::Server(500))));
        if is_bad {
            changes += 1;
            world.change(ZONE, "www.example.org", &[a("www", 1 + changes % 200)]);
            let before = world.now;
            while let Some(task) = world.next() {
                world.perform(&task, None);
            }
            assert!(world.stands(ZONE, &a("www", 1 + changes % 200)), "after {changes} failures");
            assert_eq!(world.now, before);
        }
    }
    assert!(changes > 3, "{changes}");
    assert_eq!(failed(world.told("www.bad.example", Rtype::A)), ("SERVER_ERROR", true));
}

#[test]
fn settings_of_a_provider_are_written_once_whether_it_tells_them_or_not() {
    for keeps_settings_to_itself in [false, true] {
        let mut world = delivered(&[a("www", 1)]);
        world.fake.with(|state| state.keeps_settings_to_itself = keeps_settings_to_itself);
        let mut entry = crate::Entry::from(a("www", 1));
        entry.properties.insert("proxied".to_owned(), "true".to_owned());
        let node = Node {
            zone: name(ZONE),
            name: name("www.example.org"),
            sets: vec![entry.clone()],
            kept: vec![],
            shared: vec![],
            heir: None,
        };
        world.order(Order::Nodes(vec![node]));
        world.settle();
        assert_eq!(world.fake.sets(&name(ZONE))[&SetKey::of(&entry.set)], entry);
        assert_eq!(world.fake.writes().len(), 1);
        assert!(matches!(
            world.told("www.example.org", Rtype::A),
            Some(SetResult::Stands { written: Some(Written::Updated), .. })
        ));
        world.order(Order::Look);
        world.run(Duration::from_secs(3600));
        assert_eq!(world.fake.writes(), []);
    }
}
