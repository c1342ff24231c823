//! From a name in a zone to what it has: one probe where it exists, else the closest encloser and
//! its wildcard (RFC 4592).
//!
//! `None` leaves the question to the slow path: what lies at or below a zone cut or a DNAME, and
//! what changed in a way that only the zone itself can tell.

use dns::{PackedNode, Rtype};

use super::build::has_data;
use super::hash::same_folded;
use super::index::{Flags, Index, Slot};
use super::origins::Located;
use super::question::Labels;
use crate::zones::Node;

/// The longest key that a name can have, each of its octets escaped.
const LONGEST_KEY: usize = 512;
/// A wildcard's label, with a word's room after it.
const WILDCARD: &[u8] = b"*\0\0\0\0\0\0\0\0";

/// What a name has.
#[derive(Clone, Copy, Debug)]
pub(super) enum Found<'a> {
    /// Records in packed form, its own or its wildcard's.
    Packed(PackedNode<'a>),
    /// Packed records of which some are steered.
    Steered(PackedNode<'a>),
    /// Records as the zone has them.
    Listed(&'a Node),
    /// Nothing; it exists because of names below it.
    Empty,
    /// It does not exist.
    Missing,
}

/// A name to look for, and the message that it is in.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a, 'm> {
    pub(super) located: &'m Located<'a>,
    pub(super) name: &'m Labels,
    pub(super) message: &'m [u8],
    /// Where it likely is.
    pub(super) likely: Option<Slot>,
}

/// A slot for a name, and what is packed for it: its own, or of one below it.
type Fitting<'a> = (Slot, Option<PackedNode<'a>>);

impl<'a> Wanted<'a, '_> {
    /// What the name has, and a number for what that is about: the name or its wildcard.
    #[inline]
    pub(super) fn find(&self) -> Option<(Found<'a>, u64)> {
        let index = self.index()?;
        match self.likely_fitting(index) {
            Some(fitting) => self.at(fitting, self.located.hash),
            None => self.search(index),
        }
    }

    /// The same without a hint. Apart, so that what most names take is short.
    #[inline(never)]
    fn search(&self, index: &'a Index) -> Option<(Found<'a>, u64)> {
        match self.fitting(index, self.located.hash, self.name.count, b"") {
            Some(fitting) => self.at(fitting, self.located.hash),
            None => self.synthesised(index),
        }
    }

    /// What a likely slot leads to, if it is the right one and stands as it was compiled.
    #[inline]
    fn likely_fitting(&self, index: &'a Index) -> Option<Fitting<'a>> {
        let slot = self.likely.filter(|slot| !slot.flags().has(Flags::CHANGED))?;
        Some((slot, self.fits(index, slot, self.name.count, b"")?))
    }

    /// The slot for the suffix with this many labels, with a tail of a key below.
    #[inline]
    fn fitting(&self, index: &'a Index, hash: u64, labels: u8, tail: &[u8]) -> Option<Fitting<'a>> {
        let (slot, node) = index.find(hash, |slot| self.fits(index, slot, labels, tail))?;
        Some((slot, node.flatten()))
    }

    #[inline]
    fn index(&self) -> Option<&'a Index> {
        Some(self.located.index).filter(|index| index.is_usable())
    }

    /// What a slot for the name, or for the wildcard that stands for it, leads to, with its hash.
    #[inline]
    fn at(&self, (slot, node): Fitting<'a>, hash: u64) -> Option<(Found<'a>, u64)> {
        let flags = slot.flags();
        if flags.has(Flags::CHANGED | Flags::OCCLUDED | Flags::CUT) {
            return self.changed(flags).map(|found| (found, hash));
        }
        if flags.has(Flags::EMPTY) {
            return Some((Found::Empty, hash));
        }
        if flags.has(Flags::STEERED) {
            return Some((Found::Steered(node?), hash));
        }
        Some((Found::Packed(node?), hash))
    }

    /// A name that changed and has data of its own needs no more than that data.
    #[cold]
    fn changed(&self, flags: Flags) -> Option<Found<'a>> {
        if flags.has(Flags::OCCLUDED | Flags::CUT) {
            return None;
        }
        let mut room = [0; LONGEST_KEY];
        let key = self.key(&mut room)?;
        let zone = &*self.located.origin.zone;
        let node = zone.own_node(key).filter(|node| has_data(zone, node))?;
        let has_servers = node.sets.iter().any(|set| set.rtype == Rtype::NS);
        let is_cut = has_servers && self.name.count > self.located.origin.labels;
        (!is_cut).then_some(Found::Listed(node))
    }

    /// The name as [`dns::Name::key`] has it.
    fn key<'r>(&self, room: &'r mut [u8; LONGEST_KEY]) -> Option<&'r [u8]> {
        let mut length = 0;
        let mut push = |octet: u8| -> Option<()> {
            *room.get_mut(length)? = octet;
            length += 1;
            Some(())
        };
        for labels in 1..=self.name.count {
            for octet in self.name.label(self.message, labels) {
                match octet {
                    0 | 1 => [1, octet + 1].into_iter().try_for_each(&mut push)?,
                    _ => push(octet.to_ascii_lowercase())?,
                }
            }
            push(0)?;
        }
        room.get(..length)
    }

    /// Goes down from the apex to the closest encloser of a name that does not exist.
    #[inline]
    fn synthesised(&self, index: &'a Index) -> Option<(Found<'a>, u64)> {
        let Located { origins, origin, .. } = *self.located;
        let key = origins.key();
        let (mut labels, mut hash) = (origin.labels, origin.hash);
        let (mut encloser, _) = self.fitting(index, hash, labels, b"")?;
        // That the whole name is not there is known.
        while labels + 1 < self.name.count {
            let next = self.name.suffix_hash(key, hash, self.message, labels + 1);
            let Some((slot, _)) = self.fitting(index, next, labels + 1, b"") else { break };
            (encloser, labels, hash) = (slot, labels + 1, next);
        }
        let flags = encloser.flags();
        if flags.has(Flags::CHANGED | Flags::OCCLUDED | Flags::CUT | Flags::DNAME) {
            return None;
        }
        if !flags.has(Flags::WILDCARD) {
            return Some((Found::Missing, hash));
        }
        let hash = key.child(hash, WILDCARD, 0, 1);
        let fitting = self.fitting(index, hash, labels, b"*\0")?;
        let sure = !fitting.0.flags().has(Flags::CHANGED | Flags::OCCLUDED | Flags::CUT);
        if sure { self.at(fitting, hash) } else { None }
    }

    /// What a compiled slot leads to, if it is for the suffix with this many labels, with a tail of a key below.
    #[inline]
    fn fits(&self, index: &'a Index, slot: Slot, labels: u8, tail: &[u8]) -> Option<Option<PackedNode<'a>>> {
        let origin = self.located.origin.labels;
        let Some(node) = index.node(slot) else { return (labels == origin).then_some(None) };
        let mut key = node.key_below_origin();
        for labels in origin + 1..=labels {
            let label = self.name.label(self.message, labels);
            let (of_key, [0, rest @ ..]) = key.split_at_checked(label.len())? else { return None };
            if !same_folded(label, of_key) {
                return None;
            }
            key = rest;
        }
        // Most have no tail, and to compare nothing would be a call.
        let begins = tail.is_empty() || key.starts_with(tail);
        (begins && (key.len() == tail.len() || slot.flags().has(Flags::EMPTY))).then_some(Some(node))
    }
}
