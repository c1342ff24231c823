//! Zones in master-file form (RFC 1035 section 5, with the directives that BIND has).
//!
//! ```text
//! text ─► lexer ─► reader (directives, defaults) ─► records with their places ─► packed zone
//!    │               │ └─ $INCLUDE asks the caller, $GENERATE multiplies   ▲
//!    └─► plain lines ┴─────────────────────────────────────────────────────┘
//! ```
//!
//! The text comes in parts of any size and none of it is kept, so a zone of a million records costs
//! its records and no more.
//!
//! A file is one unit: an error refuses all of it and says where. What can be left out without
//! changing what was meant (duplicates, names out of the zone) is left out and remarked.
//!
//! The lexer is our own because the scanner of the `domain` crate gives no line and column for a
//! record that is well written but wrong, and knows no `$GENERATE`. Record data goes through
//! [`Rdata`](crate::Rdata) and so through that crate.

mod assemble;
mod doubts;
mod generate;
mod origin;
mod parts;
mod plain;
mod reader;
mod records;
#[cfg(test)]
mod tests;
mod write;

use std::fmt;

pub use parts::ZoneReader;
pub use write::{ZoneForm, write_zone};

use crate::{Name, PackedZone};

/// A file that `$INCLUDE` named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Included {
    /// Its path, as messages should show it; two files are the same where this is.
    pub path: String,
    /// Its content.
    pub text: String,
}

/// A zone that was read from a file.
#[derive(Clone, Debug)]
pub struct ReadZone {
    /// Its records.
    pub zone: PackedZone,
    /// What was left out or changed, and what is doubtful, in the order of the files' lines.
    pub remarks: Vec<Remark>,
    /// Whether nothing was left out or changed. What is doubtful is served as written.
    pub is_whole: bool,
    /// The paths of the files that it includes.
    pub included: Vec<String>,
}

/// Something about a zone file that its author should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// The file, which may be an included one.
    pub path: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
    /// What was done and why.
    pub message: String,
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.path, self.line, self.column, self.message)
    }
}

/// Why a zone file is refused, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}:{line}:{column}: {message}")]
pub struct ZoneFileError {
    /// The file, which may be an included one.
    pub path: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
    /// What is wrong and what would be right.
    pub message: String,
    /// The zone's origin, as far as it is known.
    pub origin: Option<Name>,
}

/// Gives a file that `$INCLUDE` names: the including file's path and the name as written go in;
/// the file, or why there is none, comes out.
pub type Include<'a> = dyn FnMut(&str, &str) -> Result<Included, String> + 'a;

/// Reads a zone that is in memory; without `$ORIGIN` the file's name is the origin.
pub fn read_zone(
    path: &str,
    text: impl AsRef<[u8]>,
    include: &mut Include<'_>,
) -> Result<ReadZone, ZoneFileError> {
    let mut reader = ZoneReader::new(path, include);
    reader.feed(text.as_ref());
    reader.finish()
}

/// The origin that a file's name stands for: `zones/example.org.zone` is `example.org.`.
pub fn origin_of_path(path: &str) -> Option<Name> {
    let file = path.rsplit('/').next()?;
    Name::parse(file.strip_suffix(".zone").unwrap_or(file)).ok()
}

/// A place in one of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    file: u16,
    line: u32,
    column: u16,
}

/// What is wrong or remarkable, and where; the file is still a number.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Fault {
    place: Place,
    message: String,
}

impl Place {
    fn fault(self, message: impl fmt::Display) -> Fault {
        Fault { place: self, message: message.to_string() }
    }
}
