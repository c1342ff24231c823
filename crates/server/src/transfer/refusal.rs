//! Why a transfer is refused, and the short responses that say such things.

use super::request::Request;
use super::tsig;
use crate::Rcode;
use crate::answer::NO_CONTENT;

const HEADER: usize = 12;
const QR: u8 = 0x80;
const TC: u8 = 0x02;
const OPCODE_AND_RD: u8 = 0x79;
/// Codes of RFC 8914.
const NOT_READY: u16 = 14;
const PROHIBITED: u16 = 18;
const NOT_AUTHORITATIVE: u16 = 20;
const NOT_SUPPORTED: u16 = 21;
/// The most that the text of an extended error may take.
const MOST_TEXT: usize = 200;

/// Why a transfer is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    #[error("transfers are not set up here")]
    NobodyMay,
    #[error("transfers must be signed with a key")]
    Unsigned,
    #[error("transfers are not allowed to this address")]
    Address,
    #[error("not a zone that is served here")]
    NotHere,
    #[error("the zones have not been read yet")]
    NotReady,
    #[error("the zone has no settled version yet")]
    NotSettled,
    #[error("{NO_CONTENT}")]
    Unavailable,
    #[error("a whole zone does not travel in a datagram")]
    Datagram,
    #[error("an incremental transfer needs the SOA that the client has")]
    NoSerial,
}

impl Refusal {
    fn rcode(&self) -> Rcode {
        match self {
            Refusal::NobodyMay | Refusal::Unsigned | Refusal::Address => Rcode::Refused,
            Refusal::NotHere => Rcode::NotAuth,
            Refusal::NotReady | Refusal::NotSettled | Refusal::Unavailable => Rcode::ServFail,
            Refusal::Datagram | Refusal::NoSerial => Rcode::FormErr,
        }
    }

    fn code(&self) -> u16 {
        match self.rcode() {
            Rcode::Refused => PROHIBITED,
            Rcode::NotAuth => NOT_AUTHORITATIVE,
            Rcode::ServFail => NOT_READY,
            _ => NOT_SUPPORTED,
        }
    }

    /// Writes the response; gives its code.
    pub(super) fn write(&self, request: &Request<'_>, out: &mut Vec<u8>) -> Rcode {
        begin(request.head, request.question.octets, self.rcode(), out);
        if request.size.is_some() {
            out.extend_from_slice(&self.opt());
            tsig::count_additional(out, 1);
        }
        self.rcode()
    }

    /// An OPT record with the reason.
    fn opt(&self) -> Vec<u8> {
        let text = self.to_string();
        let end = (0..=MOST_TEXT).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        let text = text.get(..end).unwrap_or(&text).as_bytes();
        let length = 2 + text.len() as u16;
        let mut opt = vec![0, 0, 41, 4, 208, 0, 0, 0, 0];
        for value in [4 + length, 15, length, self.code()] {
            opt.extend_from_slice(&value.to_be_bytes());
        }
        opt.extend_from_slice(text);
        opt
    }
}

/// Answers a message whose signature cannot be read (RFC 8945 section 5.2).
pub(super) fn malformed(octets: &[u8], question: &[u8], out: &mut Vec<u8>) -> Rcode {
    let head = octets.first_chunk().copied().unwrap_or_default();
    begin(head, question, Rcode::FormErr, out);
    Rcode::FormErr
}

/// Leaves the header and the question of a response without an error, and says that the rest is missing.
pub(super) fn cut_off(out: &mut Vec<u8>, question: &[u8]) {
    out.truncate(HEADER);
    out[2] |= TC;
    out[3] = 0;
    out[4..HEADER].copy_from_slice(&[0, 1, 0, 0, 0, 0, 0, 0]);
    out.extend_from_slice(question);
}

/// Begins a response: its header and the question.
pub(super) fn begin(head: [u8; 4], question: &[u8], rcode: Rcode, out: &mut Vec<u8>) {
    let [id_high, id_low, flags, _] = head;
    out.clear();
    out.extend_from_slice(&[id_high, id_low, QR | flags & OPCODE_AND_RD, (rcode.number() & 0x0f) as u8]);
    out.extend_from_slice(&[0, 1, 0, 0, 0, 0, 0, 0]);
    out.extend_from_slice(question);
}
