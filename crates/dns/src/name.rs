//! Domain names: parsed once, absolute, lower case.
//!
//! A name is kept as its labels from the root down, each ended by a zero octet:
//!
//! ```text
//! www.example.org.   →   o r g 0 e x a m p l e 0 w w w 0
//! ```
//!
//! So plain byte order is the canonical order of RFC 4034 section 6.1, "lies below" is
//! "starts with", and the parent is a prefix. The octets 0 and 1 inside a label, which
//! hardly any name has, are written as 1 1 and 1 2 to keep that order.

use std::borrow::{Borrow, Cow};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The most octets a label may have (RFC 1035 section 2.3.4).
pub const MAX_LABEL: usize = 63;
/// The most octets a name may have in wire form, its root label included.
pub const MAX_WIRE: usize = 255;

const END: u8 = 0;
const ESCAPE: u8 = 1;

/// An absolute domain name; equal, ordered and hashed without regard to case.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(Arc<[u8]>);

/// Why a text is not a domain name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Nothing was written.
    #[error("the name is empty")]
    Empty,
    /// Two dots in a row, or one at the start.
    #[error("`{0}` has an empty label")]
    EmptyLabel(String),
    /// A label has more than 63 octets.
    #[error("the label `{label}` has {length} octets; a label may have at most {MAX_LABEL}")]
    LabelTooLong {
        /// The label as written.
        label: String,
        /// Its octets.
        length: usize,
    },
    /// The whole name has more than 253 characters' worth of octets.
    #[error("`{name}` has {length} octets; a name may have at most 253")]
    NameTooLong {
        /// The name as written.
        name: String,
        /// Its octets, as text without the final dot.
        length: usize,
    },
    /// A backslash that starts no valid escape.
    #[error("`{0}` has a backslash that is followed by neither a character nor three digits up to 255")]
    BadEscape(String),
    /// A character that names do not have.
    #[error("`{name}` has the character {character:?}, which a name cannot have")]
    BadCharacter {
        /// The name as written.
        name: String,
        /// The character.
        character: char,
    },
    /// An internationalised label that IDNA refuses.
    #[error("`{0}` is not a valid internationalised name")]
    BadIdn(String),
    /// `@` where there is no origin for it to stand for.
    #[error("`@` stands for a zone's apex, and no zone is given here; write the whole name")]
    NoOrigin,
    /// Octets that are not a name in wire form.
    #[error("malformed name in wire form")]
    BadWire,
}

impl Name {
    /// The root, `.`.
    pub fn root() -> Name {
        Name(Arc::from([]))
    }

    /// Parses an absolute name; the final dot may be left out.
    pub fn parse(text: &str) -> Result<Name, NameError> {
        match text {
            "@" => Err(NameError::NoOrigin),
            _ => Name::parse_relative(text, &Name::root()),
        }
    }

    /// Parses a name below `origin`: `@` is the origin, a final dot makes the name absolute.
    pub fn parse_relative(text: &str, origin: &Name) -> Result<Name, NameError> {
        match text {
            "" => return Err(NameError::Empty),
            "@" => return Ok(origin.clone()),
            "." => return Ok(Name::root()),
            _ => {}
        }
        let ascii = to_ascii(text)?;
        let (labels, absolute) = split(&ascii, text)?;
        let base: &[u8] = if absolute { &[] } else { &origin.0 };
        build(base, labels.iter().rev().map(|label| &label[..]), text)
    }

    /// Reads an uncompressed name at the start of `wire`; gives the name and its octets.
    pub fn from_wire(wire: &[u8]) -> Result<(Name, usize), NameError> {
        let mut labels: Vec<&[u8]> = Vec::with_capacity(8);
        let mut at = 0;
        while at < MAX_WIRE {
            let length = usize::from(*wire.get(at).ok_or(NameError::BadWire)?);
            at += 1;
            if length == 0 {
                return Ok((build(&[], labels.into_iter().rev(), "")?, at));
            }
            if length > MAX_LABEL {
                return Err(NameError::BadWire);
            }
            labels.push(wire.get(at..at + length).ok_or(NameError::BadWire)?);
            at += length;
        }
        Err(NameError::BadWire)
    }

    /// Rebuilds a name from [`Name::key`].
    ///
    /// Keys come from names only, so nothing is checked here.
    pub fn from_key(key: &[u8]) -> Name {
        Name(Arc::from(key))
    }

    /// Whether the octets are the key of some name.
    pub(crate) fn is_key(key: &[u8]) -> bool {
        labels_len(key).is_some_and(|length| length < MAX_WIRE)
    }

    /// The labels from the root down, each ended by a zero octet: the order of these bytes is
    /// the canonical order of names, and an ancestor's key is a prefix of its descendants' keys.
    pub fn key(&self) -> &[u8] {
        &self.0
    }

    /// The labels as written, leftmost first.
    pub fn labels(&self) -> impl DoubleEndedIterator<Item = Cow<'_, [u8]>> {
        let body = self.0.strip_suffix(&[END]);
        body.into_iter().flat_map(|body| body.rsplit(|octet| *octet == END)).map(unescape)
    }

    /// Whether this is the root.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether this name is `ancestor` or lies below it.
    pub fn is_in(&self, ancestor: &Name) -> bool {
        self.0.starts_with(&ancestor.0)
    }

    /// Whether this name lies below `ancestor` and is not it.
    pub fn is_below(&self, ancestor: &Name) -> bool {
        self.0.len() > ancestor.0.len() && self.is_in(ancestor)
    }

    /// The name without its leftmost label; the root has none.
    pub fn parent(&self) -> Option<Name> {
        parent_key(&self.0).map(Name::from_key)
    }

    /// The keys of this name and all its ancestors, the longest first and the root last.
    pub fn suffix_keys(&self) -> impl Iterator<Item = &[u8]> {
        std::iter::successors(Some(&self.0[..]), |key| parent_key(key))
    }

    /// This name and all its ancestors, the longest first and the root last.
    pub fn suffixes(&self) -> impl Iterator<Item = Name> {
        self.suffix_keys().map(Name::from_key)
    }

    /// The name `label.self`.
    pub fn child(&self, label: &[u8]) -> Result<Name, NameError> {
        build(&self.0, std::iter::once(label), &String::from_utf8_lossy(label))
    }

    /// Whether the leftmost label is `*`.
    pub fn is_wildcard(&self) -> bool {
        self.0.ends_with(b"\0*\0") || &self.0[..] == b"*\0"
    }

    /// Puts this name below `to` instead of `from`, as DNAME does; `None` where it is not below
    /// `from` or the result would be too long (RFC 6672 section 2.2).
    pub fn rebase(&self, from: &Name, to: &Name) -> Option<Name> {
        let rest = self.0.strip_prefix(&from.0[..]).filter(|rest| !rest.is_empty())?;
        let key: Vec<u8> = [&to.0[..], rest].concat();
        let name = Name(Arc::from(key));
        (name.wire_len() <= MAX_WIRE).then_some(name)
    }

    /// How many octets the name has in wire form.
    pub fn wire_len(&self) -> usize {
        wire_len(&self.0)
    }

    /// Appends the uncompressed wire form.
    pub fn write_wire(&self, out: &mut Vec<u8>) {
        for label in self.labels() {
            out.push(label.len() as u8);
            out.extend_from_slice(&label);
        }
        out.push(0);
    }

    /// The uncompressed wire form.
    pub fn to_wire(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.wire_len());
        self.write_wire(&mut out);
        out
    }

    /// The name without its final dot, as Kubernetes objects have it.
    pub fn undotted(&self) -> String {
        let mut text = self.to_string();
        if text.len() > 1 {
            text.pop();
        }
        text
    }
}

/// The key of the parent of the name with this key.
pub fn parent_key(key: &[u8]) -> Option<&[u8]> {
    let body = key.strip_suffix(&[END])?;
    let cut = body.iter().rposition(|octet| *octet == END).map_or(0, |at| at + 1);
    Some(&key[..cut])
}

/// How many octets the labels of this key have in wire form, the root not counted; `None` where
/// it is no key of a name or of what a name has below another.
pub(crate) fn labels_len(key: &[u8]) -> Option<usize> {
    let Some(body) = key.strip_suffix(&[END]) else { return key.is_empty().then_some(0) };
    let mut length = 0;
    for label in body.split(|octet| *octet == END) {
        length += 1 + label_len(label).filter(|length| (1..=MAX_LABEL).contains(length))?;
    }
    Some(length)
}

/// How many octets a label of a key stands for; `None` where it has capitals or a broken escape.
fn label_len(label: &[u8]) -> Option<usize> {
    if label.iter().any(u8::is_ascii_uppercase) {
        return None;
    }
    let mut length = 0;
    let mut rest = label.iter();
    while let Some(octet) = rest.next() {
        if *octet == ESCAPE && !matches!(rest.next(), Some(1 | 2)) {
            return None;
        }
        length += 1;
    }
    Some(length)
}

/// How many octets the name with this key has in wire form.
fn wire_len(key: &[u8]) -> usize {
    // An octet that is escaped takes two in the key and one on the wire.
    let escaped = if key.contains(&ESCAPE) { key.len() - unescape(key).len() } else { 0 };
    key.len() + 1 - escaped
}

/// Turns internationalised labels into their `xn--` form; the others stay as they are.
fn to_ascii(text: &str) -> Result<Cow<'_, str>, NameError> {
    if text.is_ascii() {
        return Ok(Cow::Borrowed(text));
    }
    // An escape in such a name could hide a dot from the split below.
    let refused = || NameError::BadIdn(text.to_owned());
    let labels = text.split('.').map(|label| label_to_ascii(label).filter(|_| !text.contains('\\')));
    let labels = labels.collect::<Option<Vec<_>>>().ok_or_else(refused)?;
    Ok(Cow::Owned(labels.join(".")))
}

fn label_to_ascii(label: &str) -> Option<Cow<'_, str>> {
    if label.is_ascii() {
        return Some(Cow::Borrowed(label));
    }
    let ascii = idna::domain_to_ascii_cow(label.as_bytes(), idna::AsciiDenyList::EMPTY).ok()?;
    // What is mapped away altogether would leave an empty label, which reads as the root.
    (!ascii.is_empty()).then_some(ascii)
}

/// Labels without their escapes, leftmost first.
type Labels<'a> = Vec<Cow<'a, [u8]>>;

/// The labels of a presentation-format name, and whether it ended in a dot.
fn split<'a>(ascii: &'a str, written: &str) -> Result<(Labels<'a>, bool), NameError> {
    let mut labels =
        if ascii.contains('\\') { escaped_labels(ascii, written)? } else { plain_labels(ascii, written)? };
    let absolute = labels.len() > 1 && labels.last().is_some_and(|label| label.is_empty());
    if absolute {
        labels.pop();
    }
    Ok((labels, absolute))
}

/// The labels of a name without escapes, which is nearly every name.
fn plain_labels<'a>(ascii: &'a str, written: &str) -> Result<Labels<'a>, NameError> {
    match ascii.bytes().find(|octet| !is_plain(*octet)) {
        Some(octet) => Err(bad_character(written, octet)),
        None => Ok(ascii.split('.').map(|label| Cow::Borrowed(label.as_bytes())).collect()),
    }
}

fn escaped_labels(ascii: &str, written: &str) -> Result<Labels<'static>, NameError> {
    let mut labels = Vec::new();
    let mut label = Vec::new();
    let mut rest = ascii.bytes();
    while let Some(octet) = rest.next() {
        match octet {
            b'.' => labels.push(Cow::Owned(std::mem::take(&mut label))),
            b'\\' => label.push(escaped(&mut rest).ok_or_else(|| NameError::BadEscape(written.to_owned()))?),
            octet if is_plain(octet) => label.push(octet),
            octet => return Err(bad_character(written, octet)),
        }
    }
    labels.push(Cow::Owned(label));
    Ok(labels)
}

/// Whether a name may have the octet without an escape before it.
fn is_plain(octet: u8) -> bool {
    matches!(octet, b'!'..=b'~') && !matches!(octet, b'"' | b'(' | b')' | b';')
}

fn bad_character(written: &str, octet: u8) -> NameError {
    NameError::BadCharacter { name: written.to_owned(), character: octet.into() }
}

/// The octet of an escape, its backslash already read: `\.` or `\046`.
fn escaped(rest: &mut std::str::Bytes<'_>) -> Option<u8> {
    let first = rest.next()?;
    if !first.is_ascii_digit() {
        return Some(first);
    }
    let (second, third) = (rest.next()?, rest.next()?);
    if !second.is_ascii_digit() || !third.is_ascii_digit() {
        return None;
    }
    let value = [first, second, third].iter().fold(0u16, |sum, digit| sum * 10 + u16::from(digit - b'0'));
    u8::try_from(value).ok()
}

/// Appends `labels`, from the root down, to the key `base`.
fn build<'a>(base: &[u8], labels: impl Iterator<Item = &'a [u8]>, written: &str) -> Result<Name, NameError> {
    let mut key = Vec::with_capacity(base.len() + written.len() + 2);
    key.extend_from_slice(base);
    for label in labels {
        check_label(label, written)?;
        push_label(&mut key, label);
    }
    let length = wire_len(&key);
    if length > MAX_WIRE {
        // The length as text, without the root label and the first length octet.
        return Err(NameError::NameTooLong { length: length - 2, name: Name(Arc::from(key)).undotted() });
    }
    Ok(Name(Arc::from(key)))
}

fn check_label(label: &[u8], written: &str) -> Result<(), NameError> {
    match label.len() {
        0 => Err(NameError::EmptyLabel(written.to_owned())),
        1..=MAX_LABEL => Ok(()),
        length => Err(NameError::LabelTooLong { label: String::from_utf8_lossy(label).into_owned(), length }),
    }
}

fn push_label(key: &mut Vec<u8>, label: &[u8]) {
    for octet in label {
        match octet {
            0 | 1 => key.extend_from_slice(&[ESCAPE, octet + 1]),
            _ => key.push(octet.to_ascii_lowercase()),
        }
    }
    key.push(END);
}

fn unescape(label: &[u8]) -> Cow<'_, [u8]> {
    if !label.contains(&ESCAPE) {
        return Cow::Borrowed(label);
    }
    let mut out = Vec::with_capacity(label.len());
    let mut rest = label.iter();
    while let Some(octet) = rest.next() {
        match octet {
            &ESCAPE => out.extend(rest.next().map(|escaped| escaped.saturating_sub(1))),
            octet => out.push(*octet),
        }
    }
    Cow::Owned(out)
}

impl fmt::Display for Name {
    /// Presentation format with the final dot, special characters escaped.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_root() {
            return f.write_str(".");
        }
        let mut text = String::with_capacity(self.0.len() + 1);
        for label in self.labels() {
            for octet in label.iter() {
                match octet {
                    b'.' | b'\\' | b'"' | b';' | b'(' | b')' | b'@' | b'$' => {
                        text.push('\\');
                        text.push(*octet as char);
                    }
                    b'!'..=b'~' => text.push(*octet as char),
                    octet => text.push_str(&format!("\\{octet:03}")),
                }
            }
            text.push('.');
        }
        f.pad(&text)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Name {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Name, NameError> {
        Name::parse(text)
    }
}

impl Borrow<[u8]> for Name {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Name, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        Name::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests;
