//! Each promise by itself.

use std::time::Duration;

use dns::{Rdata, RecordSet, Rtype};

use super::super::task::{Job, Task, What};
use super::super::{HeldDeletes, Known, Order, Report, SetResult, Written};
use super::fake::{Call, Fault, set};
use super::world::{World, name, new_zone, settings};
use crate::marks::{Mark, corner, mark_name};
use crate::powerdns::steered::STEERED;
use crate::{Failure, SetKey};

const ZONE: &str = "example.org";

fn a(host: &str, last: usize) -> RecordSet {
    set(&format!("{host}.{ZONE}"), Rtype::A, &format!("192.0.2.{last}"))
}

fn txt(host: &str, text: &str) -> RecordSet {
    set(&format!("{host}.{ZONE}"), Rtype::TXT, text)
}

fn cname(host: &str, target: &str) -> RecordSet {
    set(&format!("{host}.{ZONE}"), Rtype::CNAME, target)
}

/// A world in which these are wanted, delivered, and the calls forgotten.
fn delivered(sets: &[RecordSet]) -> World {
    let mut world = World::of_zones();
    world.want(ZONE, sets);
    world.order(Order::Complete);
    world.settle();
    for set in sets {
        assert!(world.stands(ZONE, set), "{set:?}");
    }
    world.fake.calls();
    world
}

fn failed(result: Option<SetResult>) -> (&'static str, bool) {
    match result {
        Some(SetResult::Failed { trouble, exhausted }) => (trouble.code, exhausted),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_wanted_is_made_marked_read_back_and_told() {
    let world = delivered(&[a("www", 1), txt("www", "hello"), a("ftp", 2)]);
    let told = world.told("www.example.org", Rtype::A);
    assert_eq!(
        told,
        Some(SetResult::Stands { set: a("www", 1), written: Some(Written::Created), is_shared: false })
    );
    let marks: Vec<Mark> = world
        .fake
        .sets(&name(ZONE))
        .values()
        .filter_map(|entry| Mark::read(&entry.set, &name(ZONE)))
        .collect();
    assert_eq!(marks.len(), 3, "one per name, the apex included");
    world.assert_no_breach();
}

#[test]
fn ten_changed_records_cost_ten_sets_and_no_reading_of_the_zone() {
    let sets: Vec<RecordSet> = (0..100).map(|n| a(&format!("h{n}"), n)).collect();
    let mut world = delivered(&sets);
    world.run(Duration::from_secs(60));
    world.fake.calls();
    for n in 0..10 {
        world.change(ZONE, &format!("h{n}.{ZONE}"), &[a(&format!("h{n}"), 200)]);
    }
    world.settle();
    let calls = world.fake.calls();
    let changes: usize =
        calls.iter().map(|call| if let Call::Write(batch) = call { batch.changes.len() } else { 0 }).sum();
    assert_eq!(changes, 10);
    assert!(!calls.contains(&Call::ReadZone), "{calls:?}");
    assert!(world.stands(ZONE, &a("h9", 200)));
}

#[test]
fn thousands_of_sets_cost_two_requests_for_each_full_batch() {
    let mut world = World::new(super::fake::Nature { batch_size: 100, ..World::of_zones().fake.nature });
    let sets: Vec<RecordSet> = (0..1000).map(|n| a(&format!("h{n}"), n % 250)).collect();
    world.want(ZONE, &sets);
    world.order(Order::Complete);
    world.settle();
    let standing = world.fake.sets(&name(ZONE));
    assert!(sets.iter().all(|set| standing.get(&SetKey::of(set)).is_some_and(|entry| entry.set == *set)));
    let calls = world.fake.calls();
    let batches: Vec<usize> = calls
        .iter()
        .filter_map(|call| if let Call::Write(batch) = call { Some(batch.changes.len()) } else { None })
        .collect();
    assert_eq!(
        (batches.len(), batches.iter().sum::<usize>()),
        (21, 2001),
        "marks and sets, and the apex's mark"
    );
    let others: Vec<&Call> = calls.iter().filter(|call| !matches!(call, Call::Write(_))).collect();
    let expected = [
        &Call::Open(name(ZONE)),
        &Call::Revision,
        &Call::ReadZone,
        &Call::ReadZone,
        &Call::ReadZone,
        &Call::Settle,
        &Call::Revision,
    ];
    assert_eq!(others, expected, "an empty zone is read twice, and once more after all batches");
}

/// Goes on until a batch of sets is under way.
fn until_sets_are_written(world: &mut World) -> Task {
    loop {
        let task = world.next().unwrap();
        match &task.job {
            Job::Write(writing) if writing.what == What::Sets => return task,
            _ => world.perform(&task, None),
        }
    }
}

#[test]
fn a_batch_that_was_prepared_is_dropped_when_one_of_its_names_changes() {
    let mut world = World::of_zones();
    let sets: Vec<RecordSet> = (100..400).map(|n| a(&format!("h{n}"), 1)).collect();
    world.want(ZONE, &sets);
    world.order(Order::Complete);
    let first = until_sets_are_written(&mut world);
    world.change(ZONE, "h250.example.org", &[a("h250", 2)]);
    world.perform(&first, None);
    world.settle();
    let writes = world.fake.writes();
    let after = writes.iter().flat_map(|batch| &batch.changes).filter_map(|change| change.after.as_ref());
    let written: Vec<&RecordSet> =
        after.map(|entry| &entry.set).filter(|set| set.name == a("h250", 1).name).collect();
    assert_eq!(written, [&a("h250", 2)]);
    assert!(sets.iter().filter(|set| **set != a("h250", 1)).all(|set| world.stands(ZONE, set)));
    world.assert_no_breach();
}

#[test]
fn a_batch_that_was_prepared_is_not_sent_after_one_that_failed_nor_by_an_older_leader() {
    let mut world = World::of_zones();
    world.want(ZONE, &(100..400).map(|n| a(&format!("h{n}"), 1)).collect::<Vec<_>>());
    world.order(Order::Complete);
    let first = until_sets_are_written(&mut world);
    world.perform(&first, Some(Fault::Before(Failure::Unreachable)));
    assert_eq!(world.next(), None, "the server is left alone");
    world.now += Duration::from_secs(5);
    let again = until_sets_are_written(&mut world);
    world.generation += 1;
    world.perform(&again, None);
    world.settle();
    let generations: Vec<u64> = world.fake.writes().iter().map(|batch| batch.generation).collect();
    assert!(generations.is_sorted() && generations.ends_with(&[2, 2]), "{generations:?}");
    world.assert_no_breach();
}

#[test]
fn promise_20_and_6_the_second_pass_and_a_restart_write_nothing() {
    let sets = [a("www", 1), txt("www", "x"), cname("alias", "www.example.org")];
    let mut world = delivered(&sets);
    world.order(Order::Look);
    world.run(Duration::from_secs(3600));
    assert_eq!(world.fake.writes(), []);
    world.restart();
    world.want(ZONE, &sets);
    world.order(Order::Complete);
    world.run(Duration::from_secs(3600));
    assert_eq!(world.fake.writes(), []);
    assert_eq!(
        world.told("www.example.org", Rtype::A),
        Some(SetResult::Stands { set: a("www", 1), written: None, is_shared: false })
    );
}

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
    assert_eq!(left, 1, "the mark of the apex");
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
fn promise_5_what_is_made_is_read_back_before_anything_goes() {
    let mut world = delivered(&[a("old", 1)]);
    world.change(ZONE, "old.example.org", &[]);
    world.change(ZONE, "new.example.org", &[a("new", 1)]);
    world.settle();
    let calls = world.fake.calls();
    let put = calls.iter().position(
        |call| matches!(call, Call::Write(batch) if batch.changes[0].key == SetKey::of(&a("new", 1))),
    );
    let delete = calls.iter().position(
        |call| matches!(call, Call::Write(batch) if batch.changes[0].key == SetKey::of(&a("old", 1))),
    );
    let read = calls.iter().skip(put.unwrap()).position(|call| matches!(call, Call::ReadSets(_))).unwrap()
        + put.unwrap();
    assert!(read < delete.unwrap(), "{calls:?}");
    world.assert_no_breach();
}

#[test]
fn an_alias_replaces_addresses_in_one_batch() {
    let mut world = delivered(&[a("www", 1)]);
    world.fake.with(|state| state.precious.insert((name(ZONE), name("www.example.org"))));
    world.change(ZONE, "www.example.org", &[cname("www", "lb.example.net")]);
    world.settle();
    let swap = world.fake.writes().into_iter().find(|batch| batch.changes.len() == 2).unwrap();
    let shape: Vec<_> =
        swap.changes.iter().map(|change| (change.key.rtype, change.after.is_some())).collect();
    assert_eq!(shape, [(Rtype::A, false), (Rtype::CNAME, true)]);
    assert_eq!(world.told("www.example.org", Rtype::A), Some(SetResult::Absent { deleted: true }));
    world.change(ZONE, "www.example.org", &[a("www", 4), txt("www", "x")]);
    world.settle();
    assert!(world.stands(ZONE, &a("www", 4)) && world.stands(ZONE, &txt("www", "x")));
    world.assert_no_breach();
}

#[test]
fn a_program_replaces_addresses_and_they_it_in_one_batch() {
    let mut world = delivered(&[a("www", 1)]);
    let data = Rdata::from_wire(STEERED, &[0, 1]).unwrap();
    let program = RecordSet::new(name("www.example.org"), STEERED, 30, vec![data]);
    for (wanted, from, to) in [(program, Rtype::A, STEERED), (a("www", 2), STEERED, Rtype::A)] {
        world.change(ZONE, "www.example.org", std::slice::from_ref(&wanted));
        world.settle();
        let swap = world.fake.writes().into_iter().rfind(|batch| batch.changes.len() == 2).unwrap();
        let shape: Vec<_> =
            swap.changes.iter().map(|change| (change.key.rtype, change.after.is_some())).collect();
        assert_eq!(shape, [(from, false), (to, true)]);
        assert!(world.stands(ZONE, &wanted));
    }
    world.assert_no_breach();
}

#[test]
fn promise_11_what_has_no_mark_is_neither_changed_nor_deleted_even_where_it_is_as_wanted() {
    let mut world = World::of_zones();
    let zone = name(ZONE);
    world.fake.plant(&zone, a("www", 1));
    world.fake.plant(&zone, a("same", 2));
    world.fake.plant(&zone, txt("alias", "x"));
    world.want(ZONE, &[a("www", 9), a("same", 2), cname("alias", "www.example.org"), a("free", 3)]);
    world.order(Order::Complete);
    world.run(Duration::from_secs(3600));
    for (host, rtype) in [("www", Rtype::A), ("same", Rtype::A), ("alias", Rtype::CNAME)] {
        assert_eq!(world.told(&format!("{host}.{ZONE}"), rtype), Some(SetResult::Foreign { owner: None }));
    }
    assert!(world.stands(ZONE, &a("free", 3)));
    world.assert_no_breach();
    // Once it is gone, the name is free.
    world.fake.remove(&zone, &SetKey::of(&a("www", 1)));
    world.order(Order::Look);
    world.settle();
    assert!(world.stands(ZONE, &a("www", 9)));
}

#[test]
fn a_foreign_set_says_whose_it_is() {
    let mut world = World::of_zones();
    let zone = name(ZONE);
    let other = Mark::new("cluster b".into(), 1, name("www.example.org"), [Rtype::A].into());
    world.fake.plant(&zone, a("www", 1));
    world.fake.plant(&zone, other.to_set(&zone).unwrap());
    world.fake.plant(&zone, a("ext", 1));
    world.fake.plant(&zone, txt("a-ext", "heritage=external-dns,external-dns/owner=weu"));
    world.want(ZONE, &[a("www", 2), a("ext", 2)]);
    world.settle();
    let owner = |owner: &str| Some(SetResult::Foreign { owner: Some(owner.to_owned()) });
    assert_eq!(world.told("www.example.org", Rtype::A), owner("cluster b"));
    assert_eq!(world.told("ext.example.org", Rtype::A), owner("ExternalDNS weu"));
}

#[test]
fn adoption_marks_what_is_wanted_and_deletes_nothing() {
    let mut world = World::of_zones();
    let zone = name(ZONE);
    for set in [
        a("ext", 1),
        txt("a-ext", "heritage=external-dns,external-dns/owner=weu"),
        a("same", 2),
        a("unwanted", 3),
    ] {
        world.fake.plant(&zone, set);
    }
    world.want(ZONE, &[a("ext", 7), a("same", 2)]);
    world.order(Order::Complete);
    world.settle();
    let keys = [a("ext", 1), a("same", 2), a("unwanted", 3)].map(|set| (zone.clone(), SetKey::of(&set)));
    world.fake.with(|state| state.foreign.retain(|key| !keys[..2].contains(key)));
    world.order(Order::Adopt(keys.to_vec()));
    world.settle();
    assert!(world.stands(ZONE, &a("ext", 7)) && world.stands(ZONE, &a("same", 2)));
    assert!(
        world.stands(ZONE, &a("unwanted", 3))
            && world.fake.sets(&zone).contains_key(&SetKey::of(&txt("a-ext", "x")))
    );
    assert_eq!(
        world.told("same.example.org", Rtype::A),
        Some(SetResult::Stands { set: a("same", 2), written: None, is_shared: false })
    );
    world.assert_no_breach();
    world.change(ZONE, "same.example.org", &[]);
    world.settle();
    assert!(!world.stands(ZONE, &a("same", 2)), "it is ours now");
}

#[test]
fn promise_13_a_set_with_a_corrupt_mark_is_not_ours() {
    let mut world = delivered(&[a("www", 1), a("gone", 1)]);
    let zone = name(ZONE);
    for host in ["www.example.org", "gone.example.org"] {
        let place = mark_name(super::world::OWNER, &name(host), &zone).unwrap();
        world.fake.scribble(&zone, set(&place.to_string(), Rtype::TXT, "v=fingerpost1 owner=test"));
    }
    world.change(ZONE, "www.example.org", &[a("www", 2)]);
    world.change(ZONE, "gone.example.org", &[]);
    world.order(Order::Look);
    world.settle();
    assert!(world.stands(ZONE, &a("www", 1)) && world.stands(ZONE, &a("gone", 1)));
    assert_eq!(world.told("www.example.org", Rtype::A), Some(SetResult::Foreign { owner: None }));
    // What does not stand there can be made over a corrupt mark of our own.
    world.fake.remove(&zone, &SetKey::of(&a("www", 1)));
    world.order(Order::Look);
    world.settle();
    assert!(world.stands(ZONE, &a("www", 2)));
}

#[test]
fn what_somebody_creates_after_our_last_reading_is_not_overwritten_even_without_comparing() {
    let mut world = World::new(super::fake::Nature { compares: false, ..World::of_zones().fake.nature });
    world.want(ZONE, &[a("www", 1)]);
    world.order(Order::Complete);
    world.settle();
    world.fake.plant(&name(ZONE), a("late", 1));
    world.change(ZONE, "late.example.org", &[a("late", 2)]);
    world.settle();
    assert_eq!(world.told("late.example.org", Rtype::A), Some(SetResult::Foreign { owner: None }));
    world.assert_no_breach();
}

#[test]
fn drift_is_found_and_repaired_at_its_time() {
    let mut world = delivered(&[a("www", 1), a("ftp", 2)]);
    world.fake.scribble(&name(ZONE), a("www", 77));
    world.fake.remove(&name(ZONE), &SetKey::of(&a("ftp", 2)));
    world.run(Duration::from_secs(700));
    assert!(world.stands(ZONE, &a("www", 1)) && world.stands(ZONE, &a("ftp", 2)));
    assert_eq!(world.fake.calls().iter().filter(|call| **call == Call::ReadZone).count(), 1);
}

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
fn a_server_that_chokes_on_one_record_takes_the_others() {
    let sets: Vec<RecordSet> = (0..40).map(|n| a(&format!("h{n}"), n)).collect();
    let mut world = delivered(&[]);
    world.want(ZONE, &sets);
    let poisoned = SetKey::of(&a("h17", 17));
    let end = world.now + Duration::from_secs(900);
    while world.now < end {
        let Some(task) = world.next() else {
            world.now = world.book.wake().unwrap_or(end).max(world.now + Duration::from_millis(1));
            continue;
        };
        let chokes = format!("{task:?}").contains(&format!("SetChange {{ key: {poisoned:?}"));
        world.perform(&task, chokes.then_some(Fault::Before(Failure::Server(500))));
    }
    let missing: Vec<usize> = (0..40).filter(|n| !world.stands(ZONE, &a(&format!("h{n}"), *n))).collect();
    assert_eq!(missing, [17]);
    assert_eq!(failed(world.told("h17.example.org", Rtype::A)).0, "SERVER_ERROR");
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
    let trouble = super::super::Trouble { reason: "SecretNotFound", code: "SECRET", message: "no".into() };
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
fn a_zone_above_holds_several_origins_and_none_of_their_apexes() {
    let mut world = World::of_zones();
    world.fake.with(|state| {
        state.makes_zones = false;
        state.zones.insert(name("example.org"), Default::default());
    });
    let below = |host: &str| set(&format!("{host}.example.org"), Rtype::A, "192.0.2.1");
    let ns = set("a.example.org", Rtype::NS, "ns.a.example.org");
    world.want("a.example.org", &[below("www.a"), ns.clone()]);
    world.want("b.example.org", &[below("www.b")]);
    world.order(Order::Complete);
    world.settle();
    assert!(world.stands(ZONE, &below("www.a")) && world.stands(ZONE, &below("www.b")));
    let sets = world.fake.sets(&name(ZONE));
    assert!(sets.keys().all(|key| key.rtype != Rtype::NS && key.rtype != Rtype::SOA), "{:?}", sets.keys());
    assert_eq!(world.told("a.example.org", Rtype::NS), Some(SetResult::Foreign { owner: None }));
}

#[test]
fn the_apex_of_a_zone_that_we_made_follows_its_facts_and_of_any_other_is_left_alone() {
    let mut world = World::of_zones();
    let zone = name("old.example");
    for set in [
        new_zone("old.example").soa,
        set("old.example", Rtype::NS, "ns.elsewhere.example"),
        set("x.old.example", Rtype::A, "192.0.2.9"),
    ] {
        world.fake.plant(&zone, set);
    }
    world.want("old.example", &[set("www.old.example", Rtype::A, "192.0.2.1")]);
    world.want(ZONE, &[a("www", 1)]);
    world.order(Order::Complete);
    world.settle();
    let mut facts = new_zone(ZONE);
    facts.name_servers = set(ZONE, Rtype::NS, "ns1.example.net|ns2.example.net");
    world.order(Order::Zone(facts.clone()));
    world.settle();
    assert!(world.stands(ZONE, &facts.name_servers));
    assert!(world.stands("old.example", &set("old.example", Rtype::NS, "ns.elsewhere.example")));
    world.assert_no_breach();
    let new_soa = set(ZONE, Rtype::NS, "x.example");
    assert!(!world.stands(ZONE, &new_soa));
}

#[test]
fn an_origin_without_a_zone_waits_alone_and_is_made_when_it_can_be() {
    let mut world = delivered(&[a("www", 1)]);
    world.fake.with(|state| state.makes_zones = false);
    world.want("nowhere.example", &[set("www.nowhere.example", Rtype::A, "192.0.2.1")]);
    world.change(ZONE, "www.example.org", &[a("www", 2)]);
    world.settle();
    assert_eq!(failed(world.told("www.nowhere.example", Rtype::A)).0, "ZONE_NOT_FOUND");
    assert!(world.stands(ZONE, &a("www", 2)));
    world.fake.with(|state| state.makes_zones = true);
    world.run(Duration::from_secs(61));
    assert!(world.stands("nowhere.example", &set("www.nowhere.example", Rtype::A, "192.0.2.1")));
}

#[test]
fn a_zone_that_disappears_is_made_and_filled_again() {
    let mut world = delivered(&[a("www", 1)]);
    world.fake.with(|state| state.zones.clear());
    world.change(ZONE, "www.example.org", &[a("www", 2)]);
    world.run(Duration::from_secs(120));
    assert!(world.stands(ZONE, &a("www", 2)));
}

#[test]
fn kept_types_are_neither_changed_nor_deleted() {
    let mut world = delivered(&[a("www", 1), txt("www", "x")]);
    let node = super::super::Node {
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
    assert_eq!(marks, 1, "the apex's");
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
fn without_marks_memory_decides_what_is_ours() {
    let mut world = World::of_sets();
    let zone = name(ZONE);
    world.fake.with(|state| drop(state.zones.insert(zone.clone(), Default::default())));
    for set in [a("other", 1), a("equal", 2), a("mine", 3), a("leaving", 4)] {
        world.fake.scribble(&zone, set);
    }
    let known = |set: &RecordSet| Known { zone: name(ZONE), key: SetKey::of(set), domain: None };
    world.want(ZONE, &[a("other", 9), a("equal", 2), a("mine", 9), a("new", 5)]);
    world.order(Order::Known(vec![known(&a("mine", 3)), known(&a("leaving", 4))]));
    world.order(Order::Complete);
    world.settle();
    assert!(world.stands(ZONE, &a("other", 1)), "with other content and unknown, it is somebody else's");
    assert_eq!(world.told("other.example.org", Rtype::A), Some(SetResult::Foreign { owner: None }));
    assert_eq!(
        world.told("equal.example.org", Rtype::A),
        Some(SetResult::Stands { set: a("equal", 2), written: None, is_shared: false })
    );
    assert_eq!(
        world.told("mine.example.org", Rtype::A),
        Some(SetResult::Stands { set: a("mine", 9), written: Some(Written::Updated), is_shared: false })
    );
    assert_eq!(
        world.told("new.example.org", Rtype::A),
        Some(SetResult::Stands { set: a("new", 5), written: Some(Written::Created), is_shared: false })
    );
    assert_eq!(world.told("leaving.example.org", Rtype::A), Some(SetResult::Absent { deleted: true }));
    let sets = world.fake.sets(&zone);
    assert!(sets.keys().all(|key| !key.name.is_in(&corner(&zone).unwrap())), "no marks there");
    assert_eq!(sets.len(), 4);

    world.fake.calls();
    world.run(Duration::from_secs(3600));
    let calls = world.fake.calls();
    assert!(calls.iter().all(|call| matches!(call, Call::ReadSets(_))) && calls.len() >= 5, "{calls:?}");
    world.fake.scribble(&zone, a("new", 66));
    world.run(Duration::from_secs(700));
    assert!(world.stands(ZONE, &a("new", 5)), "drift is repaired");
}

#[test]
fn an_alias_that_is_refused_after_its_addresses_went_gives_them_back() {
    let mut world = World::of_sets();
    world.fake.with(|state| state.zones.insert(name(ZONE), Default::default()));
    world.want(ZONE, &[a("www", 1)]);
    world.order(Order::Complete);
    world.settle();
    world.fake.with(|state| state.refused_types.insert(Rtype::CNAME));
    world.change(ZONE, "www.example.org", &[cname("www", "lb.example.net")]);
    world.run(Duration::from_secs(2));
    assert!(world.stands(ZONE, &a("www", 1)));
    assert_eq!(failed(world.told("www.example.org", Rtype::CNAME)).0, "INVALID");
    world.fake.with(|state| state.refused_types.clear());
    world.run(Duration::from_secs(120));
    assert!(world.stands(ZONE, &cname("www", "lb.example.net")) && !world.stands(ZONE, &a("www", 1)));
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
    let mut world = World::new(super::fake::Nature { is_shared: false, ..World::of_zones().fake.nature });
    let sets: Vec<RecordSet> = (0..30).map(|n| a(&format!("h{n}"), n)).collect();
    world.want(ZONE, &sets);
    world.order(Order::Complete);
    world.settle();
    (0..30).for_each(|n| world.change(ZONE, &format!("h{n}.{ZONE}"), &[]));
    world.settle();
    assert!(sets.iter().all(|set| !world.stands(ZONE, set)));
    assert!(!world.reports.iter().any(|report| matches!(report, Report::Held(_))));
}

#[test]
fn what_somebody_writes_while_a_zone_is_read_is_found_by_the_next_look() {
    let mut world = delivered(&[a("www", 1)]);
    world.order(Order::Look);
    let revision = world.next().unwrap();
    world.perform(&revision, None);
    let read = world.next().unwrap();
    world.perform(&read, None);
    world.fake.scribble(&name(ZONE), a("www", 66));
    world.run(Duration::from_secs(700));
    assert!(world.stands(ZONE, &a("www", 1)));
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
fn a_request_that_is_too_large_is_halved_without_a_wait() {
    let sets: Vec<RecordSet> = (0..40).map(|n| a(&format!("h{n}"), n)).collect();
    let mut world = delivered(&[]);
    world.want(ZONE, &sets);
    while let Some(task) = world.next() {
        let is_large = format!("{task:?}").matches("SetChange").count() > 10;
        world.perform(&task, is_large.then_some(Fault::Before(Failure::TooLarge)));
    }
    assert!(sets.iter().all(|set| world.stands(ZONE, set)));
    world.assert_no_breach();
}

#[test]
fn settings_of_a_provider_are_written_once_whether_it_tells_them_or_not() {
    for keeps_settings_to_itself in [false, true] {
        let mut world = delivered(&[a("www", 1)]);
        world.fake.with(|state| state.keeps_settings_to_itself = keeps_settings_to_itself);
        let mut entry = crate::Entry::from(a("www", 1));
        entry.properties.insert("proxied".to_owned(), "true".to_owned());
        let node = super::super::Node {
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

#[test]
fn what_is_to_leave_stays_and_says_so_while_its_replacement_is_refused() {
    let mut world = delivered(&[a("www", 1)]);
    world.fake.with(|state| {
        state.refused.insert(name("www.example.org"));
        state.precious.insert((name(ZONE), name("www.example.org")));
    });
    world.change(ZONE, "www.example.org", &[cname("www", "lb.example.net")]);
    world.settle();
    assert!(world.stands(ZONE, &a("www", 1)));
    assert_eq!(failed(world.told("www.example.org", Rtype::CNAME)).0, "INVALID");
    assert_eq!(failed(world.told("www.example.org", Rtype::A)).0, "REPLACEMENT_PENDING");
    world.fake.with(|state| state.refused.clear());
    world.run(Duration::from_secs(61));
    assert_eq!(world.told("www.example.org", Rtype::A), Some(SetResult::Absent { deleted: true }));
    world.assert_no_breach();
}
