//! Thousands of random histories: changes, faults, foreign hands and crashes at every boundary.
//!
//! Whatever happened, once the faults end the provider holds exactly what is wanted, no foreign set was
//! touched, no answer was missing that was wanted throughout, marks are exact, and another pass writes
//! nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use dns::{Name, RecordSet, Rtype};

use super::super::task::{Job, Task};
use super::super::{Known, Node, Order, Report, SetResult};
use super::fake::{Fault, Nature, leads_somewhere, set};
use super::world::{OWNER, World, name, new_zone};
use crate::marks::{Mark, corner};
use crate::{Entry, Failure, Obstacle, Reading, SetKey};

const ZONES: [&str; 2] = ["example.org", "example.net"];
const HOSTS: [&str; 5] = ["a", "b", "c", "d.e", "*"];

/// A small generator of chance, the same in every run.
pub(super) struct Chance(u64);

impl Chance {
    pub(super) fn new(seed: u64) -> Chance {
        Chance(seed)
    }

    pub(super) fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) % most as u64) as usize
    }

    pub(super) fn one_in(&mut self, most: usize) -> bool {
        self.below(most) == 0
    }

    pub(super) fn of<T: Clone>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())].clone()
    }
}

type Wanted = BTreeMap<(Name, Name), Vec<RecordSet>>;

struct Simulation {
    world: World,
    chance: Chance,
    wanted: Wanted,
    /// Sets that were ever wanted: what a status remembers where there are no marks.
    known: BTreeSet<(Name, SetKey)>,
}

impl Simulation {
    fn new(seed: u64, reading: Reading) -> Simulation {
        let mut chance = Chance(seed);
        let nature = Nature {
            reading,
            batch_size: 1 + chance.below(4),
            compares: chance.one_in(2) && reading == Reading::Zones,
            has_revision: !chance.one_in(3),
            is_shared: true,
        };
        let world = World::new(nature);
        let mut simulation = Simulation { world, chance, wanted: Wanted::new(), known: BTreeSet::new() };
        simulation.plant();
        simulation
    }

    /// The first zone is there, with somebody else's records.
    fn plant(&mut self) {
        let zone = name(ZONES[0]);
        let facts = new_zone(ZONES[0]);
        self.world.fake.plant(&zone, facts.soa);
        self.world.fake.plant(&zone, set(ZONES[0], Rtype::NS, "ns.elsewhere.example"));
        for _ in 0..self.chance.below(4) {
            let planted = self.foreign_set();
            if !self.is_taken(&zone, &planted) {
                self.world.fake.plant(&zone, planted);
            }
        }
    }

    /// A set of somebody else. Without marks, one that is as wanted would be taken for ours.
    fn foreign_set(&mut self) -> RecordSet {
        match self.world.fake.nature.reading {
            Reading::Zones => self.random_set(ZONES[0]),
            Reading::Sets => set(&self.random_name(ZONES[0]), Rtype::A, "198.51.100.1"),
        }
    }

    fn random_name(&mut self, zone: &str) -> String {
        format!("{}.{zone}", self.chance.of(&HOSTS))
    }

    fn random_set(&mut self, zone: &str) -> RecordSet {
        let at = self.random_name(zone);
        let number = self.chance.below(3);
        match self.chance.below(3) {
            0 => set(&at, Rtype::CNAME, &format!("t{number}.example.com")),
            1 => set(&at, Rtype::TXT, &format!("text {number}")),
            _ => set(&at, Rtype::A, &format!("192.0.2.{number}")),
        }
    }

    /// Whether a server would refuse a set of somebody else, or we claim its place.
    fn is_taken(&self, zone: &Name, new: &RecordSet) -> bool {
        let sets = self.world.fake.sets(zone);
        let marked =
            sets.values().filter_map(|entry| Mark::read(&entry.set, zone)).any(|mark| mark.name == new.name);
        marked || sets.keys().any(|key| key.name == new.name)
    }

    fn tell_everything(&mut self) {
        for zone in ZONES {
            self.world.order(Order::Zone(new_zone(zone)));
        }
        let nodes = self.wanted.iter().map(|((zone, at), sets)| node(zone, at, sets)).collect();
        self.world.order(Order::Nodes(nodes));
        let known =
            |(zone, key): &(Name, SetKey)| Known { zone: zone.clone(), key: key.clone(), domain: None };
        if self.world.fake.nature.reading == Reading::Sets {
            self.world.order(Order::Known(self.known.iter().map(known).collect()));
        }
        self.world.order(Order::Complete);
    }

    /// Somebody wants something else at a name.
    fn change_wish(&mut self) {
        let zone = self.chance.of(&ZONES);
        let first = self.random_set(zone);
        let mut sets = match self.chance.below(4) {
            0 => vec![],
            _ => vec![first.clone()],
        };
        if first.rtype == Rtype::A && !sets.is_empty() && self.chance.one_in(2) {
            sets.push(set(&first.name.to_string(), Rtype::TXT, "beside"));
        }
        let key = (name(zone), first.name.clone());
        self.world.order(Order::Nodes(vec![node(&key.0, &key.1, &sets)]));
        if sets.iter().all(|set| !leads_somewhere(set.rtype)) {
            self.world.fake.with(|state| state.precious.remove(&key));
        }
        self.remember(&key.0, &sets);
        self.wanted.insert(key, sets);
    }

    /// What is nobody else's at the moment counts as ours from now on.
    fn remember(&mut self, zone: &Name, sets: &[RecordSet]) {
        let keys = sets.iter().map(|set| (zone.clone(), SetKey::of(set)));
        let free =
            self.world.fake.with(|state| keys.filter(|key| !state.foreign.contains(key)).collect::<Vec<_>>());
        self.known.extend(free);
    }

    /// What stands and is wanted must go on standing, in some form, while it is wanted.
    fn mark_precious(&mut self) {
        for ((zone, at), _) in
            self.wanted.iter().filter(|(_, sets)| sets.iter().any(|set| leads_somewhere(set.rtype)))
        {
            self.world.fake.with(|state| {
                let sets = state.zones.get(zone);
                if sets
                    .is_some_and(|sets| sets.keys().any(|key| key.name == *at && leads_somewhere(key.rtype)))
                {
                    state.precious.insert((zone.clone(), at.clone()));
                }
            });
        }
    }

    /// Somebody else does something to the zone.
    fn interfere(&mut self) {
        let zone = name(ZONES[0]);
        let planted = self.random_set(ZONES[0]);
        match self.chance.below(4) {
            0 if self.world.fake.nature.compares && !self.is_taken(&zone, &planted) => {
                self.world.fake.plant(&zone, planted);
            }
            1 => self.scribble(&zone),
            2 if self.chance.one_in(4) => {
                self.world.fake.with(|state| {
                    state.precious.clear();
                    state.zones.remove(&name(ZONES[1]));
                });
            }
            _ => {}
        }
    }

    /// Somebody changes or removes something of ours.
    fn scribble(&mut self, zone: &Name) {
        let sets = self.world.fake.sets(zone);
        let corner = corner(zone).unwrap();
        let foreign = self.world.fake.with(|state| state.foreign.clone());
        let ours: Vec<&SetKey> = sets
            .keys()
            .filter(|key| {
                !key.name.is_in(&corner)
                    && key.name != *zone
                    && !foreign.contains(&(zone.clone(), (*key).clone()))
            })
            .collect();
        if ours.is_empty() {
            return;
        }
        let key = self.chance.of(&ours).clone();
        if key.rtype == Rtype::A && self.chance.one_in(2) {
            return self.world.fake.scribble(zone, set(&key.name.to_string(), Rtype::A, "203.0.113.66"));
        }
        self.world.fake.with(|state| state.precious.remove(&(zone.clone(), key.name.clone())));
        self.world.fake.remove(zone, &key);
    }

    fn random_fault(&mut self) -> Option<Fault> {
        let failure = self.chance.of(&[
            Failure::TimedOut,
            Failure::Unreachable(Obstacle::Closed),
            Failure::Server(500),
            Failure::Unreadable,
            Failure::Limited(Some(Duration::from_secs(7))),
        ]);
        match self.chance.below(12) {
            0 => Some(Fault::Before(failure)),
            1 => Some(Fault::After(failure)),
            2 => Some(Fault::Partly(self.chance.below(3), failure)),
            3 => Some(Fault::Nothing).filter(|_| self.world.fake.nature.compares),
            _ => None,
        }
    }

    /// One step of a history.
    fn step(&mut self) {
        match self.chance.below(20) {
            0 | 1 => self.change_wish(),
            2 => self.interfere(),
            3 if self.chance.one_in(3) => self.world.order(Order::Look),
            4 if self.chance.one_in(2) => self.poison(),
            5 => self.world.may_write = !self.chance.one_in(4),
            6 if self.chance.one_in(4) => self.crash(),
            _ => self.work(),
        }
        self.mark_precious();
    }

    fn poison(&mut self) {
        let zone = self.chance.of(&ZONES);
        let at = name(&self.random_name(zone));
        self.world.fake.with(|state| match state.refused.contains(&at) {
            true => state.refused.clear(),
            false => drop(state.refused.insert(at)),
        });
    }

    /// Sends a request, hears how one went, or lets time pass.
    fn work(&mut self) {
        let task = if self.chance.one_in(2) { self.world.next() } else { None };
        if let Some(task) = task {
            let fault = self.random_fault();
            if self.chance.one_in(40) {
                return self.crash();
            }
            if self.chance.one_in(10) {
                let reported = self.world.reports.len();
                self.change_wish();
                self.check_reported_under_way(&task, reported);
            }
            self.world.perform(&task, fault);
            if self.chance.one_in(40) {
                self.crash();
            }
            return;
        }
        if let Some(wake) = self.world.book.wake() {
            self.world.now = self.world.now.max(wake) + Duration::from_millis(1);
        }
    }

    /// Nothing of a set is reported as published or as absent while a write of it is under way.
    fn check_reported_under_way(&self, task: &Task, from: usize) {
        let Job::Write(writing) = &task.job else { return };
        for report in &self.world.reports[from..] {
            let Report::Set { key, result, .. } = report else { continue };
            let is_early = matches!(result, SetResult::Stands { .. } | SetResult::Absent { .. });
            let is_written = writing.batch.changes.iter().any(|change| change.key == *key);
            assert!(!is_early || !is_written, "{report:?} while {task:?} is under way");
        }
    }

    /// The process dies; another takes its place and knows nothing but the plan.
    fn crash(&mut self) {
        self.world.restart();
        self.tell_everything();
    }

    /// No more faults: it must come to rest with everything in place.
    fn finish(&mut self) {
        self.world.may_write = true;
        self.world.fake.with(|state| state.refused.clear());
        self.world.run(Duration::from_secs(200));
        self.world.order(Order::Look);
        self.world.run(Duration::from_secs(200));
        self.world.assert_no_breach();
        self.check_content();
        self.world.fake.calls();
        self.crash();
        self.world.run(Duration::from_secs(700));
        assert_eq!(self.world.fake.writes(), [], "the second pass writes nothing");
        self.world.assert_no_breach();
    }

    fn check_content(&self) {
        for zone in ZONES.map(name) {
            let sets = self.world.fake.sets(&zone);
            let foreign = self.world.fake.with(|state| state.foreign.clone());
            let is_foreign = |key: &SetKey| foreign.contains(&(zone.clone(), key.clone()));
            let mut expected: BTreeMap<SetKey, RecordSet> = BTreeMap::new();
            // Where a wish is blocked, what it would have replaced stays.
            let mut blocked: BTreeSet<Name> = BTreeSet::new();
            for set in self.wanted.iter().filter(|((of, _), _)| *of == zone).flat_map(|(_, sets)| sets) {
                let in_the_way =
                    |key: &&SetKey| key.name == set.name && is_foreign(key) && excludes(key.rtype, set.rtype);
                if !sets.keys().any(|key| in_the_way(&key)) {
                    expected.insert(SetKey::of(set), set.clone());
                } else {
                    blocked.insert(set.name.clone());
                }
            }
            expected.retain(|key, _| !blocked.contains(&key.name));
            let corner = corner(&zone).unwrap();
            let sets: BTreeMap<SetKey, Entry> =
                sets.into_iter().filter(|(key, _)| !blocked.contains(&key.name)).collect();
            let ours = sets
                .iter()
                .filter(|(key, _)| !is_foreign(key) && !key.name.is_in(&corner) && key.name != zone);
            let ours: BTreeMap<SetKey, RecordSet> =
                ours.map(|(key, entry)| (key.clone(), entry.set.clone())).collect();
            assert_eq!(ours, expected);
            if self.world.fake.nature.reading == Reading::Sets {
                continue;
            }
            let marks = sets
                .values()
                .filter_map(|entry| Mark::read(&entry.set, &zone))
                .filter(|mark| mark.name != zone && !blocked.contains(&mark.name));
            let marked: BTreeSet<SetKey> = marks
                .inspect(|mark| assert_eq!(mark.owner, OWNER))
                .flat_map(|mark| {
                    mark.types.into_iter().map(move |rtype| SetKey { name: mark.name.clone(), rtype })
                })
                .collect();
            let wanted: Vec<_> = self.wanted.values().flatten().collect();
            assert_eq!(
                marked,
                expected.keys().cloned().collect(),
                "sets {sets:?}\nforeign {foreign:?}\nwanted {wanted:?}"
            );
        }
    }
}

fn excludes(one: Rtype, other: Rtype) -> bool {
    one == other || (one == Rtype::CNAME) != (other == Rtype::CNAME)
}

fn node(zone: &Name, at: &Name, sets: &[RecordSet]) -> Node {
    let sets = sets.iter().cloned().map(Entry::from).collect();
    Node { zone: zone.clone(), name: at.clone(), sets, kept: Vec::new(), shared: Vec::new(), heir: None }
}

fn run(seed: u64, reading: Reading) {
    let mut simulation = Simulation::new(seed, reading);
    simulation.tell_everything();
    for _ in 0..120 {
        simulation.step();
    }
    simulation.finish();
}

/// `FINGERPOST_SEEDS=from..to` runs other histories than the usual.
fn run_all(reading: Reading, usual: &str) {
    run_each(usual, &format!("{reading:?} read"), |seed| run(seed, reading));
}

pub(super) fn run_each(usual: &str, kind: &str, run: impl Fn(u64) + std::panic::RefUnwindSafe) {
    let given = std::env::var("FINGERPOST_SEEDS").unwrap_or_else(|_| usual.to_owned());
    let (from, to) = given.split_once("..").unwrap();
    let seeds: std::ops::Range<u64> = from.parse().unwrap()..to.parse().unwrap();
    for seed in seeds.clone() {
        if let Err(error) = std::panic::catch_unwind(|| run(seed)) {
            eprintln!("seed {seed}");
            std::panic::resume_unwind(error);
        }
    }
    println!("counted: {} histories, {kind}", seeds.count());
}

#[test]
fn promises_5_11_12_18_20_21_22_hold_in_random_histories_with_faults_and_crashes() {
    run_all(Reading::Zones, "0..400");
}

#[test]
fn promises_5_11_18_20_21_22_hold_in_random_histories_without_marks() {
    run_all(Reading::Sets, "0..200");
}

/// A crash before and after every single request of one history converges to the same state.
#[test]
fn promise_18_a_crash_before_and_after_every_request_leads_to_the_same_state() {
    let history = |crash_at: usize, after: bool| {
        let mut simulation = Simulation::new(5, Reading::Zones);
        simulation.change_wish_to("p", &[set("p.example.org", Rtype::A, "192.0.2.1")]);
        simulation.change_wish_to("q", &[set("q.example.org", Rtype::A, "192.0.2.1")]);
        simulation.tell_everything();
        simulation.world.run(Duration::from_secs(60));
        simulation.change_wish_to("p", &[set("p.example.org", Rtype::CNAME, "x.example.com")]);
        simulation.change_wish_to("q", &[]);
        simulation.change_wish_to("r", &[set("r.example.org", Rtype::A, "192.0.2.77")]);
        let mut requests = 0;
        let mut crashed = false;
        for _ in 0..1000 {
            let Some(task) = simulation.world.next() else {
                let Some(wake) = simulation.world.book.wake().filter(|wake| *wake < Duration::from_secs(300))
                else {
                    break;
                };
                simulation.world.now = simulation.world.now.max(wake) + Duration::from_millis(1);
                continue;
            };
            requests += 1;
            if requests == crash_at && !crashed {
                crashed = true;
                if after {
                    simulation.world.perform(&task, None);
                }
                simulation.crash();
                continue;
            }
            simulation.world.perform(&task, None);
        }
        simulation.finish();
        let sets = ZONES.map(|zone| simulation.world.fake.sets(&name(zone)));
        let contents = sets.map(|sets| {
            let corner = corner(&name(ZONES[0])).unwrap();
            sets.into_values()
                .map(|entry| entry.set)
                .filter(|set| !set.name.is_in(&corner))
                .collect::<Vec<_>>()
        });
        (requests, contents)
    };
    let (requests, expected) = history(usize::MAX, false);
    assert!(requests > 10, "{requests}");
    for crash_at in 1..=requests {
        for after in [false, true] {
            assert_eq!(history(crash_at, after).1[0], expected[0], "crash at {crash_at}, after: {after}");
        }
    }
}

impl Simulation {
    fn change_wish_to(&mut self, host: &str, sets: &[RecordSet]) {
        let key = (name(ZONES[0]), name(&format!("{host}.{}", ZONES[0])));
        self.world.order(Order::Nodes(vec![node(&key.0, &key.1, sets)]));
        self.wanted.insert(key, sets.to_vec());
    }
}
