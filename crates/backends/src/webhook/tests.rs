#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;

use http::{HeaderMap, HeaderName, HeaderValue};
use jiff::Timestamp;
use rstest::rstest;
use serde::Deserialize;
use serde_json::{Value, json};

use super::protocol::{
    Batch, BatchReply, Change, Code, GENERATION, Health, Identity, NONCE, OWNER, Record, Reply, SIGNATURE,
    TIMESTAMP,
};
use super::*;

const VECTORS: &str = include_str!("../../../../docs/webhook-protocol/vectors.json");

#[derive(Deserialize)]
struct Vectors {
    signatures: Vec<SignatureVector>,
    records: Vec<RecordVector>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SignatureVector {
    name: String,
    algorithm: HmacAlgorithm,
    key: String,
    method: String,
    path: String,
    headers: BTreeMap<String, String>,
    body: String,
    signed_string: String,
    host: Option<String>,
}

#[derive(Deserialize)]
struct RecordVector {
    record: Record,
    means: Vec<String>,
}

fn vectors() -> Vectors {
    serde_json::from_str(VECTORS).unwrap()
}

/// A request that a test can bend.
#[derive(Clone)]
struct Sent {
    method: String,
    path: String,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Sent {
    fn arrived(&self) -> Arrived<'_> {
        Arrived { method: &self.method, path: &self.path, headers: &self.headers, body: &self.body }
    }

    fn of(vector: &SignatureVector) -> Sent {
        let headers = vector.headers.iter().map(|(name, value)| {
            (name.parse::<HeaderName>().unwrap(), HeaderValue::from_str(value).unwrap())
        });
        let (method, path) = (vector.method.clone(), vector.path.clone());
        Sent { method, path, headers: headers.collect(), body: vector.body.clone().into_bytes() }
    }

    /// One signed now, with a number for a nonce.
    fn signed(
        keys: &Keys,
        number: usize,
        method: &str,
        path: &str,
        body: &str,
        fence: Option<&Fence>,
    ) -> Sent {
        let nonce = nonce::make((number as u128).to_be_bytes(), "dns.example.org:7100", fence);
        let timestamp = NOW.to_owned();
        let string = signed_string(method, path, &timestamp, &nonce, body.as_bytes());
        let mut headers = HeaderMap::new();
        let mut put = |name: &'static str, value: &str| drop(headers.insert(name, value.parse().unwrap()));
        put(TIMESTAMP, &timestamp);
        put(NONCE, &nonce);
        put(SIGNATURE, &sign(keys, &string));
        if let Some(fence) = fence {
            put(OWNER, &fence.owner);
            put(GENERATION, &fence.generation.to_string());
        }
        Sent { method: method.to_owned(), path: path.to_owned(), headers, body: body.as_bytes().to_vec() }
    }
}

const NOW: &str = "2025-12-30T10:00:00Z";

fn now() -> Timestamp {
    NOW.parse().unwrap()
}

fn keys(secret: &str) -> Keys {
    Keys { algorithm: HmacAlgorithm::Sha256, first: secret.into(), others: Vec::new() }
}

#[test]
fn every_vector_signs_and_verifies() {
    for vector in vectors().signatures {
        let keys =
            Keys { algorithm: vector.algorithm, first: vector.key.clone().into_bytes(), others: Vec::new() };
        let header = |name: &str| vector.headers[name].as_str();
        let (timestamp, nonce) = (header("X-DNS-Timestamp"), header("X-DNS-Nonce"));
        let string = signed_string(&vector.method, &vector.path, timestamp, nonce, vector.body.as_bytes());
        assert_eq!(String::from_utf8(string.clone()).unwrap(), vector.signed_string, "{}", vector.name);
        assert_eq!(sign(&keys, &string), header("X-DNS-Signature"), "{}", vector.name);
        let verifier = Verifier::new(keys).for_hosts(vector.host.iter().cloned().collect());
        assert_eq!(verifier.verify(&Sent::of(&vector).arrived(), now()), Ok(()), "{}", vector.name);
    }
}

#[test]
fn every_record_of_the_vectors_means_what_it_says_and_comes_back_as_it_was() {
    for vector in vectors().records {
        let set = record::record_set(&vector.record, 300).unwrap();
        let lines: Vec<String> =
            set.data.iter().map(|data| format!("{} {} {} {data}", set.name, set.ttl, set.rtype)).collect();
        assert_eq!(lines, vector.means);
        let domain = dns::Name::parse(&vector.record.domain).unwrap();
        let mut back = record::record(&set, &domain, true).unwrap();
        // A set has no order: values come back sorted.
        let mut record = vector.record;
        record.values.sort();
        back.values.sort();
        assert_eq!(back, record);
    }
}

#[test]
fn a_signed_request_with_any_byte_flipped_is_refused() {
    let keys = keys("a shared secret");
    // No nonce is used up by a refusal, so one verifier judges all.
    let verifier = Verifier::new(keys.clone());
    let mut flips = 0;
    for number in 0..1000 {
        let fence = Fence { owner: format!("owner-{}", number % 7), generation: number as u64 };
        let body = format!(r#"{{"record":{{"values":["192.0.2.{}"]}},"operation":"upsert"}}"#, number % 256);
        let sent = match number % 3 {
            0 => Sent::signed(&keys, number, "POST", "/records", &body, Some(&fence)),
            1 => Sent::signed(
                &keys,
                number,
                "DELETE",
                &format!("/records/A/example.com/w{number}"),
                "",
                Some(&fence),
            ),
            _ => Sent::signed(&keys, number, "GET", &format!("/records/A/example.com/w{number}"), "", None),
        };
        flips += refused_flips(&verifier, &sent);
        assert_eq!(verifier.verify(&sent.arrived(), now()), Ok(()), "the request itself is good");
    }
    assert!(flips > 200_000, "only {flips} flips were tried");
}

/// Flips every byte of every part, one at a time; returns how many there were.
fn refused_flips(verifier: &Verifier, sent: &Sent) -> usize {
    let mut flips = 0;
    let mut judge = |bent: Sent, what: &str| {
        flips += 1;
        assert!(verifier.verify(&bent.arrived(), now()).is_err(), "a flipped byte of {what} went through");
    };
    for at in 0..sent.body.len() {
        let mut bent = sent.clone();
        bent.body[at] ^= 0x01;
        judge(bent, "the body");
    }
    for bit in [0x01, 0x20] {
        for (method, path) in flipped(&sent.method, bit)
            .map(|m| (m, sent.path.clone()))
            .chain(flipped(&sent.path, bit).map(|p| (sent.method.clone(), p)))
        {
            judge(Sent { method, path, ..sent.clone() }, "the request line");
        }
        for (name, value) in &sent.headers {
            for text in flipped(value.to_str().unwrap(), bit) {
                let Ok(value) = HeaderValue::from_str(&text) else { continue };
                let mut bent = sent.clone();
                bent.headers.insert(name, value);
                judge(bent, name.as_str());
            }
        }
    }
    flips
}

fn flipped(text: &str, bit: u8) -> impl Iterator<Item = String> {
    (0..text.len()).filter_map(move |at| {
        let mut octets = text.as_bytes().to_vec();
        octets[at] ^= bit;
        String::from_utf8(octets).ok()
    })
}

#[test]
fn a_request_that_was_seen_is_refused_whatever_it_is_bent_to() {
    let keys = keys("secret");
    let verifier = Verifier::new(keys.clone());
    let fence = Fence { owner: "blue".to_owned(), generation: 7 };
    let sent = Sent::signed(&keys, 1, "DELETE", "/records/A/example.com/www", "", Some(&fence));
    assert_eq!(verifier.verify(&sent.arrived(), now()), Ok(()));
    assert_eq!(verifier.verify(&sent.arrived(), now()), Err(Refusal::Reused));
    let path = Sent { path: "/records/A/example.com/mail".to_owned(), ..sent.clone() };
    let method = Sent { method: "GET".to_owned(), ..sent.clone() };
    let mut unfenced = sent.clone();
    unfenced.headers.remove(OWNER);
    unfenced.headers.remove(GENERATION);
    for bent in [path, method, unfenced] {
        assert_eq!(verifier.verify(&bent.arrived(), now()), Err(Refusal::Signature));
    }
}

#[test]
fn a_request_to_another_server_is_worth_nothing_here() {
    let keys = keys("secret");
    let sent = Sent::signed(&keys, 1, "DELETE", "/records/A/example.com/www", "", None);
    let judge = |verifier: Verifier| verifier.verify(&sent.arrived(), now());
    assert_eq!(judge(Verifier::new(keys.clone()).for_hosts(vec!["dns.example.org:7100".to_owned()])), Ok(()));
    let elsewhere = Verifier::new(keys).for_hosts(vec!["other.example.org:7100".to_owned()]);
    assert_eq!(judge(elsewhere), Err(Refusal::Signature));
    assert_eq!(judge(Verifier::new(self::keys("another secret"))), Err(Refusal::Signature));
}

#[test]
fn a_nonce_that_is_recalled_after_a_restart_is_refused() {
    let keys = keys("secret");
    let sent = Sent::signed(&keys, 1, "DELETE", "/records/A/example.com/www", "", None);
    let verifier = Verifier::new(keys);
    verifier.recall(sent.headers[NONCE].to_str().unwrap(), now().as_second(), now());
    assert_eq!(verifier.verify(&sent.arrived(), now()), Err(Refusal::Reused));
}

#[rstest]
#[case("blue", "7", true)]
#[case("blue", "18446744073709551615", true)]
#[case("blue", "18446744073709551616", false)]
#[case("blue", "+7", false)]
#[case("blue", "-7", false)]
#[case("blue", "", false)]
#[case("", "7", false)]
#[case("two words", "7", false)]
#[case(&"x".repeat(256), "7", true)]
#[case(&"x".repeat(257), "7", false)]
fn a_fence_is_an_owner_and_a_number(#[case] owner: &str, #[case] generation: &str, #[case] sound: bool) {
    let mut headers = HeaderMap::new();
    headers.insert(OWNER, owner.parse().unwrap());
    let arrived = |headers: &HeaderMap| Arrived { method: "GET", path: "/", headers, body: b"" }.fence();
    assert!(arrived(&headers).is_err(), "one without the other is none");
    headers.insert(GENERATION, generation.parse().unwrap());
    assert_eq!(arrived(&headers).is_ok(), sound);
    assert_eq!(arrived(&HeaderMap::new()), Ok(None));
}

#[test]
fn both_keys_hold_while_one_replaces_the_other() {
    let sent = |secret: &str, number| Sent::signed(&keys(secret), number, "GET", "/health", "", None);
    let both = Keys { others: vec![b"old".to_vec()], ..keys("new") };
    let verifier = Verifier::new(both);
    assert_eq!(verifier.verify(&sent("new", 1).arrived(), now()), Ok(()));
    assert_eq!(verifier.verify(&sent("old", 2).arrived(), now()), Ok(()));
    assert_eq!(verifier.verify(&sent("older", 3).arrived(), now()), Err(Refusal::Signature));
    assert!(!format!("{verifier:?}").contains("old"), "a key is printed");
}

#[rstest]
#[case(300, Ok(()))]
#[case(-300, Ok(()))]
#[case(301, Err(Refusal::Stale))]
#[case(-301, Err(Refusal::Stale))]
fn a_timestamp_counts_for_five_minutes(#[case] seconds: i64, #[case] verdict: Result<(), Refusal>) {
    let keys = keys("secret");
    let sent = Sent::signed(&keys, 1, "GET", "/health", "", None);
    let at = Timestamp::from_second(now().as_second() + seconds).unwrap();
    assert_eq!(Verifier::new(keys).verify(&sent.arrived(), at), verdict);
}

#[test]
fn a_header_that_stands_there_twice_is_refused() {
    let keys = keys("secret");
    for name in [TIMESTAMP, NONCE, SIGNATURE] {
        let mut sent = Sent::signed(&keys, 1, "GET", "/health", "", None);
        let again = sent.headers[name].clone();
        sent.headers.append(name, again);
        assert_eq!(Verifier::new(keys.clone()).verify(&sent.arrived(), now()), Err(Refusal::Signature));
        sent.headers.remove(name);
        assert_eq!(Verifier::new(keys.clone()).verify(&sent.arrived(), now()), Err(Refusal::Signature));
    }
}

#[test]
fn a_million_nonces_are_remembered_and_no_more_than_there_is_room_for() {
    let mut nonces = Nonces::default();
    let start = 1_000_000;
    for number in 0..1_000_000 {
        // Spread over the whole window, as clients with clocks of their own do.
        let timestamp = start + number % 600 - 300;
        assert_eq!(nonces.remember(&number.to_string(), timestamp, start), Remembered::New);
    }
    assert_eq!(nonces.count(), 1_000_000);
    for number in (0..1_000_000).step_by(997) {
        assert_eq!(nonces.remember(&number.to_string(), start, start), Remembered::Reused);
    }
    let mut more = 0;
    while nonces.remember(&format!("more {more}"), start, start) == Remembered::New {
        more += 1;
    }
    assert_eq!(nonces.count(), CAPACITY, "the memory is bounded");
    assert_eq!(nonces.remember("one more", start, start), Remembered::Full);
    assert_eq!(nonces.remember("7", start, start), Remembered::Reused, "what is full has forgotten nothing");
    assert_eq!(nonces.remember("later", start + 700, start + 700), Remembered::New);
    assert_eq!(nonces.count(), 1, "what is stale is forgotten");
}

#[test]
fn a_nonce_is_known_as_long_as_its_timestamp_counts() {
    let mut nonces = Nonces::new(10);
    let (timestamp, first) = (1_000_300, 1_000_000);
    assert_eq!(nonces.remember("ahead", timestamp, first), Remembered::New);
    assert_eq!(nonces.remember("ahead", timestamp, timestamp + WINDOW), Remembered::Reused);
}

#[test]
fn the_requests_and_answers_of_the_document_are_read() {
    let request = json!({
        "record": {
            "type": "A", "domain": "example.com", "subdomain": "www",
            "values": ["192.168.1.100", "192.168.1.101"], "ttl": 600
        },
        "operation": "upsert"
    });
    let change: Change = serde_json::from_value(request.clone()).unwrap();
    assert_eq!(serde_json::to_value(&change).unwrap(), request);
    assert_eq!(change.identity().path(), "/records/A/example.com/www");
    let created = json!({
        "success": true,
        "record": {
            "type": "A", "domain": "example.com", "subdomain": "www", "fqdn": "www.example.com",
            "values": ["192.168.1.100", "192.168.1.101"], "ttl": 600
        },
        "message": "Record created successfully"
    });
    round_trip::<Reply>(&created);
    round_trip::<Reply>(&json!({"success": true, "message": "Record deleted successfully"}));
    round_trip::<Reply>(&json!({
        "success": false,
        "error": {"code": "INVALID_RECORD", "message": "Invalid IP address format", "details": {}}
    }));
    let missing: Reply = serde_json::from_value(json!({
        "success": false, "error": {"code": "RECORD_NOT_FOUND", "message": "Record does not exist"}
    }))
    .unwrap();
    assert_eq!(missing.code(), Some(Code::RecordNotFound));
    round_trip::<Health>(&json!({
        "status": "healthy", "message": "DNS server is operational", "timestamp": "2025-12-30T10:00:00Z"
    }));
}

#[test]
fn a_batch_holds_upserts_and_deletes() {
    let batch = json!({"changes": [
        {"operation": "upsert", "record": {
            "type": "MX", "domain": "example.com", "subdomain": "@", "values": ["mail.example.com"],
            "ttl": 60, "metadata": {"priority": 10}, "providerSpecific": {"aws/weight": "10"}
        }},
        {"operation": "delete", "record": {"type": "A", "domain": "example.com", "subdomain": "www"}}
    ]});
    round_trip::<Batch>(&batch);
    round_trip::<BatchReply>(&json!({"success": false, "results": [
        {"success": true},
        {"success": false, "error": {"code": "RECORD_NOT_OWNED", "message": "", "details": {}}}
    ]}));
}

fn round_trip<T: serde::Serialize + serde::de::DeserializeOwned>(value: &Value) {
    let read: T = serde_json::from_value(value.clone()).unwrap();
    assert_eq!(serde_json::to_value(read).unwrap(), *value);
}

#[rstest]
#[case("A", "example.com", "www", "/records/A/example.com/www")]
#[case("A", "example.com", "@", "/records/A/example.com/@")]
#[case("A", "example.com", "*.apps", "/records/A/example.com/*.apps")]
#[case("SRV", "example.com", "_sip._tcp", "/records/SRV/example.com/_sip._tcp")]
#[case("PTR", "2.0.192.in-addr.arpa", "0/25", "/records/PTR/2.0.192.in-addr.arpa/0%2F25")]
#[case("TYPE62000", "example.com", r"a\.b", r"/records/TYPE62000/example.com/a%5C.b")]
fn paths_lead_back(#[case] rtype: &str, #[case] domain: &str, #[case] subdomain: &str, #[case] path: &str) {
    let (domain, subdomain) = (domain.to_owned(), subdomain.to_owned());
    let identity = Identity { r#type: rtype.parse().unwrap(), domain, subdomain };
    assert_eq!(identity.path(), path);
    assert_eq!(Identity::from_path(path), Some(identity));
}

#[rstest]
#[case("/records/A/example.com")]
#[case("/records/A/example.com/www/more")]
#[case("/records/NOTYPE/example.com/www")]
#[case("/records/A//www")]
#[case("/records/A/example.com/%4")]
#[case("/records/A/example.com/%+1")]
#[case("/records/A/example.com/%ff")]
fn what_is_no_path_of_a_record_is_none(#[case] path: &str) {
    assert_eq!(Identity::from_path(path), None);
}

#[rstest]
#[case(json!({"type": "A", "values": ["300.1.1.1"]}), Code::InvalidValue)]
#[case(json!({"type": "A", "values": []}), Code::InvalidValue)]
#[case(json!({"type": "AAAA", "values": ["192.0.2.1"]}), Code::InvalidValue)]
#[case(json!({"type": "CNAME", "values": ["a.example.net", "b.example.net"]}), Code::InvalidValue)]
#[case(json!({"type": "MX", "values": ["mail.example.com"]}), Code::InvalidRecord)]
#[case(json!({"type": "SRV", "values": ["a.example.com"], "metadata": {"priority": 1}}), Code::InvalidRecord)]
#[case(json!({"type": "A", "values": ["192.0.2.1"], "ttl": 4_000_000_000u32}), Code::InvalidRecord)]
#[case(json!({"type": "A", "values": ["192.0.2.1"], "domain": "exa mple.com"}), Code::InvalidDomain)]
#[case(json!({"type": "A", "values": ["192.0.2.1"], "domain": "*.example.com"}), Code::InvalidDomain)]
#[case(json!({"type": "A", "values": ["192.0.2.1"], "domain": "."}), Code::InvalidDomain)]
#[case(json!({"type": "A", "values": ["192.0.2.1"], "subdomain": "a..b"}), Code::InvalidDomain)]
#[case(json!({"type": "A", "values": ["192.0.2.1"], "subdomain": "www."}), Code::InvalidDomain)]
#[case(json!({"type": "SOA", "values": ["a. b. 1 1 1 1 1"]}), Code::InvalidRecord)]
#[case(json!({"type": "ANY", "values": ["x"]}), Code::InvalidRecord)]
#[case(json!({"type": "CAA", "values": ["issue"]}), Code::InvalidValue)]
#[case(json!({"type": "SSHFP", "values": ["nothing"]}), Code::InvalidValue)]
fn a_bad_record_is_refused_with_its_code(#[case] fields: Value, #[case] code: Code) {
    let mut whole = json!({"domain": "example.com", "subdomain": "www"});
    whole.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    let record: Record = serde_json::from_value(whole).unwrap();
    assert_eq!(record::record_set(&record, 300).unwrap_err().code, code);
}

#[test]
fn a_set_that_the_document_cannot_say_needs_the_extension() {
    let name = dns::Name::parse("example.com").unwrap();
    let data = ["10 a.example.com.", "20 b.example.com."]
        .map(|text| dns::Rdata::parse(dns::Rtype::MX, text, &name).unwrap());
    let set = dns::RecordSet::new(name.clone(), dns::Rtype::MX, 60, data.to_vec());
    assert_eq!(record::record(&set, &name, false), None);
    let said = record::record(&set, &name, true).unwrap();
    assert_eq!(record::record_set(&said, 300), Ok(set));
}

#[test]
fn the_page_and_the_description_know_every_code_and_the_first_signatures() {
    let page = include_str!("../../../../docs/webhook-protocol.md");
    let description = include_str!("../../../../docs/webhook-protocol/openapi.yaml");
    for code in Code::ALL.iter().map(|code| code.as_str()) {
        assert!(page.contains(code), "the page lacks {code}");
        let undescribed = code == Code::MethodNotAllowed.as_str();
        assert!(undescribed || description.contains(code), "the description lacks {code}");
    }
    let shown = ["health check", "delete a record"];
    for vector in vectors().signatures.iter().filter(|vector| shown.contains(&vector.name.as_str())) {
        assert!(page.contains(&vector.headers["X-DNS-Signature"]), "the page lacks {}", vector.name);
    }
}

#[test]
fn every_code_leads_back() {
    for code in Code::ALL {
        assert_eq!(Code::parse(code.as_str()), Some(*code));
    }
}
