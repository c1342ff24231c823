//! Record data as PowerDNS writes it, both ways.
//!
//! PowerDNS compares what it is sent with what it would print itself and refuses any other spelling,
//! so nearly every type is spelled out here, field by field: one table for both directions.

mod field;
mod location;
mod service;
#[cfg(test)]
mod tests;

use std::net::{IpAddr, Ipv6Addr};

use dns::{Name, Rdata, Rtype};

use field::Field;

/// A name elsewhere whose addresses PowerDNS answers with.
const ALIAS: Rtype = Rtype(65401);
/// A program that PowerDNS answers by.
pub(super) const LUA: Rtype = Rtype(65402);

/// Types that PowerDNS has names for and [`Rtype`] has not.
const MNEMONICS: &[(&str, Rtype)] = &[
    ("ALIAS", ALIAS),
    ("LUA", LUA),
    ("APL", Rtype(42)),
    ("DHCID", Rtype(49)),
    ("DLV", Rtype(32769)),
    ("L32", Rtype(105)),
    ("L64", Rtype(106)),
    ("LP", Rtype(107)),
    ("NID", Rtype(104)),
    ("RKEY", Rtype(57)),
];

/// The name of a type.
pub(super) fn type_name(rtype: Rtype) -> String {
    let known = MNEMONICS.iter().find(|(_, known)| *known == rtype);
    known.map_or_else(|| rtype.to_string(), |(name, _)| (*name).to_owned())
}

/// The type of a name.
pub(super) fn rtype(name: &str) -> Option<Rtype> {
    let known = MNEMONICS.iter().find(|(known, _)| *known == name);
    known.map(|(_, rtype)| *rtype).or_else(|| name.parse().ok())
}

/// The fields of the types that are nothing but fields, one after the other.
fn fields(rtype: Rtype) -> Option<&'static [Field]> {
    use Field::{
        Base64, Dashed, Hex, Name, Number8, Number16, Number32, Quoted, Salt, Tag, Text, Texts, Type, Types,
    };
    Some(match rtype {
        Rtype::TXT | Rtype::SPF => &[Texts],
        Rtype::HINFO => &[Text, Text],
        Rtype::RP => &[Name, Name],
        Rtype::AFSDB | Rtype::KX => &[Number16, Name],
        Rtype::NAPTR => &[Number16, Number16, Text, Text, Text, Name],
        Rtype::CERT => &[Number16, Number16, Number8, Base64],
        Rtype::DS | Rtype::CDS => &[Number16, Number8, Number8, Hex],
        Rtype::DNSKEY | Rtype::CDNSKEY => &[Number16, Number8, Number8, Base64],
        Rtype::SSHFP => &[Number8, Number8, Hex],
        Rtype::TLSA | Rtype::SMIMEA => &[Number8, Number8, Number8, Hex],
        Rtype::NSEC3PARAM => &[Number8, Number8, Number16, Salt],
        Rtype::OPENPGPKEY => &[Base64],
        Rtype::ZONEMD => &[Number32, Number8, Number8, Hex],
        Rtype::EUI48 | Rtype::EUI64 => &[Dashed],
        Rtype::URI => &[Number16, Number16, Quoted],
        Rtype::CAA => &[Number8, Tag, Quoted],
        Rtype::CSYNC => &[Number32, Number16, Types],
        ALIAS => &[Name],
        LUA => &[Type, Texts],
        _ => return None,
    })
}

/// The data as PowerDNS prints it.
pub(super) fn content(data: &Rdata) -> String {
    let own = match data.rtype() {
        Rtype::AAAA => address(data.wire()),
        Rtype::LOC => location::print(data.wire()),
        Rtype::SVCB | Rtype::HTTPS => service::print(data.wire()),
        Rtype::IPSECKEY => {
            field::ipsec_key(data.wire()).and_then(|fields| field::print(&fields, data.wire()))
        }
        rtype => fields(rtype).and_then(|fields| field::print(fields, data.wire())),
    };
    own.unwrap_or_else(|| plain(data))
}

/// PowerDNS takes no dotted quad at the end of an address.
fn address(wire: &[u8]) -> Option<String> {
    let address = Ipv6Addr::from(<[u8; 16]>::try_from(wire).ok()?);
    let text = address.to_string();
    let groups = address.segments().map(|group| format!("{group:x}"));
    Some(if text.contains('.') { groups.join(":") } else { text })
}

fn plain(data: &Rdata) -> String {
    let text = data.to_string();
    // PowerDNS prints a space between the length and the octets even where there are none.
    if text == "\\# 0" { "\\# 0 ".to_owned() } else { text }
}

/// The data that PowerDNS printed; none where it is not what the type's definition says.
pub(super) fn parse(rtype: Rtype, text: &str) -> Option<Rdata> {
    // By far the most frequent ones, without a parser for everything.
    match (rtype, text.parse()) {
        (Rtype::A, Ok(IpAddr::V4(address))) => return Some(Rdata::a(address)),
        (Rtype::AAAA, Ok(IpAddr::V6(address))) => return Some(Rdata::aaaa(address)),
        _ => {}
    }
    let wire = match rtype {
        Rtype::LOC => location::parse(text),
        Rtype::SVCB | Rtype::HTTPS => service::parse(text),
        Rtype::IPSECKEY => field::parse(field::ipsec_key_of(text)?.as_slice(), text),
        rtype => fields(rtype).and_then(|fields| field::parse(fields, text)),
    };
    match wire {
        Some(wire) => Rdata::from_wire(rtype, &wire).ok(),
        None => Rdata::parse(rtype, text, &Name::root()).ok(),
    }
}
