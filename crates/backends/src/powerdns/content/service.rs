//! SVCB and HTTPS (RFC 9460) as PowerDNS writes them.

use std::net::{Ipv4Addr, Ipv6Addr};

use dns::Name;
use domain::utils::base64;

use super::field::{name, number16, quote, split, take, unquote};

const KEYS: [&str; 7] = ["mandatory", "alpn", "no-default-alpn", "port", "ipv4hint", "ech", "ipv6hint"];

/// Data as text.
pub(super) fn print(mut wire: &[u8]) -> Option<String> {
    let wire = &mut wire;
    let mut words = vec![number16(wire)?.to_string(), name(wire)?.to_string()];
    while !wire.is_empty() {
        let (key, length) = (number16(wire)?, number16(wire)?);
        words.push(parameter(key, take(wire, usize::from(length))?)?);
    }
    Some(words.join(" "))
}

fn parameter(key: u16, value: &[u8]) -> Option<String> {
    let value = match key {
        0 => numbers(value)?.into_iter().map(key_name).collect::<Vec<_>>().join(","),
        1 => protocols(value)?,
        2 => return value.is_empty().then(|| key_name(key)),
        3 => u16::from_be_bytes(value.try_into().ok()?).to_string(),
        4 => addresses::<4, Ipv4Addr>(value)?,
        5 => format!("\"{}\"", base64::encode_string(value)),
        6 => addresses::<16, Ipv6Addr>(value)?,
        _ if value.is_empty() => return Some(key_name(key)),
        _ => quote(value),
    };
    Some(format!("{}={value}", key_name(key)))
}

fn key_name(key: u16) -> String {
    KEYS.get(usize::from(key)).map_or_else(|| format!("key{key}"), |name| (*name).to_owned())
}

fn key_number(name: &str) -> Option<u16> {
    let known = KEYS.iter().position(|known| *known == name);
    known.and_then(|at| u16::try_from(at).ok()).or_else(|| name.strip_prefix("key")?.parse().ok())
}

fn numbers(value: &[u8]) -> Option<Vec<u16>> {
    let (pairs, rest) = value.as_chunks::<2>();
    rest.is_empty().then(|| pairs.iter().map(|pair| u16::from_be_bytes(*pair)).collect())
}

/// Protocol names; one with a character that would need escaping twice is left to the general form.
fn protocols(mut value: &[u8]) -> Option<String> {
    let mut names = Vec::new();
    while let Some(length) = value.first() {
        take(&mut value, 1)?;
        let name = std::str::from_utf8(take(&mut value, usize::from(*length))?).ok()?;
        let is_plain = |octet: u8| octet.is_ascii_graphic() && !b"\",\\".contains(&octet);
        names.push(Some(name).filter(|name| name.bytes().all(is_plain))?);
    }
    Some(names.join(","))
}

fn addresses<const OCTETS: usize, A: From<[u8; OCTETS]> + ToString>(value: &[u8]) -> Option<String> {
    let (addresses, rest) = value.as_chunks::<OCTETS>();
    let words: Vec<String> = addresses.iter().map(|octets| A::from(*octets).to_string()).collect();
    (rest.is_empty() && !words.is_empty()).then(|| words.join(","))
}

/// Data from text.
pub(super) fn parse(text: &str) -> Option<Vec<u8>> {
    let words = split(text)?;
    let [priority, target, parameters @ ..] = words.as_slice() else { return None };
    let mut wire = priority.parse::<u16>().ok()?.to_be_bytes().to_vec();
    target.parse::<Name>().ok()?.write_wire(&mut wire);
    let mut values = parameters.iter().map(|word| value(word)).collect::<Option<Vec<_>>>()?;
    values.sort();
    for (key, value) in values {
        wire.extend(key.to_be_bytes());
        wire.extend(u16::try_from(value.len()).ok()?.to_be_bytes());
        wire.extend(value);
    }
    Some(wire)
}

fn value(word: &str) -> Option<(u16, Vec<u8>)> {
    let (key, text) = word.split_once('=').unwrap_or((word, ""));
    let key = key_number(key)?;
    let bare = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
    let items = || bare.split(',').filter(|item| !item.is_empty());
    let value: Option<Vec<Vec<u8>>> = match key {
        0 => items().map(|item| Some(key_number(item)?.to_be_bytes().to_vec())).collect(),
        // Escaped twice; what we print has none, and what others put there is theirs.
        1 if bare.contains('\\') => None,
        1 => {
            items().map(|item| Some([&[u8::try_from(item.len()).ok()?], item.as_bytes()].concat())).collect()
        }
        3 => Some(vec![bare.parse::<u16>().ok()?.to_be_bytes().to_vec()]),
        4 => items().map(|item| Some(item.parse::<Ipv4Addr>().ok()?.octets().to_vec())).collect(),
        5 => Some(vec![base64::decode(bare).ok()?]),
        6 => items().map(|item| Some(item.parse::<Ipv6Addr>().ok()?.octets().to_vec())).collect(),
        _ => Some(vec![unquote(text)?]),
    };
    Some((key, value?.concat()))
}
