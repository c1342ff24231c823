//! What a process prints besides the data that it was asked for: messages on standard error, and the change lines
//! of `up` on standard output.
//!
//! `--quiet` and `--log-format` apply to the whole process, so they are set once, at the start. As JSON a message has
//! the form of a log line, so that one collector reads both.

use std::io::Write;
use std::sync::OnceLock;

use dns::visible;
use serde_json::{Map, Value, json};

use crate::cli::LogFormat;
use crate::render::Palette;

/// How messages are printed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Style {
    /// Their form.
    pub format: LogFormat,
    /// Whether only what is wrong is printed.
    pub quiet: bool,
}

/// How much a message matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Worth knowing.
    Info,
    /// Something is not as declared, or is left out.
    Warning,
    /// Something could not be done.
    Error,
}

static STYLE: OnceLock<Style> = OnceLock::new();

/// Sets the style of this process; the first call decides.
pub fn set(style: Style) {
    // A test that runs two commands in one process keeps the first style.
    let _ = STYLE.set(style);
}

/// The style of this process.
pub fn style() -> Style {
    STYLE.get().copied().unwrap_or_default()
}

/// Prints what is worth knowing to standard error; not with `--quiet`.
pub fn note(text: &str) {
    message(Level::Info, text);
}

/// Prints a warning to standard error; not with `--quiet`.
pub fn warning(text: &str) {
    message(Level::Warning, text);
}

/// Prints what could not be done to standard error.
pub fn error(text: &str) {
    message(Level::Error, text);
}

/// Prints a line of `up` to standard output, with the time. Only what is wrong with `--quiet`.
pub fn event(level: Level, text: &str, palette: Palette) {
    let style = style();
    if style.quiet && level < Level::Warning {
        return;
    }
    print(&match style.format {
        LogFormat::Json => line(level, text, Map::new()),
        LogFormat::Text => {
            let time = jiff::Zoned::now().strftime("%H:%M:%S").to_string();
            format!("{} {text}", palette.faint(&time))
        }
    });
}

/// Prints a line to standard output. Where nobody reads it any more, the process goes on.
pub fn print(line: &str) {
    let _ = writeln!(std::io::stdout().lock(), "{line}");
}

fn message(level: Level, text: &str) {
    let style = style();
    if style.quiet && level < Level::Error {
        return;
    }
    let text = visible_lines(text);
    match style.format {
        LogFormat::Text => eprintln!("{text}"),
        LogFormat::Json => eprintln!("{}", line(level, &text, Map::new())),
    }
}

/// A text of several lines, each as a terminal may show it.
pub fn visible_lines(text: &str) -> String {
    text.lines().map(visible).collect::<Vec<_>>().join("\n")
}

/// A message as a log line of JSON, with what else belongs to it.
pub fn line(level: Level, text: &str, mut fields: Map<String, Value>) -> String {
    fields.insert("message".to_owned(), text.into());
    let timestamp = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string();
    json!({"timestamp": timestamp, "level": level.word(), "fields": fields, "target": "fingerpost"})
        .to_string()
}

impl Level {
    fn word(self) -> &'static str {
        match self {
            Level::Info => "INFO",
            Level::Warning => "WARN",
            Level::Error => "ERROR",
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_message_as_json_has_the_form_of_a_log_line() {
        let line =
            line(Level::Warning, "a \"b\"", Map::from_iter([("zone".to_owned(), json!("example.org"))]));
        let line: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(line["level"], "WARN");
        assert_eq!(line["fields"], json!({"message": "a \"b\"", "zone": "example.org"}));
        assert!(line["timestamp"].as_str().unwrap().parse::<jiff::Timestamp>().is_ok(), "{line}");
    }
}
