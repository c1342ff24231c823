//! Compiles a zone: one pass over its names in canonical order.

use std::sync::Arc;

use dns::{Name, PackedNode, PackedZone, Rdata, RecordSet, Rtype};

use super::TREES;
use super::hash::HashKey;
use super::index::{Content, Flags, Index, Slot};
use crate::steering::Sources;
use crate::zones::{Node, Zone};

/// Compiles what a zone has; `None` where it cannot be packed.
pub(crate) fn compile(zone: &Zone) -> Option<Index> {
    let content = content(zone)?;
    let entries = entries(zone, &content)?;
    Some(Index::new(content, zone, &entries))
}

/// Packs the zone's own names.
fn content(zone: &Zone) -> Option<Content> {
    let mut sources = Sources::default();
    let named: Vec<_> = zone.nodes().iter().filter(|(_, node)| has_data(zone, node)).collect();
    let own = match named.is_empty() {
        true => None,
        false => Some(packed(zone, &named, &mut sources)?),
    };
    Some(Content { base: zone.base().cloned(), own, sources })
}

/// Whether a name has anything that makes it exist.
pub(super) fn has_data(zone: &Zone, node: &Node) -> bool {
    node.sets.iter().any(|set| zone.counts(set.rtype))
}

fn packed(zone: &Zone, nodes: &[(&Name, &Arc<Node>)], sources: &mut Sources) -> Option<PackedZone> {
    let of = |name: &Name, set: &RecordSet| RecordSet { name: name.clone(), ..set.clone() };
    let sets = nodes.iter().flat_map(|(name, node)| node.sets.iter().map(move |set| of(name, set)));
    let trees = nodes.iter().filter_map(|(name, node)| trees(name, node, sources));
    PackedZone::from_sets(zone.origin().clone(), sets.chain(trees).chain(zone.soa().cloned())).ok()
}

/// How the steered sets of a name are chosen from, to be packed beside them.
fn trees(name: &Name, node: &Node, sources: &mut Sources) -> Option<RecordSet> {
    let tree = |set: &RecordSet| {
        let (steering, compiled) = (set.steering.as_ref()?, node.steering(set.rtype)?);
        let tree = compiled.packed(steering, sources);
        Rdata::from_wire(TREES, &[&set.rtype.0.to_be_bytes()[..], &tree].concat()).ok()
    };
    let trees: Vec<Rdata> = node.sets.iter().filter_map(tree).collect();
    is_packed(node, trees.len()).then(|| RecordSet::new(name.clone(), TREES, 0, trees))
}

/// Whether a steered name can be answered from what is packed: each tree is there, and leads to the
/// data by its positions.
fn is_packed(node: &Node, trees: usize) -> bool {
    let in_order = |set: &RecordSet| set.data.is_sorted_by(|one, next| one < next);
    let takes_part = |set: &RecordSet| set.rtype != TREES && in_order(set);
    trees > 0 && trees == node.steering.len() && node.sets.iter().all(takes_part)
}

/// A name to put into the table: its key below the origin, and where its records are.
struct Found<'a> {
    key: &'a [u8],
    flags: Flags,
    place: u32,
}

/// Goes over the zone's own names and those of the zone file that they do not replace.
fn entries(zone: &Zone, content: &Content) -> Option<Vec<(u64, Slot)>> {
    let names = content.base.as_ref().map_or(0, |base| base.set_count());
    let mut walk = Walk::new(zone.origin(), names);
    let mut own = own(zone, content).peekable();
    for (place, node) in content.base.iter().flat_map(|base| base.placed_nodes()) {
        let key = node.key_below_origin();
        while let Some(found) = own.next_if(|found| found.as_ref().is_none_or(|found| found.key < key)) {
            walk.add(found?);
        }
        match own.next_if(|found| found.as_ref().is_some_and(|found| found.key == key)) {
            Some(found) => walk.add(found?),
            None if !node.sets().any(|set| zone.counts(set.rtype)) => {}
            None => walk.add(Found { key, flags: flags(key, node.sets().map(|set| set.rtype)), place }),
        }
    }
    own.try_for_each(|found| found.map(|found| walk.add(found)))?;
    Some(walk.entries)
}

/// The zone's own names; one that only hides what the zone file has is empty.
fn own<'a>(zone: &'a Zone, content: &'a Content) -> impl Iterator<Item = Option<Found<'a>>> {
    let origin = zone.origin().key();
    let mut packed = content.own.iter().flat_map(|own| own.placed_nodes());
    zone.nodes().iter().map(move |(name, node)| {
        let key = name.key().strip_prefix(origin)?;
        let flags = flags(key, node.sets.iter().map(|set| set.rtype));
        Some(if !has_data(zone, node) {
            Found { key, flags: Flags::EMPTY, place: u32::MAX }
        } else {
            let (place, packed) = packed.find(|(_, node)| node.key_below_origin() == key)?;
            Found { key, flags: flags | Flags::OWN | steered(node, &packed), place }
        })
    })
}

/// A steered name is answered from what is packed, or else from what the zone has.
fn steered(node: &Node, packed: &PackedNode<'_>) -> Flags {
    match (node.steering.is_empty(), packed.sets().last().map(|set| set.rtype)) {
        (true, _) => Flags::default(),
        (false, Some(TREES)) if node.sets.iter().all(|set| set.rtype != TREES) => Flags::STEERED,
        (false, _) => Flags::CHANGED,
    }
}

fn flags(key: &[u8], rtypes: impl Iterator<Item = Rtype>) -> Flags {
    rtypes.fold(Flags::default(), |flags, rtype| {
        let cut = rtype == Rtype::NS && !key.is_empty();
        flags.with(Flags::CUT, cut).with(Flags::DNAME, rtype == Rtype::DNAME)
    })
}

/// The way from the apex to the name that was added last.
struct Walk {
    key: HashKey,
    entries: Vec<(u64, Slot)>,
    path: Vec<Level>,
    last: Vec<u8>,
}

struct Level {
    /// How much of the last key leads here.
    end: usize,
    hash: u64,
    entry: usize,
    /// What holds for everything below: that it is occluded, or cannot be compared.
    passed_on: Flags,
}

impl Walk {
    fn new(origin: &Name, names: usize) -> Walk {
        let key = HashKey::of_process();
        let hash = key.suffixes(origin).last().unwrap_or(key.root);
        let mut entries = Vec::with_capacity(names + 1);
        entries.push((hash, Slot::new(hash, Flags::EMPTY, u32::MAX)));
        let path = vec![Level { end: 0, hash, entry: 0, passed_on: Flags::default() }];
        Walk { key, entries, path, last: Vec::new() }
    }

    /// Adds a name that comes after all others, and the names between it and those.
    fn add(&mut self, found: Found<'_>) {
        let Found { key, flags, place } = found;
        // One that only hides says nothing; were something below it, that comes later.
        if flags.has(Flags::EMPTY) {
            return;
        }
        let last = &self.last;
        let shared = self.path.iter().rposition(|level| key.get(..level.end) == last.get(..level.end));
        self.path.truncate(shared.map_or(1, |shared| shared + 1));
        let mut from = self.path.last().map_or(0, |level| level.end);
        if key.is_empty() {
            self.put_apex(flags, place);
        }
        while let Some(length) = key[from..].iter().position(|octet| *octet == 0) {
            let end = from + length + 1;
            let between = (flags.0 & Flags::OWN.0) | Flags::EMPTY.0;
            let flags = if end == key.len() { flags } else { Flags(between) };
            self.step(&key[from..end - 1], end, flags, place);
            from = end;
        }
        self.last.clear();
        self.last.extend_from_slice(key);
    }

    fn put_apex(&mut self, flags: Flags, place: u32) {
        let apex = &mut self.path[0];
        apex.passed_on = Flags::default().with(Flags::OCCLUDED, flags.has(Flags::DNAME));
        self.entries[0].1 = Slot::new(apex.hash, flags, place);
    }

    /// Goes one label down.
    fn step(&mut self, label: &[u8], end: usize, flags: Flags, place: u32) {
        let Some(Level { hash: parent, entry, passed_on, .. }) = self.path.last() else { return };
        let (parent, passed_on) = (*parent, *passed_on);
        if label == b"*" {
            let (hash, slot) = self.entries[*entry];
            self.entries[*entry].1 = Slot::new(hash, slot.flags() | Flags::WILDCARD, slot.place());
        }
        let escaped = label.contains(&1);
        let hash = if escaped { self.escaped(parent, label) } else { self.key.child_named(parent, label) };
        // An escaped label is not the octets that a query has, so it is not compared here.
        let passed_on = passed_on.with(Flags::CHANGED, escaped);
        let hides = flags.has(Flags::CUT | Flags::DNAME);
        let below = passed_on.with(Flags::OCCLUDED, hides);
        self.path.push(Level { end, hash, entry: self.entries.len(), passed_on: below });
        self.entries.push((hash, Slot::new(hash, flags | passed_on, place)));
    }

    fn escaped(&self, parent: u64, label: &[u8]) -> u64 {
        let name = Name::from_key(&[label, &[0]].concat());
        name.labels().next().map_or(parent, |label| self.key.child_named(parent, &label))
    }
}
