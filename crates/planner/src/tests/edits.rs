//! Edits whose references point nowhere.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::{Kind, Object};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::incremental::{planner, steps};
use super::world::Model;
use crate::note::ConditionStatus;
use crate::{Change, ClusterId, ObjectRef, Planner, Setting, from_last_valid};

const HERE: ClusterId = ClusterId(0);

/// Points one reference of a manifest at something that does not exist; `None` where the kind has none.
fn misspelt(kind: Kind, mut manifest: Value, which: u8) -> Option<Value> {
    let nowhere = json!({ "name": "no-such-thing" });
    let spec = &mut manifest["spec"];
    match kind {
        Kind::ServiceRoute => spec["gatewayName"] = json!("no-such-thing"),
        Kind::Gateway => spec["controller"] = json!("no-such-thing"),
        Kind::DNSConfiguration => spec["externalDNSControllers"][0]["dnsClassRef"] = nowhere,
        Kind::DNSRecord => spec["dnsClassRef"] = nowhere,
        Kind::Placement if which.is_multiple_of(2) => spec["dnsClassRef"] = nowhere,
        // A region whose object was never there has no answer to lose.
        Kind::Placement if spec["regions"][0].get("ref").is_some() => return None,
        Kind::Placement => {
            let region = json!({ "kind": "Service", "name": "no-such-thing" });
            let weight = spec["regions"][0]["weight"].clone();
            spec["regions"][0] = json!({ "name": "weu", "ref": region });
            if !weight.is_null() {
                spec["regions"][0]["weight"] = weight;
            }
        }
        Kind::Zone if which.is_multiple_of(2) => spec["dnsClassRef"] = nowhere,
        Kind::Zone => {
            spec["zoneRef"] = nowhere;
            spec["domainName"] = json!("team");
        }
        Kind::Record => spec["zoneRef"] = nowhere,
        Kind::KuadrantDNSPolicy => spec["targetRef"]["name"] = json!("no-such-thing"),
        _ => return None,
    }
    Some(manifest)
}

/// What clients and other controllers get.
fn effects(planner: &Planner) -> BTreeMap<String, String> {
    let zones = planner.zones().into_iter();
    let mut effects: BTreeMap<String, String> = zones
        .flat_map(|zone| {
            let names: Vec<_> = planner.nodes(&zone.origin).collect();
            let sets = move |name| {
                let key = format!("{} {name}", zone.origin);
                (key, format!("{:?} {:?}", zone.scope, planner.sets(&zone.origin, &name)))
            };
            names.into_iter().map(sets)
        })
        .collect();
    let children = planner.children().into_iter();
    effects.extend(children.map(|child| (format!("{child:?}"), format!("{:?}", planner.child(&child)))));
    effects
}

fn ready(
    planner: &Planner,
    cluster: ClusterId,
    object: &ObjectRef,
) -> Option<(ConditionStatus, &'static str)> {
    let notes = planner.notes(cluster, object);
    notes.iter().find(|note| note.condition == "Ready").map(|note| (note.status, note.reason))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_edit_that_points_nowhere_changes_no_answer(batches in steps(), which in any::<u8>()) {
        let (mut model, mut running) = (Model::new(2), planner(&Setting::Folders));
        for batch in &batches {
            running.apply(batch.iter().map(|step| model.step(*step)).collect());
        }
        for (cluster, reference) in running.objects() {
            let Some(object) = running.object(cluster, &reference).cloned() else { continue };
            if ready(&running, cluster, &reference).is_none_or(|(status, _)| status != ConditionStatus::True) {
                continue;
            }
            let Some(manifest) = misspelt(reference.kind, api::manifest(&object), which) else { continue };
            let edited = api::decode(reference.kind, manifest).unwrap();
            if !api::validate(&edited).is_empty() || has_no_load_balancer(&running, cluster, &reference) {
                continue;
            }
            let before = effects(&running);
            running.apply(vec![Change::Put(cluster, Arc::new(edited))]);
            prop_assert_eq!(&effects(&running), &before, "{:?}", reference);
            let (status, reason) = ready(&running, cluster, &reference).unwrap();
            prop_assert_eq!(status, ConditionStatus::False);
            prop_assert!(reason.ends_with("NotFound"), "{} of {:?}", reason, reference);
            running.apply(vec![Change::Put(cluster, object)]);
            prop_assert_eq!(&effects(&running), &before, "{:?} corrected", reference);
        }
    }
}

/// A Gateway is ready by its routes too; without a load balancer there is nothing that an edit could take away.
fn has_no_load_balancer(planner: &Planner, cluster: ClusterId, reference: &ObjectRef) -> bool {
    let status = planner.status(cluster, reference).unwrap_or_default();
    reference.kind == Kind::Gateway && status.get("loadBalancerIP").is_none()
}

fn object(kind: Kind, name: &str, spec: Value) -> Object {
    let metadata = json!({ "name": name, "namespace": if kind.namespaced() { "shop" } else { "" } });
    let manifest =
        json!({ "apiVersion": kind.api_version(), "kind": kind.kind(), "metadata": metadata, "spec": spec });
    api::decode(kind, manifest).unwrap()
}

fn record(class: &str, address: &str) -> Object {
    let spec = json!({
        "type": "A", "domain": "example.com", "subdomain": "www", "values": [address], "dnsClassRef": {"name": class},
    });
    object(Kind::DNSRecord, "www", spec)
}

fn class(name: &str) -> Change {
    put(object(Kind::DNSClass, name, json!({ "embedded": {} })))
}

fn put(object: Object) -> Change {
    Change::Put(HERE, Arc::new(object))
}

fn www() -> ObjectRef {
    ObjectRef { kind: Kind::DNSRecord, namespace: "shop".into(), name: "www".into() }
}

fn gone(name: &str) -> Change {
    Change::Delete(HERE, ObjectRef { kind: Kind::DNSClass, namespace: "".into(), name: name.into() })
}

fn answer(planner: &Planner) -> String {
    let origin = dns::Name::parse("example.com").unwrap();
    let sets = planner.sets(&origin, &dns::Name::parse("www.example.com").unwrap());
    sets.iter().flat_map(|(_, set)| set.data.iter()).map(ToString::to_string).collect()
}

fn folders(changes: Vec<Change>) -> Planner {
    let mut planner = Planner::new(vec!["west".to_owned()]);
    planner.apply(changes);
    planner
}

#[test]
fn the_order_of_changes_in_a_batch_does_not_matter() {
    let changes = || [put(record("front", "192.0.2.2")), gone("edge"), class("front")];
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let mut planner = folders(vec![class("edge"), put(record("edge", "192.0.2.1"))]);
        planner.apply(order.map(|number| changes()[number].clone()).into());
        assert_eq!(answer(&planner), "192.0.2.2", "{order:?}");
        assert_eq!(ready(&planner, HERE, &www()).unwrap().0, ConditionStatus::True);
    }
}

#[test]
fn several_versions_in_one_batch_are_taken_in_their_order() {
    let versions = vec![
        put(record("edge", "192.0.2.1")),
        put(record("nowhere", "192.0.2.2")),
        put(record("edge", "192.0.2.3")),
        put(record("elsewhere", "192.0.2.4")),
        class("edge"),
    ];
    let mut planner = folders(versions);
    assert_eq!(answer(&planner), "192.0.2.3");
    planner.apply(vec![class("nowhere")]);
    assert_eq!(answer(&planner), "192.0.2.3", "a version that another one followed is not in force any more");
    planner.apply(vec![class("elsewhere")]);
    assert_eq!(answer(&planner), "192.0.2.4");
}

#[test]
fn an_object_that_never_resolved_follows_its_newest_version() {
    let mut planner = folders(vec![put(record("nowhere", "192.0.2.1"))]);
    planner.apply(vec![put(record("elsewhere", "192.0.2.2"))]);
    let notes = planner.notes(HERE, &www());
    assert!(notes.iter().all(|note| note.condition != "Stalled"), "{notes:?}");
    planner.apply(vec![class("nowhere")]);
    assert_eq!(answer(&planner), "", "nobody names this class any more");
    planner.apply(vec![class("elsewhere")]);
    assert_eq!(answer(&planner), "192.0.2.2");
}

#[test]
fn deleting_a_target_is_deliberate() {
    let mut planner = folders(vec![class("edge"), put(record("edge", "192.0.2.1"))]);
    planner.apply(vec![put(record("nowhere", "192.0.2.2"))]);
    assert_eq!(answer(&planner), "192.0.2.1");
    planner.apply(vec![gone("edge")]);
    assert_eq!(answer(&planner), "");
    let notes = planner.notes(HERE, &www());
    assert!(notes[0].message.contains("there is no DNSClass nowhere; create it"), "{notes:?}");
    planner.apply(vec![class("nowhere")]);
    assert_eq!(answer(&planner), "192.0.2.2");
}

#[test]
fn a_restart_knows_the_version_in_force() {
    let world = || vec![class("edge"), put(record("nowhere", "192.0.2.2"))];
    let mut planner = folders(vec![class("edge"), put(record("edge", "192.0.2.1"))]);
    let delta = planner.apply(world());
    assert!(delta.versions, "it is to be saved at once");
    let remembered = planner.remembered();
    let version = remembered.iter().find(|(_, _, memory)| memory.is_version()).unwrap();
    let saved = serde_json::to_string(&version.2).unwrap();
    for refused in [false, true] {
        let memory: crate::Memory = serde_json::from_str(&saved).unwrap();
        assert_eq!(memory.kind(), Kind::DNSRecord);
        let problems = vec![api::Problem::new("spec", "?", "broken")];
        let broken = refused.then(|| Change::Broken(HERE, www(), problems));
        let first = [Change::Remembered(HERE, www(), memory)];
        let mut later = folders(first.into_iter().chain(world()).chain(broken).collect());
        assert_eq!(answer(&later), "192.0.2.1", "{refused}");
        later.apply(vec![put(record("nowhere", "192.0.2.3")), class("nowhere")]);
        assert_eq!(answer(&later), "192.0.2.3");
        assert!(later.remembered().iter().all(|(_, _, memory)| !memory.is_version()));
    }
}

#[test]
fn the_next_leader_and_every_server_read_the_version_in_force_from_the_annotation() {
    let mut leader = Planner::in_cluster("west".to_owned(), Setting::Operator);
    leader.apply(vec![class("edge"), put(record("edge", "192.0.2.1"))]);
    leader.apply(vec![put(record("nowhere", "192.0.2.2"))]);
    let document = leader.document_of(HERE, &www()).unwrap();
    let spec = document["metadata"]["annotations"][crate::marks::LAST_VALID_SPEC].as_str().unwrap();
    for setting in [Setting::Operator, Setting::Server { classes: Vec::new() }] {
        let newest = record("nowhere", "192.0.2.2");
        let restored = from_last_valid(Kind::DNSRecord, &newest.meta, spec).unwrap();
        let mut other = Planner::in_cluster("west".to_owned(), setting);
        other.apply(vec![Change::LastValid(HERE, Arc::new(restored)), put(newest), class("edge")]);
        assert_eq!(answer(&other), "192.0.2.1");
        assert_eq!(other.document_of(HERE, &www()).unwrap(), document);
    }
    leader.apply(vec![class("nowhere")]);
    let document = leader.document_of(HERE, &www()).unwrap();
    assert_eq!(document["metadata"]["annotations"], Value::Null, "it is removed afterwards");
    assert_eq!(answer(&leader), "192.0.2.2");
}

#[test]
fn a_broken_zone_that_is_deleted_is_gone() {
    let zone = object(Kind::Zone, "broken", json!({ "domainName": "example.com" }));
    let problems = vec![api::Problem::new("spec", "?", "broken")];
    let mut planner = folders(vec![Change::BrokenZone(HERE, Arc::new(zone), problems)]);
    let origin = dns::Name::parse("example.com").unwrap();
    assert!(planner.zone(&origin).unwrap().unavailable.is_some());
    let reference = ObjectRef { kind: Kind::Zone, namespace: "shop".into(), name: "broken".into() };
    planner.apply(vec![Change::Delete(HERE, reference)]);
    assert!(planner.zone(&origin).is_none());
    assert!(planner.remembered().is_empty());
}
