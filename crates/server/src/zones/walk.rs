//! All names of a zone in order, and the names that two versions of it differ at.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Bound;

use dns::{Name, RecordSet, Rtype};
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
        let same_base = match (self.base(), newer.base()) {
            (Some(old), Some(new)) => std::sync::Arc::ptr_eq(old, new),
            (None, None) => true,
            _ => false,
        };
        if same_base { self.changed_nodes(newer) } else { self.all_changed(newer) }
    }

    /// What both versions share is passed over, so that the cost follows the change.
    fn changed_nodes(&self, newer: &Zone) -> BTreeSet<Name> {
        let name = |item| match item {
            DiffItem::Add(name, _) | DiffItem::Remove(name, _) => Name::clone(name),
            DiffItem::Update { new: (name, _), .. } => Name::clone(name),
        };
        self.overrides().diff(newer.overrides()).map(name).collect()
    }

    /// Another file lies below: both versions are gone through side by side.
    fn all_changed(&self, newer: &Zone) -> BTreeSet<Name> {
        let (mut old, mut new) = (self.walk(None).peekable(), newer.walk(None).peekable());
        let mut changed = BTreeSet::new();
        while let Some(first) = first_of(old.peek(), new.peek()) {
            let before = old.next_if(|(name, _)| *name == first);
            let after = new.next_if(|(name, _)| *name == first);
            if before != after {
                changed.insert(first);
            }
        }
        changed
    }
}

fn first_of<T>(one: Option<&(Name, T)>, other: Option<&(Name, T)>) -> Option<Name> {
    let names = one.map(|(name, _)| name).into_iter().chain(other.map(|(name, _)| name));
    names.min().cloned()
}

fn without_soa(sets: Cow<'_, [RecordSet]>) -> Cow<'_, [RecordSet]> {
    if !sets.iter().any(|set| set.rtype == Rtype::SOA) {
        return sets;
    }
    Cow::Owned(sets.into_owned().into_iter().filter(|set| set.rtype != Rtype::SOA).collect())
}
