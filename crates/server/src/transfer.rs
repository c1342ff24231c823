//! Zones to other servers: AXFR (RFC 5936), IXFR (RFC 1995), NOTIFY (RFC 1996), signatures
//! (RFC 8945) and catalog zones (RFC 9432).
//!
//! ```text
//!  ViewTable ── a serial moved ──► Archive: newest version and steps, bounded
//!                                      │
//!  query ──► attend ──┬─ not for us ───┼──► answered as any other
//!                     ├─ signed ───────┼──► answered as any other, and signed
//!                     └─ AXFR, IXFR ───┴──► Stream ──► messages
//! ```
//!
//! Without settings every transfer is refused. A transfer reads one version of its zone however
//! long it takes, and that version is settled: its serial stands for its content and no other.
//! Everything but [`notify`] is pure: the clock is an argument.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use dns::{Name, Rtype};

use crate::answer::respond_if;
use crate::dnssec::transfer_time;
use crate::{
    Circumstances, EndpointId, Network, Rcode, Reply, ResponseKind, Transport, ViewTable, Zone, Zones,
};

mod archive;
mod catalog;
mod content;
mod history;
mod notify;
mod page;
mod refusal;
mod request;
mod step;
mod stream;
mod tsig;

use archive::Offer;
pub use archive::{Archive, TransferEvent};
pub use catalog::Catalog;
pub use content::content;
pub use notify::{Notice, notify};
use refusal::Refusal;
use request::{Request, Signature, Unreadable, is_response, may_concern};
use stream::{Sets, incremental, whole};
pub use stream::{Stream, TooLong};
use tsig::{Signer, TsigError};
pub use tsig::{TsigAlgorithm, TsigKey};

const CLASS_IN: u16 = 1;
/// The limits of what a client is sent in one datagram.
const DATAGRAM: (u16, u16) = (512, 1232);

/// Who may transfer the zones of a view, and who is told of changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransferSettings {
    /// The networks that may transfer; without any the keys alone decide.
    pub to: Vec<Network>,
    /// Who is notified.
    pub notify: Vec<SocketAddr>,
    /// The keys that a transfer must be signed with, any of them; without one the address decides.
    pub keys: Vec<TsigKey>,
}

impl TransferSettings {
    /// Whether a client may transfer; where nothing is said, nobody may.
    fn permit(&self, client: IpAddr, is_signed: bool) -> bool {
        let is_near = self.to.iter().any(|network| network.contains(client));
        match (self.to.is_empty(), self.keys.is_empty()) {
            (true, true) => false,
            (true, false) => is_signed,
            (false, true) => is_near,
            (false, false) => is_near && is_signed,
        }
    }
}

/// Where a query came in, and what it may lead to.
#[derive(Clone, Copy, Debug)]
pub struct Door<'a> {
    /// What is served.
    pub table: &'a ViewTable,
    /// What is transferred.
    pub archive: &'a Archive,
    /// Which listening address it came in at.
    pub endpoint: EndpointId,
    /// The time in seconds since 1970.
    pub now: u64,
}

/// What became of a query.
#[derive(Debug)]
pub enum Attended {
    /// It has nothing to do with transfers: it is for plain answering.
    Plain,
    /// It gets no response.
    Silent,
    /// The response is written.
    Replied(Reply),
    /// The response is many messages.
    Streaming(Stream),
}

/// Answers a query that is signed, or asks for a transfer or a catalog. `out` has the response.
pub fn attend(octets: &[u8], door: Door<'_>, around: Circumstances<'_>, out: &mut Vec<u8>) -> Attended {
    attend_if(&mut |_| true, octets, door, around, out)
}

/// Like [`attend`], but asks of an answer from zones whether it may be sent before it is signed. Where it may not,
/// `out` is empty.
pub(crate) fn attend_if(
    may_send: &mut dyn FnMut(&Reply) -> bool,
    octets: &[u8],
    door: Door<'_>,
    around: Circumstances<'_>,
    out: &mut Vec<u8>,
) -> Attended {
    // Plain answering says nothing to a response; a word to one could go back and forth for ever.
    if is_response(octets) || !may_concern(octets) && door.table.catalogs.is_empty() {
        return Attended::Plain;
    }
    let request = match Request::read(octets) {
        Ok(request) => request,
        Err(Unreadable::Message) => return Attended::Plain,
        Err(Unreadable::Signature { question }) => {
            return replied(refusal::malformed(octets, question, out));
        }
    };
    let visit = Visit::new(&request, door, around);
    match &request.signature {
        None => visit.attend(None, may_send, out),
        Some(found) => match tsig::verify(octets, found, &visit.settings.keys, door.now) {
            Ok(signer) => visit.attend(Some(signer), may_send, out),
            Err(error) => {
                door.archive.count(TransferEvent::BadSignature);
                tracing::debug!(client = %around.client, key = %found.name, %error, "signature refused");
                Attended::Replied(visit.bad_signature(error, found, out))
            }
        },
    }
}

fn replied(rcode: Rcode) -> Attended {
    Attended::Replied(reply(rcode))
}

fn reply(rcode: Rcode) -> Reply {
    let kind = if rcode == Rcode::NoError { ResponseKind::Answer } else { ResponseKind::Error };
    Reply { kind, ..Reply::plain(rcode) }
}

/// One query with what decides over it.
struct Visit<'a> {
    request: &'a Request<'a>,
    door: Door<'a>,
    around: Circumstances<'a>,
    view: &'a str,
    settings: Arc<TransferSettings>,
}

impl<'a> Visit<'a> {
    fn new(request: &'a Request<'a>, door: Door<'a>, around: Circumstances<'a>) -> Visit<'a> {
        let endpoint = door.table.endpoints.get(&door.endpoint);
        let view = endpoint.and_then(|endpoint| endpoint.view_of(around.client)).unwrap_or_default();
        let settings = door.table.transfers.get(view).cloned().unwrap_or_default();
        Visit { request, door, around, view, settings }
    }

    fn attend(
        &self,
        signer: Option<Signer>,
        may_send: &mut dyn FnMut(&Reply) -> bool,
        out: &mut Vec<u8>,
    ) -> Attended {
        if self.is_transfer() {
            return self.transfer(signer, out);
        }
        let catalog = self.catalog().filter(|_| self.permits(signer.as_ref()));
        if signer.is_none() && catalog.is_none() {
            return Attended::Plain;
        }
        let mut around = self.around;
        around.sight.zones = catalog.or(around.sight.zones);
        match respond_if(may_send, &self.request.unsigned(), around, out) {
            None => Attended::Silent,
            Some(reply) => Attended::Replied(self.signed(reply, signer, out)),
        }
    }

    /// Whether it asks for a transfer in words that we know: plain answering says what is wrong with the
    /// opcode or with the version of EDNS.
    fn is_transfer(&self) -> bool {
        let is_wanted = matches!(self.request.question.rtype, Rtype::AXFR | Rtype::IXFR);
        is_wanted && self.request.is_plain_query() && self.request.version == 0
    }

    fn permits(&self, signer: Option<&Signer>) -> bool {
        self.settings.permit(self.around.client, signer.is_some())
    }

    /// The catalog of the view, where the question is about it.
    fn catalog(&self) -> Option<&'a Zones> {
        let zones = self.door.table.catalogs.get(self.view)?;
        zones.find(&self.request.question.name).map(|_| zones)
    }

    /// Answers a query whose signature does not hold.
    fn bad_signature(&self, error: TsigError, found: &Signature<'_>, out: &mut Vec<u8>) -> Reply {
        let (keys, now) = (&self.settings.keys, self.door.now);
        refusal::begin(self.request.head, self.request.question.octets, Rcode::NotAuth, out);
        let append = |out: &mut Vec<u8>| tsig::answer_error(error, found, keys, now, out);
        self.with_tsig(reply(Rcode::NotAuth), append, out)
    }

    /// Signs a response; one that is not sent is not signed either.
    fn signed(&self, reply: Reply, signer: Option<Signer>, out: &mut Vec<u8>) -> Reply {
        let Some(signer) = signer.filter(|_| !out.is_empty()) else { return reply };
        self.with_tsig(reply, |out| signer.clone().sign(out, self.door.now), out)
    }

    /// Appends a TSIG record. Where the response is too long with it, the question and the TSIG record are left,
    /// with TC set and no error (RFC 8945 section 5.3): the client asks again over TCP. Where long names make even
    /// that too long, the question alone is left.
    fn with_tsig(&self, reply: Reply, append: impl Fn(&mut Vec<u8>), out: &mut Vec<u8>) -> Reply {
        append(out);
        if out.len() <= self.longest() {
            return reply;
        }
        refusal::cut_off(out, self.request.question.octets);
        append(out);
        if out.len() > self.longest() {
            refusal::cut_off(out, self.request.question.octets);
        }
        Reply { rcode: Rcode::NoError, truncated: true, ..reply }
    }

    /// How long a response may be.
    fn longest(&self) -> usize {
        if self.around.transport == Transport::Udp { self.datagram() } else { usize::from(u16::MAX) }
    }

    fn datagram(&self) -> usize {
        let (least, most) = DATAGRAM;
        usize::from(self.request.size.unwrap_or(least).clamp(least, most))
    }

    fn transfer(&self, signer: Option<Signer>, out: &mut Vec<u8>) -> Attended {
        match self.offer(signer.as_ref()) {
            Ok(offer) => self.give(offer, signer, out),
            Err(refusal) => {
                self.door.archive.count(TransferEvent::Refused);
                tracing::debug!(client = %self.around.client, zone = %self.request.question.name, %refusal, "transfer refused");
                let rcode = refusal.write(self.request, out);
                Attended::Replied(self.signed(reply(rcode), signer, out))
            }
        }
    }

    fn offer(&self, signer: Option<&Signer>) -> Result<Offer, Refusal> {
        let question = &self.request.question;
        if !self.permits(signer) {
            return Err(self.why_not(signer));
        }
        if question.class != CLASS_IN {
            return Err(Refusal::NotHere);
        }
        let zone = self.zone(&question.name)?;
        let is_datagram = self.around.transport == Transport::Udp;
        let serial = match question.rtype {
            Rtype::IXFR => Some(self.request.serial.ok_or(Refusal::NoSerial)?),
            _ if is_datagram => return Err(Refusal::Datagram),
            _ => None,
        };
        let archive = self.door.archive;
        if is_datagram {
            // Whoever answers datagrams waits for nothing; over TCP the client learns the rest.
            return Ok(archive.offer_at_once(self.view, &zone, serial).unwrap_or(Offer::Later(zone)));
        }
        let offer = archive.offer(self.view, &zone, serial);
        offer.ok_or(Refusal::Unavailable)
    }

    fn why_not(&self, signer: Option<&Signer>) -> Refusal {
        match (self.settings.keys.is_empty() && self.settings.to.is_empty(), signer) {
            (true, _) => Refusal::NobodyMay,
            (false, None) if !self.settings.keys.is_empty() => Refusal::Unsigned,
            _ => Refusal::Address,
        }
    }

    /// The settled version of the zone with this apex.
    fn zone(&self, origin: &Name) -> Result<Arc<Zone>, Refusal> {
        if let Some(zone) = self.catalog().and_then(|zones| zones.zone(origin)) {
            return Ok(Arc::clone(zone));
        }
        let table = self.door.table;
        if !table.synced {
            return Err(Refusal::NotReady);
        }
        let served = table.views.get(self.view).and_then(|zones| zones.zone(origin));
        let served = served.ok_or(Refusal::NotHere)?;
        let zone = match table.held.get(self.view).and_then(|held| held.get(origin)) {
            Some(held) => held.as_ref().ok_or(Refusal::NotSettled)?,
            None => served,
        };
        match zone.unavailable() {
            Some(_) => Err(Refusal::Unavailable),
            None => Ok(Arc::clone(zone)),
        }
    }

    fn give(&self, offer: Offer, signer: Option<Signer>, out: &mut Vec<u8>) -> Attended {
        if self.around.transport == Transport::Udp {
            return self.give_datagram(offer, signer, out);
        }
        let (event, sets) = self.records(offer);
        self.door.archive.count(event);
        Attended::Streaming(Stream::new(self.request, sets, signer))
    }

    /// All in one datagram, or the SOA alone, or nothing with TC set: the client then comes again over TCP
    /// (RFC 1995 section 2).
    fn give_datagram(&self, offer: Offer, signer: Option<Signer>, out: &mut Vec<u8>) -> Attended {
        let soa = offer.version().soa().cloned();
        let (event, sets) = self.records(offer);
        let write = |sets, signer, out: &mut Vec<u8>| {
            Stream::new(self.request, sets, signer).fit(self.datagram(), self.door.now, out)
        };
        if write(sets, signer.clone(), out) {
            self.door.archive.count(event);
            return replied(Rcode::NoError);
        }
        if write(Box::new(soa.into_iter()), signer.clone(), out) {
            return replied(Rcode::NoError);
        }
        refusal::begin(self.request.head, self.request.question.octets, Rcode::NoError, out);
        refusal::cut_off(out, self.request.question.octets);
        let truncated = Reply { truncated: true, ..reply(Rcode::NoError) };
        Attended::Replied(self.signed(truncated, signer, out))
    }

    /// What is sent, and what that is counted as.
    fn records(&self, offer: Offer) -> (TransferEvent, Sets) {
        let (is_axfr, now) = (self.request.question.rtype == Rtype::AXFR, transfer_time(self.around.now));
        match offer {
            Offer::UpToDate(zone) | Offer::Later(zone) => {
                (TransferEvent::UpToDate, Box::new(zone.soa().cloned().into_iter()))
            }
            Offer::Steps(zone, steps) => (TransferEvent::Steps, Box::new(incremental(&zone, steps))),
            Offer::Whole(zone) if is_axfr => (TransferEvent::Whole, whole(zone, now)),
            Offer::Whole(zone) => (TransferEvent::WholeInsteadOfSteps, whole(zone, now)),
        }
    }
}
