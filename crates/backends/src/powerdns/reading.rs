//! What PowerDNS says that it holds. Pure.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use dns::{MAX_TTL, Name, Rdata, RecordSet, Rtype};
use serde::Deserialize;

use super::content;
use super::foresight::Lines;
use crate::SetKey;

/// A zone as it is listed.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Listed {
    pub(super) name: String,
    pub(super) kind: String,
    #[serde(default)]
    pub(super) serial: u32,
}

/// A zone with or without its records.
#[derive(Deserialize)]
pub(super) struct ZoneDocument {
    #[serde(flatten)]
    pub(super) facts: Facts,
    #[serde(default)]
    pub(super) rrsets: Vec<Rrset<'static>>,
}

/// What a zone is like.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Facts {
    pub(super) serial: u32,
    pub(super) kind: String,
    #[serde(default)]
    pub(super) dnssec: bool,
    #[serde(default)]
    pub(super) api_rectify: bool,
    #[serde(default)]
    pub(super) soa_edit_api: String,
}

/// A record set as PowerDNS tells it.
#[derive(Deserialize)]
pub(super) struct Rrset<'a> {
    name: Cow<'a, str>,
    r#type: Cow<'a, str>,
    ttl: u32,
    #[serde(default)]
    records: Vec<Record<'a>>,
}

#[derive(Deserialize)]
struct Record<'a> {
    content: Cow<'a, str>,
    #[serde(default)]
    disabled: bool,
}

/// Record sets, and those that are there and cannot be read.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Read {
    pub(super) sets: Vec<RecordSet>,
    pub(super) opaque: Vec<SetKey>,
    /// Whether some records are switched off.
    pub(super) has_disabled: bool,
}

impl Facts {
    /// Whether the serial moves with every change that is made by the API.
    pub(super) fn counts(&self) -> bool {
        self.serial > 0
            && ["DEFAULT", "INCREASE"].iter().any(|kind| kind.eq_ignore_ascii_case(&self.soa_edit_api))
    }

    /// Whether the zone has secondaries that are to be told.
    pub(super) fn is_primary(&self) -> bool {
        ["Master", "Primary", "Producer"].iter().any(|kind| kind.eq_ignore_ascii_case(&self.kind))
    }
}

impl Listed {
    /// Whether the zone is a copy of one elsewhere, so that nothing can be written here.
    pub(super) fn is_copy(&self) -> bool {
        ["Slave", "Secondary", "Consumer"].iter().any(|kind| kind.eq_ignore_ascii_case(&self.kind))
    }
}

/// Record sets out of an answer. Types that we have no number for are nobody's concern.
pub(super) fn read(rrsets: Vec<Rrset<'_>>) -> Read {
    let mut read = Read::default();
    for rrset in rrsets.into_iter().filter(|rrset| !rrset.records.is_empty()) {
        read.has_disabled |= rrset.records.iter().any(|record| record.disabled);
        let (Ok(name), Some(rtype)) = (rrset.name.parse::<Name>(), content::rtype(&rrset.r#type)) else {
            continue;
        };
        match record_set(&name, rtype, &rrset) {
            Some(set) => read.sets.push(set),
            None => read.opaque.push(SetKey { name, rtype }),
        }
    }
    read
}

/// Record sets out of an export, in the order of names; none where it has a line that is no record.
pub(super) fn exported(octets: &[u8], known: &Lines) -> Option<Read> {
    let text = std::str::from_utf8(octets).ok()?;
    let (mut sets, mut unknown) = (Vec::new(), Vec::new());
    for line in text.lines() {
        match known.get(line) {
            Some(set) => sets.push(set.clone()),
            None => unknown.push(line),
        }
    }
    let mut read = read(parsed(&unknown)?);
    read.sets.append(&mut sets);
    read.sets.sort_by(|one, other| (&one.name, one.rtype).cmp(&(&other.name, other.rtype)));
    read.sets.dedup_by(|next, set| is_merged(set, next));
    read.sets.retain(|set| read.opaque.is_empty() || !read.opaque.contains(&SetKey::of(set)));
    Some(read)
}

/// Takes over another part of the same set, if it is one.
fn is_merged(set: &mut RecordSet, next: &RecordSet) -> bool {
    let is_part = set.name == next.name && set.rtype == next.rtype;
    if is_part {
        let data = set.data.iter().chain(&*next.data).cloned().collect();
        *set = RecordSet::new(set.name.clone(), set.rtype, set.ttl.min(next.ttl), data);
    }
    is_part
}

/// Record sets out of lines with one record each, in no order.
fn parsed<'a>(lines: &[&'a str]) -> Option<Vec<Rrset<'a>>> {
    let (mut rrsets, mut places) = (Vec::<Rrset<'_>>::new(), HashMap::<(&str, &str), usize>::new());
    for line in lines {
        let mut fields = line.splitn(5, '\t');
        let (name, ttl) = (fields.next()?, fields.next()?.parse().ok()?);
        let r#type = fields.nth(1)?;
        let record = Record { content: fields.next()?.into(), disabled: false };
        let place = *places.entry((name, r#type)).or_insert(rrsets.len());
        match rrsets.get_mut(place) {
            Some(rrset) => {
                rrset.ttl = rrset.ttl.min(ttl);
                rrset.records.push(record);
            }
            None => {
                rrsets.push(Rrset { name: name.into(), r#type: r#type.into(), ttl, records: vec![record] });
            }
        }
    }
    Some(rrsets)
}

/// A record set that is switched off stands there, and is not what anybody wants: it gets a TTL that
/// nobody has.
fn record_set(name: &Name, rtype: Rtype, rrset: &Rrset<'_>) -> Option<RecordSet> {
    let is_off = rrset.records.iter().all(|record| record.disabled);
    let data = rrset.records.iter().filter(|record| is_off || !record.disabled);
    let data = data.map(|record| content::parse(rtype, &record.content)).collect::<Option<Vec<_>>>()?;
    Some(RecordSet::new(name.clone(), rtype, if is_off { MAX_TTL } else { rrset.ttl }, data))
}

/// Whether two looks at a record set saw the same. The serial of an SOA moves by itself, and what is
/// switched off is not seen by every look.
pub(super) fn same(one: Option<&RecordSet>, other: Option<&RecordSet>) -> bool {
    let (one, other) = (one.filter(|set| set.ttl != MAX_TTL), other.filter(|set| set.ttl != MAX_TTL));
    match (one, other) {
        (Some(one), Some(other)) if one.rtype == Rtype::SOA && other.rtype == Rtype::SOA => {
            one.ttl == other.ttl && without_serial(one) == without_serial(other)
        }
        _ => one == other,
    }
}

fn without_serial(set: &RecordSet) -> Option<Rdata> {
    let soa = set.data.first()?.as_soa()?;
    Some(Rdata::soa(&dns::Soa { serial: 0, ..soa }))
}

/// Whether answers depend on PowerDNS's ordering of names: in signed zones, and where a name has names
/// below it and nothing itself.
pub(super) fn needs_order(zone: &Name, facts: &Facts, sets: &[RecordSet]) -> bool {
    let names: HashSet<&[u8]> = sets.iter().map(|set| set.name.key()).collect();
    let is_bare = |set: &RecordSet| {
        set.name.parent().is_some_and(|parent| parent.is_below(zone) && !names.contains(parent.key()))
    };
    facts.dnssec || sets.iter().any(is_bare)
}
