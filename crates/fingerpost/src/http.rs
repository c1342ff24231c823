//! The HTTP interface of a running instance: health, metrics, and the plan as data.
//!
//! Only GET, and nothing here changes anything. Bodies are built before they are sent, so a slow
//! reader holds no lock.

mod api;
mod metrics;
mod page;

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context, Result};
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::instance::Instance;

type Shared = State<Arc<Instance>>;

/// A bound address that answers nothing yet.
pub async fn bind(address: SocketAddr) -> Result<TcpListener> {
    let listener = TcpListener::bind(address).await;
    listener.with_context(|| format!("cannot serve HTTP on {address} (choose another address with --http)"))
}

/// A running HTTP server.
#[derive(Debug)]
pub struct Serving {
    stop: oneshot::Sender<()>,
    task: JoinHandle<std::io::Result<()>>,
}

/// Serves the instance until it is stopped.
pub fn serve(listener: TcpListener, instance: Arc<Instance>) -> Serving {
    let (stop, stopped) = oneshot::channel();
    let ended = async move { drop(stopped.await) };
    let server = axum::serve(listener, router(instance)).with_graceful_shutdown(ended);
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

fn router(instance: Arc<Instance>) -> Router {
    Router::new()
        .route("/", get(page::index))
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics::metrics))
        .route("/api/v1/plan", get(api::plan))
        .route("/api/v1/objects", get(api::objects))
        .route("/api/v1/recordsets", get(api::record_sets))
        .route("/api/v1/notes", get(api::notes))
        .route("/api/v1/explain", get(api::explain))
        .with_state(instance)
}

async fn ready(State(instance): Shared) -> (StatusCode, &'static str) {
    match instance.is_ready() {
        true => (StatusCode::OK, "ready\n"),
        false => (StatusCode::SERVICE_UNAVAILABLE, "not ready: the folders are being read\n"),
    }
}
