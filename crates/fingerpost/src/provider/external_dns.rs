//! ExternalDNS's protocol for webhook providers, spoken as the provider.
//!
//! ExternalDNS decides what changes and keeps its ownership marks as TXT records of its own; here they are
//! records like all others. What cannot be held at all is left out when endpoints are adjusted, so that one
//! faulty object does not keep the others from being made.

mod endpoint;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;

use api::Endpoint;
use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use backends::webhook::protocol::Code;
use http::StatusCode;
use http::header::{CONTENT_TYPE, VARY};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Shared;
use super::store::{Trouble, Wish};

/// The one version of the protocol that there is.
const MEDIA_TYPE: &str = "application/external.dns.webhook+json;version=1";
/// The most that a request may hold: all records of a large installation.
const MOST: usize = 256 << 20;

type Provider = State<Arc<Shared>>;

/// What ExternalDNS wants changed.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Changes {
    #[serde(alias = "Create")]
    create: Option<Vec<Endpoint>>,
    #[serde(alias = "UpdateOld")]
    update_old: Option<Vec<Endpoint>>,
    #[serde(alias = "UpdateNew")]
    update_new: Option<Vec<Endpoint>>,
    #[serde(alias = "Delete")]
    delete: Option<Vec<Endpoint>>,
}

/// All pages of the protocol.
pub fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/", get(negotiate))
        .route("/records", get(records).post(apply))
        .route("/adjustendpoints", post(adjust))
        .layer(DefaultBodyLimit::max(MOST))
        .with_state(shared)
}

async fn negotiate(State(shared): Provider) -> Response {
    let zones: Vec<String> = shared.store.zones().iter().map(dns::Name::undotted).collect();
    counted(&shared, "negotiate", answer(StatusCode::OK, &json!({ "include": zones, "exclude": [] })))
}

async fn records(State(shared): Provider) -> Response {
    let response = match shared.store.list().await {
        Ok(entries) => answer(StatusCode::OK, &entries.iter().map(endpoint::of_entry).collect::<Vec<_>>()),
        Err(failure) => failed(&failure.into()),
    };
    counted(&shared, "records", response)
}

async fn adjust(State(shared): Provider, body: Bytes) -> Response {
    let response = match serde_json::from_slice::<Vec<Endpoint>>(&body) {
        Ok(endpoints) => {
            let adjusted: Vec<Endpoint> =
                endpoints.into_iter().filter_map(|endpoint| adjusted(&shared, endpoint)).collect();
            answer(StatusCode::OK, &adjusted)
        }
        Err(error) => refused(&error),
    };
    counted(&shared, "adjust", response)
}

/// An endpoint in the form in which it would be read back; none where it cannot be held.
fn adjusted(shared: &Shared, endpoint: Endpoint) -> Option<Endpoint> {
    match endpoint::wish(&endpoint, shared.default_ttl) {
        Ok(wish) if shared.store.zone_of(&wish.key.name).is_some() => endpoint::normalized(endpoint, &wish),
        Ok(_) => {
            // ExternalDNS asks about all of its endpoints; those of other domains are not ours to judge.
            Some(endpoint)
        }
        Err(reason) => {
            tracing::warn!(name = %dns::visible(&endpoint.dns_name), r#type = %dns::visible(&endpoint.record_type),
                "an endpoint is left out: {reason}");
            None
        }
    }
}

async fn apply(State(shared): Provider, body: Bytes) -> Response {
    let response = match serde_json::from_slice::<Changes>(&body) {
        Ok(changes) => match applied(&shared, changes).await {
            Ok(()) => StatusCode::NO_CONTENT.into_response(),
            Err(trouble) => failed(&trouble),
        },
        Err(error) => refused(&error),
    };
    counted(&shared, "apply", response)
}

async fn applied(shared: &Shared, changes: Changes) -> Result<(), Trouble> {
    let outcomes = shared.store.apply(wishes(shared, changes)?, 0).await;
    let mut worst = None;
    for trouble in outcomes.into_iter().filter_map(Result::err) {
        tracing::warn!("a change was not made: {trouble}");
        worst = Some(trouble);
    }
    worst.map_or(Ok(()), Err)
}

/// What is to stand in the end: first what makes room, then what comes, then what goes.
fn wishes(shared: &Shared, changes: Changes) -> Result<Vec<Wish>, Trouble> {
    let wish = |endpoint: &Endpoint| {
        let made = endpoint::wish(endpoint, shared.default_ttl);
        made.map_err(|reason| Trouble { code: Code::InvalidRecord, message: reason })
    };
    let all = |endpoints: Option<Vec<Endpoint>>| {
        endpoints.unwrap_or_default().iter().map(wish).collect::<Result<Vec<Wish>, Trouble>>()
    };
    let coming = [all(changes.create)?, all(changes.update_new)?].concat();
    let keys: BTreeSet<_> = coming.iter().map(|wish| wish.key.clone()).collect();
    let names: BTreeSet<_> = coming.iter().map(|wish| wish.key.name.clone()).collect();
    let old = [all(changes.delete)?, all(changes.update_old)?].concat();
    let going =
        old.into_iter().filter(|wish| !keys.contains(&wish.key)).map(|wish| Wish { after: None, ..wish });
    let (room, rest): (Vec<Wish>, Vec<Wish>) = going.partition(|wish| names.contains(&wish.key.name));
    Ok([room, coming, rest].concat())
}

fn answer(status: StatusCode, value: &impl Serialize) -> Response {
    // What we serialize are our own types, all of whose keys are texts.
    let body = serde_json::to_vec(value).unwrap_or_default();
    (status, [(CONTENT_TYPE, MEDIA_TYPE), (VARY, "Content-Type")], body).into_response()
}

/// A trouble of ours is one that ExternalDNS tries again; a refusal would end it.
fn failed(trouble: &Trouble) -> Response {
    (StatusCode::INTERNAL_SERVER_ERROR, trouble.to_string()).into_response()
}

fn refused(error: &serde_json::Error) -> Response {
    (StatusCode::BAD_REQUEST, format!("the body does not fit: {error}")).into_response()
}

fn counted(shared: &Shared, endpoint: &str, response: Response) -> Response {
    shared.metrics.count(endpoint, response.status().as_u16(), None);
    response
}
