//! Signatures of fast answers, kept by each thread for itself.
//!
//! What was written for an answer is hashed with the name and whoever signs, under a key that is
//! this process's own; the hash leads to the signature. So there is nothing to invalidate but what is
//! outside its window of time, on either side, and a hit takes neither lock nor memory. What is not there is asked of the cache that all share.

use std::cell::RefCell;
use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

use dns::{Name, Rdata, RecordSet, Rtype};
use siphasher::sip128::{Hasher128, SipHasher13};

use super::answer::RECORD_HEAD;
use crate::dnssec::{SIGNATURE, Signing, Subject, is_in_window};

/// The data of an RRSIG before the signer's name.
const HEAD: usize = 18;
/// How many signatures a thread keeps: about three megabytes, taken with the first.
const CAPACITY: usize = 1 << 15;
/// How many places an entry may lie in.
const WAYS: usize = 4;

static KEY: LazyLock<[u8; 16]> = LazyLock::new(|| {
    let state = RandomState::new();
    let [one, other] = [1, 2].map(|number| state.hash_one(number).to_le_bytes());
    let mut key = [0; 16];
    key[..8].copy_from_slice(&one);
    key[8..].copy_from_slice(&other);
    key
});

thread_local! {
    static KEPT: RefCell<Kept> = const { RefCell::new(Kept { entries: Vec::new(), turn: 0 }) };
}

/// The data of an RRSIG record but for the signer's name.
#[derive(Clone, Copy)]
pub(super) struct Signature {
    pub(super) head: [u8; HEAD],
    pub(super) signature: [u8; SIGNATURE],
}

#[derive(Clone, Copy)]
struct Entry {
    /// Zero for an entry without a signature.
    id: u128,
    /// The inception of the signature, which says when it is used.
    inception: u32,
    signature: Signature,
}

struct Kept {
    entries: Vec<Entry>,
    turn: usize,
}

/// What is to be signed: the records of one set as they stand in a message, and whose they are.
pub(super) struct Written<'a> {
    pub(super) signing: &'a Signing,
    /// The keyed hash of the owner's name.
    pub(super) name_hash: u64,
    /// The owner's name on the wire.
    pub(super) name: &'a [u8],
    pub(super) records: &'a [u8],
    pub(super) now: u32,
    /// Whether a signature may be made that nobody keeps.
    pub(super) may_sign: bool,
}

impl Written<'_> {
    /// The signature; `None` leaves the answer to the slow path.
    #[inline]
    pub(super) fn signature(&self) -> Option<Signature> {
        let id = self.id();
        KEPT.with_borrow_mut(|kept| match kept.get(id, self.now) {
            Some(signature) => Some(signature),
            None => self.make().map(|made| kept.put(Entry { id, ..made })),
        })
    }

    #[inline]
    fn id(&self) -> u128 {
        use std::hash::Hasher;
        let mut hasher = SipHasher13::new_with_key(&KEY);
        hasher.write_u64(self.signing.id());
        hasher.write_u64(self.name_hash);
        hasher.write(self.records);
        hasher.finish128().as_u128()
    }

    #[cold]
    fn make(&self) -> Option<Entry> {
        let (name, _) = Name::from_wire(self.name).ok()?;
        let set = record_set(name, self.records)?;
        let subject = Subject::of(&set);
        let signed = match self.may_sign {
            true => self.signing.sign(subject, self.now)?,
            false => self.signing.kept(subject, self.now)?,
        };
        let [rrsig] = &signed.data[..] else { return None };
        let (head, _) = rrsig.wire().split_first_chunk::<HEAD>()?;
        let signature = *rrsig.wire().last_chunk::<SIGNATURE>()?;
        let inception = u32::from_be_bytes(*head.get(12..16)?.first_chunk()?);
        Some(Entry { id: 0, inception, signature: Signature { head: *head, signature } })
    }
}

impl Kept {
    #[inline]
    fn get(&self, id: u128, now: u32) -> Option<Signature> {
        let start = bucket(id);
        let bucket = self.entries.get(start..start + WAYS)?;
        let is_usable = |entry: &&Entry| entry.id == id && is_in_window(entry.inception, now);
        bucket.iter().find(is_usable).map(|entry| entry.signature)
    }

    fn put(&mut self, entry: Entry) -> Signature {
        if self.entries.is_empty() {
            let nothing = Signature { head: [0; HEAD], signature: [0; SIGNATURE] };
            self.entries = vec![Entry { id: 0, inception: 0, signature: nothing }; CAPACITY];
        }
        self.turn = self.turn.wrapping_add(1);
        let start = bucket(entry.id);
        let bucket = &mut self.entries[start..start + WAYS];
        let place = bucket.iter().position(|other| other.id == entry.id || other.id == 0);
        bucket[place.unwrap_or(self.turn % WAYS)] = entry;
        entry.signature
    }
}

#[inline]
fn bucket(id: u128) -> usize {
    (id as usize & (CAPACITY - 1)) / WAYS * WAYS
}

/// The set that was written, read back.
fn record_set(name: Name, mut records: &[u8]) -> Option<RecordSet> {
    let (mut rtype, mut ttl, mut data) = (Rtype(0), 0, Vec::new());
    while let Some((head, rest)) = records.split_first_chunk::<RECORD_HEAD>() {
        let [_, _, type_high, type_low, _, _, t0, t1, t2, t3, high, low] = *head;
        rtype = Rtype(u16::from_be_bytes([type_high, type_low]));
        ttl = u32::from_be_bytes([t0, t1, t2, t3]);
        let (wire, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes([high, low])))?;
        data.push(Rdata::from_wire(rtype, wire).ok()?);
        records = rest;
    }
    (!data.is_empty()).then(|| RecordSet::new(name, rtype, ttl, data))
}
