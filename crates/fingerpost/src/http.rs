//! The HTTP interface of a running instance: health, metrics, and the plan as data.
//!
//! Only GET, and nothing here changes anything, but for the order to switch over, which is taken on loopback
//! only. Bodies are built before they are sent, so a slow
//! reader holds no lock.

mod api;
mod health;
pub mod leases;
pub mod metrics;
mod page;

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context, Result};
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{get, post};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::instance::Instance;

type Shared = State<Arc<Instance>>;

/// A bound address that answers nothing yet.
pub async fn bind(address: SocketAddr, flag: &str) -> Result<TcpListener> {
    let listener = TcpListener::bind(address).await;
    listener.with_context(|| format!("cannot serve HTTP on {address} (choose another address with {flag})"))
}

/// A running HTTP server.
#[derive(Debug)]
pub struct Serving {
    stop: oneshot::Sender<()>,
    task: JoinHandle<std::io::Result<()>>,
}

/// Serves these pages until it is stopped.
pub fn serve(listener: TcpListener, pages: Router) -> Serving {
    let (stop, stopped) = oneshot::channel();
    let ended = async move { drop(stopped.await) };
    let server = axum::serve(listener, pages).with_graceful_shutdown(ended);
    Serving { stop, task: tokio::spawn(async move { server.await }) }
}

impl Serving {
    /// Takes no more requests; those under way get a moment.
    pub async fn stop(self) {
        const MOMENT: std::time::Duration = std::time::Duration::from_secs(1);
        drop(self.stop);
        // Whoever still reads after that is cut off by the end of the process.
        let _ = tokio::time::timeout(MOMENT, self.task).await;
    }
}

/// Where orders are given; for an address that only this machine can reach.
pub fn order_pages(instance: Arc<Instance>) -> Router {
    Router::new().route("/api/v1/switchover/{*name}", post(leases::switch_over)).with_state(instance)
}

/// All pages of `up`.
pub fn pages(instance: Arc<Instance>) -> Router {
    let health = Router::new().route("/healthz", get(healthy)).route("/readyz", get(ready));
    let metrics = Router::new().route("/metrics", get(metrics::metrics));
    plan_pages(instance.clone()).merge(health.merge(metrics).with_state(instance))
}

/// The plan as data, and the page that leads to it.
pub fn plan_pages(instance: Arc<Instance>) -> Router {
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
        .with_state(instance)
}

/// Whoever answers is alive.
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
