//! The signature of a request: an HMAC over what is on the wire.

use api::dnsclass::HmacAlgorithm;
use ring::hmac;

use super::{Keys, hex, unhex};

/// What is signed: method, path as on the request line, timestamp, nonce and body, joined by single
/// newlines; without a body it ends after the nonce.
pub fn signed_string(method: &str, path: &str, timestamp: &str, nonce: &str, body: &[u8]) -> Vec<u8> {
    let mut string = [method, path, timestamp, nonce].join("\n").into_bytes();
    if !body.is_empty() {
        string.push(b'\n');
        string.extend_from_slice(body);
    }
    string
}

/// The signature of a string by the first key, as lower-case hexadecimal digits.
pub fn sign(keys: &Keys, string: &[u8]) -> String {
    hex(hmac::sign(&key(keys.algorithm, &keys.first), string).as_ref())
}

/// Whether a signature is one of the string by any of the keys; the comparison takes the same time
/// wherever they differ.
pub fn holds(keys: &Keys, string: &[u8], signature: &str) -> bool {
    let Some(signature) = unhex(signature) else { return false };
    keys.all().any(|secret| hmac::verify(&key(keys.algorithm, secret), string, &signature).is_ok())
}

fn key(algorithm: HmacAlgorithm, secret: &[u8]) -> hmac::Key {
    let algorithm = match algorithm {
        HmacAlgorithm::Sha256 => hmac::HMAC_SHA256,
        HmacAlgorithm::Sha512 => hmac::HMAC_SHA512,
    };
    hmac::Key::new(algorithm, secret)
}
