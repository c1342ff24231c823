//! The keeper against an API server of a few lines, and TLS as the API server would speak it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use rstest::rstest;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::*;
use crate::http::{Limits, Serving};
use crate::operator::lease::Leadership;

pub(super) fn settings(url: Option<&str>) -> Settings {
    Settings {
        namespace: "fingerpost".into(),
        secret: "fingerpost-webhook".into(),
        service: "fingerpost-webhook".into(),
        configuration: "fingerpost".into(),
        url: url.map(|url| url.parse().unwrap()),
        mode: Mode::SelfSigned,
        timeout: Duration::from_secs(5),
    }
}

/// What the API server holds, what it denies, and what was written to it.
#[derive(Default)]
struct Fake {
    objects: BTreeMap<String, Value>,
    version: u64,
    denied: Option<(Method, &'static str)>,
    writes: Vec<String>,
    /// The next write of a Secret meets another's.
    rival: Option<Value>,
}

type Shared = Arc<Mutex<Fake>>;

const SECRET: &str = "/api/v1/namespaces/fingerpost/secrets/fingerpost-webhook";
const CONFIGURATION: &str =
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/fingerpost";

async fn handle(
    State(fake): State<Shared>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: String,
) -> Response {
    let mut fake = fake.lock().unwrap();
    let mut path = uri.path().to_owned();
    if fake.denied.as_ref().is_some_and(|(denied, part)| *denied == method && path.contains(part)) {
        return failure(StatusCode::FORBIDDEN);
    }
    if method == Method::GET {
        return fake
            .objects
            .get(&path)
            .map_or_else(|| failure(StatusCode::NOT_FOUND), |it| Json(it).into_response());
    }
    let mut written: Value = serde_json::from_str(&body).unwrap();
    if method == Method::POST {
        path = format!("{path}/{}", written["metadata"]["name"].as_str().unwrap());
    }
    if let Some(rival) = fake.rival.take() {
        fake.put(&path, rival);
    }
    if method == Method::PATCH && headers["content-type"] == "application/strategic-merge-patch+json" {
        written = merged(fake.objects[&path].clone(), &written);
    }
    let there = fake.objects.get(&path).map(|there| there["metadata"]["resourceVersion"].clone());
    let conflict = match method {
        Method::POST => there.is_some(),
        Method::PUT => there != Some(written["metadata"]["resourceVersion"].clone()),
        _ => false,
    };
    if conflict {
        return failure(StatusCode::CONFLICT);
    }
    fake.writes.push(format!("{method} {}", path.rsplit('/').nth(1).unwrap()));
    Json(fake.put(&path, written)).into_response()
}

impl Fake {
    fn put(&mut self, path: &str, mut object: Value) -> Value {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.objects.insert(path.to_owned(), object.clone());
        object
    }
}

/// A list of webhooks is merged by their names.
fn merged(mut there: Value, patch: &Value) -> Value {
    for change in patch["webhooks"].as_array().unwrap() {
        let webhooks = there["webhooks"].as_array_mut().unwrap();
        let webhook = webhooks.iter_mut().find(|webhook| webhook["name"] == change["name"]).unwrap();
        webhook["clientConfig"]["caBundle"] = change["clientConfig"]["caBundle"].clone();
    }
    there
}

fn failure(code: StatusCode) -> Response {
    let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure",
        "message": "no", "reason": code.canonical_reason().unwrap().replace(' ', ""), "code": code.as_u16()});
    (code, Json(status)).into_response()
}

/// A cluster with a configuration as the chart has it.
async fn cluster() -> (Shared, Client) {
    let fake = Shared::default();
    let webhook = |name: &str| {
        json!({"name": name, "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Ignore",
            "clientConfig": {"service": {"name": "release-webhook", "namespace": "fingerpost"}}})
    };
    let configuration = json!({"apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration", "metadata": {"name": "fingerpost"},
        "webhooks": [webhook("one.fingerpost.dev"), webhook("two.fingerpost.dev")]});
    fake.lock().unwrap().put(CONFIGURATION, configuration);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = Router::new().fallback(handle).with_state(fake.clone());
    tokio::spawn(async move { axum::serve(listener, router).await });
    let config = kube::Config::new(format!("http://{address}").parse().unwrap());
    (fake, Client::try_from(config).unwrap())
}

fn keeper(client: &Client) -> Keeper {
    Keeper::new(client.clone(), settings(None), Leadership::always())
}

fn follower(client: &Client) -> Keeper {
    Keeper::new(client.clone(), settings(None), Leadership::follower())
}

fn at(days: i64) -> Timestamp {
    "2026-03-01T00:00:00Z".parse::<Timestamp>().unwrap() + SignedDuration::from_hours(24 * days)
}

fn writes(fake: &Shared) -> Vec<String> {
    std::mem::take(&mut fake.lock().unwrap().writes)
}

fn object(fake: &Shared, path: &str) -> Value {
    fake.lock().unwrap().objects[path].clone()
}

/// Whom the API server trusts according to the configuration.
fn bundle(fake: &Shared) -> Vec<u8> {
    let webhook = object(fake, CONFIGURATION)["webhooks"][1].clone();
    serde_json::from_value::<ByteString>(webhook["clientConfig"]["caBundle"].clone()).unwrap().0
}

/// Asks over TLS as the API server would; the answer, or why there is none.
fn ask(address: SocketAddr, trusted: &[u8], name: &'static str) -> Result<String, String> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(CertificateDer::pem_slice_iter(trusted).map(Result::unwrap));
    let builder = ClientConfig::builder_with_provider(pair::provider()).with_safe_default_protocol_versions();
    let config = builder.unwrap().with_root_certificates(roots).with_no_client_auth();
    let name = ServerName::try_from(name).unwrap();
    let mut connection = ClientConnection::new(Arc::new(config), name).unwrap();
    let mut socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut stream = rustls::Stream::new(&mut connection, &mut socket);
    let words = |error: std::io::Error| error.to_string();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").map_err(words)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).map_err(words)?;
    Ok(answer.rsplit("\r\n").next().unwrap().to_owned())
}

struct Webhook {
    address: SocketAddr,
    serving: Serving,
}

impl Webhook {
    async fn start(keeper: &Keeper) -> Webhook {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().route("/", get(|| async { "hello" }));
        Webhook { address, serving: serve(listener, keeper.served(), router, Limits::default()).unwrap() }
    }

    async fn ask(&self, trusted: Vec<u8>) -> Result<String, String> {
        let address = self.address;
        let name = "release-webhook.fingerpost.svc";
        tokio::task::spawn_blocking(move || ask(address, &trusted, name)).await.unwrap()
    }
}

#[tokio::test]
async fn the_first_replica_makes_a_certificate_and_all_serve_it() {
    let (fake, client) = cluster().await;
    let (mut first, mut second) = (follower(&client), keeper(&client));
    let webhooks = [Webhook::start(&first).await, Webhook::start(&second).await];
    assert!(webhooks[0].ask(Vec::new()).await.is_err(), "there is no certificate yet");
    first.check(at(0)).await;
    assert_eq!(writes(&fake), ["POST secrets"], "a follower leaves the configuration alone");
    assert_eq!(object(&fake, SECRET)["type"], "kubernetes.io/tls");
    second.check(at(0)).await;
    assert_eq!(writes(&fake), ["PATCH validatingwebhookconfigurations"]);
    for webhook in webhooks {
        assert_eq!(webhook.ask(bundle(&fake)).await.unwrap(), "hello");
        webhook.serving.stop().await;
    }
    assert_eq!((first.problems().list(), second.problems().list()), (vec![], vec![]));
}

#[tokio::test]
async fn a_restart_writes_nothing() {
    let (fake, client) = cluster().await;
    keeper(&client).check(at(0)).await;
    writes(&fake);
    let mut restarted = keeper(&client);
    restarted.check(at(1)).await;
    restarted.check(at(200)).await;
    assert_eq!(writes(&fake), Vec::<String>::new());
    assert!(restarted.served().is_there());
}

#[tokio::test]
async fn a_rotation_is_trusted_at_every_moment() {
    let (fake, client) = cluster().await;
    let (mut leader, mut other) = (keeper(&client), follower(&client));
    let webhooks = [Webhook::start(&leader).await, Webhook::start(&other).await];
    leader.check(at(0)).await;
    other.check(at(0)).await;
    let (secret, old) = (object(&fake, SECRET), bundle(&fake));
    writes(&fake);
    leader.check(at(244)).await;
    assert_eq!(writes(&fake), ["PATCH validatingwebhookconfigurations"], "the authority goes first");
    assert_eq!(object(&fake, SECRET), secret);
    assert_ne!(bundle(&fake), old);
    for webhook in &webhooks {
        assert_eq!(webhook.ask(bundle(&fake)).await.unwrap(), "hello");
    }
    leader.check(at(244)).await;
    assert_eq!(writes(&fake), ["PUT secrets"], "then the certificate");
    for webhook in &webhooks {
        assert_eq!(webhook.ask(bundle(&fake)).await.unwrap(), "hello");
    }
    assert!(webhooks[0].ask(old.clone()).await.is_err(), "the leader serves the new one");
    assert!(webhooks[1].ask(old.clone()).await.is_ok(), "the other has not looked yet");
    other.check(at(244)).await;
    assert!(webhooks[1].ask(old).await.is_err(), "and now it has");
    assert_eq!(webhooks[1].ask(bundle(&fake)).await.unwrap(), "hello");
    leader.check(at(245)).await;
    assert_eq!(writes(&fake), Vec::<String>::new());
}

#[tokio::test]
async fn an_expired_certificate_is_replaced_at_once_by_the_leader_alone() {
    let (fake, client) = cluster().await;
    let mut leader = keeper(&client);
    leader.check(at(0)).await;
    writes(&fake);
    follower(&client).check(at(400)).await;
    assert_eq!(writes(&fake), Vec::<String>::new());
    leader.check(at(400)).await;
    assert_eq!(writes(&fake), ["PUT secrets", "PATCH validatingwebhookconfigurations"]);
}

#[tokio::test]
async fn an_unreadable_secret_is_written_anew_and_keeps_what_is_not_ours() {
    let (fake, client) = cluster().await;
    let broken = json!({"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
        "metadata": {"name": "fingerpost-webhook", "labels": {"a": "b"}}, "data": {"tls.crt": "eA==", "other": "eA=="}});
    fake.lock().unwrap().put(SECRET, broken);
    let mut any = follower(&client);
    any.check(at(0)).await;
    assert_eq!(writes(&fake), ["PUT secrets"]);
    let secret = object(&fake, SECRET);
    assert_eq!((&secret["metadata"]["labels"]["a"], &secret["data"]["other"]), (&json!("b"), &json!("eA==")));
    assert!(any.served().is_there());
}

#[rstest]
#[case::made_by_another(false)]
#[case::repaired_by_another(true)]
#[tokio::test]
async fn who_comes_second_takes_what_the_first_wrote(#[case] broken: bool) {
    let (fake, client) = cluster().await;
    follower(&client).check(at(0)).await;
    let others = object(&fake, SECRET);
    {
        let mut fake = fake.lock().unwrap();
        fake.objects.remove(SECRET);
        if broken {
            fake.put(SECRET, json!({"metadata": {"name": "fingerpost-webhook"}}));
        }
        fake.rival = Some(others.clone());
        fake.writes.clear();
    }
    let mut second = follower(&client);
    second.check(at(0)).await;
    assert_eq!(writes(&fake), Vec::<String>::new());
    assert_eq!(object(&fake, SECRET)["data"], others["data"]);
    assert!(second.served().is_there() && second.problems().list().is_empty());
}

#[rstest]
#[case::reading_the_secret(Method::GET, "secrets", "forbidden to get secrets `fingerpost-webhook`")]
#[case::making_it(Method::POST, "secrets", "forbidden to create secrets")]
#[case::the_configuration(Method::GET, "validating", "forbidden to get validatingwebhookconfigurations")]
#[case::filling_it_in(Method::PATCH, "validating", "forbidden to patch validatingwebhookconfigurations")]
#[tokio::test]
async fn a_denial_is_named_and_over_when_it_is_lifted(
    #[case] method: Method,
    #[case] part: &'static str,
    #[case] words: &str,
) {
    let (fake, client) = cluster().await;
    fake.lock().unwrap().denied = Some((method, part));
    let mut keeper = keeper(&client);
    keeper.check(at(0)).await;
    let denials = keeper.problems().denials();
    assert!(denials.iter().any(|denial| denial.starts_with(words)), "{denials:?}");
    fake.lock().unwrap().denied = None;
    keeper.check(at(0)).await;
    assert_eq!(keeper.problems().list(), Vec::<String>::new());
}

#[tokio::test]
async fn a_certificate_that_cannot_be_renewed_is_served_as_long_as_it_is_there() {
    let (fake, client) = cluster().await;
    keeper(&client).check(at(0)).await;
    fake.lock().unwrap().denied = Some((Method::PUT, "secrets"));
    let mut restarted = keeper(&client);
    restarted.check(at(400)).await;
    assert!(restarted.served().is_there());
    assert!(restarted.problems().list()[0].contains("forbidden to update secrets"));
}

#[tokio::test]
async fn an_absent_configuration_is_told_and_not_fatal() {
    let (fake, client) = cluster().await;
    fake.lock().unwrap().objects.clear();
    let mut keeper = keeper(&client);
    keeper.check(at(0)).await;
    assert!(keeper.served().is_there());
    let problems = keeper.problems().list();
    assert!(problems[0].contains("is not there, so nobody asks the webhook"), "{problems:?}");
    assert_eq!(keeper.problems().denials(), Vec::<String>::new());
    writes(&fake);
    keeper.check(at(244)).await;
    assert_eq!(writes(&fake), ["PUT secrets"], "nobody has to be told first");
}

#[tokio::test]
async fn with_a_url_the_configuration_is_applied_once() {
    let (fake, client) = cluster().await;
    fake.lock().unwrap().objects.clear();
    let settings = settings(Some("https://[::1]:9443/"));
    let mut keeper = Keeper::new(client, settings, Leadership::always());
    keeper.check(at(0)).await;
    keeper.check(at(1)).await;
    assert_eq!(writes(&fake), ["POST secrets", "PATCH validatingwebhookconfigurations"]);
    let configuration = object(&fake, CONFIGURATION);
    assert_eq!(configuration["webhooks"][0]["clientConfig"]["url"], "https://[::1]:9443/validate");
    assert_eq!(keeper.problems().list(), Vec::<String>::new());
}

#[tokio::test]
async fn a_provided_certificate_is_awaited_served_and_never_written() {
    let (fake, client) = cluster().await;
    let provided = Settings { mode: Mode::Provided, ..settings(None) };
    let mut keeper = Keeper::new(client, provided, Leadership::always());
    keeper.check(at(0)).await;
    assert!(!keeper.served().is_there());
    assert!(keeper.problems().list()[0].contains("is awaited"));
    let mut secret = Secret::default();
    let made = pair::Pair::make(&["anything.example".into()], at(-500), None).unwrap();
    made.write(secret.data.get_or_insert_default());
    secret.data.as_mut().unwrap().remove("ca.crt");
    fake.lock().unwrap().put(SECRET, serde_json::to_value(secret).unwrap());
    keeper.check(at(0)).await;
    assert!(keeper.served().is_there());
    assert_eq!((writes(&fake), keeper.problems().list()), (vec![], vec![]));
}

#[rstest]
#[case("https://127.0.0.1:9443", Some("127.0.0.1"))]
#[case("https://[2001:db8::1]:9443/", Some("2001:db8::1"))]
#[case("https://webhook.example.org", Some("webhook.example.org"))]
#[case("http://127.0.0.1:9443", None)]
#[case("https://user@127.0.0.1", None)]
#[case("https://127.0.0.1/path", None)]
#[case("https://127.0.0.1/?a=b", None)]
#[case("https://", None)]
#[case("127.0.0.1:9443", None)]
fn a_base_address_is_https_and_a_host(#[case] text: &str, #[case] host: Option<&str>) {
    assert_eq!(text.parse::<WebhookUrl>().ok().map(|url| url.host), host.map(str::to_owned));
}
