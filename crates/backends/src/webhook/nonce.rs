//! Nonces: random, and bound to what the document's signature leaves out.
//!
//! The document signs method, path, timestamp, nonce and body, but neither the server that is meant nor the
//! headers with the sender's generation. A nonce may be any text, so ours carry a short digest of both and
//! the signature over the nonce covers them too. To a server that knows nothing of it, it is a nonce.
//!
//! ```text
//! 32 hexadecimal digits │ ".h" and 16 digits of SHA-256(host) │ ".g" and 16 digits of SHA-256(owner "\n" generation)
//! ```

use ring::digest::{SHA256, digest};

use super::hex;
use super::verification::Fence;

const HOST: &str = ".h";
const FENCE: &str = ".g";
/// How many hexadecimal digits of a digest stand in a nonce.
const DIGITS: usize = 16;

/// A nonce of these random octets for a request to a host, such as `dns.example.org:7100`.
pub fn make(random: [u8; 16], host: &str, fence: Option<&Fence>) -> String {
    let fence = fence.map(|fence| format!("{FENCE}{}", fence_tag(fence))).unwrap_or_default();
    format!("{}{HOST}{}{fence}", hex(&random), host_tag(host))
}

/// Whether the nonce was made for this host.
pub fn is_for_host(nonce: &str, host: &str) -> bool {
    tag(nonce, HOST) == Some(&host_tag(host))
}

/// Whether the nonce covers this fence, or none where there is none.
pub fn covers(nonce: &str, fence: Option<&Fence>) -> bool {
    tag(nonce, FENCE) == fence.map(fence_tag).as_deref()
}

/// Whether a text may be a nonce: visible, and no longer than anybody needs.
pub fn is_sound(nonce: &str) -> bool {
    (16..=128).contains(&nonce.len()) && nonce.bytes().all(|octet| octet.is_ascii_graphic())
}

/// What follows a mark, up to the next one.
fn tag<'a>(nonce: &'a str, mark: &str) -> Option<&'a str> {
    let (_, rest) = nonce.split_once(mark)?;
    Some(rest.split_once('.').map_or(rest, |(tag, _)| tag))
}

fn host_tag(host: &str) -> String {
    short(host.to_ascii_lowercase().as_bytes())
}

fn fence_tag(fence: &Fence) -> String {
    short(format!("{}\n{}", fence.owner, fence.generation).as_bytes())
}

fn short(octets: &[u8]) -> String {
    let mut digits = hex(digest(&SHA256, octets).as_ref());
    digits.truncate(DIGITS);
    digits
}
