//! Reading a query: header, question and OPT, with the reason why it cannot be answered.

use dns::Rtype;

use super::edns::{ClientSubnet, Edns};
use crate::Rcode;
use crate::reader::Reader;
pub(crate) use crate::reader::{Malformed, Question};

pub(super) const HEADER: usize = 12;
pub(super) const CLASS_IN: u16 = 1;
pub(super) const CLASS_CHAOS: u16 = 3;
pub(super) const CLASS_ANY: u16 = 255;

const QR: u8 = 0x80;
const OPCODE: u8 = 0x78;
const DO: u16 = 0x8000;
const CO: u16 = 0x4000;

/// A query as far as it could be read.
#[derive(Debug)]
pub(super) struct Query<'a> {
    /// The first four octets: id and flags.
    pub(super) head: [u8; 4],
    pub(super) question: Option<Question<'a>>,
    pub(super) edns: Option<Edns<'a>>,
    /// Why it is not answered from a zone.
    pub(super) problem: Option<Rcode>,
}

impl<'a> Query<'a> {
    /// `None` for what must not be answered.
    pub(super) fn read(octets: &'a [u8]) -> Option<Query<'a>> {
        let (header, _) = octets.split_first_chunk::<HEADER>()?;
        let [id_high, id_low, flags_high, flags_low, ..] = *header;
        if flags_high & QR != 0 {
            return None;
        }
        let head = [id_high, id_low, flags_high, flags_low];
        let mut query = Query { head, question: None, edns: None, problem: None };
        if query.read_body(octets).is_err() {
            query.problem = Some(Rcode::FormErr);
        }
        if flags_high & OPCODE != 0 {
            query.problem = Some(Rcode::NotImp);
        }
        Some(query)
    }

    /// The network that the client names (RFC 7871).
    pub(super) fn subnet(&self) -> Option<&ClientSubnet<'a>> {
        self.edns.as_ref()?.subnet.as_ref()
    }

    fn read_body(&mut self, octets: &'a [u8]) -> Result<(), Malformed> {
        let mut reader = Reader { octets, at: 4 };
        let [questions, answers, authorities, additionals] =
            [reader.u16()?, reader.u16()?, reader.u16()?, reader.u16()?];
        if questions > 1 {
            return Err(Malformed);
        }
        if questions == 1 {
            self.question = Some(reader.question()?);
        }
        for _ in 0..u32::from(answers) + u32::from(authorities) {
            reader.record()?;
        }
        for _ in 0..additionals {
            self.read_additional(&mut reader)?;
        }
        if reader.at == octets.len() { Ok(()) } else { Err(Malformed) }
    }

    fn read_additional(&mut self, reader: &mut Reader<'a>) -> Result<(), Malformed> {
        let record = reader.record()?;
        if record.rtype != Rtype::OPT {
            return Ok(());
        }
        // There is at most one, and it belongs to the root.
        if self.edns.is_some() || !record.at_root {
            return Err(Malformed);
        }
        let [_, version, flags @ ..] = record.ttl;
        let flags = u16::from_be_bytes(flags);
        let (dnssec_ok, compact_ok) = (flags & DO != 0, flags & CO != 0);
        let edns = Edns { size: record.class, version, dnssec_ok, compact_ok, ..Edns::default() };
        // A client whose options cannot be read is told so in an OPT record too.
        self.edns.insert(edns).read_options(record.data)
    }
}
