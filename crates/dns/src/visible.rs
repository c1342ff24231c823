//! Users' text as it may reach a terminal, a log or a status.

use std::borrow::Cow;

/// The text with its control characters escaped, so that it can neither end a line nor steer a terminal.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return Cow::Borrowed(text);
    }
    let escaped = text.chars().map(|character| match character.is_control() {
        true => character.escape_default().to_string(),
        false => character.to_string(),
    });
    Cow::Owned(escaped.collect())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::plain("www.example.org", "www.example.org")]
    #[case::letters("bücher `x` \\", "bücher `x` \\")]
    #[case::line_end("a\nb", "a\\nb")]
    #[case::terminal("a\u{1b}[31mb", "a\\u{1b}[31mb")]
    #[case::c1("a\u{9b}b", "a\\u{9b}b")]
    fn control_characters_are_escaped_and_nothing_else(#[case] text: &str, #[case] shown: &str) {
        assert_eq!(visible(text), shown);
    }
}
