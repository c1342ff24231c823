//! Record data to presentation format.
//!
//! Types that are numbers and names are printed here, because names must be escaped as [`Name`]
//! does it to be read back. The others are printed by the `domain` crate where its text reads back
//! as the same data, and else in the form of RFC 3597, which every type has.

use std::fmt;

use domain::base::zonefile_fmt::{DisplayKind, ZonefileFmt};
use domain::rdata::ZoneRecordData;

use super::{Rdata, Soa, parsed};
use crate::{Name, Rtype};

impl fmt::Display for Rdata {
    /// Presentation format with absolute names, on one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.rtype {
            Rtype::CNAME | Rtype::DNAME | Rtype::NS | Rtype::PTR => self.numbers_and_target(0),
            Rtype::MX => self.numbers_and_target(2),
            Rtype::SRV => self.numbers_and_target(6),
            Rtype::SOA => self.as_soa().map(soa),
            _ => self.scanned(),
        };
        f.pad(&text.unwrap_or_else(|| generic(&self.wire)))
    }
}

impl fmt::Debug for Rdata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {self}", self.rtype)
    }
}

impl Rdata {
    /// The 16-bit numbers in the first octets and the name that follows them.
    fn numbers_and_target(&self, octets: usize) -> Option<String> {
        let (numbers, target) = self.wire.split_at_checked(octets)?;
        let (numbers, _) = numbers.as_chunks::<2>();
        let mut text: String =
            numbers.iter().map(|number| format!("{} ", u16::from_be_bytes(*number))).collect();
        text.push_str(&Name::from_wire(target).ok()?.0.to_string());
        Some(text)
    }

    fn scanned(&self) -> Option<String> {
        let text = match parsed(self.rtype, &self.wire)? {
            ZoneRecordData::Unknown(_) => return None,
            ZoneRecordData::A(data) => return Some(data.addr().to_string()),
            ZoneRecordData::Aaaa(data) => return Some(data.addr().to_string()),
            // Always quoted and escaped, and too frequent to be read back each time.
            ZoneRecordData::Txt(data) => return Some(data.display_zonefile(DisplayKind::Simple).to_string()),
            data => data.display_zonefile(DisplayKind::Simple).to_string(),
        };
        let same = Rdata::parse(self.rtype, &text, &Name::root()).is_ok_and(|data| data == *self);
        same.then_some(text)
    }
}

fn soa(soa: Soa) -> String {
    let Soa { mname, rname, serial, refresh, retry, expire, minimum } = soa;
    format!("{mname} {rname} {serial} {refresh} {retry} {expire} {minimum}")
}

/// The form of RFC 3597 section 5, which every type has.
pub(super) fn generic(wire: &[u8]) -> String {
    let digits: String = wire.iter().map(|octet| format!("{octet:02x}")).collect();
    if digits.is_empty() { "\\# 0".to_owned() } else { format!("\\# {} {digits}", wire.len()) }
}
