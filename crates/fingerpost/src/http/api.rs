//! The plan as data under `/api/v1/`.
//!
//! A large plan takes a while to turn into data, so that is done piece by piece, and other tasks run in between.

use std::net::IpAddr;
use std::sync::Arc;

use arc_swap::Guard;
use axum::Json;
use axum::body::Body;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use dns::{Name, Rtype, ZoneForm};
use planner::document::{DocumentWriter, Part};
use planner::{ClusterId, ObjectRef, Planner};
use serde::Deserialize;
use serde_json::{Value, json};
use server::dnssec::sets_by_name;
use server::{ViewTable, Zone};
use tokio::task::block_in_place;

use super::Shared;
use super::stream::{self, PIECE};
use crate::explanation::{Explanation, Question};
use crate::instance::{Instance, now};
use crate::render;
use crate::source::SourceProblem;

/// How many objects are looked up at once.
const PAGE: usize = 1024;

/// What is wrong with a request, for the one who sent it.
type Refusal = (StatusCode, String);

/// A part of the plan, written from the planner as the reader reads it; the lock is held for one piece at a time.
fn part(instance: Arc<Instance>, part: Part) -> Response {
    let body = stream::body(|mut pieces| async move {
        let (mut writer, revision) = (DocumentWriter::new(part), instance.revision());
        loop {
            let more = {
                let planner = instance.planner();
                if instance.revision() != revision {
                    writer.note_change();
                }
                writer.write(&planner, &mut pieces.text, PIECE)
            };
            pieces.send().await?;
            if !more {
                return Ok(());
            }
        }
    });
    as_json(body)
}

pub(super) fn as_json(body: Body) -> Response {
    ([(CONTENT_TYPE, "application/json")], body).into_response()
}

pub(super) async fn plan(State(instance): Shared) -> Response {
    part(instance, Part::Plan)
}

pub(super) async fn objects(State(instance): Shared) -> Response {
    part(instance, Part::Objects)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RecordSetQuery {
    name: Option<String>,
}

pub(super) async fn record_sets(
    State(instance): Shared,
    Query(query): Query<RecordSetQuery>,
) -> Result<Response, Refusal> {
    let name = query.name.map(|text| Name::parse(&text)).transpose().map_err(bad_request)?;
    Ok(part(instance, Part::RecordSets(name)))
}

/// What is to be said about objects, about zone files, about the folders, about databases of places and
/// about DNSSEC keys.
pub(super) async fn notes(State(instance): Shared) -> Response {
    as_json(stream::body(|mut pieces| async move {
        let (geo, dnssec) = (instance.geos.problems(), instance.signings.problems());
        pieces
            .text
            .extend_from_slice(format!("{{\"dnssec\":{},\"geo\":{}", json!(dnssec), json!(geo)).as_bytes());
        pieces.text.extend_from_slice(b",\"objects\":[");
        let (mut after, mut begun) = (None, false);
        loop {
            let page = instance.planner().objects_after(after.as_ref(), PAGE);
            for object in &page {
                object_notes(&instance.planner(), object, &mut pieces.text, &mut begun);
                pieces.flow().await?;
            }
            match page.into_iter().next_back() {
                Some(last) => after = Some(last),
                None => break,
            }
        }
        pieces.text.extend_from_slice(b"],\"sources\":[");
        let (mut number, mut begun) = (0, false);
        loop {
            // One at a time: there may be a problem in each of a hundred thousand files.
            let next = instance.facts().problems.get(number).map(problem);
            let Some(next) = next else { break };
            element(&mut pieces.text, &mut begun, &next);
            number += 1;
            pieces.flow().await?;
        }
        pieces.text.extend_from_slice(b"]}");
        pieces.send().await
    }))
}

/// Appends an element of a JSON list.
pub(super) fn element(text: &mut Vec<u8>, begun: &mut bool, value: &Value) {
    if std::mem::replace(begun, true) {
        text.push(b',');
    }
    text.extend_from_slice(value.to_string().as_bytes());
}

fn object_notes(
    planner: &Planner,
    (cluster, object): &(ClusterId, ObjectRef),
    text: &mut Vec<u8>,
    begun: &mut bool,
) {
    for note in planner.notes(*cluster, object) {
        let value = json!({
            "cluster": planner.cluster_name(*cluster),
            "apiVersion": object.kind.api_version(),
            "kind": object.kind.kind(),
            "namespace": &*object.namespace,
            "name": &*object.name,
            "condition": note.condition,
            "status": note.status.to_string(),
            "reason": note.reason,
            "message": note.message,
            "severity": format!("{:?}", note.severity),
        });
        element(text, begun, &value);
    }
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
#[serde(deny_unknown_fields)]
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
#[serde(deny_unknown_fields)]
pub(super) struct ZoneQuery {
    name: String,
    view: Option<String>,
}

/// A zone as it is served, in master-file form; a signed one with all its signatures and an NSEC chain.
pub(super) async fn zone(
    State(instance): Shared,
    Query(query): Query<ZoneQuery>,
) -> Result<Response, Refusal> {
    let name = Name::parse(&query.name).map_err(bad_request)?;
    let table: Arc<ViewTable> = Guard::into_inner(instance.views.load());
    if served_zone(&table, &name, query.view.as_deref()).is_none() {
        let text = match &query.view {
            Some(view) => format!("the view `{view}` serves no zone {name}\n"),
            None => format!("no view serves a zone {name}\n"),
        };
        return Err((StatusCode::NOT_FOUND, text));
    }
    let body = stream::body(|mut pieces| async move {
        let Some(zone) = served_zone(&table, &name, query.view.as_deref()) else { return Ok(()) };
        // The form depends on all records. They are read here, where one reader at a time is served.
        let form = block_in_place(|| ZoneForm::of(&name, zone.present_sets()));
        pieces.text.extend_from_slice(form.head().as_bytes());
        let mut line = String::new();
        for sets in sets_by_name(zone, now() as u32) {
            sets.iter().for_each(|set| form.write(&mut line, set));
            pieces.text.extend_from_slice(line.as_bytes());
            line.clear();
            pieces.flow().await?;
        }
        pieces.send().await
    });
    Ok(([(CONTENT_TYPE, "text/plain; charset=utf-8")], body).into_response())
}

/// A zone of a view, else of the first that has it, where its content is known.
fn served_zone<'a>(table: &'a ViewTable, origin: &Name, view: Option<&str>) -> Option<&'a Zone> {
    let mut views = table.views.iter().filter(|(name, _)| view.is_none_or(|view| view == *name));
    views.find_map(|(_, zones)| zones.zone(origin)).map(|zone| &**zone).filter(|zone| zone.soa().is_some())
}

fn bad_request(error: impl std::fmt::Display) -> Refusal {
    (StatusCode::BAD_REQUEST, format!("{error}\n"))
}
