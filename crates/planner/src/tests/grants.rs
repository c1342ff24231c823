//! Who may claim which names, as admission asks for it and as rules say.

use std::sync::Arc;

use api::Kind;
use serde_json::{Value, json};

use crate::input::ClusterId;
use crate::{Change, Planner, Rules, Setting};

const HERE: ClusterId = ClusterId(0);

fn object(kind: Kind, manifest: Value) -> Arc<api::Object> {
    let mut manifest = manifest;
    manifest["apiVersion"] = json!(kind.api_version());
    manifest["kind"] = json!(kind.kind());
    Arc::new(api::decode(kind, manifest).unwrap())
}

fn namespace(name: &str, domains: &str) -> Change {
    let metadata = json!({"name": name, "annotations": {"fingerpost.dev/domains": domains}});
    Change::Put(HERE, object(Kind::Namespace, json!({ "metadata": metadata })))
}

fn placement(namespace: &str) -> Arc<api::Object> {
    let spec = json!({
        "hostname": "www.shop.example", "mode": "single-region",
        "regions": [{"name": "weu", "addresses": ["192.0.2.1"]}],
    });
    let metadata = json!({"name": "www", "namespace": namespace});
    object(Kind::Placement, json!({"metadata": metadata, "spec": spec}))
}

fn zone(namespace: &str, domain: &str) -> Arc<api::Object> {
    let metadata = json!({"name": "zone", "namespace": namespace});
    object(Kind::Zone, json!({"metadata": metadata, "spec": {"domainName": domain}}))
}

fn operator(rules: Rules, changes: Vec<Change>) -> Planner {
    let mut planner = Planner::in_cluster("here".to_owned(), Setting::Operator).under(rules);
    planner.apply(changes);
    planner
}

/// A grant of `shop.example` to the namespace that has the Zone there.
fn granted() -> Vec<Change> {
    vec![namespace("payments", "shop.example"), Change::Put(HERE, zone("payments", "shop.example"))]
}

#[test]
fn an_object_is_told_what_grant_is_missing_before_it_is_applied() {
    let planner = operator(Rules::default(), granted());
    let missing = |object: Arc<api::Object>| planner.missing_grant(HERE, &object);
    assert_eq!(missing(placement("payments")), None);
    let message = missing(placement("other")).unwrap();
    assert!(
        message.contains("fingerpost.dev/domains grants to namespace payments and not to other"),
        "{message}"
    );
    assert!(missing(zone("other", "new.shop.example")).is_some());
    assert_eq!(missing(zone("other", "elsewhere.example")), None);
}

#[test]
fn where_grants_are_required_a_name_without_one_is_missing_it() {
    let rules = Rules { require_domain_grants: true, ..Rules::default() };
    let planner = operator(rules, granted());
    let message = planner.missing_grant(HERE, &zone("other", "elsewhere.example")).unwrap();
    assert!(message.contains("--require-domain-grants"), "{message}");
    assert_eq!(planner.missing_grant(HERE, &zone("payments", "shop.example")), None);
}

#[test]
fn a_grant_that_is_withdrawn_frees_the_domain() {
    let mut planner = operator(Rules::default(), granted());
    assert!(planner.missing_grant(HERE, &placement("other")).is_some());
    planner.apply(vec![namespace("payments", "")]);
    assert_eq!(planner.missing_grant(HERE, &placement("other")), None);
}

fn dns_record(namespace: &str) -> Arc<api::Object> {
    let spec = json!({
        "type": "A", "domain": "shop.example", "subdomain": "api", "dnsClassRef": {"name": "edge"},
        "values": ["192.0.2.1"],
    });
    let metadata = json!({"name": "api", "namespace": namespace});
    object(Kind::DNSRecord, json!({"metadata": metadata, "spec": spec}))
}

fn record(namespace: &str) -> Arc<api::Object> {
    let spec = json!({"type": "A", "domainName": "api.shop.example.", "rdata": "192.0.2.1"});
    object(Kind::Record, json!({"metadata": {"name": "api", "namespace": namespace}, "spec": spec}))
}

fn class() -> Change {
    let class = json!({"metadata": {"name": "edge"}, "spec": {"embedded": {}}});
    Change::Put(HERE, object(Kind::DNSClass, class))
}

#[test]
fn an_object_in_no_zone_is_told_what_grant_is_missing_before_it_is_applied() {
    let grant = vec![namespace("payments", "shop.example"), class()];
    let required = Rules { require_domain_grants: true, ..Rules::default() };
    for planner in [operator(Rules::default(), grant), operator(required, vec![class()])] {
        assert!(planner.zones().is_empty());
        assert!(planner.missing_grant(HERE, &placement("other")).is_some());
        assert!(planner.missing_grant(HERE, &dns_record("other")).is_some());
        assert!(planner.missing_grant(HERE, &record("other")).is_some());
    }
}

#[test]
fn an_object_without_the_grant_implies_no_zone() {
    let required = Rules { require_domain_grants: true, ..Rules::default() };
    for object in [placement("other"), dns_record("other")] {
        let mut planner = operator(required.clone(), vec![class(), Change::Put(HERE, object)]);
        let origins = |planner: &Planner| planner.zones().len();
        assert_eq!(origins(&planner), 0, "no grant");
        planner.apply(vec![namespace("other", "shop.example")]);
        assert_eq!(origins(&planner), 1, "granted");
        planner.apply(vec![namespace("other", "")]);
        assert_eq!(origins(&planner), 0, "withdrawn");
    }
}
