//! Client networks: an address and how many of its bits count.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// A network such as `192.0.2.0/24`; bits beyond the prefix are cleared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Network {
    address: IpAddr,
    prefix: u8,
}

/// Why a text is not a network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// The part before the slash.
    #[error("`{0}` does not start with an IP address; write a network such as 192.0.2.0/24 or 2001:db8::/32")]
    Address(String),
    /// The part after the slash.
    #[error("`{text}` needs a prefix length from 0 to {most} after its slash")]
    Prefix {
        /// The text as written.
        text: String,
        /// The most that the address family has.
        most: u8,
    },
}

impl Network {
    /// The network of an address; a prefix beyond the address's bits means all of them.
    pub fn new(address: IpAddr, prefix: u8) -> Network {
        let prefix = prefix.min(bits(address));
        let address = match address {
            IpAddr::V4(v4) => IpAddr::from((v4.to_bits() & ipv4_mask(prefix)).to_be_bytes()),
            IpAddr::V6(v6) => IpAddr::from((v6.to_bits() & ipv6_mask(prefix)).to_be_bytes()),
        };
        Network { address, prefix }
    }

    /// The first address.
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// How many bits count.
    pub fn prefix(&self) -> u8 {
        self.prefix
    }

    /// Whether a client lies in the network; an IPv4 address mapped into IPv6 is IPv4.
    pub fn contains(&self, client: IpAddr) -> bool {
        let client = client.to_canonical();
        client.is_ipv4() == self.address.is_ipv4() && Network::new(client, self.prefix) == *self
    }
}

fn bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// The first `prefix` bits of an IPv4 address.
#[inline]
pub(crate) fn ipv4_mask(prefix: u8) -> u32 {
    !u32::MAX.checked_shr(u32::from(prefix)).unwrap_or(0)
}

/// The first `prefix` bits of an IPv6 address.
#[inline]
pub(crate) fn ipv6_mask(prefix: u8) -> u128 {
    !u128::MAX.checked_shr(u32::from(prefix)).unwrap_or(0)
}

impl FromStr for Network {
    type Err = NetworkError;

    /// Reads `address/prefix`; an address alone is a network of one.
    fn from_str(text: &str) -> Result<Network, NetworkError> {
        let (address, prefix) = text.split_once('/').map_or((text, None), |(a, p)| (a, Some(p)));
        let address: IpAddr = address.parse().map_err(|_| NetworkError::Address(text.to_owned()))?;
        let most = bits(address);
        let Some(prefix) = prefix else { return Ok(Network::new(address, most)) };
        let prefix = prefix.parse().ok().filter(|prefix| *prefix <= most);
        let prefix = prefix.ok_or_else(|| NetworkError::Prefix { text: text.to_owned(), most })?;
        Ok(Network::new(address, prefix))
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("192.0.2.0/24", "192.0.2.0/24")]
    #[case("192.0.2.77/24", "192.0.2.0/24")]
    #[case("192.0.2.77", "192.0.2.77/32")]
    #[case("0.0.0.0/0", "0.0.0.0/0")]
    #[case("2001:db8:1::/33", "2001:db8::/33")]
    #[case("2001:db8::1", "2001:db8::1/128")]
    #[case("::/0", "::/0")]
    fn a_network_prints_what_counts(#[case] text: &str, #[case] printed: &str) {
        assert_eq!(text.parse::<Network>().unwrap().to_string(), printed);
    }

    #[rstest]
    #[case("", "`` does not start with an IP address; write a network such as 192.0.2.0/24 or 2001:db8::/32")]
    #[case(
        "10.0.0/8",
        "`10.0.0/8` does not start with an IP address; write a network such as 192.0.2.0/24 or 2001:db8::/32"
    )]
    #[case("10.0.0.0/33", "`10.0.0.0/33` needs a prefix length from 0 to 32 after its slash")]
    #[case("10.0.0.0/", "`10.0.0.0/` needs a prefix length from 0 to 32 after its slash")]
    #[case("::/129", "`::/129` needs a prefix length from 0 to 128 after its slash")]
    #[case("::/-1", "`::/-1` needs a prefix length from 0 to 128 after its slash")]
    fn a_bad_network_is_told_what_would_be_right(#[case] text: &str, #[case] message: &str) {
        assert_eq!(text.parse::<Network>().unwrap_err().to_string(), message);
    }

    #[rstest]
    #[case("192.0.2.0/24", "192.0.2.255", true)]
    #[case("192.0.2.0/24", "192.0.3.0", false)]
    #[case("192.0.2.0/24", "::ffff:192.0.2.1", true)]
    #[case("0.0.0.0/0", "::1", false)]
    #[case("::/0", "2001:db8::1", true)]
    #[case("2001:db8::/32", "2001:db9::1", false)]
    fn a_network_contains_its_clients(#[case] network: &str, #[case] client: &str, #[case] inside: bool) {
        assert_eq!(network.parse::<Network>().unwrap().contains(client.parse().unwrap()), inside);
    }
}
