//! What an object that turned invalid leaves for the next leader.

use std::sync::Arc;

use api::{Kind, Object};
use serde_json::{Value, json};

use crate::marks::LAST_VALID_SPEC;
use crate::{Change, ClusterId, ObjectRef, Planner, Setting, from_last_valid};

const CLUSTER: ClusterId = ClusterId(0);

fn zone(generation: i64, annotations: Value, spec: Value) -> Object {
    let manifest = json!({
        "apiVersion": "kubi.zone/v1alpha1", "kind": "Zone", "spec": spec,
        "metadata": {"name": "example", "namespace": "dns", "generation": generation, "annotations": annotations},
    });
    api::decode(Kind::Zone, manifest).unwrap()
}

fn document(planner: &Planner) -> Value {
    let reference = ObjectRef { kind: Kind::Zone, namespace: "dns".into(), name: "example".into() };
    planner.document_of(CLUSTER, &reference).unwrap()
}

fn planned(objects: Vec<Object>) -> Planner {
    let mut planner = Planner::in_cluster("west".to_owned(), Setting::Operator);
    planner.apply(vec![Change::Today(20260101)]);
    for object in objects {
        let delta = planner.apply(vec![put(object)]);
        assert_eq!(delta.statuses.len(), 1, "every version may move the document");
    }
    planner
}

fn put(object: Object) -> Change {
    Change::Put(CLUSTER, Arc::new(object))
}

fn bad() -> Value {
    json!({"domainName": "example..org"})
}

#[test]
fn the_next_leader_plans_from_the_annotation_what_the_last_one_had_in_force() {
    let good =
        zone(1, json!({}), json!({"domainName": "example.org", "ttl": 77, "admin": "noc@example.net"}));
    let leader = document(&planned(vec![good, zone(2, json!({}), bad())]));
    let annotation = leader["metadata"]["annotations"][LAST_VALID_SPEC].as_str().unwrap();
    let newest = zone(2, json!({ LAST_VALID_SPEC: annotation }), bad());
    let restored = from_last_valid(Kind::Zone, &newest.meta, annotation).unwrap();
    assert_eq!(document(&planned(vec![restored, newest])), leader);
    assert_eq!(leader["status"]["observedGeneration"], 2);
}

#[test]
fn the_annotation_goes_when_the_object_is_valid_again_or_never_was() {
    let good = || zone(3, json!({}), json!({"domainName": "example.org"}));
    let annotations = |objects| document(&planned(objects))["metadata"]["annotations"].clone();
    assert_eq!(annotations(vec![good(), zone(4, json!({}), bad()), good()]), Value::Null);
    assert_eq!(annotations(vec![zone(4, json!({}), bad())]), Value::Null);
}

#[test]
fn a_spec_that_is_too_long_for_an_annotation_is_left_out() {
    let patterns: Vec<Value> =
        (0..20_000).map(|number| json!({"pattern": format!("host-{number}")})).collect();
    let delegations = json!([{ "records": patterns }]);
    let long = zone(1, json!({}), json!({"domainName": "example.org", "delegations": delegations}));
    assert_eq!(api::validate(&long), []);
    let document = document(&planned(vec![long, zone(2, json!({}), bad())]));
    assert_eq!(document["metadata"]["annotations"], Value::Null);
    assert_eq!(document["status"]["fqdn"], "example.org.", "it stays in force here all the same");
}

#[test]
fn an_annotation_that_is_no_valid_spec_restores_nothing() {
    let meta = zone(1, json!({}), bad()).meta;
    let restored = |text: &str| from_last_valid(Kind::Zone, &meta, text).is_some();
    assert!(!restored("{") && !restored("{}") && !restored(&bad().to_string()));
    assert!(restored(r#"{"domainName": "example.org", "fieldOfANewerOperator": 1}"#));
}

#[test]
fn what_was_written_down_does_not_replace_what_is_known() {
    let written = zone(3, json!({}), json!({"domainName": "example.org", "ttl": 1}));
    let known = zone(3, json!({}), json!({"domainName": "example.org", "ttl": 2}));
    let ttl = |mut planner: Planner| {
        let versions =
            [Change::LastValid(CLUSTER, Arc::new(written.clone())), put(zone(4, json!({}), bad()))];
        planner.apply(versions.into());
        document(&planner)["status"]["entries"][0]["ttl"].clone()
    };
    assert_eq!(ttl(planned(vec![known])), 2);
    assert_eq!(ttl(planned(vec![])), 1);
    assert_eq!(ttl(planned(vec![zone(2, json!({}), bad())])), 1);
}
