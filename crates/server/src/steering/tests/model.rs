//! What may be answered, by definition: written down a second time as sets of possible answers, from
//! the leaves up, and compared for every state of every target.

use std::collections::BTreeSet;

use dns::{Geo, Member, ProbeId, Steering};
use proptest::prelude::*;

use super::super::*;
use super::{geo, probed};

const TARGETS: u16 = 4;
const STATES: [State; 4] = [State::Unheard, State::Unknown, State::Up, State::Down];
const COUNT: usize = STATES.len();

type Answers = BTreeSet<Vec<u16>>;
type Live<'a> = &'a dyn Fn(&Member) -> bool;

/// Every combination of states.
fn worlds() -> impl Iterator<Item = Vec<State>> {
    (0..COUNT.pow(u32::from(TARGETS)))
        .map(|number| (0..u32::from(TARGETS)).map(|at| STATES[number / COUNT.pow(at) % COUNT]).collect())
}

/// The possible answers; none where nothing is found in any round.
fn possible(tree: &Steering, states: &[State], country: &str) -> Answers {
    let of_tree: Vec<State> =
        tree.members().iter().filter_map(|member| Some(states[member.probe?.0 as usize])).collect();
    let seen = of_tree.iter().any(|state| matches!(state, State::Up | State::Down));
    let probes = |member: &Member| match member.probe.map(|probe| states[probe.0 as usize]) {
        None | Some(State::Up | State::Unheard) => true,
        Some(State::Down) => false,
        Some(State::Unknown) => !seen,
    };
    let rounds: [(Live<'_>, bool); 4] =
        [(&probes, false), (&probes, true), (&|_| true, false), (&|_| true, true)];
    let mut found = rounds.map(|(live, drained)| answers(tree, live, drained, country)).into_iter();
    found.find(|answers| !answers.is_empty()).unwrap_or_default()
}

fn answers(tree: &Steering, live: Live<'_>, drained: bool, country: &str) -> Answers {
    let inner = |one: &Steering| answers(one, live, drained, country);
    let first = |mut found: Box<dyn Iterator<Item = Answers> + '_>| {
        found.find(|answers| !answers.is_empty()).unwrap_or_default()
    };
    match tree {
        Steering::All(members) => {
            let live: BTreeSet<u16> = members.iter().filter(|one| live(one)).map(|one| one.data).collect();
            if live.is_empty() { Answers::new() } else { [live.into_iter().collect()].into() }
        }
        Steering::Weighted { choices, .. } => {
            let eligible = choices.iter().filter(|(weight, _)| *weight > 0 || drained);
            eligible.flat_map(|(_, one)| inner(one)).collect()
        }
        Steering::Failover(groups) => first(Box::new(groups.iter().map(inner))),
        Steering::Geo { choices, default } => {
            let fits = |geo: &Geo| geo.to_string() == country;
            let here = choices.iter().filter(|(geo, _)| fits(geo)).map(|(_, one)| one);
            let there = choices.iter().filter(|(geo, _)| !fits(geo)).map(|(_, one)| one);
            first(Box::new(here.chain([&**default]).chain(there).map(inner)))
        }
        Steering::Closest(choices) => {
            let fits = |place: &dns::Location| place.geo.is_some_and(|geo| geo.to_string() == country);
            let here = choices.iter().filter(|(place, _)| fits(place)).map(|(_, one)| one);
            let there = choices.iter().filter(|(place, _)| !fits(place)).map(|(_, one)| one);
            first(Box::new(here.chain(there).map(inner)))
        }
        Steering::Named(_, one) => inner(one),
    }
}

/// Small trees of all kinds over few targets, some of which nobody watches.
fn tree() -> impl Strategy<Value = Steering> {
    let member = (0..TARGETS, any::<bool>())
        .prop_map(|(data, watched)| Member { data, probe: watched.then_some(ProbeId(u64::from(data))) });
    let leaf = proptest::collection::vec(member, 0..3).prop_map(Steering::All);
    leaf.prop_recursive(3, 12, 3, |inner| {
        let some = |low| proptest::collection::vec(inner.clone(), low..4);
        let place = || proptest::sample::select(vec!["IE", "US", "BR"]);
        let weights = proptest::collection::vec((0u32..3, inner.clone()), 0..4);
        prop_oneof![
            (any::<bool>(), weights).prop_map(|(sticky, choices)| Steering::Weighted { sticky, choices }),
            some(0).prop_map(Steering::Failover),
            (proptest::collection::vec((place(), inner.clone()), 0..3), inner.clone()).prop_map(
                |(choices, default)| Steering::Geo {
                    choices: choices.into_iter().map(|(geo, one)| (geo.parse().unwrap(), one)).collect(),
                    default: Box::new(default),
                }
            ),
            proptest::collection::vec((place(), inner.clone()), 0..3).prop_map(|choices| {
                let at = |geo: &str| dns::Location { geo: geo.parse().ok(), coordinates: None };
                Steering::Closest(choices.into_iter().map(|(geo, one)| (at(geo), one)).collect())
            }),
            inner.clone().prop_map(|one| Steering::Named("n".into(), Box::new(one))),
        ]
    })
}

/// Clients in networks of which [`geo`] says the country.
const CLIENTS: [(&str, &str); 2] = [("IE", "10.1.2.3"), ("US", "10.3.2.3")];

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn what_is_chosen_is_what_may_be_answered_in_every_state_of_health(tree in tree(), draw in any::<u64>()) {
        let health = Health::new();
        let geo = SHARED.get_or_init(geo);
        let compiled = Compiled::new(&tree, geo, &health);
        let mut chosen = Chosen::new();
        for states in worlds() {
            states.iter().enumerate().for_each(|(at, state)| health.set(ProbeId(at as u64), *state));
            for (country, address) in CLIENTS {
                let possible = possible(&tree, &states, country);
                for draw in [draw, draw.rotate_left(17), !draw] {
                    compiled.choose(&Asker::at(address.parse().unwrap(), draw), &mut chosen);
                    let got = chosen.to_vec();
                    let fits = if possible.is_empty() { got.is_empty() } else { possible.contains(&got) };
                    prop_assert!(fits, "{tree:?}\n{states:?} in {country}: {got:?} is not in {possible:?}");
                    let none = tree.members().is_empty();
                    prop_assert!(none || !got.is_empty(), "an answer is never empty");
                }
            }
        }
    }
}

/// One source, so that equal lists of places are compiled once.
static SHARED: std::sync::OnceLock<GeoSource> = std::sync::OnceLock::new();

#[test]
fn every_choice_that_may_be_answered_is_drawn_at_some_time() {
    let tree = Steering::Weighted {
        sticky: false,
        choices: vec![(1, probed(&[0, 1])), (3, Steering::Failover(vec![probed(&[2]), probed(&[3])]))],
    };
    let health = Health::new();
    let compiled = Compiled::new(&tree, &geo(), &health);
    for states in worlds() {
        states.iter().enumerate().for_each(|(at, state)| health.set(ProbeId(at as u64), *state));
        let draws =
            (0..200).map(|at| super::chosen(&compiled, &Asker { draw: sticky::mix(at), ..Asker::NOBODY }));
        assert_eq!(draws.collect::<Answers>(), possible(&tree, &states, ""), "{states:?}");
    }
}
