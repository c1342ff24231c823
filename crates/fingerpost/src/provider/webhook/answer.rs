//! Answers on their way out: a status, JSON, and the headers that some need.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use backends::webhook::protocol::{Code, Reply};
use http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderName, HeaderValue, Method, StatusCode};
use serde::Serialize;

use super::super::entrance::Refused;
use super::super::store::Trouble;
use crate::http::server::bodies::{BodyError, Held};
use crate::http::stream::{self, PIECE};

/// An answer.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) code: Option<Code>,
    body: Vec<u8>,
    header: Option<(HeaderName, String)>,
    held: Option<Held>,
}

impl Answer {
    pub(super) fn json(status: u16, value: &impl Serialize) -> Answer {
        // What we serialize are our own types, all of whose keys are texts.
        let body = serde_json::to_vec(value).unwrap_or_default();
        Answer { status, code: None, body, header: None, held: None }
    }

    pub(super) fn refused(trouble: Trouble) -> Answer {
        let Trouble { code, message } = trouble;
        let header = (code == Code::RateLimited).then(|| (RETRY_AFTER, "10".to_owned()));
        Answer { code: Some(code), header, ..Answer::json(code.status(), &Reply::refused(code, message)) }
    }

    /// The answer to a request that did not pass the entrance.
    pub(super) fn turned_away(refused: Refused) -> Answer {
        let (code, wait) = match &refused {
            Refused::Limited(wait) => (Code::RateLimited, Some(wait.as_secs() + 1)),
            Refused::Forbidden(_) => (Code::Forbidden, None),
            Refused::MediaType(_) => (Code::UnsupportedMediaType, None),
            Refused::Body(BodyError::TooLarge(_)) => (Code::TooLarge, None),
            Refused::Body(BodyError::Busy) => (Code::Unavailable, Some(5)),
            Refused::Body(BodyError::Late | BodyError::Broken) => (Code::InvalidRecord, None),
        };
        let answer = Answer::refused(Trouble { code, message: refused.to_string() });
        let header = wait.map(|seconds| (RETRY_AFTER, seconds.to_string()));
        Answer { header: header.or(answer.header.clone()), ..answer }
    }

    /// The answer to a request whose body stays in the budget until the answer has been read.
    pub(super) fn holding(self, held: Option<Held>) -> Answer {
        Answer { held, ..self }
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
        let (text, held) = (self.body, self.held);
        let body = match text.len() > PIECE {
            false => Body::from(text),
            true => stream::body(|mut pieces| async move {
                let _held = held;
                for piece in text.chunks(PIECE) {
                    pieces.text.extend_from_slice(piece);
                    pieces.send().await?;
                }
                Ok(())
            }),
        };
        let mut response = (status, [(CONTENT_TYPE, super::MEDIA_TYPE)], body).into_response();
        if let Some((name, value)) = self.header
            && let Ok(value) = HeaderValue::from_str(&value)
        {
            response.headers_mut().insert(name, value);
        }
        response
    }
}
