//! Transaction signatures (RFC 8945): who sent a message, and that nobody changed it.
//!
//! Written by hand over `ring`, because a message is octets on both sides of this: building it
//! anew record by record, only to sign it, would cost more than the signature.

use std::fmt;
use std::sync::Arc;

use dns::Name;
use ring::hmac;

use super::request::Signature;

const TYPE: u16 = 250;
const CLASS_ANY: u16 = 255;
/// How far two clocks may be apart, in seconds (RFC 8945 section 10).
const FUDGE: u16 = 300;
/// Where the number of additional records stands in a header.
const ADDITIONAL_COUNT: usize = 10;
/// What a TSIG record has beside its names and its MAC.
const FIXED: usize = 10 + 16;

/// How messages are signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TsigAlgorithm {
    /// HMAC with SHA-256.
    HmacSha256,
    /// HMAC with SHA-384.
    HmacSha384,
    /// HMAC with SHA-512.
    HmacSha512,
}

impl TsigAlgorithm {
    /// Its name as messages have it, in wire form.
    fn wire_name(self) -> &'static [u8] {
        match self {
            TsigAlgorithm::HmacSha256 => b"\x0bhmac-sha256\0",
            TsigAlgorithm::HmacSha384 => b"\x0bhmac-sha384\0",
            TsigAlgorithm::HmacSha512 => b"\x0bhmac-sha512\0",
        }
    }

    fn of_ring(self) -> hmac::Algorithm {
        match self {
            TsigAlgorithm::HmacSha256 => hmac::HMAC_SHA256,
            TsigAlgorithm::HmacSha384 => hmac::HMAC_SHA384,
            TsigAlgorithm::HmacSha512 => hmac::HMAC_SHA512,
        }
    }
}

/// A key that two servers share; clones share it too.
#[derive(Clone)]
pub struct TsigKey(Arc<Shared>);

struct Shared {
    name: Name,
    algorithm: TsigAlgorithm,
    secret: Box<[u8]>,
    key: hmac::Key,
}

impl TsigKey {
    /// The key that both sides know by this name.
    pub fn new(name: Name, algorithm: TsigAlgorithm, secret: &[u8]) -> TsigKey {
        let key = hmac::Key::new(algorithm.of_ring(), secret);
        TsigKey(Arc::new(Shared { name, algorithm, secret: secret.into(), key }))
    }

    /// The name that both sides know it by.
    pub fn name(&self) -> &Name {
        &self.0.name
    }

    fn mac_length(&self) -> usize {
        self.0.key.algorithm().digest_algorithm().output_len()
    }
}

impl fmt::Debug for TsigKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TsigKey").field("name", &self.0.name).finish_non_exhaustive()
    }
}

impl PartialEq for TsigKey {
    fn eq(&self, other: &TsigKey) -> bool {
        let (one, other) = (&self.0, &other.0);
        (&one.name, one.algorithm, &one.secret) == (&other.name, other.algorithm, &other.secret)
    }
}

impl Eq for TsigKey {}

/// Why a signature does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum TsigError {
    #[error("the signature is not the key's")]
    Signature,
    #[error("no such key is known here")]
    Key,
    #[error("the signature was made at another time than now")]
    Time,
    #[error("the signature is cut short")]
    Truncation,
}

impl TsigError {
    /// The number on the wire.
    pub(super) fn number(self) -> u16 {
        match self {
            TsigError::Signature => 16,
            TsigError::Key => 17,
            TsigError::Time => 18,
            TsigError::Truncation => 22,
        }
    }
}

/// Signs the messages of one exchange, each together with what came before it.
#[derive(Clone, Debug)]
pub(super) struct Signer {
    key: TsigKey,
    /// The MAC before this one; at first that of the query, where there is one.
    last: Option<Box<[u8]>>,
    /// Whether the next message is the first of this side.
    is_first: bool,
}

impl Signer {
    /// Signs a message that nothing came before.
    pub(super) fn new(key: TsigKey) -> Signer {
        Signer { key, last: None, is_first: true }
    }

    #[cfg(test)]
    pub(super) fn with_key(self, key: TsigKey) -> Signer {
        Signer { key, ..self }
    }

    /// How many octets a signature takes.
    pub(super) fn length(&self) -> usize {
        let algorithm = self.key.0.algorithm.wire_name().len();
        self.key.name().wire_len() + algorithm + self.key.mac_length() + FIXED
    }

    /// Appends the signature. `now` is in seconds since 1970.
    pub(super) fn sign(&mut self, message: &mut Vec<u8>, now: u64) {
        self.sign_with(message, Stamp::at(now));
    }

    fn sign_with(&mut self, message: &mut Vec<u8>, stamp: Stamp<'_>) {
        let mut context = self.begin();
        context.update(message);
        match self.is_first {
            true => context.update(&variables(self.key.name(), self.key.0.algorithm.wire_name(), &stamp)),
            false => context.update(&stamp.timers()),
        }
        let mac = context.sign();
        append(message, self.key.name(), self.key.0.algorithm.wire_name(), mac.as_ref(), &stamp);
        (self.last, self.is_first) = (Some(mac.as_ref().into()), false);
    }

    /// Looks whether an answer to what was signed last is signed as it should be.
    pub(super) fn verify(&self, message: &[u8], found: &Signature<'_>, now: u64) -> Result<(), TsigError> {
        if found.name != *self.key.name() || found.algorithm != self.key.0.algorithm.wire_name() {
            return Err(TsigError::Key);
        }
        self.check(message, found, now)
    }

    fn begin(&self) -> hmac::Context {
        let mut context = hmac::Context::with_key(&self.key.0.key);
        if let Some(last) = &self.last {
            context.update(&(last.len() as u16).to_be_bytes());
            context.update(last);
        }
        context
    }

    fn check(&self, message: &[u8], found: &Signature<'_>, now: u64) -> Result<(), TsigError> {
        let full = self.key.mac_length();
        match found.mac.len() {
            length if length == full => {}
            length if length >= 10.max(full / 2) && length < full => return Err(TsigError::Truncation),
            _ => return Err(TsigError::Signature),
        }
        let stamp = found.stamp();
        let mut signed = found.unsigned(message);
        signed.extend(variables(&found.name, &found.algorithm, &stamp));
        let before =
            self.last.iter().flat_map(|last| [&(last.len() as u16).to_be_bytes()[..], last].concat());
        let signed: Vec<u8> = before.chain(signed).collect();
        hmac::verify(&self.key.0.key, &signed, found.mac).map_err(|_| TsigError::Signature)?;
        let apart = now.abs_diff(found.time);
        if apart > u64::from(found.fudge) { Err(TsigError::Time) } else { Ok(()) }
    }
}

/// The signer for the answer to a query whose signature holds.
pub(super) fn verify(
    message: &[u8],
    found: &Signature<'_>,
    keys: &[TsigKey],
    now: u64,
) -> Result<Signer, TsigError> {
    let signer = Signer::new(known(found, keys).ok_or(TsigError::Key)?);
    signer.check(message, found, now)?;
    Ok(Signer { last: Some(found.mac.into()), ..signer })
}

fn known(found: &Signature<'_>, keys: &[TsigKey]) -> Option<TsigKey> {
    let is_it = |key: &&TsigKey| *key.name() == found.name && key.0.algorithm.wire_name() == found.algorithm;
    keys.iter().find(is_it).cloned()
}

/// Appends to an answer why the query's signature does not hold. That the clocks differ is signed,
/// with our time, so that nobody else can say it (RFC 8945 section 5.2.3).
pub(super) fn answer_error(
    error: TsigError,
    found: &Signature<'_>,
    keys: &[TsigKey],
    now: u64,
    message: &mut Vec<u8>,
) {
    let ours = now.to_be_bytes();
    match (error, known(found, keys)) {
        (TsigError::Time, Some(key)) => {
            let mut signer = Signer { last: Some(found.mac.into()), ..Signer::new(key) };
            let stamp = Stamp { error: error.number(), other: &ours[2..], ..Stamp::at(found.time) };
            signer.sign_with(message, stamp);
        }
        _ => {
            let stamp = Stamp { error: error.number(), ..Stamp::at(now) };
            append(message, &found.name, &found.algorithm, &[], &stamp);
        }
    }
}

/// The fields that are signed beside the message and the names.
#[derive(Clone, Copy)]
pub(super) struct Stamp<'a> {
    pub(super) time: u64,
    pub(super) fudge: u16,
    pub(super) error: u16,
    pub(super) other: &'a [u8],
}

impl Stamp<'_> {
    fn at(now: u64) -> Stamp<'static> {
        Stamp { time: now, fudge: FUDGE, error: 0, other: &[] }
    }

    fn timers(&self) -> [u8; 8] {
        let [_, _, time @ ..] = self.time.to_be_bytes();
        let [high, low] = self.fudge.to_be_bytes();
        let [a, b, c, d, e, f] = time;
        [a, b, c, d, e, f, high, low]
    }
}

/// What is signed after the message (RFC 8945 section 4.3.3).
fn variables(name: &Name, algorithm: &[u8], stamp: &Stamp<'_>) -> Vec<u8> {
    let mut out = name.to_wire();
    out.extend_from_slice(&CLASS_ANY.to_be_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(algorithm);
    out.extend_from_slice(&stamp.timers());
    out.extend_from_slice(&stamp.error.to_be_bytes());
    out.extend_from_slice(&(stamp.other.len() as u16).to_be_bytes());
    out.extend_from_slice(stamp.other);
    out
}

/// Appends the record and counts it.
fn append(message: &mut Vec<u8>, name: &Name, algorithm: &[u8], mac: &[u8], stamp: &Stamp<'_>) {
    let id: [u8; 2] = [message[0], message[1]];
    name.write_wire(message);
    message.extend_from_slice(&TYPE.to_be_bytes());
    message.extend_from_slice(&CLASS_ANY.to_be_bytes());
    message.extend_from_slice(&[0; 4]);
    let length = algorithm.len() + 8 + 2 + mac.len() + 2 + 2 + 2 + stamp.other.len();
    message.extend_from_slice(&(length as u16).to_be_bytes());
    message.extend_from_slice(algorithm);
    message.extend_from_slice(&stamp.timers());
    message.extend_from_slice(&(mac.len() as u16).to_be_bytes());
    message.extend_from_slice(mac);
    message.extend_from_slice(&id);
    message.extend_from_slice(&stamp.error.to_be_bytes());
    message.extend_from_slice(&(stamp.other.len() as u16).to_be_bytes());
    message.extend_from_slice(stamp.other);
    count_additional(message, 1);
}

/// Changes how many additional records a header says there are.
pub(super) fn count_additional(message: &mut [u8], change: i16) {
    let Some(place) = message.get_mut(ADDITIONAL_COUNT..ADDITIONAL_COUNT + 2) else { return };
    let count = u16::from_be_bytes([place[0], place[1]]).wrapping_add_signed(change);
    place.copy_from_slice(&count.to_be_bytes());
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn a_key_is_never_printed() {
        let key = TsigKey::new("key".parse().unwrap(), TsigAlgorithm::HmacSha256, b"sesame");
        let text = format!("{key:?} {:?}", Signer::new(key.clone()));
        assert!(text.contains("key") && !text.contains("sesame") && !text.contains("115, 101"), "{text}");
    }
}
