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
use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use backends::webhook::protocol::Code;
use http::StatusCode;
use http::header::{CONTENT_TYPE, RETRY_AFTER, VARY};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Shared;
use super::entrance::Refused;
use super::listings::{Listing, ListingError};
use super::store::{Trouble, Wish};
use crate::http::server::bodies::{BodyError, Held};
use crate::http::stream::{self, Gone, Pieces};

/// The one version of the protocol that there is.
const VERSIONED: &str = "application/external.dns.webhook+json;version=1";
/// The media type of every body.
pub const MEDIA_TYPE: &str = "application/external.dns.webhook+json";

type Provider = State<Arc<Shared>>;
/// A body that was read, or the answer that refuses it.
type Read = Result<Held, Box<Response>>;

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
        .layer(from_fn_with_state(shared.clone(), enter))
        .with_state(shared)
}

/// Lets a request in that passes the entrance; the same one as that of the other protocol.
async fn enter(State(shared): Provider, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    match shared.entrance.check(&parts, &body) {
        Ok(()) => next.run(Request::from_parts(parts, body)).await,
        Err(refused) => counted(&shared, "refused", turned_away(&refused)),
    }
}

fn turned_away(refused: &Refused) -> Response {
    let (status, wait) = match refused {
        Refused::Limited(wait) => (StatusCode::TOO_MANY_REQUESTS, Some(wait.as_secs() + 1)),
        Refused::Forbidden(_) => (StatusCode::FORBIDDEN, None),
        Refused::MediaType(_) => (StatusCode::UNSUPPORTED_MEDIA_TYPE, None),
        Refused::Body(BodyError::Busy) => (StatusCode::SERVICE_UNAVAILABLE, Some(5)),
        Refused::Body(error) => (error.status(), None),
    };
    let mut response = (status, format!("{refused}\n")).into_response();
    if let Some(seconds) = wait {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    response
}

async fn read(shared: &Shared, request: Request) -> Read {
    let (parts, body) = request.into_parts();
    let read = shared.entrance.read(&parts, body, usize::MAX).await;
    read.map_err(|refused| Box::new(turned_away(&refused)))
}

async fn negotiate(State(shared): Provider) -> Response {
    let zones: Vec<String> = shared.store.zones().iter().map(dns::Name::undotted).collect();
    counted(&shared, "negotiate", answer(StatusCode::OK, &json!({ "include": zones, "exclude": [] })))
}

async fn records(State(shared): Provider) -> Response {
    let response = match shared.listings.read(&shared.store).await {
        Ok(listing) => list(stream::body(|pieces| write_entries(listing, pieces))),
        Err(ListingError::Failed(failure)) => failed(&failure.into()),
        Err(error @ ListingError::Busy) => {
            (StatusCode::SERVICE_UNAVAILABLE, [(RETRY_AFTER, "5")], format!("{error}\n")).into_response()
        }
    };
    counted(&shared, "records", response)
}

async fn write_entries(listing: Arc<Listing>, mut pieces: Pieces) -> Result<(), Gone> {
    let mut begun = false;
    // Ownership records of ours are not ExternalDNS's to change, so they are not listed.
    for entry in listing.entries.iter().filter(|entry| dns::reserved_name(&entry.set.name).is_none()) {
        write_endpoint(&mut pieces.text, &mut begun, &endpoint::of_entry(entry));
        pieces.flow().await?;
    }
    end_list(&mut pieces.text, begun);
    pieces.send().await
}

/// Writes the endpoints as they are adjusted; the request's share of the budget is held until they have been read.
async fn write_adjusted(
    shared: Arc<Shared>,
    endpoints: Vec<Endpoint>,
    held: Held,
    mut pieces: Pieces,
) -> Result<(), Gone> {
    let mut begun = false;
    for endpoint in endpoints {
        if let Some(endpoint) = adjusted(&shared, endpoint) {
            write_endpoint(&mut pieces.text, &mut begun, &endpoint);
            pieces.flow().await?;
        }
    }
    end_list(&mut pieces.text, begun);
    pieces.send().await?;
    drop(held);
    Ok(())
}

fn write_endpoint(text: &mut Vec<u8>, begun: &mut bool, endpoint: &Endpoint) {
    text.push(if std::mem::replace(begun, true) { b',' } else { b'[' });
    // What we serialize are our own types, all of whose keys are texts.
    let _ = serde_json::to_writer(text, endpoint);
}

fn end_list(text: &mut Vec<u8>, begun: bool) {
    text.extend_from_slice(if begun { b"]" } else { b"[]" });
}

fn list(body: Body) -> Response {
    ([(CONTENT_TYPE, VERSIONED), (VARY, "Content-Type")], body).into_response()
}

async fn adjust(State(shared): Provider, request: Request) -> Response {
    let response = match read(&shared, request).await {
        Err(response) => *response,
        Ok(held) => match serde_json::from_slice::<Vec<Endpoint>>(&held.octets) {
            Ok(endpoints) => {
                let shared = shared.clone();
                list(stream::body(|pieces| write_adjusted(shared, endpoints, held, pieces)))
            }
            Err(error) => refused(&error),
        },
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

async fn apply(State(shared): Provider, request: Request) -> Response {
    let response = match read(&shared, request).await {
        Err(response) => *response,
        Ok(held) => match serde_json::from_slice::<Changes>(&held.octets) {
            Ok(changes) => match applied(&shared, changes).await {
                Ok(()) => StatusCode::NO_CONTENT.into_response(),
                Err(trouble) => failed(&trouble),
            },
            Err(error) => refused(&error),
        },
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
    (status, [(CONTENT_TYPE, VERSIONED), (VARY, "Content-Type")], body).into_response()
}

/// A trouble of ours is one that ExternalDNS tries again; a refusal would end it.
fn failed(trouble: &Trouble) -> Response {
    let status = match trouble.code {
        Code::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    (status, trouble.to_string()).into_response()
}

fn refused(error: &serde_json::Error) -> Response {
    (StatusCode::BAD_REQUEST, format!("the body does not fit: {error}")).into_response()
}

fn counted(shared: &Shared, endpoint: &str, response: Response) -> Response {
    shared.metrics.count(endpoint, response.status().as_u16(), None);
    response
}
