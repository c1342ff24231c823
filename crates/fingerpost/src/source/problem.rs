//! What is wrong in the folders, with the place to look at.

use std::fmt;
use std::path::PathBuf;

use dns::visible;
use planner::{ClusterId, ObjectRef};

/// How much is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Something is refused, or could not be read: what stood before stays in force.
    Refused,
    /// Something is left out or worth knowing; the rest is as written.
    Remark,
}

/// One thing that is wrong in the folders; it stands until a reading comes without it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourceProblem {
    /// The cluster whose folder it is.
    pub cluster: ClusterId,
    /// The file or folder, below the folder as the user wrote it.
    pub path: PathBuf,
    /// The line, from 1; 0 where the problem has no place in the file.
    pub line: u32,
    /// The column, from 1; 0 where the problem has no place in the file.
    pub column: u32,
    /// What is wrong and what to do.
    pub message: String,
    /// The object that it is about, where that is known.
    pub object: Option<ObjectRef>,
    /// How much is lost.
    pub severity: Severity,
}

impl fmt::Display for SourceProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.to_string_lossy();
        let path = visible(&path);
        match self.line {
            0 => write!(f, "{path}: {}", self.message),
            line => write!(f, "{path}:{line}:{}: {}", self.column, self.message),
        }
    }
}

/// A problem before it is known which cluster and folder the file is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Trouble {
    /// Another file than the one that was read: one that it includes, by its label.
    pub(super) label: Option<String>,
    pub(super) line: u32,
    pub(super) column: u32,
    pub(super) message: String,
    pub(super) object: Option<ObjectRef>,
    pub(super) severity: Severity,
}

impl Trouble {
    pub(super) fn refused(line: u32, column: u32, message: impl Into<String>) -> Trouble {
        // Parsers quote what they could not read.
        let message = visible(&message.into()).into_owned();
        Trouble { label: None, line, column, message, object: None, severity: Severity::Refused }
    }

    pub(super) fn remark(line: u32, column: u32, message: impl Into<String>) -> Trouble {
        Trouble { severity: Severity::Remark, ..Trouble::refused(line, column, message) }
    }

    pub(super) fn about(self, object: ObjectRef) -> Trouble {
        Trouble { object: Some(object), ..self }
    }
}
