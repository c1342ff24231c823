//! From a query's octets to a response's octets. Pure: no IO, no clock, no chance.
//!
//! ```text
//!  octets ──► Query ──► Answer ──► octets
//!       query.rs   lookup.rs   message.rs
//! ```
//!
//! Every response fits the client's size, echoes id and question, and has TC set exactly when
//! something that it needs did not fit.

use std::net::{IpAddr, Ipv4Addr};

use dns::Rtype;

use crate::{Rcode, Zones};

mod additional;
mod lookup;
mod message;
mod query;

pub use lookup::{Answer, ExtendedError, Step, lookup};
use message::Message;
use query::{Query, Question};

/// The largest UDP message that we send or ask for; it passes without fragments nearly everywhere.
pub(crate) const UDP_SIZE: u16 = 1232;
/// What a client without EDNS takes (RFC 1035 section 4.2.1).
pub(crate) const SMALLEST_SIZE: u16 = 512;

/// How a query arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// In a datagram: the response is limited to what the client takes.
    Udp,
    /// In a stream: the response is limited to 65,535 octets.
    Tcp,
}

/// What a client can see.
#[derive(Clone, Copy, Debug)]
pub struct Sight<'a> {
    /// The zones of its view; without a view it is refused.
    pub zones: Option<&'a Zones>,
    /// Whether the world has been read once; until then nothing is said not to exist.
    pub synced: bool,
}

/// What an answer depends on beside the question.
#[derive(Clone, Copy, Debug)]
pub struct Circumstances<'a> {
    /// What the client can see.
    pub sight: Sight<'a>,
    /// Where the query came from.
    pub client: IpAddr,
    /// How it came.
    pub transport: Transport,
    /// The time, in seconds since 1970.
    pub now: u32,
    /// A number drawn for this query, for whatever is left to chance.
    pub draw: u64,
}

impl<'a> Circumstances<'a> {
    /// A query over UDP from nowhere in particular, at no particular time.
    pub fn plain(sight: Sight<'a>) -> Circumstances<'a> {
        Circumstances {
            sight,
            client: Ipv4Addr::LOCALHOST.into(),
            transport: Transport::Udp,
            now: 0,
            draw: 0,
        }
    }
}

/// What a response says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Its code.
    pub rcode: Rcode,
    /// Whether the TC bit is set.
    pub truncated: bool,
}

/// Answers a query from zones that are synced; false means that there is no response at all.
pub fn answer(query: &[u8], zones: &Zones, transport: Transport, out: &mut Vec<u8>) -> bool {
    let sight = Sight { zones: Some(zones), synced: true };
    respond(query, Circumstances { transport, ..Circumstances::plain(sight) }, out).is_some()
}

/// Answers a query into `out`, which is cleared first.
///
/// `None` means that there is no response at all: the message is a response itself, or shorter
/// than a header. Answering those would let two servers talk to each other for ever.
pub fn respond(octets: &[u8], around: Circumstances<'_>, out: &mut Vec<u8>) -> Option<Reply> {
    out.clear();
    let query = Query::read(octets)?;
    let answer = decide(&query, around.sight);
    let truncated = Message::new(&query, size(&query, around.transport), out).write(&answer);
    Some(Reply { rcode: answer.rcode, truncated })
}

/// How many octets the client takes.
fn size(query: &Query<'_>, transport: Transport) -> usize {
    let client = query.edns.map_or(SMALLEST_SIZE, |edns| edns.size);
    match transport {
        Transport::Udp => usize::from(client.clamp(SMALLEST_SIZE, UDP_SIZE)),
        Transport::Tcp => usize::from(u16::MAX),
    }
}

fn decide(query: &Query<'_>, sight: Sight<'_>) -> Answer {
    let question = match (&query.question, query.problem) {
        (_, Some(rcode)) => return Answer::failed(rcode, None),
        (None, None) => return Answer::failed(Rcode::FormErr, None),
        (Some(question), None) => question,
    };
    if query.edns.is_some_and(|edns| edns.version > 0) {
        return Answer::failed(Rcode::BadVers, None);
    }
    if let Some(rcode) = refusal(question) {
        return Answer::failed(rcode, None);
    }
    let mut answer = match sight.zones {
        Some(zones) => lookup(zones, &question.name, question.rtype),
        None => Answer::failed(Rcode::Refused, Some(ExtendedError::not_authoritative())),
    };
    if !sight.synced && matches!(answer.rcode, Rcode::NxDomain | Rcode::Refused) {
        answer = Answer::failed(Rcode::ServFail, Some(ExtendedError::not_synced()));
    }
    // An answer to any class cannot speak for all of them (RFC 1035 section 6.2).
    answer.authoritative &= question.class == query::CLASS_IN;
    answer
}

/// What is answered without a look into any zone.
fn refusal(question: &Question<'_>) -> Option<Rcode> {
    match question.rtype {
        // Neither can be asked for: type 0 is reserved, and OPT lives in messages only.
        Rtype(0) | Rtype::OPT => Some(Rcode::FormErr),
        Rtype::AXFR | Rtype::IXFR => Some(Rcode::Refused),
        Rtype::ANY => None,
        // The other meta types and question types (RFC 6895 section 3.1).
        Rtype(128..=254) => Some(Rcode::NotImp),
        _ => None,
    }
    .or_else(|| (!matches!(question.class, query::CLASS_IN | query::CLASS_ANY)).then_some(Rcode::Refused))
}
