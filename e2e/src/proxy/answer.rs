//! What a caller gets: the API server's answer, or the fault that a rule has for it.

use std::convert::Infallible;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use http::request::Parts;
use http::{Request, Response};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use serde_json::json;

use super::fault::Fault;
use super::relay::{self, Change};
use super::{Call, State};

/// A body that may break.
pub(super) type Body = BoxBody<Bytes, anyhow::Error>;

/// Answers one call; an error breaks the connection.
pub(super) async fn answer(state: Arc<State>, request: Request<Incoming>) -> Result<Response<Body>> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let (call, fault) = state.arrived(Call::new(&parts, &body));
    match fault {
        None => pass_on(&state, &call, parts, body, Change::Nothing).await,
        Some(Fault::Status(code)) => Ok(refusal(status(code))),
        Some(Fault::NoStreaming) => Ok(refusal(no_streaming())),
        Some(Fault::Hang) => std::future::pending().await,
        Some(Fault::Drop) => bail!("dropped"),
        Some(Fault::Delay(time)) => {
            tokio::time::sleep(time).await;
            pass_on(&state, &call, parts, body, Change::Nothing).await
        }
        Some(Fault::Before(hook)) => {
            hook();
            bail!("dropped after the hook")
        }
        Some(Fault::DropAnswer) => swallow(&state, &call, parts, body).await,
        Some(Fault::After(hook)) => {
            let swallowed = swallow(&state, &call, parts, body).await;
            hook();
            swallowed
        }
        Some(Fault::Truncate(events)) => pass_on(&state, &call, parts, body, Change::Truncate(events)).await,
        Some(Fault::EmptyList) => pass_on(&state, &call, parts, body, Change::Empty).await,
        Some(Fault::WatchError(code)) => Ok(watch_error(code)),
        Some(Fault::Double) => pass_on(&state, &call, parts, body, Change::Double).await,
    }
}

/// Lets the API server answer in full and breaks the connection.
async fn swallow(state: &State, call: &Call, parts: Parts, body: Bytes) -> Result<Response<Body>> {
    ask(state, call, parts, body).await?.into_body().collect().await?;
    bail!("the answer was dropped")
}

async fn pass_on(
    state: &State,
    call: &Call,
    parts: Parts,
    body: Bytes,
    change: Change,
) -> Result<Response<Body>> {
    let (mut parts, body) = ask(state, call, parts, body).await?.into_parts();
    if change == Change::Nothing {
        return Ok(Response::from_parts(parts, body.map_err(anyhow::Error::from).boxed()));
    }
    // The length will be another, or unknown.
    parts.headers.remove(CONTENT_LENGTH);
    parts.headers.remove(TRANSFER_ENCODING);
    let changed =
        if call.is_watch() { relay::watch(body, change) } else { relay::list(body, change).await? };
    Ok(Response::from_parts(parts, changed))
}

/// Asks the API server and writes down what code it answered.
async fn ask(state: &State, call: &Call, mut parts: Parts, body: Bytes) -> Result<Response<Incoming>> {
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    parts.uri = format!("{}{path}", state.upstream).parse().context("the path makes no URL")?;
    parts.headers.remove(HOST);
    // What is to be changed has to be readable.
    parts.headers.remove(ACCEPT_ENCODING);
    parts.headers.remove(TRANSFER_ENCODING);
    parts.headers.remove(CONTENT_LENGTH);
    let response = state.client.request(Request::from_parts(parts, Full::new(body))).await?;
    state.answered(call, response.status().as_u16());
    Ok(response)
}

fn refusal(status: serde_json::Value) -> Response<Body> {
    let code = status["code"].as_u64().and_then(|code| u16::try_from(code).ok()).unwrap_or(500);
    let mut response = Response::new(text(status.to_string()));
    *response.status_mut() = http::StatusCode::from_u16(code).unwrap_or(http::StatusCode::BAD_GATEWAY);
    if code == 429 {
        response.headers_mut().insert("retry-after", http::HeaderValue::from_static("1"));
    }
    as_json(response)
}

fn watch_error(code: u16) -> Response<Body> {
    as_json(Response::new(text(format!("{}\n", json!({"type": "ERROR", "object": status(code)})))))
}

fn as_json(mut response: Response<Body>) -> Response<Body> {
    let content_type = http::HeaderValue::from_static("application/json");
    response.headers_mut().insert("content-type", content_type);
    response
}

/// An object of kind Status, as the API server makes them.
fn status(code: u16) -> serde_json::Value {
    let reason = match code {
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "NotFound",
        409 => "Conflict",
        410 => "Expired",
        422 => "Invalid",
        429 => "TooManyRequests",
        503 => "ServiceUnavailable",
        504 => "Timeout",
        _ => "InternalError",
    };
    let message = format!("the proxy was told to answer {code}");
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
           "message": message, "reason": reason, "code": code})
}

fn no_streaming() -> serde_json::Value {
    let mut status = status(422);
    status["message"] = json!("sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch");
    status
}

pub(super) fn text(text: String) -> Body {
    Full::new(Bytes::from(text)).map_err(|never: Infallible| match never {}).boxed()
}
