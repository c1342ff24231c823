//! Writes zones in master-file form, for people and for `read_zone`.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::fmt::Write;

use crate::{Name, RecordSet, Rtype};

/// Owner names longer than this do not push the other columns to the right.
const MAX_OWNER_WIDTH: usize = 40;

/// The master-file form of a zone: the SOA first, then canonical order, one record a line.
///
/// Owner names are relative to the origin; a TTL stands only where it differs from `$TTL`.
pub fn write_zone(origin: &Name, sets: impl IntoIterator<Item = RecordSet>) -> String {
    let mut sets: Vec<RecordSet> = sets.into_iter().collect();
    sets.sort_by(|a, b| rank(a).cmp(&rank(b)));
    let form = ZoneForm::of(origin, sets.iter());
    let mut out = form.head();
    sets.iter().for_each(|set| form.write(&mut out, set));
    out
}

/// How a zone is laid out as text, so that it can be written a record set at a time.
#[derive(Clone, Debug)]
pub struct ZoneForm {
    origin: Name,
    ttl: u32,
    width: usize,
}

impl ZoneForm {
    /// The form that suits these record sets; none of them is kept.
    pub fn of<S: Borrow<RecordSet>>(origin: &Name, sets: impl Iterator<Item = S>) -> ZoneForm {
        let (mut counts, mut width) = (BTreeMap::<u32, usize>::new(), 0);
        for set in sets {
            let set = set.borrow();
            *counts.entry(set.ttl).or_default() += 1;
            let length = owner(&set.name, origin).len();
            width = if length <= MAX_OWNER_WIDTH { width.max(length) } else { width };
        }
        // The TTL that most sets have; of equally frequent ones the lowest.
        let usual = counts.into_iter().max_by_key(|(ttl, count)| (*count, std::cmp::Reverse(*ttl)));
        ZoneForm { origin: origin.clone(), ttl: usual.map(|(ttl, _)| ttl).unwrap_or_default(), width }
    }

    /// The lines before the record sets.
    pub fn head(&self) -> String {
        format!("$ORIGIN {}\n$TTL {}\n", self.origin, self.ttl)
    }

    /// Appends a record set; the SOA is to be the first.
    pub fn write(&self, out: &mut String, set: &RecordSet) {
        write_set(out, set, &self.origin, self.ttl, self.width);
    }
}

fn rank(set: &RecordSet) -> (bool, &[u8], Rtype) {
    (set.rtype != Rtype::SOA, set.name.key(), set.rtype)
}

fn write_set(out: &mut String, set: &RecordSet, origin: &Name, usual: u32, width: usize) {
    let owner = owner(&set.name, origin);
    let ttl = if set.ttl == usual { String::new() } else { set.ttl.to_string() };
    for data in set.data.iter() {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{owner:width$} {ttl:>7} IN {:8} {data}", set.rtype);
    }
}

/// The name below the origin, `@` for the origin, absolute where it lies elsewhere.
fn owner(name: &Name, origin: &Name) -> String {
    let text = name.to_string();
    if name == origin {
        return "@".to_owned();
    }
    let tail = if origin.is_root() { ".".to_owned() } else { format!(".{origin}") };
    let relative = text.strip_suffix(&tail).filter(|_| name.is_below(origin));
    relative.map(str::to_owned).unwrap_or(text)
}
