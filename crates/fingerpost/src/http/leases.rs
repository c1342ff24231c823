//! Leases and directions as data, and the one thing that can be ordered: a switchover.
//!
//! Orders are accepted on loopback only and from programs only: a web page can neither set the header nor, by a name
//! of its own, pass the gate that checks the Host.

use std::time::Instant;

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde::Deserialize;
use serde_json::Value;

use super::api::{as_json, element};
use super::{Shared, stream};
use crate::directing::OrderError;

/// The header that an order carries.
pub const HEADER: &str = "x-fingerpost-order";

/// How many Placements are looked up at once.
const PAGE: usize = 64;

pub(super) async fn all(State(instance): Shared) -> Response {
    as_json(stream::body(|mut pieces| async move {
        let (mut after, mut begun) = (None, false);
        pieces.text.push(b'[');
        loop {
            let page = instance.directions.documents_after(after.as_ref(), PAGE, Instant::now());
            page.iter().for_each(|(_, document)| element(&mut pieces.text, &mut begun, document));
            pieces.flow().await?;
            match page.into_iter().next_back() {
                Some((key, _)) => after = Some(key),
                None => break,
            }
        }
        pieces.text.push(b']');
        pieces.send().await
    }))
}

pub(super) async fn one(
    State(instance): Shared,
    Path(name): Path<String>,
) -> Result<Json<Value>, (StatusCode, String)> {
    instance.directions.document(&name, Instant::now()).map(Json).map_err(refusal)
}

/// An order or a question that is not followed.
fn refusal(error: OrderError) -> (StatusCode, String) {
    let status = match error {
        OrderError::Unknown(_) => StatusCode::NOT_FOUND,
        OrderError::Ambiguous(..) | OrderError::Refused(_) => StatusCode::CONFLICT,
    };
    (status, format!("{error}\n"))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Switchover {
    to: String,
    #[serde(default)]
    force: bool,
}

pub(super) async fn switch_over(
    State(instance): Shared,
    Path(name): Path<String>,
    headers: HeaderMap,
    Query(order): Query<Switchover>,
) -> Result<StatusCode, (StatusCode, String)> {
    if !headers.contains_key(HEADER) {
        return Err((StatusCode::FORBIDDEN, format!("an order carries the header {HEADER}\n")));
    }
    let followed = instance.directions.order(&name, &order.to, order.force).await;
    followed.map(|()| StatusCode::ACCEPTED).map_err(refusal)
}
