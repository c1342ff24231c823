//! Patterns of names that a zone delegates to others.
//!
//! A pattern is matched label by label, from its left end to its origin. `*` stands for one whole
//! label or a part of one; only as the whole leftmost label it stands for one or more labels. So
//! `www.*` admits `www.team` below the origin and nothing that merely ends in something allowed.

use std::borrow::Cow;
use std::fmt;

use crate::{Name, NameError};

/// A pattern of names in one zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    origin: Name,
    /// The pattern as an absolute name; its stars are ordinary octets there.
    pattern: Name,
}

/// Why a text is not a pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// Apart from its stars, the pattern is not a name.
    #[error("the pattern is not a name: {0}")]
    NotAName(#[from] NameError),
    /// An escape, which could hide a star.
    #[error("the pattern `{0}` has a backslash; patterns have no escapes")]
    Escape(String),
    /// A label that is both internationalised and has a star.
    #[error(
        "the pattern `{0}` has a `*` beside a character outside ASCII in one label; write the label as xn--…"
    )]
    StarInIdn(String),
}

impl Pattern {
    /// Parses a pattern that is absolute or below `origin`; `@` is the origin itself.
    pub fn parse(text: &str, origin: &Name) -> Result<Pattern, PatternError> {
        if text.contains('\\') {
            return Err(PatternError::Escape(text.to_owned()));
        }
        if text.split('.').any(|label| label.contains('*') && !label.is_ascii()) {
            return Err(PatternError::StarInIdn(text.to_owned()));
        }
        let pattern = Name::parse_relative(text, origin)?;
        Ok(Pattern { origin: origin.clone(), pattern })
    }

    /// Whether the pattern admits a name and names it: its leftmost label is written out, or it is the wildcard name
    /// itself. Another one that begins with a star admits names that its author did not think of.
    pub fn names(&self, name: &Name) -> bool {
        let is_written_out = self.pattern.labels().next().is_none_or(|label| !label.contains(&b'*'));
        self.pattern == *name || (is_written_out && self.matches(name))
    }

    /// Whether the pattern admits the name; names outside its origin never match.
    pub fn matches(&self, name: &Name) -> bool {
        if !name.is_in(&self.origin) {
            return false;
        }
        let (wanted, labels) = (labels(&self.pattern), labels(name));
        match wanted.split_first() {
            Some((first, rest)) if &**first == b"*" => {
                labels.len() > rest.len() && all_match(rest, &labels[labels.len() - rest.len()..])
            }
            _ => labels.len() == wanted.len() && all_match(&wanted, &labels),
        }
    }
}

fn labels(name: &Name) -> Vec<Cow<'_, [u8]>> {
    name.labels().collect()
}

fn all_match(wanted: &[Cow<'_, [u8]>], labels: &[Cow<'_, [u8]>]) -> bool {
    wanted.iter().zip(labels).all(|(pattern, label)| label_matches(pattern, label))
}

/// Whether the pieces between the stars stand in the label in order, the outer ones at its ends.
fn label_matches(pattern: &[u8], label: &[u8]) -> bool {
    let mut pieces: Vec<&[u8]> = pattern.split(|octet| *octet == b'*').collect();
    let Some(last) = pieces.pop().filter(|_| !pieces.is_empty()) else { return pattern == label };
    let Some(rest) = label.strip_prefix(pieces[0]) else { return false };
    let Some(mut rest) = rest.strip_suffix(last) else { return false };
    for piece in pieces[1..].iter().filter(|piece| !piece.is_empty()) {
        match rest.windows(piece.len()).position(|window| window == *piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    true
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pattern.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("@", "example.org", true)]
    #[case("@", "www.example.org", false)]
    #[case("www", "www.example.org", true)]
    #[case("WWW", "www.example.org", true)]
    #[case("www", "a.www.example.org", false)]
    #[case("www", "example.org", false)]
    #[case("www.example.org.", "www.example.org", true)]
    #[case("www.example.org", "www.example.org", false)]
    #[case("example.org.", "example.org", true)]
    #[case("*", "a.example.org", true)]
    #[case("*", "a.b.example.org", true)]
    #[case("*", "example.org", false)]
    #[case("*", "*.example.org", true)]
    #[case("*", "a.example.net", false)]
    #[case("*.example.org.", "a.b.example.org", true)]
    #[case("*.example.org.", "example.org", false)]
    #[case("*.example.org.", "a.notexample.org", false)]
    #[case("*.team", "a.team.example.org", true)]
    #[case("*.team", "a.b.team.example.org", true)]
    #[case("*.team", "team.example.org", false)]
    #[case("*.team", "a.steam.example.org", false)]
    #[case("www.*", "www.team.example.org", true)]
    #[case("www.*", "www.a.b.example.org", false)]
    #[case("www.*", "www.example.org", false)]
    #[case("www.*", "evil.team.example.org", false)]
    #[case("www.*", "evil.anything.example.org", false)]
    #[case("www.*", "evil.www.example.org", false)]
    #[case("www.*.", "www.example.org", false)]
    #[case("www.*.", "evil.example.org", false)]
    #[case("a.*.c", "a.b.c.example.org", true)]
    #[case("a.*.c", "a.b.b.c.example.org", false)]
    #[case("team-*", "team-a.example.org", true)]
    #[case("team-*", "team-.example.org", true)]
    #[case("team-*", "team.example.org", false)]
    #[case("team-*", "x.team-a.example.org", false)]
    #[case("*-dev", "a-dev.example.org", true)]
    #[case("*-dev", "x.a-dev.example.org", false)]
    #[case("a*a", "a.example.org", false)]
    #[case("a*a", "aa.example.org", true)]
    #[case("a*b*c", "axxbxxc.example.org", true)]
    #[case("a*b*c", "axxc.example.org", false)]
    #[case("a*b*b", "ab.example.org", false)]
    #[case("a**c", "abc.example.org", true)]
    #[case("**", "a.b.example.org", false)]
    #[case("_acme-challenge.*", "_acme-challenge.www.example.org", true)]
    #[case("bücher", "xn--bcher-kva.example.org", true)]
    fn pattern_below_example_org(#[case] pattern: &str, #[case] name: &str, #[case] admits: bool) {
        let pattern = Pattern::parse(pattern, &Name::parse("example.org").unwrap()).unwrap();
        assert_eq!(pattern.matches(&Name::parse(name).unwrap()), admits, "{pattern}");
    }

    #[rstest]
    #[case("", "the pattern is not a name: the name is empty")]
    #[case("a..b", "the pattern is not a name: `a..b` has an empty label")]
    #[case("\\*", "the pattern `\\*` has a backslash; patterns have no escapes")]
    #[case(
        "bü*",
        "the pattern `bü*` has a `*` beside a character outside ASCII in one label; write the label as xn--…"
    )]
    fn refused(#[case] pattern: &str, #[case] message: &str) {
        assert_eq!(Pattern::parse(pattern, &Name::root()).unwrap_err().to_string(), message);
    }
}
