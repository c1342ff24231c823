//! `AdmissionReview` of `admission.k8s.io/v1`: as much of it as is needed.

use dns::visible;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::verdict::Verdict;

const API_VERSION: &str = "admission.k8s.io/v1";
const KIND: &str = "AdmissionReview";

/// An answer is for people to read; a value of a megabyte is not.
const LONGEST_MESSAGE: usize = 16 << 10;
/// The API server cuts off what is longer.
const LONGEST_WARNING: usize = 250;

/// Why a body is no review.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReviewError {
    /// It is not JSON, or not of this form.
    #[error("not an AdmissionReview of admission.k8s.io/v1: {0}")]
    Form(#[from] serde_json::Error),
    /// It is something else.
    #[error("not an AdmissionReview of admission.k8s.io/v1 but {0}")]
    Kind(String),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Review {
    api_version: String,
    kind: String,
    request: Request,
}

/// What somebody wants to do to an object.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Request {
    pub(super) uid: String,
    pub(super) kind: GroupVersionKind,
    #[serde(default)]
    pub(super) sub_resource: String,
    #[serde(default)]
    pub(super) name: String,
    #[serde(default)]
    pub(super) namespace: String,
    pub(super) operation: String,
    #[serde(default)]
    pub(super) object: Value,
    #[serde(default)]
    pub(super) old_object: Value,
}

/// A kind with its group and version.
#[derive(Debug, Deserialize)]
pub(super) struct GroupVersionKind {
    #[serde(default)]
    group: String,
    version: String,
    pub(super) kind: String,
}

impl GroupVersionKind {
    /// Group and version, as a manifest's `apiVersion` has them.
    pub(super) fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }
}

impl Request {
    /// Where the object is, for a log.
    pub(super) fn place(&self) -> String {
        let place = if self.namespace.is_empty() {
            self.name.clone()
        } else {
            format!("{}/{}", self.namespace, self.name)
        };
        visible(&place).into_owned()
    }
}

/// Reads what the API server posted.
pub(super) fn read(body: &[u8]) -> Result<Request, ReviewError> {
    let review: Review = serde_json::from_slice(body)?;
    match (review.api_version.as_str(), review.kind.as_str()) {
        (API_VERSION, KIND) => Ok(review.request),
        (api_version, kind) => {
            Err(ReviewError::Kind(shortened(&format!("{api_version} {kind}"), LONGEST_WARNING)))
        }
    }
}

/// The review that goes back.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Response {
    api_version: &'static str,
    kind: &'static str,
    response: Answer,
}

#[derive(Debug, Serialize)]
struct Answer {
    uid: String,
    allowed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Status {
    code: u16,
    reason: &'static str,
    message: String,
}

/// The answer to the request of that identifier.
pub(super) fn answer(uid: String, verdict: Verdict) -> Response {
    let response = match verdict {
        Verdict::Allowed(warnings) => {
            let warnings = warnings.iter().map(|warning| shortened(warning, LONGEST_WARNING)).collect();
            Answer { uid, allowed: true, status: None, warnings }
        }
        Verdict::Refused(problems) => {
            let message = shortened(&problems.join("\n"), LONGEST_MESSAGE);
            let status = Some(Status { code: 422, reason: "Invalid", message });
            Answer { uid, allowed: false, status, warnings: Vec::new() }
        }
    };
    Response { api_version: API_VERSION, kind: KIND, response }
}

fn shortened(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = (0..=most).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
    format!("{}…", &text[..end])
}
