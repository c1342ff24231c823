#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use rstest::rstest;
use serde_json::{Value, json};

use super::*;

const NOW: i64 = 1_800_000_000;

struct Issuer {
    pair: EcdsaKeyPair,
}

impl Issuer {
    fn new() -> Issuer {
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        Issuer { pair: EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random).unwrap() }
    }

    fn keys(&self, kid: &str) -> Value {
        let point = self.pair.public_key().as_ref();
        let part = |octets: &[u8]| URL_SAFE_NO_PAD.encode(octets);
        json!({"keys": [{"kty": "EC", "crv": "P-256", "kid": kid, "x": part(&point[1..33]), "y": part(&point[33..])}]})
    }

    fn token(&self, header: &Value, claims: &Value) -> String {
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(header), part(claims));
        let signature = self.pair.sign(&SystemRandom::new(), signed.as_bytes()).unwrap();
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

fn claims() -> Value {
    json!({
        "iss": "https://kubernetes.default.svc", "aud": ["dns", "other"], "exp": NOW + 600, "nbf": NOW,
        "sub": "system:serviceaccount:dns:fingerpost"
    })
}

fn tokens(file: PathBuf) -> Tokens {
    let subjects = vec!["system:serviceaccount:dns:fingerpost".to_owned()];
    Tokens::new("https://kubernetes.default.svc".to_owned(), "dns".to_owned(), subjects, Source::File(file))
}

async fn accepted(issuer: &Issuer, header: Value, claims: Value) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("keys.json");
    std::fs::write(&file, issuer.keys("one").to_string()).unwrap();
    tokens(file).accept(&issuer.token(&header, &claims), Timestamp::from_second(NOW).unwrap()).await
}

#[rstest]
#[case(json!({}), true)]
#[case(json!({"aud": "dns"}), true)]
#[case(json!({"aud": "other"}), false)]
#[case(json!({"aud": []}), false)]
#[case(json!({"iss": "https://elsewhere"}), false)]
#[case(json!({"sub": "system:serviceaccount:dns:other"}), false)]
#[case(json!({"exp": NOW - 30}), true)]
#[case(json!({"exp": NOW - 61}), false)]
#[case(json!({"nbf": NOW + 61}), false)]
#[case(json!({"exp": "never"}), false)]
#[tokio::test]
async fn a_token_counts_by_its_claims(#[case] changed: Value, #[case] counts: bool) {
    let mut all = claims();
    all.as_object_mut().unwrap().extend(changed.as_object().unwrap().clone());
    assert_eq!(accepted(&Issuer::new(), json!({"alg": "ES256", "kid": "one"}), all).await, counts);
}

#[rstest]
#[case(json!({"alg": "none"}), false)]
#[case(json!({"alg": "HS256", "kid": "one"}), false)]
#[case(json!({"alg": "RS256", "kid": "one"}), false)]
#[case(json!({"alg": "ES256", "kid": "two"}), false)]
#[case(json!({"alg": "ES256"}), true)]
#[tokio::test]
async fn a_token_counts_only_by_a_key_and_an_algorithm_that_fit(#[case] header: Value, #[case] counts: bool) {
    assert_eq!(accepted(&Issuer::new(), header, claims()).await, counts);
}

#[tokio::test]
async fn a_token_with_any_letter_changed_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (file, issuer) = (folder.path().join("keys.json"), Issuer::new());
    std::fs::write(&file, issuer.keys("one").to_string()).unwrap();
    let (tokens, now) = (tokens(file), Timestamp::from_second(NOW).unwrap());
    let token = issuer.token(&json!({"alg": "ES256", "kid": "one"}), &claims());
    assert!(tokens.accept(&token, now).await);
    for at in 0..token.len() {
        let mut changed = token.clone().into_bytes();
        changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(changed).unwrap();
        assert!(!tokens.accept(&changed, now).await, "changed at {at}");
    }
    for nonsense in ["", ".", "..", "a.b.c", &"x".repeat(MOST + 1)] {
        assert!(!tokens.accept(nonsense, now).await);
    }
}

#[tokio::test]
async fn a_new_key_of_the_issuer_is_learned() {
    let folder = tempfile::tempdir().unwrap();
    let (file, old, new) = (folder.path().join("keys.json"), Issuer::new(), Issuer::new());
    std::fs::write(&file, old.keys("one").to_string()).unwrap();
    let (tokens, now) = (tokens(file.clone()), Timestamp::from_second(NOW).unwrap());
    tokens.read_keys().await.unwrap();
    std::fs::write(&file, new.keys("two").to_string()).unwrap();
    let token = new.token(&json!({"alg": "ES256", "kid": "two"}), &claims());
    assert!(!tokens.accept(&token, now).await, "the keys rest for a while");
    tokens.known().read = None;
    assert!(tokens.accept(&token, now).await);
}
