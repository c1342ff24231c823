//! Notes: what happened to an object and why.
//!
//! Status conditions, events, `explain` and admission refusals are renderings of the same notes,
//! so they cannot disagree.

use std::fmt;

use dns::visible;

/// What a condition says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionStatus {
    /// It holds.
    True,
    /// It does not hold.
    False,
    /// Nobody knows yet.
    Unknown,
}

impl fmt::Display for ConditionStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            ConditionStatus::True => "True",
            ConditionStatus::False => "False",
            ConditionStatus::Unknown => "Unknown",
        })
    }
}

/// How much a note matters to the one who is paged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// All is well.
    Good,
    /// Worth knowing.
    Info,
    /// Something is missing, but nothing is wrong.
    Warning,
    /// Somebody has to act.
    Error,
}

/// One thing that is so about an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The condition's type.
    pub condition: &'static str,
    /// Whether it holds.
    pub status: ConditionStatus,
    /// The reason in one word.
    pub reason: &'static str,
    /// The reason in a sentence: what, where and what to do.
    pub message: String,
    /// How much it matters.
    pub severity: Severity,
}

impl Note {
    fn new(
        condition: &'static str,
        status: ConditionStatus,
        reason: &'static str,
        message: impl Into<String>,
        severity: Severity,
    ) -> Note {
        let message = visible(&message.into()).into_owned();
        Note { condition, status, reason, message, severity }
    }

    pub(crate) fn ready(reason: &'static str, message: impl Into<String>) -> Note {
        Note::new("Ready", ConditionStatus::True, reason, message, Severity::Good)
    }

    /// Not ready, because something else is not there yet.
    pub(crate) fn waiting(reason: &'static str, message: impl Into<String>) -> Note {
        Note::new("Ready", ConditionStatus::False, reason, message, Severity::Warning)
    }

    /// Not ready, and only the user can change that: `Ready=False` and `Stalled=True`.
    pub(crate) fn stalled(reason: &'static str, message: impl Into<String>) -> Vec<Note> {
        let message = message.into();
        vec![
            Note::new("Ready", ConditionStatus::False, reason, message.clone(), Severity::Error),
            Note::new("Stalled", ConditionStatus::True, reason, message, Severity::Error),
        ]
    }

    /// A condition beside `Ready` that tells of a shortcoming.
    pub(crate) fn lacking(condition: &'static str, reason: &'static str, message: impl Into<String>) -> Note {
        Note::new(condition, ConditionStatus::False, reason, message, Severity::Warning)
    }

    /// A condition beside `Ready` that holds.
    pub(crate) fn fact(condition: &'static str, reason: &'static str, message: impl Into<String>) -> Note {
        Note::new(condition, ConditionStatus::True, reason, message, Severity::Info)
    }

    /// Not ready, because it is over and that is as it should be.
    pub(crate) fn over(reason: &'static str, message: impl Into<String>) -> Note {
        Note::new("Ready", ConditionStatus::False, reason, message, Severity::Info)
    }

    /// A condition beside `Ready` that holds and that somebody has to act on.
    pub(crate) fn alarm(condition: &'static str, reason: &'static str, message: impl Into<String>) -> Note {
        Note::new(condition, ConditionStatus::True, reason, message, Severity::Error)
    }

    /// A condition as it was written before.
    pub(crate) fn again(
        condition: &'static str,
        status: ConditionStatus,
        reason: &'static str,
        message: &str,
    ) -> Note {
        let severity = match status {
            ConditionStatus::True if condition == "Ready" => Severity::Good,
            ConditionStatus::False => Severity::Warning,
            ConditionStatus::True | ConditionStatus::Unknown => Severity::Info,
        };
        Note::new(condition, status, reason, message, severity)
    }

    /// A condition of which nobody knows yet.
    pub(crate) fn unknown(condition: &'static str, reason: &'static str, message: impl Into<String>) -> Note {
        Note::new(condition, ConditionStatus::Unknown, reason, message, Severity::Info)
    }
}
