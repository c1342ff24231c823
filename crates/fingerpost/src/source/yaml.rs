//! One YAML document through serde, with the field, line and column of what is wrong.

use std::marker::PhantomData;

use api::{Kind, Object};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer};
use serde_json::Value;
use serde_path_to_error::Track;
use serde_saphyr::options::DuplicateKeyPolicy;
use serde_saphyr::{Error, MessageFormatter, NonFiniteFloatPolicy, Options, UserMessageFormatter};

use super::documents::Document;

/// What is wrong in a document, and where in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// The field, as a path such as `spec.domain`; empty where there is none.
    pub(super) field: String,
    /// The value as written; empty where the fault is not in a value.
    pub(super) value: String,
    pub(super) message: String,
    pub(super) line: u32,
    pub(super) column: u32,
}

/// Whatever the document says, so long as it is YAML.
pub(super) fn value(document: Document<'_>) -> Result<Value, Fault> {
    seeded(document, lenient(document), PhantomData::<Value>)
}

/// The object that the document describes.
pub(super) fn object(document: Document<'_>, kind: Kind) -> Result<Object, Fault> {
    seeded(document, strict(document), ObjectSeed(kind))
}

/// What a seed makes of the document.
pub(super) fn seeded<T, S>(document: Document<'_>, options: Options, seed: S) -> Result<T, Fault>
where
    S: for<'de> DeserializeSeed<'de, Value = T>,
{
    let mut track = Track::new();
    let result =
        serde_saphyr::with_deserializer_from_str_with_options(document.text, options, |deserializer| {
            seed.deserialize(serde_path_to_error::Deserializer::new(deserializer, &mut track))
        });
    result.map_err(|error| fault(&error, &track.path().to_string(), document))
}

/// Decodes an object of a kind that is known beforehand.
pub(super) struct ObjectSeed(pub(super) Kind);

impl<'de> DeserializeSeed<'de> for ObjectSeed {
    type Value = Object;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Object, D::Error> {
        api::decode(self.0, deserializer)
    }
}

/// An object from the manifest that [`api::manifest`] made.
pub(super) fn object_from_value(manifest: &Value) -> Option<Object> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Head {
        api_version: String,
        kind: String,
    }
    let head = Head::deserialize(manifest).ok()?;
    match Kind::lookup(&head.api_version, &head.kind) {
        api::Lookup::Known(kind) => api::decode(kind, manifest).ok(),
        _ => None,
    }
}

/// Limits that follow from the length of the document: an octet of text makes at most two events, and
/// aliases may add so many that the whole file stays within a bound.
pub(super) fn strict(document: Document<'_>) -> Options {
    let most = 2 * document.text.len() + document.aliased + 100;
    serde_saphyr::options! {
        with_snippet: false,
        emit_comments: false,
        // A namespace may be called `n`, which YAML 1.1 reads as a boolean.
        strict_booleans: true,
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: document.aliased,
        },
        budget: serde_saphyr::budget! {
            max_events: most,
            max_nodes: most,
            max_total_scalar_bytes: most,
            max_recorded_anchor_events: most,
            max_recorded_anchor_bytes: most,
        },
    }
}

/// A key given twice is an object's fault and not one of the file: here it passes.
pub(super) fn lenient(document: Document<'_>) -> Options {
    let mut options = strict(document);
    options.duplicate_keys = DuplicateKeyPolicy::LastWins;
    options.non_finite_float_policy = NonFiniteFloatPolicy::AsString;
    options
}

pub(super) fn fault(error: &Error, path: &str, document: Document<'_>) -> Fault {
    let (line, column) = error.location().map_or((1, 1), |at| (at.line() as u32, at.column() as u32));
    let message = UserMessageFormatter.format_message(error.without_snippet()).into_owned();
    if message.starts_with(BEYOND_LIMITS) {
        let (field, value) = (String::new(), String::new());
        return Fault { field, value, message: LIMIT.to_owned(), line: line + document.lines_before, column };
    }
    let field = if matches!(path, "." | "?") { "" } else { path.trim_end_matches(".?") };
    let (value, message) = in_words(message, || written_at(document.text, line, column));
    Fault { field: field.to_owned(), value, message, line: line + document.lines_before, column }
}

/// What is said of a document that costs more than its length allows.
const LIMIT: &str = "the document is refused: its aliases expand to too much, or it is nested more than 64 \
                     levels deep; write the values out";

/// How the parser's own message begins, whichever limit was reached; the error has several forms.
const BEYOND_LIMITS: &str = "YAML document too large or too complex";

/// A wrong type reads on from the value: "`soon` is not a whole number from 0 to 4294967295".
fn in_words(message: String, written: impl FnOnce() -> String) -> (String, String) {
    if let Some(unknown) = api::unknown_value_in_words(&message) {
        return unknown;
    }
    let invalid = message.strip_prefix("invalid ");
    let invalid = invalid.map(|wanted| wanted.strip_suffix(" (true or false expected)").unwrap_or(wanted));
    let word = |wanted: &str| (!wanted.contains(' ')).then(|| format!("a valid {wanted}"));
    if let Some(wanted) = invalid.and_then(|wanted| api::type_in_words(wanted).or_else(|| word(wanted))) {
        return (written(), format!("is not {wanted}"));
    }
    let words = message.rsplit_once("expected ").and_then(|(before, wanted)| {
        api::type_in_words(wanted).map(|wanted| format!("{before}expected {wanted}"))
    });
    (String::new(), words.unwrap_or(message))
}

/// The value at a place. In quotation marks it ends with them; inside brackets it ends where the next one begins or they
/// close.
fn written_at(text: &str, line: u32, column: u32) -> String {
    let line = text.lines().nth(line as usize - 1).unwrap_or_default();
    let at = line.char_indices().nth(column as usize - 1).map_or(line.len(), |(at, _)| at);
    let (before, rest) = line.split_at(at);
    if let Some(mark) = rest.chars().next().filter(|mark| matches!(mark, '"' | '\'')) {
        let end = rest.char_indices().skip(1).find(|(_, c)| *c == mark);
        return end.map_or(rest, |(end, _)| &rest[..=end]).to_owned();
    }
    let is_inside = before.matches(['{', '[']).count() > before.matches(['}', ']']).count();
    let ends: &[char] = if is_inside { &[',', '}', ']'] } else { &[] };
    let value = rest.split(ends).next().unwrap_or_default();
    value.split(" #").next().unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("invalid u16", "x", "is not a whole number from 0 to 65535")]
    #[case("invalid boolean (true or false expected)", "x", "is not `true` or `false`")]
    #[case("invalid floating point", "x", "is not a number")]
    #[case("invalid tag", "x", "is not a valid tag")]
    #[case(
        "invalid type: sequence, expected u16",
        "",
        "invalid type: sequence, expected a whole number from 0 to 65535"
    )]
    #[case("unknown field", "", "unknown field")]
    fn a_type_is_named_in_words(#[case] message: &str, #[case] value: &str, #[case] words: &str) {
        let found = in_words(message.to_owned(), || "x".to_owned());
        assert_eq!(found, (value.to_owned(), words.to_owned()));
    }

    #[rstest]
    #[case("ttl: soon # later", 6, "soon")]
    #[case("ttl: a, b}", 6, "a, b}")]
    #[case("spec: {ttl: -1, name: a}", 13, "-1")]
    #[case("- {weight: 70000}]", 12, "70000")]
    #[case("- {weight: 70000", 12, "70000")]
    #[case("{a: {}, ttl: x}", 14, "x")]
    #[case("{ttl: \"x\", name: a}", 7, "\"x\"")]
    #[case("ttl: 'a # b' # later", 6, "'a # b'")]
    #[case("ttl: \"x", 6, "\"x")]
    #[case("ttl: x", 60, "")]
    fn a_value_is_shown_without_what_stands_behind_it(
        #[case] line: &str,
        #[case] column: u32,
        #[case] value: &str,
    ) {
        assert_eq!(written_at(line, 1, column), value);
    }
}
