#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use api::Kind;
use rstest::rstest;

use super::*;
use crate::{Change, ClusterId};

const CLUSTER: ClusterId = ClusterId(0);

fn object(kind: Kind, namespace: &str, name: &str, spec: Value) -> Change {
    let metadata = serde_json::json!({ "namespace": namespace, "name": name });
    let manifest = serde_json::json!({
        "apiVersion": kind.api_version(), "kind": kind.kind(), "metadata": metadata, "spec": spec
    });
    Change::Put(CLUSTER, Arc::new(api::decode(kind, manifest).unwrap()))
}

fn record(name: &str, address: &str) -> Change {
    let spec = serde_json::json!({
        "domainName": name, "zoneRef": { "name": "example-org" }, "type": "A", "rdata": address
    });
    object(Kind::Record, "dns", name, spec)
}

fn plan(today: u32, changes: Vec<Change>) -> Document {
    let mut planner = Planner::new(vec!["default".to_owned()]);
    let zone = object(Kind::Zone, "dns", "example-org", serde_json::json!({ "domainName": "example.org." }));
    planner.apply([Change::Today(today), zone].into_iter().chain(changes).collect());
    Document::of(&planner)
}

fn told(differences: &[Difference]) -> Vec<String> {
    let sides = |before: bool, after: bool| match (before, after) {
        (false, _) => '+',
        (_, false) => '-',
        _ => '~',
    };
    let line = |difference: &Difference| match difference {
        Difference::Setting(pair) => format!("{}setting", sides(pair.before.is_some(), pair.after.is_some())),
        Difference::View(pair) => format!("{}view", sides(pair.before.is_some(), pair.after.is_some())),
        Difference::Zone(pair) => format!("{}zone", sides(pair.before.is_some(), pair.after.is_some())),
        Difference::RecordSet(pair) => {
            let name = pair.either().unwrap().name.undotted();
            format!("{}{name}", sides(pair.before.is_some(), pair.after.is_some()))
        }
        Difference::Child(pair) => format!("{}child", sides(pair.before.is_some(), pair.after.is_some())),
        Difference::Object(pair) => {
            let object = pair.either().unwrap().identity()[3].to_owned();
            format!("{}{object}", sides(pair.before.is_some(), pair.after.is_some()))
        }
    };
    differences.iter().map(line).collect()
}

#[test]
fn a_document_is_what_its_text_says() {
    let document = plan(20_260_102, vec![record("www", "192.0.2.1")]);
    let text = serde_json::to_string(&document).unwrap();
    assert_eq!(Document::parse(&text).unwrap(), document);
}

#[test]
fn the_order_of_changes_does_not_show() {
    let (a, b) = (record("a", "192.0.2.1"), record("b", "192.0.2.2"));
    assert_eq!(plan(20_260_102, vec![a.clone(), b.clone()]), plan(20_260_102, vec![b, a]));
}

#[test]
fn equal_plans_do_not_differ() {
    let document = plan(20_260_102, vec![record("www", "192.0.2.1")]);
    assert_eq!(diff(&document, &document), []);
}

#[test]
fn what_is_added_changed_and_removed_is_told_by_kind() {
    let before = plan(20_260_102, vec![record("old", "192.0.2.1"), record("www", "192.0.2.1")]);
    let mut changes = before.serials();
    changes.extend([record("new", "192.0.2.1"), record("www", "192.0.2.2")]);
    let after = plan(20_260_102, changes);
    let expected =
        ["~zone", "+new.example.org", "-old.example.org", "~www.example.org", "+new", "-old", "~example-org"];
    assert_eq!(told(&diff(&before, &after)), expected);
}

#[test]
fn serials_go_on_from_an_earlier_plan() {
    let before = plan(20_260_102, vec![record("www", "192.0.2.1")]);
    let mut same = before.serials();
    same.push(record("www", "192.0.2.1"));
    assert_eq!(plan(20_260_304, same).zones[0].serial, 2_026_010_200);
    let mut other = before.serials();
    other.push(record("www", "192.0.2.2"));
    assert_eq!(plan(20_260_102, other).zones[0].serial, 2_026_010_201);
}

#[test]
fn a_view_sees_its_own_scope_and_what_is_everywhere() {
    let document = plan(20_260_102, vec![record("www", "192.0.2.1")]);
    let seen = document.seen_in(&document.views[0]);
    let types: Vec<String> = seen.values().flatten().map(|set| set.rtype.to_string()).collect();
    assert_eq!(types, ["SOA", "NS", "A"]);
}

#[rstest]
#[case("nonsense", "this is not a plan as `fingerpost plan -o json` prints it")]
#[case("{}", "this is not a plan as `fingerpost plan -o json` prints it")]
#[case(
    r#"{"version": 3}"#,
    "the plan has version 3 and this fingerpost reads up to 2: use a newer fingerpost"
)]
#[case(r#"{"version": 99999999999}"#, "version 4294967295")]
fn a_text_that_is_no_plan_is_refused(#[case] text: &str, #[case] message: &str) {
    let error = Document::parse(text).unwrap_err().to_string();
    assert!(error.contains(message), "{error}");
}

fn written(planner: &Planner, part: Part, piece: usize) -> String {
    let (mut writer, mut text) = (DocumentWriter::new(part), Vec::new());
    loop {
        let mut next = Vec::new();
        let more = writer.write(planner, &mut next, piece);
        text.extend(next);
        if !more {
            return String::from_utf8(text).unwrap();
        }
    }
}

/// Whether a text is a document, in whichever order its holders are.
fn same(text: &str, document: &Document) -> bool {
    let mut read = Document::parse(text).unwrap();
    read.holders = Holders::from_saved(&read.holders, &read.clusters).to_saved(&read.clusters);
    read == *document
}

#[rstest]
fn a_plan_written_in_pieces_is_the_whole_document(#[values(1, 4096, usize::MAX)] piece: usize) {
    let mut planner = Planner::new(vec!["default".to_owned()]);
    let zone = |name: &str, domain: &str| {
        object(Kind::Zone, "dns", name, serde_json::json!({ "domainName": domain }))
    };
    let file = "$ORIGIN example.net.\n$TTL 60\n@ IN SOA ns hostmaster 1 2 3 4 5\n@ IN NS ns\nns IN A 192.0.2.1\n\
                ns IN TXT one\na.b IN A 192.0.2.2\n";
    let read = dns::read_zone("example.net.zone", file, &mut |_, _| Err("no includes".into()));
    let file = Change::PutFile(CLUSTER, "example.net.zone".into(), Arc::new(read.unwrap().zone), Vec::new());
    let records = (0..2100).map(|number| record(&format!("host-{number}"), "192.0.2.1"));
    let zones = [zone("example-org", "example.org."), zone("other", "other.test.")];
    planner.apply([Change::Today(20_260_102), file].into_iter().chain(zones).chain(records).collect());
    let document = Document::of(&planner);
    assert!(document.record_sets.len() > 2100 && document.objects.len() > 2100);
    assert!(same(&written(&planner, Part::Plan, piece), &document));
    assert!(written(&planner, Part::Objects, piece) == serde_json::to_string(&document.objects).unwrap());
    let sets = serde_json::to_string(&document.record_sets).unwrap();
    assert!(written(&planner, Part::RecordSets(None), piece) == sets);
    for name in ["ns.example.net", "host-7.example.org", "missing.example.org", "elsewhere.test"] {
        let name = Name::parse(name).unwrap();
        let sets: Vec<_> = document.record_sets.iter().filter(|set| set.name == name).collect();
        let text = written(&planner, Part::RecordSets(Some(name)), piece);
        assert_eq!(text, serde_json::to_string(&sets).unwrap());
    }
}

#[test]
fn a_plan_that_changes_while_it_is_written_says_so() {
    let mut planner = Planner::new(vec!["default".to_owned()]);
    let zone = object(Kind::Zone, "dns", "example-org", serde_json::json!({ "domainName": "example.org." }));
    planner.apply(vec![Change::Today(20_260_102), zone, record("www", "192.0.2.1")]);
    let (mut writer, mut text) = (DocumentWriter::new(Part::Plan), Vec::new());
    assert!(writer.write(&planner, &mut text, 1));
    let gone = crate::ObjectRef { kind: Kind::Zone, namespace: "dns".into(), name: "example-org".into() };
    planner.apply(vec![Change::Delete(CLUSTER, gone)]);
    writer.note_change();
    assert!(!writer.write(&planner, &mut text, usize::MAX));
    let document = Document::parse(&String::from_utf8(text).unwrap()).unwrap();
    assert!(document.changed_while_written && document.record_sets.is_empty());
}

#[test]
fn of_a_plan_of_an_older_version_steering_and_owners_are_not_compared() {
    let after = plan(20_260_102, vec![record("www", "192.0.2.1")]);
    assert_eq!(after.record_sets[1].owners[0].reference().unwrap().kind, Kind::Record);
    let mut before = after.clone();
    before.version = 1;
    before.record_sets.iter_mut().for_each(|set| set.owners = Vec::new());
    before.zones.iter_mut().filter_map(|zone| zone.soa.as_mut()).for_each(|soa| soa.owners = Vec::new());
    assert_eq!(diff(&before, &after), []);
    before.version = 2;
    assert_eq!(diff(&before, &after).len(), 3, "the SOA and two record sets have other owners");
}

#[rstest]
#[case::record(Kind::DNSRecord, "www", serde_json::json!({
    "type": "A", "domain": "example.org", "subdomain": "www", "values": ["192.0.2.1"],
    "dnsClassRef": { "name": "home" }
}))]
#[case::placement(Kind::Placement, "www", serde_json::json!({
    "hostname": "www.example.org", "mode": "single-region",
    "regions": [{ "name": "weu", "addresses": ["192.0.2.1"] }]
}))]
#[case::identity(Kind::ClusterIdentity, "cluster-identity", serde_json::json!({
    "region": "weu", "cluster": "vec-weu-p-aks01", "domain": "example.org", "environmentLetter": "p"
}))]
fn every_record_set_of_an_implied_zone_has_the_object_that_implies_it(
    #[case] kind: Kind,
    #[case] name: &str,
    #[case] spec: Value,
) {
    let namespace = if kind == Kind::ClusterIdentity { "" } else { "shop" };
    let mut planner = Planner::new(vec!["default".to_owned()]);
    let class = object(Kind::DNSClass, "", "home", serde_json::json!({ "embedded": {} }));
    planner.apply(vec![Change::Today(20_260_102), class, object(kind, namespace, name, spec)]);
    let document = Document::of(&planner);
    let soa = document.zones.iter().filter_map(|zone| zone.soa.as_ref());
    let owners: Vec<_> =
        soa.map(|soa| &soa.owners).chain(document.record_sets.iter().map(|set| &set.owners)).collect();
    assert!(owners.len() >= 2, "an SOA and an NS record set at least: {document:?}");
    for owners in owners {
        let names: Vec<_> = owners.iter().map(|owner| (&*owner.kind, &*owner.name)).collect();
        assert_eq!(names, [(kind.kind(), name)]);
    }
}

#[test]
fn a_zone_that_several_objects_imply_has_the_oldest_as_its_owner() {
    let record = |name: &str| {
        let spec = serde_json::json!({
            "type": "A", "domain": "example.org", "subdomain": name, "values": ["192.0.2.1"],
            "dnsClassRef": { "name": "home" }
        });
        object(Kind::DNSRecord, "shop", name, spec)
    };
    let mut planner = Planner::new(vec!["default".to_owned()]);
    let class = object(Kind::DNSClass, "", "home", serde_json::json!({ "embedded": {} }));
    planner.apply(vec![Change::Today(20_260_102), class, record("b"), record("a")]);
    let owners = |planner: &Planner| {
        let document = Document::of(planner);
        let ns = document.record_sets.iter().find(|set| set.rtype == Rtype::NS).unwrap();
        ns.owners.iter().map(|owner| owner.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(owners(&planner), ["a"]);
    let before = Document::of(&planner);
    let gone = crate::ObjectRef { kind: Kind::DNSRecord, namespace: "shop".into(), name: "a".into() };
    planner.apply(vec![Change::Delete(CLUSTER, gone)]);
    assert_eq!(owners(&planner), ["b"]);
    let sets: Vec<_> = told(&diff(&before, &Document::of(&planner)));
    assert!(!sets.contains(&"~example.org".to_owned()), "another owner alone is no difference: {sets:?}");
}

#[rstest]
#[case::health(
    serde_json::json!({"regions": [{"name": "fsn", "health": "Up", "since": "2026-01-01T00:00:00Z"}]}),
    serde_json::json!({"regions": [{"name": "fsn", "health": "Unknown"}]}),
    true
)]
#[case::down(
    serde_json::json!({"regions": [{"name": "fsn", "health": "Up"}]}),
    serde_json::json!({"regions": [{"name": "fsn", "health": "Down", "message": "refused"}]}),
    false
)]
#[case::read_back(
    serde_json::json!({"conditions": [{"type": "Ready", "status": "True", "reason": "Programmed"}]}),
    serde_json::json!({"conditions": [{"type": "Ready", "status": "Unknown", "reason": "Pending"}]}),
    true
)]
#[case::conflict(
    serde_json::json!({"conditions": [{"type": "Ready", "status": "True", "reason": "Good"}]}),
    serde_json::json!({"conditions": [{"type": "Ready", "status": "False", "reason": "NameConflict"}]}),
    false
)]
fn what_one_side_cannot_know_is_no_difference(#[case] old: Value, #[case] new: Value, #[case] same: bool) {
    let plain = plan(20_260_102, vec![]);
    let with = |status: &Value| {
        let mut document = plain.clone();
        document.objects[0].manifest["status"] = status.clone();
        document
    };
    assert_eq!(diff(&with(&old), &with(&new)).is_empty(), same);
}

#[test]
fn a_plan_goes_on_with_the_health_of_the_one_before() {
    let placement = |name: &str| {
        let spec = serde_json::json!({
            "hostname": "pay.example.org", "mode": "active-passive-warm",
            "healthCheck": { "protocol": "TCP", "port": 9 },
            "regions": [{ "name": "fsn", "addresses": ["192.0.2.1"] }, { "name": "nbg", "addresses": ["192.0.2.2"] }]
        });
        object(Kind::Placement, "dns", name, spec)
    };
    let mut running = Planner::new(vec!["default".to_owned()]);
    running.apply(vec![Change::Today(20_260_102), placement("pay")]);
    let (probe, _) = running.probes().next().unwrap();
    let down =
        crate::TargetHealth { state: crate::TargetState::Down, since: 5, reason: "no".into(), seen_up: true };
    running.apply(vec![Change::Health(probe, down)]);
    let before = Document::parse(&serde_json::to_string(&Document::of(&running)).unwrap()).unwrap();
    let mut next = Planner::new(vec!["default".to_owned()]);
    next.apply(before.serials().into_iter().chain([Change::Today(20_260_102), placement("pay")]).collect());
    next.apply(before.health());
    let after = Document::of(&next);
    assert_eq!(after.health, before.health);
    assert_eq!(diff(&before, &after), []);
}
