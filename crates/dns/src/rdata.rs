//! Record data, kept as uncompressed wire form and read and written in presentation format
//! through the `domain` crate.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use crate::{Name, Rtype};

/// The data of one record.
///
/// Domain names inside it are absolute, uncompressed and lower case, so equal data is equal bytes.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Rdata {
    rtype: Rtype,
    wire: Box<[u8]>,
}

/// Why a text or some octets are not data of the type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {rtype} data: {reason}")]
pub struct RdataError {
    /// The type that was wanted.
    pub rtype: Rtype,
    /// What was written.
    pub text: String,
    /// What is wrong with it and what would be right.
    pub reason: String,
}

impl Rdata {
    /// An address record's data.
    pub fn a(address: Ipv4Addr) -> Rdata {
        Rdata { rtype: Rtype::A, wire: address.octets().into() }
    }

    /// An IPv6 address record's data.
    pub fn aaaa(address: Ipv6Addr) -> Rdata {
        Rdata { rtype: Rtype::AAAA, wire: address.octets().into() }
    }

    /// The data of a type that is one domain name: CNAME, DNAME, NS or PTR.
    pub fn name(rtype: Rtype, target: &Name) -> Rdata {
        Rdata { rtype, wire: target.to_wire().into() }
    }

    /// The type of the data.
    pub fn rtype(&self) -> Rtype {
        self.rtype
    }

    /// The uncompressed wire form.
    pub fn wire(&self) -> &[u8] {
        &self.wire
    }
}

impl fmt::Debug for Rdata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.rtype, self.wire)
    }
}
