//! What is delivered: one zone, one address a name.

use std::time::Duration;

use anyhow::{Context, Result};
use backends::delivery::Node;
use backends::{Entry, NewZone};
use dns::{Name, Rdata, RecordSet, Rtype};

/// The zone of all records.
pub(crate) const ZONE: &str = "bench.test";

/// The zone, as the plan has it.
pub(crate) fn zone() -> Result<NewZone> {
    let origin: Name = ZONE.parse()?;
    let set = |rtype: Rtype, text: String| -> Result<RecordSet> {
        Ok(RecordSet::new(origin.clone(), rtype, 300, vec![Rdata::parse(rtype, &text, &Name::root())?]))
    };
    let soa = set(Rtype::SOA, format!("ns.{ZONE}. noc.{ZONE}. 2026010100 86400 7200 3600000 360"))?;
    let name_servers = set(Rtype::NS, format!("ns.{ZONE}."))?;
    Ok(NewZone { origin, soa, name_servers })
}

/// What is wanted at the names with these numbers.
pub(crate) fn nodes(numbers: std::ops::Range<usize>, address: [u8; 4]) -> Result<Vec<Node>> {
    numbers.map(|number| node(number, address)).collect()
}

fn node(number: usize, address: [u8; 4]) -> Result<Node> {
    let name: Name = format!("host-{number}.{ZONE}").parse()?;
    let set = RecordSet::new(name.clone(), Rtype::A, 300, vec![Rdata::a(address.into())]);
    Ok(Node {
        zone: ZONE.parse()?,
        name,
        sets: vec![Entry::from(set)],
        kept: Vec::new(),
        shared: Vec::new(),
        heir: None,
    })
}

/// The one in the middle.
pub(crate) fn median<T: Copy + PartialOrd>(values: &[T]) -> Result<T> {
    let mut sorted = values.to_vec();
    sorted.sort_by(|one, other| one.partial_cmp(other).unwrap_or(std::cmp::Ordering::Equal));
    sorted.get(sorted.len() / 2).copied().context("nothing was measured")
}

/// A time for people.
pub(crate) fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
