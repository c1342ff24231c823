//! Text of others as messages, logs and terminals may show it.

use std::borrow::Cow;

/// The text with control and invisible characters escaped and without the passwords of URLs, so that another user's
/// text can neither control a terminal, nor reorder the text that a reviewer reads, nor carry a secret into a message.
pub fn visible(text: &str) -> Cow<'_, str> {
    let text = without_passwords(text);
    if !text.contains(needs_escape) {
        return text;
    }
    let escaped = text.chars().map(|character| match needs_escape(character) {
        true => character.escape_default().to_string(),
        false => character.to_string(),
    });
    Cow::Owned(escaped.collect())
}

/// Control characters, and those that only change how others are displayed: separators of lines and paragraphs, and
/// characters without width, the marks for writing direction among them.
fn needs_escape(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}'
        )
}

/// The text with `***` in the place of everything between `://` and the last `@` of the same word.
///
/// More than the user information of a well-formed URL may go: a password is often written without the
/// escapes that it needs.
pub fn without_passwords(text: &str) -> Cow<'_, str> {
    if !text.contains("://") || !text.contains('@') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        out.push_str(before);
        let end = after.find(is_end_of_url).unwrap_or(after.len());
        rest = match after[..end].rfind('@') {
            Some(last) => {
                out.push_str(HIDDEN);
                &after[last..]
            }
            None => after,
        };
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// As [`without_passwords`] for a text that is one value: it may lack the scheme, and hold blanks.
pub fn value_without_password(value: &str) -> Cow<'_, str> {
    let Some(last) = value.rfind('@') else { return Cow::Borrowed(value) };
    let start = value.find("://").map(|at| at + 3).filter(|start| *start <= last);
    match start {
        Some(start) => Cow::Owned(format!("{}{HIDDEN}{}", &value[..start], &value[last..])),
        None if value[..last].contains(':') => Cow::Owned(format!("{HIDDEN}{}", &value[last..])),
        None => Cow::Borrowed(value),
    }
}

const HIDDEN: &str = "***";

fn is_end_of_url(character: char) -> bool {
    character.is_whitespace() || matches!(character, '`' | '"' | '<' | '>')
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
    #[case::right_to_left("a\u{202e}b", "a\\u{202e}b")]
    #[case::no_width("a\u{200b}b", "a\\u{200b}b")]
    fn control_and_invisible_characters_are_escaped_and_nothing_else(
        #[case] text: &str,
        #[case] shown: &str,
    ) {
        assert_eq!(visible(text), shown);
    }

    #[rstest]
    #[case::password("no answer from http://u:secret@h:1/x: why", "no answer from http://***@h:1/x: why")]
    #[case::token("`https://secret@h` is refused", "`https://***@h` is refused")]
    #[case::at_sign("https://u:se@cret@h", "https://***@h")]
    #[case::slash("https://u:se/cret@h", "https://***@h")]
    #[case::number_sign("https://u:se#cret@h", "https://***@h")]
    #[case::two("http://a:secret@b,http://c:secret@d", "http://***@d")]
    #[case::two_words("http://a:secret@b http://c:secret@d", "http://***@b http://***@d")]
    #[case::none("https://h/x and admin@example.org", "https://h/x and admin@example.org")]
    #[case::escaped("{\"url\":\"http://u:secret@h\"}", "{\"url\":\"http://***@h\"}")]
    fn the_password_of_a_url_is_not_shown(#[case] text: &str, #[case] shown: &str) {
        assert_eq!(visible(text), shown);
    }

    #[rstest]
    #[case("https://u:se cret@h", "https://***@h")]
    #[case("u:secret@h:53", "***@h:53")]
    #[case("//u:secret@h", "***@h")]
    #[case("admin@example.org", "admin@example.org")]
    #[case("https://h:1", "https://h:1")]
    fn the_password_of_a_value_is_not_shown(#[case] value: &str, #[case] shown: &str) {
        assert_eq!(value_without_password(value), shown);
    }
}
