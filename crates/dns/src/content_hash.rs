//! A hash of records that is the same in every process and version.
//!
//! Serials are decided by it, also after an upgrade, so it must never change: FNV-1a with 64 bits
//! over the name's key (its length first), type, TTL and data, and the finalizer of MurmurHash3 on
//! top, since a zone's hash is a sum and the sum of plain FNV hashes collides too easily.

use crate::{Name, Rdata, Rtype};

/// The hash of one record. The hash of a zone is the wrapping sum of its records' hashes, so one
/// changed record changes it by a difference.
///
/// The serial of a SOA does not count: it follows from the hash.
pub fn entry_hash(name: &Name, rtype: Rtype, ttl: u32, rdata: &Rdata) -> u64 {
    hash_parts(name.key(), &[], rtype, ttl, rdata.wire())
}

/// The hash of a record whose name's key comes in two parts.
pub(crate) fn hash_parts(key: &[u8], rest_of_key: &[u8], rtype: Rtype, ttl: u32, wire: &[u8]) -> u64 {
    let key_length = (key.len() + rest_of_key.len()) as u16;
    let (before, after) = around_serial(rtype, wire);
    let mut state = Fnv::new();
    state.feed(&key_length.to_be_bytes());
    state.feed(key);
    state.feed(rest_of_key);
    state.feed(&rtype.0.to_be_bytes());
    state.feed(&ttl.to_be_bytes());
    state.feed(before);
    state.feed(after);
    state.finish()
}

/// The data before and after the serial; all of it is "before" where there is none.
fn around_serial(rtype: Rtype, wire: &[u8]) -> (&[u8], &[u8]) {
    match wire.len().checked_sub(20) {
        Some(at) if rtype == Rtype::SOA => (&wire[..at], &wire[at + 4..]),
        _ => (wire, &[]),
    }
}

struct Fnv(u64);

impl Fnv {
    fn new() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }

    fn feed(&mut self, octets: &[u8]) {
        for octet in octets {
            self.0 = (self.0 ^ u64::from(*octet)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    fn finish(self) -> u64 {
        let mut hash = self.0;
        hash = (hash ^ hash >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
        hash = (hash ^ hash >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        hash ^ hash >> 33
    }
}
