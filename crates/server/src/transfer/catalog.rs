//! The catalog zone of a view (RFC 9432): which zones there are, for secondaries to follow.
//!
//! Its name is `catalog.<class>.fingerpost.invalid`: `invalid` belongs to nobody, so it collides
//! with nothing that anybody can own. A member's label is made from its name, so it stays the same
//! over restarts and replicas. Its serial is the time at which its members were first seen so.

use std::collections::BTreeSet;

use dns::{Name, Rdata, RecordSet, Rtype, Soa};
use ring::digest::{SHA256, digest};

use super::history::is_later;
use crate::{ZoneUpdate, Zones};

/// How long secondaries keep records of a catalog; nobody resolves them.
const TTL: u32 = 0;
const REFRESH: u32 = 3600;
const RETRY: u32 = 60;
const EXPIRE: u32 = 2_419_200;
const VERSION: &str = "2";

/// The members of a view's catalog, and the zone that says them.
#[derive(Clone, Debug)]
pub struct Catalog {
    origin: Name,
    members: BTreeSet<Name>,
    serial: u32,
    zones: Zones,
}

impl Catalog {
    /// The catalog of a class; none where its name is too long for one.
    pub fn new(class: &str, members: BTreeSet<Name>, now: u32) -> Option<Catalog> {
        let origin = Name::parse(&format!("catalog.{class}.fingerpost.invalid")).ok()?;
        let zones = zones(&origin, &members, now)?;
        Some(Catalog { origin, members, serial: now, zones })
    }

    /// Takes in the members as they are now; says whether they are others.
    pub fn update(&mut self, members: BTreeSet<Name>, now: u32) -> bool {
        if members == self.members {
            return false;
        }
        let next = self.serial.wrapping_add(1);
        let serial = if is_later(now, next) { now } else { next };
        let Some(zones) = zones(&self.origin, &members, serial) else { return false };
        (self.members, self.serial, self.zones) = (members, serial, zones);
        true
    }

    /// The zone, as all there is.
    pub fn zones(&self) -> &Zones {
        &self.zones
    }
}

fn zones(origin: &Name, members: &BTreeSet<Name>, serial: u32) -> Option<Zones> {
    let mut zones = Zones::new();
    let soa = RecordSet::new(origin.clone(), Rtype::SOA, TTL, vec![Rdata::soa(&soa(serial)?)]);
    zones.apply(ZoneUpdate::PutZone { origin: origin.clone(), soa, base: None });
    let nobody = Rdata::name(Rtype::NS, &nobody()?);
    put(&mut zones, origin, origin.clone(), nobody);
    put(&mut zones, origin, origin.child(b"version").ok()?, Rdata::txt(VERSION));
    let group = origin.child(b"zones").ok()?;
    for member in members {
        let name = group.child(label(member).as_bytes()).ok()?;
        put(&mut zones, origin, name, Rdata::name(Rtype::PTR, member));
    }
    Some(zones)
}

fn put(zones: &mut Zones, origin: &Name, name: Name, data: Rdata) {
    let sets = vec![RecordSet::new(name.clone(), data.rtype(), TTL, vec![data])];
    zones.apply(ZoneUpdate::PutNode { origin: origin.clone(), name, sets });
}

/// A catalog has no name servers of its own (RFC 9432 section 4.1).
fn nobody() -> Option<Name> {
    Name::parse("invalid").ok()
}

fn soa(serial: u32) -> Option<Soa> {
    let (mname, rname) = (nobody()?, nobody()?);
    Some(Soa { mname, rname, serial, refresh: REFRESH, retry: RETRY, expire: EXPIRE, minimum: TTL })
}

/// The label of a member: the first digits of a hash of its name.
fn label(member: &Name) -> String {
    let hash = digest(&SHA256, &member.to_wire());
    hash.as_ref().iter().take(16).map(|octet| format!("{octet:02x}")).collect()
}
