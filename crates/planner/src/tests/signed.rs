//! Signatures count as content of the zones that a class signs with them.

use std::sync::Arc;

use api::{Kind, Object};
use dns::Name;
use serde_json::{Value, json};

use crate::{Change, ClusterId, Planner, Setting};

fn decode(kind: Kind, manifest: Value) -> Object {
    api::decode(kind, manifest).unwrap()
}

fn class() -> Object {
    let manifest = json!({
        "apiVersion": "dns.homelab.mortenolsen.pro/v1alpha1", "kind": "DNSClass", "metadata": {"name": "edge"},
        "spec": {"embedded": {"dnssec": {"keysSecretRef": {"name": "keys"}}}},
    });
    decode(Kind::DNSClass, manifest)
}

fn zone(status: Value) -> Object {
    let manifest = json!({
        "apiVersion": "kubi.zone/v1alpha1", "kind": "Zone",
        "metadata": {"name": "example", "namespace": "dns", "generation": 1},
        "spec": {"domainName": "example.org", "dnsClassRef": {"name": "edge"}}, "status": status,
    });
    decode(Kind::Zone, manifest)
}

fn put(object: Object) -> Change {
    Change::Put(ClusterId(0), Arc::new(object))
}

fn signed(vault: &str, number: u64) -> Change {
    Change::Signed(vault.to_owned(), origin(), number)
}

fn origin() -> Name {
    "example.org".parse().unwrap()
}

fn planner(setting: Setting) -> Planner {
    let mut planner = Planner::in_cluster("west".to_owned(), setting);
    planner.apply(vec![Change::Today(20260101), put(class()), put(zone(json!({})))]);
    planner
}

#[test]
fn a_server_that_hears_of_signatures_after_their_serial_tells_that_the_zone_is_settled() {
    let mut operator = planner(Setting::Operator);
    operator.apply(vec![signed("keys", 7)]);
    let published = operator.zone(&origin()).unwrap();
    let status = json!({"serial": published.serial, "hash": format!("{:016x}", published.hash)});
    let mut server = planner(Setting::Server { classes: Vec::new() });
    let serial_first = server.apply(vec![put(zone(status))]);
    assert_eq!(serial_first.zones, [origin()]);
    assert!(!server.zone(&origin()).unwrap().is_settled, "its signatures are not known yet");
    // The SOA stays as it is, and still whoever serves the zone has to know.
    let signatures_then = server.apply(vec![signed("keys", 7)]);
    assert_eq!(signatures_then.zones, [origin()]);
    assert!(server.zone(&origin()).unwrap().is_settled);
    let others_first = server.apply(vec![signed("keys", 8)]);
    assert_eq!(others_first.zones, [origin()]);
    assert!(!server.zone(&origin()).unwrap().is_settled);
}

#[test]
fn keys_that_no_class_signs_with_move_no_serial() {
    let mut operator = planner(Setting::Operator);
    operator.apply(vec![signed("keys", 7)]);
    let before = operator.zone(&origin()).unwrap();
    assert!(operator.apply(vec![signed("keys of another class", 9)]).zones.is_empty());
    let after = operator.zone(&origin()).unwrap();
    assert_eq!((after.serial, after.hash), (before.serial, before.hash));
}
