#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use dns::{Rdata, RecordSet};
use rstest::rstest;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use super::endpoint::set_of;
use super::*;
use crate::transport::guard::Guard;
use crate::transport::http::Trust;
use crate::{Obstacle, SetChange};

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

fn set(owner: &str, rtype: &str, data: &[&str]) -> RecordSet {
    let rtype = rtype.parse().unwrap();
    let data = data.iter().map(|data| Rdata::parse(rtype, data, &Name::root()).unwrap()).collect();
    RecordSet::new(name(owner), rtype, 300, data)
}

fn change(before: Option<&RecordSet>, after: Option<&RecordSet>) -> SetChange {
    let entry = |set: &RecordSet| Entry::from(set.clone());
    SetChange {
        key: SetKey::of(before.or(after).unwrap()),
        before: before.map(entry),
        after: after.map(entry),
    }
}

fn batch(changes: Vec<SetChange>) -> Batch {
    Batch { zone: name("example.org"), changes, guards: Vec::new(), generation: 1 }
}

#[rstest]
#[case("A", "192.0.2.1", "192.0.2.1")]
#[case("AAAA", "2001:db8::1", "2001:db8::1")]
#[case("CNAME", "lb.example.net.", "lb.example.net")]
#[case("NS", "ns.example.net.", "ns.example.net")]
#[case("PTR", "host.example.net.", "host.example.net")]
#[case("MX", "10 mail.example.net.", "10 mail.example.net")]
#[case("SRV", "1 2 5060 sip.example.net.", "1 2 5060 sip.example.net.")]
#[case("NAPTR", "1 2 \"u\" \"s\" \"!a!b!\" .", "1 2 \"u\" \"s\" \"!a!b!\" .")]
#[case("CAA", "0 issue \"ca.example.net\"", "0 issue \"ca.example.net\"")]
#[case("TXT", "\"a;b\" \"c\"", "\"a;b\" \"c\"")]
fn a_record_set_is_an_endpoint_and_back(#[case] rtype: &str, #[case] data: &str, #[case] target: &str) {
    let set = set("www.example.org", rtype, &[data]);
    let endpoint = Endpoint::of(&Entry::from(set.clone()));
    let expected = json!({
        "dnsName": "www.example.org", "recordType": rtype, "recordTTL": 300, "targets": [target],
    });
    assert_eq!(serde_json::to_value(&endpoint).unwrap(), expected);
    assert_eq!(set_of(&SetKey::of(&set), &[&endpoint]), Some(set));
}

#[test]
fn a_text_that_comes_back_without_quotes_is_the_same() {
    let set = set("www.example.org", "TXT", &["\"heritage=external-dns,owner=x\""]);
    let told = json!({"dnsName": "www.example.org.", "recordType": "TXT", "recordTTL": 300,
        "targets": ["heritage=external-dns,owner=x"], "labels": null, "providerSpecific": null});
    let endpoint: Endpoint = serde_json::from_value(told).unwrap();
    assert_eq!(set_of(&endpoint.key().unwrap(), &[&endpoint]), Some(set));
}

#[rstest]
#[case(json!({}), "www.example.org", true)]
#[case(json!(null), "www.example.org", true)]
#[case(json!({"include": ["example.org"]}), "example.org", true)]
#[case(json!({"include": ["example.org."]}), "www.example.org", true)]
#[case(json!({"include": ["example.org"]}), "badexample.org", false)]
#[case(json!({"include": [".example.org"]}), "example.org", false)]
#[case(json!({"include": [".example.org"]}), "www.example.org", true)]
#[case(json!({"include": ["example.org"], "exclude": ["www.example.org"]}), "a.www.example.org", false)]
#[case(json!({"exclude": ["www.example.org"]}), "example.org", true)]
#[case(json!({"include": [""], "exclude": null}), "www.example.org", true)]
#[case(json!({"regexInclude": "^[a-z]+\\.example\\.org$"}), "www.example.org", true)]
#[case(json!({"regexInclude": "^[a-z]+\\.example\\.org$"}), "example.org", false)]
#[case(json!({"regexExclude": "www"}), "www.example.org", false)]
#[case(json!({"regexExclude": "www"}), "example.org", true)]
fn a_domain_filter_is_what_external_dns_makes_of_it(
    #[case] told: Value,
    #[case] of: &str,
    #[case] expected: bool,
) {
    let filter = Filter::read(told.to_string().as_bytes()).unwrap();
    assert_eq!(filter.matches(&name(of)), expected);
}

/// A provider of our own making, with what real ones do to their clients.
#[derive(Default)]
struct Fake {
    records: BTreeMap<(String, String), Value>,
    /// Answers instead of the usual ones.
    says: Option<Vec<u8>>,
    /// Names that it fails on, and the status.
    poison: Option<(&'static str, u16)>,
    /// TTLs below this are raised.
    least_ttl: i64,
    keeps_no_ttl: bool,
    drops: Option<&'static str>,
    posts: usize,
}

struct Provided {
    fake: Arc<Mutex<Fake>>,
    client: ExternalDnsWebhook,
}

impl Provided {
    async fn new(fake: Fake) -> Provided {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let fake = Arc::new(Mutex::new(fake));
        let shared = fake.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let _ = serve(stream, &shared).await;
            }
        });
        Provided { fake, client: client(url) }
    }

    async fn write(&self, changes: Vec<SetChange>) -> Vec<Result<(), Failure>> {
        self.client.write(&batch(changes)).await
    }

    async fn read(&self, set: &RecordSet) -> Option<RecordSet> {
        let keys = [(SetKey::of(set), None)];
        let read = self.client.read_sets(&name("example.org"), &keys).await.unwrap();
        read.into_iter().next().unwrap().map(|entry| entry.set)
    }

    fn posts(&self) -> usize {
        self.fake.lock().unwrap().posts
    }
}

fn client(url: String) -> ExternalDnsWebhook {
    let guard = Guard { allowed: vec!["127.0.0.0/8".parse().unwrap()], ..Guard::default() };
    let client = HttpClient::new(Arc::new(guard), Duration::from_secs(10), &Trust::default()).unwrap();
    ExternalDnsWebhook::new(url, client.reading_at_most(1 << 20)).unwrap()
}

async fn serve(stream: TcpStream, fake: &Mutex<Fake>) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    let (mut first, mut length) = (String::new(), 0);
    stream.read_line(&mut first).await?;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    let request = first.split(' ').take(2).collect::<Vec<_>>().join(" ");
    let answer = fake.lock().unwrap().answer(&request, serde_json::from_slice(&body).unwrap_or_default());
    stream.write_all(&answer).await
}

fn answer(status: u16, body: &Value) -> Vec<u8> {
    let body = if status == 204 { String::new() } else { body.to_string() };
    format!(
        "HTTP/1.1 {status} X\r\nContent-Type: {MEDIA_TYPE}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

impl Fake {
    fn answer(&mut self, request: &str, body: Value) -> Vec<u8> {
        if let Some(says) = &self.says {
            return says.clone();
        }
        match request {
            "GET /" => answer(200, &json!({"include": ["example.org"]})),
            "GET /records" => answer(200, &self.records.values().cloned().collect()),
            "POST /adjustendpoints" => answer(200, &self.adjusted(body)),
            "POST /records" => answer(self.apply(&body), &Value::Null),
            _ => answer(404, &Value::Null),
        }
    }

    fn adjusted(&self, endpoints: Value) -> Value {
        let endpoints = endpoints.as_array().unwrap().iter().cloned();
        let kept = endpoints.filter(|endpoint| self.drops.is_none_or(|drops| endpoint["dnsName"] != *drops));
        kept.map(|mut endpoint| {
            endpoint["recordTTL"] = endpoint["recordTTL"].as_i64().unwrap().max(self.least_ttl).into();
            endpoint
        })
        .collect()
    }

    fn apply(&mut self, changes: &Value) -> u16 {
        self.posts += 1;
        let list = |kind: &str| changes[kind].as_array().unwrap().clone();
        for mut endpoint in [list("create"), list("updateNew")].concat() {
            if let Some((_, status)) = self.poison.filter(|(name, _)| endpoint["dnsName"] == *name) {
                return status;
            }
            if self.keeps_no_ttl {
                endpoint["recordTTL"] = 0.into();
            }
            self.records.insert(key(&endpoint), endpoint);
        }
        list("delete").iter().for_each(|endpoint| drop(self.records.remove(&key(endpoint))));
        204
    }
}

fn key(endpoint: &Value) -> (String, String) {
    let text = |field: &str| endpoint[field].as_str().unwrap().to_owned();
    (text("dnsName"), text("recordType"))
}

fn many() -> Vec<RecordSet> {
    (0..30).map(|number| set(&format!("n{number}.example.org"), "A", &["192.0.2.1"])).collect()
}

#[rstest]
#[case::hard(400, Failure::Refused("PROVIDER_REFUSED"))]
#[case::soft(500, Failure::Refused("PROVIDER_REFUSED"))]
#[tokio::test]
async fn a_record_that_is_not_taken_is_named_and_the_rest_lands(
    #[case] status: u16,
    #[case] expected: Failure,
) {
    let provided = Provided::new(Fake { poison: Some(("n11.example.org", status)), ..Fake::default() }).await;
    let results = provided.write(many().iter().map(|set| change(None, Some(set))).collect()).await;
    let failed: Vec<usize> = (0..30).filter(|at| results[*at].is_err()).collect();
    assert_eq!((failed, &results[11]), (vec![11], &Err(expected)));
    assert_eq!(provided.fake.lock().unwrap().records.len(), 29);
}

#[tokio::test]
async fn a_record_that_adjusting_drops_is_refused_and_never_sent() {
    let provided = Provided::new(Fake { drops: Some("n2.example.org"), ..Fake::default() }).await;
    let results = provided.write(many()[..4].iter().map(|set| change(None, Some(set))).collect()).await;
    assert_eq!(results[2], Err(Failure::Refused("PROVIDER_DOES_NOT_TAKE_IT")));
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 3);
}

#[rstest]
#[case::raises(Fake { least_ttl: 3600, ..Fake::default() })]
#[case::forgets(Fake { keeps_no_ttl: true, ..Fake::default() })]
#[tokio::test]
async fn what_the_provider_makes_of_a_ttl_reads_back_as_what_was_meant(#[case] fake: Fake) {
    let provided = Provided::new(fake).await;
    let www = RecordSet { ttl: 60, ..set("www.example.org", "A", &["192.0.2.1"]) };
    assert_eq!(provided.write(vec![change(None, Some(&www))]).await, [Ok(())]);
    assert_eq!((provided.read(&www).await, provided.posts()), (Some(www.clone()), 1));

    // A client that has just started reads something else, but asking again writes nothing.
    let fresh = Provided { fake: provided.fake.clone(), client: client(provided.client.url.clone()) };
    let stands = fresh.read(&www).await.unwrap();
    assert_ne!(stands.ttl, 60);
    assert_eq!(fresh.write(vec![change(Some(&stands), Some(&www))]).await, [Ok(())]);
    assert_eq!((fresh.read(&www).await, fresh.posts()), (Some(www), 1));
}

#[tokio::test]
async fn settings_of_the_provider_travel_with_the_record() {
    let provided = Provided::new(Fake::default()).await;
    let mut proxied = change(None, Some(&set("www.example.org", "A", &["192.0.2.1"])));
    let properties: BTreeMap<String, String> = [("proxied".to_owned(), "true".to_owned())].into();
    proxied.after.as_mut().unwrap().properties = properties.clone();
    assert_eq!(provided.write(vec![proxied]).await, [Ok(())]);
    let read = provided.client.read_zone(&name("example.org")).await.unwrap();
    assert_eq!(read[0].properties, properties);
    let told = provided.fake.lock().unwrap().records.values().next().unwrap()["providerSpecific"].clone();
    assert_eq!(told, json!([{"name": "proxied", "value": "true"}]));
}

#[tokio::test]
async fn what_no_record_set_can_say_is_never_written_over() {
    let alias = json!({"dnsName": "www.example.org", "recordType": "A", "targets": ["lb.example.net"]});
    let routed = json!({"dnsName": "geo.example.org", "recordType": "A", "targets": ["192.0.2.1"], "setIdentifier": "eu", "recordTTL": 300});
    let own = json!({"dnsName": "own.example.org", "recordType": "ALIAS", "targets": ["lb.example.net"]});
    let records: BTreeMap<_, _> =
        [alias, routed, own].into_iter().map(|record| (key(&record), record)).collect();
    let provided = Provided::new(Fake { records: records.clone(), ..Fake::default() }).await;
    let www = set("www.example.org", "A", &["192.0.2.9"]);
    let geo = set("geo.example.org", "A", &["192.0.2.1"]);
    let results = provided.write(vec![change(None, Some(&www)), change(Some(&geo), None)]).await;
    assert_eq!(results, [Err(Failure::Changed), Err(Failure::Changed)]);
    assert_eq!(provided.posts(), 0);
    assert_eq!(provided.fake.lock().unwrap().records, records);
}

#[rstest]
#[case(b"HTTP/1.1 401 X\r\nContent-Length: 0\r\n\r\n".to_vec(), Failure::Authentication)]
#[case(b"HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n".to_vec(), Failure::Server(404))]
#[case(b"HTTP/1.1 429 X\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n".to_vec(), Failure::Limited(Some(Duration::from_secs(7))))]
#[case(b"HTTP/1.1 500 X\r\nContent-Length: 0\r\n\r\n".to_vec(), Failure::Server(500))]
#[case(b"HTTP/1.1 503 X\r\nContent-Length: 0\r\n\r\n".to_vec(), Failure::Unreachable(Obstacle::Unavailable))]
#[case(b"HTTP/1.1 302 X\r\nLocation: http://127.0.0.1/\r\nContent-Length: 0\r\n\r\n".to_vec(), Failure::Redirected)]
#[case(b"HTTP/1.1 200 X\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\n[]".to_vec(), Failure::Unreadable)]
#[case(b"HTTP/1.1 200 X\r\nContent-Type: application/external.dns.webhook+json;version=1\r\nContent-Length: 5\r\n\r\n[{\"a\"".to_vec(), Failure::Unreadable)]
#[case(b"HTTP/1.1 200 X\r\nContent-Type: application/external.dns.webhook+json;version=1\r\nContent-Length: 9\r\n\r\n[]".to_vec(), Failure::Unreachable(Obstacle::Closed))]
#[case(b"not HTTP".to_vec(), Failure::Unreachable(Obstacle::NoHttp))]
#[tokio::test]
async fn a_provider_that_fails_is_told_and_is_never_an_empty_one(
    #[case] says: Vec<u8>,
    #[case] expected: Failure,
) {
    let provided = Provided::new(Fake { says: Some(says), ..Fake::default() }).await;
    assert_eq!(provided.client.read_zone(&name("example.org")).await, Err(expected.clone()));
    assert_eq!(provided.client.health().await, Err(expected.clone()));
    let www = set("www.example.org", "A", &["192.0.2.1"]);
    assert_eq!(provided.write(vec![change(Some(&www), None)]).await, [Err(expected)]);
}

#[rstest]
#[case("provider:8888")]
#[case("ftp://provider")]
#[case("http://provider/?query=1")]
#[case("")]
fn a_url_that_does_not_do_is_refused(#[case] url: &str) {
    let client = HttpClient::new(Arc::default(), Duration::from_secs(1), &Trust::default()).unwrap();
    assert!(matches!(ExternalDnsWebhook::new(url.to_owned(), client), Err(Failure::Unsupported(_))));
}
