//! Writes zones in master-file form, for people and for `read_zone`.

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
    let ttl = usual_ttl(&sets);
    let width = sets.iter().map(|set| owner(&set.name, origin).len()).filter(|l| *l <= MAX_OWNER_WIDTH).max();
    let mut out = format!("$ORIGIN {origin}\n$TTL {ttl}\n");
    for set in &sets {
        write_set(&mut out, set, origin, ttl, width.unwrap_or_default());
    }
    out
}

fn rank(set: &RecordSet) -> (bool, &[u8], Rtype) {
    (set.rtype != Rtype::SOA, set.name.key(), set.rtype)
}

/// The TTL that most sets have; of equally frequent ones the lowest.
fn usual_ttl(sets: &[RecordSet]) -> u32 {
    let mut counts = BTreeMap::<u32, usize>::new();
    sets.iter().for_each(|set| *counts.entry(set.ttl).or_default() += 1);
    let usual = counts.into_iter().max_by_key(|(ttl, count)| (*count, std::cmp::Reverse(*ttl)));
    usual.map(|(ttl, _)| ttl).unwrap_or_default()
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
