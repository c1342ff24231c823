//! What is sent to PowerDNS: paths and bodies. Pure.

use std::collections::HashMap;

use ::api::dnsclass::ZoneKind;
use dns::{Name, Rdata, RecordSet, Rtype};
use serde::Serialize;

use super::content;
use super::lua::Program;
use crate::provider::EXECUTED;
use crate::{Failure, NewZone, SetChange};

/// A server as it is installed takes 2 MiB at once; one that takes less gets halves.
const LONGEST_BODY: usize = 1800 << 10;
/// More data than this no answer could hold.
pub(super) const LARGEST_SET: usize = 65_000;

/// One record set in a body.
#[derive(Serialize)]
struct Rrset {
    name: String,
    r#type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    changetype: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    records: Option<Vec<Record>>,
}

#[derive(Serialize)]
struct Record {
    content: String,
}

#[derive(Serialize)]
struct Zone {
    name: String,
    kind: &'static str,
    /// Ordering the names costs what the zone has: once after all batches is enough.
    api_rectify: bool,
    /// The serial moves with every change.
    soa_edit_api: &'static str,
    dnssec: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rrsets: Vec<Rrset>,
}

/// Changes of one name. PowerDNS judges a name as a whole, so they land or fail together.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Group {
    /// Which changes of the batch.
    pub(super) changes: Vec<usize>,
    rrsets: String,
}

/// The path of a zone: anything unusual in its name is written in PowerDNS's own way.
pub(super) fn zone_path(zone: &Name) -> String {
    let mut id = String::from("/zones/");
    for octet in zone.to_string().bytes() {
        match octet {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' => id.push(char::from(octet)),
            _ => id.push_str(&format!("={octet:02X}")),
        }
    }
    if zone.is_root() { "/zones/=2E".to_owned() } else { id }
}

/// A text as a part of a URL.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for octet in text.bytes() {
        match octet {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'_' | b'~' => {
                escaped.push(char::from(octet))
            }
            _ => escaped.push_str(&format!("%{octet:02X}")),
        }
    }
    escaped
}

/// A path as a part of a URL: what is no letter of a URL is escaped, and what is stays.
pub(super) fn escape_path(path: &str) -> String {
    let mut escaped = String::with_capacity(path.len());
    for octet in path.bytes() {
        match octet {
            b'!' | b'$'..=b';' | b'=' | b'?'..=b'Z' | b'_' | b'a'..=b'z' | b'~' => {
                escaped.push(char::from(octet))
            }
            _ => escaped.push_str(&format!("%{octet:02X}")),
        }
    }
    escaped
}

/// An answer with octets that are no UTF-8, which PowerDNS passes on as it finds them: they become
/// escapes of the record data that they are part of.
pub(super) fn readable(body: &[u8]) -> String {
    let mut text = String::with_capacity(body.len());
    for chunk in body.utf8_chunks() {
        text.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|octet| text.push_str(&format!("\\\\{octet:03}")));
    }
    text
}

/// The body that makes a zone.
pub(super) fn new_zone(zone: &NewZone, kind: ZoneKind, dnssec: bool) -> Result<String, Failure> {
    let sets = [&zone.soa, &zone.name_servers].into_iter();
    let rrsets = sets.map(|set| Ok(Rrset { changetype: None, ..replace(set, plain_contents(set)?) }));
    let rrsets = rrsets.collect::<Result<Vec<_>, Failure>>()?;
    text(&Zone { rrsets, ..settings(zone, kind, dnssec) })
}

/// The bodies that finish a zone whose making was cut short: its settings, and then its records.
pub(super) fn completion(zone: &NewZone, kind: ZoneKind, dnssec: bool) -> Result<(String, String), Failure> {
    let rrset = |set: &RecordSet| text(&replace(set, plain_contents(set)?));
    let sets = [rrset(&zone.soa)?, rrset(&zone.name_servers)?];
    Ok((text(&settings(zone, kind, dnssec))?, wrapped(&sets.join(","))))
}

fn settings(zone: &NewZone, kind: ZoneKind, dnssec: bool) -> Zone {
    let kind = match kind {
        ZoneKind::Native => "Native",
        ZoneKind::Primary => "Primary",
    };
    let name = zone.origin.to_string();
    Zone { name, kind, api_rectify: false, soa_edit_api: "DEFAULT", dnssec, rrsets: Vec::new() }
}

/// The changes by name, in the order of each name's first; and those that cannot be sent at all. `text` says
/// how each is written.
///
/// Within a name what goes comes first, as an alias and other data exclude each other.
pub(super) fn groups(
    changes: &[SetChange],
    which: impl Iterator<Item = usize>,
    mut text: impl FnMut(&SetChange) -> Result<String, Failure>,
) -> (Vec<Group>, Vec<(usize, Failure)>) {
    let (mut groups, mut places, mut failed) =
        (Vec::<Group>::new(), HashMap::<&Name, usize>::new(), Vec::new());
    for index in which {
        let change = &changes[index];
        let rrset = match text(change) {
            Ok(rrset) => rrset,
            Err(failure) => {
                failed.push((index, failure));
                continue;
            }
        };
        match places.get(&change.key.name) {
            Some(place) => groups[*place].add(index, &rrset, change.after.is_none()),
            None => {
                places.insert(&change.key.name, groups.len());
                groups.push(Group { changes: vec![index], rrsets: rrset });
            }
        }
    }
    (groups, failed)
}

impl Group {
    fn add(&mut self, change: usize, rrset: &str, goes: bool) {
        self.changes.push(change);
        self.rrsets = match goes {
            true => format!("{rrset},{}", self.rrsets),
            false => format!("{},{rrset}", self.rrsets),
        };
    }
}

/// Groups in pieces that a server takes at once.
pub(super) fn pieces(groups: &[Group]) -> Vec<&[Group]> {
    let (mut pieces, mut start, mut length) = (Vec::new(), 0, 0);
    for (at, group) in groups.iter().enumerate() {
        if length + group.rrsets.len() > LONGEST_BODY && at > start {
            pieces.push(&groups[start..at]);
            (start, length) = (at, 0);
        }
        length += group.rrsets.len() + 1;
    }
    pieces.extend(Some(&groups[start..]).filter(|piece| !piece.is_empty()));
    pieces
}

/// The body that makes the changes of some groups.
pub(super) fn body(groups: &[Group]) -> String {
    wrapped(&groups.iter().map(|group| group.rrsets.as_str()).collect::<Vec<_>>().join(","))
}

fn wrapped(rrsets: &str) -> String {
    format!("{{\"rrsets\":[{rrsets}]}}")
}

/// One change as it is written; `serial` is what the zone has.
pub(super) fn rrset(change: &SetChange, serial: u32) -> Result<String, Failure> {
    let Some(after) = &change.after else {
        let (name, r#type) = (change.key.name.to_string(), content::type_name(change.key.rtype));
        return text(&Rrset { name, r#type, changetype: Some("DELETE"), ttl: None, records: None });
    };
    if !after.properties.is_empty() {
        return Err(Failure::Unsupported("PowerDNS has no settings of a single record"));
    }
    if after.set.data.iter().map(|data| data.wire().len()).sum::<usize>() > LARGEST_SET {
        return Err(Failure::Refused("INVALID_VALUE"));
    }
    let set = at_serial(&after.set, serial);
    let contents = match &after.program {
        Some(program) => program_contents(&set, program)?,
        None => plain_contents(&set)?,
    };
    text(&replace(&set, contents))
}

/// What the records of a plain set hold. PowerDNS executes some of the types for private use, so no plain set
/// has one: this is the last place before the request, whatever the set was made from.
fn plain_contents(set: &RecordSet) -> Result<Vec<Record>, Failure> {
    let is_plain = set.rtype.refusal().is_none() && set.data.iter().all(|data| data.rtype() == set.rtype);
    if is_plain { Ok(contents(&set.data)) } else { Err(EXECUTED) }
}

/// What LUA records hold: the data of the program that they were made from.
fn program_contents(set: &RecordSet, program: &Program) -> Result<Vec<Record>, Failure> {
    program.data_of(set).map(contents).ok_or(EXECUTED)
}

fn contents(data: &[Rdata]) -> Vec<Record> {
    data.iter().map(|data| Record { content: content::content(data) }).collect()
}

/// PowerDNS counts the serial on from the one in a new SOA, which must not set it back.
fn at_serial(set: &RecordSet, serial: u32) -> RecordSet {
    match set.data.first().and_then(Rdata::as_soa) {
        Some(soa) if set.rtype == Rtype::SOA => {
            let soa = Rdata::soa(&dns::Soa { serial, ..soa });
            RecordSet::new(set.name.clone(), Rtype::SOA, set.ttl, vec![soa])
        }
        _ => set.clone(),
    }
}

fn replace(set: &RecordSet, contents: Vec<Record>) -> Rrset {
    Rrset {
        name: set.name.to_string(),
        r#type: content::type_name(set.rtype),
        changetype: Some("REPLACE"),
        ttl: Some(set.ttl),
        records: Some(contents),
    }
}

fn text(document: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string(document).map_err(|_| Failure::Unsupported("the record cannot be written as JSON"))
}
