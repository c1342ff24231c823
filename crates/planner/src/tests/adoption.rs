//! Who may take over records that are at a provider already.

use std::sync::Arc;

use api::Kind;
use dns::{Name, Rtype};
use rstest::rstest;
use serde_json::{Value, json};

use crate::{Change, ClusterId, Delivered, DeliveryResult, ObjectRef, Planner, Setting};

const CLUSTER: ClusterId = ClusterId(0);

fn planner(setting: Setting, adoption: &Value) -> Planner {
    let class = json!({
        "apiVersion": "dns.homelab.mortenolsen.pro/v1alpha1", "kind": "DNSClass", "metadata": {"name": "edge"},
        "spec": {"adoption": adoption, "powerdns": {
            "url": "http://192.0.2.1:8081", "apiKeySecretRef": {"name": "powerdns", "key": "api-key"}}},
    });
    let record = json!({
        "apiVersion": "dns.homelab.mortenolsen.pro/v1alpha1", "kind": "DNSRecord",
        "metadata": {"name": "www", "namespace": "team", "annotations": {"fingerpost.dev/adopt": "true"}},
        "spec": {"type": "A", "domain": "example.org", "subdomain": "www", "dnsClassRef": {"name": "edge"},
            "values": ["192.0.2.1"]},
    });
    let mut planner = match setting {
        Setting::Folders => Planner::new(vec!["west".to_owned()]),
        setting => Planner::in_cluster("west".to_owned(), setting),
    };
    let put = |kind, manifest| Change::Put(CLUSTER, Arc::new(api::decode(kind, manifest).unwrap()));
    planner.apply(vec![Change::Today(20260101), put(Kind::DNSClass, class), put(Kind::DNSRecord, record)]);
    planner
}

fn adopts(planner: &Planner) -> bool {
    let (zone, name) = (Name::parse("example.org").unwrap(), Name::parse("www.example.org").unwrap());
    planner.wanted("edge", &zone, &name).iter().any(|wanted| wanted.adopts)
}

#[rstest]
#[case::folders(Setting::Folders, json!(null), true)]
#[case::no_class_permits_it(Setting::Operator, json!(null), false)]
#[case::nobody(Setting::Operator, json!({}), false)]
#[case::another_namespace(Setting::Operator, json!({"namespaces": ["other"]}), false)]
#[case::this_namespace(Setting::Operator, json!({"namespaces": ["other", "team"]}), true)]
fn in_a_cluster_the_class_says_who_adopts(
    #[case] setting: Setting,
    #[case] adoption: Value,
    #[case] permitted: bool,
) {
    assert_eq!(adopts(&planner(setting, &adoption)), permitted);
}

#[test]
fn a_record_that_may_not_adopt_names_the_field() {
    let mut planner = planner(Setting::Operator, &json!({"namespaces": ["other"]}));
    planner.apply(vec![Change::Delivered(Delivered {
        class: "edge".into(),
        zone: Name::parse("example.org").unwrap(),
        name: Name::parse("www.example.org").unwrap(),
        rtype: Rtype::A,
        result: DeliveryResult::Foreign { owner: None, at: 0 },
    })]);
    let reference = ObjectRef { kind: Kind::DNSRecord, namespace: "team".into(), name: "www".into() };
    let shown = planner.document_of(CLUSTER, &reference).unwrap()["status"].to_string();
    assert!(shown.contains("NameConflict"), "{shown}");
    assert!(
        shown.contains("spec.adoption.namespaces of DNSClass edge does not list the namespace team"),
        "{shown}"
    );
}
