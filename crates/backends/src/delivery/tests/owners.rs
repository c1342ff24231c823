//! Several owners at one provider, each with a clock of its own, in thousands of random schedules.
//!
//! Requests are taken apart: each is sent, judged by what stands there, made, and answered, and between any two
//! of these steps the others go on. So a store without transactions loses updates as a real one does. Owners
//! crash, stall for minutes, die, come back and leave.
//!
//! What must hold at every step: an answer that an owner was told to stand, and still wants, is never missing
//! while that owner lives; nobody writes what another has alone; nobody is robbed of a name while it lives. And
//! once the faults end: everybody's records stand, and nobody else's.

mod checks;
mod events;
mod owner;
mod requests;
mod store;

use std::collections::BTreeMap;
use std::time::Duration;

use dns::{Rdata, Rtype};
use rstest::rstest;

use super::super::task::Outcome;
use super::fake::set;
use super::simulation::Chance;
use super::world::{name, new_zone};
use crate::{Entry, SetKey};
use owner::Owner;
use store::Store;

const ZONE: &str = "example.org";
const SHARED: &str = "shared.example.org";
const ALONE: &str = "alone.example.org";
const FOREIGN: &str = "foreign.example.org";
/// How long a request can be on its way.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Nobody who moved its counter so short a time ago may be robbed, whatever the clocks: 90 seconds of the fastest.
const SAFE: Duration = Duration::from_secs(78);
/// Whoever does nothing for no longer than this is not taken for dead.
const BRIEF: Duration = Duration::from_secs(35);
/// Nobody whose counter rests may be robbed who was up for so long since it met the robber: it must have looked, with
/// the slowest clock after 64 seconds, and moved its counter, although requests fail.
const AWAKE: Duration = Duration::from_secs(100);
/// Nor may anybody whose counter rests be robbed so short a time after it met the robber: 90 seconds and two looks, which
/// are a minute apart, of the fastest clock.
const RESTED: Duration = Duration::from_secs(180);
/// So long at most a shared set may be without the part of one who lives, where the store has no conditions: a round of
/// the slowest clock, and requests on their way.
const LOST: Duration = Duration::from_secs(45);

/// How far a request has come.
enum Phase {
    Sent,
    /// A write that was found to be in order, change by change.
    Judged(Vec<bool>),
    Answered(Outcome),
}

/// One owner's meeting with another.
struct Meeting {
    at: Duration,
    /// For how long the one had been up.
    awake: Duration,
}

struct Simulation {
    store: Store,
    owners: Vec<Owner>,
    now: Duration,
    chance: Chance,
    has_faults: bool,
    /// When an owner moved its counter, the last two times.
    moved: BTreeMap<String, (Duration, Duration)>,
    /// When an owner's counter, which had rested, began to move.
    roused: BTreeMap<String, Duration>,
    /// How an owner came to have a mark of what one owner has alone beside another's.
    met: BTreeMap<(String, String), Meeting>,
    /// Since when a shared set is without the part of an owner who lives.
    lost: BTreeMap<usize, Duration>,
    /// When an owner last had this heir.
    given: BTreeMap<(String, String), Duration>,
    /// When what one owner has alone was made.
    made: Duration,
    /// Who last wrote what one owner has alone.
    writer: Option<usize>,
    /// Since when who waits for it.
    waits_since: BTreeMap<String, Duration>,
    /// Who dies after so many steps.
    doomed: Option<(usize, usize)>,
}

fn address(owner: usize, number: u8) -> Rdata {
    Rdata::a([192, 0, owner as u8, number].into())
}

fn key(at: &str) -> SetKey {
    SetKey { name: name(at), rtype: Rtype::A }
}

impl Simulation {
    fn new(seed: u64) -> Simulation {
        let mut chance = Chance::new(seed);
        let facts = new_zone(ZONE);
        let sets = [facts.soa, facts.name_servers, set(FOREIGN, Rtype::A, "198.51.100.1")];
        let sets = sets.map(|set| (SetKey::of(&set), Entry::from(set))).into_iter().collect();
        let store = Store { sets, revision: 0, compares: chance.one_in(3) };
        let count = 2 + chance.below(4);
        let owners =
            (0..count).map(|number| Owner::new(number, 0.85 + 0.05 * chance.below(7) as f64)).collect();
        Simulation {
            store,
            owners,
            now: Duration::ZERO,
            chance,
            has_faults: true,
            moved: BTreeMap::new(),
            roused: BTreeMap::new(),
            met: BTreeMap::new(),
            lost: BTreeMap::new(),
            given: BTreeMap::new(),
            made: Duration::ZERO,
            writer: None,
            waits_since: BTreeMap::new(),
            doomed: None,
        }
    }

    fn is_up(&self, number: usize) -> bool {
        let owner = &self.owners[number];
        owner.book.is_some() && !owner.is_dead && owner.stalled <= self.now
    }
}

fn run(seed: u64) {
    let mut simulation = Simulation::new(seed);
    for number in 0..simulation.owners.len() {
        for at in [SHARED, ALONE] {
            if !simulation.chance.one_in(4) {
                simulation.owners[number].wants.insert(at, 1);
            }
        }
        if number == 0 || !simulation.chance.one_in(4) {
            simulation.owners[number].start(number, Duration::ZERO);
        }
    }
    for _ in 0..1500 {
        simulation.step();
    }
    simulation.finish();
}

#[test]
fn promise_14_and_takeovers_hold_in_random_histories_of_several_owners() {
    super::simulation::run_each("0..100", "several owners", run);
}

/// Two make a name at once, and the one whose write does not fit any more wrote over the other's without a look at
/// its mark.
#[test]
fn a_history_that_failed_once_holds() {
    run(3392);
}

/// Two owners that want the same name, of which the first has it and the second has not started.
fn holder(compares: bool) -> Simulation {
    let mut two = Simulation::new(7);
    (two.has_faults, two.store.compares) = (false, compares);
    two.owners.truncate(2);
    two.owners.iter_mut().for_each(|owner| owner.wants = [(ALONE, 1)].into());
    two.owners[0].start(0, two.now);
    two.go_on(Duration::from_secs(100), |_| false);
    assert!(two.store.has("owner0", ALONE) && two.store.rests("owner0"));
    two
}

/// The same, and the second waits.
fn holder_and_waiter(compares: bool) -> Simulation {
    let mut two = holder(compares);
    two.owners[1].start(1, two.now);
    two.go_on(Duration::from_secs(100), |_| false);
    assert!(two.store.has("owner0", ALONE) && second_waits(&two));
    two
}

fn second_waits(two: &Simulation) -> bool {
    two.store.mark("owner1", ALONE).is_some_and(|mark| mark.types.is_empty())
}

fn second_has_it(two: &Simulation) -> bool {
    two.store.has("owner1", ALONE) && !two.store.has("owner0", ALONE)
}

#[rstest]
fn a_holder_that_died_before_anybody_waited_is_followed(#[values(false, true)] compares: bool) {
    let mut two = holder(compares);
    two.die(0);
    two.pass(Duration::from_secs(3600));
    two.come_back(1);
    assert!(!two.go_on(Duration::from_secs(170), second_has_it), "it may be alive and look each minute");
    assert!(two.go_on(Duration::from_secs(180), second_has_it));
    two.go_on(Duration::from_secs(100), |_| false);
    assert_eq!(two.store.data(ALONE), [address(1, 1)].into());
}

#[rstest]
fn a_holder_that_dies_before_it_saw_who_waits_is_followed(#[values(false, true)] compares: bool) {
    let mut two = holder(compares);
    two.come_back(1);
    assert!(two.go_on(Duration::from_secs(20), second_waits));
    two.die(0);
    assert!(two.go_on(Duration::from_secs(350), second_has_it));
}

/// The one who comes knows the holder's counter for hours, in which it had nothing to move for.
#[rstest]
fn a_holder_that_rested_for_hours_and_lives_is_not_followed(#[values(false, true)] compares: bool) {
    let mut two = holder(compares);
    two.owners[1].wants = [(SHARED, 1)].into();
    two.come_back(1);
    two.go_on(Duration::from_secs(4 * 3600), |_| false);
    assert!(two.store.rests("owner0"), "nobody wants what it has");
    two.owners[1].wants.insert(ALONE, 1);
    two.tell(1, ALONE);
    assert!(!two.go_on(Duration::from_secs(3600), |two| !two.store.has("owner0", ALONE)));
    assert!(second_waits(&two) && !two.store.rests("owner0"));
}

#[rstest]
fn a_planned_handover_takes_a_minute_or_two_from_the_first_moment_on(#[values(false, true)] compares: bool) {
    let mut two = holder(compares);
    two.owners[0].heir = Some("owner1".to_owned());
    two.tell(0, ALONE);
    two.come_back(1);
    assert!(two.go_on(Duration::from_secs(130), second_has_it));
}

/// One that was away for so long that another followed it writes nothing more before it has looked.
#[rstest]
fn a_holder_that_comes_to_itself_after_it_was_followed_writes_nothing(#[values(false, true)] compares: bool) {
    let mut two = holder(compares);
    two.owners[0].stalled = two.now + Duration::from_secs(900);
    two.come_back(1);
    let is_followed =
        |two: &Simulation| second_has_it(two) && two.store.data(ALONE) == [address(1, 1)].into();
    assert!(two.go_on(Duration::from_secs(350), is_followed));
    two.owners[0].wants.insert(ALONE, 2);
    two.tell(0, ALONE);
    assert!(!two.go_on(Duration::from_secs(900), |two| !is_followed(two)));
    assert!(two.store.mark("owner0", ALONE).is_some_and(|mark| mark.types.is_empty()), "it waits");
}

#[rstest]
fn a_new_holder_that_dies_in_the_moment_of_the_handover_is_followed(#[values(false, true)] compares: bool) {
    let mut two = holder_and_waiter(compares);
    two.owners[0].heir = Some("owner1".to_owned());
    two.tell(0, ALONE);
    assert!(two.go_on(Duration::from_secs(100), second_has_it));
    two.die(1);
    assert!(two.go_on(Duration::from_secs(300), |two| two.store.has("owner0", ALONE)));
    two.go_on(Duration::from_secs(100), |_| false);
    assert_eq!(two.store.data(ALONE), [address(0, 1)].into());
}

#[rstest]
fn a_new_holder_that_dies_after_it_followed_a_dead_one_is_followed_by_that_when_it_is_back(
    #[values(false, true)] compares: bool,
) {
    let mut two = holder_and_waiter(compares);
    two.die(0);
    assert!(two.go_on(Duration::from_secs(300), second_has_it));
    // Long after, but within a day.
    two.go_on(Duration::from_secs(3600), |_| false);
    two.die(1);
    two.pass(Duration::from_secs(3600));
    two.come_back(0);
    assert!(two.go_on(Duration::from_secs(300), |two| two.store.has("owner0", ALONE)));
    two.go_on(Duration::from_secs(100), |_| false);
    assert_eq!(two.store.data(ALONE), [address(0, 1)].into());
}

#[rstest]
fn who_gave_a_name_away_for_good_leaves_no_mark_and_no_counter_behind(#[values(false, true)] compares: bool) {
    let mut two = holder_and_waiter(compares);
    two.owners[0].wants.clear();
    two.tell(0, ALONE);
    assert!(two.go_on(Duration::from_secs(300), second_has_it));
    two.go_on(Duration::from_secs(300), |_| false);
    let owners: Vec<String> = two.store.marks(ALONE).map(|mark| mark.owner).collect();
    assert_eq!(owners, ["owner1"]);
    assert!(!two.store.has_counter("owner0") && two.store.rests("owner1"));
    assert_eq!(two.store.data(ALONE), [address(1, 1)].into());
}

#[test]
fn one_that_waits_and_is_gone_is_forgotten_after_a_day_and_not_before() {
    let mut two = holder_and_waiter(true);
    two.die(1);
    two.go_on(Duration::from_secs(20 * 60 * 60), |_| false);
    assert!(two.store.mark("owner1", ALONE).is_some() && !two.store.rests("owner0"));
    two.go_on(Duration::from_secs(10 * 60 * 60), |_| false);
    assert!(two.store.mark("owner1", ALONE).is_none() && two.store.rests("owner0"));
}
