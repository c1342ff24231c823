//! What response codes mean (RFC 1035 section 4.1.1, RFC 2136 section 2.2).

use crate::Failure;

pub(crate) const NOERROR: u8 = 0;
pub(crate) const NXDOMAIN: u8 = 3;
pub(crate) const REFUSED: u8 = 5;
pub(crate) const NOTAUTH: u8 = 9;

/// What a response code says about the request as a whole.
pub(crate) fn failure(rcode: u8) -> Failure {
    match rcode {
        1 => Failure::Refused("FORMERR"),
        NXDOMAIN | 6..=8 => Failure::Changed,
        4 => Failure::Refused("NOTIMP"),
        REFUSED | NOTAUTH => Failure::Authentication,
        10 => Failure::NoZone,
        other => Failure::Server(u16::from(other)),
    }
}

/// What a failure of one name means where the server does take updates of the zone.
pub(crate) fn about_the_record(failure: Failure) -> Failure {
    match failure {
        Failure::Authentication => Failure::Refused("REFUSED"),
        Failure::NoZone => Failure::Refused("NOTZONE"),
        Failure::Server(_) => Failure::Refused("SERVFAIL"),
        Failure::TooLarge => Failure::Refused("TOO_LARGE"),
        other => other,
    }
}

/// Whether the server has answered at all, so that the next request may fare better.
pub(crate) fn is_an_answer(failure: &Failure) -> bool {
    !matches!(
        failure,
        Failure::Unreachable(_)
            | Failure::TimedOut
            | Failure::Forbidden
            | Failure::Unreadable
            | Failure::Endless
    )
}
