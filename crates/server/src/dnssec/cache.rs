//! Signatures that were made once, by a digest of the octets that they sign.
//!
//! Signing takes some tens of microseconds; looking here less than one. The digest covers owner,
//! type, data, TTL, inception, expiration and key, so an entry is never wrong, whatever the clock said when it was
//! made, and there is nothing to invalidate: what is not asked for any more gives way to what is. Memory is bounded from the start.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ring::digest::{SHA256, digest};

use super::key::{Key, SIGNATURE};

/// How many places an entry may lie in; the oldest of them gives way.
const WAYS: usize = 4;
/// How many parts a shared cache has, so that threads seldom wait for each other.
const SHARDS: usize = 16;
/// How many signatures a shared cache keeps, unless told otherwise: about six megabytes.
const SHARED_CAPACITY: usize = 1 << 16;

/// The digest of what was signed, and with which key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignatureId([u8; 16]);

impl SignatureId {
    /// The id of some octets under a key. The octets name algorithm and key tag; the public key
    /// is among what is digested because two keys may have one tag.
    pub fn new(octets: &[u8], key: &Key) -> SignatureId {
        let mut context = ring::digest::Context::new(&SHA256);
        context.update(octets);
        context.update(key.dnskey());
        SignatureId::from_digest(context.finish().as_ref())
    }

    /// The id of octets that were put together by the caller, with all that a signature depends on.
    pub fn of(octets: &[u8]) -> SignatureId {
        SignatureId::from_digest(digest(&SHA256, octets).as_ref())
    }

    fn from_digest(digest: &[u8]) -> SignatureId {
        SignatureId(digest.first_chunk().copied().unwrap_or_default())
    }

    fn number(self) -> usize {
        let [first, second, third, fourth, ..] = self.0;
        u32::from_be_bytes([first, second, third, fourth]) as usize
    }
}

/// Signatures of one thread, or of one part of a shared cache: no lock and, after the first entry,
/// no allocation.
pub struct SignatureCache {
    /// A power of two, of which `WAYS` neighbours are one bucket.
    capacity: usize,
    entries: Vec<Entry>,
    /// Which way of a full bucket gives way next.
    turn: usize,
}

#[derive(Clone, Copy)]
struct Entry {
    id: SignatureId,
    signature: [u8; SIGNATURE],
}

impl SignatureCache {
    /// A cache with room for at least this many signatures; takes its memory with the first.
    pub fn new(capacity: usize) -> SignatureCache {
        SignatureCache { capacity: capacity.max(WAYS).next_power_of_two(), entries: Vec::new(), turn: 0 }
    }

    /// The signature with this id.
    pub fn get(&self, id: SignatureId) -> Option<&[u8; SIGNATURE]> {
        let start = self.bucket(id);
        let bucket = self.entries.get(start..start + WAYS)?;
        bucket.iter().find(|entry| entry.id == id).map(|entry| &entry.signature)
    }

    /// Keeps a signature; another one may have to go.
    pub fn put(&mut self, id: SignatureId, signature: [u8; SIGNATURE]) {
        if self.entries.is_empty() {
            let empty = Entry { id: SignatureId([0; 16]), signature: [0; SIGNATURE] };
            self.entries = vec![empty; self.capacity];
        }
        self.turn = self.turn.wrapping_add(1);
        let start = self.bucket(id);
        let bucket = &mut self.entries[start..start + WAYS];
        let place = bucket.iter().position(|entry| entry.id == id || entry.id.0 == [0; 16]);
        bucket[place.unwrap_or(self.turn % WAYS)] = Entry { id, signature };
    }

    fn bucket(&self, id: SignatureId) -> usize {
        (id.number() & (self.capacity - 1)) / WAYS * WAYS
    }
}

impl fmt::Debug for SignatureCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SignatureCache({} places)", self.capacity)
    }
}

/// Signatures that several threads and zones share; clones are the same cache.
#[derive(Clone, Debug)]
pub struct SharedSignatures {
    shards: Arc<[Mutex<SignatureCache>]>,
    made: Arc<AtomicU64>,
}

impl Default for SharedSignatures {
    fn default() -> SharedSignatures {
        SharedSignatures::new(SHARED_CAPACITY)
    }
}

impl SharedSignatures {
    /// A cache with room for this many signatures.
    pub fn new(capacity: usize) -> SharedSignatures {
        let shard = |_| Mutex::new(SignatureCache::new(capacity.div_ceil(SHARDS)));
        SharedSignatures { shards: (0..SHARDS).map(shard).collect(), made: Arc::default() }
    }

    /// How many signatures were made because they were not kept.
    pub fn made(&self) -> u64 {
        self.made.load(Ordering::Relaxed)
    }

    /// The signature of some octets where it is kept.
    pub(crate) fn get(&self, octets: &[u8], key: &Key) -> Option<[u8; SIGNATURE]> {
        let id = SignatureId::new(octets, key);
        // Whoever panicked with the lock has left whole entries only.
        self.shard(id)?.lock().unwrap_or_else(PoisonError::into_inner).get(id).copied()
    }

    /// The signature of some octets: kept, or made now without anybody waiting for it.
    pub(crate) fn get_or_sign(&self, octets: &[u8], key: &Key) -> Option<[u8; SIGNATURE]> {
        if let Some(kept) = self.get(octets, key) {
            return Some(kept);
        }
        self.made.fetch_add(1, Ordering::Relaxed);
        let (id, signature) = (SignatureId::new(octets, key), key.sign(octets)?);
        self.shard(id)?.lock().unwrap_or_else(PoisonError::into_inner).put(id, signature);
        Some(signature)
    }

    fn shard(&self, id: SignatureId) -> Option<&Mutex<SignatureCache>> {
        self.shards.get(usize::from(id.0[15]) % SHARDS)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use crate::dnssec::{Algorithm, Role};
    use ring::rand::SystemRandom;

    #[test]
    fn what_is_kept_comes_back_and_the_room_is_bounded() {
        let mut cache = SignatureCache::new(64);
        let id = |number: u32| SignatureId::of(&number.to_be_bytes());
        assert_eq!(cache.get(id(0)), None);
        for number in 0..1000 {
            cache.put(id(number), [number as u8; SIGNATURE]);
            assert_eq!(cache.get(id(number)), Some(&[number as u8; SIGNATURE]));
        }
        assert_eq!(cache.entries.len(), 64);
        assert!((0..1000).filter(|number| cache.get(id(*number)).is_some()).count() <= 64);
    }

    #[test]
    fn a_signature_is_made_once_for_each_key() {
        // ECDSA draws a number for each signature, so equal ones came from the cache.
        let key = || Key::generate(Algorithm::EcdsaP256, Role::ZoneSigning, &SystemRandom::new()).unwrap();
        let (cache, first, second) = (SharedSignatures::new(64), key(), key());
        let signature = cache.get_or_sign(b"octets", &first).unwrap();
        assert_eq!(cache.clone().get_or_sign(b"octets", &first), Some(signature));
        assert_ne!(cache.get_or_sign(b"octets", &second), Some(signature));
        assert_ne!(cache.get_or_sign(b"others", &first), Some(signature));
    }
}
