//! The plan as data under `/api/v1/`.
//!
//! A large plan takes a while to turn into data, so that is done off the threads that answer DNS.

use std::net::IpAddr;

use axum::Json;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use dns::{Name, Rtype};
use planner::Planner;
use planner::document::{Document, DocumentObject, DocumentRecordSet};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::task::block_in_place;

use super::Shared;
use crate::explanation::{Explanation, Question};
use crate::instance::Instance;
use crate::render;
use crate::source::SourceProblem;

/// What is wrong with a request, for the one who sent it.
type Refusal = (StatusCode, String);

fn document(instance: &Instance) -> Document {
    block_in_place(|| Document::of(&instance.planner()))
}

pub(super) async fn plan(State(instance): Shared) -> Json<Document> {
    Json(document(&instance))
}

pub(super) async fn objects(State(instance): Shared) -> Json<Vec<DocumentObject>> {
    Json(document(&instance).objects)
}

#[derive(Debug, Deserialize)]
pub(super) struct RecordSetQuery {
    name: Option<String>,
}

pub(super) async fn record_sets(
    State(instance): Shared,
    Query(query): Query<RecordSetQuery>,
) -> Result<Json<Vec<DocumentRecordSet>>, Refusal> {
    let name = query.name.map(|text| Name::parse(&text)).transpose().map_err(bad_request)?;
    let mut sets = document(&instance).record_sets;
    sets.retain(|set| name.as_ref().is_none_or(|name| set.name == *name));
    Ok(Json(sets))
}

/// What is to be said about objects, about zone files, about the folders, about databases of places and
/// about DNSSEC keys.
pub(super) async fn notes(State(instance): Shared) -> Json<Value> {
    let problems: Vec<Value> = instance.facts().problems.iter().map(problem).collect();
    let objects = block_in_place(|| object_notes(&instance.planner()));
    Json(
        json!({ "objects": objects, "sources": problems, "geo": instance.geos.problems(), "dnssec": instance.signings.problems() }),
    )
}

fn object_notes(planner: &Planner) -> Vec<Value> {
    let mut all = Vec::new();
    for (cluster, object) in planner.objects() {
        for note in planner.notes(cluster, &object) {
            all.push(json!({
                "cluster": planner.cluster_name(cluster),
                "apiVersion": object.kind.api_version(),
                "kind": object.kind.kind(),
                "namespace": &*object.namespace,
                "name": &*object.name,
                "condition": note.condition,
                "status": note.status.to_string(),
                "reason": note.reason,
                "message": note.message,
                "severity": format!("{:?}", note.severity),
            }));
        }
    }
    all
}

fn problem(problem: &SourceProblem) -> Value {
    json!({
        "file": problem.path.display().to_string(),
        "line": problem.line,
        "column": problem.column,
        "object": problem.object.as_ref().map(render::object),
        "severity": format!("{:?}", problem.severity),
        "message": problem.message,
    })
}

#[derive(Debug, Deserialize)]
pub(super) struct ExplainQuery {
    name: String,
    #[serde(rename = "type")]
    rtype: Option<Rtype>,
    view: Option<String>,
    client: Option<IpAddr>,
}

pub(super) async fn explain(
    State(instance): Shared,
    Query(query): Query<ExplainQuery>,
) -> Result<Json<Explanation>, Refusal> {
    let name = Name::parse(&query.name).map_err(bad_request)?;
    let question = Question { name, rtype: query.rtype, view: query.view, client: query.client };
    block_in_place(|| instance.explain(&question)).map(Json).map_err(bad_request)
}

#[derive(Debug, Deserialize)]
pub(super) struct ZoneQuery {
    name: String,
    view: Option<String>,
}

/// A zone as it is served, in master-file form; a signed one with all its signatures and an NSEC chain.
pub(super) async fn zone(State(instance): Shared, Query(query): Query<ZoneQuery>) -> Result<String, Refusal> {
    let name = Name::parse(&query.name).map_err(bad_request)?;
    let text = block_in_place(|| instance.export(&name, query.view.as_deref()));
    text.ok_or_else(|| (StatusCode::NOT_FOUND, format!("{name} is not served in that view\n")))
}

fn bad_request(error: impl std::fmt::Display) -> Refusal {
    (StatusCode::BAD_REQUEST, format!("{error}\n"))
}
