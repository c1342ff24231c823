//! Sends one write to the API server: fenced by the lease, bounded in time, its answer sorted.

use std::time::Duration;

use http::Request;
use kube::Client;
use serde_json::value::RawValue;

use super::lease::Leadership;
use crate::cluster::{Arrival, Subject, chain};

/// What a write does; as RBAC calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verb {
    /// Create, where nothing is.
    Create,
    /// Server-side apply.
    Patch,
    /// Delete.
    Delete,
}

impl Verb {
    /// The verb in a ClusterRole.
    pub fn name(self) -> &'static str {
        match self {
            Verb::Create => "create",
            Verb::Patch => "patch",
            Verb::Delete => "delete",
        }
    }
}

/// A write that is ready to be sent.
#[derive(Debug)]
pub struct Write {
    /// What it does.
    pub verb: Verb,
    /// To which kind.
    pub subject: Subject,
    /// Whether it is the status that is written.
    pub status: bool,
    /// What is sent.
    pub request: Request<Vec<u8>>,
}

impl Write {
    /// The resource in a ClusterRole.
    pub fn resource(&self) -> String {
        let part = if self.status { "/status" } else { "" };
        format!("{}{part}", self.subject.qualified())
    }
}

/// Why a write did not happen, or is not known to have happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Too little is left of the lease.
    Fenced,
    /// What was to be written is not there.
    Gone,
    /// The object is another than the one that the write was made for.
    Conflict,
    /// We may not.
    Denied(String),
    /// Its namespace is being deleted.
    Terminating,
    /// The API server does not want it, and would not want it again.
    Invalid(String),
    /// Nobody knows; worth another try after this long at least.
    Later(String, Duration),
}

/// Sends writes.
#[derive(Clone)]
pub struct Sender {
    client: Client,
    leadership: Leadership,
    timeout: Duration,
}

impl Sender {
    /// A sender that sends only while the lease lasts for longer than a write may take.
    pub fn new(client: Client, leadership: Leadership, timeout: Duration) -> Sender {
        Sender { client, leadership, timeout }
    }

    /// Sends a write. The answer is the object as it now stands; a deleted one has none.
    pub async fn send(&self, write: Write) -> Result<Option<Arrival>, Refusal> {
        if !self.leadership.may_send(self.timeout) {
            return Err(Refusal::Fenced);
        }
        let answer = tokio::time::timeout(self.timeout, self.client.request_text(write.request)).await;
        let text = match answer {
            Err(_) => {
                let message = format!("no answer for {} s", self.timeout.as_secs_f32());
                return Err(Refusal::Later(message, Duration::ZERO));
            }
            Ok(Err(error)) => return Err(refusal(&error)),
            Ok(Ok(text)) => text,
        };
        match write.verb {
            Verb::Delete => Ok(None),
            Verb::Create | Verb::Patch => parse(text).map(Some),
        }
    }
}

fn parse(text: String) -> Result<Arrival, Refusal> {
    let parsed = RawValue::from_string(text).and_then(Arrival::parse);
    parsed.map_err(|error| Refusal::Later(format!("the answer is no object: {error}"), Duration::ZERO))
}

fn refusal(error: &kube::Error) -> Refusal {
    let kube::Error::Api(status) = error else {
        return Refusal::Later(chain(error), Duration::ZERO);
    };
    let wait = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
    match status.code {
        403 if is_terminating(status) => Refusal::Terminating,
        401 | 403 => Refusal::Denied(status.message.clone()),
        404 => Refusal::Gone,
        409 => Refusal::Conflict,
        400 | 405..=408 | 411..=428 | 430..=499 => Refusal::Invalid(status.message.clone()),
        code => Refusal::Later(format!("{code}: {}", status.message), Duration::from_secs(wait.into())),
    }
}

fn is_terminating(status: &kube::core::Status) -> bool {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    causes.into_iter().any(|cause| cause.reason == "NamespaceTerminating")
}
