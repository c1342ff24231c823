//! Our OPT record: what a response tells beside its answer, to clients that asked for it.

use dns::Rtype;

use super::edns::{CLIENT_SUBNET, COOKIE, ClientSubnet, EXTENDED_ERROR, NSID, PADDING, TCP_KEEPALIVE};
use super::lookup::{Answer, ExtendedError};
use super::query::Query;
use super::{Circumstances, CookieState, Transport, UDP_SIZE};
use crate::{CLIENT_COOKIE, CookieKeys, Rcode, SERVER_COOKIE};

/// An OPT record without options.
pub(crate) const OPT_LENGTH: usize = 11;
/// The head of an option: its code and its length.
pub(crate) const OPTION_HEAD: usize = 4;
/// The most that the text of an extended error may take.
const MAX_ERROR_TEXT: usize = 200;
/// What encrypted responses are padded to a multiple of (RFC 8467 section 4.1).
const PADDING_BLOCK: usize = 468;
const DO: u8 = 0x80;
/// Compact answers (RFC 9824 section 5.1).
const CO: u8 = 0x40;
/// Where an OPT record has both.
const FLAGS: usize = 7;

/// What is offered to a client in options.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Offer<'a> {
    /// What came of the client's cookie.
    pub(super) state: CookieState,
    cookie: Option<[u8; CLIENT_COOKIE + SERVER_COOKIE]>,
    nsid: Option<&'a [u8]>,
    subnet: Option<ClientSubnet<'a>>,
    keepalive: Option<u16>,
    padding: bool,
}

impl<'a> Offer<'a> {
    /// What the client asked for and we have.
    pub(super) fn new(query: &Query<'a>, around: &Circumstances<'a>) -> Offer<'a> {
        let Some(edns) = query.edns else { return Offer::default() };
        let cookie = edns.cookie.zip(around.identity.cookies.as_ref());
        let (state, cookie) = cookie.map_or((CookieState::Absent, None), |(cookie, keys)| {
            let (state, server) = checked(keys, cookie.client, cookie.server, around);
            (state, Some(joined(cookie.client, server)))
        });
        let stream = around.transport != Transport::Udp;
        Offer {
            state,
            cookie,
            nsid: around.identity.nsid.as_deref().filter(|_| edns.nsid),
            subnet: edns.subnet,
            keepalive: Some(around.keepalive).filter(|_| edns.keepalive && stream),
            padding: edns.padding && around.transport == Transport::Tls,
        }
    }

    /// The same without all that is not needed.
    pub(super) fn only_cookie(self) -> Offer<'a> {
        Offer { state: self.state, cookie: self.cookie, ..Offer::default() }
    }
}

pub(crate) fn checked(
    keys: &CookieKeys,
    client: [u8; 8],
    server: &[u8],
    around: &Circumstances<'_>,
) -> (CookieState, [u8; SERVER_COOKIE]) {
    let (address, now) = (around.client, around.now);
    if server.is_empty() {
        (CookieState::New, keys.make(client, address, now))
    } else if keys.check(client, server, address, now) {
        (CookieState::Good, keys.renew(client, server, address, now))
    } else {
        (CookieState::Bad, keys.make(client, address, now))
    }
}

fn joined(client: [u8; CLIENT_COOKIE], server: [u8; SERVER_COOKIE]) -> [u8; CLIENT_COOKIE + SERVER_COOKIE] {
    let mut whole = [0; CLIENT_COOKIE + SERVER_COOKIE];
    whole[..CLIENT_COOKIE].copy_from_slice(&client);
    whole[CLIENT_COOKIE..].copy_from_slice(&server);
    whole
}

/// An OPT record being written; what does not fit its room is left out.
pub(super) struct OptRecord {
    octets: Vec<u8>,
    room: usize,
    padding: bool,
}

impl OptRecord {
    /// Size, the upper bits of the code, and the client's DO.
    pub(super) fn plain(dnssec_ok: bool, rcode: Rcode) -> OptRecord {
        let mut octets = Vec::with_capacity(4 * OPT_LENGTH);
        octets.push(0);
        octets.extend_from_slice(&Rtype::OPT.0.to_be_bytes());
        octets.extend_from_slice(&UDP_SIZE.to_be_bytes());
        let upper = (rcode.number() >> 4) as u8;
        octets.extend_from_slice(&[upper, 0, if dnssec_ok { DO } else { 0 }, 0, 0, 0]);
        OptRecord { octets, room: OPT_LENGTH, padding: false }
    }

    /// The record with all options that fit into `room`, the important ones first.
    pub(super) fn new(dnssec_ok: bool, answer: &Answer, offer: &Offer<'_>, room: usize) -> OptRecord {
        let mut record = OptRecord { room, ..OptRecord::plain(dnssec_ok, answer.rcode) };
        if answer.compact {
            record.octets[FLAGS] |= CO;
        }
        // A version that we do not speak may also have other options.
        if answer.rcode == Rcode::BadVers {
            return record;
        }
        if let Some(cookie) = offer.cookie {
            record.option(COOKIE, &[&cookie]);
        }
        if let Some(subnet) = offer.subnet {
            record.client_subnet(&subnet, answer.scope.unwrap_or(0));
        }
        if let Some(time) = offer.keepalive {
            record.option(TCP_KEEPALIVE, &[&time.to_be_bytes()]);
        }
        if let Some(nsid) = offer.nsid {
            record.option(NSID, &[nsid]);
        }
        if let Some(error) = &answer.extended_error {
            record.extended_error(error);
        }
        record.padding = offer.padding;
        record
    }

    fn option(&mut self, code: u16, parts: &[&[u8]]) {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        if self.octets.len() + OPTION_HEAD + length > self.room {
            return;
        }
        self.octets.extend_from_slice(&code.to_be_bytes());
        self.octets.extend_from_slice(&(length as u16).to_be_bytes());
        parts.iter().for_each(|part| self.octets.extend_from_slice(part));
    }

    /// The option of RFC 7871 as it came, with how many bits the answer depends on. An answer to
    /// nobody in particular is for all who say nothing about themselves.
    fn client_subnet(&mut self, subnet: &ClientSubnet<'_>, scope: u8) {
        let scope = if subnet.source_prefix == 0 { 0 } else { scope };
        if let [family_high, family, source, _, address @ ..] = subnet.octets {
            self.option(CLIENT_SUBNET, &[&[*family_high, *family, *source, scope], address]);
        }
    }

    /// The option of RFC 8914; its text is cut at a character to what there is room for.
    fn extended_error(&mut self, error: &ExtendedError) {
        let room = self.room.saturating_sub(self.octets.len() + OPTION_HEAD + 2).min(MAX_ERROR_TEXT);
        let end = (0..=room).rev().find(|end| error.text.is_char_boundary(*end));
        let text = error.text.get(..end.unwrap_or(0)).unwrap_or(&error.text);
        self.option(EXTENDED_ERROR, &[&error.code.to_be_bytes(), text.as_bytes()]);
    }

    /// How many octets it has before padding.
    pub(super) fn len(&self) -> usize {
        self.octets.len()
    }

    /// The octets, padded so that a message with `before` octets before it has a usual length.
    pub(super) fn finish(mut self, before: usize) -> Vec<u8> {
        if self.padding {
            let (length, most) = (before + self.octets.len() + OPTION_HEAD, usize::from(u16::MAX));
            let padding = length.next_multiple_of(PADDING_BLOCK).min(most).saturating_sub(length);
            self.room = most.saturating_sub(before);
            self.option(PADDING, &[&vec![0; padding]]);
        }
        let length = (self.octets.len() - OPT_LENGTH) as u16;
        self.octets[OPT_LENGTH - 2..OPT_LENGTH].copy_from_slice(&length.to_be_bytes());
        self.octets
    }
}
