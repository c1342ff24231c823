//! What a server's answers mean.

use serde::de::DeserializeOwned;

use super::super::protocol::{BatchReply, Change, Code, Health, Record, Reply};
use crate::transport::http::Answer;
use crate::{Failure, Obstacle};

/// An answer that is not a failure.
pub(super) enum Meaning {
    /// It is done, or found.
    Done(Option<Record>),
    /// There is no such record.
    Absent,
}

/// The health that an answer tells; an unhealthy server says so with 503 or in its status.
pub(super) fn health(answer: &Answer) -> Result<Health, Failure> {
    match answer.status.as_u16() {
        200 => parsed(answer),
        _ => Err(answer.failure()),
    }
}

/// What the answer to a request about one record means.
pub(super) fn of_record(answer: &Answer) -> Result<Meaning, Failure> {
    match answer.status.as_u16() {
        200..=299 => {
            let reply: Reply = parsed(answer)?;
            of_reply(reply, 500)
        }
        404 => of_missing(answer),
        status @ (400 | 409 | 422) => Err(refusal(parsed::<Reply>(answer).ok().as_ref(), status)),
        _ => Err(answer.failure()),
    }
}

/// What the answer to a batch means, change by change.
pub(super) fn of_batch(answer: &Answer, changes: &[Change]) -> Result<Vec<Result<(), Failure>>, Failure> {
    match answer.status.as_u16() {
        200..=299 => {}
        status @ (400 | 409 | 422) => return Err(refusal(parsed::<Reply>(answer).ok().as_ref(), status)),
        _ => return Err(answer.failure()),
    }
    let BatchReply { results, .. } = parsed(answer)?;
    if results.len() != changes.len() {
        return Err(Failure::Unreadable);
    }
    let each =
        results.into_iter().zip(changes).map(|(reply, change)| match (of_reply(reply, 500)?, change) {
            (Meaning::Absent, Change::Upsert { .. }) => Err(Failure::Unreadable),
            _ => Ok(()),
        });
    Ok(each.collect())
}

fn of_reply(reply: Reply, status: u16) -> Result<Meaning, Failure> {
    match (reply.success, reply.code()) {
        (true, _) => Ok(Meaning::Done(reply.record)),
        (false, Some(Code::RecordNotFound)) => Ok(Meaning::Absent),
        (false, _) => Err(refusal(Some(&reply), status)),
    }
}

/// A 404 proves that there is no record only where it is the protocol's: one by a proxy in between, with a
/// page of its own, says nothing about the record.
fn of_missing(answer: &Answer) -> Result<Meaning, Failure> {
    if answer.body.is_empty() {
        return Ok(Meaning::Absent);
    }
    match parsed::<Reply>(answer) {
        Ok(reply) if !reply.success && reply.code() != Some(Code::UnknownPath) => Ok(Meaning::Absent),
        _ => Err(Failure::Server(404)),
    }
}

/// What a refusal means, by its code and else by its status.
fn refusal(reply: Option<&Reply>, status: u16) -> Failure {
    let code = reply.and_then(Reply::code);
    match code {
        Some(
            Code::InvalidRecord
            | Code::InvalidDomain
            | Code::InvalidValue
            | Code::QuotaExceeded
            | Code::RecordNotOwned,
        ) => Failure::Refused(code.map(Code::as_str).unwrap_or_default()),
        Some(Code::StaleGeneration) => Failure::Fenced,
        Some(Code::RateLimited) => Failure::Limited(None),
        Some(Code::AuthFailed | Code::TimestampStale | Code::NonceReused) => Failure::Authentication,
        Some(Code::TooLarge) => Failure::TooLarge,
        Some(Code::Unavailable) => Failure::Unreachable(Obstacle::Unavailable),
        Some(_) => Failure::Server(status),
        None if matches!(status, 400 | 422) => Failure::Refused(Code::InvalidRecord.as_str()),
        None if status == 409 => Failure::Changed,
        None => Failure::Server(status),
    }
}

fn parsed<T: DeserializeOwned>(answer: &Answer) -> Result<T, Failure> {
    serde_json::from_slice(&answer.body).map_err(|_| Failure::Unreadable)
}
