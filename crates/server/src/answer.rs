//! From a query's octets to a response's octets. Pure: no IO, no clock, no chance.
//!
//! ```text
//!  octets ──► Query ──► Answer ──► octets
//!       query.rs   lookup.rs   message.rs
//!       edns.rs    chaos.rs    options.rs
//! ```
//!
//! Every response fits the client's size, echoes id and question, and has TC set exactly when
//! something that it needs did not fit.

use std::net::{IpAddr, Ipv4Addr};

use dns::Rtype;

use crate::steering::Asker;
use crate::{Identity, Rcode, ResponseKind, Zones, dnssec};

mod additional;
mod chaos;
pub(crate) mod edns;
mod lookup;
mod message;
pub(crate) mod options;
mod query;
mod reply;

use edns::ClientSubnet;
pub(crate) use lookup::NO_CONTENT;
pub use lookup::{Answer, ExtendedError, Step, lookup};
use message::Message;
pub(crate) use message::compressible;
use options::Offer;
use query::{Query, Question};
pub use reply::{CookieState, Reply};

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
    /// In an encrypted stream: the same, and its length may be hidden.
    Tls,
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
    /// What the server says about itself.
    pub identity: &'a Identity,
    /// How long a connection may wait for its next query, in tenths of a second (RFC 7828).
    pub keepalive: u16,
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
            identity: Identity::UNKNOWN,
            keepalive: 0,
            now: 0,
            draw: 0,
        }
    }
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
    respond_if(&mut |_| true, octets, around, out)
}

/// Like [`respond`], but asks whether the response may be sent before it is signed and written: neither is done
/// for a response that rate limiting holds back. Where it may not be sent, `out` is empty.
pub(crate) fn respond_if(
    may_send: &mut dyn FnMut(&Reply) -> bool,
    octets: &[u8],
    around: Circumstances<'_>,
    out: &mut Vec<u8>,
) -> Option<Reply> {
    out.clear();
    let query = Query::read(octets)?;
    let offer = Offer::new(&query, &around);
    let mut answer = decide(&query, &offer, &around);
    let unsigned = Reply::of(&query, &answer, &offer, false);
    if !may_send(&unsigned) {
        return Some(unsigned);
    }
    complete(&query, &mut answer, &around);
    let truncated = Message::new(&query, size(&query, around.transport), out).write(&answer, &offer);
    Some(Reply { rcode: answer.rcode, truncated, ..unsigned })
}

/// Writes what a client gets in place of a response past its limit: never longer than its query.
///
/// It is empty and truncated, so that a real client asks again over TCP. A client with a cookie
/// that is not ours gets a good one, with which it is not limited any more (RFC 7873 section 5.2.4).
pub fn respond_limited(octets: &[u8], around: Circumstances<'_>, out: &mut Vec<u8>) -> Option<Reply> {
    out.clear();
    let query = Query::read(octets)?;
    let offer = Offer::new(&query, &around).only_cookie();
    if offer.state == CookieState::Bad {
        let answer = Answer::failed(Rcode::BadCookie, None);
        // Without its cookie it would be of no use.
        Message::new(&query, usize::from(u16::MAX), out).write(&answer, &offer);
        if out.len() <= octets.len() {
            return Some(Reply::of(&query, &answer, &offer, false));
        }
        out.clear();
    }
    let answer = Answer::failed(Rcode::NoError, None);
    Message::new(&query, octets.len(), out).write_truncated();
    Some(Reply { kind: ResponseKind::Error, ..Reply::of(&query, &answer, &offer, true) })
}

/// How many octets the client takes.
fn size(query: &Query<'_>, transport: Transport) -> usize {
    let client = query.edns.map_or(SMALLEST_SIZE, |edns| edns.size);
    match transport {
        Transport::Udp => usize::from(client.clamp(SMALLEST_SIZE, UDP_SIZE)),
        Transport::Tcp | Transport::Tls => usize::from(u16::MAX),
    }
}

fn decide(query: &Query<'_>, offer: &Offer<'_>, around: &Circumstances<'_>) -> Answer {
    if let Some(rcode) = query.problem {
        return Answer::failed(rcode, unsupported(rcode));
    }
    if query.edns.is_some_and(|edns| edns.version > 0) {
        return Answer::failed(Rcode::BadVers, None);
    }
    match &query.question {
        Some(question) => decide_question(query, question, around),
        // Who sends no question may still want a cookie, or know whether it has a good one
        // (RFC 7873 section 5.4).
        None => Answer::failed(
            match offer.state {
                CookieState::Absent => Rcode::FormErr,
                CookieState::Bad => Rcode::BadCookie,
                CookieState::New | CookieState::Good => Rcode::NoError,
            },
            None,
        ),
    }
}

fn decide_question(query: &Query<'_>, question: &Question<'_>, around: &Circumstances<'_>) -> Answer {
    if question.class == query::CLASS_CHAOS {
        return chaos::answer(question, around.identity);
    }
    if let Some(rcode) = refusal(question) {
        return Answer::failed(rcode, unsupported(rcode));
    }
    let sight = around.sight;
    let mut answer = match sight.zones {
        Some(zones) => lookup(zones, &question.name, question.rtype, &asker(query.subnet(), around)),
        None => Answer::failed(Rcode::Refused, Some(ExtendedError::no_view())),
    };
    // Before it is signed: a compact proof denies a name with NOERROR (RFC 9824 section 3.1).
    if !sight.synced && matches!(answer.rcode, Rcode::NxDomain | Rcode::Refused) {
        answer = Answer::failed(Rcode::ServFail, Some(ExtendedError::not_synced()));
    }
    answer
}

/// Adds what a validator needs to an answer from zones.
fn complete(query: &Query<'_>, answer: &mut Answer, around: &Circumstances<'_>) {
    let from_zones = |question: &&Question<'_>| question.class != query::CLASS_CHAOS;
    let Some(question) = query.question.as_ref().filter(from_zones) else { return };
    let sight = around.sight;
    if let Some(zones) = sight.zones {
        dnssec::secure(zones, answer, wish(query, question, sight.synced), around.now);
    }
    // An answer to any class cannot speak for all of them (RFC 1035 section 6.2).
    answer.authoritative &= question.class == query::CLASS_IN;
}

/// What a client that validates needs to do so.
fn wish(query: &Query<'_>, question: &Question<'_>, synced: bool) -> dnssec::Wish {
    let (dnssec_ok, compact_ok) = query.edns.map_or((false, false), |edns| (edns.dnssec_ok, edns.compact_ok));
    dnssec::Wish { rtype: question.rtype, dnssec_ok, compact_ok, synced }
}

/// Who asks: the network that the client names (RFC 7871), else where the query came from.
pub(crate) fn asker(subnet: Option<&ClientSubnet<'_>>, around: &Circumstances<'_>) -> Asker {
    let subnet = subnet.filter(|subnet| subnet.source_prefix > 0);
    match subnet {
        Some(subnet) => Asker { address: subnet.address, prefix: subnet.source_prefix, draw: around.draw },
        None => Asker::at(around.client, around.draw),
    }
}

/// What is answered without a look into any zone.
fn refusal(question: &Question<'_>) -> Option<Rcode> {
    match question.rtype {
        // None can be asked for: type 0 is reserved, OPT lives in messages only, and NXNAME in
        // NSEC records only (RFC 9824 section 3.5).
        Rtype(0) | Rtype::OPT | dnssec::NXNAME => Some(Rcode::FormErr),
        Rtype::AXFR | Rtype::IXFR => Some(Rcode::Refused),
        Rtype::ANY => None,
        // The other meta types and question types (RFC 6895 section 3.1).
        Rtype(128..=254) => Some(Rcode::NotImp),
        _ => None,
    }
    .or_else(|| (!matches!(question.class, query::CLASS_IN | query::CLASS_ANY)).then_some(Rcode::Refused))
}

/// The reason for what is answered without a look into any zone.
fn unsupported(rcode: Rcode) -> Option<ExtendedError> {
    match rcode {
        Rcode::NotImp => Some(ExtendedError::not_supported()),
        Rcode::Refused => Some(ExtendedError::prohibited()),
        _ => None,
    }
}
