//! `/healthz` and `/readyz` of the operator.
//!
//! Ready is who could do the work: everything has been read (kinds that are not installed aside)
//! and nothing is forbidden. A follower is as ready as a leader.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;

use super::certificates::Problems;
use super::lease::Leadership;
use crate::cluster::Board;
use crate::http::{healthy, readiness};

/// What readiness is judged by; clones show the same.
#[derive(Clone, Debug, Default)]
pub struct Health(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    board: Mutex<Board>,
    planned: AtomicBool,
    /// Writes that the API server forbids: resource and verb with its words.
    denied: Mutex<BTreeMap<(String, &'static str), String>>,
    webhook: Mutex<Option<Problems>>,
    leadership: Mutex<Option<Leadership>>,
}

impl Health {
    /// Other watches are to be judged by; nothing is planned from them yet.
    pub fn watch(&self, board: Board) {
        *self.0.board.lock().unwrap_or_else(PoisonError::into_inner) = board;
        self.0.planned.store(false, Ordering::Release);
    }

    /// The watches.
    pub fn board(&self) -> Board {
        self.0.board.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What the election may not do counts.
    pub fn lead(&self, leadership: Leadership) {
        *self.0.leadership.lock().unwrap_or_else(PoisonError::into_inner) = Some(leadership);
    }

    /// What the webhook may not do counts too.
    pub fn admit(&self, problems: Problems) {
        *self.0.webhook.lock().unwrap_or_else(PoisonError::into_inner) = Some(problems);
    }

    /// The first plan stands.
    pub fn set_planned(&self) {
        self.0.planned.store(true, Ordering::Release);
    }

    /// A write was forbidden, or was not.
    pub fn note_write(&self, resource: String, verb: &'static str, denied: Option<&str>) {
        let mut all = self.0.denied.lock().unwrap_or_else(PoisonError::into_inner);
        match denied {
            Some(message) => {
                let before = all.insert((resource.clone(), verb), message.to_owned());
                if before.is_none() {
                    tracing::error!(resource, verb, "forbidden: {message}; grant it in the ClusterRole");
                }
            }
            None if all.is_empty() => {}
            None => {
                if all.remove(&(resource.clone(), verb)).is_some() {
                    tracing::info!(resource, verb, "allowed again");
                }
            }
        }
    }

    /// What keeps us from being ready, in lines.
    pub fn troubles(&self) -> Vec<String> {
        let mut lines = self.board().troubles();
        let denied = self.0.denied.lock().unwrap_or_else(PoisonError::into_inner);
        let line = |((resource, verb), message): (&(String, &'static str), &String)| {
            format!("{resource}: {verb} is forbidden: {message}")
        };
        lines.extend(denied.iter().map(line));
        let leadership = self.0.leadership.lock().unwrap_or_else(PoisonError::into_inner);
        let election = leadership.as_ref().and_then(Leadership::problem);
        lines.extend(election.filter(|problem| problem.starts_with("forbidden")));
        let webhook = self.0.webhook.lock().unwrap_or_else(PoisonError::into_inner);
        lines.extend(webhook.as_ref().map(Problems::denials).unwrap_or_default());
        if lines.is_empty() && !self.0.planned.load(Ordering::Acquire) {
            lines.push("not planned yet".to_owned());
        }
        lines
    }
}

/// The endpoints.
pub fn router(health: Health) -> Router {
    Router::new().route("/healthz", get(healthy)).route("/readyz", get(ready)).with_state(health)
}

async fn ready(State(health): State<Health>) -> (StatusCode, String) {
    readiness(health.troubles())
}
