#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::num::NonZeroU32;

use api::dnsclass::HmacAlgorithm;
use axum::body::to_bytes;
use backends::webhook::{Fence, Keys, Verifier, nonce, sign, signed_string};
use dns::Name;
use http::HeaderValue;
use http::header::{CONTENT_TYPE, HOST};
use rstest::rstest;
use serde_json::{Value, json};
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

/// A server without a socket.
struct Server(Arc<Shared>);

impl Server {
    fn new() -> Server {
        Server::with(Authentication::default(), None)
    }

    fn with(authentication: Authentication, rate: Option<u32>) -> Server {
        let (embedded, _) = Embedded::open(None).unwrap();
        let zones = vec![Name::parse("example.com").unwrap()];
        Server(Arc::new(Shared {
            store: Store::new(Arc::new(embedded), zones),
            authentication,
            fences: Fences::open(None).unwrap().0,
            entrance: Entrance::new(
                Limits::new(rate.and_then(NonZeroU32::new)),
                Some(Hosts::new(&[])),
                Bodies::new(32 << 20),
                MEDIA_TYPE,
            ),
            listings: Listings::default(),
            metrics: Metrics::default(),
            default_ttl: 300,
        }))
    }

    fn signing() -> (Server, Keys) {
        let keys = Keys { algorithm: HmacAlgorithm::Sha256, first: b"secret".to_vec(), others: Vec::new() };
        let signatures = Some(Verifier::new(keys.clone()));
        (Server::with(Authentication { signatures, ..Authentication::default() }, None), keys)
    }

    async fn send(&self, request: http::request::Builder, body: impl Into<Body>) -> (u16, Value) {
        let (status, _, body) = self.exchange(request, body).await;
        (status, body)
    }

    async fn exchange(
        &self,
        request: http::request::Builder,
        body: impl Into<Body>,
    ) -> (u16, http::HeaderMap, Value) {
        let mut request = request.body(body.into()).unwrap();
        let headers = request.headers_mut();
        headers.entry(HOST).or_insert(HeaderValue::from_static("127.0.0.1:8888"));
        headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static(MEDIA_TYPE));
        let response = router(self.0.clone()).oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = to_bytes(body, usize::MAX).await.unwrap();
        let json = serde_json::from_slice(&body).unwrap_or_else(|_| panic!("{body:?} is not JSON"));
        (parts.status.as_u16(), parts.headers, json)
    }

    async fn post(&self, body: &Value) -> (u16, Value) {
        self.send(Request::post("/records"), body.to_string()).await
    }

    async fn get(&self, path: &str) -> (u16, Value) {
        self.send(Request::get(path), Body::empty()).await
    }

    async fn delete(&self, path: &str) -> (u16, Value) {
        self.send(Request::delete(path), Body::empty()).await
    }
}

fn www(address: &str) -> Value {
    json!({"record": {
        "type": "A", "domain": "example.com", "subdomain": "www", "values": [address], "ttl": 600
    }, "operation": "upsert"})
}

fn code(body: &Value) -> &str {
    body["error"]["code"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn the_documents_requests_get_the_documents_answers() {
    let server = Server::new();
    let (status, health) = server.get("/health").await;
    assert_eq!((status, health["status"].as_str()), (200, Some("healthy")));
    assert_eq!(health["message"], "DNS server is operational");
    assert!(health["timestamp"].as_str().unwrap().ends_with('Z'));
    let record = json!({
        "type": "A", "domain": "example.com", "subdomain": "www",
        "values": ["192.168.1.100", "192.168.1.101"], "ttl": 600
    });
    let mut stands = record.clone();
    stands["fqdn"] = json!("www.example.com");
    let upsert = json!({"record": record, "operation": "upsert"});
    let created = json!({"success": true, "record": stands, "message": "Record created successfully"});
    assert_eq!(server.post(&upsert).await, (200, created));
    let path = "/records/A/example.com/www";
    assert_eq!(server.get(path).await, (200, json!({"success": true, "record": stands})));
    assert_eq!(server.post(&upsert).await.1["message"], "Record is unchanged");
    assert_eq!(server.post(&www("192.0.2.1")).await.1["message"], "Record updated successfully");
    let deleted = json!({"success": true, "message": "Record deleted successfully"});
    assert_eq!(server.delete(path).await, (200, deleted));
    let missing = json!({"success": false, "error": {
        "code": "RECORD_NOT_FOUND", "message": "Record does not exist", "details": {}
    }});
    assert_eq!(server.delete(path).await, (404, missing.clone()));
    assert_eq!(server.get(path).await, (404, missing));
}

#[tokio::test]
async fn every_type_of_the_document_comes_back_as_it_was_told() {
    let server = Server::new();
    let records = [
        json!({"type": "AAAA", "subdomain": "@", "values": ["2001:db8::1"]}),
        json!({"type": "CNAME", "subdomain": "shop", "values": ["www.example.net"]}),
        json!({"type": "TXT", "subdomain": "@", "values": ["v=spf1 -all", "x".repeat(700)]}),
        json!({"type": "MX", "subdomain": "@", "values": ["mail.example.com"], "metadata": {"priority": 10}}),
        json!({"type": "SRV", "subdomain": "_sip._tcp", "values": ["sip.example.com"],
            "metadata": {"priority": 10, "weight": 100, "port": 443}}),
        json!({"type": "NS", "subdomain": "sub", "values": ["ns1.example.net"]}),
        json!({"type": "PTR", "subdomain": "7", "values": ["www.example.com"]}),
        json!({"type": "CAA", "subdomain": "@", "values": ["0 issue \"ca.example.net\""]}),
        json!({"type": "A", "subdomain": "*.apps", "values": ["192.0.2.7"],
            "providerSpecific": {"aws/weight": "10"}}),
        json!({"type": "MX", "subdomain": "other", "values": ["10 a.example.com.", "20 b.example.com."],
            "format": "presentation"}),
    ];
    for mut record in records {
        record["domain"] = json!("example.com");
        record["ttl"] = json!(60);
        let (status, body) = server.post(&json!({"record": record, "operation": "upsert"})).await;
        assert_eq!(status, 200, "{body}");
        let identity: Identity = serde_json::from_value(record.clone()).unwrap();
        let (_, mut body) = server.get(&identity.path()).await;
        body["record"].as_object_mut().unwrap().remove("fqdn");
        assert_eq!(body["record"], record);
    }
}

#[tokio::test]
async fn a_record_without_a_ttl_gets_the_default() {
    let server = Server::new();
    let mut upsert = www("192.0.2.1");
    upsert["record"].as_object_mut().unwrap().remove("ttl");
    assert_eq!(server.post(&upsert).await.1["record"]["ttl"], 300);
}

#[rstest]
#[case("{", "INVALID_RECORD")]
#[case("[]", "INVALID_RECORD")]
#[case(r#"{"operation": "upsert"}"#, "INVALID_RECORD")]
#[case(
    r#"{"record": {"type":"A","domain":"example.com","subdomain":"www","values":["192.0.2.1"]}}"#,
    "INVALID_RECORD"
)]
#[case(
    r#"{"operation": "delete", "record": {"type":"A","domain":"example.com","subdomain":"www"}}"#,
    "INVALID_RECORD"
)]
#[case(r#"{"operation": "upsert", "record": {"type":"Z","domain":"example.com","subdomain":"www","values":["x"]}}"#, "INVALID_RECORD")]
#[case(r#"{"operation": "upsert", "record": {"type":"A","domain":"example.com","subdomain":"www","values":["x"]}}"#, "INVALID_VALUE")]
#[case(r#"{"operation": "upsert", "record": {"type":"A","domain":"a..b","subdomain":"www","values":["192.0.2.1"]}}"#, "INVALID_DOMAIN")]
#[case(r#"{"operation": "upsert", "record": {"type":"A","domain":"example.net","subdomain":"www","values":["192.0.2.1"]}}"#, "INVALID_DOMAIN")]
#[case(r#"{"operation": "upsert", "record": {"type":"CNAME","domain":"example.com","subdomain":"@","values":["a.example.net"]}}"#, "INVALID_RECORD")]
#[tokio::test]
async fn bad_input_is_400_with_its_code(#[case] body: &'static str, #[case] expected: &str) {
    let (status, answer) = Server::new().send(Request::post("/records"), body).await;
    assert_eq!((status, code(&answer)), (400, expected), "{answer}");
}

#[rstest]
#[case("GET", "/", 404, "UNKNOWN_PATH")]
#[case("GET", "/records", 405, "METHOD_NOT_ALLOWED")]
#[case("DELETE", "/health", 405, "METHOD_NOT_ALLOWED")]
#[case("PUT", "/records/A/example.com/www", 405, "METHOD_NOT_ALLOWED")]
#[case("GET", "/records/A/example.com", 404, "UNKNOWN_PATH")]
#[case("GET", "/records/NOTYPE/example.com/www", 400, "INVALID_RECORD")]
#[case("GET", "/records/A/example.com/%ff", 400, "INVALID_RECORD")]
#[case("GET", "/records/A/example.net/www", 400, "INVALID_DOMAIN")]
#[case("DELETE", "/records/A/example.net/www", 400, "INVALID_DOMAIN")]
#[case("DELETE", "/records/SOA/example.com/@", 400, "INVALID_RECORD")]
#[tokio::test]
async fn a_wrong_request_is_told_so(
    #[case] method: &str,
    #[case] path: &str,
    #[case] status: u16,
    #[case] expected: &str,
) {
    let server = Server::new();
    let (found, headers, body) =
        server.exchange(Request::builder().method(method).uri(path), Body::empty()).await;
    assert_eq!((found, code(&body)), (status, expected));
    assert_eq!(headers.contains_key("allow"), status == 405);
}

#[tokio::test]
async fn a_body_without_end_is_refused() {
    let (status, body) = Server::new().send(Request::post("/records"), vec![b' '; MOST + 1]).await;
    assert_eq!((status, code(&body)), (413, "TOO_LARGE"));
}

#[tokio::test]
async fn a_batch_is_made_as_far_as_it_can_be() {
    let server = Server::new();
    let change = |name: &str, values: Value| {
        json!({"operation": "upsert", "record": {
            "type": "A", "domain": "example.com", "subdomain": name, "values": values
        }})
    };
    let remove =
        json!({"operation": "delete", "record": {"type": "A", "domain": "example.com", "subdomain": "a"}});
    let changes = json!({"changes": [
        change("a", json!(["192.0.2.1"])), change("b", json!(["bad"])), change("c", json!(["192.0.2.3"])),
        remove, remove
    ]});
    let (status, body) = server.send(Request::post("/records/batch"), changes.to_string()).await;
    assert_eq!((status, &body["success"]), (200, &json!(false)));
    let results = body["results"].as_array().unwrap();
    let fared: Vec<(bool, &str)> =
        results.iter().map(|result| (result["success"].as_bool().unwrap(), code(result))).collect();
    let expected =
        [(true, ""), (false, "INVALID_VALUE"), (true, ""), (true, ""), (false, "RECORD_NOT_FOUND")];
    assert_eq!(fared, expected);
    assert_eq!(server.get("/records/A/example.com/a").await.0, 404);
    assert_eq!(server.get("/records/A/example.com/c").await.0, 200);
    let many = json!({"changes": vec![remove; MOST_CHANGES + 1]});
    assert_eq!(server.send(Request::post("/records/batch"), many.to_string()).await.0, 413);
}

#[tokio::test]
async fn a_generation_that_was_followed_by_a_higher_one_writes_no_more() {
    let server = Server::new();
    let fenced = |generation: &str| {
        Request::post("/records").header("x-dns-owner", "blue").header("x-dns-generation", generation)
    };
    assert_eq!(server.send(fenced("7"), www("192.0.2.7").to_string()).await.0, 200);
    let (status, body) = server.send(fenced("6"), www("192.0.2.6").to_string()).await;
    assert_eq!((status, code(&body)), (409, "STALE_GENERATION"));
    assert_eq!(server.send(fenced("8"), www("192.0.2.8").to_string()).await.0, 200);
    let delete = Request::delete("/records/A/example.com/www").header("x-dns-owner", "blue");
    let (status, _) = server.send(delete.header("x-dns-generation", "7"), Body::empty()).await;
    assert_eq!(status, 409);
    let (status, body) = server.send(fenced("seven"), www("192.0.2.7").to_string()).await;
    assert_eq!((status, code(&body)), (400, "INVALID_RECORD"));
    assert_eq!(server.get("/records/A/example.com/www").await.1["record"]["values"], json!(["192.0.2.8"]));
}

/// A signed request.
fn signed(
    keys: &Keys,
    number: u128,
    method: &str,
    path: &str,
    body: &str,
    at: Timestamp,
) -> http::request::Builder {
    let fence = Fence { owner: "blue".to_owned(), generation: 1 };
    let (nonce, timestamp) = (nonce::make(number.to_be_bytes(), "h", Some(&fence)), at.to_string());
    let signature = sign(keys, &signed_string(method, path, &timestamp, &nonce, body.as_bytes()));
    Request::builder()
        .method(method)
        .uri(path)
        .header("X-DNS-Timestamp", timestamp)
        .header("X-DNS-Nonce", nonce)
        .header("X-DNS-Signature", signature)
        .header("X-DNS-Owner", "blue")
        .header("X-DNS-Generation", "1")
}

#[tokio::test]
async fn a_signing_server_believes_signed_requests_once() {
    let (server, keys) = Server::signing();
    let (body, now) = (www("192.0.2.1").to_string(), Timestamp::now());
    let sent = || signed(&keys, 1, "POST", "/records", &body, now);
    let (status, answer) = server.send(sent(), www("192.0.2.2").to_string()).await;
    assert_eq!((status, code(&answer)), (401, "AUTH_FAILED"), "another body");
    assert_eq!(server.send(sent(), body.clone()).await.0, 200);
    let (status, answer) = server.send(sent(), body.clone()).await;
    assert_eq!((status, code(&answer)), (401, "NONCE_REUSED"));
    let old = now.checked_sub(jiff::SignedDuration::from_mins(6)).unwrap();
    let (status, answer) = server.send(signed(&keys, 2, "POST", "/records", &body, old), body.clone()).await;
    assert_eq!((status, code(&answer)), (401, "TIMESTAMP_STALE"));
    for request in
        [Request::get("/health"), Request::get("/records/A/example.com/www"), Request::get("/nowhere")]
    {
        let (status, answer) = server.send(request, Body::empty()).await;
        assert_eq!((status, code(&answer)), (401, "AUTH_FAILED"), "nothing is told to strangers");
    }
    let path = "/records/A/example.com/www";
    assert_eq!(server.send(signed(&keys, 3, "DELETE", path, "", now), Body::empty()).await.0, 200);
}

#[tokio::test]
async fn too_many_requests_are_told_when_to_come_again() {
    let server = Server::with(Authentication::default(), Some(2));
    let mut limited = None;
    for _ in 0..50 {
        let (status, headers, body) = server.exchange(Request::get("/health"), Body::empty()).await;
        if status == 429 {
            limited = Some((headers, body));
            break;
        }
    }
    let (headers, body) = limited.expect("fifty requests at once are too many");
    assert_eq!(code(&body), "RATE_LIMITED");
    assert!(headers["retry-after"].to_str().unwrap().parse::<u64>().unwrap() >= 1);
}
