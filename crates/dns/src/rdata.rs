//! Record data, kept as uncompressed wire form and read and written in presentation format
//! through the `domain` crate.

mod ambiguity;
mod display;
mod presentation;
mod soa;
#[cfg(test)]
mod tests;

use std::net::{Ipv4Addr, Ipv6Addr};

use domain::base::name::ParsedName;
use domain::base::rdata::{ComposeRecordData, ParseRecordData};
use domain::dep::octseq::Parser;
use domain::rdata::ZoneRecordData;

pub use ambiguity::Ambiguity;
pub use soa::Soa;

use crate::{MAX_LABEL, MAX_WIRE, Name, Rtype};

/// The most octets that a character string of TXT has (RFC 1035 section 3.3).
const MAX_STRING: usize = 255;

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

type Parsed<'a> = ZoneRecordData<&'a [u8], ParsedName<&'a [u8]>>;

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

    /// A text, in as many strings of 255 octets as it needs.
    pub fn txt(text: &str) -> Rdata {
        let strings = text.as_bytes().chunks(MAX_STRING);
        let mut wire: Vec<u8> = strings.flat_map(|string| [&[string.len() as u8], string].concat()).collect();
        if wire.is_empty() {
            wire.push(0);
        }
        Rdata { rtype: Rtype::TXT, wire: wire.into() }
    }

    /// A mail exchange.
    pub fn mx(preference: u16, exchange: &Name) -> Rdata {
        let mut wire = preference.to_be_bytes().to_vec();
        exchange.write_wire(&mut wire);
        Rdata { rtype: Rtype::MX, wire: wire.into() }
    }

    /// A start of authority.
    pub fn soa(soa: &Soa) -> Rdata {
        Rdata { rtype: Rtype::SOA, wire: soa.to_wire().into() }
    }

    /// The fields of a start of authority; `None` for other types.
    pub fn as_soa(&self) -> Option<Soa> {
        (self.rtype == Rtype::SOA).then(|| Soa::from_wire(&self.wire)).flatten()
    }

    /// Reads uncompressed data off the wire; what the type's definition does not allow is refused.
    pub fn from_wire(rtype: Rtype, wire: &[u8]) -> Result<Rdata, RdataError> {
        match canonical(rtype, wire) {
            Some(wire) => Ok(Rdata { rtype, wire: wire.into() }),
            None => Err(RdataError {
                rtype,
                text: display::generic(wire),
                reason: "the octets are not what the type's definition says".to_owned(),
            }),
        }
    }

    /// Data whose octets were checked before.
    pub(crate) fn from_checked_wire(rtype: Rtype, wire: &[u8]) -> Rdata {
        Rdata { rtype, wire: wire.into() }
    }

    /// The type of the data.
    pub fn rtype(&self) -> Rtype {
        self.rtype
    }

    /// The uncompressed wire form.
    pub fn wire(&self) -> &[u8] {
        &self.wire
    }

    /// The name that the data leads to: of CNAME, DNAME, NS, PTR, MX, SRV, SVCB and HTTPS.
    ///
    /// For SVCB and HTTPS the target `.` stands for the owner itself (RFC 9460 section 2.5), so
    /// it leads nowhere else.
    pub fn target(&self) -> Option<Name> {
        let at = match self.rtype {
            Rtype::CNAME | Rtype::DNAME | Rtype::NS | Rtype::PTR => 0,
            Rtype::MX | Rtype::SVCB | Rtype::HTTPS => 2,
            Rtype::SRV => 6,
            _ => return None,
        };
        let (name, _) = Name::from_wire(self.wire.get(at..)?).ok()?;
        let is_self = name.is_root() && matches!(self.rtype, Rtype::SVCB | Rtype::HTTPS);
        (!is_self).then_some(name)
    }
}

/// Whether the octets are data of the type as [`Rdata::from_wire`] would have it; the common types
/// cost no allocation.
pub(crate) fn is_canonical(rtype: Rtype, wire: &[u8]) -> bool {
    match rtype {
        Rtype::A => wire.len() == 4,
        Rtype::AAAA => wire.len() == 16,
        Rtype::CNAME | Rtype::DNAME | Rtype::NS | Rtype::PTR => is_lower_name(wire),
        Rtype::MX => wire.get(2..).is_some_and(is_lower_name),
        _ => canonical(rtype, wire).is_some_and(|canonical| canonical == wire),
    }
}

/// Whether the octets are one uncompressed name in lower case.
fn is_lower_name(wire: &[u8]) -> bool {
    let mut rest = wire;
    while let Some((length, after)) = rest.split_first() {
        let length = usize::from(*length);
        if length == 0 {
            return after.is_empty() && wire.len() <= MAX_WIRE;
        }
        match after.split_at_checked(length) {
            Some((label, after)) if length <= MAX_LABEL && !label.iter().any(u8::is_ascii_uppercase) => {
                rest = after
            }
            _ => return false,
        }
    }
    false
}

/// The wire form with its names in lower case; `None` where the type does not allow it.
fn canonical(rtype: Rtype, wire: &[u8]) -> Option<Vec<u8>> {
    match rtype {
        _ if rtype.is_meta() || wire.len() > usize::from(u16::MAX) => None,
        Rtype::A => (wire.len() == 4).then(|| wire.to_vec()),
        Rtype::AAAA => (wire.len() == 16).then(|| wire.to_vec()),
        Rtype::TXT if wire.is_empty() => None,
        _ => {
            let mut out = Vec::with_capacity(wire.len());
            let Ok(()) = parsed(rtype, wire)?.compose_canonical_rdata(&mut out);
            lower_service_target(rtype, &mut out)?;
            // A compressed name would come out longer than it went in.
            (out.len() == wire.len()).then_some(out)
        }
    }
}

fn parsed(rtype: Rtype, wire: &[u8]) -> Option<Parsed<'_>> {
    let mut parser = Parser::from_ref(wire);
    let data = ZoneRecordData::parse_rdata(rtype.0.into(), &mut parser).ok()??;
    (parser.remaining() == 0).then_some(data)
}

/// RFC 4034 does not name SVCB and HTTPS, but their targets are equal without regard to case too.
fn lower_service_target(rtype: Rtype, wire: &mut [u8]) -> Option<()> {
    if matches!(rtype, Rtype::SVCB | Rtype::HTTPS) {
        let target = wire.get_mut(2..)?;
        let lower = Name::from_wire(target).ok()?.0.to_wire();
        target[..lower.len()].copy_from_slice(&lower);
    }
    Some(())
}
