//! The webhook through its router, with the manifests of `testdata/admission`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use api::{DNSConfigurationSpec, Kind, Lookup, Object};
use axum::body::Body;
use axum::http;
use rstest::rstest;
use serde_json::{Value, json};
use tower::ServiceExt;

use super::*;

/// A cluster in which a DNSConfiguration is known or not.
#[derive(Default)]
struct Known {
    configuration: Option<DNSConfigurationSpec>,
    allowed: Option<IpAddr>,
}

impl Context for Known {
    fn configuration(&self) -> Option<DNSConfigurationSpec> {
        self.configuration.clone()
    }

    fn missing_grant(&self, object: &Object) -> Option<String> {
        (&*object.meta.namespace == "ungranted").then(|| "www.example.org is not granted".to_owned())
    }

    fn allows_target(&self, address: IpAddr) -> bool {
        self.allowed == Some(address)
    }
}

struct Broken;

impl Context for Broken {
    fn configuration(&self) -> Option<DNSConfigurationSpec> {
        panic!("the context is broken")
    }

    fn missing_grant(&self, _: &Object) -> Option<String> {
        panic!("the context is broken")
    }

    fn allows_target(&self, _: IpAddr) -> bool {
        panic!("the context is broken")
    }
}

async fn post(context: Arc<dyn Context>, body: Vec<u8>) -> (StatusCode, Vec<u8>) {
    let request = http::Request::post(PATH).body(Body::from(body)).unwrap();
    let response = router(context).oneshot(request).await.unwrap();
    let status = response.status();
    let body = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
    (status, body.to_vec())
}

fn review(operation: &str, object: &Value, old: &Value) -> Value {
    let api_version = object["apiVersion"].as_str().or(old["apiVersion"].as_str()).unwrap();
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let kind = object["kind"].as_str().or(old["kind"].as_str()).unwrap();
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "u-1", "kind": {"group": group, "version": version, "kind": kind},
        "name": object["metadata"]["name"], "operation": operation, "object": object, "oldObject": old,
    }})
}

/// The `response` of the webhook's answer.
async fn ask(context: impl Context, operation: &str, object: &Value, old: &Value) -> Value {
    let mut review = review(operation, object, old);
    review["request"]["name"] = json!("any");
    let (status, body) = post(Arc::new(context), serde_json::to_vec(&review).unwrap()).await;
    assert_eq!(status, StatusCode::OK, "{}", String::from_utf8_lossy(&body));
    let answer: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!((&answer["apiVersion"], &answer["kind"]), (&review["apiVersion"], &review["kind"]));
    assert_eq!(answer["response"]["uid"], "u-1");
    answer["response"].clone()
}

async fn create(object: &Value) -> Value {
    ask(Known::default(), "CREATE", object, &Value::Null).await
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/admission").join(name)
}

/// The objects of a file as the API server would send them.
fn objects(text: &str) -> Vec<Value> {
    let filled = |text: &&str| text.lines().any(|line| !line.is_empty() && !line.starts_with('#'));
    let documents = text.split("\n---\n").filter(filled);
    let values = documents.map(|text| serde_saphyr::from_str::<Value>(text).unwrap());
    values.map(as_stored).collect()
}

/// What the API server adds to every object.
fn as_stored(mut object: Value) -> Value {
    let metadata = object["metadata"].as_object_mut().unwrap();
    metadata.insert("uid".into(), json!("0-1"));
    metadata.insert("creationTimestamp".into(), json!("2026-01-01T00:00:00Z"));
    metadata.insert("generation".into(), json!(1));
    metadata.insert("managedFields".into(), json!([{"manager": "kubectl", "operation": "Apply"}]));
    metadata.insert("aFieldOfTheFuture".into(), json!({}));
    object["status"] = json!({"observedGeneration": -1});
    object
}

#[tokio::test]
async fn every_manifest_in_accept_is_allowed_without_a_word() {
    for path in files(&folder("accept")) {
        for object in objects(&fs::read_to_string(&path).unwrap()) {
            let answer = create(&object).await;
            assert_eq!(answer["allowed"], true, "{}: {answer}", path.display());
            let foreign = !path.ends_with("foreign.yaml");
            assert_eq!(answer["warnings"].is_null(), foreign, "{}: {answer}", path.display());
        }
    }
}

/// What `check` prints about an object, unless it does not even decode.
fn checked(object: &Value) -> Option<String> {
    let text = |field: &str| object[field].as_str().unwrap_or_default().to_owned();
    let Lookup::Known(kind) = Kind::lookup(&text("apiVersion"), &text("kind")) else { return None };
    let mut plain = object.clone();
    plain["metadata"].as_object_mut().unwrap().remove("aFieldOfTheFuture");
    let problems = api::validate(&api::decode(kind, &plain).ok()?);
    Some(problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}

#[tokio::test]
async fn every_manifest_in_reject_is_refused_in_the_words_of_check() {
    let (mut wrong, mut compared) = (Vec::new(), 0);
    for path in files(&folder("reject")) {
        let text = fs::read_to_string(&path).unwrap();
        let expected = text.lines().next().and_then(|line| line.strip_prefix("# expect: ")).unwrap();
        for object in objects(&text) {
            let answer = create(&object).await;
            let message = answer["status"]["message"].as_str().unwrap_or_default();
            // An unknown kind never comes here, and an unknown field only from newer definitions.
            let warned =
                |words: &str| answer["warnings"][0].as_str().is_some_and(|text| text.contains(words));
            let newer = path.to_string_lossy().ends_with("unknown-field.yaml");
            let unknown = warned("has no rules for") || newer && warned("leaves out fields");
            let refused = answer["allowed"] == false && answer["status"]["code"] == 422;
            let same = checked(&object).is_none_or(|words| words == message);
            compared += usize::from(checked(&object).is_some());
            // What names a line of a file is said by the YAML parser; here the field is named.
            let told = message.contains(expected) || expected.starts_with("line ");
            if !(unknown || refused && same && told) {
                wrong.push(format!("{} expects `{expected}`: {answer}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(compared > 100, "only {compared} manifests were compared");
}

fn identity(adopts: &[&str]) -> Value {
    json!({"apiVersion": "cluster.router.io/v1alpha1", "kind": "ClusterIdentity",
        "metadata": {"name": "cluster-identity"},
        "spec": {"region": "weu", "cluster": "aks01", "domain": "example.org", "environmentLetter": "p",
            "adoptsRegions": adopts}})
}

fn class(server: &str) -> Value {
    json!({"apiVersion": "dns.homelab.mortenolsen.pro/v1alpha1", "kind": "DNSClass",
        "metadata": {"name": "edge"}, "spec": {"server": server}})
}

#[tokio::test]
async fn a_region_that_nobody_serves_is_refused_where_the_configuration_is_known() {
    let configuration =
        serde_json::from_value(json!({"externalDNSControllers": [{"name": "a", "region": "weu"}]})).unwrap();
    let known = Known { configuration: Some(configuration), allowed: None };
    let answer = ask(known, "CREATE", &identity(&["frc"]), &Value::Null).await;
    let message = answer["status"]["message"].as_str().unwrap();
    assert!(message.starts_with("spec.adoptsRegions[0]: `frc` is a region that no controller"), "{answer}");
    assert_eq!(create(&identity(&["frc"])).await["allowed"], true);
}

#[tokio::test]
async fn a_target_that_only_this_process_reaches_is_refused_unless_allowed() {
    let class = class("http://127.0.0.1:8080");
    let answer = create(&class).await;
    assert!(answer["status"]["message"].as_str().unwrap().contains("--allow-target"), "{answer}");
    let known = Known { configuration: None, allowed: Some("127.0.0.1".parse().unwrap()) };
    assert_eq!(ask(known, "CREATE", &class, &Value::Null).await["allowed"], true);
}

#[tokio::test]
async fn a_name_without_a_domain_grant_is_refused() {
    let placement = |namespace: &str| {
        json!({
            "apiVersion": "fingerpost.dev/v1alpha1", "kind": "Placement",
            "metadata": {"name": "www", "namespace": namespace},
            "spec": {
                "hostname": "www.example.org", "mode": "single-region",
                "regions": [{"name": "weu", "addresses": ["192.0.2.1"]}],
            },
        })
    };
    let answer = create(&placement("ungranted")).await;
    let message = answer["status"]["message"].as_str().unwrap();
    assert!(message.starts_with("DomainNotGranted: www.example.org"), "{answer}");
    assert_eq!(create(&placement("granted")).await["allowed"], true);
}

#[tokio::test]
async fn all_problems_are_told() {
    let mut wrong = identity(&["weu", "weu"]);
    wrong["spec"]["domain"] = json!("not a domain");
    wrong["spec"]["environmentLetter"] = json!("prod");
    let answer = create(&wrong).await;
    let message = answer["status"]["message"].as_str().unwrap();
    for field in ["spec.domain", "spec.environmentLetter", "spec.adoptsRegions"] {
        assert!(message.contains(field), "{field} is missing in {message}");
    }
}

/// An object that would be refused, before and after changes that are nobody's to refuse.
#[rstest]
#[case::a_label("UPDATE", "/metadata/labels", json!({"a": "b"}))]
#[case::a_finalizer("UPDATE", "/metadata/finalizers", json!([]))]
#[case::a_deletion_under_way("UPDATE", "/metadata/deletionTimestamp", json!("2026-01-01T00:00:00Z"))]
#[case::a_status("UPDATE", "/status", json!({"phase": "Failed"}))]
#[case::a_deletion("DELETE", "", Value::Null)]
#[case::something_new("CONNECT", "/spec", json!({}))]
#[tokio::test]
async fn what_leaves_the_spec_alone_is_allowed(
    #[case] operation: &str,
    #[case] pointer: &str,
    #[case] value: Value,
) {
    let old = as_stored(class("nonsense://"));
    assert_eq!(create(&old).await["allowed"], false);
    let mut new = old.clone();
    let (parent, field) = pointer.rsplit_once('/').unwrap_or_default();
    match field {
        "" => new = value,
        field => new.pointer_mut(parent).unwrap()[field] = value,
    }
    assert_eq!(ask(Known::default(), operation, &new, &old).await, json!({"uid": "u-1", "allowed": true}));
}

#[tokio::test]
async fn a_changed_spec_is_judged_also_while_the_object_is_being_deleted() {
    let mut old = as_stored(class("nonsense://"));
    old["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    let mut new = old.clone();
    new["spec"]["server"] = json!("other-nonsense://");
    assert_eq!(ask(Known::default(), "UPDATE", &new, &old).await["allowed"], false);
    new["spec"]["server"] = json!("http://dns.example.org");
    assert_eq!(ask(Known::default(), "UPDATE", &new, &old).await["allowed"], true);
}

#[tokio::test]
async fn a_generated_name_is_judged_by_its_beginning() {
    let mut object = class("http://dns.example.org");
    object["metadata"] = json!({"generateName": "edge-"});
    assert_eq!(create(&object).await, json!({"uid": "u-1", "allowed": true}));
}

#[tokio::test]
async fn a_fault_of_ours_lets_the_object_pass_with_a_warning() {
    for object in [identity(&[]), class("http://127.0.0.1")] {
        let answer = ask(Broken, "CREATE", &object, &Value::Null).await;
        assert_eq!(answer["allowed"], true, "{answer}");
        assert!(answer["warnings"][0].as_str().unwrap().contains("could not judge"), "{answer}");
    }
}

#[tokio::test]
async fn a_huge_value_does_not_come_back_whole() {
    let answer = create(&class(&"ä".repeat(1 << 20))).await;
    assert_eq!(answer["allowed"], false);
    assert!(answer["status"]["message"].as_str().unwrap().len() < 20 << 10);
}

#[rstest]
#[case::nothing(b"".to_vec())]
#[case::no_json(b"{".to_vec())]
#[case::not_text(vec![0xff, 0xfe])]
#[case::a_number(b"1".to_vec())]
#[case::no_request(br#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}"#.to_vec())]
#[case::an_older_version(
    br#"{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview","request":{"uid":"u","kind":{"version":"v1","kind":"X"},"operation":"CREATE"}}"#.to_vec()
)]
#[case::too_deep([b"[".repeat(1 << 20), b"]".repeat(1 << 20)].concat())]
#[tokio::test]
async fn a_body_that_is_no_review_gets_400(#[case] body: Vec<u8>) {
    let (status, words) = post(Arc::new(Known::default()), body).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(String::from_utf8(words).unwrap().starts_with("not an AdmissionReview"));
}

#[tokio::test]
async fn a_body_without_end_is_not_read() {
    let (status, _) = post(Arc::new(Known::default()), vec![b' '; LARGEST_REVIEW + 1]).await;
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
}

#[rstest]
#[case::no_object(Value::Null)]
#[case::a_list(json!([]))]
#[case::no_metadata(json!({"apiVersion": "x", "kind": "DNSClass", "spec": {"server": "http://a"}}))]
#[case::metadata_of_another_form(json!({"apiVersion": "x", "kind": "DNSClass", "metadata": 1, "spec": {}}))]
#[case::a_name_of_another_form(json!({"apiVersion": "x", "kind": "DNSClass", "metadata": {"name": {}}, "spec": {}}))]
#[case::a_spec_of_another_form(json!({"apiVersion": "x", "kind": "DNSClass", "metadata": {"name": "a"}, "spec": []}))]
#[tokio::test]
async fn an_object_of_no_form_is_refused(#[case] object: Value) {
    let mut review = review("CREATE", &class("http://a"), &Value::Null);
    review["request"]["object"] = object;
    let (status, body) = post(Arc::new(Known::default()), serde_json::to_vec(&review).unwrap()).await;
    let answer: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!((status, &answer["response"]["allowed"]), (StatusCode::OK, &json!(false)), "{answer}");
    assert_ne!(answer["response"]["status"]["message"], "", "{answer}");
}
