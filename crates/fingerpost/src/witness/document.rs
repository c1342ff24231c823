//! The document that a witness keeps, and what can be asked of a witness.

use backends::Failure;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Who holds a lease. It is never deleted, so that its generation outlives every holder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Document {
    /// Who holds it; empty when it was given up.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub holder: String,
    /// It grows with every new holder: the fencing token.
    #[serde(default)]
    pub generation: u64,
    /// How long others have to wait for a holder that is silent.
    #[serde(default)]
    pub lease_milliseconds: u64,
    /// Who is to have it next, and nobody else: asked of the holder while there is one, reserved
    /// for a while when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub successor: Option<String>,
    /// Whether somebody moved it on purpose, so that it does not go back by itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub planned: bool,
    /// It grows with every write: a server may give a write that changes nothing no new version.
    #[serde(default)]
    pub writes: u64,
    /// It grows with every write of the holder's.
    #[serde(default)]
    pub renewals: u64,
    /// Which process wrote it for the holder: a restarted one is another.
    #[serde(default)]
    pub process: u64,
    /// When it was last written, for people to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<Timestamp>,
}

/// A witness's own name for one version of the document.
pub type Version = String;

/// One call to a witness.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// Read the document.
    Read,
    /// Write it over this version; over none where there must be no document.
    Write(Document, Option<Version>),
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The document as it stands; none where there is none.
    Found(Option<(Document, Version)>),
    /// It was written; some servers do not say under which version.
    Written(Option<Version>),
    /// Somebody else was faster; nothing was written.
    Conflict,
    /// Refused, failed or timed out: it may have been written or not.
    Failed(Failure),
}
