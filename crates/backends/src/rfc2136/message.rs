//! DNS messages, built and read; nothing here is sent.
//!
//! Whatever arrives may be hostile: what does not parse is [`Failure::Unreadable`], and nothing panics.

use std::collections::BTreeMap;

use dns::{Name, Rdata, RecordSet, Rtype};
use domain::base::iana::{Class, Opcode};
use domain::base::message_builder::{AdditionalBuilder, MessageBuilder, StaticCompressor};
use domain::base::name::ToName;
use domain::base::rdata::{ComposeRecordData, UnknownRecordData};
use domain::base::{Message, ParsedRecord, Ttl};
use domain::rdata::ZoneRecordData;

use crate::Failure;

/// A request that is complete but for its signature.
pub(crate) type Request = AdditionalBuilder<StaticCompressor<Vec<u8>>>;

/// A record as a message says it, which may stand for an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    pub(crate) name: &'a Name,
    pub(crate) rtype: Rtype,
    pub(crate) class: Class,
    pub(crate) ttl: u32,
    pub(crate) data: &'a [u8],
}

/// A record that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) name: Name,
    pub(crate) ttl: u32,
    pub(crate) data: Rdata,
}

/// An answer, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) rcode: u8,
    pub(crate) is_authoritative: bool,
    pub(crate) answer: Vec<Found>,
    pub(crate) authority: Vec<Found>,
    pub(crate) additional: Vec<Found>,
}

impl Line<'_> {
    /// The most that it takes in a message.
    pub(crate) fn size(&self) -> usize {
        self.name.wire_len() + 10 + self.data.len()
    }
}

/// A question, which is not for resolvers.
pub(crate) fn query(id: u16, name: &Name, rtype: Rtype) -> Result<Request, Failure> {
    let mut question = header(id, Opcode::QUERY)?.question();
    question.push((wire_name(name)?, rtype.0.into())).map_err(|_| Failure::TooLarge)?;
    Ok(question.additional())
}

/// An update: all of the prerequisites hold and all of the updates are made, or nothing is (RFC 2136).
pub(crate) fn update(
    id: u16,
    zone: &Name,
    prerequisites: &[Line<'_>],
    updates: &[Line<'_>],
) -> Result<Request, Failure> {
    let mut section = header(id, Opcode::UPDATE)?.question();
    section.push((wire_name(zone)?, Rtype::SOA.0.into())).map_err(|_| Failure::TooLarge)?;
    let mut section = section.answer();
    for line in prerequisites {
        section.push(record(line)?).map_err(|_| Failure::TooLarge)?;
    }
    let mut section = section.authority();
    for line in updates {
        section.push(record(line)?).map_err(|_| Failure::TooLarge)?;
    }
    Ok(section.additional())
}

fn header(id: u16, opcode: Opcode) -> Result<MessageBuilder<StaticCompressor<Vec<u8>>>, Failure> {
    let target = StaticCompressor::new(Vec::new());
    let mut builder = MessageBuilder::from_target(target).map_err(|_| Failure::TooLarge)?;
    builder.header_mut().set_id(id);
    builder.header_mut().set_opcode(opcode);
    Ok(builder)
}

type WireRecord<'a> = (domain::base::Name<Vec<u8>>, Class, Ttl, UnknownRecordData<&'a [u8]>);

fn record<'a>(line: &Line<'a>) -> Result<WireRecord<'a>, Failure> {
    let data =
        UnknownRecordData::from_octets(line.rtype.0.into(), line.data).map_err(|_| Failure::TooLarge)?;
    Ok((wire_name(line.name)?, line.class, Ttl::from_secs(line.ttl), data))
}

pub(crate) fn wire_name(name: &Name) -> Result<domain::base::Name<Vec<u8>>, Failure> {
    domain::base::Name::from_octets(name.to_wire()).map_err(|_| Failure::Unreadable)
}

/// Takes an answer apart.
pub(crate) fn read(octets: &[u8]) -> Result<Answer, Failure> {
    let message = Message::from_slice(octets).map_err(|_| Failure::Unreadable)?;
    let header = message.header();
    let (_, answer, authority, additional) = message.sections().map_err(|_| Failure::Unreadable)?;
    // Nothing is ever left out over TCP, so half an answer is no answer.
    match header.tc() {
        true => Err(Failure::Unreadable),
        false => Ok(Answer {
            rcode: header.rcode().to_int(),
            is_authoritative: header.aa(),
            answer: answer.filter_map(found).collect::<Result<_, _>>()?,
            authority: authority.filter_map(found).collect::<Result<_, _>>()?,
            additional: additional.filter_map(found).collect::<Result<_, _>>()?,
        }),
    }
}

type Parsed<'a> = Result<ParsedRecord<'a, [u8]>, domain::base::wire::ParseError>;

/// A record of the internet's class; those that speak about the message itself are passed over.
fn found(record: Parsed<'_>) -> Option<Result<Found, Failure>> {
    let Ok(record) = record else { return Some(Err(Failure::Unreadable)) };
    let is_record = record.class() == Class::IN && !Rtype(record.rtype().to_int()).is_meta();
    is_record.then(|| decoded(&record).ok_or(Failure::Unreadable))
}

fn decoded(record: &ParsedRecord<'_, [u8]>) -> Option<Found> {
    let rtype = Rtype(record.rtype().to_int());
    let mut owner = Vec::new();
    record.owner().compose(&mut owner).ok()?;
    let data = record.to_record::<ZoneRecordData<_, _>>().ok()??;
    let mut wire = Vec::new();
    data.data().compose_rdata(&mut wire).ok()?;
    Some(Found {
        name: Name::from_wire(&owner).ok()?.0,
        ttl: record.ttl().as_secs(),
        data: Rdata::from_wire(rtype, &wire).ok()?,
    })
}

/// Records by name and type; of differing TTLs the lowest counts (RFC 2181 section 5.2).
#[derive(Debug, Default)]
pub(crate) struct Sets(BTreeMap<(Name, Rtype), (u32, Vec<Rdata>)>);

impl Sets {
    pub(crate) fn push(&mut self, found: Found) {
        let key = (found.name, found.data.rtype());
        let (ttl, data) = self.0.entry(key).or_insert_with(|| (found.ttl, Vec::new()));
        *ttl = found.ttl.min(*ttl);
        data.push(found.data);
    }

    pub(crate) fn finish(self) -> Vec<RecordSet> {
        let set = |((name, rtype), (ttl, data))| RecordSet::new(name, rtype, ttl, data);
        self.0.into_iter().map(set).collect()
    }
}

/// The set of one name and type among some records.
pub(crate) fn set_of(records: &[Found], name: &Name, rtype: Rtype) -> Option<RecordSet> {
    let mut sets = Sets::default();
    let is_of_it = |found: &&Found| found.name == *name && found.data.rtype() == rtype;
    records.iter().filter(is_of_it).for_each(|found| sets.push(found.clone()));
    sets.finish().pop()
}
