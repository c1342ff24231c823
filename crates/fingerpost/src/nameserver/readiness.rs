//! `/readyz` and `/metrics` of the name server.
//!
//! Ready is who can answer: from a plan, or from what was kept. An API server that is away changes
//! nothing about that; one that forbids us to read does, because then the answers grow old unseen.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::get;
use prometheus_client::registry::Registry;

use crate::cluster::Board;
use crate::cluster::requests::Requests;
use crate::http;
use crate::instance::Instance;
use crate::operator::metrics::{register_board, register_requests};

/// What readiness is judged by; clones show the same.
#[derive(Clone, Debug)]
pub(super) struct Readiness(Arc<Mutex<Facts>>);

#[derive(Debug)]
struct Facts {
    /// Answers from an earlier run are served.
    kept: bool,
    /// What the plan has to serve; unknown before the first plan.
    serves: Option<bool>,
    draining: bool,
    board: Option<Board>,
}

impl Readiness {
    pub(super) fn new(kept: bool) -> Readiness {
        Readiness(Arc::new(Mutex::new(Facts { kept, serves: None, draining: false, board: None })))
    }

    /// The watches to judge by.
    pub(super) fn watch(&self, board: Board) {
        self.facts().board = Some(board);
    }

    /// A plan is served; whether it has a class to serve.
    pub(super) fn plan(&self, serves: bool) {
        self.facts().serves = Some(serves);
    }

    /// The end has begun.
    pub(super) fn drain(&self) {
        self.facts().draining = true;
    }

    fn board(&self) -> Option<Board> {
        self.facts().board.clone()
    }

    fn troubles(&self) -> Vec<String> {
        let facts = self.facts();
        if facts.draining {
            return vec!["stopping; answers go on for a moment".to_owned()];
        }
        let mut troubles = facts.board.as_ref().map(Board::denials).unwrap_or_default();
        match facts.serves {
            Some(true) => {}
            Some(false) if facts.kept => {}
            Some(false) => troubles.push("there is no embedded DNSClass to serve".to_owned()),
            None if facts.kept => {}
            None => {
                troubles.push("nothing to answer with yet".to_owned());
                troubles.extend(facts.board.as_ref().map(Board::troubles).unwrap_or_default());
            }
        }
        troubles
    }

    fn facts(&self) -> MutexGuard<'_, Facts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Clone)]
struct Shown {
    instance: Arc<Instance>,
    readiness: Readiness,
    requests: Requests,
}

/// The pages of `--http`.
pub(super) fn pages(instance: Arc<Instance>, readiness: Readiness, requests: Requests) -> Router {
    let shown = Shown { instance, readiness, requests };
    Router::new()
        .route("/healthz", get(http::healthy))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .with_state(shown)
}

async fn ready(State(shown): State<Shown>) -> (StatusCode, String) {
    http::readiness(shown.readiness.troubles())
}

async fn metrics(State(shown): State<Shown>) -> Response {
    let mut registry = Registry::default();
    tokio::task::block_in_place(|| http::metrics::register(&mut registry, &shown.instance));
    if let Some(board) = shown.readiness.board() {
        register_board(&mut registry, &board);
    }
    register_requests(&mut registry, &shown.requests);
    http::metrics::response(&registry)
}
