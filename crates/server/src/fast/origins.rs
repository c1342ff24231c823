//! The zones of a view by the hashes of their origins.

use std::sync::Arc;

use dns::Name;

use super::hash::{HashKey, same_folded};
use super::index::Index;
use super::question::{Labels, label_hash};
use crate::zones::Zone;

/// Depths from this one on are kept as one.
const DEEPEST: u8 = 63;

/// A table from origins to zones, made anew whenever a zone changes.
#[derive(Debug)]
pub(crate) struct Origins {
    key: HashKey,
    /// At which depths zones begin.
    zone_depths: u64,
    /// At which depths the table has anything.
    depths: u64,
    slots: Box<[Option<Slot>]>,
}

#[derive(Clone, Debug)]
struct Slot {
    hash: u64,
    /// The zone that begins here; none where zones begin further below only.
    zone: Option<Arc<Zone>>,
}

/// The origin of a zone, ready to be compared with what messages have.
#[derive(Debug)]
pub(crate) struct Origin {
    wire: Box<[u8]>,
    /// The hashes of the origin and the names above it, the root's first.
    hashes: Box<[u64]>,
}

impl Origin {
    pub(crate) fn new(name: &Name) -> Origin {
        let hashes = HashKey::of_process().suffixes(name).collect();
        Origin { wire: name.to_wire().into(), hashes }
    }
}

/// A name with the zone that it is in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Located<'a> {
    /// Where the zone was found.
    pub(super) origins: &'a Origins,
    pub(super) zone: &'a Zone,
    /// The zone's table.
    pub(super) index: &'a Index,
    /// How many labels the origin has.
    pub(super) origin: u8,
    pub(super) origin_hash: u64,
    /// The hash of the whole name.
    pub(super) hash: u64,
}

impl Origins {
    pub(crate) fn new<'a>(zones: impl Iterator<Item = &'a Arc<Zone>>) -> Origins {
        let zones: Vec<&Arc<Zone>> = zones.collect();
        let names: usize = zones.iter().map(|zone| zone.origin_form().hashes.len()).sum();
        let room = (names * 2).next_power_of_two();
        let (key, slots) = (HashKey::of_process(), vec![None; room].into());
        let mut origins = Origins { key, zone_depths: 0, depths: 0, slots };
        zones.into_iter().for_each(|zone| origins.add(zone));
        origins
    }

    /// Adds a zone and the names above it.
    fn add(&mut self, zone: &Arc<Zone>) {
        let hashes = &zone.origin_form().hashes;
        for (depth, hash) in hashes.iter().enumerate() {
            let bit = 1 << depth.min(usize::from(DEEPEST));
            let begins = depth + 1 == hashes.len();
            self.depths |= bit;
            let at = self.place(*hash);
            let slot = self.slots[at].get_or_insert_with(|| Slot { hash: *hash, zone: None });
            if begins {
                self.zone_depths |= bit;
                slot.zone = Some(Arc::clone(zone));
            }
        }
    }

    #[inline]
    fn place(&self, hash: u64) -> usize {
        let last = self.slots.len() - 1;
        let mut at = hash as usize & last;
        while self.slots[at].as_ref().is_some_and(|slot| slot.hash != hash) {
            at = (at + 1) & last;
        }
        at
    }

    /// What makes the hashes.
    #[inline]
    pub(super) fn key(&self) -> HashKey {
        self.key
    }

    /// The zone that a name is in; `None` where it is in none, zones begin below it, or it has no table.
    #[inline]
    pub(super) fn find<'a>(&'a self, message: &[u8], name: &Labels) -> Option<Located<'a>> {
        let mut found = self.at(self.key.root, 0, self.zone_depths).and_then(|slot| slot.zone.as_ref());
        let (mut origin, mut origin_hash, mut hash) = (0, self.key.root, self.key.root);
        for (labels, at) in name.suffixes() {
            hash = label_hash(self.key, hash, message, at);
            // That zones begin below matters for the whole name only.
            let depths = if labels == name.count { self.depths } else { self.zone_depths };
            let Some(slot) = self.at(hash, labels, depths) else { continue };
            let suffix = message.get(at..name.end()).unwrap_or_default();
            match &slot.zone {
                Some(zone) if same_folded(suffix, &zone.origin_form().wire) => {
                    (found, origin, origin_hash) = (Some(zone), labels, hash);
                }
                None if labels == name.count => return None,
                _ => {}
            }
        }
        let zone = found?;
        Some(Located { origins: self, zone, index: zone.index()?, origin, origin_hash, hash })
    }

    #[inline]
    fn at(&self, hash: u64, depth: u8, depths: u64) -> Option<&Slot> {
        if depths >> depth.min(DEEPEST) & 1 == 0 {
            return None;
        }
        self.slots[self.place(hash)].as_ref()
    }
}
