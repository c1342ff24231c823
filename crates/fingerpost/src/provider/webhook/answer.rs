//! Answers on their way out: a status, JSON, and the headers that some need.

use std::time::Duration;

use axum::response::{IntoResponse, Response};
use backends::webhook::protocol::{Code, Reply};
use http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderName, HeaderValue, Method, StatusCode};
use serde::Serialize;

use super::super::store::Trouble;

/// An answer.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) code: Option<Code>,
    body: Vec<u8>,
    header: Option<(HeaderName, String)>,
}

impl Answer {
    pub(super) fn json(status: u16, value: &impl Serialize) -> Answer {
        // What we serialize are our own types, all of whose keys are texts.
        let body = serde_json::to_vec(value).unwrap_or_default();
        Answer { status, code: None, body, header: None }
    }

    pub(super) fn refused(trouble: Trouble) -> Answer {
        let Trouble { code, message } = trouble;
        let header = (code == Code::RateLimited).then(|| (RETRY_AFTER, "10".to_owned()));
        Answer { code: Some(code), header, ..Answer::json(code.status(), &Reply::refused(code, message)) }
    }

    /// Too many requests; to be tried again after so long.
    pub(super) fn limited(wait: Duration) -> Answer {
        let message = "too many requests from this address".to_owned();
        let seconds = wait.as_secs() + 1;
        let header = Some((RETRY_AFTER, seconds.to_string()));
        Answer { header, ..Answer::refused(Trouble { code: Code::RateLimited, message }) }
    }

    pub(super) fn not_allowed(methods: &[Method]) -> Answer {
        let message = "this path has no such method".to_owned();
        let methods: Vec<&str> = methods.iter().map(Method::as_str).collect();
        let header = Some((ALLOW, methods.join(", ")));
        Answer { header, ..Answer::refused(Trouble { code: Code::MethodNotAllowed, message }) }
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, [(CONTENT_TYPE, "application/json")], self.body).into_response();
        if let Some((name, value)) = self.header
            && let Ok(value) = HeaderValue::from_str(&value)
        {
            response.headers_mut().insert(name, value);
        }
        response
    }
}
