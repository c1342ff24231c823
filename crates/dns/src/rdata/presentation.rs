//! Record data from presentation format.
//!
//! The text is split by our own lexer first, so that it can never be more than one record's data.
//! Addresses, names with or without numbers and SOA, most of what a zone has, are read here; everything else by the
//! zone file scanner of the `domain` crate. Names are made absolute before it sees them, so that
//! they follow the rules of [`Name`] everywhere.

use std::fmt::Write;
use std::net::{Ipv4Addr, Ipv6Addr};

use domain::base::name::Name as WireName;
use domain::base::rdata::ComposeRecordData;
use domain::zonefile::inplace::{Entry as ScannedEntry, Zonefile};

use super::{MAX_STRING, Rdata, RdataError, Soa};
use crate::token::{Entry, Lexer, Token};
use crate::{Name, Rtype, parse_seconds};

/// Why, as the end of a sentence that names the text and the type.
type Reason = String;

impl Rdata {
    /// Reads data in presentation format: relative names are below `origin`, `@` is the origin.
    ///
    /// The text is one record's data on one line; comments, parentheses and line ends are refused.
    pub fn parse(rtype: Rtype, text: &str, origin: &Name) -> Result<Rdata, RdataError> {
        let fail = |reason| RdataError { rtype, text: text.to_owned(), reason };
        let tokens = one_line(text.trim()).map_err(fail)?;
        Rdata::from_tokens(rtype, &tokens, origin).map_err(fail)
    }

    /// Reads data that is already split.
    pub(crate) fn from_tokens(rtype: Rtype, tokens: &[Token<'_>], origin: &Name) -> Result<Rdata, Reason> {
        if let Some(refusal) = rtype.refusal() {
            return Err(format!("{rtype} {refusal}"));
        }
        if tokens.first().is_some_and(|token| token.text == "\\#") {
            return generic(rtype, &tokens[1..]);
        }
        match rtype {
            Rtype::A => single::<Ipv4Addr>(tokens).map(Rdata::a).ok_or_else(|| expected(rtype)),
            Rtype::AAAA => single::<Ipv6Addr>(tokens).map(Rdata::aaaa).ok_or_else(|| expected(rtype)),
            Rtype::CNAME | Rtype::DNAME | Rtype::NS | Rtype::PTR => target(rtype, 0, tokens, origin),
            Rtype::MX => target(rtype, 1, tokens, origin),
            Rtype::SRV => target(rtype, 3, tokens, origin),
            Rtype::SOA => soa(tokens, origin),
            _ => scan(rtype, tokens, origin),
        }
    }
}

pub(super) fn one_line(text: &str) -> Result<Vec<Token<'_>>, Reason> {
    let mut lexer = Lexer::new(text);
    let mut entry = Entry::default();
    lexer.next_entry(&mut entry).map_err(|error| error.message.to_owned())?;
    if lexer.structured {
        return Err("line ends, comments and parentheses cannot be part of it; \
             put text that has `;`, `(` or `)` into quotation marks"
            .to_owned());
    }
    Ok(entry.tokens)
}

fn single<T: std::str::FromStr>(tokens: &[Token<'_>]) -> Option<T> {
    match tokens {
        [token] => token.text.parse().ok(),
        _ => None,
    }
}

/// So many 16-bit numbers, and a name.
fn target(rtype: Rtype, numbers: usize, tokens: &[Token<'_>], origin: &Name) -> Result<Rdata, Reason> {
    let Some((last, first)) = tokens.split_last().filter(|(_, first)| first.len() == numbers) else {
        return Err(expected(rtype));
    };
    let mut wire = Vec::with_capacity(2 * numbers + last.text.len() + origin.key().len() + 2);
    for token in first {
        wire.extend_from_slice(&number(token).ok_or_else(|| expected(rtype))?.to_be_bytes());
    }
    name(last, origin)?.write_wire(&mut wire);
    Ok(Rdata::from_checked_wire(rtype, &wire))
}

fn number(token: &Token<'_>) -> Option<u16> {
    // The standard parser would take a plus sign.
    token.text.bytes().all(|octet| octet.is_ascii_digit()).then(|| token.text.parse().ok())?
}

fn name(token: &Token<'_>, origin: &Name) -> Result<Name, Reason> {
    Name::parse_relative(token.text, origin).map_err(|error| error.to_string())
}

fn soa(tokens: &[Token<'_>], origin: &Name) -> Result<Rdata, Reason> {
    let [mname, rname, serial, times @ ..] = tokens else { return Err(expected(Rtype::SOA)) };
    let number = |token: &Token<'_>| parse_seconds(token.text).ok_or_else(|| expected(Rtype::SOA));
    let times = times.iter().map(number).collect::<Result<Vec<u32>, Reason>>()?;
    let [refresh, retry, expire, minimum] = times[..] else { return Err(expected(Rtype::SOA)) };
    let serial = serial.text.parse().ok().filter(|_| !serial.text.starts_with('+'));
    let serial = serial.ok_or_else(|| expected(Rtype::SOA))?;
    let (mname, rname) = (name(mname, origin)?, name(rname, origin)?);
    Ok(Rdata::soa(&Soa { mname, rname, serial, refresh, retry, expire, minimum }))
}

/// `\# 4 c0000201` (RFC 3597 section 5), for types with a form of their own too.
fn generic(rtype: Rtype, tokens: &[Token<'_>]) -> Result<Rdata, Reason> {
    let wrong = || "write `\\#`, the number of octets, and that many octets in hexadecimal".to_owned();
    let (length, digits) = tokens.split_first().ok_or_else(wrong)?;
    let length = number(length).ok_or_else(wrong)?;
    let digits: String = digits.iter().map(|token| token.text).collect();
    let wire = octets(&digits).filter(|wire| wire.len() == usize::from(length)).ok_or_else(wrong)?;
    Rdata::from_wire(rtype, &wire).map_err(|error| error.reason)
}

fn octets(digits: &str) -> Option<Vec<u8>> {
    let digit = |octet: u8| char::from(octet).to_digit(16).map(|value| value as u8);
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect()
}

/// Hands the tokens to the `domain` crate, as one record on one line.
fn scan(rtype: Rtype, tokens: &[Token<'_>], origin: &Name) -> Result<Rdata, Reason> {
    let line = line(rtype, tokens, origin)?;
    let mut file = Zonefile::from(line.as_str());
    if let Ok(origin) = WireName::from_octets(origin.to_wire().into()) {
        file.set_origin(origin);
    }
    let record = match file.next_entry() {
        Ok(Some(ScannedEntry::Record(record))) if matches!(file.next_entry(), Ok(None)) => record,
        _ => return Err(expected(rtype)),
    };
    let mut wire = Vec::new();
    let Ok(()) = record.data().compose_canonical_rdata(&mut wire);
    Rdata::from_wire(rtype, &wire).map_err(|error| error.reason)
}

fn line(rtype: Rtype, tokens: &[Token<'_>], origin: &Name) -> Result<String, Reason> {
    let mut line = format!(". 0 IN TYPE{}", rtype.0);
    for (field, token) in tokens.iter().enumerate() {
        line.push(' ');
        match rtype {
            _ if name_fields(rtype).contains(&field) => line.push_str(&name(token, origin)?.to_string()),
            Rtype::TXT | Rtype::SPF if token.text.len() > MAX_STRING => push_strings(&mut line, token.text)?,
            _ => push_ascii(&mut line, token.text)?,
        }
    }
    line.push('\n');
    Ok(line)
}

/// Which fields of the presentation format are domain names.
pub(super) fn name_fields(rtype: Rtype) -> &'static [usize] {
    match rtype {
        Rtype::SVCB | Rtype::HTTPS => &[1],
        Rtype::NAPTR => &[5],
        Rtype::RP => &[0, 1],
        _ => &[],
    }
}

/// A text that may be longer than a character string is, as so many quoted strings as it needs. Their readers join
/// them again (RFC 7208 section 3.3, RFC 6376 section 3.6.2.2).
fn push_strings(line: &mut String, text: &str) -> Result<(), Reason> {
    let mut ascii = String::with_capacity(text.len());
    push_ascii(&mut ascii, text)?;
    let quoted = ascii.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let mut rest = quoted.unwrap_or(&ascii);
    if quoted.is_none() && rest.contains('"') {
        line.push_str(rest);
        return Ok(());
    }
    loop {
        let length = length_of_string(rest);
        let (string, after) = rest.split_at(length);
        // Writing to a string cannot fail.
        let _ = write!(line, "\"{string}\"");
        if after.is_empty() {
            return Ok(());
        }
        line.push(' ');
        rest = after;
    }
}

/// How much of an escaped text makes one character string.
fn length_of_string(text: &str) -> usize {
    let octets = text.as_bytes();
    let mut at = 0;
    for _ in 0..MAX_STRING {
        at += match (octets.get(at), octets.get(at + 1)) {
            (None, _) => return octets.len(),
            (Some(b'\\'), Some(next)) if next.is_ascii_digit() => 4,
            (Some(b'\\'), _) => 2,
            (Some(_), _) => 1,
        };
    }
    at.min(octets.len())
}

/// Text that is not ASCII stands for its UTF-8 octets.
fn push_ascii(line: &mut String, text: &str) -> Result<(), Reason> {
    for character in text.chars() {
        match character {
            '\0'..='\x1f' | '\x7f' => {
                return Err(format!(
                    "the control character {character:?} is written as a backslash and three digits"
                ));
            }
            ' '..='~' => line.push(character),
            _ => character.encode_utf8(&mut [0; 4]).bytes().for_each(|octet| {
                // Writing to a string cannot fail.
                let _ = write!(line, "\\{octet:03}");
            }),
        }
    }
    Ok(())
}

/// What would be right, with an example.
fn expected(rtype: Rtype) -> Reason {
    match FORMS.iter().find(|(known, _)| *known == rtype) {
        Some((_, form)) => format!("expected {form}"),
        None => {
            format!("expected the presentation format of {rtype}, or `\\#`, a length and hexadecimal octets")
        }
    }
}

const FORMS: &[(Rtype, &str)] = &[
    (Rtype::A, "an IPv4 address such as 192.0.2.1"),
    (Rtype::AAAA, "an IPv6 address such as 2001:db8::1"),
    (Rtype::CNAME, "one domain name such as www.example.org."),
    (Rtype::DNAME, "one domain name such as other.example.org."),
    (Rtype::NS, "the domain name of one name server, such as ns1.example.org."),
    (Rtype::PTR, "one domain name such as host.example.org."),
    (
        Rtype::SOA,
        "primary server, mailbox, serial, refresh, retry, expire and minimum, \
         such as ns.example.org. noc.example.org. 1 86400 7200 3600000 360",
    ),
    (Rtype::TXT, "one text or several, such as \"v=spf1 -all\""),
    (Rtype::MX, "a preference and a domain name, such as 10 mail.example.org."),
    (Rtype::SRV, "priority, weight, port and target, such as 0 5 5060 sip.example.org."),
    (Rtype::CAA, "flags, tag and value, such as 0 issue \"ca.example.net\""),
    (
        Rtype::NAPTR,
        "order, preference, flags, services, expression and replacement, \
         such as 100 10 \"S\" \"SIP+D2U\" \"\" _sip._udp.example.org.",
    ),
    (Rtype::TLSA, "usage, selector, matching type and hexadecimal data, such as 3 1 1 0123abcd"),
    (Rtype::SSHFP, "algorithm, fingerprint type and hexadecimal data, such as 4 2 0123abcd"),
    (Rtype::DS, "key tag, algorithm, digest type and hexadecimal digest, such as 12345 13 2 0123abcd"),
    (Rtype::SVCB, "priority, target and parameters, such as 1 svc.example.org. alpn=h2 port=8443"),
    (Rtype::HTTPS, "priority, target and parameters, such as 1 . alpn=h2,h3"),
];
