#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use dns::{Geo, Location, Name, ProbeId, Rdata, RecordSet, Rtype};
use rstest::rstest;

use super::*;
use crate::probe::{Certificate, ProbeQuestion, ProbeSpec, ProbeTarget};

fn all(data: &[u16]) -> Steering {
    let member = |data: &u16| Member { data: *data, probe: Some(ProbeId(u64::from(*data))) };
    Steering::All(data.iter().map(member).collect())
}

fn named(name: &str, data: &[u16]) -> Steering {
    Steering::Named(name.into(), Box::new(all(data)))
}

fn failover() -> Steering {
    Steering::Failover(vec![named("weu", &[0, 1]), named("neu", &[2])])
}

fn weighted(weights: [u32; 2]) -> Steering {
    let choices = vec![(weights[0], named("weu", &[0])), (weights[1], named("neu", &[1]))];
    Steering::Weighted { sticky: true, choices }
}

fn closest() -> Steering {
    let at = Location::default();
    Steering::Closest(vec![(at, named("weu", &[0])), (at, named("neu", &[1]))])
}

fn places() -> Steering {
    let choices = vec![(Geo::Country(*b"IE"), weighted([1, 1]))];
    Steering::Geo { choices, default: Box::new(named("neu", &[2])) }
}

#[rstest]
#[case(all(&[0, 1, 2]), &[1], &[0, 2])]
#[case(failover(), &[], &[0, 1])]
#[case(failover(), &[0], &[1])]
#[case(failover(), &[0, 1], &[2])]
#[case(failover(), &[0, 1, 2], &[])]
#[case(weighted([20, 80]), &[], &[1, 0])]
#[case(weighted([20, 80]), &[1], &[0])]
#[case(weighted([1, 0]), &[], &[0])]
#[case(weighted([1, 0]), &[0], &[1])]
#[case(closest(), &[0], &[1])]
#[case(places(), &[], &[2])]
#[case(places(), &[2], &[0, 1])]
fn what_is_alive_stands_for_the_tree(
    #[case] steering: Steering,
    #[case] down: &[u16],
    #[case] standing: &[u16],
) {
    let tree = pruned(&steering, &|member| !down.contains(&member.data));
    assert_eq!(tree.map(|tree| flat(&tree)).unwrap_or_default(), standing);
}

/// A probe that the plain provider can do; its target is a number.
fn probe(number: u16) -> ProbeSpec {
    let page =
        ProbeQuestion::Page { tls: None, host: "a.test".into(), path: "/".into(), codes: vec![(200, 200)] };
    ProbeSpec {
        target: ProbeTarget::Address([192, 0, 2, number as u8].into()),
        port: 80,
        question: page,
        interval: 5_000,
        timeout: 2_000,
        failures: 1,
        successes: 1,
    }
}

fn page(tls: Option<Certificate>, codes: &[(u16, u16)]) -> ProbeQuestion {
    ProbeQuestion::Page { tls, host: "a.test".into(), path: "/".into(), codes: codes.to_vec() }
}

/// A provider that chooses, knows places and checks every 5 s, as all are checked alike.
const PLAIN: Abilities = Abilities {
    chooses: true,
    knows_places: true,
    checks: Checks {
        orders_connections: false,
        is_told_codes: false,
        is_told_failures: false,
        interval: CheckInterval::Fixed(5_000),
    },
    room: Room::ENDLESS,
};

/// One that checks as exactly as can be said.
const EXACT: Abilities = Abilities {
    checks: Checks {
        orders_connections: true,
        is_told_codes: true,
        is_told_failures: true,
        interval: CheckInterval::StepsOf(5_000),
    },
    ..PLAIN
};

/// Three addresses that are steered so.
fn steered(steering: &Steering) -> RecordSet {
    let data = (0..3).map(|last| Rdata::a([192, 0, 2, last].into())).collect();
    RecordSet::steered(Name::parse("www.test").unwrap(), Rtype::A, 30, data, steering.clone())
}

fn can(steering: &Steering, abilities: &Abilities, probe: &ProbeSpec) -> bool {
    expresses(&steered(steering), &|_| Some(probe), abilities)
}

#[rstest]
#[case(|_: &mut ProbeSpec| {}, true, true)]
#[case(|probe: &mut ProbeSpec| probe.failures = 3, false, true)]
#[case(|probe: &mut ProbeSpec| probe.successes = 2, false, false)]
#[case(|probe: &mut ProbeSpec| probe.interval = 10_000, false, true)]
#[case(|probe: &mut ProbeSpec| probe.interval = 7_000, false, false)]
#[case(|probe: &mut ProbeSpec| probe.interval = 500, false, false)]
#[case(|probe: &mut ProbeSpec| probe.timeout = 1_500, false, false)]
#[case(|probe: &mut ProbeSpec| probe.question = page(None, &[(200, 299)]), false, false)]
#[case(|probe: &mut ProbeSpec| probe.question = page(None, &[(204, 204)]), false, true)]
#[case(|probe: &mut ProbeSpec| probe.question = page(Some(Certificate::Verified), &[(200, 200)]), false, false)]
#[case(|probe: &mut ProbeSpec| probe.question = page(Some(Certificate::Any), &[(200, 200)]), true, true)]
#[case(|probe: &mut ProbeSpec| probe.question = ProbeQuestion::Connect, false, true)]
#[case(|probe: &mut ProbeSpec| probe.target = ProbeTarget::Host(dns::Name::parse("lb.test").unwrap()), false, false)]
fn a_provider_is_left_what_it_can_do(
    #[case] change: fn(&mut ProbeSpec),
    #[case] by_plain: bool,
    #[case] by_exact: bool,
) {
    let mut probe = probe(1);
    change(&mut probe);
    assert_eq!([can(&failover(), &PLAIN, &probe), can(&failover(), &EXACT, &probe)], [by_plain, by_exact]);
}

#[test]
fn a_port_in_one_group_needs_no_order() {
    let probe = ProbeSpec { question: ProbeQuestion::Connect, ..probe(1) };
    assert!(can(&all(&[0, 1]), &PLAIN, &probe));
}

#[test]
fn a_draw_is_expressed_once_it_is_pruned() {
    let drawn = weighted([80, 20]);
    assert!(!can(&drawn, &EXACT, &probe(1)), "it has no health check of its own");
    assert!(can(&pruned(&drawn, &|_| true).unwrap(), &PLAIN, &probe(1)));
}

#[test]
fn who_does_not_choose_or_knows_no_places_expresses_neither() {
    let one = |knows_places, chooses| Abilities { chooses, knows_places, ..EXACT };
    let by = |steering: &Steering, abilities| expresses(&steered(steering), &|_| None, &abilities);
    let near = pruned(&closest(), &|_| true).unwrap();
    assert!(by(&near, one(true, true)));
    assert!(!by(&near, one(false, true)));
    assert!(!by(&near, one(true, false)));
    assert!(!by(&near, Abilities::NONE));
    assert!(!by(&pruned(&places(), &|_| true).unwrap(), one(false, true)));
}

#[test]
fn probes_that_ask_differently_are_not_one_check() {
    let specs = [probe(1), ProbeSpec { port: 81, ..probe(2) }];
    let by_number = |id: ProbeId| specs.get(id.0 as usize);
    assert!(!expresses(&steered(&all(&[0, 1])), &by_number, &EXACT));
    assert!(expresses(&steered(&all(&[0])), &by_number, &EXACT));
}

#[test]
fn a_provider_without_room_for_a_set_is_not_left_it() {
    let cramped = Abilities { room: Room(|set, _| set.data.len() < 3), ..EXACT };
    assert!(can(&failover(), &EXACT, &probe(1)));
    assert!(!can(&failover(), &cramped, &probe(1)));
}
