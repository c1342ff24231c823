//! Makes the records of a file one zone, by the rules that hold over the whole of it.

use super::records::{Entry, Record, Records};
use super::{Fault, Place};
use crate::packed_zone::Builder;
use crate::{Name, PackedZone, Rtype};

/// More remarks than these help nobody.
const MAX_REMARKS: usize = 100;

/// Packs the records; what is left out or changed is remarked.
pub(super) fn pack(records: &Records, origin: Name) -> Result<(PackedZone, Vec<Fault>), Fault> {
    let mut packing = Packing {
        records,
        origin: &origin,
        builder: Builder::new(origin.clone()),
        remarks: Remarks::default(),
    };
    let entries = records.sorted();
    for node in entries.chunk_by(|a, b| records.get(a).key == records.get(b).key) {
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
}

impl Packing<'_> {
    fn push_node(&mut self, node: &[Entry]) -> Result<(), Fault> {
        let Some(below) = node.first().and_then(|e| self.records.get(e).key.strip_prefix(self.origin.key()))
        else {
            node.iter().for_each(|entry| self.remark_out_of_zone(entry));
            return Ok(());
        };
        self.check(node)?;
        for set in node.chunk_by(|a, b| self.records.get(a).rtype == self.records.get(b).rtype) {
            self.push_set(below, set)?;
        }
        Ok(())
    }

    fn remark_out_of_zone(&mut self, entry: &Entry) {
        let name = Name::from_key(self.records.get(entry).key);
        self.remarks
            .push(entry.place, || format!("{name} does not lie in the zone {}: left out", self.origin));
    }

    fn push_set(&mut self, below: &[u8], set: &[Entry]) -> Result<(), Fault> {
        let ttl = set.iter().map(|entry| self.records.get(entry).ttl).min().unwrap_or_default();
        let mut last: Option<&Entry> = None;
        for entry in set {
            let record = self.records.get(entry);
            if record.ttl != ttl {
                self.remarks.push(entry.place, || differing_ttl(&record, ttl));
            }
            match last.filter(|last| self.records.get(last).wire == record.wire) {
                Some(first) => self.remarks.push(entry.place, || duplicate(&record, first.place)),
                None => {
                    let pushed = self.builder.push(below, record.rtype, ttl, record.wire);
                    pushed.map_err(|error| entry.place.fault(error))?;
                    last = Some(entry);
                }
            }
        }
        Ok(())
    }

    /// Refuses CNAME beside other data, and two CNAMEs or two DNAMEs (RFC 2181 section 10.1,
    /// RFC 6672 section 2.4).
    fn check(&self, node: &[Entry]) -> Result<(), Fault> {
        let of_type = |rtype| move |entry: &&Entry| self.records.get(entry).rtype == rtype;
        for alias in [Rtype::CNAME, Rtype::DNAME] {
            let Some(first) = node.iter().find(of_type(alias)) else { continue };
            let differs = |entry: &&Entry| self.records.get(entry).wire != self.records.get(first).wire;
            if let Some(second) = node.iter().filter(of_type(alias)).find(differs) {
                return Err(self.conflict(first, second, "at most one of this type"));
            }
            let other = node.iter().find(|entry| !may_stand_beside_cname(self.records.get(entry).rtype));
            if let Some(other) = other.filter(|_| alias == Rtype::CNAME) {
                return Err(self.conflict(first, other, "nothing beside a CNAME"));
            }
        }
        Ok(())
    }

    fn conflict(&self, a: &Entry, b: &Entry, rule: &str) -> Fault {
        let (earlier, later) = if a.place < b.place { (a, b) } else { (b, a) };
        let name = Name::from_key(self.records.get(later).key);
        let (first, second) = (self.records.get(earlier).rtype, self.records.get(later).rtype);
        let line = earlier.place.line;
        later
            .place
            .fault(format!("{name} has {second} here and {first} in line {line}; a name may have {rule}"))
    }
}

fn may_stand_beside_cname(rtype: Rtype) -> bool {
    matches!(rtype, Rtype::CNAME | Rtype::RRSIG | Rtype::NSEC)
}

fn differing_ttl(record: &Record<'_>, lowest: u32) -> String {
    let (name, rtype, ttl) = (Name::from_key(record.key), record.rtype, record.ttl);
    format!("the TTL {ttl} differs from others of {name} {rtype}: all of them have the lowest, {lowest}")
}

fn duplicate(record: &Record<'_>, first: Place) -> String {
    let (name, rtype, line) = (Name::from_key(record.key), record.rtype, first.line);
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
