//! What is wrong with an object, in words that a user can act on.

use std::fmt;

use dns::visible;

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
    /// A problem with the value of a field; the message reads on from the value. Control characters
    /// in users' text are escaped here, since problems reach logs, terminals and statuses.
    pub fn new(field: impl Into<String>, value: impl ToString, message: impl Into<String>) -> Problem {
        let shown = |text: String| visible(&text).into_owned();
        Problem { field: field.into(), value: shown(value.to_string()), message: shown(message.into()) }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.value.as_str() {
            "" => write!(f, "{}: {}", self.field, self.message),
            value => write!(f, "{}: `{value}` {}", self.field, self.message),
        }
    }
}
