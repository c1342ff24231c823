#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use std::sync::Arc;

use dns::{Member, Name, PackedZone, ProbeId, Rdata, RecordSet, Rtype, Steering};
use rstest::rstest;

use super::question::Labels;
use super::*;
use crate::steering::{GeoSource, Health, State};
use crate::{Rcode, ZoneUpdate, Zones, respond};

fn origin() -> Name {
    "e.".parse().unwrap()
}

fn set(name: &str, rtype: Rtype, data: &str) -> RecordSet {
    let data = Rdata::parse(rtype, data, &origin()).unwrap();
    RecordSet::new(name.parse().unwrap(), rtype, 60, vec![data])
}

/// A zone file with names enough that one change is not worth a new table.
fn zones(names: usize) -> Zones {
    let hosts = (0..names).map(|at| set(&format!("host{at}.sub.e."), Rtype::A, "192.0.2.1"));
    let soa = set("e.", Rtype::SOA, "ns admin 1 2 3 4 5");
    let base = Arc::new(PackedZone::from_sets(origin(), hosts.chain([soa.clone()])).unwrap());
    let mut zones = Zones::new();
    zones.apply(ZoneUpdate::PutZone { origin: origin(), soa, base: Some(base) });
    zones
}

fn put(zones: &mut Zones, set: RecordSet) {
    zones.apply(ZoneUpdate::PutNode { origin: origin(), name: set.name.clone(), sets: vec![set] });
}

fn query(name: &str) -> Vec<u8> {
    let name = name.parse::<Name>().unwrap().to_wire();
    [&[0, 7, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0], &name[..], &[0, 1, 0, 1]].concat()
}

fn both(zones: &Zones, name: &str) -> (Option<Rcode>, Rcode) {
    let around = Circumstances::plain(Sight { zones: Some(zones), synced: true });
    let (mut out, query) = (Vec::new(), query(name));
    let fast = respond_fast(&query, around, &mut out).map(|reply| reply.rcode);
    (fast, respond(&query, around, &mut out).unwrap().rcode)
}

#[rstest]
#[case("host1.sub.e.", Some(Rcode::NoError))]
#[case("new.sub.e.", Some(Rcode::NoError))]
#[case("below.host2.sub.e.", Some(Rcode::NxDomain))]
#[case("below.new.sub.e.", None)]
#[case("host3.sub.e.", Some(Rcode::NoError))]
#[case("gone.e.", Some(Rcode::NxDomain))]
#[case("gone.sub.e.", Some(Rcode::NxDomain))]
fn a_table_made_from_an_earlier_version_knows_what_changed_since(
    #[case] name: &str,
    #[case] fast: Option<Rcode>,
) {
    let mut zones = zones(3000);
    let version = Arc::clone(zones.zone(&origin()).unwrap());
    let index = version.compiled();
    put(&mut zones, set("new.sub.e.", Rtype::A, "192.0.2.2"));
    put(&mut zones, set("new.host2.sub.e.", Rtype::A, "192.0.2.2"));
    zones.adopt(&version, index);
    assert!(zones.compile(0).is_empty(), "two changes are not worth a new table");
    let (got, slow) = both(&zones, name);
    assert_eq!(got, fast);
    assert!(got.is_none_or(|fast| fast == slow));
}

#[test]
fn a_table_is_worn_by_a_cut_by_many_changes_and_by_another_zone_file() {
    let mut zones = zones(3000);
    assert_eq!(zones.compile(0).len(), 1, "there is no table yet");
    zones.compile(usize::MAX);
    zones.apply(ZoneUpdate::RemoveNode { origin: origin(), name: "nothing.e.".parse().unwrap() });
    zones.compile(usize::MAX);
    let fresh = zones.clone();
    put(&mut zones, set("sub.e.", Rtype::NS, "ns.elsewhere."));
    assert_eq!(zones.compile(0).len(), 1);
    assert_eq!(both(&zones, "host1.sub.e.").0, None);
    let mut zones = fresh.clone();
    // The cut was made in a copy; that its table is worn shows here too.
    assert_eq!(both(&zones, "host1.sub.e."), (None, Rcode::NoError));
    zones.apply(ZoneUpdate::PutZone {
        origin: origin(),
        soa: set("e.", Rtype::SOA, "ns admin 2 2 3 4 5"),
        base: None,
    });
    assert!(zones.compile(usize::MAX).is_empty());
    assert_eq!(both(&zones, "host1.sub.e."), (Some(Rcode::NxDomain), Rcode::NxDomain));
    for at in 0..2000 {
        put(&mut zones, set(&format!("many{at}.e."), Rtype::A, "192.0.2.3"));
    }
    assert_eq!(zones.compile(0).len(), 1);
    assert_eq!(both(&zones, "many1999.e.").1, Rcode::NoError);
}

/// Three addresses in this order, of which the first that is alive is the answer.
fn failover(addresses: [[u8; 4]; 3]) -> RecordSet {
    let group = |data: u16| Steering::All(vec![Member { data, probe: Some(ProbeId(u64::from(data))) }]);
    let data = addresses.map(|address| Rdata::a(address.into())).to_vec();
    let set = RecordSet::new("www.e.".parse().unwrap(), Rtype::A, 60, data.clone());
    let steering = Some(Arc::new(Steering::Failover((0..3).map(group).collect())));
    RecordSet { data: data.into(), steering, ..set }
}

const FIRST: [u8; 4] = [192, 0, 2, 1];
const SECOND: [u8; 4] = [192, 0, 2, 2];
const THIRD: [u8; 4] = [192, 0, 2, 3];

#[rstest]
#[case::packed([FIRST, SECOND, THIRD], None)]
#[case::not_in_order([THIRD, FIRST, SECOND], None)]
#[case::beside_the_type_of_trees([FIRST, SECOND, THIRD], Some("TYPE65535"))]
#[case::beside_another_type([FIRST, SECOND, THIRD], Some("TYPE65534"))]
fn a_steered_name_is_answered_by_how_its_targets_fare_now(
    #[case] addresses: [[u8; 4]; 3],
    #[case] beside: Option<&str>,
) {
    let health = Health::new();
    (0..3).for_each(|probe| health.set(ProbeId(probe), State::Up));
    let mut zones = Zones::steered_by(GeoSource::built_in(), health.clone());
    let soa = set("e.", Rtype::SOA, "ns admin 1 2 3 4 5");
    zones.apply(ZoneUpdate::PutZone { origin: origin(), soa, base: None });
    let other = beside.map(|rtype| {
        let rtype: Rtype = rtype.parse().unwrap();
        let data = Rdata::from_wire(rtype, &[0, 1, 0]).unwrap();
        RecordSet::new("www.e.".parse().unwrap(), rtype, 60, vec![data])
    });
    let sets = [failover(addresses)].into_iter().chain(other).collect();
    zones.apply(ZoneUpdate::PutNode { origin: origin(), name: "www.e.".parse().unwrap(), sets });
    zones.compile(usize::MAX);
    let around = Circumstances::plain(Sight { zones: Some(&zones), synced: true });
    let (mut fast, mut slow, query) = (Vec::new(), Vec::new(), query("www.e."));
    for right in addresses {
        respond_fast(&query, around, &mut fast).unwrap();
        respond(&query, around, &mut slow).unwrap();
        assert_eq!(fast, slow);
        assert!(fast.ends_with(&right), "{fast:?}");
        let at = addresses.iter().position(|one| *one == right).unwrap() as u64;
        health.set(ProbeId(at), State::Down);
    }
}

#[test]
fn the_name_before_leads_to_no_other_zone_than_a_search() {
    let mut zones = Zones::new();
    for origin in ["e.", "sub.e.", "f.", "deep.down.f."] {
        let origin: Name = origin.parse().unwrap();
        let soa = RecordSet { name: origin.clone(), ..set("e.", Rtype::SOA, "ns admin 1 2 3 4 5") };
        zones.apply(ZoneUpdate::PutZone { origin, soa, base: None });
    }
    zones.compile(usize::MAX);
    let origins = zones.fast().unwrap();
    let names =
        ["e.", "www.e.", "WWW.E.", "sub.e.", "a.b.sub.e.", "Sub.e.", "wwwsub.e.", "f.", "down.f.", "g."];
    let asked = names.map(|name| {
        let message = [query(name), vec![0; SLACK]].concat();
        let mut labels = Labels::EMPTY;
        labels.read(&message, question::HEADER).unwrap();
        (message, labels)
    });
    let seen = |located: Option<Located<'_>>| {
        located.map(|located| (located.origin.zone.origin().clone(), located.hash))
    };
    let mut from_before = 0;
    for (message, before) in &asked {
        let before = origins.find(message, before);
        for (message, name) in &asked {
            let near = origins.find_near(before.as_ref(), message, name);
            assert_eq!(seen(near), seen(origins.find(message, name)), "{name:?} after {before:?}");
            from_before += usize::from(before.is_some_and(|before| before.with(message, name).is_some()));
        }
    }
    assert_eq!(from_before, 9, "those of sub.e., below which no zone begins, after each other");
}
