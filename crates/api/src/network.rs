//! Addresses and networks as fields of a class name them.

use std::net::{IpAddr, SocketAddr};

use crate::checks::Checks;

/// Whether the text is an address, with or without a port.
pub(crate) fn is_listen_address(text: &str) -> bool {
    text.parse::<SocketAddr>().is_ok_and(|address| address.port() != 0) || text.parse::<IpAddr>().is_ok()
}

/// Reads a network such as `10.0.0.0/8`, or a single address.
pub(crate) fn parse_network(text: &str) -> Option<(IpAddr, u8)> {
    let Some((address, length)) = text.split_once('/') else {
        let address: IpAddr = text.parse().ok()?;
        return Some((address, bits(address)));
    };
    let address: IpAddr = address.parse().ok()?;
    let length: u8 = length.parse().ok().filter(|_| length.bytes().all(|octet| octet.is_ascii_digit()))?;
    (length <= bits(address)).then_some((address, length))
}

fn bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// The text must be a network.
pub(crate) fn check_network(field: &str, text: &str, checks: &mut Checks) {
    let message = "is not a network: write it as `10.0.0.0/8` or `2001:db8::/32`";
    checks.require(parse_network(text).is_some(), field, text, message);
}

/// The text must be an address with or without a port.
pub(crate) fn check_listen_address(field: &str, text: &str, checks: &mut Checks) {
    let message = "is not an address: write it as `192.0.2.1`, `192.0.2.1:53` or `[2001:db8::1]:53`";
    checks.require(is_listen_address(text), field, text, message);
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("10.0.0.0/8", true)]
    #[case("0.0.0.0/0", true)]
    #[case("192.0.2.1", true)]
    #[case("2001:db8::/32", true)]
    #[case("::/129", false)]
    #[case("10.0.0.0/33", false)]
    #[case("10.0.0.0/", false)]
    #[case("10.0.0.0/+8", false)]
    #[case("10.0.0/8", false)]
    #[case("example.org", false)]
    fn networks(#[case] text: &str, #[case] valid: bool) {
        assert_eq!(parse_network(text).is_some(), valid);
    }

    #[rstest]
    #[case("192.0.2.1", true)]
    #[case("192.0.2.1:53", true)]
    #[case("2001:db8::1", true)]
    #[case("[2001:db8::1]:53", true)]
    #[case("192.0.2.1:0", false)]
    #[case(":53", false)]
    #[case("localhost", false)]
    #[case("[2001:db8::1]", false)]
    fn listen_addresses(#[case] text: &str, #[case] valid: bool) {
        assert_eq!(is_listen_address(text), valid);
    }
}
