//! Zones from lines such as `www 300 A 192.0.2.1`.

use std::collections::BTreeMap;
use std::sync::Arc;

use dns::{Name, PackedZone, Rdata, RecordSet, Rtype};
use server::{ZoneUpdate, Zones};

/// Reads the lines of one zone into record sets.
pub(crate) fn sets(origin: &Name, lines: &[String]) -> Vec<RecordSet> {
    let mut sets: BTreeMap<(Name, Rtype), (u32, Vec<Rdata>)> = BTreeMap::new();
    for line in lines {
        let mut words = line.splitn(4, ' ');
        let mut word = || words.next().unwrap_or_else(|| panic!("`{line}` is not name, TTL, type and data"));
        let name = Name::parse_relative(word(), origin).unwrap();
        let (ttl, rtype): (u32, Rtype) = (word().parse().unwrap(), word().parse().unwrap());
        let data = Rdata::parse(rtype, word(), origin).unwrap();
        sets.entry((name, rtype)).or_insert((ttl, Vec::new())).1.push(data);
    }
    sets.into_iter().map(|((name, rtype), (ttl, data))| RecordSet::new(name, rtype, ttl, data)).collect()
}

/// Puts a zone with one node for each name that has data.
pub(crate) fn put_nodes(zones: &mut Zones, origin: &Name, lines: &[String]) {
    let mut nodes: BTreeMap<Name, Vec<RecordSet>> = BTreeMap::new();
    for set in sets(origin, lines) {
        match set.rtype {
            Rtype::SOA => zones.apply(ZoneUpdate::PutZone { origin: origin.clone(), soa: set, base: None }),
            _ => nodes.entry(set.name.clone()).or_default().push(set),
        }
    }
    for (name, sets) in nodes {
        zones.apply(ZoneUpdate::PutNode { origin: origin.clone(), name, sets });
    }
}

/// Puts a zone whose content is a zone file's.
pub(crate) fn put_base(zones: &mut Zones, origin: &Name, lines: &[String]) {
    let base = PackedZone::from_sets(origin.clone(), sets(origin, lines)).unwrap();
    let (soa, base) = (base.soa(), Some(Arc::new(base)));
    zones.apply(ZoneUpdate::PutZone { origin: origin.clone(), soa, base });
}

/// A zone from text, as nodes.
pub(crate) fn zones(origin: &str, text: &str) -> Zones {
    let mut zones = Zones::new();
    let lines: Vec<String> =
        text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect();
    put_nodes(&mut zones, &origin.parse().unwrap(), &lines);
    zones
}
