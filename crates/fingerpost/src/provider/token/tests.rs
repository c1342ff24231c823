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

/// Made with OpenSSL and a key that is gone.
const RSA_MODULUS: &str = concat!(
    "nnj2vMKmjGaHTPSY2p6_52TTVV_wS_7AVIEoijCbGi8LdtbGaMraw_ccGCzkP3I8FVUXyj-BURIYwm669P1Zq3P8_S",
    "p1ZRVBkDlLlb9C5LrEeeW_iV4RY1lkVzd_GLkWCL2ELpGMItE2bYweMyDCQRapAlFqlHWIjzigDfyLIx2JHttW7zSa",
    "e0GIBEeF9kbeZdQBaUKY7oIAmaTNb-EtK4AXfD1WOVm30pOfvWvLNwwL-LUHolHQ1t7KwqbGYEzd1wY7s17piToOIR",
    "7EL6uCTRMUO8wW0L8dKcky5er5atrctj6_zlUd-oJuxEabmb1eGBzHCtvFgdpy9NNtJrjPgQ",
);
const RSA_TOKEN: &str = concat!(
    "eyJhbGciOiAiUlMyNTYiLCAia2lkIjogIm9uZSJ9.eyJpc3MiOiAiaHR0cHM6Ly9rdWJlcm5ldGVzLmRlZmF1bHQuc",
    "3ZjIiwgImF1ZCI6IFsiZG5zIl0sICJleHAiOiAxODAwMDAwNjAwLCAibmJmIjogMTgwMDAwMDAwMCwgInN1YiI6ICJ",
    "zeXN0ZW06c2VydmljZWFjY291bnQ6ZG5zOmZpbmdlcnBvc3QifQ.UBYLL7ZyfhXPvLOLgPo2Xw8NG71ZqfboSwZty3",
    "by_680oGBvkYnZe9YPsyxYj_20RasBIIxGreH_4ZZ3enrG3ZXwvWAYYBXxnsynvyQnyPmpaTWgc9Jt-i1hVdS5pRs6",
    "3sCb1zZ8DrMSJ-nTsXLeY27-4WJ3EKw0ciOPN28rAWGggyszX9rlKRw1xZWNQ8ELvW1HcL7UT_EbdpoqSN7XzbzaXE",
    "sw_CyaLAewVmTpGiLJtyH062SQsJRy9ss7IAHiC8mBwNOkKFukByWR3qJ-v6IbxVfUDNvoS2OGiPypZnhSLI0p74XR",
    "3XkeypWXfzKbsawFAR7C7bRgsXoMYsJGmQ",
);

#[tokio::test]
async fn a_token_by_rsa_that_another_program_signed_is_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("keys.json");
    let keys = json!({"keys": [{"kty": "RSA", "kid": "one", "n": RSA_MODULUS, "e": "AQAB"}]});
    std::fs::write(&file, keys.to_string()).unwrap();
    let (tokens, now) = (tokens(file), Timestamp::from_second(NOW).unwrap());
    assert!(tokens.accept(RSA_TOKEN, now).await);
    let other = RSA_TOKEN.replacen('.', "x.", 1);
    assert!(!tokens.accept(&other, now).await);
}
