//! A document at a URL, on a server that honours `If-Match` (RFC 9110, section 13.1.1).
//!
//! The version is the ETag. A weak one says nothing about the octets and can never match, so it is refused.
//! Before the first write the server is tried: it must refuse a write over a version that cannot be.

use std::sync::atomic::{AtomicBool, Ordering};

use backends::Failure;
use backends::transport::http::{Answer as Response, HttpClient, bearer};
use futures::future::BoxFuture;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, ETAG, IF_MATCH, IF_NONE_MATCH};
use http::request::Builder;
use http::{HeaderValue, Request, StatusCode};
use http_body_util::Full;

use super::document::{Answer, Call, Document};
use super::store::Store;

/// A version that no document ever has.
const IMPOSSIBLE: &str = "\"fingerpost-there-is-no-such-version\"";

/// A document at a URL.
pub struct HttpDocument {
    client: HttpClient,
    url: String,
    authorization: Option<HeaderValue>,
    /// Whether the server was seen to refuse what it must.
    tried: AtomicBool,
}

impl HttpDocument {
    /// A document at a URL; with a bearer token, if there is one.
    pub fn new(client: HttpClient, url: String, token: Option<&str>) -> Result<HttpDocument, Failure> {
        let authorization = token.map(bearer).transpose()?;
        Ok(HttpDocument { client, url, authorization, tried: AtomicBool::new(false) })
    }

    fn request(&self, mut builder: Builder) -> Builder {
        builder = builder.uri(&self.url).header(ACCEPT, "application/json");
        match &self.authorization {
            Some(value) => builder.header(AUTHORIZATION, value.clone()),
            None => builder,
        }
    }

    async fn read(&self) -> Result<Answer, Failure> {
        let request = self.request(Request::builder().method("GET"));
        let request = request.body(Full::default()).map_err(|_| Failure::Unreadable)?;
        let response = self.client.send(request).await?;
        match response.status {
            StatusCode::OK => {
                let document = serde_json::from_slice(&response.body).map_err(|_| Failure::Unreadable)?;
                let version = etag(&response).ok_or(Failure::Unsupported(NO_ETAG))?;
                Ok(Answer::Found(Some((document, version))))
            }
            StatusCode::NOT_FOUND => Ok(Answer::Found(None)),
            _ => Err(response.failure()),
        }
    }

    async fn write(&self, document: &Document, over: Option<&str>) -> Result<Answer, Failure> {
        if !self.tried.load(Ordering::Relaxed) {
            self.try_out(document).await?;
            self.tried.store(true, Ordering::Relaxed);
        }
        let response = self.put(document, over).await?;
        match response.status.as_u16() {
            200 | 201 | 204 => Ok(Answer::Written(etag(&response))),
            409 | 412 => Ok(Answer::Conflict),
            _ => Err(response.failure()),
        }
    }

    /// A server that takes this write would take anybody's at any time, and two regions would hold the lease.
    async fn try_out(&self, document: &Document) -> Result<(), Failure> {
        let nobodys = Document { holder: String::new(), successor: None, ..document.clone() };
        let response = self.put(&nobodys, Some(IMPOSSIBLE)).await?;
        match response.status.as_u16() {
            412 => Ok(()),
            // Some answer so where there is nothing to match.
            404 | 409 => Ok(()),
            200..=299 => Err(Failure::Unsupported(NO_IF_MATCH)),
            _ => Err(response.failure()),
        }
    }

    async fn put(&self, document: &Document, over: Option<&str>) -> Result<Response, Failure> {
        let request = self.request(Request::builder().method("PUT")).header(CONTENT_TYPE, "application/json");
        let request = match over {
            Some(version) => request.header(IF_MATCH, version),
            None => request.header(IF_NONE_MATCH, "*"),
        };
        let body = serde_json::to_vec(document).map_err(|_| Failure::Unreadable)?;
        self.client.send(request.body(Full::from(body)).map_err(|_| Failure::Unreadable)?).await
    }
}

const NO_ETAG: &str = "the server gives the document no strong ETag, so that it cannot be replaced safely";
const NO_IF_MATCH: &str = "the server does not honour If-Match, so that two regions could hold the lease";

fn etag(response: &Response) -> Option<String> {
    let value = response.headers.get(ETAG)?.to_str().ok()?;
    value.starts_with('"').then(|| value.to_owned())
}

impl Store for HttpDocument {
    fn send<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(async move {
            match call {
                Call::Read => self.read().await,
                Call::Write(document, over) => self.write(document, over.as_deref()).await,
            }
        })
    }
}
