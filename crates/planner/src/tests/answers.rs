//! The health of targets moves the serial of zones that secondaries have, and of no others.

use std::sync::Arc;

use dns::Name;
use serde_json::{Value, json};

use crate::{Change, ClusterId, Planner, ProbeTarget, Setting, TargetHealth, TargetState};

fn put(manifest: Value) -> Change {
    let text = |key: &str| manifest[key].as_str().unwrap().to_owned();
    let api::Lookup::Known(kind) = api::Kind::lookup(&text("apiVersion"), &text("kind")) else { panic!() };
    Change::Put(ClusterId(0), Arc::new(api::decode(kind, manifest).unwrap()))
}

fn class(name: &str, embedded: Value) -> Change {
    put(json!({
        "apiVersion": "dns.homelab.mortenolsen.pro/v1alpha1", "kind": "DNSClass", "metadata": {"name": name},
        "spec": {"embedded": embedded},
    }))
}

/// A Placement of two regions below `<class>.example`, with the addresses `192.0.2.1` and `192.0.2.2`.
fn placement(class: &str, mode: &str) -> Change {
    put(json!({
        "apiVersion": "fingerpost.dev/v1alpha1", "kind": "Placement",
        "metadata": {"name": class, "namespace": "shop"},
        "spec": {
            "hostname": format!("app.{class}.example"), "mode": mode, "dnsClassRef": {"name": class},
            "healthCheck": {"protocol": "TCP", "port": 443, "interval": "5s", "timeout": "2s"},
            "regions": [
                {"name": "weu", "addresses": ["192.0.2.1"]}, {"name": "neu", "addresses": ["192.0.2.2"]},
            ],
        },
    }))
}

fn planner(setting: Setting, mode: &str) -> Planner {
    let mut planner = Planner::in_cluster("west".to_owned(), setting);
    planner.apply(vec![
        Change::Today(20_260_101),
        class("edge", json!({"transfer": {"to": ["192.0.2.0/24"]}})),
        class("plain", json!({"clients": ["198.51.100.0/24"]})),
        placement("edge", mode),
        placement("plain", mode),
    ]);
    planner.apply(vec![health(&planner, 1, TargetState::Up), health(&planner, 2, TargetState::Up)]);
    planner
}

fn health(planner: &Planner, number: u8, state: TargetState) -> Change {
    let target = ProbeTarget::Address([192, 0, 2, number].into());
    let probe = planner.probes().find(|(_, spec)| spec.target == target).unwrap().0;
    Change::Health(probe, TargetHealth { state, since: 0, reason: "refused".into(), seen_up: true })
}

fn edge() -> Name {
    "edge.example".parse().unwrap()
}

fn numbered(planner: &Planner) -> (u32, u64) {
    let zone = planner.zone(&edge()).unwrap();
    (zone.serial, zone.hash)
}

#[test]
fn only_zones_that_secondaries_have_are_told_of_and_only_when_their_answers_move() {
    let mut planner = planner(Setting::Operator, "active-hotstandby");
    let standby = planner.apply(vec![health(&planner, 2, TargetState::Down)]);
    assert_eq!(standby.answers, [], "nobody was sent there");
    let back = planner.apply(vec![health(&planner, 2, TargetState::Up)]);
    assert_eq!(back.answers, []);
    let primary = planner.apply(vec![health(&planner, 1, TargetState::Down)]);
    assert_eq!(primary.answers, [(edge(), 12_000)], "two intervals and a timeout");
    assert_eq!(primary.zones, [], "by itself it moves no serial");
    let again = planner.apply(vec![health(&planner, 1, TargetState::Down)]);
    assert_eq!(again.answers, []);
}

#[test]
fn answers_that_moved_take_the_next_serial_and_the_hash_stays() {
    let mut planner = planner(Setting::Operator, "active-active");
    let (serial, hash) = numbered(&planner);
    planner.apply(vec![health(&planner, 1, TargetState::Down)]);
    assert_eq!(planner.apply(vec![Change::Answers(edge())]).zones, [edge()]);
    assert_eq!(numbered(&planner), (serial + 1, hash));
    assert_eq!(planner.apply(vec![Change::Leading(true)]).zones, [], "once");
    assert_eq!(numbered(&planner), (serial + 1, hash));
}

#[test]
fn a_follower_moves_no_serial_until_it_leads() {
    let mut planner = planner(Setting::Operator, "active-active");
    let (serial, hash) = numbered(&planner);
    planner.apply(vec![Change::Leading(false)]);
    assert_eq!(planner.apply(vec![Change::Answers(edge())]).zones, []);
    assert_eq!(numbered(&planner), (serial, hash));
    planner.apply(vec![Change::Leading(true)]);
    assert_eq!(numbered(&planner), (serial + 1, hash), "the leader may have died before it did");
}
