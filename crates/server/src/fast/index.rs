//! A hash table over the names of a zone, beside the records as they are packed.
//!
//! A slot is one number: a part of the name's hash, what is known of the name, and where its
//! records are. Names without records of their own that lie between others (empty non-terminals)
//! have slots too, so "does this name exist" is one probe.
//!
//! The table is made once. A name that changes afterwards is marked, in every version of the
//! zone that shares the table: a mark says "look at the zone itself", which is right for any
//! version. So a change costs one store, and old versions that are still being read stay right.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use dns::{Name, PackedNode, PackedZone, RecordSet, Rtype};

use super::SMALL;
use super::hash::HashKey;
use crate::steering::Sources;
use crate::zones::Zone;

/// Marks may fill a table up to this share of its slots, in eighths.
const FULL: usize = 6;
/// A table of so few names is made anew for any change.
const TINY: usize = 256;
const TAG_SHIFT: u32 = 40;
/// The lowest bit of a tag.
const ONE_TAG: NonZeroU64 = match NonZeroU64::new(1 << TAG_SHIFT) {
    Some(tag) => tag,
    None => NonZeroU64::MIN,
};
const FLAGS_SHIFT: u32 = 32;

/// What is known of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct Flags(pub(super) u8);

impl Flags {
    /// It is not any more what was compiled, or cannot be compared here.
    pub(super) const CHANGED: Flags = Flags(1);
    /// It lies below a zone cut or a DNAME.
    pub(super) const OCCLUDED: Flags = Flags(2);
    /// It has an NS set and is not the apex.
    pub(super) const CUT: Flags = Flags(4);
    /// It has a DNAME.
    pub(super) const DNAME: Flags = Flags(8);
    /// It has a child `*`.
    pub(super) const WILDCARD: Flags = Flags(16);
    /// It has nothing of its own.
    pub(super) const EMPTY: Flags = Flags(32);
    /// Its records are among the zone's own, not the zone file's.
    pub(super) const OWN: Flags = Flags(64);
    /// Some of its records are steered; the trees are packed beside them.
    pub(super) const STEERED: Flags = Flags(128);

    #[inline]
    pub(super) fn has(self, any_of: Flags) -> bool {
        self.0 & any_of.0 != 0
    }

    pub(super) fn with(self, other: Flags, wanted: bool) -> Flags {
        if wanted { Flags(self.0 | other.0) } else { self }
    }
}

impl std::ops::BitOr for Flags {
    type Output = Flags;

    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

/// A slot that is in use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot(NonZeroU64);

impl Slot {
    pub(super) fn new(hash: u64, flags: Flags, place: u32) -> Slot {
        Slot(tag(hash) | u64::from(flags.0) << FLAGS_SHIFT | u64::from(place))
    }

    /// Reads a slot, if it is in use.
    #[inline]
    fn read(number: &AtomicU64) -> Option<Slot> {
        NonZeroU64::new(number.load(Ordering::Relaxed)).map(Slot)
    }

    #[inline]
    pub(super) fn flags(self) -> Flags {
        Flags((self.0.get() >> FLAGS_SHIFT) as u8)
    }

    #[inline]
    pub(super) fn place(self) -> u32 {
        self.0.get() as u32
    }

    #[inline]
    pub(super) fn is_steered(self) -> bool {
        self.flags().has(Flags::STEERED)
    }

    #[inline]
    fn is_for(self, hash: u64) -> bool {
        (self.0.get() ^ tag(hash).get()) >> TAG_SHIFT == 0
    }
}

/// The part of a hash that a slot keeps, where it keeps it; never zero, so that a slot in use is not zero either.
#[inline]
fn tag(hash: u64) -> NonZeroU64 {
    ONE_TAG | hash >> TAG_SHIFT << TAG_SHIFT
}

/// Where the records are that an index leads to.
#[derive(Default)]
pub(super) struct Content {
    pub(super) base: Option<Arc<PackedZone>>,
    pub(super) own: Option<PackedZone>,
    pub(super) sources: Sources,
}

/// The table of one zone.
#[derive(Debug)]
pub(crate) struct Index {
    /// The zone file that was compiled.
    pub(super) base: Option<Arc<PackedZone>>,
    /// The zone's own names, packed.
    pub(super) own: Option<PackedZone>,
    /// What steered sets are chosen by.
    pub(super) sources: Sources,
    /// Whether the zone is signed here, so that what another signer left does not count.
    signed: bool,
    /// How many octets the origin's key has.
    pub(super) origin_length: usize,
    /// How many labels the origin has.
    origin_labels: usize,
    slots: Box<[AtomicU64]>,
    names: usize,
    /// How many marks there are.
    marks: AtomicU32,
    /// Whether a change reaches further than the names that it is at.
    unusable: AtomicBool,
}

impl Index {
    /// Makes a table that is at most 0.6 full.
    pub(super) fn new(content: Content, zone: &Zone, entries: &[(u64, Slot)]) -> Index {
        let room = (entries.len() * 10 / 6 + 8).next_power_of_two();
        let mut index = Index {
            base: content.base,
            own: content.own,
            sources: content.sources,
            signed: zone.signing().is_some(),
            origin_length: zone.origin().key().len(),
            origin_labels: zone.origin().labels().count(),
            slots: (0..room).map(|_| AtomicU64::new(0)).collect(),
            names: entries.len(),
            marks: AtomicU32::new(0),
            unusable: AtomicBool::new(false),
        };
        entries.iter().for_each(|(hash, slot)| index.fill(*hash, *slot));
        index
    }

    fn fill(&mut self, hash: u64, slot: Slot) {
        let mut at = self.start(hash);
        while *self.slots[at].get_mut() != 0 {
            at = self.next(at);
        }
        *self.slots[at].get_mut() = slot.0.get();
    }

    /// Whether the table was made of the zone file that the zone has, and for signing or not.
    pub(crate) fn is_of(&self, zone: &Zone) -> bool {
        let same_file = match (&self.base, zone.base()) {
            (Some(own), Some(base)) => Arc::ptr_eq(own, base),
            (None, None) => true,
            _ => false,
        };
        same_file && self.signed == zone.signing().is_some()
    }

    /// Whether so much has changed that a new table is worth its cost: anything, where it is small.
    pub(crate) fn is_worn(&self) -> bool {
        let bearable = match self.names {
            0..=TINY => 0,
            names @ 0..=SMALL => names / 16,
            names => (names / 16).max(256),
        };
        !self.is_usable() || self.marks.load(Ordering::Relaxed) as usize > bearable
    }

    /// Whether names can be looked up here at all.
    #[inline]
    pub(crate) fn is_usable(&self) -> bool {
        !self.unusable.load(Ordering::Relaxed)
    }

    #[inline]
    fn start(&self, hash: u64) -> usize {
        hash as usize & (self.slots.len() - 1)
    }

    #[inline]
    fn next(&self, at: usize) -> usize {
        (at + 1) & (self.slots.len() - 1)
    }

    /// The slot that a search for this hash reads first.
    #[inline]
    pub(super) fn first_slot(&self, hash: u64) -> Option<&AtomicU64> {
        self.slots.get(self.start(hash))
    }

    /// The slot for this hash that fits, with what it leads to, or a marked one that may be for it.
    #[inline]
    pub(super) fn find<T>(&self, hash: u64, fits: impl Fn(Slot) -> Option<T>) -> Option<(Slot, Option<T>)> {
        let mut at = self.start(hash);
        loop {
            let slot = Slot::read(self.slots.get(at)?)?;
            if slot.is_for(hash) {
                if slot.flags().has(Flags::CHANGED) {
                    return Some((self.marked(hash, slot, at), None));
                }
                if let Some(fitting) = fits(slot) {
                    return Some((slot, Some(fitting)));
                }
            }
            at = self.next(at);
        }
    }

    /// A marked slot; where others have the same part of the hash, nothing of it is sure.
    #[cold]
    fn marked(&self, hash: u64, slot: Slot, mut at: usize) -> Slot {
        loop {
            at = self.next(at);
            match Slot::read(&self.slots[at]) {
                None => return slot,
                Some(other) if other.is_for(hash) => {
                    return Slot(slot.0 | u64::from(Flags::OCCLUDED.0) << FLAGS_SHIFT);
                }
                Some(_) => {}
            }
        }
    }

    /// The node that a slot leads to.
    #[inline]
    pub(super) fn node(&self, slot: Slot) -> Option<PackedNode<'_>> {
        self.packed(slot)?.node_at_place(slot.place())
    }

    #[inline]
    pub(super) fn packed(&self, slot: Slot) -> Option<&PackedZone> {
        if slot.flags().has(Flags::OWN) { self.own.as_ref() } else { self.base.as_deref() }
    }

    /// What the name of a compiled slot has after the zone's origin in its key; for a name
    /// without data the key of one below it.
    #[inline]
    pub(super) fn key(&self, slot: Slot) -> Option<&[u8]> {
        self.node(slot).map(|node| node.key_below_origin())
    }

    /// Takes note that a name of the zone has changed and what it has now.
    ///
    /// Where a name begins or ends to exist, the names above may too; a new cut or DNAME reaches
    /// all names below, so then nothing is looked up here any more.
    pub(crate) fn changed(&self, name: &Name, sets: &[RecordSet]) {
        let Some(below) = name.key().get(self.origin_length..).filter(|_| self.is_usable()) else { return };
        let ends = (0..below.len()).filter(|at| below[*at] == 0).map(|at| at + 1);
        let keys = std::iter::once(0).chain(ends).map(|end| &below[..end]);
        let hashes = HashKey::of_process().suffixes(name).skip(self.origin_labels);
        let mut hidden = Flags::default();
        for (key, hash) in keys.zip(hashes) {
            let flags = match self.find(hash, |slot| self.is_at(slot, key).then_some(())) {
                Some((slot, _)) if !self.is_touched(slot, key, below, sets) => slot.flags(),
                _ => self.mark(hash, hidden),
            };
            if key.len() == below.len() {
                self.check_reach(key, sets, flags);
            }
            let hides = flags.has(Flags::OCCLUDED | Flags::CUT | Flags::DNAME);
            hidden = Flags::default().with(Flags::OCCLUDED, hides);
        }
    }

    /// Whether a change at `below` says something new about the name with this key above it or at it.
    fn is_touched(&self, slot: Slot, key: &[u8], below: &[u8], sets: &[RecordSet]) -> bool {
        // A name below a wildcard brings the wildcard with it.
        let is_wildcard_of = || below.strip_prefix(key).is_some_and(|rest| rest.starts_with(b"*\0"));
        // The apex always exists, and a name with data does as long as it is not changed itself.
        let may_vanish = || !key.is_empty() && sets.is_empty() && slot.flags().has(Flags::EMPTY);
        key.len() == below.len() || is_wildcard_of() || may_vanish()
    }

    fn check_reach(&self, key: &[u8], sets: &[RecordSet], was: Flags) {
        let has = |rtype| sets.iter().any(|set| set.rtype == rtype);
        let cuts = !key.is_empty() && has(Rtype::NS) && !was.has(Flags::CUT);
        if cuts || has(Rtype::DNAME) && !was.has(Flags::DNAME) {
            self.unusable.store(true, Ordering::Relaxed);
        }
    }

    /// Whether a compiled slot is for the name with this key below the origin.
    fn is_at(&self, slot: Slot, key: &[u8]) -> bool {
        match self.key(slot) {
            Some(of_slot) if slot.flags().has(Flags::EMPTY) => of_slot.starts_with(key),
            Some(of_slot) => of_slot == key,
            None => key.is_empty(),
        }
    }

    /// Marks what has this hash, or takes a new slot for it; gives what was known before.
    fn mark(&self, hash: u64, hidden: Flags) -> Flags {
        let mut before = None;
        let mut at = self.start(hash);
        let mark = u64::from((Flags::CHANGED | hidden).0) << FLAGS_SHIFT;
        while let Some(slot) = Slot::read(&self.slots[at]) {
            if slot.is_for(hash) {
                self.slots[at].fetch_or(mark, Ordering::Relaxed);
                self.marks.fetch_add(u32::from(!slot.flags().has(Flags::CHANGED)), Ordering::Relaxed);
                // Where two share it, only what both have is known.
                before = Some(Flags(slot.flags().0 & before.unwrap_or(slot.flags()).0));
            }
            at = self.next(at);
        }
        before.unwrap_or_else(|| {
            self.take(at, Slot::new(hash, hidden | Flags::CHANGED, u32::MAX));
            hidden
        })
    }

    /// Puts a new slot at the first free place from `at` on, where there is still room.
    fn take(&self, mut at: usize, slot: Slot) {
        let used = self.names + self.marks.fetch_add(1, Ordering::Relaxed) as usize;
        if used * 8 > self.slots.len() * FULL {
            self.unusable.store(true, Ordering::Relaxed);
            return;
        }
        while self.slots[at].compare_exchange(0, slot.0.get(), Ordering::Relaxed, Ordering::Relaxed).is_err()
        {
            at = self.next(at);
        }
    }
}
