//! The zones of a view by the hashes of their origins.

use std::sync::Arc;

use dns::Name;

use super::hash::{HashKey, same_folded};
use super::question::Labels;
use crate::zones::Zone;

/// Depths from this one on are kept as one.
const DEEPEST: u8 = 63;

/// A table from origins to zones, made anew whenever a zone changes.
#[derive(Debug)]
pub(crate) struct Origins {
    key: HashKey,
    /// At which depths the table has anything.
    depths: u64,
    slots: Box<[Option<Origin>]>,
}

#[derive(Clone, Debug)]
struct Origin {
    hash: u64,
    wire: Box<[u8]>,
    /// The zone that begins here; none where zones begin further below only.
    zone: Option<Arc<Zone>>,
}

/// A name with the zone that it is in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Located<'a> {
    pub(super) zone: &'a Zone,
    pub(super) key: HashKey,
    /// How many labels the origin has.
    pub(super) origin: u8,
    pub(super) origin_hash: u64,
    /// The hash of the whole name.
    pub(super) hash: u64,
}

impl Origins {
    pub(crate) fn new<'a>(zones: impl Iterator<Item = &'a Arc<Zone>>) -> Origins {
        let zones: Vec<&Arc<Zone>> = zones.collect();
        let names: usize = zones.iter().map(|zone| zone.origin().labels().count() + 1).sum();
        let room = (names * 2).next_power_of_two();
        let mut origins = Origins { key: HashKey::of_process(), depths: 0, slots: vec![None; room].into() };
        for zone in zones {
            origins.add(zone);
        }
        origins
    }

    /// Adds a zone and the names above it.
    fn add(&mut self, zone: &Arc<Zone>) {
        let hashes: Vec<u64> = self.key.suffixes(zone.origin()).collect();
        let names: Vec<Name> = zone.origin().suffixes().collect();
        for (depth, (hash, name)) in hashes.into_iter().zip(names.iter().rev()).enumerate() {
            self.depths |= 1 << depth.min(usize::from(DEEPEST));
            let own = (name == zone.origin()).then(|| Arc::clone(zone));
            let at = self.place(hash);
            let origin = self.slots[at].get_or_insert_with(|| Origin {
                hash,
                wire: name.to_wire().into(),
                zone: None,
            });
            origin.zone = own.or(origin.zone.take());
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

    /// The zone that a name is in; `None` where it is in none, or zones begin below it.
    #[inline]
    pub(super) fn find<'a>(&'a self, message: &[u8], name: &Labels) -> Option<Located<'a>> {
        let mut found = self.at(self.key.root, 0).and_then(|origin| origin.zone.as_ref());
        let (mut origin, mut origin_hash, mut hash) = (0, self.key.root, self.key.root);
        for labels in 1..=name.count {
            hash = name.suffix_hash(self.key, hash, message, labels);
            let Some(slot) = self.at(hash, labels) else { continue };
            let suffix = message.get(name.suffix_at(labels)..name.end()).unwrap_or_default();
            match &slot.zone {
                Some(zone) if same_folded(suffix, &slot.wire) => {
                    (found, origin, origin_hash) = (Some(zone), labels, hash);
                }
                None if labels == name.count => return None,
                _ => {}
            }
        }
        Some(Located { zone: found?, key: self.key, origin, origin_hash, hash })
    }

    #[inline]
    fn at(&self, hash: u64, depth: u8) -> Option<&Origin> {
        if self.depths >> depth.min(DEEPEST) & 1 == 0 {
            return None;
        }
        self.slots[self.place(hash)].as_ref()
    }
}
