//! What is wrong with an object, in words that a user can act on.

use std::fmt;

use dns::{value_without_password, visible};

/// One thing that is wrong with an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The field, as a path such as `spec.domain`.
    pub field: String,
    /// The value that was given; empty where there is none.
    pub value: String,
    /// What is wrong with it and what would be right.
    pub message: String,
}

impl Problem {
    /// A problem with the value of a field; the message reads on from the value. Control characters in
    /// users' text are escaped and passwords of URLs are hidden here, since problems reach logs, terminals
    /// and statuses.
    pub fn new(field: impl Into<String>, value: impl ToString, message: impl Into<String>) -> Problem {
        let (field, value) = (field.into(), value.to_string());
        let value = if is_location(&field) { value_without_password(&value) } else { value.into() };
        Problem { field, value: visible(&value).into_owned(), message: visible(&message.into()).into_owned() }
    }
}

/// What a user writes where a decoder wants one of Rust's types; `None` where that is no type of Rust's own.
pub fn type_in_words(rust_type: &str) -> Option<String> {
    let whole = |least: i128, most: i128| format!("a whole number from {least} to {most}");
    Some(match rust_type {
        "u8" => whole(0, u8::MAX.into()),
        "u16" => whole(0, u16::MAX.into()),
        "u32" => whole(0, u32::MAX.into()),
        "u64" | "usize" => whole(0, u64::MAX.into()),
        "i32" => whole(i32::MIN.into(), i32::MAX.into()),
        "i64" => whole(i64::MIN.into(), i64::MAX.into()),
        "f32" | "f64" | "floating point" => "a number".to_owned(),
        "bool" | "boolean" => "`true` or `false`".to_owned(),
        _ => return None,
    })
}

/// What is wrong with a value that is none of those allowed, from a decoder's message about it: the value, and the words
/// that follow it; `None` where the message is about something else.
pub fn unknown_value_in_words(message: &str) -> Option<(String, String)> {
    let (value, allowed) = message.strip_prefix("unknown variant `")?.rsplit_once("`, expected ")?;
    let allowed = allowed.strip_prefix("one of ").unwrap_or(allowed);
    let allowed = allowed.replace('`', "").replace(" or ", ", ");
    let several = if allowed.contains(", ") { "one of " } else { "" };
    Some((value.to_owned(), format!("is not an allowed value: use {several}{allowed}")))
}

/// Whether a field says where to send requests, so that a wrong value of it may hold a password in any form.
fn is_location(field: &str) -> bool {
    field.ends_with("url") || field.ends_with("server") || field.contains("endpoints")
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.value.as_str() {
            "" => write!(f, "{}: {}", self.field, self.message),
            value => write!(f, "{}: `{value}` {}", self.field, self.message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allowed_values_are_listed_in_words_whichever_decoder_names_them() {
        let words =
            |message| unknown_value_in_words(message).map(|(value, words)| format!("`{value}` {words}"));
        let several = Some("`x` is not an allowed value: use one of A, B".to_owned());
        assert_eq!(words("unknown variant `x`, expected one of A, B"), several);
        assert_eq!(words("unknown variant `x`, expected `A` or `B`"), several);
        assert_eq!(words("unknown variant `x`, expected one of `A`, `B`"), several);
        let only = Some("`x` is not an allowed value: use A".to_owned());
        assert_eq!(words("unknown variant `x`, expected `A`"), only);
        assert_eq!(words("unknown field `x`, expected `A`"), None);
    }
}
