//! The fields that record data is made of: to text and back.

use std::collections::BTreeMap;

use dns::{Name, Rtype};
use domain::utils::{base16, base64};

/// One field of record data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Number8,
    Number16,
    Number32,
    Name,
    /// A record type, by its mnemonic.
    Type,
    /// One character string, in quotation marks.
    Text,
    /// One character string without quotation marks.
    Tag,
    /// Character strings to the end.
    Texts,
    /// All octets to the end, as one text in quotation marks.
    Quoted,
    /// All octets to the end, in hexadecimal.
    Hex,
    /// All octets to the end, in hexadecimal with hyphens.
    Dashed,
    /// All octets to the end, in base64.
    Base64,
    /// Octets with their number before them, in hexadecimal; a hyphen for none.
    Salt,
    /// A bitmap of record types, to the end (RFC 4034 section 4.1.2).
    Types,
    Ipv4,
    Ipv6,
}

/// The fields of an IPSECKEY, whose second octet says what kind of gateway there is (RFC 4025).
pub(super) fn ipsec_key(wire: &[u8]) -> Option<Vec<Field>> {
    gateway_fields(*wire.get(1)?)
}

/// The same, of the text.
pub(super) fn ipsec_key_of(text: &str) -> Option<Vec<Field>> {
    gateway_fields(split(text)?.get(1)?.parse().ok()?)
}

fn gateway_fields(kind: u8) -> Option<Vec<Field>> {
    let gateway = match kind {
        0 => None,
        1 => Some(Field::Ipv4),
        2 => Some(Field::Ipv6),
        3 => Some(Field::Name),
        _ => return None,
    };
    let numbers = [Field::Number8, Field::Number8, Field::Number8];
    Some(numbers.into_iter().chain(gateway).chain([Field::Base64]).collect())
}

/// Data as text; none where it is not made of these fields.
pub(super) fn print(fields: &[Field], mut wire: &[u8]) -> Option<String> {
    let mut words = Vec::new();
    for field in fields {
        let word = field.print(&mut wire)?;
        if !word.is_empty() {
            words.push(word);
        }
    }
    wire.is_empty().then(|| words.join(" "))
}

/// Data from text; none where it is not made of these fields.
pub(super) fn parse(fields: &[Field], text: &str) -> Option<Vec<u8>> {
    let words = split(text)?;
    let mut words = words.as_slice();
    let mut wire = Vec::new();
    for field in fields {
        field.parse(&mut words, &mut wire)?;
    }
    words.is_empty().then_some(wire)
}

impl Field {
    fn print(self, wire: &mut &[u8]) -> Option<String> {
        Some(match self {
            Field::Number8 => take(wire, 1)?[0].to_string(),
            Field::Number16 => number16(wire)?.to_string(),
            Field::Number32 => u32::from_be_bytes(take(wire, 4)?.try_into().ok()?).to_string(),
            Field::Type => super::type_name(Rtype(number16(wire)?)),
            Field::Name => name(wire)?.to_string(),
            Field::Text => quote(string(wire)?),
            Field::Tag => String::from_utf8(string(wire)?.to_vec()).ok()?,
            Field::Texts => texts(wire)?,
            Field::Quoted => quote(rest(wire)),
            Field::Hex => base16::encode_string(rest(wire)).to_ascii_lowercase(),
            Field::Dashed => dashed(rest(wire)),
            Field::Base64 => base64::encode_string(rest(wire)),
            Field::Salt => salt(string(wire)?),
            Field::Types => types(wire)?,
            Field::Ipv4 => std::net::Ipv4Addr::from(<[u8; 4]>::try_from(take(wire, 4)?).ok()?).to_string(),
            Field::Ipv6 => super::address(take(wire, 16)?)?,
        })
    }

    fn parse(self, words: &mut &[&str], wire: &mut Vec<u8>) -> Option<()> {
        match self {
            Field::Number8 => wire.push(next(words)?.parse().ok()?),
            Field::Number16 => wire.extend(next(words)?.parse::<u16>().ok()?.to_be_bytes()),
            Field::Number32 => wire.extend(next(words)?.parse::<u32>().ok()?.to_be_bytes()),
            Field::Type => wire.extend(super::rtype(next(words)?)?.0.to_be_bytes()),
            Field::Name => next(words)?.parse::<Name>().ok()?.write_wire(wire),
            Field::Text | Field::Tag => push_string(wire, &unquote(next(words)?)?)?,
            Field::Texts => {
                for word in std::mem::take(words) {
                    push_string(wire, &unquote(word)?)?;
                }
            }
            Field::Quoted => wire.extend(unquote(next(words)?)?),
            Field::Hex => wire.extend(base16::decode_vec(&all(words)).ok()?),
            Field::Dashed => wire.extend(base16::decode_vec(&next(words)?.replace('-', "")).ok()?),
            Field::Base64 => wire.extend(base64::decode::<Vec<u8>>(&all(words)).ok()?),
            Field::Salt => push_string(wire, &unsalt(next(words)?)?)?,
            Field::Types => push_types(wire, std::mem::take(words))?,
            Field::Ipv4 => wire.extend(next(words)?.parse::<std::net::Ipv4Addr>().ok()?.octets()),
            Field::Ipv6 => wire.extend(next(words)?.parse::<std::net::Ipv6Addr>().ok()?.octets()),
        }
        Some(())
    }
}

/// Takes so many octets off the front.
pub(super) fn take<'a>(wire: &mut &'a [u8], octets: usize) -> Option<&'a [u8]> {
    let (taken, left) = wire.split_at_checked(octets)?;
    *wire = left;
    Some(taken)
}

fn rest<'a>(wire: &mut &'a [u8]) -> &'a [u8] {
    std::mem::take(wire)
}

/// Takes a 16-bit number off the front.
pub(super) fn number16(wire: &mut &[u8]) -> Option<u16> {
    Some(u16::from_be_bytes(take(wire, 2)?.try_into().ok()?))
}

/// Takes a name off the front.
pub(super) fn name(wire: &mut &[u8]) -> Option<Name> {
    let (name, octets) = Name::from_wire(wire).ok()?;
    take(wire, octets)?;
    Some(name)
}

fn string<'a>(wire: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = take(wire, 1)?[0];
    take(wire, usize::from(length))
}

fn texts(wire: &mut &[u8]) -> Option<String> {
    let mut words = Vec::new();
    while !wire.is_empty() {
        words.push(quote(string(wire)?));
    }
    (!words.is_empty()).then(|| words.join(" "))
}

fn types(wire: &mut &[u8]) -> Option<String> {
    let mut names = Vec::new();
    while let Some(window) = wire.first() {
        take(wire, 1)?;
        for (at, octet) in (0u16..).zip(string(wire)?) {
            let set = (0..8u16).filter(|bit| octet & (0x80 >> bit) != 0);
            names.extend(set.map(|bit| super::type_name(Rtype(u16::from(*window) << 8 | at << 3 | bit))));
        }
    }
    Some(names.join(" "))
}

fn push_types(wire: &mut Vec<u8>, words: &[&str]) -> Option<()> {
    let mut windows = BTreeMap::<u8, Vec<u8>>::new();
    for word in words {
        let [window, low] = super::rtype(word)?.0.to_be_bytes();
        let (at, octets) = (usize::from(low >> 3), windows.entry(window).or_default());
        octets.resize(octets.len().max(at + 1), 0);
        octets[at] |= 0x80 >> (low & 7);
    }
    for (window, octets) in windows {
        wire.push(window);
        push_string(wire, &octets)?;
    }
    Some(())
}

fn dashed(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect::<Vec<_>>().join("-")
}

fn salt(octets: &[u8]) -> String {
    if octets.is_empty() { "-".to_owned() } else { base16::encode_string(octets).to_ascii_lowercase() }
}

fn unsalt(word: &str) -> Option<Vec<u8>> {
    if word == "-" { Some(Vec::new()) } else { base16::decode_vec(word).ok() }
}

/// Octets in quotation marks; what is not printable ASCII is three digits.
pub(super) fn quote(octets: &[u8]) -> String {
    let mut text = String::with_capacity(octets.len() + 2);
    text.push('"');
    for octet in octets {
        match octet {
            b'"' | b'\\' => text.extend(['\\', char::from(*octet)]),
            b' '..=b'~' => text.push(char::from(*octet)),
            _ => text.push_str(&format!("\\{octet:03}")),
        }
    }
    text.push('"');
    text
}

/// The octets of a word, with or without quotation marks.
pub(super) fn unquote(word: &str) -> Option<Vec<u8>> {
    let word = word.strip_prefix('"').map_or(Some(word), |word| word.strip_suffix('"'))?;
    let mut octets = Vec::with_capacity(word.len());
    let mut left = word.as_bytes();
    while let Some((first, after)) = left.split_first() {
        left = after;
        match (first, after) {
            (b'\\', [a, b, c, after @ ..]) if [a, b, c].iter().all(|digit| digit.is_ascii_digit()) => {
                octets.push(std::str::from_utf8(&[*a, *b, *c]).ok()?.parse().ok()?);
                left = after;
            }
            (b'\\', [escaped, after @ ..]) => {
                octets.push(*escaped);
                left = after;
            }
            (b'\\', []) => return None,
            _ => octets.push(*first),
        }
    }
    Some(octets)
}

fn push_string(wire: &mut Vec<u8>, octets: &[u8]) -> Option<()> {
    wire.push(u8::try_from(octets.len()).ok()?);
    wire.extend_from_slice(octets);
    Some(())
}

fn next<'a>(words: &mut &[&'a str]) -> Option<&'a str> {
    let (first, left) = words.split_first()?;
    *words = left;
    Some(first)
}

fn all(words: &mut &[&str]) -> String {
    std::mem::take(words).concat()
}

/// The words of a text: split at spaces outside of quotation marks; none where a mark is left open.
pub(super) fn split(text: &str) -> Option<Vec<&str>> {
    let (mut words, mut start) = (Vec::new(), None);
    let (mut quoted, mut escaped) = (false, false);
    for (at, octet) in text.bytes().enumerate() {
        if octet == b' ' && !quoted && !escaped {
            words.extend(start.take().map(|start| &text[start..at]));
            continue;
        }
        start = start.or(Some(at));
        quoted ^= octet == b'"' && !escaped;
        escaped = octet == b'\\' && !escaped;
    }
    words.extend(start.map(|start| &text[start..]));
    (!quoted && !escaped).then_some(words)
}
