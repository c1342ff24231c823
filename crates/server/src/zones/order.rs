//! The names of a zone in canonical order, as a chain of NSEC records links them: names with
//! authority over their data, and cuts; nothing below a cut or a DNAME, and no name without data.

use std::ops::Bound;

use dns::{Name, RecordSet, Rtype};

use super::zone::{Zone, keys_down, of_type};

impl Zone {
    /// The last name of the chain before this key; at least the apex.
    pub(crate) fn name_before(&self, key: &[u8]) -> Name {
        let before = self.data_before(key).unwrap_or_else(|| self.origin().clone());
        self.occluder(&before).unwrap_or(before)
    }

    /// The name of the chain that follows `name`, which is in it; the apex follows the last.
    pub(crate) fn name_after(&self, name: &Name) -> Name {
        let key = if self.occludes(name.key()) { end_of_subtree(name) } else { just_after(name) };
        self.data_from(&key).unwrap_or_else(|| self.origin().clone())
    }

    /// Every name of the chain, the apex first.
    pub(crate) fn chain(&self) -> impl Iterator<Item = Name> {
        let next = |name: &Name| Some(self.name_after(name)).filter(|next| next != self.origin());
        std::iter::successors(Some(self.origin().clone()), next)
    }

    /// Whether names below this one are hidden by what it has: a cut that is not the apex, or a
    /// DNAME.
    fn occludes(&self, key: &[u8]) -> bool {
        let sets = self.sets_at(key);
        of_type(&sets, Rtype::DNAME).is_some() || self.is_cut(key, &sets)
    }

    /// Whether a name with these sets is a zone cut.
    pub(crate) fn is_cut(&self, key: &[u8], sets: &[RecordSet]) -> bool {
        key != self.origin().key() && of_type(sets, Rtype::NS).is_some()
    }

    /// Whether the name lies below a cut or a DNAME, so that the zone does not speak for it.
    pub(crate) fn is_hidden(&self, name: &Name) -> bool {
        self.occluder(name).is_some()
    }

    /// The uppermost name above this one that hides it.
    fn occluder(&self, name: &Name) -> Option<Name> {
        let above = keys_down(self.origin(), name).filter(|key| key.len() < name.key().len());
        above.into_iter().find(|key| self.occludes(key)).map(Name::from_key)
    }

    /// The last name before this key that has data.
    fn data_before(&self, key: &[u8]) -> Option<Name> {
        let range = (Bound::Unbounded, Bound::Excluded(key));
        let own = self.nodes.range::<_, [u8]>(range).rev();
        let own = own.map(|(name, _)| name.clone()).find(|name| self.has_data(name));
        let base = self.base().into_iter().flat_map(|base| base.nodes_before(key)).map(|node| node.name());
        let base = base.into_iter().find(|name| self.has_data(name));
        own.max(base)
    }

    /// The first name from this key on that has data.
    fn data_from(&self, key: &[u8]) -> Option<Name> {
        let range = (Bound::Included(key), Bound::Unbounded);
        let mut own = self.nodes.range::<_, [u8]>(range).map(|(name, _)| name.clone());
        let own = own.find(|name| self.has_data(name));
        let mut base = self.base().into_iter().flat_map(|base| base.nodes_from(key)).map(|node| node.name());
        let base = base.find(|name| self.has_data(name));
        own.into_iter().chain(base).min()
    }

    fn has_data(&self, name: &Name) -> bool {
        !self.sets_at(name.key()).is_empty()
    }
}

/// The least octets that are greater than a name's key.
fn just_after(name: &Name) -> Vec<u8> {
    [name.key(), &[0]].concat()
}

/// The least octets that are greater than the key of every name in a name: each label ends with a
/// zero, and a longer label has something greater in its place.
fn end_of_subtree(name: &Name) -> Vec<u8> {
    match name.key().split_last() {
        Some((_, body)) => [body, &[1]].concat(),
        None => vec![u8::MAX],
    }
}
