//! Addresses that only our process may reach, however they are written and whatever leads to them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Metadata services of clouds that have no link-local address: Azure's wire server, Alibaba, Oracle.
const METADATA: [Ipv4Addr; 3] =
    [Ipv4Addr::new(168, 63, 129, 16), Ipv4Addr::new(100, 100, 100, 200), Ipv4Addr::new(192, 0, 0, 192)];
/// Those of AWS (the whole prefix is theirs) and Google over IPv6.
const AWS: [u16; 2] = [0xfd00, 0x0ec2];
const GOOGLE: Ipv6Addr = Ipv6Addr::new(0xfd20, 0x00ce, 0, 0, 0, 0, 0, 0x0254);

/// Whether an address means this machine, its own link or a cloud's metadata, itself or by what it leads to.
pub fn is_inward(address: IpAddr) -> bool {
    let address = address.to_canonical();
    is_inward_itself(address) || embedded_addresses(address).into_iter().any(is_inward_itself)
}

fn is_inward_itself(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            v4.is_loopback()
                || v4.is_link_local()
                || v4.is_multicast()
                || v4.is_broadcast()
                || v4.octets()[0] == 0
                || METADATA.contains(&v4)
        }
        IpAddr::V6(v6) => {
            v6.is_loopback()
                || v6.is_unicast_link_local()
                || v6.is_multicast()
                || v6.is_unspecified()
                || v6.segments()[..2] == AWS
                || v6 == GOOGLE
        }
    }
}

/// The IPv4 addresses that an IPv6 address leads to by translation or a tunnel: mapped (RFC 4291), compatible,
/// NAT64 (RFC 6052, and RFC 8215 with either length of prefix), 6to4 (RFC 3056), Teredo (RFC 4380) and
/// ISATAP (RFC 5214).
pub fn embedded_addresses(address: IpAddr) -> Vec<IpAddr> {
    let IpAddr::V6(v6) = address else { return Vec::new() };
    let s = v6.segments();
    let at = |high: usize| v4(s[high], s[high + 1]);
    let found = match s {
        [0, 0, 0, 0, 0, 0xffff, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => vec![at(6)],
        [0, 0, 0, 0, 0, 0, high, low] if (high, low) > (0, 1) => vec![at(6)],
        [0x64, 0xff9b, 1, 0, 0, 0, ..] => vec![at(6)],
        // With a prefix of 48 bits an octet in the middle is skipped.
        [0x64, 0xff9b, 1, ..] => vec![v4(s[3], (s[4] & 0xff) << 8 | s[5] >> 8)],
        [0x2002, ..] => vec![at(1)],
        [0x2001, 0, ..] => vec![at(2), v4(!s[6], !s[7])],
        [.., 0 | 0x200, 0x5efe, _, _] => vec![at(6)],
        _ => Vec::new(),
    };
    found.into_iter().map(IpAddr::V4).collect()
}

fn v4(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low))
}

/// An address as the C library reads it: one to four numbers, each decimal, octal or hexadecimal, the last of
/// which fills what is left.
pub(crate) fn loose_ipv4(text: &str) -> Option<Ipv4Addr> {
    let parts: Vec<u32> = text.split('.').map(number).collect::<Option<_>>()?;
    let (last, first) = parts.split_last().filter(|(_, first)| first.len() < 4)?;
    let room = 8 * (4 - first.len() as u32);
    let fits = first.iter().all(|part| *part < 256) && u64::from(*last) < 1 << room;
    let high = first.iter().enumerate().map(|(place, part)| part << (24 - 8 * place)).sum::<u32>();
    fits.then(|| Ipv4Addr::from_bits(high | last))
}

fn number(text: &str) -> Option<u32> {
    let lower = text.to_ascii_lowercase();
    match lower.strip_prefix("0x") {
        Some(digits) if digits.starts_with('+') => None,
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None if !lower.bytes().all(|byte| byte.is_ascii_digit()) => None,
        None if lower.len() > 1 && lower.starts_with('0') => u32::from_str_radix(&lower, 8).ok(),
        None => lower.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("2130706433", "127.0.0.1")]
    #[case("0x7F000001", "127.0.0.1")]
    #[case("017700000001", "127.0.0.1")]
    #[case("127.1", "127.0.0.1")]
    #[case("127.0.1", "127.0.0.1")]
    #[case("0177.0x0.0.01", "127.0.0.1")]
    #[case("0", "0.0.0.0")]
    fn an_address_is_read_as_the_c_library_does(#[case] text: &str, #[case] address: &str) {
        assert_eq!(loose_ipv4(text), Some(address.parse().unwrap()));
    }

    #[rstest]
    #[case("")]
    #[case("127.0.0.256")]
    #[case("256.1")]
    #[case("4294967296")]
    #[case("1.2.3.4.5")]
    #[case("08")]
    #[case("0x+1")]
    #[case("a.example.org")]
    fn what_the_c_library_takes_for_a_name_is_none(#[case] text: &str) {
        assert_eq!(loose_ipv4(text), None);
    }

    #[rstest]
    #[case("192.0.2.1")]
    #[case("10.0.0.1")]
    #[case("100.64.0.1")]
    #[case("2001:db8::1")]
    #[case("fd00::1")]
    #[case("64:ff9b::192.0.2.1")]
    #[case("64:ff9b:1::192.0.2.1")]
    #[case("2002:c000:201::1")]
    fn other_addresses_are_not_inward(#[case] address: &str) {
        assert!(!is_inward(address.parse().unwrap()));
    }
}
