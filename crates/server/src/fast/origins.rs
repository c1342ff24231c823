//! The zones of a view by the hashes of their origins.

use std::sync::Arc;

use dns::Name;

use super::hash::{HashKey, same_folded};
use super::index::Index;
use super::question::Labels;
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

/// A name where zones begin, there or further below.
#[derive(Clone, Debug)]
struct Slot {
    hash: u64,
    begins: Option<Begins>,
    /// Whether zones begin further below.
    above_others: bool,
}

/// A zone, at the name where it begins.
#[derive(Clone, Debug)]
pub(super) struct Begins {
    pub(super) zone: Arc<Zone>,
    /// How many labels the origin has.
    pub(super) labels: u8,
    /// The hash of the origin.
    pub(super) hash: u64,
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
    pub(super) origin: &'a Begins,
    /// The zone's table.
    pub(super) index: &'a Index,
    /// The hash of the whole name.
    pub(super) hash: u64,
    /// Whether all names below the origin are in the zone.
    is_whole: bool,
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
            let new = || Slot { hash: *hash, begins: None, above_others: false };
            let slot = self.slots[at].get_or_insert_with(new);
            if begins {
                self.zone_depths |= bit;
                slot.begins = Some(Begins { zone: Arc::clone(zone), labels: depth as u8, hash: *hash });
            } else {
                slot.above_others = true;
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

    /// The zone that a name is in, which may well be that of the name before.
    #[inline]
    pub(super) fn find_near<'a>(
        &'a self,
        before: Option<&Located<'a>>,
        message: &[u8],
        name: &Labels,
    ) -> Option<Located<'a>> {
        let near = before.filter(|before| std::ptr::eq(before.origins, self));
        match near.and_then(|before| before.with(message, name)) {
            Some(located) => Some(located),
            None => self.find(message, name),
        }
    }

    /// The zone that a name is in; `None` where it is in none, zones begin below it, or it has no table.
    #[inline(never)]
    pub(super) fn find<'a>(&'a self, message: &[u8], name: &Labels) -> Option<Located<'a>> {
        let mut found = self.at(self.key.root, 0, self.zone_depths).filter(|slot| slot.begins.is_some());
        let mut hash = self.key.root;
        for (labels, at, length) in name.suffixes_from(0, name.suffix_at(0)) {
            hash = self.key.child(hash, message, at + 1, length);
            // That zones begin below matters for the whole name only.
            let depths = if labels == name.count { self.depths } else { self.zone_depths };
            let Some(slot) = self.at(hash, labels, depths) else { continue };
            let suffix = message.get(at..name.end()).unwrap_or_default();
            match &slot.begins {
                Some(origin) if same_folded(suffix, &origin.zone.origin_form().wire) => found = Some(slot),
                None if labels == name.count => return None,
                _ => {}
            }
        }
        let slot = found?;
        let origin = slot.begins.as_ref()?;
        let (index, is_whole) = (origin.zone.index()?, !slot.above_others);
        Some(Located { origins: self, origin, index, hash, is_whole })
    }

    #[inline]
    fn at(&self, hash: u64, depth: u8, depths: u64) -> Option<&Slot> {
        if depths >> depth.min(DEEPEST) & 1 == 0 {
            return None;
        }
        self.slots[self.place(hash)].as_ref()
    }
}

impl<'a> Located<'a> {
    /// Another name, if it is surely in the same zone.
    #[inline]
    pub(super) fn with(&self, message: &[u8], name: &Labels) -> Option<Located<'a>> {
        let Begins { zone, labels, hash } = self.origin;
        if !self.is_whole || name.count < *labels {
            return None;
        }
        let at = name.suffix_at(*labels);
        if !same_folded(message.get(at..name.end())?, &zone.origin_form().wire) {
            return None;
        }
        let child = |hash, (_, at, length)| self.origins.key.child(hash, message, at + 1, length);
        Some(Located { hash: name.suffixes_from(*labels, at).fold(*hash, child), ..*self })
    }
}
