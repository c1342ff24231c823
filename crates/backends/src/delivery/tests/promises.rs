//! Each promise by itself.

mod batches;
mod deletions;
mod ownership;
mod replacements;
mod troubles;
mod zones;

use std::time::Duration;

use dns::{RecordSet, Rtype};

use super::super::{Order, SetResult, Written};
use super::fake::set;
use super::world::{World, name};
use crate::marks::Mark;

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
