//! What Placements remember, share and deliver, step by step.

use std::sync::Arc;

use dns::{Name, ProbeId, Rtype};
use serde_json::{Value, json};

use crate::{
    BackendKind, Change, ClusterId, Delivered, DeliveryResult, ObjectRef, Planner, RegionHealth,
    TargetHealth, TargetState, WayStep, set_hash,
};

const CLASS: &str = "edge";

fn put(manifest: Value) -> Change {
    let text = |key: &str| manifest[key].as_str().unwrap().to_owned();
    let api::Lookup::Known(kind) = api::Kind::lookup(&text("apiVersion"), &text("kind")) else { panic!() };
    Change::Put(ClusterId(0), Arc::new(api::decode(kind, manifest).unwrap()))
}

fn class() -> Change {
    put(json!({
        "apiVersion": "dns.homelab.mortenolsen.pro/v1alpha1", "kind": "DNSClass", "metadata": { "name": CLASS },
        "spec": { "server": "http://192.0.2.53:7100" },
    }))
}

/// A Placement of two regions at the class.
fn placement(name: &str, mode: &str) -> Change {
    put(json!({
        "apiVersion": "fingerpost.dev/v1alpha1", "kind": "Placement",
        "metadata": { "name": name, "namespace": "shop" },
        "spec": {
            "hostname": format!("{name}.example.org"), "mode": mode, "dnsClassRef": { "name": CLASS },
            "healthCheck": { "protocol": "TCP", "port": 443 },
            "regions": [
                { "name": "weu", "addresses": ["192.0.2.1"] },
                { "name": "neu", "addresses": ["192.0.2.2"] },
            ],
        },
    }))
}

fn planner(changes: Vec<Change>) -> Planner {
    let mut planner = Planner::new(vec!["west".to_owned()]);
    planner.apply(vec![Change::Today(20_260_101)]);
    planner.apply(changes);
    planner
}

/// The probe of `192.0.2.<number>`.
fn probe(planner: &Planner, number: u8) -> ProbeId {
    let target = crate::ProbeTarget::Address([192, 0, 2, number].into());
    planner.probes().find(|(_, spec)| spec.target == target).unwrap().0
}

fn health(planner: &Planner, number: u8, state: TargetState) -> Change {
    let seen_up = state == TargetState::Up || state == TargetState::Down;
    let health = TargetHealth { state, since: 0, reason: "connection refused".into(), seen_up };
    Change::Health(probe(planner, number), health)
}

/// What the class is to hold at a name.
fn given(planner: &Planner, name: &str) -> Vec<String> {
    let [zone, name] =
        ["example.org".to_owned(), format!("{name}.example.org")].map(|one| Name::parse(&one).unwrap());
    let wanted = planner.wanted(CLASS, &zone, &name).into_iter().filter_map(|wanted| wanted.set);
    wanted.flat_map(|set| set.data.iter().map(ToString::to_string).collect::<Vec<_>>()).collect()
}

#[test]
fn a_health_change_redelivers_the_names_whose_members_moved_and_no_others() {
    let mut planner =
        planner(vec![class(), placement("all", "active-active"), placement("first", "active-hotstandby")]);
    planner.apply(vec![health(&planner, 1, TargetState::Up), health(&planner, 2, TargetState::Up)]);
    let delta = planner.apply(vec![health(&planner, 2, TargetState::Down)]);
    let names: Vec<String> = delta.deliveries.iter().map(|(_, name)| name.undotted()).collect();
    assert_eq!(names, ["all.example.org"]);
    assert_eq!(
        (given(&planner, "all"), given(&planner, "first")),
        (vec!["192.0.2.1".into()], vec!["192.0.2.1".into()])
    );
    assert!(delta.nodes.is_empty() && delta.zones.is_empty(), "the plan itself does not move");
    assert_eq!(delta.statuses.len(), 2, "both say how their region is");
}

#[test]
fn a_report_counts_no_more_once_other_data_was_wanted_even_if_the_same_is_wanted_again() {
    let mut planner = planner(vec![class(), placement("first", "active-hotstandby")]);
    planner.apply(vec![health(&planner, 1, TargetState::Up), health(&planner, 2, TargetState::Up)]);
    let [zone, name] = ["example.org", "first.example.org"].map(|one| Name::parse(one).unwrap());
    let first = set_hash(planner.wanted(CLASS, &zone, &name)[0].set.as_ref().unwrap());
    let report = || {
        let (class, zone, name, rtype) = (CLASS.into(), zone.clone(), name.clone(), Rtype::A);
        let result = DeliveryResult::Stands { hash: first, written: None };
        Change::Delivered(Delivered { class, zone, name, rtype, result })
    };
    let object = ObjectRef { kind: api::Kind::Placement, namespace: "shop".into(), name: "first".into() };
    let ready = |planner: &Planner| {
        let status = planner.status(ClusterId(0), &object).unwrap();
        let conditions = status["conditions"].as_array().unwrap();
        let ready = conditions.iter().find(|condition| condition["type"] == "Ready").unwrap();
        (ready["status"].as_str().unwrap().to_owned(), ready["reason"].as_str().unwrap().to_owned())
    };
    let (created, pending) =
        (("True".into(), "RecordCreated".into()), ("Unknown".to_owned(), "Pending".to_owned()));
    planner.apply(vec![report()]);
    assert_eq!(ready(&planner), created);
    // The second time, the report of the first data comes after other data is wanted.
    for is_late in [false, true] {
        planner.apply(vec![health(&planner, 1, TargetState::Down)]);
        assert_eq!(ready(&planner), pending);
        planner.apply(if is_late { vec![report()] } else { Vec::new() });
        planner.apply(vec![health(&planner, 1, TargetState::Up)]);
        assert_eq!(given(&planner, "first"), ["192.0.2.1"]);
        assert_eq!(ready(&planner), pending, "late: {is_late}");
        planner.apply(vec![report()]);
        assert_eq!(ready(&planner), created);
    }
}

#[test]
fn when_all_are_down_the_last_usable_set_stays() {
    let mut planner = planner(vec![class(), placement("first", "active-hotstandby")]);
    assert_eq!(given(&planner, "first"), ["192.0.2.1"], "before anything was up");
    planner.apply(vec![health(&planner, 1, TargetState::Up), health(&planner, 2, TargetState::Up)]);
    planner.apply(vec![health(&planner, 1, TargetState::Down)]);
    assert_eq!(given(&planner, "first"), ["192.0.2.2"]);
    let delta = planner.apply(vec![health(&planner, 2, TargetState::Down)]);
    assert_eq!(given(&planner, "first"), ["192.0.2.2"], "not back to another that is dead as well");
    assert!(delta.deliveries.is_empty());
    planner.apply(vec![health(&planner, 1, TargetState::Up)]);
    assert_eq!(given(&planner, "first"), ["192.0.2.1"]);
}

#[test]
fn a_restart_gives_a_provider_what_it_had_until_there_are_results() {
    let mut before = planner(vec![class(), placement("all", "active-active")]);
    before.apply(vec![health(&before, 1, TargetState::Up), health(&before, 2, TargetState::Up)]);
    before.apply(vec![health(&before, 1, TargetState::Down)]);
    let remembered = before.remembered().into_iter();
    let remembered = remembered.map(|(cluster, object, memory)| {
        let saved = serde_json::to_string(&memory).unwrap();
        assert_eq!(memory.kind(), object.kind);
        Change::Remembered(cluster, object, serde_json::from_str(&saved).unwrap())
    });
    let mut after = planner(remembered.chain([class(), placement("all", "active-active")]).collect());
    assert_eq!(given(&after, "all"), ["192.0.2.2"], "the dead one does not come back with the restart");
    after.apply(vec![health(&after, 2, TargetState::Up)]);
    assert_eq!(given(&after, "all"), ["192.0.2.2"]);
    after.apply(vec![health(&after, 1, TargetState::Up)]);
    assert_eq!(given(&after, "all"), ["192.0.2.1", "192.0.2.2"]);
}

#[test]
fn a_target_that_was_never_up_counts_until_another_was() {
    let mut planner = planner(vec![class(), placement("first", "active-hotstandby")]);
    let never = |planner: &Planner, number| {
        let health = TargetHealth { state: TargetState::Down, since: 0, reason: "".into(), seen_up: false };
        Change::Health(probe(planner, number), health)
    };
    planner.apply(vec![never(&planner, 1), never(&planner, 2)]);
    assert_eq!(given(&planner, "first"), ["192.0.2.1"], "a missing health page fails nothing over");
    planner.apply(vec![health(&planner, 2, TargetState::Up)]);
    assert_eq!(given(&planner, "first"), ["192.0.2.2"]);
}

#[test]
fn a_probe_comes_with_its_first_user_and_goes_with_its_last() {
    let mut planner = planner(vec![class()]);
    let came = planner.apply(vec![placement("one", "active-active")]).probes;
    assert_eq!(came.iter().filter(|(_, spec)| spec.is_some()).count(), 2);
    assert!(planner.apply(vec![placement("two", "active-active")]).probes.is_empty(), "they are the same");
    let delete = |name: &str| {
        let (namespace, name) = ("shop".into(), name.into());
        Change::Delete(ClusterId(0), ObjectRef { kind: api::Kind::Placement, namespace, name })
    };
    let first = probe(&planner, 1);
    planner.apply(vec![health(&planner, 1, TargetState::Up)]);
    assert!(planner.apply(vec![delete("one")]).probes.is_empty(), "the other needs them");
    assert!(planner.target_health(first).is_some());
    let went = planner.apply(vec![delete("two")]).probes;
    assert_eq!(went.iter().filter(|(_, spec)| spec.is_none()).count(), 2);
    assert!(planner.target_health(first).is_none(), "what nobody probes has no health");
}

#[test]
fn a_time_alone_is_no_change_of_health() {
    let mut planner = planner(vec![class(), placement("one", "active-active")]);
    let told = |since| TargetHealth { state: TargetState::Up, since, reason: "".into(), seen_up: true };
    let first = probe(&planner, 1);
    planner.apply(vec![Change::Health(first, told(5))]);
    planner.apply(vec![Change::Health(first, told(9))]);
    assert_eq!(planner.target_health(first).unwrap().since, 5);
}

#[test]
fn the_story_of_a_name_tells_of_its_regions_and_of_how_its_class_chooses() {
    let mut planner = planner(vec![class(), placement("first", "active-hotstandby")]);
    planner.apply(vec![health(&planner, 1, TargetState::Down), health(&planner, 2, TargetState::Up)]);
    let story = planner.explain(&Name::parse("first.example.org").unwrap());
    let [maker] = &story.makers[..] else { panic!("{story:?}") };
    let WayStep::Class { object, backend: Some(backend), .. } = &maker.way[0] else { panic!("{maker:?}") };
    assert_eq!((&*object.object, backend.kind), ("edge", BackendKind::Webhook));
    let mode = "active-hotstandby".to_owned();
    assert_eq!(maker.way[1], WayStep::Mode { mode, manual_failback: false });
    let reduces =
        |step: &WayStep| matches!(step, WayStep::Condition { reason, .. } if reason == "SteeringReduced");
    assert!(maker.way.iter().any(reduces), "{maker:?}");
    let region = |name: &str, target: &str, health, message: Option<&str>| WayStep::Region {
        name: name.to_owned(),
        targets: vec![target.to_owned()],
        health,
        since: Some("1970-01-01T00:00:00Z".to_owned()),
        message: message.map(str::to_owned),
        answering: health == RegionHealth::Up,
    };
    let down = region("weu", "192.0.2.1", RegionHealth::Down, Some("192.0.2.1: connection refused"));
    assert!(maker.way.contains(&down), "{maker:?}");
    assert!(maker.way.contains(&region("neu", "192.0.2.2", RegionHealth::Up, None)), "{maker:?}");
}

#[test]
fn what_may_not_be_answered_is_not_probed() {
    let zone = put(json!({
        "apiVersion": "kubi.zone/v1alpha1", "kind": "Zone",
        "metadata": { "name": "zone", "namespace": "dns" }, "spec": { "domainName": "example.org" },
    }));
    let planner = planner(vec![zone, class(), placement("first", "active-hotstandby")]);
    assert_eq!(planner.probes().count(), 0);
    assert_eq!(given(&planner, "first"), Vec::<String>::new());
}

#[test]
fn what_a_placement_says_to_other_owners_reaches_its_class_and_takes_it_the_steering() {
    let annotated = |annotations: Value| {
        let Change::Put(cluster, object) = placement("all", "active-active") else { panic!() };
        let mut object = (*object).clone();
        object.meta.annotations = serde_json::from_value(annotations).unwrap();
        Change::Put(cluster, Arc::new(object))
    };
    let terms = |planner: &Planner| {
        let [zone, name] = ["example.org", "all.example.org"].map(|one| Name::parse(one).unwrap());
        let wanted = planner.wanted(CLASS, &zone, &name).remove(0);
        (wanted.shared, wanted.hand_over_to, wanted.set.unwrap().steering.is_some())
    };
    let mut planner = planner(vec![class(), annotated(json!({}))]);
    assert_eq!(terms(&planner), (false, None, false));
    let delta = planner.apply(vec![annotated(json!({ "fingerpost.dev/shared": "true" }))]);
    assert_eq!(delta.deliveries.len(), 1);
    assert_eq!(terms(&planner), (true, None, false));
    let delta = planner.apply(vec![annotated(json!({ "fingerpost.dev/hand-over-to": "neu" }))]);
    assert_eq!(delta.deliveries.len(), 1);
    assert_eq!(terms(&planner), (false, Some("neu".into()), false));
}
