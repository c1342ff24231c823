//! What a response says about itself, to those who count and limit responses.

use super::lookup::{Answer, Step};
use super::options::Offer;
use super::query::Query;
use crate::rate_limit::subject;
use crate::{Rcode, ResponseKind};

/// What a response says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Its code.
    pub rcode: Rcode,
    /// Whether the TC bit is set.
    pub truncated: bool,
    /// What rate limiting takes it for.
    pub kind: ResponseKind,
    /// A number for what it is about: a name, or a zone.
    pub subject: u64,
    /// What came of the client's cookie.
    pub cookie: CookieState,
}

/// What came of a client's cookie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CookieState {
    /// There was none, or this server has no cookies.
    #[default]
    Absent,
    /// The client has none of ours yet and got one.
    New,
    /// It is ours: the client is where it says to be, and is not limited.
    Good,
    /// It is not ours, or too old; the client got a new one.
    Bad,
}

impl Reply {
    /// A whole response outside of rate limits and cookies.
    pub(crate) const fn plain(rcode: Rcode) -> Reply {
        let (kind, cookie) = (ResponseKind::Answer, CookieState::Absent);
        Reply { rcode, truncated: false, kind, subject: 0, cookie }
    }

    pub(super) fn of(query: &Query<'_>, answer: &Answer, offer: &Offer<'_>, truncated: bool) -> Reply {
        let (kind, subject) = limited_as(query, answer);
        Reply { rcode: answer.rcode, truncated, kind, subject, cookie: offer.state }
    }
}

/// What a response counts as: random names below a wildcard, a DNAME or a cut are one subject,
/// and so are those that a zone does not have.
fn limited_as(query: &Query<'_>, answer: &Answer) -> (ResponseKind, u64) {
    let kind = kind(answer);
    let steps = &answer.steps;
    let name = match kind {
        ResponseKind::Error => None,
        ResponseKind::NoData | ResponseKind::NxDomain => steps.iter().rev().find_map(|step| match step {
            Step::Zone { origin, .. } => Some(origin),
            _ => None,
        }),
        ResponseKind::Referral | ResponseKind::Answer => steps.iter().find_map(|step| match step {
            Step::Wildcard { wildcard: name, .. }
            | Step::Dname { owner: name, .. }
            | Step::Referral(name) => Some(name),
            _ => None,
        }),
    };
    let asked = query.question.as_ref().filter(|_| kind != ResponseKind::Error);
    let octets = name.map(dns::Name::to_wire).or_else(|| asked.map(|question| question.name.to_wire()));
    (kind, octets.map_or(0, |octets| subject(&octets)))
}

fn kind(answer: &Answer) -> ResponseKind {
    if !matches!(answer.rcode, Rcode::NoError | Rcode::NxDomain | Rcode::YxDomain) {
        return ResponseKind::Error;
    }
    let kind = answer.steps.iter().rev().find_map(|step| match step {
        Step::NxDomain(_) => Some(ResponseKind::NxDomain),
        Step::NoData(_) => Some(ResponseKind::NoData),
        Step::Referral(_) => Some(ResponseKind::Referral),
        _ => None,
    });
    kind.unwrap_or(ResponseKind::Answer)
}
