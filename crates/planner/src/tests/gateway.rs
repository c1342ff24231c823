//! What Gateways of the Gateway API remember over a restart.

use std::sync::Arc;

use dns::{Name, RecordSet};
use serde_json::{Value, json};

use crate::{Change, ClusterId, Planner};

fn put(manifest: Value) -> Change {
    let text = |key: &str| manifest[key].as_str().unwrap().to_owned();
    let api::Lookup::Known(kind) = api::Kind::lookup(&text("apiVersion"), &text("kind")) else { panic!() };
    Change::Put(ClusterId(0), Arc::new(api::decode(kind, manifest).unwrap()))
}

fn zone() -> Change {
    put(json!({
        "apiVersion": "kubi.zone/v1alpha1", "kind": "Zone", "metadata": { "name": "org", "namespace": "shop" },
        "spec": { "domainName": "example.org." },
    }))
}

fn policy(weight: u16) -> Change {
    put(json!({
        "apiVersion": "kuadrant.io/v1alpha1", "kind": "DNSPolicy",
        "metadata": { "name": "spread", "namespace": "shop" },
        "spec": {
            "targetRef": { "name": "edge" },
            "health": { "protocol": "TCP", "port": 443 },
            "loadBalancing": { "weighted": {
                "default": weight, "custom": [{ "value": "big", "weight": 30 }],
            } },
        },
    }))
}

/// A cluster of the custom weight.
fn big(name: &str) -> Change {
    let labels = json!({ "kuadrant.io/lb-attribute-custom-weight": "big" });
    put(json!({
        "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
        "metadata": { "name": name, "labels": labels },
    }))
}

/// A Gateway that listens for hosts below example.org and has these addresses.
fn gateway(hosts: &[&str], addresses: &[&str]) -> Change {
    let listeners =
        hosts.iter().map(|host| json!({ "name": host, "hostname": format!("{host}.example.org") }));
    let address = |text: &&str| json!({ "type": "kuadrant.io/MultiClusterIPAddress", "value": text });
    put(json!({
        "apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway",
        "metadata": { "name": "edge", "namespace": "shop" },
        "spec": { "gatewayClassName": "multi", "listeners": listeners.collect::<Vec<_>>() },
        "status": { "addresses": addresses.iter().map(address).collect::<Vec<_>>() },
    }))
}

fn planner(changes: Vec<Change>) -> Planner {
    let mut planner = Planner::new(vec!["west".to_owned()]);
    planner.apply(vec![Change::Today(20_260_101)]);
    planner.apply(changes);
    planner
}

/// Another process that knows what this one saved.
fn restarted(before: &Planner, changes: Vec<Change>) -> Planner {
    let remembered = before.remembered().into_iter().map(|(cluster, object, memory)| {
        let saved = serde_json::to_string(&memory).unwrap();
        assert_eq!(memory.kind(), object.kind);
        Change::Remembered(cluster, object, serde_json::from_str(&saved).unwrap())
    });
    planner(remembered.chain(changes).collect())
}

fn answered(planner: &Planner, host: &str) -> Vec<RecordSet> {
    let names = ["example.org", &format!("{host}.example.org")].map(|one| Name::parse(one).unwrap());
    planner.sets(&names[0], &names[1]).into_iter().map(|(_, set)| set).collect()
}

#[test]
fn a_restart_keeps_what_a_gateway_without_addresses_was_answered_with_and_the_probes_of_it() {
    let mut before = planner(vec![zone(), policy(10), gateway(&["www"], &["a/192.0.2.1", "b/192.0.2.2"])]);
    let good = answered(&before, "www");
    assert_eq!(good.iter().map(|set| set.data.len()).sum::<usize>(), 2, "{good:?}");
    before.apply(vec![gateway(&["www"], &[])]);
    assert_eq!(answered(&before, "www"), good, "in the process itself");
    let mut after = restarted(&before, vec![zone(), policy(10), gateway(&["www"], &[])]);
    assert_eq!(answered(&after, "www"), good);
    assert_eq!(after.probes().count(), 2);
    after.apply(vec![gateway(&["www"], &["a/192.0.2.9"])]);
    assert_eq!(answered(&after, "www")[0].data.len(), 1, "what can be answered again is");
}

#[test]
fn a_restart_keeps_the_weights_of_a_policy_that_now_drains_every_cluster() {
    let drained = || {
        put(json!({
            "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
            "metadata": { "name": "a", "labels": { "kuadrant.io/lb-attribute-custom-weight": "off" } },
        }))
    };
    let policy = || {
        put(json!({
            "apiVersion": "kuadrant.io/v1alpha1", "kind": "DNSPolicy",
            "metadata": { "name": "spread", "namespace": "shop" },
            "spec": { "targetRef": { "name": "edge" }, "health": { "protocol": "TCP", "port": 443 },
                "loadBalancing": { "weighted": { "default": 10, "custom": [{ "value": "off", "weight": 0 }] } } },
        }))
    };
    let gateway = || gateway(&["www"], &["a/192.0.2.1"]);
    let mut before = planner(vec![zone(), policy(), gateway()]);
    let good = answered(&before, "www");
    before.apply(vec![drained()]);
    assert_eq!(answered(&before, "www"), good);
    assert_eq!(answered(&restarted(&before, vec![zone(), policy(), gateway(), drained()]), "www"), good);
}

#[test]
fn a_listener_that_comes_while_all_are_drained_gets_all_clusters_also_after_a_restart() {
    let drained =
        || vec![zone(), policy(0), gateway(&["www", "new"], &["a/192.0.2.1", "b/192.0.2.2"]), big("c")];
    let mut before = planner(vec![zone(), policy(0), gateway(&["www"], &["c/192.0.2.3"]), big("c")]);
    let good = answered(&before, "www");
    before.apply(drained());
    let (kept, new) = (answered(&before, "www"), answered(&before, "new"));
    assert_eq!((kept, new[0].data.len()), (good, 2));
    let mut gone = drained();
    gone[2] = gateway(&["www", "new"], &[]);
    before.apply(gone);
    let mut gone = drained();
    gone[2] = gateway(&["www", "new"], &[]);
    let after = restarted(&before, gone);
    assert_eq!((answered(&after, "www"), answered(&after, "new")), (answered(&before, "www"), new));
}

#[test]
fn a_listener_that_goes_takes_its_name_with_it_and_a_new_gateway_remembers_nothing() {
    let mut before = planner(vec![zone(), policy(10), gateway(&["www", "old"], &["a/192.0.2.1"])]);
    before.apply(vec![gateway(&["www", "old"], &[])]);
    let after = restarted(&before, vec![zone(), policy(10), gateway(&["www"], &[])]);
    assert_eq!((answered(&after, "www").len(), answered(&after, "old").len()), (1, 0));
    let fresh = planner(vec![zone(), policy(10), gateway(&["www"], &[])]);
    assert_eq!(answered(&fresh, "www"), []);
}
