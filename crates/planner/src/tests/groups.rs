//! Many names that depend on one name.

use std::sync::Arc;
use std::time::{Duration, Instant};

use api::Kind;
use serde_json::json;

use crate::input::ClusterId;
use crate::{Change, Planner};

const HERE: ClusterId = ClusterId(0);
const NAMES: usize = 3000;

fn put(kind: Kind, name: &str, namespace: &str, spec: serde_json::Value) -> Change {
    let metadata = json!({"name": name, "namespace": namespace});
    let manifest =
        json!({"apiVersion": kind.api_version(), "kind": kind.kind(), "metadata": metadata, "spec": spec});
    Change::Put(HERE, Arc::new(api::decode(kind, manifest).unwrap()))
}

fn text(number: usize, value: &str) -> Change {
    let spec = json!({
        "type": "TXT", "domain": "shop.example", "subdomain": format!("_x{number}.www"),
        "dnsClassRef": {"name": "edge"}, "values": [value],
    });
    put(Kind::DNSRecord, &format!("r{number}"), &format!("n{number}"), spec)
}

/// Each claim compared with every other one for each name took minutes.
#[test]
fn names_that_depend_on_one_name_are_decided_without_comparing_all_with_all() {
    let begin = Instant::now();
    let mut planner = Planner::new(vec!["default".to_owned()]);
    let class = put(Kind::DNSClass, "edge", "", json!({"embedded": {}}));
    planner.apply(std::iter::once(class).chain((0..NAMES).map(|number| text(number, "one"))).collect());
    planner.apply(vec![text(7, "two")]);
    assert_eq!(planner.zones().len(), 1);
    let took = begin.elapsed();
    assert!(took < Duration::from_secs(60), "{NAMES} names took {took:?}");
}
