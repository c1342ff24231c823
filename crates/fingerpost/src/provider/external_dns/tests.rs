#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::num::NonZeroU32;

use axum::body::{Body, to_bytes};
use dns::Name;
use http::header::HOST;
use http::{HeaderValue, Request};
use rstest::rstest;
use serde_json::Value;
use tower::ServiceExt;

use super::super::authentication::Authentication;
use super::super::embedded::Embedded;
use super::super::entrance::Entrance;
use super::super::fences::Fences;
use super::super::limits::Limits;
use super::super::listings::Listings;
use super::super::metrics::Metrics;
use super::super::store::Store;
use super::*;
use crate::http::hosts::Hosts;
use crate::http::server::bodies::Bodies;

fn server() -> Arc<Shared> {
    limited(None)
}

fn limited(rate: Option<NonZeroU32>) -> Arc<Shared> {
    let (embedded, _) = Embedded::open(None).unwrap();
    Arc::new(Shared {
        store: Store::new(Arc::new(embedded), vec![Name::parse("example.com").unwrap()]),
        authentication: Authentication::default(),
        fences: Fences::open(None).unwrap().0,
        entrance: Entrance::new(Limits::new(rate), Some(Hosts::new(&[])), Bodies::new(1 << 20), MEDIA_TYPE),
        listings: Listings::default(),
        metrics: Metrics::default(),
        default_ttl: 300,
    })
}

async fn send(
    shared: &Arc<Shared>,
    request: http::request::Builder,
    body: impl Into<Body>,
) -> (u16, String, Value) {
    let mut request = request.body(body.into()).unwrap();
    request.headers_mut().entry(HOST).or_insert(HeaderValue::from_static("localhost:8888"));
    request.headers_mut().entry(CONTENT_TYPE).or_insert(HeaderValue::from_static(VERSIONED));
    let response = router(shared.clone()).oneshot(request).await.unwrap();
    let (parts, body) = response.into_parts();
    let media = parts.headers.get(CONTENT_TYPE).map(|value| value.to_str().unwrap().to_owned());
    let body = to_bytes(body, usize::MAX).await.unwrap();
    let json = serde_json::from_slice(&body).unwrap_or(Value::Null);
    (parts.status.as_u16(), media.unwrap_or_default(), json)
}

async fn change(shared: &Arc<Shared>, changes: Value) -> u16 {
    send(shared, Request::post("/records"), changes.to_string()).await.0
}

async fn listed(shared: &Arc<Shared>) -> Vec<String> {
    let (status, media, body) = send(shared, Request::get("/records"), Body::empty()).await;
    assert_eq!((status, media.as_str()), (200, VERSIONED));
    let line = |endpoint: &Value| {
        let targets: Vec<&str> =
            endpoint["targets"].as_array().unwrap().iter().map(|t| t.as_str().unwrap()).collect();
        format!(
            "{} {} {} {}",
            endpoint["dnsName"].as_str().unwrap(),
            endpoint["recordTTL"],
            endpoint["recordType"].as_str().unwrap(),
            targets.join(",")
        )
    };
    body.as_array().unwrap().iter().map(line).collect()
}

fn endpoint(name: &str, rtype: &str, targets: &[&str]) -> Value {
    json!({"dnsName": name, "recordType": rtype, "targets": targets, "labels": {"owner": "o"}})
}

#[tokio::test]
async fn it_negotiates_its_zones() {
    let (status, media, body) = send(&server(), Request::get("/"), Body::empty()).await;
    assert_eq!((status, media.as_str()), (200, VERSIONED));
    assert_eq!(body, json!({"include": ["example.com"], "exclude": []}));
}

#[tokio::test]
async fn what_is_created_changed_and_deleted_is_read_back() {
    let server = server();
    let mark = r#""heritage=external-dns,external-dns/owner=o,external-dns/resource=crd/a/b""#;
    let created = json!({"create": [
        endpoint("www.example.com", "A", &["192.0.2.1", "192.0.2.2"]), endpoint("a-www.example.com", "TXT", &[mark]),
    ], "delete": null});
    assert_eq!(change(&server, created).await, 204);
    let expected =
        [format!("a-www.example.com 300 TXT {mark}"), "www.example.com 300 A 192.0.2.1,192.0.2.2".to_owned()];
    assert_eq!(listed(&server).await, expected);
    let changed = json!({
        "updateOld": [endpoint("www.example.com", "A", &["192.0.2.1", "192.0.2.2"])],
        "updateNew": [{"dnsName": "www.example.com", "recordType": "A", "targets": ["192.0.2.3"], "recordTTL": 60}],
        "delete": [endpoint("a-www.example.com", "TXT", &[mark])]
    });
    assert_eq!(change(&server, changed).await, 204);
    assert_eq!(listed(&server).await, ["www.example.com 60 A 192.0.2.3"]);
}

#[tokio::test]
async fn a_record_changes_its_type_in_one_step() {
    let server = server();
    change(&server, json!({"create": [endpoint("www.example.com", "A", &["192.0.2.1"])]})).await;
    let changes = json!({
        "create": [endpoint("www.example.com", "CNAME", &["example.net"])],
        "delete": [endpoint("www.example.com", "A", &["192.0.2.1"])]
    });
    assert_eq!(change(&server, changes).await, 204);
    assert_eq!(listed(&server).await, ["www.example.com 300 CNAME example.net"]);
}

#[tokio::test]
async fn one_change_that_cannot_be_made_is_told_and_the_others_are_made() {
    let server = server();
    let changes = json!({"create": [
        endpoint("example.com", "CNAME", &["example.net"]), endpoint("www.example.com", "A", &["192.0.2.1"]),
    ]});
    assert_eq!(change(&server, changes).await, 500);
    assert_eq!(listed(&server).await, ["www.example.com 300 A 192.0.2.1"]);
    assert_eq!(change(&server, json!("nonsense")).await, 400);
}

#[rstest]
#[case("TXT", "v=spf1 -all", Some("\"v=spf1 -all\""))]
#[case("TXT", "\"v=spf1 -all\"", Some("\"v=spf1 -all\""))]
#[case("CNAME", "Example.NET.", Some("example.net"))]
#[case("MX", "10 mail.example.com", Some("10 mail.example.com"))]
#[case("SRV", "1 2 3 host.example.com.", Some("1 2 3 host.example.com."))]
#[case("NS", "ns1.example.net", Some("ns1.example.net"))]
#[case("A", "not an address", None)]
#[case("NONSENSE", "x", None)]
#[case("SOA", "ns.example.net. a. 1 2 3 4 5", None)]
#[case("NSEC", "a.example.org. A", None)]
#[case("TYPE65402", "\\# 1 00", None)]
#[tokio::test]
async fn endpoints_are_adjusted_to_what_would_be_read_back(
    #[case] rtype: &str,
    #[case] target: &str,
    #[case] adjusted: Option<&str>,
) {
    let server = server();
    let asked = json!([endpoint("www.example.com", rtype, &[target])]);
    let (status, media, body) = send(&server, Request::post("/adjustendpoints"), asked.to_string()).await;
    assert_eq!((status, media.as_str()), (200, VERSIONED));
    let targets: Vec<&str> =
        body.as_array().unwrap().iter().map(|endpoint| endpoint["targets"][0].as_str().unwrap()).collect();
    assert_eq!(targets, adjusted.into_iter().collect::<Vec<_>>());
    if let Some(adjusted) = adjusted {
        assert_eq!(body[0]["labels"], json!({"owner": "o"}));
        change(&server, json!({"create": body})).await;
        assert!(listed(&server).await[0].ends_with(adjusted));
    }
}

#[tokio::test]
async fn an_endpoint_that_wants_steering_is_left_out_and_one_elsewhere_is_not_judged() {
    let asked = json!([
        {"dnsName": "www.example.com", "recordType": "A", "targets": ["192.0.2.1"], "setIdentifier": "one"},
        endpoint("www.example.net", "A", &["192.0.2.1"]),
    ]);
    let (_, _, body) = send(&server(), Request::post("/adjustendpoints"), asked.to_string()).await;
    assert_eq!(body, json!([endpoint("www.example.net", "A", &["192.0.2.1"])]));
}

#[tokio::test]
async fn the_rate_limit_and_the_bound_on_bodies_hold() {
    let server = limited(NonZeroU32::new(2));
    let mut statuses = Vec::new();
    for _ in 0..4 {
        statuses.push(send(&server, Request::get("/"), Body::empty()).await.0);
    }
    assert_eq!(statuses, [200, 200, 429, 429]);
    let server = self::server();
    let large = "x".repeat((1 << 20) + 1);
    for path in ["/records", "/adjustendpoints"] {
        assert_eq!(send(&server, Request::post(path), large.clone()).await.0, 413, "{path}");
    }
}

#[tokio::test]
async fn no_web_page_writes() {
    let server = server();
    let body = json!({"create": [endpoint("www.example.com", "A", &["192.0.2.1"])]}).to_string();
    let requests = [
        (Request::post("/records").header(HOST, "rebound.example.net:8888"), 403),
        (Request::post("/records").header("origin", "http://evil.example"), 403),
        (Request::post("/records").header("sec-fetch-site", "cross-site"), 403),
        (Request::post("/records").header(CONTENT_TYPE, "text/plain"), 415),
        (Request::post("/records").header(CONTENT_TYPE, "application/json"), 415),
        (Request::get("/records").header(HOST, "rebound.example.net:8888"), 403),
    ];
    for (request, status) in requests {
        assert_eq!(send(&server, request, body.clone()).await.0, status);
    }
    assert_eq!(listed(&server).await, [""; 0]);
    assert_eq!(change(&server, serde_json::from_str(&body).unwrap()).await, 204);
}
