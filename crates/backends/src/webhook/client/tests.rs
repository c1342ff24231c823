#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use api::dnsclass::HmacAlgorithm;
use dns::{Rdata, RecordSet, Rtype};
use http::{HeaderMap, Response};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use jiff::Timestamp;
use rstest::rstest;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::super::verification::{Arrived, Verifier};
use super::*;
use crate::transport::guard::Guard;
use crate::transport::http::Trust;

/// A request as a server saw it.
struct Seen {
    method: String,
    path: String,
    headers: HeaderMap,
    body: Bytes,
}

impl Seen {
    fn line(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

type Script = dyn Fn(&Seen) -> (u16, String) + Send + Sync;

/// A server that answers by a script and remembers what it was asked.
struct Server {
    url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Server {
    async fn start(script: impl Fn(&Seen) -> (u16, String) + Send + Sync + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (seen, script) = (Arc::new(Mutex::new(Vec::new())), Arc::new(script) as Arc<Script>);
        tokio::spawn(serve(listener, script, seen.clone()));
        Server { url, seen }
    }

    fn lines(&self) -> Vec<String> {
        self.seen.lock().unwrap().iter().map(Seen::line).collect()
    }
}

async fn serve(listener: TcpListener, script: Arc<Script>, seen: Arc<Mutex<Vec<Seen>>>) {
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let (script, seen) = (script.clone(), seen.clone());
        let service = service_fn(move |request: Request<Incoming>| {
            let (script, seen) = (script.clone(), seen.clone());
            async move {
                let (parts, body) = request.into_parts();
                let path = parts.uri.path_and_query().unwrap().to_string();
                let body = body.collect().await.unwrap().to_bytes();
                let request = Seen { method: parts.method.to_string(), path, headers: parts.headers, body };
                let (status, body) = script(&request);
                seen.lock().unwrap().push(request);
                let response = Response::builder().status(status).header("retry-after", "7");
                Ok::<_, Infallible>(response.body(Full::new(Bytes::from(body))).unwrap())
            }
        });
        tokio::spawn(
            hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service),
        );
    }
}

fn keys() -> Keys {
    Keys { algorithm: HmacAlgorithm::Sha512, first: b"new".to_vec(), others: vec![b"old".to_vec()] }
}

fn client(url: &str) -> Webhook {
    let guard = Guard::allowing(["127.0.0.0/8".parse().unwrap()]);
    let http = HttpClient::new(Arc::new(guard), Duration::from_secs(10), &Trust::default()).unwrap();
    let token = Some(SecretText::from("token-text"));
    let settings = Settings { server: url.to_owned(), keys: Some(keys()), token, owner: "blue".to_owned() };
    Webhook::new(settings, http).unwrap()
}

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

fn entry(text: &str, addresses: &[&str]) -> Entry {
    let data = addresses.iter().map(|address| Rdata::a(address.parse().unwrap())).collect();
    Entry::from(RecordSet::new(name(text), Rtype::A, 600, data))
}

fn upsert(entry: Entry) -> SetChange {
    SetChange { key: SetKey::of(&entry.set), before: None, after: Some(entry) }
}

fn delete(entry: Entry) -> SetChange {
    SetChange { key: SetKey::of(&entry.set), before: Some(entry), after: None }
}

fn batch(changes: Vec<SetChange>) -> Batch {
    Batch { zone: name("example.com"), changes, guards: Vec::new(), generation: 17 }
}

fn done() -> (u16, String) {
    (200, json!({"success": true}).to_string())
}

fn not_found() -> (u16, String) {
    (404, json!({"success": false, "error": {"code": "RECORD_NOT_FOUND", "message": "x"}}).to_string())
}

fn healthy(extensions: &[&str]) -> (u16, String) {
    (200, json!({"status": "healthy", "extensions": extensions}).to_string())
}

#[tokio::test]
async fn a_record_is_created_read_and_deleted_as_in_the_document() {
    let record = json!({
        "type": "A", "domain": "example.com", "subdomain": "www", "fqdn": "www.example.com",
        "values": ["192.168.1.100", "192.168.1.101"], "ttl": 600
    });
    let server = Server::start(move |seen| match seen.line().as_str() {
        "GET /health" => healthy(&[]),
        "GET /records/A/example.com/www" => (200, json!({"success": true, "record": record}).to_string()),
        _ => done(),
    })
    .await;
    let client = client(&server.url);
    let www = entry("www.example.com", &["192.168.1.100", "192.168.1.101"]);
    assert_eq!(client.write(&batch(vec![upsert(www.clone())])).await, [Ok(())]);
    let key = (SetKey::of(&www.set), None);
    let read = client.read_sets(&name("example.com"), std::slice::from_ref(&key)).await.unwrap();
    assert_eq!(read[0].as_ref().unwrap().set, www.set);
    assert_eq!(client.write(&batch(vec![delete(www)])).await, [Ok(())]);
    let lines = [
        "GET /health",
        "POST /records",
        "GET /records/A/example.com/www",
        "DELETE /records/A/example.com/www",
    ];
    assert_eq!(server.lines(), lines);
    let seen = server.seen.lock().unwrap();
    let sent = json!({
        "operation": "upsert",
        "record": {
            "type": "A", "domain": "example.com", "subdomain": "www",
            "values": ["192.168.1.100", "192.168.1.101"], "ttl": 600
        }
    });
    assert_eq!(seen[1].json(), sent);
    assert_eq!(seen[1].headers["x-dns-generation"], "17");
    assert_eq!(seen[1].headers["x-dns-owner"], "blue");
    assert_eq!(seen[1].headers["authorization"], "Bearer token-text");
    assert!(seen[3].body.is_empty());
}

#[tokio::test]
async fn every_request_is_signed_for_this_server_and_traced() {
    let server = Server::start(|seen| match seen.path.as_str() {
        "/base/health" => healthy(&["batch"]),
        _ => done(),
    })
    .await;
    let client = client(&format!("{}/base/", server.url));
    client.health().await.unwrap();
    client.write(&batch(vec![upsert(entry("www.example.com", &["192.0.2.1"]))])).await;
    client.write(&batch(vec![delete(entry("0\\/25.example.com", &["192.0.2.1"]))])).await;
    let host = server.url.strip_prefix("http://").unwrap().to_owned();
    let verifier = Verifier::new(keys()).for_hosts(vec![host]);
    let seen = server.seen.lock().unwrap();
    assert_eq!(seen[2].path, "/base/records/A/example.com/0%2F25");
    for request in seen.iter() {
        let Seen { method, path, headers, body } = request;
        let arrived = Arrived { method, path, headers, body };
        assert_eq!(verifier.verify(&arrived, Timestamp::now()), Ok(()), "{}", request.line());
        let trace = headers["traceparent"].to_str().unwrap();
        assert!(trace.len() == 55 && trace.starts_with("00-") && trace.ends_with("-01"), "{trace}");
    }
    assert_ne!(seen[1].headers["traceparent"], seen[2].headers["traceparent"]);
}

#[tokio::test]
async fn a_server_that_takes_batches_gets_one_request_and_tells_of_each_change() {
    let results = json!({"success": false, "results": [
        {"success": true},
        {"success": false, "error": {"code": "RECORD_NOT_FOUND", "message": ""}},
        {"success": false, "error": {"code": "RECORD_NOT_OWNED", "message": "secret words"}},
    ]});
    let server = Server::start(move |seen| match seen.path.as_str() {
        "/health" => healthy(&["batch", "presentation"]),
        _ => (200, results.to_string()),
    })
    .await;
    let client = client(&server.url);
    client.health().await.unwrap();
    assert_eq!(client.batch_size(), BATCH_SIZE);
    let mut properties = entry("a.example.com", &["192.0.2.1"]);
    properties.properties = BTreeMap::from([("aws/weight".to_owned(), "10".to_owned())]);
    properties.domain = Some(name("a.example.com"));
    let changes = vec![
        upsert(properties),
        delete(entry("b.example.com", &["192.0.2.1"])),
        upsert(entry("c.example.com", &["192.0.2.1"])),
    ];
    let fared = client.write(&batch(changes)).await;
    assert_eq!(fared, [Ok(()), Ok(()), Err(Failure::Refused("RECORD_NOT_OWNED"))]);
    assert_eq!(server.lines(), ["GET /health", "POST /records/batch"]);
    let sent = server.seen.lock().unwrap()[1].json();
    assert_eq!(sent["changes"][0]["record"]["providerSpecific"], json!({"aws/weight": "10"}));
    assert_eq!(sent["changes"][0]["record"]["subdomain"], "@");
    assert_eq!(sent["changes"][1]["operation"], "delete");
}

#[tokio::test]
async fn a_batch_extension_that_is_gone_costs_nothing_but_requests() {
    let server = Server::start(|seen| match seen.path.as_str() {
        "/health" => healthy(&["batch"]),
        "/records/batch" => (404, "<html>".to_owned()),
        _ => done(),
    })
    .await;
    let client = client(&server.url);
    let changes = ["a.example.com", "b.example.com"].map(|name| upsert(entry(name, &["192.0.2.1"])));
    assert_eq!(client.write(&batch(changes.to_vec())).await, [Ok(()), Ok(())]);
    assert_eq!(client.batch_size(), 1);
    let lines = ["GET /health", "POST /records/batch", "POST /records", "POST /records"];
    assert_eq!(server.lines(), lines);
}

#[tokio::test]
async fn a_batch_in_turn_ends_with_the_time_of_one_request() {
    let server = Server::start(|seen| {
        if seen.path == "/records" {
            std::thread::sleep(Duration::from_millis(120));
        }
        done()
    })
    .await;
    let mut client = client(&server.url);
    let guard = Guard::allowing(["127.0.0.0/8".parse().unwrap()]);
    client.client = HttpClient::new(Arc::new(guard), Duration::from_millis(500), &Trust::default()).unwrap();
    let changes: Vec<SetChange> =
        (0..20).map(|number| upsert(entry(&format!("n{number}.example.com"), &["192.0.2.1"]))).collect();
    let fared = client.write(&batch(changes)).await;
    assert_eq!((fared.len(), fared.last()), (20, Some(&Err(Failure::TimedOut))));
    assert!(server.lines().len() < 20, "what is past the time is not sent");
}

fn coded(status: u16, code: &str) -> (u16, String) {
    (status, json!({"success": false, "error": {"code": code, "message": "words of the server"}}).to_string())
}

#[rstest]
#[case(done(), Ok(()))]
#[case(coded(200, "INVALID_VALUE"), Err(Failure::Refused("INVALID_VALUE")))]
#[case(coded(400, "INVALID_RECORD"), Err(Failure::Refused("INVALID_RECORD")))]
#[case(coded(400, "INVALID_DOMAIN"), Err(Failure::Refused("INVALID_DOMAIN")))]
#[case(coded(400, "QUOTA_EXCEEDED"), Err(Failure::Refused("QUOTA_EXCEEDED")))]
#[case(coded(422, "SOMETHING_ELSE"), Err(Failure::Refused("INVALID_RECORD")))]
#[case((400, "<html>".to_owned()), Err(Failure::Refused("INVALID_RECORD")))]
#[case((401, "<html>".to_owned()), Err(Failure::Authentication))]
#[case(coded(401, "NONCE_REUSED"), Err(Failure::Authentication))]
#[case((404, "<html>".to_owned()), Err(Failure::Server(404)))]
#[case(coded(409, "STALE_GENERATION"), Err(Failure::Fenced))]
#[case(coded(409, "OTHER"), Err(Failure::Changed))]
#[case((413, String::new()), Err(Failure::TooLarge))]
#[case(coded(429, "RATE_LIMITED"), Err(Failure::Limited(Some(Duration::from_secs(7)))))]
#[case(coded(500, "SERVER_ERROR"), Err(Failure::Server(500)))]
#[case((200, "<html>hello</html>".to_owned()), Err(Failure::Unreadable))]
#[case((302, String::new()), Err(Failure::Redirected))]
#[tokio::test]
async fn an_answer_to_an_upsert_means(#[case] answer: (u16, String), #[case] meaning: Result<(), Failure>) {
    let server = Server::start(move |seen| match seen.path.as_str() {
        "/health" => healthy(&[]),
        _ => answer.clone(),
    })
    .await;
    let fared =
        client(&server.url).write(&batch(vec![upsert(entry("www.example.com", &["192.0.2.1"]))])).await;
    assert_eq!(fared, [meaning]);
}

#[rstest]
#[case(done(), Ok(()))]
#[case(not_found(), Ok(()))]
#[case((404, String::new()), Ok(()))]
#[case((404, "<html>no such service</html>".to_owned()), Err(Failure::Server(404)))]
#[case(coded(404, "UNKNOWN_PATH"), Err(Failure::Server(404)))]
#[tokio::test]
async fn a_delete_is_done_only_on_proof(#[case] answer: (u16, String), #[case] meaning: Result<(), Failure>) {
    let server = Server::start(move |_| answer.clone()).await;
    let fared =
        client(&server.url).write(&batch(vec![delete(entry("www.example.com", &["192.0.2.1"]))])).await;
    assert_eq!(fared, [meaning]);
}

#[rstest]
#[case(not_found(), Ok(None))]
#[case((200, json!({"success": true}).to_string()), Err(Failure::Unreadable))]
#[case((200, json!({"success": true, "record": {
    "type": "A", "domain": "example.com", "subdomain": "other", "values": ["192.0.2.1"], "ttl": 1
}}).to_string()), Err(Failure::Unreadable))]
#[case((503, String::new()), Err(Failure::Limited(Some(Duration::from_secs(7)))))]
#[tokio::test]
async fn a_read_is_believed_only_where_it_fits(
    #[case] answer: (u16, String),
    #[case] meaning: Result<Option<Entry>, Failure>,
) {
    let server = Server::start(move |_| answer.clone()).await;
    let keys = [(SetKey { name: name("www.example.com"), rtype: Rtype::A }, None)];
    let read = client(&server.url).read_sets(&name("example.com"), &keys).await;
    assert_eq!(read, meaning.map(|entry| vec![entry]));
}

#[rstest]
#[case(healthy(&[]), Ok(()))]
#[case((200, json!({"status": "degraded"}).to_string()), Err(Failure::Unreachable(Obstacle::Unavailable)))]
#[case((500, String::new()), Err(Failure::Server(500)))]
#[case((200, "ok".to_owned()), Err(Failure::Unreadable))]
#[tokio::test]
async fn health_is_what_the_server_says(#[case] answer: (u16, String), #[case] health: Result<(), Failure>) {
    let server = Server::start(move |_| answer.clone()).await;
    assert_eq!(client(&server.url).health().await, health);
}

#[tokio::test]
async fn a_record_that_the_document_cannot_say_is_refused_by_us_and_the_others_go_on() {
    let server = Server::start(|_| done()).await;
    let data = ["10 a.example.com.", "20 b.example.com."]
        .map(|text| Rdata::parse(Rtype::MX, text, &Name::root()).unwrap());
    let mx = Entry::from(RecordSet::new(name("example.com"), Rtype::MX, 60, data.to_vec()));
    let changes = vec![upsert(mx), upsert(entry("www.example.com", &["192.0.2.1"]))];
    let fared = client(&server.url).write(&batch(changes)).await;
    assert_eq!(fared, [Err(Failure::Unsupported(UNSAID)), Ok(())]);
}

#[rstest]
#[case("ftp://example.org")]
#[case("example.org")]
#[case("http://user:word@example.org")]
#[case("http://example.org/?query")]
fn a_url_that_makes_no_request_is_refused(#[case] url: &str) {
    assert!(matches!(Target::new(url, None, None), Err(Failure::Unsupported(_))));
}

#[test]
fn no_secret_is_printed() {
    let shown = format!("{:?}", client("http://127.0.0.1:1"));
    assert!(!shown.contains("token-text") && !shown.contains("new") && !shown.contains("old"), "{shown}");
    let empty = Keys { first: Vec::new(), ..keys() };
    assert!(matches!(Target::new("http://example.org", Some(empty), None), Err(Failure::Unsupported(_))));
}
