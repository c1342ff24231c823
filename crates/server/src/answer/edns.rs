//! What a client's OPT record says (RFC 6891) and the options in it that we understand.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::query::Malformed;
use crate::network::{ipv4_mask, ipv6_mask};

pub(crate) const NSID: u16 = 3;
pub(crate) const CLIENT_SUBNET: u16 = 8;
/// The lower octet of that.
pub(crate) const SUBNET: u8 = CLIENT_SUBNET as u8;
pub(crate) const COOKIE: u16 = 10;
pub(crate) const TCP_KEEPALIVE: u16 = 11;
pub(crate) const PADDING: u16 = 12;
pub(crate) const EXTENDED_ERROR: u16 = 15;

/// What the client's OPT record says; of several options of one kind the first counts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Edns<'a> {
    pub(crate) size: u16,
    pub(crate) version: u8,
    pub(crate) dnssec_ok: bool,
    /// CO: NXDOMAIN may come with a compact proof (RFC 9824 section 5.1).
    pub(crate) compact_ok: bool,
    pub(crate) subnet: Option<ClientSubnet<'a>>,
    pub(crate) cookie: Option<Cookie<'a>>,
    pub(crate) nsid: bool,
    pub(crate) keepalive: bool,
    pub(crate) padding: bool,
}

/// The network that a resolver asks for (RFC 7871 section 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClientSubnet<'a> {
    pub(crate) address: IpAddr,
    pub(crate) source_prefix: u8,
    /// The option as it came, which the response repeats but for its scope.
    pub(crate) octets: &'a [u8],
}

/// A client's cookie, with what it says to have from us (RFC 7873 section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cookie<'a> {
    pub(crate) client: [u8; 8],
    /// Empty, or 8 to 32 octets.
    pub(crate) server: &'a [u8],
}

impl<'a> Edns<'a> {
    /// Reads the data of an OPT record, which its options fill exactly. What the options of
    /// another version mean is not known.
    #[inline]
    pub(crate) fn read_options(&mut self, data: &'a [u8]) -> Result<(), Malformed> {
        match ClientSubnet::alone(data) {
            Some(subnet) if self.version == 0 => {
                self.subnet = self.subnet.or(Some(subnet));
                Ok(())
            }
            _ => self.read_any_options(data),
        }
    }

    fn read_any_options(&mut self, mut data: &'a [u8]) -> Result<(), Malformed> {
        while let Some((code, value, rest)) = split(data)? {
            if self.version == 0 {
                self.take(code, value)?;
            }
            data = rest;
        }
        Ok(())
    }

    fn take(&mut self, code: u16, value: &'a [u8]) -> Result<(), Malformed> {
        match code {
            NSID => self.nsid = true,
            CLIENT_SUBNET if self.subnet.is_none() => {
                // A network of no family is not repeated: clients do not read that, and without the
                // option the scope is none, too.
                self.subnet = Some(ClientSubnet::read(value)?).filter(|subnet| subnet.octets[1] != 0);
            }
            COOKIE if self.cookie.is_none() => self.cookie = Some(Cookie::read(value)?),
            TCP_KEEPALIVE => self.keepalive = true,
            PADDING => self.padding = true,
            _ => {}
        }
        Ok(())
    }
}

/// The code and value of an option, and what comes after it.
type Split<'a> = (u16, &'a [u8], &'a [u8]);

/// The first option of some data, if it has any.
fn split(data: &[u8]) -> Result<Option<Split<'_>>, Malformed> {
    let [code_high, code_low, high, low, rest @ ..] = data else {
        return if data.is_empty() { Ok(None) } else { Err(Malformed) };
    };
    let length = usize::from(u16::from_be_bytes([*high, *low]));
    let (value, rest) = rest.split_at_checked(length).ok_or(Malformed)?;
    Ok(Some((u16::from_be_bytes([*code_high, *code_low]), value, rest)))
}

impl<'a> Cookie<'a> {
    fn read(value: &'a [u8]) -> Result<Cookie<'a>, Malformed> {
        let (client, server) = value.split_first_chunk().ok_or(Malformed)?;
        match server.len() {
            0 | 8..=32 => Ok(Cookie { client: *client, server }),
            _ => Err(Malformed),
        }
    }
}

impl<'a> ClientSubnet<'a> {
    /// The only option there is, in the form that most clients send: 24 bits of an IPv4 address.
    #[inline]
    fn alone(data: &'a [u8]) -> Option<ClientSubnet<'a>> {
        let [0, SUBNET, 0, 7, octets @ ..] = data else { return None };
        let [0, 1, 24, 0, a, b, c] = *octets else { return None };
        Some(ClientSubnet { address: Ipv4Addr::new(a, b, c, 0).into(), source_prefix: 24, octets })
    }

    /// The scope is empty in a query, and the address has as many octets as the prefix needs, no
    /// bit set beyond it.
    fn read(octets: &'a [u8]) -> Result<ClientSubnet<'a>, Malformed> {
        let [0, family, source_prefix, 0, short @ ..] = octets else { return Err(Malformed) };
        let (address, exact) = match family {
            1 => ipv4(short, *source_prefix).ok_or(Malformed)?,
            2 => ipv6(short, *source_prefix).ok_or(Malformed)?,
            // Some clients decline so to have their network looked at.
            0 => (IpAddr::V4(Ipv4Addr::UNSPECIFIED), *source_prefix == 0),
            _ => return Err(Malformed),
        };
        if !exact || short.len() != usize::from(*source_prefix).div_ceil(8) {
            return Err(Malformed);
        }
        Ok(ClientSubnet { address, source_prefix: *source_prefix, octets })
    }
}

/// An address of at most four octets, and whether it has no more bits than the prefix says.
#[inline]
fn ipv4(short: &[u8], prefix: u8) -> Option<(IpAddr, bool)> {
    // One by one, because a copy of so few would be a call. Most clients tell 24 bits.
    let address = match *short {
        [a, b, c] => Ipv4Addr::new(a, b, c, 0),
        [a, b, c, d] => Ipv4Addr::new(a, b, c, d),
        [a, b] => Ipv4Addr::new(a, b, 0, 0),
        [a] => Ipv4Addr::new(a, 0, 0, 0),
        [] => Ipv4Addr::UNSPECIFIED,
        _ => return None,
    };
    Some((address.into(), prefix <= 32 && address.to_bits() & !ipv4_mask(prefix) == 0))
}

/// The same of at most sixteen octets.
fn ipv6(short: &[u8], prefix: u8) -> Option<(IpAddr, bool)> {
    let mut whole = [0; 16];
    whole.get_mut(..short.len())?.copy_from_slice(short);
    let address = Ipv6Addr::from(whole);
    Some((address.into(), prefix <= 128 && address.to_bits() & !ipv6_mask(prefix) == 0))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    /// Every message that differs from the common form in one octet, or in its length.
    #[test]
    fn a_network_alone_is_read_like_any_options() {
        let common = [0, 8, 0, 7, 0, 1, 24, 0, 192, 0, 2];
        let mut messages: Vec<Vec<u8>> = (0..=common.len()).map(|length| common[..length].to_vec()).collect();
        messages.push([&common[..], &[0]].concat());
        messages.push([common, common].concat());
        for at in 0..common.len() {
            messages.extend((0..=255).map(|octet| {
                let mut message = common.to_vec();
                message[at] = octet;
                message
            }));
        }
        for (message, version) in messages.iter().flat_map(|message| [(message, 0), (message, 1)]) {
            let (mut short, mut long) =
                (Edns { version, ..Edns::default() }, Edns { version, ..Edns::default() });
            let (one, other) = (short.read_options(message).is_ok(), long.read_any_options(message).is_ok());
            assert_eq!((one, short.subnet, short.cookie), (other, long.subnet, long.cookie), "{message:?}");
        }
        assert!(ClientSubnet::alone(&common).is_some());
    }
}
