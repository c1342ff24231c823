//! Leases and directions as data, and the one thing that can be ordered: a switchover.
//!
//! Orders are taken on loopback only, from programs only: a page in somebody's browser can neither set the
//! header nor, by a name of its own, pass for this host.

use std::net::IpAddr;
use std::time::Instant;

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use serde::Deserialize;
use serde_json::Value;

use super::Shared;
use crate::directing::OrderError;

/// The header that an order carries.
pub const HEADER: &str = "x-fingerpost-order";

pub(super) async fn all(State(instance): Shared) -> Json<Vec<Value>> {
    Json(instance.directions.documents(Instant::now()))
}

pub(super) async fn one(
    State(instance): Shared,
    Path(name): Path<String>,
) -> Result<Json<Value>, (StatusCode, String)> {
    let found = instance.directions.document(&name, Instant::now());
    let missing = || {
        let message = "no such Placement is directed by this process: another replica may lead, or it has neither \
                       a witness nor an order of regions\n";
        (StatusCode::NOT_FOUND, message.to_owned())
    };
    found.map(Json).ok_or_else(missing)
}

#[derive(Debug, Deserialize)]
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
    if !is_from_a_program(&headers) {
        let message = format!("an order carries the header {HEADER} and names this host by its address\n");
        return Err((StatusCode::FORBIDDEN, message));
    }
    match instance.directions.order(&name, &order.to, order.force).await {
        Ok(()) => Ok(StatusCode::ACCEPTED),
        Err(error @ OrderError::Unknown(_)) => Err((StatusCode::NOT_FOUND, format!("{error}\n"))),
        Err(error) => Err((StatusCode::CONFLICT, format!("{error}\n"))),
    }
}

fn is_from_a_program(headers: &HeaderMap) -> bool {
    let host = headers.get("host").and_then(|host| host.to_str().ok()).unwrap_or_default();
    let (name, _) = host.rsplit_once(':').unwrap_or((host, ""));
    let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    headers.contains_key(HEADER) && (address.is_ok() || name == "localhost")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("127.0.0.1:8053", true, true)]
    #[case("[::1]:8053", true, true)]
    #[case("localhost:8053", true, true)]
    #[case("localhost:8053", false, false)]
    #[case("rebound.example.org:8053", true, false)]
    fn an_order_is_taken_from_a_program_only(#[case] host: &str, #[case] header: bool, #[case] taken: bool) {
        let mut headers = HeaderMap::new();
        headers.insert("host", host.parse().unwrap());
        if header {
            headers.insert(HEADER, "switchover".parse().unwrap());
        }
        assert_eq!(is_from_a_program(&headers), taken);
    }
}
