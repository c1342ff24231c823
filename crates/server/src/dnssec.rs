//! Signing answers as they are given, and the keys that do it. Pure but for the random number that
//! every ECDSA signature needs.
//!
//! ```text
//!  ZoneKeys ── step(now) ──► ZoneKeys          keys.rs, rollover.rs: who may sign, and since when
//!      │
//!      ▼
//!   Signing ── in a Zone by ZoneUpdate::Sign
//!      │
//!  Answer ──► secure ──► Answer with RRSIG, DS and NSEC   answer.rs, denial.rs, sign.rs, cache.rs
//!  Zone ────► signed_sets ──► the whole zone, signed      whole_zone.rs
//! ```
//!
//! A signature covers the set as it is answered, so a steered answer is signed like any other.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use dns::{Name, Rdata, RecordSet, Rtype};

mod answer;
mod cache;
mod denial;
mod key;
mod keys;
mod rollover;
mod sign;
mod stored;
mod whole_zone;

pub(crate) use answer::{Wish, secure};
pub use cache::{SharedSignatures, SignatureCache, SignatureId};
pub(crate) use denial::NXNAME;
pub(crate) use key::SIGNATURE;
pub use key::{Algorithm, DigestType, Key, KeyError, Role};
pub use keys::{KeyState, ZoneKey, ZoneKeys};
pub use rollover::{ClockReading, RolloverError, Timing};
pub use sign::WINDOW;
use sign::signatures;
pub(crate) use sign::{Subject, is_in_window, transfer_time};
pub use stored::StoredKeysError;
pub(crate) use whole_zone::signed_sets_at;
pub use whole_zone::{sets_by_name, signed_sets};

/// How long resolvers may keep the keys of a zone, in seconds.
pub const DNSKEY_TTL: u32 = 3600;

/// How many were made, so that each can have a number of its own.
static MADE: AtomicU64 = AtomicU64::new(0);

/// How it is proved that something does not exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Denial {
    /// One record made for the question, which says nothing about other names (RFC 9824).
    #[default]
    Compact,
    /// The zone's own chain of names (RFC 4034 section 4).
    Nsec,
}

/// How the answers of a zone are signed.
pub struct Signing {
    origin: Name,
    /// The origin on the wire, as signatures name it.
    signer: Box<[u8]>,
    /// Another for each, also where keys are the same.
    id: u64,
    denial: Denial,
    /// Sign the apex's DNSKEY, CDS and CDNSKEY sets.
    key_signing: Vec<Arc<Key>>,
    /// Signs everything else.
    zone_signing: Vec<Arc<Key>>,
    /// What signing adds to the apex.
    apex: Vec<RecordSet>,
    cache: SharedSignatures,
}

impl Signing {
    /// Signs with those of the zone's keys that may sign now; none where there is no such key.
    pub fn new(keys: &ZoneKeys, denial: Denial, cache: SharedSignatures) -> Option<Signing> {
        let (key_signing, zone_signing) = (keys.signing(Role::KeySigning), keys.signing(Role::ZoneSigning));
        if key_signing.is_empty() || zone_signing.is_empty() {
            return None;
        }
        let apex = apex_sets(keys);
        let (origin, signer) = (keys.zone.clone(), keys.zone.to_wire().into());
        let id = MADE.fetch_add(1, Ordering::Relaxed);
        Some(Signing { origin, signer, id, denial, key_signing, zone_signing, apex, cache })
    }

    /// How it is proved that something does not exist.
    pub fn denial(&self) -> Denial {
        self.denial
    }

    pub(crate) fn signer(&self) -> &[u8] {
        &self.signer
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// The keys that sign a set of this type.
    pub fn keys_for(&self, rtype: Rtype) -> &[Arc<Key>] {
        let of_keys = matches!(rtype, Rtype::DNSKEY | Rtype::CDS | Rtype::CDNSKEY);
        if of_keys { &self.key_signing } else { &self.zone_signing }
    }

    /// The RRSIG set of a set.
    pub(crate) fn sign(&self, subject: Subject<'_>, now: u32) -> Option<RecordSet> {
        self.signatures(subject, now, |octets, key| self.cache.get_or_sign(octets, key))
    }

    /// The RRSIG set of a set where its signatures have been made already.
    pub(crate) fn kept(&self, subject: Subject<'_>, now: u32) -> Option<RecordSet> {
        self.signatures(subject, now, |octets, key| self.cache.get(octets, key))
    }

    fn signatures(
        &self,
        subject: Subject<'_>,
        now: u32,
        sign: impl Fn(&[u8], &Key) -> Option<[u8; SIGNATURE]>,
    ) -> Option<RecordSet> {
        let keys = self.keys_for(subject.set.rtype).iter().map(Arc::as_ref);
        signatures(subject, &self.origin, keys, sign, now)
    }

    /// The sets of a name, those that signing replaces put in their place: a zone file may be an
    /// already signed one.
    pub(crate) fn own_sets<'a>(&self, key: &[u8], sets: Cow<'a, [RecordSet]>) -> Cow<'a, [RecordSet]> {
        let at_apex = key == self.origin.key();
        if !at_apex && !sets.iter().any(|set| is_made_by_signing(set.rtype, false)) {
            return sets;
        }
        let mut sets = sets.into_owned();
        sets.retain(|set| !is_made_by_signing(set.rtype, at_apex));
        if at_apex {
            sets.extend_from_slice(&self.apex);
        }
        Cow::Owned(sets)
    }
}

impl fmt::Debug for Signing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Signing({}, {:?}, {:?} {:?})",
            self.origin, self.denial, self.key_signing, self.zone_signing
        )
    }
}

/// Whether a set of this type comes from signing alone, whatever a zone file has.
pub(crate) fn is_made_by_signing(rtype: Rtype, at_apex: bool) -> bool {
    match rtype {
        Rtype::RRSIG | Rtype::NSEC | Rtype::NSEC3 | Rtype::NSEC3PARAM => true,
        Rtype::DNSKEY | Rtype::CDS | Rtype::CDNSKEY => at_apex,
        _ => false,
    }
}

/// The keys of the zone, and what the parent should know of them (RFC 7344, RFC 8078).
fn apex_sets(keys: &ZoneKeys) -> Vec<RecordSet> {
    let set = |rtype, data: Vec<Vec<u8>>| {
        let data: Vec<Rdata> = data.iter().filter_map(|wire| Rdata::from_wire(rtype, wire).ok()).collect();
        (!data.is_empty()).then(|| RecordSet::new(keys.zone.clone(), rtype, DNSKEY_TTL, data))
    };
    let at_parent = || keys.for_parent();
    let digests = at_parent().map(|key| key.ds_wire(&keys.zone, DigestType::Sha256));
    let sets = [
        set(Rtype::DNSKEY, keys.keys().iter().map(|key| key.key.dnskey().to_vec()).collect()),
        set(Rtype::CDS, digests.collect()),
        set(Rtype::CDNSKEY, at_parent().map(|key| key.dnskey().to_vec()).collect()),
    ];
    sets.into_iter().flatten().collect()
}
