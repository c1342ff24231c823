//! The HTTP interface of a running instance, on two listeners.
//!
//! ```text
//! --http  /healthz /readyz /metrics            any Host, no credential
//! --api   / and /api/v1/                        Host and Origin are checked; a credential where it is not loopback
//!             server: connections, octets and time are bounded on every listener
//! ```
//!
//! Only GET, and nothing here changes anything, except for the order to switch over, which is accepted on loopback
//! only. Large answers are made while they are read, so that a slow reader holds neither a lock nor memory.

pub mod access;
mod api;
pub mod client;
pub mod errors;
pub mod gate;
mod health;
pub mod hosts;
pub mod leases;
pub mod metrics;
mod page;
pub mod server;
pub mod stream;

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{get, post};

pub use self::gate::{ApiListener, ApiPlan, Gate};
pub use self::server::{Limits, Serving, bind, serve};
use crate::instance::Instance;

type Shared = State<Arc<Instance>>;

/// The pages of `--http` in `up`.
pub fn status_pages(instance: Arc<Instance>) -> Router {
    let health = Router::new().route("/healthz", get(healthy)).route("/readyz", get(ready));
    health.route("/metrics", get(metrics::metrics)).with_state(instance)
}

/// The page and the plan as data, behind their gate.
pub fn api_pages(instance: Arc<Instance>, gate: Gate) -> Router {
    gate.around(
        Router::new()
            .route("/", get(page::index))
            .route("/api/v1/plan", get(api::plan))
            .route("/api/v1/objects", get(api::objects))
            .route("/api/v1/recordsets", get(api::record_sets))
            .route("/api/v1/notes", get(api::notes))
            .route("/api/v1/health", get(health::health))
            .route("/api/v1/explain", get(api::explain))
            .route("/api/v1/zone", get(api::zone))
            .route("/api/v1/leases", get(leases::all))
            .route("/api/v1/leases/{*name}", get(leases::one))
            .with_state(instance),
    )
}

/// A listener's pages, whose errors are JSON.
pub fn with_errors(pages: Router) -> Router {
    errors::as_json(pages)
}

/// The same for a listener that has no pages but these.
pub fn only_with_errors(pages: Router, paths: &'static str) -> Router {
    let unknown = move || async move {
        (StatusCode::NOT_FOUND, format!("{} here: the pages are {paths}\n", errors::NO_PAGE))
    };
    errors::converting(pages.fallback(unknown))
}

/// Where orders are given, behind their gate; for an address that only this machine can reach.
pub fn order_pages(instance: Arc<Instance>, gate: Gate) -> Router {
    let orders = Router::new().route("/api/v1/switchover/{*name}", post(leases::switch_over));
    gate.around(orders.with_state(instance))
}

/// Liveness: the process responds.
pub async fn healthy() -> &'static str {
    "ok\n"
}

async fn ready(State(instance): Shared) -> (StatusCode, String) {
    let reading = || vec!["the folders are being read".to_owned()];
    readiness(if instance.is_ready() { Vec::new() } else { reading() })
}

/// What `/readyz` says: nothing may be in the way.
pub fn readiness(troubles: Vec<String>) -> (StatusCode, String) {
    match troubles.is_empty() {
        true => (StatusCode::OK, "ready\n".to_owned()),
        false => (StatusCode::SERVICE_UNAVAILABLE, format!("not ready: {}\n", troubles.join("\n"))),
    }
}
