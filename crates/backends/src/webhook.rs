//! The webhook protocol of document 002, both sides: how a DNS server is told records over HTTP.
//!
//! ```text
//! client ── record ──► protocol (JSON) ── signature, nonce ──► request
//!                                                                 │
//! server ◄── record ◄── protocol ◄── verification ◄── replay ◄────┘
//! ```
//!
//! [`client`] is a [`crate::Provider`]. The server's side is free of any transport: [`Verifier`] takes method,
//! path, headers and body and gives a verdict, [`record`] turns JSON into record sets. `docs/webhook-protocol.md`
//! tells all of it in words, and `docs/webhook-protocol/vectors.json` in examples that the tests here run.

pub mod client;
pub mod nonce;
pub mod protocol;
pub mod record;
mod replay;
mod signature;
#[cfg(test)]
mod tests;
mod verification;

use std::fmt;

use api::dnsclass::HmacAlgorithm;

pub use client::Webhook;
pub use replay::{CAPACITY, Nonces, Remembered, WINDOW};
pub use signature::{holds, sign, signed_string};
pub use verification::{Arrived, Fence, Refusal, Verifier};

/// The secrets that both sides share. It is signed with the first; any of them is accepted.
#[derive(Clone, PartialEq, Eq)]
pub struct Keys {
    /// The hash function of the signature.
    pub algorithm: HmacAlgorithm,
    /// The secret that requests are signed with.
    pub first: Vec<u8>,
    /// Further secrets whose signatures hold, while one is being changed for another.
    pub others: Vec<Vec<u8>>,
}

impl Keys {
    /// All secrets, the first one first.
    pub fn all(&self) -> impl Iterator<Item = &[u8]> {
        std::iter::once(&self.first).chain(&self.others).map(Vec::as_slice)
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys").field("algorithm", &self.algorithm).finish_non_exhaustive()
    }
}

/// Lower-case hexadecimal digits.
fn hex(octets: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = octets.iter().flat_map(|octet| [octet >> 4, octet & 15]);
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

/// The octets of lower-case hexadecimal digits; capitals are not accepted.
fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text.bytes().map(digit).collect();
    let (pairs, rest) = digits.as_deref()?.as_chunks::<2>();
    rest.is_empty().then(|| pairs.iter().map(|[high, low]| high << 4 | low).collect())
}

fn digit(character: u8) -> Option<u8> {
    match character {
        b'0'..=b'9' => Some(character - b'0'),
        b'a'..=b'f' => Some(character - b'a' + 10),
        _ => None,
    }
}
