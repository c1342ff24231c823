//! The server's side of authentication: a request as it arrived, and whether it is believed.

use std::sync::{Mutex, PoisonError, RwLock};

use http::HeaderMap;
use jiff::Timestamp;

use super::protocol::{Code, GENERATION, NONCE, OWNER, SIGNATURE, TIMESTAMP};
use super::replay::{Nonces, Remembered, WINDOW};
use super::{Keys, nonce, signature};

/// A request as it arrived, byte for byte.
#[derive(Clone, Copy, Debug)]
pub struct Arrived<'a> {
    /// The method.
    pub method: &'a str,
    /// Path and query as on the request line, percent-encoded as sent.
    pub path: &'a str,
    /// The headers.
    pub headers: &'a HeaderMap,
    /// The body, before anything has read it.
    pub body: &'a [u8],
}

/// Who writes, and as of when: a receiver that has seen a higher generation of an owner refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fence {
    /// Who writes.
    pub owner: String,
    /// Its fencing token, which only grows.
    pub generation: u64,
}

/// Why a request is not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A header is missing or malformed, or the signature does not hold.
    #[error("the signature does not hold")]
    Signature,
    /// The timestamp is too old or too new.
    #[error("the timestamp is more than five minutes from this server's time")]
    Stale,
    /// The nonce has been used.
    #[error("the nonce has been used before")]
    Reused,
    /// No more nonces can be remembered at the moment.
    #[error("too many requests have been made in the last minutes")]
    Full,
}

/// Decides which requests are believed.
#[derive(Debug)]
pub struct Verifier {
    keys: RwLock<Keys>,
    hosts: Vec<String>,
    nonces: Mutex<Nonces>,
}

impl Verifier {
    /// A verifier with these keys and an empty memory.
    pub fn new(keys: Keys) -> Verifier {
        Verifier { keys: RwLock::new(keys), hosts: Vec::new(), nonces: Mutex::default() }
    }

    /// The same, accepting only requests that were signed for one of these hosts (`name` or `name:port` as in
    /// the client's URL), so that a request to another server with the same keys is worth nothing here.
    pub fn for_hosts(self, hosts: Vec<String>) -> Verifier {
        Verifier { hosts, ..self }
    }

    /// The same with another memory.
    pub fn remembering(self, nonces: Nonces) -> Verifier {
        Verifier { nonces: Mutex::new(nonces), ..self }
    }

    /// Takes other keys from now on; what was remembered stays.
    pub fn change_keys(&self, keys: Keys) {
        *self.keys.write().unwrap_or_else(PoisonError::into_inner) = keys;
    }

    /// Remembers a nonce that was used before this process began; the timestamp is in seconds since 1970.
    pub fn recall(&self, nonce: &str, timestamp: i64, now: Timestamp) {
        let mut nonces = self.nonces.lock().unwrap_or_else(PoisonError::into_inner);
        nonces.remember(nonce, timestamp, now.as_second());
    }

    /// Whether a request could be believed as far as its headers tell, so that the body of one that cannot is not read.
    pub fn precheck(&self, headers: &HeaderMap, now: Timestamp) -> Result<(), Refusal> {
        let request = Arrived { method: "", path: "", headers, body: &[] };
        let moment: Timestamp = request.header(TIMESTAMP)?.parse().map_err(|_| Refusal::Signature)?;
        if (moment.as_second() - now.as_second()).abs() > WINDOW {
            return Err(Refusal::Stale);
        }
        request.header(SIGNATURE)?;
        match self.is_bound(request.header(NONCE)?, &request) {
            true => Ok(()),
            false => Err(Refusal::Signature),
        }
    }

    /// Whether a request is believed. Its nonce is remembered only if it is.
    pub fn verify(&self, request: &Arrived<'_>, now: Timestamp) -> Result<(), Refusal> {
        let (timestamp, nonce) = (request.header(TIMESTAMP)?, request.header(NONCE)?);
        let signed = signature::signed_string(request.method, request.path, timestamp, nonce, request.body);
        let moment: Timestamp = timestamp.parse().map_err(|_| Refusal::Signature)?;
        if (moment.as_second() - now.as_second()).abs() > WINDOW {
            return Err(Refusal::Stale);
        }
        let signature = request.header(SIGNATURE)?;
        let holds =
            signature::holds(&self.keys.read().unwrap_or_else(PoisonError::into_inner), &signed, signature);
        if !holds || !self.is_bound(nonce, request) {
            return Err(Refusal::Signature);
        }
        let mut nonces = self.nonces.lock().unwrap_or_else(PoisonError::into_inner);
        match nonces.remember(nonce, moment.as_second(), now.as_second()) {
            Remembered::New => Ok(()),
            Remembered::Reused => Err(Refusal::Reused),
            Remembered::Full => Err(Refusal::Full),
        }
    }

    /// How many nonces are remembered.
    pub fn remembered(&self) -> usize {
        self.nonces.lock().unwrap_or_else(PoisonError::into_inner).count()
    }

    /// Whether the nonce covers what the signature leaves out.
    fn is_bound(&self, nonce: &str, request: &Arrived<'_>) -> bool {
        let for_us = self.hosts.is_empty() || self.hosts.iter().any(|host| nonce::is_for_host(nonce, host));
        let fenced = request.fence().is_ok_and(|fence| nonce::covers(nonce, fence.as_ref()));
        nonce::is_sound(nonce) && for_us && fenced
    }
}

impl<'a> Arrived<'a> {
    /// Who writes, where the request says so.
    pub fn fence(&self) -> Result<Option<Fence>, Refusal> {
        match (self.headers.contains_key(OWNER), self.headers.contains_key(GENERATION)) {
            (false, false) => Ok(None),
            _ => {
                let (owner, generation) = (self.header(OWNER)?, self.header(GENERATION)?);
                let sound = is_owner(owner) && generation.bytes().all(|octet| octet.is_ascii_digit());
                let generation = generation.parse().ok().filter(|_| sound).ok_or(Refusal::Signature)?;
                Ok(Some(Fence { owner: owner.to_owned(), generation }))
            }
        }
    }

    /// A header that stands there exactly once.
    fn header(&self, name: &str) -> Result<&'a str, Refusal> {
        let mut values = self.headers.get_all(name).iter();
        match (values.next().map(|value| value.to_str()), values.next()) {
            (Some(Ok(value)), None) => Ok(value),
            _ => Err(Refusal::Signature),
        }
    }
}

/// Whether a text names an owner: 1 to 256 visible characters.
fn is_owner(text: &str) -> bool {
    (1..=256).contains(&text.len()) && text.bytes().all(|octet| octet.is_ascii_graphic())
}

impl Refusal {
    /// The protocol's code for it.
    pub fn code(self) -> Code {
        match self {
            Refusal::Signature => Code::AuthFailed,
            Refusal::Stale => Code::TimestampStale,
            Refusal::Reused => Code::NonceReused,
            Refusal::Full => Code::RateLimited,
        }
    }
}
