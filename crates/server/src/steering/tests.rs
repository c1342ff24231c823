#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;

use dns::{Geo, Location, Member, Name, ProbeId, Rdata, RecordSet, Rtype, Steering};
use rstest::rstest;

use super::*;

mod model;

fn all(data: &[u16]) -> Steering {
    Steering::All(data.iter().map(|data| Member { data: *data, probe: None }).collect())
}

/// Members that are each watched by the probe of their number.
fn probed(data: &[u16]) -> Steering {
    let member = |data: &u16| Member { data: *data, probe: Some(ProbeId(u64::from(*data))) };
    Steering::All(data.iter().map(member).collect())
}

fn named(name: &str, choice: Steering) -> Steering {
    Steering::Named(name.into(), Box::new(choice))
}

fn weighted(sticky: bool, weights: &[u32]) -> Steering {
    let choices = weights.iter().enumerate();
    let choices =
        choices.map(|(at, weight)| (*weight, named(&format!("c{at}"), all(&[at as u16])))).collect();
    Steering::Weighted { sticky, choices }
}

fn compiled(steering: &Steering) -> Compiled {
    Compiled::new(steering, &GeoSource::built_in(), &Health::new())
}

/// Where networks are that the registries gave to nobody.
fn geo() -> GeoSource {
    let networks =
        [("10.1.0.0/16", "IE"), ("10.2.0.0/16", "GEO-EU"), ("10.3.0.0/16", "US"), ("fd01::/16", "IE")];
    let read = |(network, geo): (&str, &str)| (network.parse().unwrap(), geo.parse().unwrap());
    GeoSource::new(networks.map(read).to_vec(), None)
}

fn asker(address: &str) -> Asker {
    Asker::at(address.parse().unwrap(), 0)
}

fn chosen(compiled: &Compiled, asker: &Asker) -> Vec<u16> {
    let mut chosen = Chosen::new();
    compiled.choose(asker, &mut chosen);
    chosen.to_vec()
}

/// How often each first position was chosen by these askers.
fn counts(compiled: &Compiled, askers: impl Iterator<Item = Asker>) -> BTreeMap<u16, f64> {
    let mut counts = BTreeMap::new();
    let mut chosen = Chosen::new();
    for asker in askers {
        compiled.choose(&asker, &mut chosen);
        assert_eq!(chosen.len(), 1);
        *counts.entry(chosen[0]).or_default() += 1.0;
    }
    counts
}

fn assert_shares(counts: &BTreeMap<u16, f64>, weights: &[u32]) {
    let (all, sum) =
        (counts.values().sum::<f64>(), weights.iter().map(|weight| f64::from(*weight)).sum::<f64>());
    for (at, weight) in weights.iter().enumerate() {
        let share = f64::from(*weight) / sum;
        let got = counts.get(&(at as u16)).copied().unwrap_or(0.0);
        let error = (all * share * (1.0 - share)).sqrt();
        assert!((got - all * share).abs() <= 3.0 * error, "{at} of {weights:?}: {got} of {all}");
    }
}

const DRAWS: u64 = 100_000;

/// One asker in each of many networks, from 16.0.0.0 on.
fn networks() -> impl Iterator<Item = Asker> {
    let address = |at: u32| std::net::Ipv4Addr::from_bits((16 << 24) + (at << 8) + 7);
    (0..DRAWS as u32).map(move |at| Asker::at(address(at).into(), 0))
}

#[rstest]
#[case(&[80, 20])]
#[case(&[1, 1, 1])]
#[case(&[120, 0])]
#[case(&[1, 0, 1000])]
#[case(&[u32::MAX, u32::MAX])]
fn shares_are_those_of_the_weights(#[case] weights: &[u32]) {
    // A fixed sequence that is spread evenly, as a generator's is.
    let draws = (0..DRAWS).map(|at| Asker { draw: sticky::mix(at ^ 0x5eed), ..Asker::NOBODY });
    assert_shares(&counts(&compiled(&weighted(false, weights)), draws), weights);
    assert_shares(&counts(&compiled(&weighted(true, weights)), networks()), weights);
}

/// From which choice to which clients move between two trees, and how many.
fn moves(before: &Steering, after: &Steering) -> BTreeMap<(u16, u16), u64> {
    let (before, after) = (compiled(before), compiled(after));
    let mut moves = BTreeMap::new();
    for asker in networks() {
        let (from, to) = (chosen(&before, &asker)[0], chosen(&after, &asker)[0]);
        if from != to {
            *moves.entry((from, to)).or_default() += 1;
        }
    }
    moves
}

#[test]
fn a_changed_weight_moves_only_the_share_that_must_move() {
    let grown = moves(&weighted(true, &[50, 30, 20]), &weighted(true, &[50, 80, 20]));
    assert!(grown.keys().all(|(_, to)| *to == 1), "{grown:?}");
    // The share of the second grows from 30 to 53.3 of 100.
    let moved: u64 = grown.values().sum();
    assert!(moved.abs_diff(23_333) < 500, "{moved}");
    let drained = moves(&weighted(true, &[50, 30, 20]), &weighted(true, &[50, 0, 20]));
    assert!(drained.keys().all(|(from, _)| *from == 1), "{drained:?}");
    let scaled = moves(&weighted(true, &[50, 30, 20]), &weighted(true, &[100, 60, 40]));
    assert_eq!(scaled, BTreeMap::new());
}

#[test]
fn a_choice_that_goes_leaves_the_clients_of_the_others_where_they_are() {
    let before = weighted(true, &[1, 1, 1]);
    let after = Steering::Weighted {
        sticky: true,
        choices: vec![(1, named("c1", all(&[1]))), (1, named("c2", all(&[2])))],
    };
    let moves = moves(&before, &after);
    assert!(moves.keys().all(|(from, _)| *from == 0), "{moves:?}");
}

#[test]
fn a_sticky_client_moves_off_a_dead_choice_and_back() {
    let health = Health::new();
    let choices = (0..3).map(|at| (1, probed(&[at]))).collect();
    let tree = Compiled::new(&Steering::Weighted { sticky: true, choices }, &geo(), &health);
    (0..3).for_each(|probe| health.set(ProbeId(probe), State::Up));
    let before: Vec<u16> = networks().take(300).map(|asker| chosen(&tree, &asker)[0]).collect();
    health.set(ProbeId(1), State::Down);
    for (asker, before) in networks().zip(&before) {
        let now = chosen(&tree, &asker)[0];
        assert!(if *before == 1 { now != 1 } else { now == *before });
    }
    health.set(ProbeId(1), State::Up);
    let after: Vec<u16> = networks().take(300).map(|asker| chosen(&tree, &asker)[0]).collect();
    assert_eq!(before, after);
}

#[test]
fn weights_below_places_and_groups_draw_independently() {
    let pair = |first: u16| Steering::Weighted {
        sticky: false,
        choices: vec![(1, all(&[first])), (1, all(&[first + 1]))],
    };
    let tree = Steering::Weighted { sticky: false, choices: vec![(1, pair(0)), (1, pair(2))] };
    let draws = (0..DRAWS).map(|at| Asker { draw: sticky::mix(at), ..Asker::NOBODY });
    assert_shares(&counts(&compiled(&tree), draws), &[1, 1, 1, 1]);
}

#[rstest]
#[case("10.1.2.3", &[0], 16)]
#[case("10.2.2.3", &[1], 16)]
#[case("10.3.2.3", &[3], 16)]
#[case("127.0.0.1", &[3], 1)]
#[case("fd01::1", &[0], 16)]
#[case("fd02::1", &[3], 48)]
#[case("193.1.1.1", &[0], 16)]
fn a_client_gets_its_country_then_its_continent_then_the_default(
    #[case] client: &str,
    #[case] wanted: &[u16],
    #[case] most_bits: u8,
) {
    let place = |text: &str| text.parse::<Geo>().unwrap();
    let choices = vec![(place("IE"), all(&[0])), (place("GEO-EU"), all(&[1])), (place("GEO-AF"), all(&[2]))];
    let tree = Steering::Geo { choices, default: Box::new(all(&[3])) };
    let tree = Compiled::new(&tree, &geo(), &Health::new());
    let mut got = Chosen::new();
    let bits = tree.choose(&asker(client), &mut got);
    assert_eq!(&*got, wanted);
    assert!(bits >= most_bits.min(16) || client == "127.0.0.1", "{client} looked at {bits} bits");
}

#[test]
fn the_nearest_live_choice_answers() {
    let at = |geo: &str| Location { geo: geo.parse().ok(), coordinates: None };
    let health = Health::new();
    let tree =
        Steering::Closest(vec![(at("US"), probed(&[0])), (at("IE"), probed(&[1])), (at("DE"), probed(&[2]))]);
    let tree = Compiled::new(&tree, &geo(), &health);
    (0..3).for_each(|probe| health.set(ProbeId(probe), State::Up));
    assert_eq!(chosen(&tree, &asker("10.1.0.1")), [1]);
    health.set(ProbeId(1), State::Down);
    assert_eq!(chosen(&tree, &asker("10.1.0.1")), [2], "the same continent");
    health.set(ProbeId(2), State::Down);
    assert_eq!(chosen(&tree, &asker("10.1.0.1")), [0]);
    health.set(ProbeId(0), State::Down);
    assert_eq!(chosen(&tree, &asker("10.1.0.1")), [1], "all down is all up");
}

#[test]
fn a_never_seen_target_counts_as_up_until_another_has_been_seen_up() {
    let health = Health::new();
    let tree = Compiled::new(&Steering::Failover(vec![probed(&[0]), probed(&[1])]), &geo(), &health);
    health.set(ProbeId(0), State::Unknown);
    assert_eq!(chosen(&tree, &Asker::NOBODY), [0]);
    health.set(ProbeId(1), State::Up);
    assert_eq!(chosen(&tree, &Asker::NOBODY), [1]);
    health.set(ProbeId(1), State::Down);
    assert_eq!(chosen(&tree, &Asker::NOBODY), [0], "nothing is up, so all are");
    health.slot(ProbeId(1)).set_fallen(Fall { at: 1, span: 0 });
    assert_eq!(chosen(&tree, &Asker::NOBODY), [1], "the last that was usable");
}

#[test]
fn a_start_moves_nobody_whoever_is_heard_of_first() {
    let health = Health::new();
    let tree = Compiled::new(&Steering::Failover(vec![probed(&[0]), probed(&[1])]), &geo(), &health);
    health.set(ProbeId(1), State::Up);
    assert_eq!(chosen(&tree, &Asker::NOBODY), [0]);
}

#[test]
fn where_all_are_down_the_last_usable_set_answers() {
    let health = Health::new();
    let fall = |probe, at, span| health.slot(ProbeId(probe)).set_fallen(Fall { at, span });
    let ordered = Compiled::new(&Steering::Failover(vec![probed(&[0]), probed(&[1, 2])]), &geo(), &health);
    let all_of_them = Compiled::new(&probed(&[0, 1, 2]), &geo(), &health);
    fall(0, 1_000, 100);
    fall(1, 5_000, 100);
    fall(2, 5_080, 100);
    assert_eq!(chosen(&ordered, &Asker::NOBODY), [1, 2], "they went together, long after the first");
    assert_eq!(chosen(&all_of_them, &Asker::NOBODY), [1, 2]);
    fall(0, 4_990, 100);
    assert_eq!(chosen(&ordered, &Asker::NOBODY), [0], "all went together, so all stay as they were");
    assert_eq!(chosen(&all_of_them, &Asker::NOBODY), [0, 1, 2]);
    fall(2, 9_000, 100);
    assert_eq!(chosen(&all_of_them, &Asker::NOBODY), [2]);
}

#[test]
fn a_drained_choice_answers_only_when_all_else_is_down() {
    let health = Health::new();
    let groups = vec![
        Steering::Weighted { sticky: false, choices: vec![(0, probed(&[0])), (5, probed(&[1]))] },
        probed(&[2]),
    ];
    let tree = Compiled::new(&Steering::Failover(groups), &geo(), &health);
    (0..3).for_each(|probe| health.set(ProbeId(probe), State::Up));
    assert_eq!(chosen(&tree, &Asker::NOBODY), [1]);
    health.set(ProbeId(1), State::Down);
    assert_eq!(chosen(&tree, &Asker::NOBODY), [2], "another group comes before what is drained");
    health.set(ProbeId(2), State::Down);
    assert_eq!(chosen(&tree, &Asker::NOBODY), [0]);
    health.set(ProbeId(0), State::Down);
    assert_eq!(chosen(&tree, &Asker::NOBODY), [1], "all down is all up, and drained stays drained");
}

#[test]
fn a_large_set_is_answered_whole() {
    let data: Vec<u16> = (0..1000).rev().collect();
    let mut got = Chosen::new();
    compiled(&all(&data)).choose(&Asker::NOBODY, &mut got);
    assert_eq!(&*got, (0..1000).collect::<Vec<u16>>());
    compiled(&all(&[7, 3, 7])).choose(&Asker::NOBODY, &mut got);
    assert_eq!(&*got, [3, 7], "the room is used again, and nothing is chosen twice");
}

fn addresses(count: u8, steering: Steering) -> RecordSet {
    let name: Name = "www.example.".parse().unwrap();
    let data =
        (0..count).map(|at| Rdata::parse(Rtype::A, &format!("192.0.2.{at}"), &name).unwrap()).collect();
    RecordSet::steered(name, Rtype::A, 30, data, steering)
}

#[test]
fn a_tree_that_leads_nowhere_or_too_far_is_none() {
    let of = |steering| Compiled::of(&addresses(2, steering), &geo(), &Health::new());
    assert!(of(all(&[0, 1])).is_some());
    assert!(of(all(&[])).is_none());
    assert!(of(Steering::Failover(vec![])).is_none());
    let mut far = addresses(2, all(&[1]));
    far.data = far.data[..1].into();
    assert!(Compiled::of(&far, &geo(), &Health::new()).is_none());
}

#[test]
fn those_who_cannot_be_steered_get_the_present_answer() {
    let health = Health::new();
    let show = |steering: Steering| {
        let set = addresses(8, steering);
        let flat = present(&set, &Compiled::of(&set, &geo(), &health).unwrap());
        assert!(flat.steering.is_none() && flat.ttl == 30);
        flat.data.iter().map(|data| set.data.iter().position(|one| one == data).unwrap()).collect::<Vec<_>>()
    };
    let weights = || Steering::Weighted {
        sticky: true,
        choices: vec![(3, probed(&[4])), (0, probed(&[1])), (2, probed(&[2, 3]))],
    };
    let place = || Steering::Geo {
        choices: vec![("IE".parse().unwrap(), probed(&[0]))],
        default: Box::new(weights()),
    };
    let nearest =
        || Steering::Closest(vec![(Location::default(), probed(&[5])), (Location::default(), probed(&[6]))]);
    (0..8).for_each(|probe| health.set(ProbeId(probe), State::Up));
    assert_eq!(show(place()), [2, 3, 4], "the default, every weight above 0");
    assert_eq!(show(nearest()), [5, 6]);
    assert_eq!(show(Steering::Failover(vec![weights(), nearest()])), [2, 3, 4]);
    health.set(ProbeId(3), State::Down);
    assert_eq!(show(place()), [2, 4]);
    [2, 4].iter().for_each(|probe| health.set(ProbeId(*probe), State::Down));
    assert_eq!(show(place()), [0], "a live place before what is drained");
    assert_eq!(show(Steering::Failover(vec![weights(), nearest()])), [5, 6]);
    (0..8).for_each(|probe| health.set(ProbeId(probe), State::Down));
    assert_eq!(show(place()), [2, 3, 4]);
}

#[test]
fn an_alias_has_one_target_whatever_was_chosen() {
    let name: Name = "www.example.".parse().unwrap();
    let data = ["a.example.", "b.example."].map(|text| Rdata::parse(Rtype::CNAME, text, &name).unwrap());
    let set = RecordSet::steered(name, Rtype::CNAME, 30, data.to_vec(), all(&[0, 1]));
    let tree = Compiled::of(&set, &geo(), &Health::new()).unwrap();
    assert_eq!(present(&set, &tree).data.len(), 1);
    let mut got = Chosen::new();
    for draw in 0..2 {
        tree.choose(&Asker::NOBODY, &mut got);
        assert_eq!(&*reduced(&set, &mut got, draw).data, [data[draw as usize].clone()]);
    }
}

fn decisions(steering: &Steering, health: &Health, client: &str) -> Vec<Decision> {
    Compiled::new(steering, &geo(), health).explain(&asker(client), &mut Chosen::new()).1
}

/// A candidate: its name, its place, and marks for a weight that is not 1 and for being down.
fn candidate(one: &Candidate) -> String {
    let name = one.name.as_deref().unwrap_or("-");
    let place = one.place.map(|place| format!("@{place}")).unwrap_or_default();
    let weight = if one.weight == 1 { String::new() } else { format!("*{}", one.weight) };
    format!("{name}{place}{weight}{}", if one.live { "" } else { " down" })
}

/// The rule of a choice, its candidates, and which of them was taken.
fn choice(decision: &Decision) -> (&'static str, Vec<String>, usize) {
    let all = |candidates: &[Candidate]| candidates.iter().map(candidate).collect();
    match decision {
        Decision::Geo { candidates, taken, .. } => ("geo", all(candidates), *taken),
        Decision::Closest { candidates, taken } => ("closest", all(candidates), *taken),
        Decision::Drawn { candidates, taken } => ("drawn", all(candidates), *taken),
        Decision::Sticky { candidates, taken, .. } => ("sticky", all(candidates), *taken),
        Decision::Failover { candidates, taken } => ("failover", all(candidates), *taken),
        other => panic!("{other:?} is no choice"),
    }
}

fn choice_of(rule: &'static str, candidates: &[&str], taken: usize) -> (&'static str, Vec<String>, usize) {
    (rule, candidates.iter().map(|one| (*one).to_owned()).collect(), taken)
}

#[test]
fn every_decision_is_recorded() {
    let health = Health::new();
    let group = |sticky| Steering::Weighted {
        sticky,
        choices: vec![(80, named("stable", probed(&[0]))), (20, named("canary", probed(&[1])))],
    };
    let tree = Steering::Geo {
        choices: vec![(
            "IE".parse().unwrap(),
            named("weu", Steering::Failover(vec![probed(&[2]), group(true)])),
        )],
        default: Box::new(group(false)),
    };
    (0..3).for_each(|probe| health.set(ProbeId(probe), State::Up));
    health.set(ProbeId(2), State::Down);
    health.set(ProbeId(1), State::Down);
    let irish = decisions(&tree, &health, "10.1.2.3");
    let network = |text: &str| text.parse::<crate::Network>().unwrap();
    assert_eq!(
        irish[0],
        Decision::Client {
            address: "10.1.2.3".parse().unwrap(),
            place: Whereabouts::in_country(*b"IE"),
            origin: Origin::Network(network("10.1.0.0/16")),
        }
    );
    assert_eq!(choice(&irish[1]), choice_of("geo", &["weu@IE", "-"], 0));
    assert_eq!(choice(&irish[2]), choice_of("failover", &["group 1 down", "group 2"], 1));
    assert_eq!(choice(&irish[3]), choice_of("sticky", &["stable*80", "canary*20 down"], 0));
    let at_network =
        matches!(&irish[3], Decision::Sticky { network: it, .. } if *it == network("10.1.2.0/24"));
    assert!(at_network, "{irish:?}");
    let nowhere = decisions(&tree, &health, "192.168.0.1");
    let place = Whereabouts::default();
    let address = "192.168.0.1".parse().unwrap();
    assert_eq!(nowhere[0], Decision::Client { address, place, origin: Origin::BuiltIn });
    assert_eq!(choice(&nowhere[1]), choice_of("geo", &["weu@IE", "-"], 1));
    assert_eq!(choice(&nowhere[2]), choice_of("drawn", &["stable*80", "canary*20 down"], 0));
    (0..3).for_each(|probe| health.set(ProbeId(probe), State::Down));
    let down = decisions(&Steering::Failover(vec![probed(&[1]), probed(&[0])]), &health, "10.1.2.3");
    assert_eq!(
        down[..2],
        [(false, true), (true, true)].map(|(drained, probes)| Decision::NothingFound { drained, probes })
    );
    assert_eq!(choice(&down[2]), choice_of("failover", &["group 1", "group 2"], 0));
    let at = |geo: &str| Location { geo: geo.parse().ok(), coordinates: None };
    let nearest =
        Steering::Closest(vec![(at("US"), named("east", all(&[0]))), (at("IE"), named("weu", all(&[1])))]);
    let nearest = decisions(&nearest, &health, "10.3.0.1");
    assert_eq!(choice(&nearest[1]), choice_of("closest", &["east@US", "weu@IE"], 0));
}

#[test]
fn a_default_that_is_one_of_the_choices_is_named_by_it() {
    let geo = |text: &str| text.parse().unwrap();
    let tree = |default: &[u16]| Steering::Geo {
        choices: vec![(geo("IE"), all(&[0])), (geo("NL"), all(&[1, 2]))],
        default: Box::new(all(default)),
    };
    let same = |default: &[u16]| match &decisions(&tree(default), &Health::new(), "192.168.0.1")[1] {
        Decision::Geo { default, .. } => *default,
        other => panic!("{other:?}"),
    };
    assert_eq!(same(&[1, 2]), Some(1));
    assert_eq!(same(&[0, 1, 2]), None);
}

#[test]
fn a_fresh_draw_looks_at_no_address_and_a_sticky_one_at_its_network() {
    let mut got = Chosen::new();
    let mut bits = |tree: &Steering, client: &str, prefix: u8| {
        compiled(tree).choose(&Asker { prefix, ..asker(client) }, &mut got)
    };
    assert_eq!(bits(&weighted(false, &[1, 1]), "192.0.2.1", 32), 0);
    assert_eq!(bits(&weighted(true, &[1, 1]), "192.0.2.1", 32), 24);
    assert_eq!(bits(&weighted(true, &[1, 1]), "192.0.0.0", 16), 16);
    assert_eq!(bits(&weighted(true, &[1, 1]), "2001:db8::1", 128), 56);
    assert_eq!(bits(&all(&[0]), "192.0.2.1", 32), 0);
}
