//! Make before break: a name keeps its answer while one thing replaces another.

use std::time::Duration;

use dns::{Rdata, RecordSet, Rtype};

use super::super::super::{Order, SetResult};
use super::super::fake::Call;
use super::super::world::{World, name};
use super::{ZONE, a, cname, delivered, failed, txt};
use crate::SetKey;
use crate::powerdns::steered::STEERED;

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
fn who_adopts_a_name_replaces_a_foreign_program_in_one_batch() {
    let mut world = World::of_zones();
    let zone = name(ZONE);
    let data = Rdata::from_wire(STEERED, &[0, 1]).unwrap();
    let program = RecordSet::new(name("www.example.org"), STEERED, 30, vec![data]);
    world.fake.plant(&zone, program.clone());
    world.want(ZONE, &[a("www", 1)]);
    world.order(Order::Complete);
    world.settle();
    assert!(world.stands(ZONE, &program) && !world.stands(ZONE, &a("www", 1)), "it is not ours");
    world.fake.with(|state| state.foreign.clear());
    world.order(Order::Adopt(vec![(zone, SetKey::of(&a("www", 1)))]));
    world.settle();
    let swap = world.fake.writes().into_iter().rfind(|batch| batch.changes.len() == 2).unwrap();
    let shape: Vec<_> =
        swap.changes.iter().map(|change| (change.key.rtype, change.after.is_some())).collect();
    assert_eq!(shape, [(STEERED, false), (Rtype::A, true)]);
    let held = world.fake.sets(&name(ZONE));
    assert!(
        world.stands(ZONE, &a("www", 1)) && !world.stands(ZONE, &program),
        "{held:?} {:?}",
        world.told("www.example.org", Rtype::A)
    );
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
