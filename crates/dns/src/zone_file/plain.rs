//! The short way for records in their plainest form, which nearly all lines of a large zone have:
//! owner, perhaps TTL and class, type and data on one line, without quotes, escapes or comments.
//!
//! Nothing here fails: whatever is not plain, or wrong, is `None`, and the full reader takes it and
//! says what is wrong. What is read here the full reader would read the same.

use std::net::Ipv6Addr;

use super::origin::Origin;
use crate::name::{MAX_LABEL, MAX_WIRE};
use crate::{MAX_TTL, Rtype, parse_seconds};

/// The most fields that the data of these types has.
pub(super) const MAX_DATA: usize = 4;
/// Owner, TTL, class and type stand before them.
const MAX_FIELDS: usize = 4 + MAX_DATA;

/// A line in its parts.
pub(super) struct Line<'a> {
    /// None where the owner is that of the record before.
    pub(super) owner: Option<&'a str>,
    /// Of the first field, from 1.
    pub(super) column: u32,
    pub(super) ttl: Option<u32>,
    pub(super) rtype: Rtype,
    fields: Fields<'a>,
    /// Where the data starts among the fields.
    data_at: usize,
    /// How many octets the line has, its end included.
    pub(super) length: usize,
}

#[derive(Default)]
struct Fields<'a> {
    texts: [&'a str; MAX_FIELDS],
    count: usize,
}

impl<'a> Line<'a> {
    /// The line that the text starts with.
    pub(super) fn read(text: &'a str) -> Option<Line<'a>> {
        let (fields, start, length) = Fields::read(text)?;
        let indented = start > 0;
        if fields.texts[0].starts_with('$') || (indented && text.starts_with('\r')) {
            return None;
        }
        let owner = (!indented).then_some(fields.texts[0]);
        let (ttl, rtype, data_at) = header(&fields, usize::from(!indented))?;
        Some(Line { owner, column: start as u32 + 1, ttl, rtype, fields, data_at, length })
    }

    pub(super) fn data(&self) -> &[&'a str] {
        &self.fields.texts[self.data_at..self.fields.count]
    }
}

impl<'a> Fields<'a> {
    /// The fields, where the first starts, and the length of the line with its end.
    fn read(text: &'a str) -> Option<(Fields<'a>, usize, usize)> {
        let octets = text.as_bytes();
        let mut fields = Fields::default();
        let mut first = 0;
        let mut at = 0;
        loop {
            while octets.get(at).is_some_and(|octet| kind(*octet) == Kind::Blank) {
                at += 1;
            }
            let start = at;
            while octets.get(at).is_some_and(|octet| kind(*octet) == Kind::Plain) {
                at += 1;
            }
            if fields.count == 0 {
                first = start;
            }
            if at > start {
                *fields.texts.get_mut(fields.count)? = &text[start..at];
                fields.count += 1;
            }
            match octets.get(at).map(|octet| kind(*octet)) {
                Some(Kind::Blank) => {}
                Some(Kind::End) => return (fields.count > 0).then_some((fields, first, at + 1)),
                None => return (fields.count > 0).then_some((fields, first, at)),
                _ => return None,
            }
        }
    }
}

/// TTL and type, and where the data starts; TTL and class stand in either order.
fn header(fields: &Fields<'_>, mut at: usize) -> Option<(Option<u32>, Rtype, usize)> {
    let (mut ttl, mut class) = (None, false);
    while at < fields.count {
        let text = fields.texts[at];
        at += 1;
        if ttl.is_none() && text.starts_with(|character: char| character.is_ascii_digit()) {
            ttl = Some(parse_seconds(text).filter(|ttl| *ttl <= MAX_TTL)?);
        } else if !class && text.eq_ignore_ascii_case("IN") {
            class = true;
        } else {
            return Some((ttl, rtype(text)?, at));
        }
    }
    None
}

/// The types that [`write_data`] knows.
const TYPES: [(&str, Rtype); 8] = [
    ("A", Rtype::A),
    ("AAAA", Rtype::AAAA),
    ("CNAME", Rtype::CNAME),
    ("PTR", Rtype::PTR),
    ("NS", Rtype::NS),
    ("MX", Rtype::MX),
    ("SRV", Rtype::SRV),
    ("DNAME", Rtype::DNAME),
];

fn rtype(text: &str) -> Option<Rtype> {
    TYPES.iter().find(|(name, _)| text.eq_ignore_ascii_case(name)).map(|(_, rtype)| *rtype)
}

/// What an octet is to the fields of a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    Blank,
    End,
    /// A matter for the full reader.
    Special,
}

const fn kind_of(octet: u8) -> Kind {
    match octet {
        b' ' | b'\t' | b'\r' => Kind::Blank,
        b'\n' => Kind::End,
        b'"' | b'\\' | b';' | b'(' | b')' => Kind::Special,
        b'!'..=b'~' => Kind::Plain,
        _ => Kind::Special,
    }
}

const KINDS: [Kind; 256] = {
    let mut kinds = [Kind::Special; 256];
    let mut octet = 0;
    while octet < 256 {
        kinds[octet] = kind_of(octet as u8);
        octet += 1;
    }
    kinds
};

fn kind(octet: u8) -> Kind {
    KINDS[usize::from(octet)]
}

/// Writes the key of an owner over what is in `key`.
pub(super) fn write_key(key: &mut Vec<u8>, text: &str, origin: &Origin) -> Option<()> {
    key.clear();
    let name = PlainName::read(text, origin)?;
    if !name.absolute {
        key.extend_from_slice(origin.name().key());
    }
    for label in name.labels.rsplit(|octet| *octet == b'.').filter(|_| !name.labels.is_empty()) {
        key.extend(label.iter().map(u8::to_ascii_lowercase));
        key.push(0);
    }
    Some(())
}

/// Writes record data in wire form over what is in `wire`.
pub(super) fn write_data(wire: &mut Vec<u8>, rtype: Rtype, data: &[&str], origin: &Origin) -> Option<()> {
    wire.clear();
    let (last, numbers) = data.split_last()?;
    match (rtype, numbers.len()) {
        (Rtype::A, 0) => wire.extend_from_slice(&ipv4(last)?),
        (Rtype::AAAA, 0) => wire.extend_from_slice(&last.parse::<Ipv6Addr>().ok()?.octets()),
        (Rtype::CNAME | Rtype::DNAME | Rtype::NS | Rtype::PTR, 0) | (Rtype::MX, 1) | (Rtype::SRV, 3) => {
            // A relative name with a dot is worth a look at what was meant.
            if last.contains('.') && !last.ends_with('.') {
                return None;
            }
            for text in numbers {
                wire.extend_from_slice(&number(text)?.to_be_bytes());
            }
            write_name(wire, last, origin)?;
        }
        _ => return None,
    }
    Some(())
}

fn ipv4(text: &str) -> Option<[u8; 4]> {
    let mut octets = [0; 4];
    let mut parts = text.as_bytes().split(|octet| *octet == b'.');
    for octet in &mut octets {
        *octet = decimal(parts.next()?)?;
    }
    parts.next().is_none().then_some(octets)
}

/// A number up to 255, without leading zeros.
fn decimal(digits: &[u8]) -> Option<u8> {
    let is_number = matches!(digits, [b'0'..=b'9'] | [b'1'..=b'9', _] | [b'1'..=b'2', _, _]);
    // Longer ones would not fit into the sum.
    let digits = is_number.then_some(digits)?;
    let value = digits
        .iter()
        .try_fold(0u16, |sum, digit| digit.is_ascii_digit().then(|| sum * 10 + u16::from(digit - b'0')));
    value.and_then(|value| u8::try_from(value).ok())
}

fn number(text: &str) -> Option<u16> {
    text.bytes().all(|octet| octet.is_ascii_digit()).then(|| text.parse().ok())?
}

fn write_name(wire: &mut Vec<u8>, text: &str, origin: &Origin) -> Option<()> {
    let name = PlainName::read(text, origin)?;
    for label in name.labels.split(|octet| *octet == b'.').filter(|_| !name.labels.is_empty()) {
        wire.push(label.len() as u8);
        wire.extend(label.iter().map(u8::to_ascii_lowercase));
    }
    wire.extend_from_slice(if name.absolute { &[0] } else { origin.wire() });
    Some(())
}

/// A name as it is written: plain labels with dots between them; none for `@` and the root.
struct PlainName<'a> {
    labels: &'a [u8],
    absolute: bool,
}

impl<'a> PlainName<'a> {
    fn read(text: &'a str, origin: &Origin) -> Option<PlainName<'a>> {
        match text {
            "@" => return Some(PlainName { labels: &[], absolute: false }),
            "." => return Some(PlainName { labels: &[], absolute: true }),
            _ => {}
        }
        let (labels, absolute) = text.strip_suffix('.').map_or((text, false), |labels| (labels, true));
        let labels = labels.as_bytes();
        let base = if absolute { 1 } else { origin.wire().len() };
        let fits = labels.split(|octet| *octet == b'.').all(is_label) && labels.len() + 1 + base <= MAX_WIRE;
        fits.then_some(PlainName { labels, absolute })
    }
}

fn is_label(label: &[u8]) -> bool {
    (1..=MAX_LABEL).contains(&label.len()) && label.iter().all(|octet| kind(*octet) == Kind::Plain)
}
