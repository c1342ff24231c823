//! The promise: bringing the plan up to date gives what planning from nothing gives.

use proptest::prelude::*;

use super::dump::{Dump, dump, served_counts};
use super::world::{Model, Step};
use crate::{Change, Planner, Setting};

fn planner(setting: &Setting) -> Planner {
    let mut planner = match setting {
        Setting::Folders => Planner::new(vec!["west".to_owned(), "north".to_owned()]),
        setting => Planner::in_cluster("west".to_owned(), setting.clone()),
    };
    // Room for one host or two, so that routes are turned away and let in again all the time.
    planner.host_limit = 60;
    planner.apply(vec![Change::Today(20260102)]);
    planner
}

fn steps() -> impl Strategy<Value = Vec<Vec<Step>>> {
    let numbers = (any::<u8>(), any::<u8>(), 0u8..6, any::<u8>(), any::<u8>());
    let step =
        numbers.prop_map(|(cluster, kind, which, shape, what)| Step { cluster, kind, which, shape, what });
    prop::collection::vec(prop::collection::vec(step, 1..6), 1..9)
}

/// Drives a sequence of batches through one planner and compares it with a fresh one at the end.
fn check(setting: &Setting, batches: &[Vec<Step>]) -> Result<(), TestCaseError> {
    let clusters = if *setting == Setting::Folders { 2 } else { 1 };
    let (mut model, mut running) = (Model::new(clusters), planner(setting));
    let mut followed = dump(&running);
    // The lease comes and goes; where there is none to hold, that means nothing.
    let leads = |batch: &[Step]| Change::Leading(batch.len() != 3);
    for batch in batches {
        let outcome = model.outcome(&running, batch);
        let changes = batch.iter().map(|step| model.step(*step));
        let mut changes: Vec<Change> = changes.chain([leads(batch)]).chain(outcome).collect();
        changes.extend(model.probed(&running, batch));
        let delta = running.apply(changes);
        model.forget_targets(&running);
        model.forget_outcomes(|child| running.child_fingerprint(child).is_none());
        followed.follow(&running, &delta);
    }
    let mut fresh = planner(setting);
    let serials = running.serials().into_iter().map(|(origin, saved)| Change::Serial(origin, saved));
    let lease = batches.last().map(|batch| leads(batch));
    let memory = running.remembered().into_iter();
    let memory = memory.map(|(cluster, object, memory)| Change::Remembered(cluster, object, memory));
    let memory: Vec<Change> = memory.collect();
    let known = lease.into_iter().chain(serials).chain(memory.clone());
    fresh.apply(known.chain(model.everything()).collect());
    if matches!(setting, Setting::Server { .. }) {
        let mut operator = planner(&Setting::Operator);
        operator.apply(memory.into_iter().chain(model.everything()).collect());
        prop_assert_eq!(
            served_counts(&operator),
            served_counts(&running),
            "an operator and a server have other hashes"
        );
    }
    same("the running plan and the plan from nothing", &dump(&running), &dump(&fresh))?;
    same("the plan as followed by deltas and as it stands", &followed, &dump(&running))
}

fn same(what: &str, one: &Dump, other: &Dump) -> Result<(), TestCaseError> {
    prop_assert!(one == other, "{what} differ:\n{}", one.differences(other));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_incremental_plan_equals_the_full_plan(batches in steps()) {
        check(&Setting::Folders, &batches)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_incremental_plan_equals_the_full_plan_in_an_operator(batches in steps()) {
        check(&Setting::Operator, &batches)?;
    }

    #[test]
    fn the_incremental_plan_equals_the_full_plan_in_a_server(batches in steps(), some in any::<bool>()) {
        let classes = if some { vec!["two".to_owned(), "three".to_owned()] } else { Vec::new() };
        check(&Setting::Server { classes }, &batches)?;
    }
}

#[test]
fn a_claim_of_the_name_servers_that_a_zone_has_anyway_is_told() {
    let step = |kind, which, shape, what| Step { cluster: 0, kind, which, shape, what };
    let batches = [vec![step(2, 2, 133, 11), step(9, 2, 32, 163)], vec![step(1, 0, 137, 11)]];
    for setting in [Setting::Folders, Setting::Operator, Setting::Server { classes: Vec::new() }] {
        check(&setting, &batches).unwrap();
    }
}
