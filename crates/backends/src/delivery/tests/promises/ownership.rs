//! Whose a set is, with marks and without.

use std::time::Duration;

use dns::{RecordSet, Rtype};

use super::super::super::{Known, Order, SetResult, Written};
use super::super::fake::{Call, Nature, set};
use super::super::world::{OWNER, World, name};
use super::{ZONE, a, cname, delivered, txt};
use crate::SetKey;
use crate::marks::{Mark, corner, mark_name};

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
    world.want(ZONE, &[a("ext", 7), a("same", 2), a("own", 9)]);
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
        let place = mark_name(OWNER, &name(host), &zone).unwrap();
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
    let mut world = World::new(Nature { compares: false, ..World::of_zones().fake.nature });
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
