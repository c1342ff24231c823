//! The webhook protocol over HTTP: the four endpoints of the document, and the batch.
//!
//! ```text
//! request ─► entrance ─► headers' authentication ─► body ─► signature ─► route ─► fence ─► store ─► answer
//! ```

mod answer;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use backends::webhook::protocol::{
    Batch, BatchReply, Change, Code, Health, Identity, MOST_CHANGES, Record, Reply,
};
use backends::webhook::{Arrived, protocol, record};
use backends::{Entry, SetKey};
use http::Method;
use http::request::Parts;
use jiff::Timestamp;
use serde::de::DeserializeOwned;

use self::answer::Answer;
use super::Shared;
use super::fences::Passage;
use super::store::{Outcome, Trouble, Wish};
use crate::http::server::bodies::Held;

/// The most that a request may hold.
const MOST: usize = 8 << 20;
/// The media type of every body.
pub const MEDIA_TYPE: &str = "application/json";

/// All pages of the protocol.
pub fn router(shared: Arc<Shared>) -> Router {
    Router::new().fallback(handle).with_state(shared)
}

async fn handle(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let endpoint = Endpoint::of(request.uri().path());
    let (parts, body) = request.into_parts();
    let (answer, held) = match read(&shared, &parts, body).await {
        Ok(held) => (respond(&shared, endpoint.as_ref(), &parts, &held.octets).await, Some(held)),
        Err(answer) => (Ok(answer), None),
    };
    let answer = answer.unwrap_or_else(Answer::refused);
    shared.metrics.count(endpoint.as_ref().map_or("other", Endpoint::label), answer.status, answer.code);
    answer.holding(held).into_response()
}

/// Reads the body of a request that passes the entrance and whose headers could be believed.
async fn read(shared: &Shared, parts: &Parts, body: Body) -> Result<Held, Answer> {
    shared.entrance.check(parts, &body).map_err(Answer::turned_away)?;
    let believed = shared.authentication.precheck(&parts.headers, Timestamp::now()).await;
    believed.map_err(Answer::refused)?;
    shared.entrance.read(parts, body, MOST).await.map_err(Answer::turned_away)
}

async fn respond(
    shared: &Shared,
    endpoint: Option<&Endpoint>,
    parts: &Parts,
    body: &[u8],
) -> Result<Answer, Trouble> {
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    let arrived = Arrived { method: parts.method.as_str(), path, headers: &parts.headers, body };
    shared.authentication.check(&arrived, Timestamp::now()).await?;
    match endpoint {
        None => Err(trouble(Code::UnknownPath, "there is nothing at this path")),
        Some(endpoint) if !endpoint.methods().contains(&parts.method) => {
            Ok(Answer::not_allowed(endpoint.methods()))
        }
        Some(endpoint) => route(shared, endpoint, parts, &arrived, body).await,
    }
}

/// What a path leads to.
enum Endpoint {
    Health,
    Records,
    Batch,
    Record(Option<Identity>),
}

impl Endpoint {
    fn of(path: &str) -> Option<Endpoint> {
        match path {
            "/health" => Some(Endpoint::Health),
            "/records" => Some(Endpoint::Records),
            "/records/batch" => Some(Endpoint::Batch),
            // Three parts are a record, and a wrong one where they do not make sense.
            _ if path.strip_prefix("/records/").is_some_and(|rest| rest.split('/').count() == 3) => {
                Some(Endpoint::Record(Identity::from_path(path)))
            }
            _ => None,
        }
    }

    fn label(&self) -> &'static str {
        match self {
            Endpoint::Health => "health",
            Endpoint::Records => "records",
            Endpoint::Batch => "batch",
            Endpoint::Record(_) => "record",
        }
    }

    fn methods(&self) -> &'static [Method] {
        match self {
            Endpoint::Health => &[Method::GET],
            Endpoint::Records | Endpoint::Batch => &[Method::POST],
            Endpoint::Record(_) => &[Method::GET, Method::DELETE],
        }
    }
}

async fn route(
    shared: &Shared,
    endpoint: &Endpoint,
    parts: &Parts,
    arrived: &Arrived<'_>,
    body: &[u8],
) -> Result<Answer, Trouble> {
    match endpoint {
        Endpoint::Health => Ok(health(shared).await),
        Endpoint::Records => upsert(shared, parsed(body)?, arrived).await,
        Endpoint::Batch => batch(shared, parsed(body)?, arrived).await,
        Endpoint::Record(None) => {
            Err(trouble(Code::InvalidRecord, "the path names no record: type, domain and subdomain"))
        }
        Endpoint::Record(Some(identity)) if parts.method == Method::GET => get(shared, identity).await,
        Endpoint::Record(Some(identity)) => delete(shared, identity, arrived).await,
    }
}

async fn health(shared: &Shared) -> Answer {
    let found = shared.store.health().await;
    let (status, word, message) = match &found {
        Ok(()) => (200, "healthy", "DNS server is operational".to_owned()),
        Err(failure) => (503, "unhealthy", failure.to_string()),
    };
    let timestamp = Timestamp::from_second(Timestamp::now().as_second()).unwrap_or_default().to_string();
    let extensions = [protocol::BATCH, protocol::PRESENTATION].map(str::to_owned).to_vec();
    Answer::json(status, &Health { status: word.to_owned(), message, timestamp, extensions })
}

async fn get(shared: &Shared, identity: &Identity) -> Result<Answer, Trouble> {
    let (_, name) = record::name_of(identity)?;
    let found = shared.store.read(&name, identity.r#type).await?;
    let entry = found.ok_or_else(missing)?;
    Ok(Answer::json(200, &Reply::done(said(&entry, identity), None)))
}

async fn upsert(shared: &Shared, change: Change, arrived: &Arrived<'_>) -> Result<Answer, Trouble> {
    if matches!(change, Change::Delete { .. }) {
        return Err(trouble(
            Code::InvalidRecord,
            "operation: only upsert is done here; DELETE the record's path",
        ));
    }
    let wish = wish(&change, shared.default_ttl)?;
    let generation = pass(shared, arrived)?;
    let outcome = shared.store.apply(vec![wish.clone()], generation).await.pop();
    let before = outcome.unwrap_or(Ok(None))?;
    Ok(Answer::json(200, &told(&change, &wish, Ok(before))))
}

async fn delete(shared: &Shared, identity: &Identity, arrived: &Arrived<'_>) -> Result<Answer, Trouble> {
    let change = Change::Delete { record: identity.clone() };
    let wish = wish(&change, shared.default_ttl)?;
    let generation = pass(shared, arrived)?;
    let outcome = shared.store.apply(vec![wish.clone()], generation).await.pop().unwrap_or(Ok(None))?;
    if outcome.is_none() {
        return Err(missing());
    }
    Ok(Answer::json(200, &told(&change, &wish, Ok(outcome))))
}

async fn batch(shared: &Shared, batch: Batch, arrived: &Arrived<'_>) -> Result<Answer, Trouble> {
    if batch.changes.len() > MOST_CHANGES {
        return Err(trouble(Code::TooLarge, format!("changes: a batch may have {MOST_CHANGES}")));
    }
    let generation = pass(shared, arrived)?;
    let wishes: Vec<Result<Wish, Trouble>> =
        batch.changes.iter().map(|change| wish(change, shared.default_ttl)).collect();
    let good: Vec<Wish> = wishes.iter().flatten().cloned().collect();
    let mut outcomes = shared.store.apply(good, generation).await.into_iter();
    let mut next = |wish: Result<Wish, Trouble>, change: &Change| match wish {
        Ok(wish) => told(change, &wish, outcomes.next().unwrap_or_else(|| Err(missing()))),
        Err(trouble) => Reply::refused(trouble.code, trouble.message),
    };
    let results: Vec<Reply> =
        wishes.into_iter().zip(&batch.changes).map(|(wish, change)| next(wish, change)).collect();
    let success = results.iter().all(|result| result.success);
    Ok(Answer::json(200, &BatchReply { success, results }))
}

/// Whether the sender may write, and as which generation.
fn pass(shared: &Shared, arrived: &Arrived<'_>) -> Result<u64, Trouble> {
    let malformed =
        |_| trouble(Code::InvalidRecord, "X-DNS-Owner and X-DNS-Generation do not make sense together");
    let Some(fence) = arrived.fence().map_err(malformed)? else { return Ok(0) };
    match shared.fences.pass(&fence) {
        Passage::Open => Ok(fence.generation),
        Passage::Stale => Err(trouble(Code::StaleGeneration, "a newer instance of this owner has written")),
        Passage::Unknown => Err(trouble(
            Code::Unavailable,
            "the generation cannot be remembered: the server's disk takes no writes, or it knows too many owners",
        )),
    }
}

/// A change as the store takes it.
fn wish(change: &Change, default_ttl: u32) -> Result<Wish, Trouble> {
    let (_, name) = record::name_of(&change.identity())?;
    if let Some(reserved) = dns::reserved_name(&name) {
        return Err(trouble(Code::InvalidDomain, format!("subdomain: {reserved}")));
    }
    match change {
        Change::Upsert { record } => {
            let (domain, _) = record::name_of(&record.identity())?;
            let set = record::record_set(record, default_ttl)?;
            if let Some(reserved) = set.data.iter().find_map(dns::reserved_data) {
                return Err(trouble(Code::InvalidValue, format!("values: {reserved}")));
            }
            let key = SetKey::of(&set);
            let entry = Entry::new(set, Some(domain), record.provider_specific.clone());
            Ok(Wish { key, after: Some(entry) })
        }
        Change::Delete { record } => {
            let (_, name) = record::name_of(record)?;
            Ok(Wish { key: SetKey { name, rtype: record.r#type }, after: None })
        }
    }
}

/// How a change fared, in the document's words.
fn told(change: &Change, wish: &Wish, outcome: Outcome) -> Reply {
    match (outcome, &wish.after) {
        (Err(trouble), _) => Reply::refused(trouble.code, trouble.message),
        (Ok(None), None) => Reply::refused(Code::RecordNotFound, "Record does not exist"),
        (Ok(Some(_)), None) => Reply::done(None, Some("Record deleted successfully")),
        (Ok(before), Some(after)) => {
            let message = match before {
                None => "Record created successfully",
                Some(before) if before.set == after.set => "Record is unchanged",
                Some(_) => "Record updated successfully",
            };
            Reply::done(said(after, &change.identity()), Some(message))
        }
    }
}

/// A record as the protocol says it, under the domain that the client told.
fn said(entry: &Entry, identity: &Identity) -> Option<Record> {
    let (domain, name) = record::name_of(identity).ok()?;
    let mut said = record::record(&entry.set, &domain, true)?;
    said.fqdn = Some(name.undotted());
    said.provider_specific = entry.properties.clone();
    Some(said)
}

fn parsed<T: DeserializeOwned>(body: &[u8]) -> Result<T, Trouble> {
    serde_json::from_slice(body)
        .map_err(|error| trouble(Code::InvalidRecord, format!("the body does not fit: {error}")))
}

fn missing() -> Trouble {
    trouble(Code::RecordNotFound, "Record does not exist")
}

fn trouble(code: Code, message: impl Into<String>) -> Trouble {
    Trouble { code, message: message.into() }
}

impl From<record::Invalid> for Trouble {
    fn from(invalid: record::Invalid) -> Trouble {
        Trouble { code: invalid.code, message: invalid.message }
    }
}
