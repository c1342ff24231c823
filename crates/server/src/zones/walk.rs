//! All names of a zone in order, and the names that two versions of it differ at.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;

use dns::{Name, PackedNode, PackedSet, PackedZone, RecordSet, Rtype};
use imbl::ordmap::DiffItem;

use super::Zone;

impl Zone {
    /// The names after this one that have data, in canonical order, with all that they have but the
    /// SOA; without a name, all of them.
    pub(crate) fn walk<'a>(
        &'a self,
        after: Option<&'a Name>,
    ) -> impl Iterator<Item = (Name, Cow<'a, [RecordSet]>)> {
        let from = after.map_or(Bound::Included(self.origin().key()), |name| Bound::Excluded(name.key()));
        let start = after.unwrap_or(self.origin()).key();
        let mut own = self.overrides().range::<_, [u8]>((from, Bound::Unbounded)).peekable();
        let base = self.base().into_iter().flat_map(move |base| base.nodes_from(start));
        let mut base = base.map(|node| (node.name(), node)).peekable();
        let next = move || loop {
            let (first, is_own) = match (own.peek(), base.peek()) {
                (None, None) => return None,
                (Some((name, _)), None) => ((*name).clone(), true),
                (None, Some((name, _))) => (name.clone(), false),
                (Some((own, _)), Some((base, _))) => ((*own).min(base).clone(), *own <= base),
            };
            let below = base.next_if(|(name, _)| *name == first).map(|(_, node)| node);
            let sets = match (is_own, below) {
                (true, _) => own.next().map(|(_, node)| Cow::Borrowed(&node.sets[..])),
                (false, node) => node.map(|node| Cow::Owned(node.record_sets())),
            };
            let sets = sets.unwrap_or_default();
            if after != Some(&first) && sets.iter().any(|set| set.rtype != Rtype::SOA) {
                return Some((first, without_soa(sets)));
            }
        };
        std::iter::from_fn(next)
    }

    /// The names that may have other data in another version of this zone.
    pub(crate) fn changed_names(&self, newer: &Zone) -> BTreeSet<Name> {
        let mut names = self.changed_nodes(newer);
        match (self.base(), newer.base()) {
            (Some(old), Some(new)) if Arc::ptr_eq(old, new) => {}
            (old, new) => names.extend(changed_in_files(old, new)),
        }
        names
    }

    /// What both versions share is passed over, so that the cost follows the change.
    fn changed_nodes(&self, newer: &Zone) -> BTreeSet<Name> {
        let name = |item| match item {
            DiffItem::Add(name, _) | DiffItem::Remove(name, _) => Name::clone(name),
            DiffItem::Update { new: (name, _), .. } => Name::clone(name),
        };
        self.overrides().diff(newer.overrides()).map(name).collect()
    }
}

/// The names that two files differ at; both are gone through side by side.
fn changed_in_files(old: Option<&Arc<PackedZone>>, new: Option<&Arc<PackedZone>>) -> Vec<Name> {
    let mut old = old.into_iter().flat_map(|zone| zone.nodes()).peekable();
    let mut new = new.into_iter().flat_map(|zone| zone.nodes()).peekable();
    let mut changed = Vec::new();
    loop {
        let first = match (old.peek(), new.peek()) {
            (None, None) => return changed,
            (Some(one), Some(other)) => one.key_below_origin().min(other.key_below_origin()),
            (one, other) => one.or(other).map_or(&[][..], |node| node.key_below_origin()),
        };
        let before = old.next_if(|node| node.key_below_origin() == first);
        let after = new.next_if(|node| node.key_below_origin() == first);
        match (before, after) {
            (Some(before), Some(after)) if has_same_data(&before, &after) => {}
            (before, after) => changed.extend(before.or(after).map(|node| node.name())),
        }
    }
}

fn has_same_data(one: &PackedNode<'_>, other: &PackedNode<'_>) -> bool {
    let is_same = |(one, other): (PackedSet<'_>, PackedSet<'_>)| {
        (one.rtype, one.ttl, one.len()) == (other.rtype, other.ttl, other.len())
            && one.data().eq(other.data())
    };
    one.sets().count() == other.sets().count() && one.sets().zip(other.sets()).all(is_same)
}

fn without_soa(sets: Cow<'_, [RecordSet]>) -> Cow<'_, [RecordSet]> {
    if !sets.iter().any(|set| set.rtype == Rtype::SOA) {
        return sets;
    }
    Cow::Owned(sets.into_owned().into_iter().filter(|set| set.rtype != Rtype::SOA).collect())
}
