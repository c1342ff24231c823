#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use backends::Entry;
use backends::delivery::Written;
use backends::powerdns::Version;
use dns::{Member, Rdata, Steering};

use super::*;

const OLD: Dialect = Dialect::Lua(Version { major: 4, minor: 7 });

fn class() -> Steered {
    Steered { dialect: OLD, ..Steered::default() }
}

fn name() -> Name {
    Name::parse("www.example.org").unwrap()
}

fn zone() -> Name {
    Name::parse("example.org").unwrap()
}

fn plain() -> RecordSet {
    let data = [1, 2].map(|last| Rdata::a([192, 0, 2, last].into()));
    RecordSet::new(name(), Rtype::A, 30, data.to_vec())
}

fn steered() -> RecordSet {
    let one = |data| (1, Steering::All(vec![Member { data, probe: None }]));
    let steering = Steering::Weighted { sticky: true, choices: vec![one(0), one(1)] };
    RecordSet { steering: Some(steering.into()), ..plain() }
}

fn node(sets: &[RecordSet]) -> Node {
    let sets = sets.iter().cloned().map(Entry::from).collect();
    Node { zone: zone(), name: name(), sets, kept: Vec::new(), shared: Vec::new(), heir: None }
}

fn report(rtype: Rtype, result: SetResult) -> Report {
    Report::Set { zone: zone(), key: SetKey { name: name(), rtype }, result }
}

fn stands(set: &RecordSet) -> SetResult {
    SetResult::Stands { set: set.clone(), written: Some(Written::Created), is_shared: false }
}

#[test]
fn what_stands_as_lua_is_told_as_the_set_itself() {
    let mut class = class();
    let told = class.tell(node(&[steered()]), true, &|_| None);
    let lua = told.sets[0].set.clone();
    assert_eq!((told.sets.len(), lua.rtype), (1, STEERED));
    assert_eq!(class.hear(report(STEERED, stands(&lua))), [report(Rtype::A, stands(&steered()))]);
    assert!(
        class.hear(report(Rtype::A, SetResult::Absent { deleted: true })).is_empty(),
        "LUA speaks for it"
    );
    let older = RecordSet { ttl: 31, ..lua };
    assert!(class.hear(report(STEERED, stands(&older))).is_empty(), "that was wanted before");
    let foreign = SetResult::Foreign { owner: None };
    assert_eq!(class.hear(report(STEERED, foreign.clone())), [report(Rtype::A, foreign)]);
}

#[test]
fn a_set_that_is_plain_again_speaks_for_itself() {
    let mut class = class();
    class.tell(node(&[steered()]), true, &|_| None);
    let told = class.tell(node(&[plain()]), false, &|_| None);
    assert_eq!(told, node(&[plain()]));
    let gone = SetResult::Absent { deleted: true };
    assert!(class.hear(report(STEERED, gone)).is_empty());
    assert_eq!(class.hear(report(Rtype::A, stands(&plain()))), [report(Rtype::A, stands(&plain()))]);
}

#[test]
fn a_steered_set_without_a_choice_stands_as_a_plain_one() {
    let mut class = class();
    let members = [0, 1].map(|data| Member { data, probe: None }).to_vec();
    let all = RecordSet { steering: Some(Steering::All(members).into()), ..plain() };
    let told = class.tell(node(std::slice::from_ref(&all)), true, &|_| None);
    assert_eq!(told, node(&[plain()]));
    assert_eq!(class.hear(report(Rtype::A, stands(&plain()))), [report(Rtype::A, stands(&all))]);
}

#[test]
fn records_that_stand_for_other_sets_and_are_the_same_are_reported_again() {
    let mut class = Steered::default();
    let all = RecordSet {
        steering: Some(Steering::All([0, 1].map(|data| Member { data, probe: None }).to_vec()).into()),
        ..plain()
    };
    for same in [steered(), steered()] {
        assert_eq!(class.tell(node(&[same]), true, &|_| None), node(&[plain()]));
        assert!(class.reinterpreted().is_empty());
    }
    assert_eq!(class.tell(node(std::slice::from_ref(&all)), true, &|_| None), node(&[plain()]));
    assert_eq!(class.reinterpreted(), [(zone(), name())]);
    assert!(class.reinterpreted().is_empty(), "once");
    assert_eq!(class.hear(report(Rtype::A, stands(&plain()))), [report(Rtype::A, stands(&all))]);
}

#[test]
fn a_set_is_gone_when_what_stood_for_it_is() {
    let mut class = class();
    class.tell(node(&[steered()]), true, &|_| None);
    assert_eq!(class.tell(node(&[]), false, &|_| None), node(&[]));
    let gone = SetResult::Absent { deleted: true };
    assert_eq!(class.hear(report(STEERED, gone.clone())), [report(Rtype::A, gone.clone())]);
    assert!(class.hear(report(STEERED, gone)).is_empty(), "once");
}

#[test]
fn what_stands_stays_until_the_server_said_what_it_can_do() {
    let mut class = Steered { is_open: true, ..Steered::default() };
    let told = class.tell(node(&[plain()]), true, &|_| None);
    assert_eq!((told.sets.len(), told.kept), (0, vec![Rtype::A, Rtype::AAAA, STEERED]));
    let unsteered = class.tell(node(&[plain()]), false, &|_| None);
    assert_eq!(unsteered, node(&[plain()]), "which does not depend on that");
    assert!(class.decided().is_empty());
    class.decide(OLD);
    assert_eq!(class.decided(), [(zone(), name())]);
    assert!(class.decided().is_empty());
}

#[test]
fn a_server_of_another_version_is_told_again_what_it_steers() {
    let mut class = class();
    class.tell(node(&[steered()]), true, &|_| None);
    class.decide(OLD);
    assert!(class.decided().is_empty(), "it says what it said before");
    class.decide(Dialect::Lua(Version { major: 5, minor: 0 }));
    assert_eq!(class.decided(), [(zone(), name())]);
}

#[test]
fn what_is_steered_stands_plainly_where_it_cannot_be_told() {
    let mut class = Steered::default();
    assert_eq!(class.tell(node(&[steered()]), true, &|_| None), node(&[plain()]));
    assert_eq!(class.hear(report(Rtype::A, stands(&plain()))), [report(Rtype::A, stands(&steered()))]);
}
