//! The client's side: a webhook server as a [`Provider`].
//!
//! One request a record, as the document has it; where the server's health answer offers the extension, a
//! whole batch. Each request is signed by itself, so that a retry is a new request to the server's memory.

mod answer;
mod request;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};

use api::dnsclass::SecretText;
use bytes::Bytes;
use dns::Name;
use futures::future::BoxFuture;
use futures::{StreamExt, TryStreamExt, stream};
use http::{Method, Request};
use http_body_util::Full;
use serde::Serialize;
use tokio::time::{Instant, timeout_at};

use self::answer::Meaning;
use self::request::{Target, Trace};
use super::protocol::{self, BATCH, Change, Health, PRESENTATION};
use super::verification::Fence;
use super::{Keys, record};
use crate::provider::PlainBatch;
use crate::transport::http::HttpClient;
use crate::{
    Batch, Entry, Failure, NewZone, Obstacle, OpenedZone, Provider, Reading, Reply, SetChange, SetKey,
};

/// How many changes a batch has, where the server takes batches.
const BATCH_SIZE: usize = 100;
/// How many records are read at a time.
const READERS: usize = 8;

/// Where the server is and how we prove who we are.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The URL, with a base path if there is one.
    pub server: String,
    /// The shared secrets, where requests are signed.
    pub keys: Option<Keys>,
    /// A token that is sent with each request.
    pub token: Option<SecretText>,
    /// Who writes.
    pub owner: String,
}

/// A webhook server.
pub struct Webhook {
    target: Target,
    client: HttpClient,
    owner: String,
    extensions: Extensions,
}

impl Webhook {
    /// A client of a server; fails where the settings make no request.
    pub fn new(settings: Settings, client: HttpClient) -> Result<Webhook, Failure> {
        let Settings { server, keys, token, owner } = settings;
        let target = Target::new(&server, keys, token.as_ref())?;
        Ok(Webhook { target, client, owner, extensions: Extensions::default() })
    }

    async fn ask_health(&self) -> Result<Health, Failure> {
        let request = self.target.request(&Method::GET, "/health", Bytes::new(), None, Trace::new()?)?;
        let answer = self.client.send(request).await?;
        let health = answer::health(&answer)?;
        self.extensions.learn(&health);
        Ok(health)
    }

    /// Asks once what the server can do; a server that does not tell can do what the document has.
    async fn negotiate(&self) {
        if !self.extensions.are_known() && self.ask_health().await.is_err() {
            // A health that fails gates nothing, and the next health check asks again.
            self.extensions.put(0);
        }
    }

    async fn read_set(
        &self,
        zone: &Name,
        key: &SetKey,
        domain: Option<&Name>,
        trace: Trace,
    ) -> Result<Option<Entry>, Failure> {
        let domain = around(domain, zone, &key.name);
        let identity = record::identity(&key.name, key.rtype, domain);
        let request = self.target.request(&Method::GET, &identity.path(), Bytes::new(), None, trace)?;
        match answer::of_record(&self.client.send(request).await?)? {
            Meaning::Absent => Ok(None),
            Meaning::Done(Some(found)) => {
                let set = record::record_set(&found, 0).map_err(|_| Failure::Unreadable)?;
                let same = SetKey::of(&set) == *key && found.ttl.is_some();
                let entry = Entry::new(set, Some(domain.clone()), found.provider_specific);
                if same { Ok(Some(entry)) } else { Err(Failure::Unreadable) }
            }
            Meaning::Done(None) => Err(Failure::Unreadable),
        }
    }

    async fn write_one(
        &self,
        zone: &Name,
        change: &SetChange,
        fence: &Fence,
        trace: Trace,
    ) -> Result<(), Failure> {
        let change = self.said(zone, change)?;
        let identity = change.identity();
        let request = match &change {
            Change::Upsert { .. } => self.post("/records", &change, fence, trace)?,
            Change::Delete { .. } => {
                self.target.request(&Method::DELETE, &identity.path(), Bytes::new(), Some(fence), trace)?
            }
        };
        let answer = self.client.send(request).await?;
        match (answer::of_record(&answer)?, &change) {
            (Meaning::Absent, Change::Upsert { .. }) => Err(Failure::Server(answer.status.as_u16())),
            _ => Ok(()),
        }
    }

    /// Makes all changes by one request; an error is about all of them.
    async fn write_together(&self, batch: &Batch) -> Result<Vec<Result<(), Failure>>, Failure> {
        let said: Vec<Result<Change, Failure>> =
            batch.changes.iter().map(|change| self.said(&batch.zone, change)).collect();
        let body = protocol::Batch { changes: said.iter().flatten().cloned().collect() };
        if body.changes.is_empty() {
            return Ok(said.into_iter().map(|said| said.map(drop)).collect());
        }
        let request = self.post("/records/batch", &body, &self.fence(batch.generation), Trace::new()?)?;
        let answer = self.client.send(request).await?;
        let mut results = answer::of_batch(&answer, &body.changes)?.into_iter();
        let next = |said: Result<Change, Failure>| {
            said.and_then(|_| results.next().unwrap_or(Err(Failure::Unreadable)))
        };
        Ok(said.into_iter().map(next).collect())
    }

    /// Makes changes one by one, all of them within the time of one request: whoever asked for the batch has
    /// made sure that it may write for that long, and no longer.
    async fn write_in_turn(&self, batch: &Batch) -> Vec<Result<(), Failure>> {
        let deadline = Instant::now() + self.client.timeout();
        let fence = self.fence(batch.generation);
        let mut results = Vec::with_capacity(batch.changes.len());
        let trace = Trace::new();
        for change in &batch.changes {
            results.push(match &trace {
                Ok(trace) => {
                    let writing = self.write_one(&batch.zone, change, &fence, *trace);
                    timeout_at(deadline, writing).await.unwrap_or(Err(Failure::TimedOut))
                }
                Err(failure) => Err(failure.clone()),
            });
        }
        results
    }

    fn post(
        &self,
        path: &str,
        body: &impl Serialize,
        fence: &Fence,
        trace: Trace,
    ) -> Result<Request<Full<Bytes>>, Failure> {
        let body = serde_json::to_vec(body).map_err(|_| Failure::Unreadable)?;
        self.target.request(&Method::POST, path, body.into(), Some(fence), trace)
    }

    fn fence(&self, generation: u64) -> Fence {
        Fence { owner: self.owner.clone(), generation }
    }

    /// A change as the protocol says it.
    fn said(&self, zone: &Name, change: &SetChange) -> Result<Change, Failure> {
        let entry = change.after.as_ref().or(change.before.as_ref());
        let domain = around(entry.and_then(|entry| entry.domain.as_ref()), zone, &change.key.name);
        let Some(after) = &change.after else {
            return Ok(Change::Delete {
                record: record::identity(&change.key.name, change.key.rtype, domain),
            });
        };
        let record = record::record(&after.set, domain, self.extensions.has(Extensions::PRESENTATION));
        let mut record = record.ok_or(Failure::Unsupported(UNSAID))?;
        record.provider_specific = after.properties.clone();
        Ok(Change::Upsert { record })
    }
}

const UNSAID: &str = "the webhook protocol cannot say this record: it has one priority, weight and port for all values, \
                      plain text for TXT, and only the types of a DNSRecord";

impl Provider for Webhook {
    fn reading(&self) -> Reading {
        Reading::Sets
    }

    fn batch_size(&self) -> usize {
        // A server that is known to be plain gets one at a time, so that several can be under way.
        let plain = self.extensions.are_known() && !self.extensions.has(Extensions::BATCH);
        if plain { 1 } else { BATCH_SIZE }
    }

    fn health(&self) -> Reply<'_, ()> {
        Box::pin(async move {
            match self.ask_health().await?.status.as_str() {
                "healthy" => Ok(()),
                _ => Err(Failure::Unreachable(Obstacle::Unavailable)),
            }
        })
    }

    fn open_zone<'a>(&'a self, zone: &'a NewZone) -> Reply<'a, OpenedZone> {
        // The protocol has no zones: a record names its domain.
        Box::pin(async move {
            self.negotiate().await;
            Ok(OpenedZone { origin: zone.origin.clone(), made: false })
        })
    }

    fn revision<'a>(&'a self, _: &'a Name) -> Reply<'a, Option<u64>> {
        Box::pin(async { Ok(None) })
    }

    fn read_zone<'a>(&'a self, _: &'a Name) -> Reply<'a, Vec<Entry>> {
        Box::pin(async { Err(Failure::Unsupported("the webhook protocol cannot list a zone")) })
    }

    fn read_sets<'a>(
        &'a self,
        zone: &'a Name,
        keys: &'a [(SetKey, Option<Name>)],
    ) -> Reply<'a, Vec<Option<Entry>>> {
        Box::pin(async move {
            self.negotiate().await;
            let trace = Trace::new()?;
            let reads: Vec<_> =
                keys.iter().map(|(key, domain)| self.read_set(zone, key, domain.as_ref(), trace)).collect();
            stream::iter(reads).buffered(READERS).try_collect().await
        })
    }

    fn write<'a>(&'a self, batch: &'a Batch) -> BoxFuture<'a, Vec<Result<(), Failure>>> {
        Box::pin(async move {
            let plain = PlainBatch::of(batch);
            plain.results(self.make(plain.allowed()).await)
        })
    }

    fn settle<'a>(&'a self, _: &'a Name) -> Reply<'a, ()> {
        Box::pin(async { Ok(()) })
    }
}

impl Webhook {
    async fn make(&self, batch: &Batch) -> Vec<Result<(), Failure>> {
        self.negotiate().await;
        if batch.changes.len() < 2 || !self.extensions.has(Extensions::BATCH) {
            return self.write_in_turn(batch).await;
        }
        match self.write_together(batch).await {
            Ok(results) => results,
            Err(failure) if is_without_batch(&failure) => {
                // It had the extension when it was asked, and has not any more.
                self.extensions.put(0);
                self.write_in_turn(batch).await
            }
            Err(failure) => batch.changes.iter().map(|_| Err(failure.clone())).collect(),
        }
    }
}

impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Webhook").field("target", &self.target).finish_non_exhaustive()
    }
}

fn is_without_batch(failure: &Failure) -> bool {
    matches!(failure, Failure::Server(404 | 405 | 501))
}

/// The domain that a name is told relative to.
fn around<'a>(domain: Option<&'a Name>, zone: &'a Name, name: &Name) -> &'a Name {
    domain.filter(|domain| name.is_in(domain)).unwrap_or(zone)
}

/// What the server can do beside the document; not known before it was asked.
#[derive(Debug)]
struct Extensions(AtomicU8);

impl Extensions {
    const BATCH: u8 = 1;
    const PRESENTATION: u8 = 2;
    const UNKNOWN: u8 = 128;

    fn learn(&self, health: &Health) {
        let offered = |name: &str, bit: u8| if health.extensions.iter().any(|e| e == name) { bit } else { 0 };
        self.put(offered(BATCH, Self::BATCH) | offered(PRESENTATION, Self::PRESENTATION));
    }

    fn put(&self, bits: u8) {
        self.0.store(bits, Ordering::Relaxed);
    }

    fn has(&self, bit: u8) -> bool {
        self.0.load(Ordering::Relaxed) & bit != 0
    }

    fn are_known(&self) -> bool {
        !self.has(Self::UNKNOWN)
    }
}

impl Default for Extensions {
    fn default() -> Extensions {
        Extensions(AtomicU8::new(Self::UNKNOWN))
    }
}
