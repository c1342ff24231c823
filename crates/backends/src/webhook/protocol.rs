//! What travels: the JSON of requests and answers, header names, codes and paths.
//!
//! Fields that the document does not have are extensions and optional: `providerSpecific` and `format` of a
//! record, `extensions` of a health answer, and the batch.

use std::collections::BTreeMap;

use api::dnsclass::RecordMetadata;
use dns::Rtype;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// When the request was signed, as RFC 3339 has it.
pub const TIMESTAMP: &str = "x-dns-timestamp";
/// A text that no other request has.
pub const NONCE: &str = "x-dns-nonce";
/// The signature.
pub const SIGNATURE: &str = "x-dns-signature";
/// Who writes.
pub const OWNER: &str = "x-dns-owner";
/// The writer's fencing token.
pub const GENERATION: &str = "x-dns-generation";

/// The extension by which several changes travel in one request.
pub const BATCH: &str = "batch";
/// The extension by which values may be in presentation format.
pub const PRESENTATION: &str = "presentation";
/// The most changes that a batch may have.
pub const MOST_CHANGES: usize = 1000;

/// A record set as the protocol has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// The record type.
    pub r#type: Rtype,
    /// The domain, without its final dot.
    pub domain: String,
    /// The name within the domain; `@` is the domain itself.
    pub subdomain: String,
    /// The full name; in answers only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fqdn: Option<String>,
    /// The data.
    pub values: Vec<String>,
    /// The TTL in seconds; the server's default where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u32>,
    /// What MX and SRV need beside their values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<RecordMetadata>,
    /// In which form the values are, where it is not the document's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<Format>,
    /// Settings that only the provider knows.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub provider_specific: BTreeMap<String, String>,
}

/// Another form of values than the document's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Format {
    /// Each value is a record's whole data as a zone file has it, with absolute names.
    Presentation,
}

/// Which record set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The record type.
    pub r#type: Rtype,
    /// The domain.
    pub domain: String,
    /// The name within the domain.
    pub subdomain: String,
}

/// A change: the body of `POST /records`, where it is an upsert, or one of a batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "operation", rename_all = "lowercase")]
pub enum Change {
    /// The record is to stand as it is here.
    Upsert {
        /// The record.
        record: Record,
    },
    /// The record is to go.
    Delete {
        /// Which.
        record: Identity,
    },
}

/// The body of `POST /records/batch`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// The changes, made in this order.
    pub changes: Vec<Change>,
}

/// The answer to a request about one record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// Whether it was done.
    pub success: bool,
    /// The record as it stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<Record>,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Why it was not done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorBody>,
}

/// The answer to a batch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BatchReply {
    /// Whether all of it was done.
    pub success: bool,
    /// How each change fared, in their order.
    pub results: Vec<Reply>,
}

/// Why something was not done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ErrorBody {
    /// One of the protocol's codes.
    pub code: String,
    /// For people.
    #[serde(default)]
    pub message: String,
    /// For programs; nothing has to be in it.
    #[serde(default)]
    pub details: Map<String, Value>,
}

/// The answer to `GET /health`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Health {
    /// `healthy`, or something else.
    pub status: String,
    /// For people.
    #[serde(default)]
    pub message: String,
    /// When this was found.
    #[serde(default)]
    pub timestamp: String,
    /// What this server can do beside the document.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<String>,
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal $status:literal,)*) => {
        /// The codes of errors, each with the status that it comes with.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Code {
            $($(#[$doc])* $name,)*
        }

        impl Code {
            /// All of them.
            pub const ALL: &[Code] = &[$(Code::$name),*];

            /// The code as it travels.
            pub fn as_str(self) -> &'static str {
                match self { $(Code::$name => $text,)* }
            }

            /// The status of an answer with this code.
            pub fn status(self) -> u16 {
                match self { $(Code::$name => $status,)* }
            }
        }
    };
}

codes! {
    /// The record as a whole is wrong.
    InvalidRecord = "INVALID_RECORD" 400,
    /// Its name is wrong, or not one that this server takes.
    InvalidDomain = "INVALID_DOMAIN" 400,
    /// A value is wrong.
    InvalidValue = "INVALID_VALUE" 400,
    /// There is no such record.
    RecordNotFound = "RECORD_NOT_FOUND" 404,
    /// The server failed.
    ServerError = "SERVER_ERROR" 500,
    /// The sender has not proved who it is.
    AuthFailed = "AUTH_FAILED" 401,
    /// The timestamp is outside the window.
    TimestampStale = "TIMESTAMP_STALE" 401,
    /// The nonce has been used.
    NonceReused = "NONCE_REUSED" 401,
    /// Too many requests.
    RateLimited = "RATE_LIMITED" 429,
    /// More than the sender may have.
    QuotaExceeded = "QUOTA_EXCEEDED" 400,
    /// Extension: a newer instance of this owner has written.
    StaleGeneration = "STALE_GENERATION" 409,
    /// Extension: somebody else's record stands there.
    RecordNotOwned = "RECORD_NOT_OWNED" 409,
    /// Extension: the request is larger than the server takes.
    TooLarge = "TOO_LARGE" 413,
    /// Extension: the path is none of the protocol's.
    UnknownPath = "UNKNOWN_PATH" 404,
    /// Extension: the path has no such method.
    MethodNotAllowed = "METHOD_NOT_ALLOWED" 405,
    /// Extension: the Host is not the server's, or a web page of another origin sends the request.
    Forbidden = "FORBIDDEN" 403,
    /// Extension: a write whose body is not announced as JSON.
    UnsupportedMediaType = "UNSUPPORTED_MEDIA_TYPE" 415,
    /// Extension: what stands behind the server cannot be reached.
    Unavailable = "UNAVAILABLE" 503,
}

impl Code {
    /// The code that is written so.
    pub fn parse(text: &str) -> Option<Code> {
        Code::ALL.iter().copied().find(|code| code.as_str() == text)
    }
}

impl Reply {
    /// It was done.
    pub fn done(record: Option<Record>, message: Option<&str>) -> Reply {
        Reply { success: true, record, message: message.map(str::to_owned), error: None }
    }

    /// It was not done.
    pub fn refused(code: Code, message: impl Into<String>) -> Reply {
        let error =
            ErrorBody { code: code.as_str().to_owned(), message: message.into(), details: Map::new() };
        Reply { success: false, record: None, message: None, error: Some(error) }
    }

    /// The code of the error, where it is one that we know.
    pub fn code(&self) -> Option<Code> {
        Code::parse(&self.error.as_ref()?.code)
    }
}

impl Change {
    /// Which record set changes.
    pub fn identity(&self) -> Identity {
        match self {
            Change::Upsert { record } => record.identity(),
            Change::Delete { record } => record.clone(),
        }
    }
}

impl Record {
    /// Which record set this is.
    pub fn identity(&self) -> Identity {
        let Record { r#type, domain, subdomain, .. } = self;
        Identity { r#type: *r#type, domain: domain.clone(), subdomain: subdomain.clone() }
    }
}

impl Identity {
    /// The path of the record, percent-encoded.
    pub fn path(&self) -> String {
        format!("/records/{}/{}/{}", self.r#type, encoded(&self.domain), encoded(&self.subdomain))
    }

    /// The record whose path this is; `None` where it is no such path.
    pub fn from_path(path: &str) -> Option<Identity> {
        let mut parts = path.strip_prefix("/records/")?.split('/').map(decoded);
        let (Some(rtype), Some(domain), Some(subdomain), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return None;
        };
        Some(Identity { r#type: rtype?.parse().ok()?, domain: domain?, subdomain: subdomain? })
    }
}

/// A path segment: all but letters, digits and `-._~@*` as `%` and two digits.
fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for octet in text.bytes() {
        match octet {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'@' | b'*' => {
                out.push(char::from(octet));
            }
            _ => out.push_str(&format!("%{octet:02X}")),
        }
    }
    out
}

/// The text of a path segment.
fn decoded(segment: &str) -> Option<String> {
    let mut octets = Vec::with_capacity(segment.len());
    let mut rest = segment.bytes();
    while let Some(octet) = rest.next() {
        match octet {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                let digits = std::str::from_utf8(&digits).ok().filter(|text| !text.starts_with('+'))?;
                octets.push(u8::from_str_radix(digits, 16).ok()?);
            }
            octet => octets.push(octet),
        }
    }
    String::from_utf8(octets).ok().filter(|text| !text.is_empty())
}
