//! Signatures of record sets (RFC 4034 section 3 and 6).
//!
//! ```text
//!  owner ──► window: from when until when ─┐
//!  set, key ───────────────────────────────┴─► octets to sign ──► cache, else the key ──► RRSIG
//! ```
//!
//! Time is cut into windows of a week that start at another moment for each owner, so that what a
//! signature covers depends on the week and not on the moment, and a zone never needs all of its
//! signatures at once. A signature is valid for three windows: one that is served has two weeks
//! left at least, so a secondary that transfers once a week never serves an expired one.

use dns::{Name, Rdata, RecordSet, Rtype};

use super::key::{Key, SIGNATURE};

const HOUR: u64 = 3600;
/// How long signatures are used before new ones are made.
pub const WINDOW: u64 = 7 * 24 * HOUR;
/// How long a signature is valid from the start of its window on.
const VALIDITY: u64 = 3 * WINDOW;
/// How far a validator's clock may be behind ours.
const CLOCK_SKEW: u64 = HOUR;
const CLASS_IN: u16 = 1;

/// A record set, whose data it is, and the TTL that it has where it is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subject<'a> {
    /// The set; its data is signed as it is.
    pub(crate) set: &'a RecordSet,
    /// Its owner, or the wildcard that it was made from.
    pub(crate) owner: &'a Name,
    /// The TTL before a negative answer shortened it.
    pub(crate) original_ttl: u32,
}

impl<'a> Subject<'a> {
    /// A set as it stands in the zone.
    pub(crate) fn of(set: &'a RecordSet) -> Subject<'a> {
        Subject { set, owner: &set.name, original_ttl: set.ttl }
    }
}

/// The RRSIG set of a record set, one record for each key; none where a key cannot sign.
pub(crate) fn signatures<'k>(
    subject: Subject<'_>,
    origin: &Name,
    keys: impl IntoIterator<Item = &'k Key>,
    sign: impl Fn(&[u8], &Key) -> Option<[u8; SIGNATURE]>,
    now: u32,
) -> Option<RecordSet> {
    let sign = |key| signature(subject, origin, key, &sign, now);
    let data: Option<Vec<Rdata>> = keys.into_iter().map(sign).collect();
    let set = subject.set;
    data.filter(|data| !data.is_empty())
        .map(|data| RecordSet::new(set.name.clone(), Rtype::RRSIG, set.ttl, data))
}

fn signature(
    subject: Subject<'_>,
    origin: &Name,
    key: &Key,
    sign: impl Fn(&[u8], &Key) -> Option<[u8; SIGNATURE]>,
    now: u32,
) -> Option<Rdata> {
    let head = head(subject, origin, key, now);
    let signed = octets(&head, subject);
    let signature = sign(&signed, key)?;
    Rdata::from_wire(Rtype::RRSIG, &[&head[..], &signature].concat()).ok()
}

/// The data of an RRSIG up to its signature (RFC 4034 section 3.1).
fn head(subject: Subject<'_>, origin: &Name, key: &Key, now: u32) -> Vec<u8> {
    let (inception, expiration) = validity(subject.owner, now);
    let mut out = Vec::with_capacity(18 + origin.wire_len() + SIGNATURE);
    out.extend_from_slice(&subject.set.rtype.0.to_be_bytes());
    out.extend_from_slice(&[key.algorithm().number(), labels(subject.owner)]);
    out.extend_from_slice(&subject.original_ttl.to_be_bytes());
    out.extend_from_slice(&expiration.to_be_bytes());
    out.extend_from_slice(&inception.to_be_bytes());
    out.extend_from_slice(&key.tag().to_be_bytes());
    origin.write_wire(&mut out);
    out
}

/// The octets that are signed (RFC 4034 section 3.1.8.1). Names in record data are in lower case
/// wherever we keep it; data that steering chose is in no order.
fn octets(head: &[u8], subject: Subject<'_>) -> Vec<u8> {
    let mut each = subject.owner.to_wire();
    each.extend_from_slice(&subject.set.rtype.0.to_be_bytes());
    each.extend_from_slice(&CLASS_IN.to_be_bytes());
    each.extend_from_slice(&subject.original_ttl.to_be_bytes());
    let mut out = head.to_vec();
    let mut data: Vec<&[u8]> = subject.set.data.iter().map(Rdata::wire).collect();
    data.sort_unstable();
    for data in data {
        out.extend_from_slice(&each);
        out.extend_from_slice(&(data.len() as u16).to_be_bytes());
        out.extend_from_slice(data);
    }
    out
}

/// How many labels the owner has, the root and a leading `*` not among them.
fn labels(owner: &Name) -> u8 {
    (owner.labels().count() - usize::from(owner.is_wildcard())) as u8
}

/// From when until when a signature made now is valid, in seconds since 1970. The fields are serial
/// numbers (RFC 4034 section 3.1.5), so they pass 2106 and 1970 alike.
pub(crate) fn validity(owner: &Name, now: u32) -> (u32, u32) {
    let offset = scatter(owner.key()) % WINDOW;
    let elapsed = (u64::from(now) + offset) % WINDOW;
    let start = now.wrapping_sub(elapsed as u32);
    (start.wrapping_sub(CLOCK_SKEW as u32), start.wrapping_add(VALIDITY as u32))
}

/// Whether a signature with this inception is the one that [`validity`] gives at `now`.
///
/// One comparison checks both ends: before the window the difference wraps around to a large number.
/// So a signature that was made while the clock was ahead is not used after the clock is set back.
#[inline]
pub(crate) fn is_in_window(inception: u32, now: u32) -> bool {
    now.wrapping_sub(inception.wrapping_add(CLOCK_SKEW as u32)) < WINDOW as u32
}

/// The time for which transferred zones are signed: the start of the week.
///
/// The serial of a signed zone moves with the week, so its content and its signatures depend on the serial
/// alone. A transfer that was made while the clock was wrong within one week has the right signatures, and
/// in another week it has another serial, so that secondaries transfer again.
pub(crate) fn transfer_time(now: u32) -> u32 {
    now - now % WINDOW as u32
}

/// A number that is another for each owner and the same on every replica (FNV-1a).
fn scatter(key: &[u8]) -> u64 {
    key.iter().fold(0xcbf2_9ce4_8422_2325, |hash, octet| {
        (hash ^ u64::from(*octet)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use crate::dnssec::{Algorithm, Role};
    use proptest::prelude::*;
    use ring::rand::SystemRandom;
    use ring::signature::{ECDSA_P256_SHA256_FIXED, ED25519, UnparsedPublicKey, VerificationAlgorithm};

    proptest! {
        #[test]
        fn a_served_signature_has_begun_and_has_two_weeks_left(now in 1_600_000_000u32..4_000_000_000, name in "[a-z]{1,9}") {
            let (inception, expiration) = validity(&name.parse().unwrap(), now);
            prop_assert!(u64::from(inception) + HOUR <= u64::from(now));
            prop_assert!(u64::from(expiration) >= u64::from(now) + 2 * WINDOW);
            prop_assert!(u64::from(expiration) - u64::from(inception) == VALIDITY + CLOCK_SKEW);
        }

        /// The clock may be set to any time, that of 1970 and of 2106 included.
        #[test]
        fn a_kept_signature_is_used_exactly_while_it_would_be_made_again(
            made: u32,
            later in prop_oneof![any::<i32>(), -2_000_000i32..2_000_000],
            name in "[a-z]{1,9}",
        ) {
            let (owner, now): (Name, u32) = (name.parse().unwrap(), made.wrapping_add_signed(later));
            let (kept, wanted) = (validity(&owner, made), validity(&owner, now));
            if is_in_window(kept.0, now) {
                prop_assert!(serial_le(kept.0, now) && serial_le(now, kept.1));
            }
            // The weeks of 1970 and of 2106 do not meet: only there may two windows overlap.
            let is_near_the_end = |time: u32| time < WINDOW as u32 || time > u32::MAX - WINDOW as u32;
            if !is_near_the_end(made) && !is_near_the_end(now) {
                prop_assert_eq!(is_in_window(kept.0, now), kept == wanted);
            }
        }

        #[test]
        fn a_transferred_signature_is_of_its_week_and_has_a_week_left(now in 1_600_000_000u32..4_000_000_000, name in "[a-z]{1,9}") {
            let (inception, expiration) = validity(&name.parse().unwrap(), transfer_time(now));
            prop_assert_eq!(u64::from(transfer_time(now)) / WINDOW, u64::from(now) / WINDOW);
            prop_assert!(u64::from(inception) + HOUR <= u64::from(now));
            prop_assert!(u64::from(expiration) >= u64::from(now) + WINDOW);
        }
    }

    /// Whether one serial number is not after another (RFC 1982).
    fn serial_le(one: u32, other: u32) -> bool {
        other.wrapping_sub(one) as i32 >= 0
    }

    /// The signed octets of RFC 6605 section 6.1 and RFC 8080 section 6.1, made by our own hand
    /// and judged by the RFCs' own signatures.
    #[test]
    fn the_signed_octets_are_those_of_the_rfcs() {
        rfc_example(
            "www.example.net. A 192.0.2.1",
            3600,
            "A 13 3 3600 20100909100439 20100812100439 55648 example.net. qx6wLYqmh+l9oCKTN6qIc+bw6ya+KJ8oMz0YP107epXAyGmt+3SNruPFKG7tZoLBLlUzGGus7ZwmwWep666VCw==",
            "257 3 13 GojIhhXUN/u4v54ZQqGSnyhWJwaubCvTmeexv7bR6edbkrSqQpF64cYbcB7wNcP+e+MAnLr+Wi9xMWyQLc8NAA==",
            &ECDSA_P256_SHA256_FIXED,
        );
        rfc_example(
            "example.com. MX 10 mail.example.com.",
            3600,
            "MX 15 2 3600 1440021600 1438207200 3613 example.com. oL9krJun7xfBOIWcGHi7mag5/hdZrKWw15jPGrHpjQeRAvTdszaPD+QLs3fx8A4M3e23mRZ9VrbpMngwcrqNAg==",
            "257 3 15 l02Woi0iS8Aa25FQkUd9RMzZHJpBoRQwAQEX1SxZJA4=",
            &ED25519,
        );
    }

    fn rfc_example(
        record: &str,
        ttl: u32,
        rrsig: &str,
        dnskey: &str,
        algorithm: &'static dyn VerificationAlgorithm,
    ) {
        let root = Name::root();
        let words: Vec<&str> = record.splitn(3, ' ').collect();
        let rtype: Rtype = words[1].parse().unwrap();
        let data = Rdata::parse(rtype, words[2], &root).unwrap();
        let set = RecordSet::new(words[0].parse().unwrap(), rtype, ttl, vec![data]);
        let rrsig = Rdata::parse(Rtype::RRSIG, rrsig, &root).unwrap();
        let dnskey = Rdata::parse(Rtype::DNSKEY, dnskey, &root).unwrap();
        let (head, signature) = rrsig.wire().split_at(rrsig.wire().len() - 64);
        let mut public = dnskey.wire()[4..].to_vec();
        if public.len() == 64 {
            public.insert(0, 4);
        }
        UnparsedPublicKey::new(algorithm, public)
            .verify(&octets(head, Subject::of(&set)), signature)
            .unwrap();
    }

    #[test]
    fn a_signature_names_its_key_zone_and_labels() {
        let key = Key::generate(Algorithm::Ed25519, Role::ZoneSigning, &SystemRandom::new()).unwrap();
        let (origin, wildcard) = ("e.org.".parse().unwrap(), "*.w.e.org.".parse().unwrap());
        let data = vec![Rdata::a([192, 0, 2, 1].into())];
        let set = RecordSet::new("x.w.e.org.".parse().unwrap(), Rtype::A, 60, data);
        let subject = Subject { set: &set, owner: &wildcard, original_ttl: 60 };
        let sign = |octets: &[u8], key: &Key| key.sign(octets);
        let signed = signatures(subject, &origin, [&key], sign, 1_700_000_000).unwrap();
        assert_eq!((signed.name, signed.ttl), (set.name.clone(), 60));
        let wire = signed.data[0].wire();
        assert_eq!(wire[..8], [0, 1, 15, 3, 0, 0, 0, 60]);
        assert_eq!(wire[16..18], key.tag().to_be_bytes());
        assert_eq!(wire[18..wire.len() - 64], origin.to_wire());
    }
}
