//! The text of a mark: words with a space between them, values escaped.
//!
//! A value keeps letters, digits and `.`, `_`, `-`, `*`; every other octet is written `%2C`. So no
//! value can end itself, and reading gives back what was written.

use std::collections::BTreeSet;

use dns::{Name, Rtype};

use super::Mark;

const VERSION: &str = "v=fingerpost1";

/// A mark as text.
pub(super) fn written(mark: &Mark) -> String {
    let types: Vec<String> = mark.types.iter().map(Rtype::to_string).collect();
    format!(
        "{VERSION} owner={} generation={} name={} types={}",
        escaped(&mark.owner),
        mark.generation,
        escaped(&mark.name.to_string()),
        types.join(",")
    )
}

/// Reads a mark's text; it need not be the text that [`written`] would give.
pub(super) fn read(text: &str) -> Option<Mark> {
    let mut words = text.split(' ');
    let version = words.next()?;
    let mut value = |key: &str| words.next()?.strip_prefix(key)?.strip_prefix('=');
    let (owner, generation) = (unescaped(value("owner")?)?, value("generation")?.parse().ok()?);
    let name = Name::parse(&unescaped(value("name")?)?).ok()?;
    let types =
        value("types")?.split(',').map(|word| word.parse().ok()).collect::<Option<BTreeSet<Rtype>>>()?;
    (version == VERSION && words.next().is_none()).then_some(Mark { owner, generation, name, types })
}

fn escaped(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    for octet in value.bytes() {
        match octet {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'_' | b'-' | b'*' => text.push(octet.into()),
            octet => text.push_str(&format!("%{octet:02X}")),
        }
    }
    text
}

fn unescaped(value: &str) -> Option<String> {
    let mut octets = Vec::with_capacity(value.len());
    let mut rest = value.bytes();
    while let Some(octet) = rest.next() {
        match octet {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                octets.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
            }
            octet => octets.push(octet),
        }
    }
    String::from_utf8(octets).ok()
}
