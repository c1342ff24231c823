//! Makes the records of a file one zone, by the rules that hold over the whole of it.

use super::records::{Record, Records};
use super::{Fault, Place};
use crate::packed_zone::Builder;
use crate::reserved::{is_reserved_key, is_reserved_text};
use crate::{Name, PackedZone, Reserved, Rtype};

/// The largest number of remarks of one zone file.
const MAX_REMARKS: usize = 100;

/// Packs the records; what is left out or changed is remarked.
pub(super) fn pack(
    records: Records,
    origin: Name,
    leaves_out_reserved: bool,
) -> Result<(PackedZone, Vec<Fault>), Fault> {
    let records = records.rebased(origin.key())?;
    let order = records.order();
    let mut packing = Packing {
        records: &records,
        origin: &origin,
        builder: Builder::with_room(origin.clone(), records.len(), records.octets()),
        remarks: Remarks::default(),
        leaves_out_reserved,
        is_reserved_zone: is_reserved_key(origin.key()),
    };
    order.outside.iter().for_each(|at| packing.remark_out_of_zone(*at));
    for node in order.inside.chunk_by(|a, b| records.get(*a).key == records.get(*b).key) {
        packing.push_node(node)?;
    }
    let zone = packing.builder.finish().map_err(|error| START.fault(error))?;
    Ok((zone, packing.remarks.finish()))
}

const START: Place = Place { file: 0, line: 1, column: 1 };

struct Packing<'a> {
    records: &'a Records,
    origin: &'a Name,
    builder: Builder,
    remarks: Remarks,
    leaves_out_reserved: bool,
    /// Whether the zone's own name is reserved, and so are all names in it.
    is_reserved_zone: bool,
}

impl Packing<'_> {
    fn push_node(&mut self, node: &[u32]) -> Result<(), Fault> {
        if self.leaves_out_reserved && node.iter().any(|at| self.reserved(&self.records.get(*at)).is_some()) {
            let kept = self.without_reserved(node);
            return if kept.is_empty() { Ok(()) } else { self.push_allowed(&kept) };
        }
        self.push_allowed(node)
    }

    /// What is reserved about a record; the zone's own SOA and NS stay, or there would be no zone.
    fn reserved(&self, record: &Record<'_>) -> Option<Reserved> {
        if !record.key.is_empty() && (self.is_reserved_zone || is_reserved_key(record.key)) {
            return Some(Reserved::Name);
        }
        (record.rtype == Rtype::TXT && is_reserved_text(record.wire)).then_some(Reserved::Text)
    }

    fn without_reserved(&mut self, node: &[u32]) -> Vec<u32> {
        let mut kept = Vec::new();
        for at in node {
            let record = self.records.get(*at);
            match self.reserved(&record) {
                Some(reserved) => self.remarks.push(self.records.place(&record), || {
                    format!("{} {} {reserved}: left out", self.records.name(&record), record.rtype)
                }),
                None => kept.push(*at),
            }
        }
        kept
    }

    fn push_allowed(&mut self, node: &[u32]) -> Result<(), Fault> {
        if let [at] = node {
            let record = self.records.get(*at);
            return self.push(&record, record.ttl);
        }
        self.check(node)?;
        for set in node.chunk_by(|a, b| self.records.get(*a).rtype == self.records.get(*b).rtype) {
            self.push_set(set)?;
        }
        Ok(())
    }

    fn remark_out_of_zone(&mut self, at: u32) {
        let record = self.records.get(at);
        self.remarks.push(self.records.place(&record), || {
            format!("{} does not lie in the zone {}: left out", self.records.name(&record), self.origin)
        });
    }

    fn push_set(&mut self, set: &[u32]) -> Result<(), Fault> {
        let ttl = set.iter().map(|at| self.records.get(*at).ttl).min().unwrap_or_default();
        let mut last: Option<Record<'_>> = None;
        for at in set {
            let record = self.records.get(*at);
            let here = self.records.place(&record);
            if record.ttl != ttl {
                self.remarks.push(here, || differing_ttl(self.records, &record, ttl));
            }
            match last.filter(|last| last.wire == record.wire) {
                Some(first) => self.remarks.push(here, || duplicate(self.records, &record, &first)),
                None => {
                    self.push(&record, ttl)?;
                    last = Some(record);
                }
            }
        }
        Ok(())
    }

    fn push(&mut self, record: &Record<'_>, ttl: u32) -> Result<(), Fault> {
        let pushed = self.builder.push(record.key, record.rtype, ttl, record.wire);
        pushed.map_err(|error| self.records.place(record).fault(error))
    }

    /// Refuses CNAME beside other data, and two CNAMEs or two DNAMEs (RFC 2181 section 10.1,
    /// RFC 6672 section 2.4).
    fn check(&self, node: &[u32]) -> Result<(), Fault> {
        let all = || node.iter().map(|at| self.records.get(*at));
        for alias in [Rtype::CNAME, Rtype::DNAME] {
            let Some(first) = all().find(|record| record.rtype == alias) else { continue };
            let second = all().find(|record| record.rtype == alias && record.wire != first.wire);
            if let Some(second) = second {
                return Err(self.conflict(&first, &second, "at most one of this type"));
            }
            let other = all().find(|record| !may_stand_beside_cname(record.rtype));
            if let Some(other) = other.filter(|_| alias == Rtype::CNAME) {
                return Err(self.conflict(&first, &other, "nothing beside a CNAME"));
            }
        }
        Ok(())
    }

    fn conflict(&self, a: &Record<'_>, b: &Record<'_>, rule: &str) -> Fault {
        let place = |record: &Record<'_>| self.records.place(record);
        let (earlier, later) = if place(a) < place(b) { (a, b) } else { (b, a) };
        let (first, second, line) = (earlier.rtype, later.rtype, place(earlier).line);
        let name = self.records.name(later);
        let message = format!("{name} has {second} here and {first} in line {line}; a name may have {rule}");
        place(later).fault(message)
    }
}

fn may_stand_beside_cname(rtype: Rtype) -> bool {
    matches!(rtype, Rtype::CNAME | Rtype::RRSIG | Rtype::NSEC)
}

fn differing_ttl(records: &Records, record: &Record<'_>, lowest: u32) -> String {
    let (name, rtype, ttl) = (records.name(record), record.rtype, record.ttl);
    format!("the TTL {ttl} differs from others of {name} {rtype}: all of them have the lowest, {lowest}")
}

fn duplicate(records: &Records, record: &Record<'_>, first: &Record<'_>) -> String {
    let (name, rtype, line) = (records.name(record), record.rtype, records.place(first).line);
    format!("the same record of {name} {rtype} stands in line {line}: left out")
}

/// The first remarks in full, the rest by number.
#[derive(Default)]
struct Remarks {
    faults: Vec<Fault>,
    more: usize,
    last: Option<Place>,
}

impl Remarks {
    fn push(&mut self, place: Place, message: impl FnOnce() -> String) {
        if self.faults.len() < MAX_REMARKS {
            self.faults.push(place.fault(message()));
        } else {
            self.more += 1;
            self.last = self.last.max(Some(place));
        }
    }

    fn finish(mut self) -> Vec<Fault> {
        self.faults.sort();
        if let Some(place) = self.last {
            self.faults.push(place.fault(format!("{} more remarks are not shown", self.more)));
        }
        self.faults
    }
}
