//! Lists and watches on the wire: requests out, lines in, and what a refusal means.
//!
//! Written here and not taken from kube's own watcher, which asks for lists "as of any time" (and
//! so may go back in time), and skips an event that it cannot parse.

use std::pin::Pin;
use std::time::Duration;

use futures::{AsyncBufRead, AsyncBufReadExt};
use http::Request;
use kube::Client;
use serde::Deserialize;
use serde_json::value::RawValue;

/// How long a list or the head of a watch may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// The server ends a watch after this long, so that load moves to servers that come.
const WATCH_SECONDS: u32 = 290;
/// Bookmarks come every minute or so: a watch that is silent for longer has lost its connection.
const SILENCE: Duration = Duration::from_secs(150);
const PAGE: u32 = 500;

/// Why reading ended.
#[derive(Debug)]
pub(super) enum Failure {
    /// There is no such kind.
    Missing,
    /// We may not.
    Denied(String),
    /// The position is too old: everything must be read again.
    Outdated,
    /// The server cannot stream a list.
    NoStreaming,
    /// Something else; worth another try, after this long at least.
    Other(String, Duration),
}

/// One event of a watch.
#[derive(Debug)]
pub(super) enum Event {
    /// An object is there, new or changed.
    Object(Box<RawValue>),
    /// An object was deleted.
    Deleted(Box<RawValue>),
    /// A position to go on from; whether it ends the initial list.
    Bookmark { version: String, end_of_list: bool },
}

#[derive(Deserialize)]
struct Line {
    r#type: String,
    object: Box<RawValue>,
}

#[derive(Deserialize)]
struct Bookmark {
    metadata: BookmarkMeta,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BookmarkMeta {
    resource_version: String,
    #[serde(default)]
    annotations: std::collections::BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Refusal {
    #[serde(default)]
    code: u16,
    #[serde(default)]
    message: String,
}

/// One page of a list.
#[derive(Deserialize)]
pub(super) struct Page {
    metadata: PageMeta,
    #[serde(default)]
    pub(super) items: Vec<Box<RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageMeta {
    #[serde(default)]
    resource_version: String,
    #[serde(default, rename = "continue")]
    next: String,
}

impl Page {
    /// The position that the list stands for.
    pub(super) fn version(&self) -> &str {
        &self.metadata.resource_version
    }

    /// Where the next page begins.
    pub(super) fn next(&self) -> Option<&str> {
        Some(self.metadata.next.as_str()).filter(|next| !next.is_empty())
    }
}

/// Where to read.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) client: Client,
    pub(super) path: String,
    pub(super) selector: Option<String>,
}

impl Place {
    /// Opens a watch that first tells everything that is there, as of now.
    pub(super) async fn list_and_watch(&self) -> Result<Lines, Failure> {
        let query = "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=";
        self.open(query).await.map_err(|failure| match failure {
            Failure::Other(message, _) if message.contains("sendInitialEvents") => Failure::NoStreaming,
            other => other,
        })
    }

    /// Opens a watch that goes on from a position.
    pub(super) async fn watch(&self, version: &str) -> Result<Lines, Failure> {
        self.open(&format!("&resourceVersion={version}")).await
    }

    async fn open(&self, query: &str) -> Result<Lines, Failure> {
        let watch = format!("watch=true&allowWatchBookmarks=true&timeoutSeconds={WATCH_SECONDS}{query}");
        let request = self.request(&watch)?;
        let stream = patiently(self.client.request_stream(request)).await?;
        Ok(Lines { stream: Box::pin(stream), buffer: Vec::new() })
    }

    /// Reads one page of what is there as of now.
    pub(super) async fn page(&self, next: Option<&str>) -> Result<Page, Failure> {
        self.read(PAGE, next).await
    }

    /// How far the cluster has come.
    pub(super) async fn version(&self) -> Result<String, Failure> {
        Ok(self.read(1, None).await?.metadata.resource_version)
    }

    /// Whether there is nothing at all, as of now.
    pub(super) async fn is_empty(&self) -> Result<bool, Failure> {
        Ok(self.read(1, None).await?.items.is_empty())
    }

    async fn read(&self, limit: u32, next: Option<&str>) -> Result<Page, Failure> {
        // What the server hands out as `continue` is safe in a URL: it is base64 of the URL kind.
        let next = next.map(|next| format!("&continue={next}")).unwrap_or_default();
        let request = self.request(&format!("limit={limit}{next}"))?;
        let text = patiently(self.client.request_text(request)).await?;
        serde_json::from_str(&text).map_err(|error| unreadable(&error))
    }

    fn request(&self, query: &str) -> Result<Request<Vec<u8>>, Failure> {
        let selector =
            self.selector.iter().map(|text| format!("&fieldSelector={}", text.replace('=', "%3D")));
        let uri = format!("{}?{query}{}", self.path, selector.collect::<String>());
        Request::get(uri).body(Vec::new()).map_err(|error| other(error.to_string()))
    }
}

/// The lines of an open watch.
pub(super) struct Lines {
    stream: Pin<Box<dyn AsyncBufRead + Send>>,
    buffer: Vec<u8>,
}

impl Lines {
    /// The next event; `None` where the server ended the watch in good order.
    pub(super) async fn next(&mut self) -> Result<Option<Event>, Failure> {
        self.buffer.clear();
        let read = self.stream.read_until(b'\n', &mut self.buffer);
        match tokio::time::timeout(SILENCE, read).await {
            Err(_) => Err(other("the watch has fallen silent".to_owned())),
            Ok(Err(error)) => Err(other(format!("the watch broke off: {error}"))),
            Ok(Ok(0)) => Ok(None),
            Ok(Ok(_)) => event(&self.buffer).map(Some),
        }
    }
}

fn event(line: &[u8]) -> Result<Event, Failure> {
    let Line { r#type, object } = serde_json::from_slice(line).map_err(|error| unreadable(&error))?;
    match r#type.as_str() {
        "ADDED" | "MODIFIED" => Ok(Event::Object(object)),
        "DELETED" => Ok(Event::Deleted(object)),
        "BOOKMARK" => {
            let Bookmark { metadata } =
                serde_json::from_str(object.get()).map_err(|error| unreadable(&error))?;
            let end_of_list = metadata.annotations.contains_key("k8s.io/initial-events-end");
            Ok(Event::Bookmark { version: metadata.resource_version, end_of_list })
        }
        _ => {
            let Refusal { code, message } =
                serde_json::from_str(object.get()).map_err(|error| unreadable(&error))?;
            Err(refusal(code, message, None))
        }
    }
}

async fn patiently<T>(call: impl Future<Output = kube::Result<T>>) -> Result<T, Failure> {
    match tokio::time::timeout(PATIENCE, call).await {
        Ok(answer) => answer.map_err(|error| failure(&error)),
        Err(_) => Err(other(format!("no answer for {} s", PATIENCE.as_secs()))),
    }
}

fn failure(error: &kube::Error) -> Failure {
    match error {
        kube::Error::Api(status) => {
            let wait = status.details.as_ref().map(|details| u64::from(details.retry_after_seconds));
            refusal(status.code, status.message.clone(), wait)
        }
        other_error => other(chain(other_error)),
    }
}

fn refusal(code: u16, message: String, wait: Option<u64>) -> Failure {
    match code {
        403 => Failure::Denied(message),
        404 => Failure::Missing,
        410 => Failure::Outdated,
        _ => Failure::Other(format!("{code}: {message}"), Duration::from_secs(wait.unwrap_or(0))),
    }
}

fn unreadable(error: &serde_json::Error) -> Failure {
    other(format!("the answer breaks off or is no JSON: {error}"))
}

fn other(message: String) -> Failure {
    Failure::Other(message, Duration::ZERO)
}

/// An error with its causes: hyper's own says only "client error".
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}
