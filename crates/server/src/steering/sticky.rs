//! Sticky weighted choices: one client network is always given the same choice.
//!
//! This is weighted rendezvous hashing. Each choice has a number `u` between 0 and 1 for each client
//! network, from a hash of the two; the choice with the smallest `-log(u) / weight` is taken. Such a
//! value is the time of the first arrival of a process with that rate, and of several processes each
//! is first in proportion to its rate: so the shares are those of the weights. The value of a choice
//! depends on nothing but its own weight, so a changed weight moves clients only to that choice or
//! only away from it, and a choice that goes leaves the clients of the others where they are.
//!
//! Logarithms are in fixed point, from a table: every replica on every machine decides alike.

use std::net::IpAddr;

use super::Asker;

/// How many bits of an IPv4 and an IPv6 address a network has.
const NETWORK_BITS: (u8, u8) = (24, 56);

/// The client's network as a hash, and how many bits of its address that looks at.
pub(super) fn client(asker: &Asker) -> (u64, u8) {
    match asker.address {
        IpAddr::V4(address) => {
            let bits = asker.prefix.min(NETWORK_BITS.0);
            let kept = address.to_bits().checked_shr(32 - u32::from(bits)).unwrap_or(0);
            (mix(u64::from(kept) ^ u64::from(bits) << 56), bits)
        }
        IpAddr::V6(address) => {
            let bits = asker.prefix.min(NETWORK_BITS.1);
            let kept = address.to_bits().checked_shr(128 - u32::from(bits)).unwrap_or(0);
            (mix(kept as u64 ^ u64::from(bits | 0x80) << 56), bits)
        }
    }
}

/// How late a choice comes for a client, before its weight is taken into account: `-log2(u)` with 32
/// bits after the point.
pub(super) fn lateness(client: u64, choice: u64) -> u64 {
    negative_log(mix(client ^ mix(choice)))
}

/// Whether the first comes before the second, each a lateness with its weight.
pub(super) fn is_before((late, weight): (u64, u32), (other_late, other_weight): (u64, u32)) -> bool {
    // Cross-multiplied, because a division would round.
    u128::from(late) * u128::from(other_weight) < u128::from(other_late) * u128::from(weight)
}

/// The key of a choice that is known by its name.
pub(super) fn name_key(name: &str) -> u64 {
    // FNV-1a: written out, because a hasher of the standard library may change with its version.
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, octet| {
        (hash ^ u64::from(octet)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Spreads every bit of a number over all of it (the finalizer of SplitMix64).
pub(super) const fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

const POINT: u32 = 32;
const TABLE_BITS: u32 = 8;

/// `log2(1 + n / 256)` with 32 bits after the point.
static LOGS: [u64; (1 << TABLE_BITS) + 1] = logs();

const fn logs() -> [u64; (1 << TABLE_BITS) + 1] {
    let mut table = [0; (1 << TABLE_BITS) + 1];
    let mut at = 0;
    while at < table.len() {
        table[at] = slow_log(at as u64);
        at += 1;
    }
    table
}

/// One bit of the logarithm with each squaring.
const fn slow_log(numerator: u64) -> u64 {
    let one = 1u128 << 62;
    let mut number = one + ((numerator as u128) << (62 - TABLE_BITS));
    let mut log = if number >= one << 1 { 1u64 } else { 0 };
    number >>= log as u32;
    let mut bit = 0;
    while bit < POINT {
        number = (number * number) >> 62;
        let more = if number >= one << 1 { 1u64 } else { 0 };
        number >>= more as u32;
        log = log << 1 | more;
        bit += 1;
    }
    log
}

/// `-log2(u / 2^64)` with 32 bits after the point, between the table's values by a straight line.
fn negative_log(u: u64) -> u64 {
    let zeros = u.leading_zeros().min(63);
    let fraction = (u | 1) << zeros << 1;
    let (at, rest) = ((fraction >> (64 - TABLE_BITS)) as usize, fraction << TABLE_BITS >> 32);
    let (low, high) = (LOGS[at], LOGS[at + 1]);
    let log = low + (((high - low) * rest) >> 32);
    ((u64::from(zeros) + 1) << POINT) - log
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_logarithm_is_right_to_five_digits(u in 1u64..) {
            let exact = 64.0 - (u as f64).log2();
            let ours = negative_log(u) as f64 / 2f64.powi(32);
            prop_assert!((exact - ours).abs() < 1e-5, "{u}: {exact} and {ours}");
        }
    }

    #[test]
    fn the_ends_of_the_logarithm_are_in_bounds() {
        assert!(negative_log(0) >= 63 << POINT);
        assert!(negative_log(u64::MAX) < 1 << 16);
        assert_eq!(negative_log(1 << 63), 1 << POINT);
    }

    #[test]
    fn a_network_is_24_or_56_bits_or_what_is_known() {
        let key = |address: &str, prefix| client(&Asker { prefix, ..Asker::at(address.parse().unwrap(), 0) });
        assert_eq!(key("192.0.2.1", 32), key("192.0.2.200", 32));
        assert_ne!(key("192.0.2.1", 32).0, key("192.0.3.1", 32).0);
        assert_eq!(key("192.0.2.0", 16), key("192.0.3.0", 16));
        assert_eq!(key("192.0.2.0", 16).1, 16);
        assert_eq!(key("2001:db8::1", 128), key("2001:db8:0:ff::2", 128));
        assert_eq!(key("2001:db8::1", 128).1, 56);
        assert_ne!(key("2001:db8::", 56).0, key("2001:db8:0:100::", 56).0);
        assert_eq!((key("0.0.0.0", 0).1, key("::", 0).1), (0, 0));
    }
}
