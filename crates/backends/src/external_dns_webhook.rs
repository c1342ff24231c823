//! Providers that speak ExternalDNS's webhook protocol, as its client.
//!
//! ```text
//! GET /                  which names it is for
//! GET /records           everything that it holds
//! POST /adjustendpoints  what it would make of our records
//! POST /records          changes
//! ```
//!
//! The protocol knows no zones, no owners and no conditions, so before each write everything is read
//! again, and what is no longer as it was is left alone. A provider may store something else than it
//! was asked to (a longer TTL, no settings): what it makes of a record is asked for before it is written
//! and remembered, so that it reads back as what was meant.

mod apply;
mod endpoint;
mod filter;
mod held;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use dns::Name;
use futures::FutureExt;
use futures::future::BoxFuture;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{Method, Request, Uri};
use http_body_util::Full;
use serde::Serialize;

use crate::provider::PlainBatch;
use crate::transport::http::{Answer, HttpClient};
use crate::{Batch, Entry, Failure, NewZone, OpenedZone, Provider, Reading, Reply, SetKey};
use endpoint::Endpoint;
use filter::Filter;
use held::{Held, Meanings};

/// What both sides send, to the letter.
const MEDIA_TYPE: &str = "application/external.dns.webhook+json;version=1";

/// Each batch costs a reading of everything, and some providers make requests one by one.
const BATCH: usize = 500;

/// A provider that speaks ExternalDNS's webhook protocol.
pub struct ExternalDnsWebhook {
    url: String,
    client: HttpClient,
    meanings: Mutex<Meanings>,
}

impl fmt::Debug for ExternalDnsWebhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExternalDnsWebhook").finish_non_exhaustive()
    }
}

impl ExternalDnsWebhook {
    /// The provider at a URL; nothing is sent yet.
    pub fn new(url: String, client: HttpClient) -> Result<ExternalDnsWebhook, Failure> {
        const WRONG: Failure =
            Failure::Unsupported("the provider's URL must be http:// or https:// and a host");
        let parsed: Uri = url.parse().map_err(|_| WRONG)?;
        let is_web = matches!(parsed.scheme_str(), Some("http" | "https")) && parsed.host().is_some();
        match is_web && parsed.query().is_none() {
            true => {
                let url = url.trim_end_matches('/').to_owned();
                Ok(ExternalDnsWebhook { url, client, meanings: Mutex::default() })
            }
            false => Err(WRONG),
        }
    }

    fn meanings(&self) -> MutexGuard<'_, Meanings> {
        self.meanings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn negotiate(&self) -> Result<Filter, Failure> {
        Filter::read(&self.get("/").await?.body)
    }

    async fn records(&self) -> Result<Held, Failure> {
        let endpoints: Option<Vec<Endpoint>> = read(&self.get("/records").await?)?;
        Ok(Held::new(endpoints.unwrap_or_default()))
    }

    /// What the provider would make of some endpoints.
    async fn adjust(&self, endpoints: &[Endpoint]) -> Result<Vec<Endpoint>, Failure> {
        let answer = self.send(Method::POST, "/adjustendpoints", json(&endpoints)?).await?;
        match answer.status.as_u16() {
            200 => Ok(read::<Option<Vec<Endpoint>>>(&answer)?.unwrap_or_default()),
            _ => Err(failure(&answer)),
        }
    }

    async fn get(&self, path: &str) -> Result<Answer, Failure> {
        let answer = self.send(Method::GET, path, Bytes::new()).await?;
        let media_type = answer.headers.get(CONTENT_TYPE).map(http::HeaderValue::as_bytes);
        match answer.status.as_u16() {
            200 if media_type == Some(MEDIA_TYPE.as_bytes()) => Ok(answer),
            200 => Err(Failure::Unreadable),
            _ => Err(answer.failure()),
        }
    }

    async fn send(&self, method: Method, path: &str, body: Bytes) -> Result<Answer, Failure> {
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.url));
        request = request.header(ACCEPT, MEDIA_TYPE);
        if !body.is_empty() {
            request = request.header(CONTENT_TYPE, MEDIA_TYPE);
        }
        let request = request.body(Full::new(body)).map_err(|_| Failure::Unreadable)?;
        self.client.send(request).await
    }
}

fn json(value: &impl Serialize) -> Result<Bytes, Failure> {
    serde_json::to_vec(value).map(Bytes::from).map_err(|_| Failure::Unreadable)
}

fn read<T: for<'de> serde::Deserialize<'de>>(answer: &Answer) -> Result<T, Failure> {
    serde_json::from_slice(&answer.body).map_err(|_| Failure::Unreadable)
}

/// What a status says about records that were sent.
fn failure(answer: &Answer) -> Failure {
    match (answer.status.as_u16(), answer.failure()) {
        (400..=499, Failure::Server(_)) => Failure::Refused("PROVIDER_REFUSED"),
        (200..=299, _) => Failure::Unreadable,
        (_, failure) => failure,
    }
}

impl Provider for ExternalDnsWebhook {
    fn reading(&self) -> Reading {
        Reading::Zones
    }

    fn batch_size(&self) -> usize {
        BATCH
    }

    fn health(&self) -> Reply<'_, ()> {
        async { self.negotiate().await.map(drop) }.boxed()
    }

    fn open_zone<'a>(&'a self, zone: &'a NewZone) -> Reply<'a, OpenedZone> {
        async {
            let filter = self.negotiate().await?;
            // A filter with a dot in front is for what lies below the name only.
            let below = zone.origin.child(b"_fingerpost").ok();
            match filter.matches(&zone.origin) || below.is_some_and(|below| filter.matches(&below)) {
                true => Ok(OpenedZone { origin: zone.origin.clone(), made: false }),
                false => Err(Failure::NoZone),
            }
        }
        .boxed()
    }

    fn revision<'a>(&'a self, _: &'a Name) -> Reply<'a, Option<u64>> {
        async { Ok(None) }.boxed()
    }

    fn read_zone<'a>(&'a self, zone: &'a Name) -> Reply<'a, Vec<Entry>> {
        async { Ok(self.records().await?.entries(zone, &self.meanings()).collect()) }.boxed()
    }

    fn read_sets<'a>(
        &'a self,
        _: &'a Name,
        keys: &'a [(SetKey, Option<Name>)],
    ) -> Reply<'a, Vec<Option<Entry>>> {
        async {
            let held = self.records().await?;
            let meanings = self.meanings();
            Ok(keys.iter().map(|(key, _)| held.entry(key, &meanings)).collect())
        }
        .boxed()
    }

    fn write<'a>(&'a self, batch: &'a Batch) -> BoxFuture<'a, Vec<Result<(), Failure>>> {
        async move {
            let plain = PlainBatch::of(batch);
            plain.results(self.make(plain.allowed()).await)
        }
        .boxed()
    }

    fn settle<'a>(&'a self, _: &'a Name) -> Reply<'a, ()> {
        async { Ok(()) }.boxed()
    }
}
