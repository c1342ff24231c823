//! Zones and their apexes, and what others change in them.

use std::time::Duration;

use dns::Rtype;

use super::super::super::{Order, SetResult};
use super::super::fake::{Call, set};
use super::super::world::{OWNER, World, name, new_zone};
use super::{ZONE, a, delivered, failed};
use crate::SetKey;
use crate::marks::{Liveness, Mark, Terms, liveness_key};

#[test]
fn drift_is_found_and_repaired_at_its_time() {
    let mut world = delivered(&[a("www", 1), a("ftp", 2)]);
    world.fake.scribble(&name(ZONE), a("www", 77));
    world.fake.remove(&name(ZONE), &SetKey::of(&a("ftp", 2)));
    world.run(Duration::from_secs(700));
    assert!(world.stands(ZONE, &a("www", 1)) && world.stands(ZONE, &a("ftp", 2)));
    let readings = world.fake.calls().iter().filter(|call| **call == Call::ReadZone).count();
    assert_eq!(readings, 2, "once to find it, and once because somebody may have come while it was repaired");
}

/// While nobody else writes, a look at the revision is all; a minute after our own last write the zone is read once.
#[test]
fn whoever_comes_for_our_names_is_found_within_a_minute_by_looks_at_the_revision() {
    let mut world = delivered(&[a("www", 1)]);
    world.run(Duration::from_secs(60));
    world.fake.calls();
    world.run(Duration::from_secs(540));
    let calls = world.fake.calls();
    assert!(calls.iter().all(|call| *call == Call::Revision) && (9..=12).contains(&calls.len()), "{calls:?}");
    let mark = Mark::new("other".to_owned(), 1, name("www.example.org"), Default::default());
    let mark = Mark { terms: Terms { wants: [Rtype::A].into(), ..Terms::default() }, ..mark };
    world.fake.plant(&name(ZONE), mark.to_set(&name(ZONE)).unwrap());
    world.run(Duration::from_secs(60));
    let key = liveness_key(OWNER, &name(ZONE)).unwrap();
    let set = world.fake.sets(&name(ZONE)).remove(&key).unwrap().set;
    assert_eq!(Liveness::read(&set, &name(ZONE)).unwrap().looks, None, "our counter moves");
}

/// A server that takes everything but our counter gets everything but that.
#[test]
fn a_counter_that_is_refused_keeps_nothing_from_being_written() {
    let mut world = World::of_zones();
    let key = liveness_key(OWNER, &name(ZONE)).unwrap();
    world.fake.with(|state| state.refused.insert(key.name.clone()));
    world.want(ZONE, &[a("www", 1)]);
    world.order(Order::Complete);
    world.settle();
    assert!(world.stands(ZONE, &a("www", 1)));
    world.fake.with(|state| state.refused.clear());
    world.run(Duration::from_secs(700));
    assert!(world.fake.sets(&name(ZONE)).contains_key(&key));
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
