//! An HTTP client for servers that are not trusted: it goes only where it may, follows nowhere, waits
//! for a bounded time and reads a bounded answer.

mod connector;
mod remembering;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderValue, Request, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use rustls::ClientConfig;
use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use self::connector::Connector;
use self::remembering::{Memory, Remembering};
use super::guard::Guard;
use crate::{Failure, Mistrust, Obstacle};

/// The most that is read of an answer, unless a provider says otherwise.
pub const MOST: usize = 64 << 20;

/// What an HTTP client is made of.
#[derive(Clone, Default)]
pub struct Trust {
    /// Certificates, as PEM, that the server's must be signed by; default: the usual public ones.
    pub authorities: Option<Vec<u8>>,
    /// Our own certificate and its key, as PEM.
    pub identity: Option<(Vec<u8>, Vec<u8>)>,
}

/// An answer, read to its end.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

/// A client of one server.
#[derive(Clone)]
pub struct HttpClient {
    client: Client<Remembering<HttpsConnector<Connector>>, Full<Bytes>>,
    guard: Arc<Guard>,
    timeout: Duration,
    most: usize,
}

impl HttpClient {
    /// A client that goes where the guard lets it; each request may take `timeout` in all.
    pub fn new(guard: Arc<Guard>, timeout: Duration, trust: &Trust) -> Result<HttpClient, Failure> {
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls(trust)?)
            .https_or_http()
            .enable_http1()
            .wrap_connector(Connector(guard.clone()));
        let client =
            Client::builder(TokioExecutor::new()).pool_max_idle_per_host(8).build(Remembering(connector));
        Ok(HttpClient { client, guard, timeout, most: MOST })
    }

    /// Where its requests may go.
    pub fn guard(&self) -> Arc<Guard> {
        self.guard.clone()
    }

    /// The same client, reading at most so much of an answer.
    pub fn reading_at_most(self, most: usize) -> HttpClient {
        HttpClient { most, ..self }
    }

    /// How long a request may take.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Sends a request and reads the answer, whatever its status.
    pub async fn send(&self, request: Request<Full<Bytes>>) -> Result<Answer, Failure> {
        let exchange = async {
            let response = self.client.request(request).await.map_err(|error| of_error(&error))?;
            let (parts, body) = response.into_parts();
            let body = Limited::new(body, self.most).collect().await.map_err(|error| {
                match error.is::<http_body_util::LengthLimitError>() {
                    true => Failure::Endless,
                    false => Failure::Unreachable(Obstacle::Closed),
                }
            })?;
            Ok(Answer { status: parts.status, headers: parts.headers, body: body.to_bytes() })
        };
        tokio::time::timeout(self.timeout, exchange).await.unwrap_or(Err(Failure::TimedOut))
    }
}

/// What a request that carries a token says in its `Authorization`; it is kept out of every log.
pub fn bearer(token: &str) -> Result<HeaderValue, Failure> {
    let wrong = |_| Failure::Unsupported("the token cannot be sent: it is no text of one line");
    let mut value = HeaderValue::from_str(&format!("Bearer {}", token.trim())).map_err(wrong)?;
    value.set_sensitive(true);
    Ok(value)
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpClient").finish_non_exhaustive()
    }
}

impl Answer {
    /// What a status means that is not the one hoped for, as far as all servers agree.
    pub fn failure(&self) -> Failure {
        match self.status.as_u16() {
            401 | 403 => Failure::Authentication,
            413 => Failure::TooLarge,
            429 => Failure::Limited(self.retry_after()),
            503 => match self.retry_after() {
                Some(after) => Failure::Limited(Some(after)),
                None => Failure::Unreachable(Obstacle::Unavailable),
            },
            300..=399 => Failure::Redirected,
            status => Failure::Server(status),
        }
    }

    /// How long the server asks to wait, if it says so in seconds.
    pub fn retry_after(&self) -> Option<Duration> {
        let seconds = self.headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
        Some(Duration::from_secs(seconds).min(Duration::from_secs(3600)))
    }
}

fn of_error(error: &hyper_util::client::legacy::Error) -> Failure {
    if let Some(failure) = error.connect_info().and_then(Memory::of) {
        return failure;
    }
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    let mut failure = Failure::Unreachable(Obstacle::Other);
    while let Some(error) = cause {
        if let Some(known) = known_failure(error) {
            return known;
        }
        if let Some(error) = error.downcast_ref::<std::io::Error>() {
            failure = Failure::from(innermost(error));
        }
        match error.downcast_ref::<hyper::Error>() {
            Some(error) if error.is_incomplete_message() => failure = Failure::Unreachable(Obstacle::Closed),
            Some(error) if error.is_parse() => failure = Failure::Unreachable(Obstacle::NoHttp),
            _ => {}
        }
        cause = error.source();
    }
    failure
}

/// What is certain about an error, whatever it wraps.
fn known_failure(error: &(dyn std::error::Error + 'static)) -> Option<Failure> {
    if let Some(failure) = error.downcast_ref::<Failure>() {
        return Some(failure.clone());
    }
    let inner = error.downcast_ref::<std::io::Error>().and_then(|error| innermost(error).get_ref());
    let inner = inner.and_then(|inner| inner.downcast_ref::<rustls::Error>());
    error.downcast_ref::<rustls::Error>().or(inner).map(Failure::from)
}

/// The error that other errors of the same kind wrap: their `source` passes over it.
fn innermost(error: &std::io::Error) -> &std::io::Error {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<std::io::Error>()) {
        Some(inner) => innermost(inner),
        None => error,
    }
}

fn tls(trust: &Trust) -> Result<ClientConfig, Failure> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|_| Failure::Untrusted(Mistrust::Other))?
        .with_root_certificates(roots(trust)?);
    match &trust.identity {
        None => Ok(builder.with_no_client_auth()),
        Some((certificates, key)) => {
            let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| Failure::Untrusted(Mistrust::Other))?;
            builder
                .with_client_auth_cert(certificates_of(certificates)?, key)
                .map_err(|_| Failure::Untrusted(Mistrust::Other))
        }
    }
}

fn roots(trust: &Trust) -> Result<RootCertStore, Failure> {
    let mut roots = RootCertStore::empty();
    match &trust.authorities {
        None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
        Some(pem) => {
            for certificate in certificates_of(pem)? {
                roots.add(certificate).map_err(|_| Failure::Untrusted(Mistrust::Other))?;
            }
        }
    }
    Ok(roots)
}

fn certificates_of(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, Failure> {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    certificates.ok().filter(|found| !found.is_empty()).ok_or(Failure::Untrusted(Mistrust::Other))
}

#[cfg(test)]
mod tests;
