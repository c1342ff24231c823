//! The fields of a zone's start of authority (RFC 1035 section 3.3.13).

use crate::Name;

/// Start of authority: who is responsible for a zone and how it is kept in step.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Soa {
    /// The primary name server.
    pub mname: Name,
    /// The mail address of whoever is responsible, as a name.
    pub rname: Name,
    /// The version of the zone.
    pub serial: u32,
    /// Seconds between two looks of a secondary.
    pub refresh: u32,
    /// Seconds until a secondary looks again after a failure.
    pub retry: u32,
    /// Seconds after which a secondary that hears nothing stops answering.
    pub expire: u32,
    /// Seconds that a negative answer may be kept (RFC 2308).
    pub minimum: u32,
}

impl Soa {
    pub(super) fn to_wire(&self) -> Vec<u8> {
        let mut wire = self.mname.to_wire();
        self.rname.write_wire(&mut wire);
        for number in [self.serial, self.refresh, self.retry, self.expire, self.minimum] {
            wire.extend_from_slice(&number.to_be_bytes());
        }
        wire
    }

    pub(super) fn from_wire(wire: &[u8]) -> Option<Soa> {
        let (mname, length) = Name::from_wire(wire).ok()?;
        let rest = &wire[length..];
        let (rname, length) = Name::from_wire(rest).ok()?;
        let numbers: &[u8; 20] = rest[length..].try_into().ok()?;
        let number = |at: usize| {
            numbers[at * 4..at * 4 + 4].iter().fold(0, |sum: u32, octet| sum << 8 | u32::from(*octet))
        };
        Some(Soa {
            mname,
            rname,
            serial: number(0),
            refresh: number(1),
            retry: number(2),
            expire: number(3),
            minimum: number(4),
        })
    }
}
