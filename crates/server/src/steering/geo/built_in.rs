//! The built-in table of countries: what the address registries delegated to whom (the crate
//! `iptocc`, from the statistics that the registries publish together).
//!
//! The crate looks single addresses up and lists nothing. So the IPv4 ranges are read out of it once,
//! when the first steered set needs them. IPv6 has too many networks for that: there the crate is
//! asked for each query, and as its networks are no longer than /48, that is how far an answer reaches.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::OnceLock;

/// The longest prefix that the table has for IPv6.
pub(super) const IPV6_PREFIX: u8 = 48;

/// How many numbers countries have: one for each two letters, and one for no country.
pub(super) const COUNTRIES: usize = 26 * 26 + 1;

/// The number of no country.
const NOWHERE: u16 = 26 * 26;

/// The country that an address was delegated to, as a number.
pub(super) fn country(address: IpAddr) -> u16 {
    number(iptocc::country_code(address))
}

fn number(letters: Option<&str>) -> u16 {
    match letters.map(str::as_bytes) {
        Some([first @ b'A'..=b'Z', second @ b'A'..=b'Z']) => {
            u16::from(first - b'A') * 26 + u16::from(second - b'A')
        }
        _ => NOWHERE,
    }
}

/// A country's letters.
pub(super) fn letters(country: u16) -> Option<[u8; 2]> {
    (country < NOWHERE).then(|| [b'A' + (country / 26) as u8, b'A' + (country % 26) as u8])
}

/// Where each range of IPv4 starts, and its country.
pub(super) fn ipv4() -> &'static [(u32, u16)] {
    static RANGES: OnceLock<Vec<(u32, u16)>> = OnceLock::new();
    RANGES.get_or_init(read_ipv4)
}

/// Hardly anything was delegated in less than 256 addresses: each such block is asked for at its
/// start, and address by address where it differs from the next and does not end with it. (Of 151,000
/// changes in the table 13 lie so that this does not see them.)
fn read_ipv4() -> Vec<(u32, u16)> {
    let at = |address: u32| iptocc::country_code(Ipv4Addr::from_bits(address));
    let mut last = at(0);
    let mut ranges = vec![(0, number(last))];
    // From 224.0.0.0 on there is nothing that clients have.
    for first in (1..=0xe0_0000).map(|block: u32| block << 8) {
        if at(first) == last {
            continue;
        }
        let from = if at(first - 1) == last { first } else { first - 0xff };
        for address in from..=first {
            let here = at(address);
            if here != last {
                ranges.push((address, number(here)));
                last = here;
            }
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn the_ranges_say_what_the_table_says() {
        let ranges = ipv4();
        assert!(ranges.len() > 100_000 && ranges.is_sorted_by(|one, other| one.0 < other.0));
        // A step that is prime to powers of two meets every part of a block.
        for address in (0..u32::MAX).step_by(65_537 * 3) {
            let at = ranges.partition_point(|(start, _)| *start <= address) - 1;
            let wanted = country(Ipv4Addr::from_bits(address).into());
            assert_eq!(ranges[at].1, wanted, "{}", Ipv4Addr::from_bits(address));
        }
    }

    #[test]
    fn a_country_is_its_letters() {
        assert_eq!(letters(number(Some("IE"))), Some(*b"IE"));
        assert_eq!(letters(number(Some("ZZ"))), Some(*b"ZZ"));
        assert_eq!((number(None), number(Some("?")), letters(NOWHERE)), (NOWHERE, NOWHERE, None));
    }

    #[test]
    fn private_addresses_are_nowhere() {
        for address in ["10.1.2.3", "127.0.0.1", "192.168.0.1", "::1", "fd00::1", "224.0.0.1"] {
            assert_eq!(country(address.parse().unwrap()), NOWHERE, "{address}");
        }
    }
}
