//! The text of a mark: words with a space between them, values escaped.
//!
//! A value keeps letters, digits and `.`, `_`, `-`, `*`; every other octet is written `%2C`. So no
//! value can end itself, and reading gives back what was written.

use std::collections::{BTreeMap, BTreeSet};

use dns::{Name, Rdata, Rtype};

use super::{Liveness, Mark, Share, Terms};

const VERSION: &str = "v=fingerpost1";

/// A mark as text.
pub(super) fn written(mark: &Mark) -> String {
    let mut text = format!(
        "{VERSION} owner={} generation={} name={} types={}",
        escaped(&mark.owner),
        mark.generation,
        escaped(&mark.name.to_string()),
        types(&mark.types)
    );
    let Terms { shares, wants, heir, from } = &mark.terms;
    let shares: Vec<String> = shares.iter().map(|(rtype, share)| written_share(*rtype, share)).collect();
    let mut add = |key: &str, value: String| text.push_str(&format!(" {key}={value}"));
    if !shares.is_empty() {
        add("targets", shares.join(","));
    }
    if !wants.is_empty() {
        add("wants", types(wants));
    }
    for (key, owner) in [("heir", heir), ("from", from)] {
        if let Some(owner) = owner {
            add(key, escaped(owner));
        }
    }
    text
}

/// Reads a mark's text; it need not be the text that [`written`] would give.
pub(super) fn read(text: &str) -> Option<Mark> {
    let mut words = Words::of(text)?;
    let (owner, generation) = (unescaped(words.next("owner")?)?, words.next("generation")?.parse().ok()?);
    let name = Name::parse(&unescaped(words.next("name")?)?).ok()?;
    let types = match words.next("types")? {
        "" => BTreeSet::new(),
        types => read_types(types)?,
    };
    let terms = read_terms(&mut words)?;
    let mark = Mark { owner, generation, name, types, terms };
    (words.is_over() && !mark.is_empty()).then_some(mark)
}

fn read_terms(words: &mut Words<'_>) -> Option<Terms> {
    let mut terms = Terms::default();
    if let Some(shares) = words.next("targets") {
        terms.shares = shares.split(',').map(read_share).collect::<Option<BTreeMap<_, _>>>()?;
    }
    if let Some(wants) = words.next("wants") {
        terms.wants = read_types(wants)?;
    }
    if let Some(heir) = words.next("heir") {
        terms.heir = Some(unescaped(heir)?);
    }
    if let Some(from) = words.next("from") {
        terms.from = Some(unescaped(from)?);
    }
    Some(terms)
}

/// A liveness as text.
pub(super) fn liveness(liveness: &Liveness) -> String {
    let Liveness { owner, generation, counter, looks } = liveness;
    let rest = looks.map(|seconds| format!(" looks={seconds}")).unwrap_or_default();
    format!("{VERSION} owner={} generation={generation} counter={counter}{rest}", escaped(owner))
}

/// Reads the text of a liveness; it need not be the text that [`liveness`] would give.
pub(super) fn read_liveness(text: &str) -> Option<Liveness> {
    let mut words = Words::of(text)?;
    let (owner, generation) = (unescaped(words.next("owner")?)?, words.next("generation")?.parse().ok()?);
    let counter = words.next("counter")?.parse().ok()?;
    let looks = words.next("looks").map(str::parse).transpose().ok()?;
    words.is_over().then_some(Liveness { owner, generation, counter, looks })
}

/// The words of a text after its version.
struct Words<'a>(std::iter::Peekable<std::str::Split<'a, char>>);

impl<'a> Words<'a> {
    fn of(text: &'a str) -> Option<Words<'a>> {
        let mut words = text.split(' ').peekable();
        words.next_if_eq(&VERSION).map(|_| Words(words))
    }

    /// The value of the next word, if that has this key.
    fn next(&mut self, key: &str) -> Option<&'a str> {
        let value = self.0.peek()?.strip_prefix(key)?.strip_prefix('=')?;
        self.0.next().map(|_| value)
    }

    fn is_over(&mut self) -> bool {
        self.0.peek().is_none()
    }
}

fn types(types: &BTreeSet<Rtype>) -> String {
    types.iter().map(Rtype::to_string).collect::<Vec<_>>().join(",")
}

fn read_types(text: &str) -> Option<BTreeSet<Rtype>> {
    text.split(',').map(|word| word.parse().ok()).collect()
}

/// Type, TTL and records, as in `A/30/192.0.2.1/192.0.2.2`.
fn written_share(rtype: Rtype, share: &Share) -> String {
    let data = share.data.iter().map(|data| format!("/{}", escaped(&data.to_string())));
    format!("{rtype}/{}{}", share.ttl, data.collect::<String>())
}

fn read_share(text: &str) -> Option<(Rtype, Share)> {
    let mut parts = text.split('/');
    let (rtype, ttl) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    let data = parts.map(|part| Rdata::parse(rtype, &unescaped(part)?, &Name::root()).ok());
    Some((rtype, Share { ttl, data: data.collect::<Option<Vec<_>>>()? }))
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
