//! Errors of every page as JSON, whichever part of the server they come from.
//!
//! ```text
//! {"error": {"status": 404, "code": "NotFound", "message": "no view serves a zone example.org."}}
//! ```

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderValue, StatusCode};
use serde::Deserialize;
use serde_json::json;

/// What a text may have that is made into a message.
const LONGEST: usize = 16 << 10;
/// Pages whose readers are probes of a cluster, and people: what they report stays as it is.
const TEXTS: [&str; 3] = ["/healthz", "/readyz", "/metrics"];

/// How the router begins what is wrong with a query.
const QUERY: &str = "Failed to deserialize query string: ";

/// How the error of an unknown path begins.
pub const NO_PAGE: &str = "there is no such page";

/// A router whose errors are JSON, unknown paths included.
pub(super) fn as_json(router: Router) -> Router {
    let unknown = || async {
        (StatusCode::NOT_FOUND, format!("{NO_PAGE} here: `/` of the address in --api lists them\n"))
    };
    converting(router.fallback(unknown))
}

/// A router whose errors are JSON; it says itself what an unknown path is.
pub(super) fn converting(router: Router) -> Router {
    router.layer(from_fn(pass))
}

async fn pass(request: Request, next: Next) -> Response {
    let is_health_page = TEXTS.contains(&request.uri().path());
    let response = next.run(request).await;
    let status = response.status();
    let is_report = is_health_page && status.is_server_error();
    let is_error = status.is_client_error() || status.is_server_error();
    if is_error && !is_report { converted(response).await } else { response }
}

async fn converted(response: Response) -> Response {
    let (mut head, body) = response.into_parts();
    let text = to_bytes(body, LONGEST).await.unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let (status, reason) = (head.status, head.status.canonical_reason().unwrap_or("Unknown"));
    let message = if text.trim().is_empty() { reason.to_owned() } else { text.trim().to_owned() };
    let message =
        message.strip_prefix(QUERY).map_or(message.clone(), |wrong| format!("in the query: {wrong}"));
    let code: String = reason.split(' ').collect();
    let body = json!({"error": {"status": status.as_u16(), "code": code, "message": message}});
    head.headers.remove(CONTENT_LENGTH);
    head.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Response::from_parts(head, Body::from(body.to_string() + "\n"))
}

/// The message of an error, as a client of a running instance of any version gets it.
pub fn message(body: &str) -> String {
    #[derive(Deserialize)]
    struct Reply {
        error: Message,
    }
    #[derive(Deserialize)]
    struct Message {
        message: String,
    }
    let reply: Option<Reply> = serde_json::from_str(body).ok();
    reply.map_or_else(|| body.trim().to_owned(), |reply| reply.error.message)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use axum::routing::get;
    use http::Method;
    use rstest::rstest;
    use serde_json::Value;
    use tower::ServiceExt;

    use super::*;

    async fn send(path: &str) -> (StatusCode, String, String) {
        send_by(Method::GET, path).await
    }

    async fn send_by(method: Method, path: &str) -> (StatusCode, String, String) {
        let router = Router::new()
            .route("/good", get(|| async { "good" }))
            .route("/bad", get(|| async { (StatusCode::CONFLICT, "two \"lines\"\nof it\n") }))
            .route("/healthz", get(|| async { (StatusCode::SERVICE_UNAVAILABLE, "no\n") }));
        let request = Request::builder().method(method).uri(path).body(Body::empty()).unwrap();
        let response = as_json(router).oneshot(request).await.unwrap();
        let kind = response.headers()[CONTENT_TYPE].to_str().unwrap().to_owned();
        let status = response.status();
        let body = to_bytes(response.into_body(), LONGEST).await.unwrap();
        (status, kind, String::from_utf8(body.to_vec()).unwrap())
    }

    #[rstest]
    #[case("/bad", 409, "Conflict", "two \"lines\"\nof it")]
    #[case("/none", 404, "NotFound", "there is no such page here: `/` of the address in --api lists them")]
    #[tokio::test]
    async fn an_error_is_json(
        #[case] path: &str,
        #[case] status: u16,
        #[case] code: &str,
        #[case] text: &str,
    ) {
        let (found, kind, body) = send(path).await;
        assert_eq!((found.as_u16(), &*kind), (status, "application/json"));
        let error: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(error, json!({"error": {"status": status, "code": code, "message": text}}));
        assert_eq!(message(&body), text);
    }

    #[rstest]
    #[case("/good")]
    #[case("/healthz")]
    #[tokio::test]
    async fn a_method_that_a_page_does_not_take_is_json(#[case] path: &str) {
        let (status, kind, body) = send_by(Method::POST, path).await;
        assert_eq!((status, &*kind), (StatusCode::METHOD_NOT_ALLOWED, "application/json"));
        assert_eq!(message(&body), "Method Not Allowed");
    }

    #[tokio::test]
    async fn what_is_no_error_and_what_probes_read_stays() {
        assert_eq!(send("/good").await.2, "good");
        assert_eq!(send("/healthz").await.2, "no\n");
        assert_eq!(message("an older version says\n"), "an older version says");
    }
}
