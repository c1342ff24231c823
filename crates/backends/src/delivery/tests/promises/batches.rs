//! How changes are gathered into requests.

use std::time::Duration;

use dns::{RecordSet, Rtype};

use super::super::super::Order;
use super::super::super::task::{Job, Task, What};
use super::super::fake::{Call, Fault, Nature};
use super::super::world::{World, name};
use super::{ZONE, a, delivered, failed};
use crate::{Failure, Obstacle, SetKey};

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
    let mut world = World::new(Nature { batch_size: 100, ..World::of_zones().fake.nature });
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
        (22, 2002),
        "our counter, marks and sets, and the apex's mark"
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
    world.perform(&first, Some(Fault::Before(Failure::Unreachable(Obstacle::Closed))));
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
