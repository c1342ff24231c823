//! One zone: nodes over an optional zone file, and the way down to a name in it.

use std::borrow::Cow;
use std::ops::Bound;
use std::sync::Arc;

use dns::{Name, PackedZone, RecordSet, Rtype};
use imbl::OrdMap;
use imbl::ordmap::DiffItem;

use crate::fast::{Index, Origin, SoaRecord, compile};

use super::Steer;
use crate::dnssec::{Signing, is_made_by_signing};
use crate::steering::{Compiled, present};

/// A zone: its apex, its SOA and what its names have.
#[derive(Clone, Debug)]
pub struct Zone {
    origin: Name,
    /// The origin as queries have it.
    origin_form: Arc<Origin>,
    content: Content,
    /// What overrides the base, by name; an empty list hides the base at that name.
    pub(super) nodes: OrdMap<Name, Arc<Node>>,
    /// How answers are signed, where they are.
    pub(crate) signing: Option<Arc<Signing>>,
    /// For fast answers: a table of the names as they were when it was made, with marks at those
    /// that changed since.
    index: Option<Arc<Index>>,
    /// The SOA record as it is sent.
    soa_record: Option<Arc<SoaRecord>>,
}

/// What a name has, and how its steered sets are chosen from.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) sets: Box<[RecordSet]>,
    pub(crate) steering: Box<[(Rtype, Arc<Compiled>)]>,
}

/// How a steered set is chosen from may differ where the sets do not.
impl PartialEq for Node {
    fn eq(&self, other: &Node) -> bool {
        let is_steered = !self.steering.is_empty() || !other.steering.is_empty();
        std::ptr::eq(self, other) || (!is_steered && self.sets == other.sets)
    }
}

impl Node {
    fn new(sets: Box<[RecordSet]>, steer: &Steer) -> Node {
        let compiled = |set: &RecordSet| {
            Compiled::of(set, &steer.geo, &steer.health).map(|compiled| (set.rtype, Arc::new(compiled)))
        };
        let steering = sets.iter().filter_map(compiled).collect();
        Node { sets, steering }
    }

    pub(crate) fn steering(&self, rtype: Rtype) -> Option<&Arc<Compiled>> {
        self.steering.iter().find(|(of, _)| *of == rtype).map(|(_, compiled)| compiled)
    }

    /// The sets, the steered ones as they are given to those who cannot be steered.
    fn present_sets(&self) -> impl Iterator<Item = RecordSet> {
        self.sets.iter().map(|set| match self.steering(set.rtype) {
            Some(compiled) => present(set, compiled),
            None => RecordSet { steering: None, ..set.clone() },
        })
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Content {
    Known { soa: RecordSet, base: Option<Arc<PackedZone>> },
    Unavailable { reason: String },
}

/// Where the way down to a name ends.
#[derive(Debug)]
pub(crate) enum Found<'a> {
    /// At the name or at the wildcard that stands for it; an empty non-terminal has no sets.
    Node { sets: Cow<'a, [RecordSet]>, wildcard: Option<Name> },
    /// At a zone cut on the way, with its NS set.
    Cut(RecordSet),
    /// At a DNAME above the name.
    Dname(RecordSet),
    /// The name does not exist.
    Missing,
}

impl Zone {
    pub(crate) fn new(origin: Name) -> Zone {
        let content = Content::Unavailable { reason: "the zone has no SOA yet".to_owned() };
        let origin_form = Arc::new(Origin::new(&origin));
        Zone {
            origin,
            origin_form,
            content,
            nodes: OrdMap::new(),
            signing: None,
            index: None,
            soa_record: None,
        }
    }

    pub(crate) fn set_content(&mut self, content: Content) {
        self.content = content;
        self.soa_record = self.soa().and_then(|soa| SoaRecord::new(&self.origin, soa)).map(Arc::new);
    }

    /// The name of the apex.
    pub fn origin(&self) -> &Name {
        &self.origin
    }

    /// The SOA record; a zone whose content is not known has none.
    pub fn soa(&self) -> Option<&RecordSet> {
        match &self.content {
            Content::Known { soa, .. } => Some(soa),
            Content::Unavailable { .. } => None,
        }
    }

    /// Why the content is not known, where it is not.
    pub fn unavailable(&self) -> Option<&str> {
        match &self.content {
            Content::Known { .. } => None,
            Content::Unavailable { reason } => Some(reason),
        }
    }

    /// Every record set, a steered one whole, the SOA first and the others in no promised order.
    pub fn sets(&self) -> impl Iterator<Item = RecordSet> {
        self.sets_with(self.nodes.values().flat_map(|node| node.sets.iter().cloned()))
    }

    /// Every record set as those have it who cannot be steered, with their present answers: for
    /// transfers and exports.
    pub fn present_sets(&self) -> impl Iterator<Item = RecordSet> {
        self.sets_with(self.nodes.values().flat_map(|node| node.present_sets()))
    }

    /// The record sets of [`Zone::present_sets`], the SOA and those that override the base first, then those of
    /// the base; each in canonical order of names.
    pub(crate) fn present_parts(&self) -> (impl Iterator<Item = RecordSet>, impl Iterator<Item = RecordSet>) {
        let own = self.nodes.values().flat_map(|node| node.present_sets());
        let base = self.base().into_iter().flat_map(|base| base.iter());
        let shown = base.filter(|set| set.rtype != Rtype::SOA && !self.nodes.contains_key(&set.name));
        (self.soa().cloned().into_iter().chain(own), shown)
    }

    fn sets_with(&self, own: impl Iterator<Item = RecordSet>) -> impl Iterator<Item = RecordSet> {
        let base = self.base().into_iter().flat_map(|base| base.iter());
        let shown = base.filter(|set| set.rtype != Rtype::SOA && !self.nodes.contains_key(&set.name));
        self.soa().cloned().into_iter().chain(own).chain(shown)
    }

    pub(crate) fn put(&mut self, name: Name, mut sets: Vec<RecordSet>, steer: &Steer) {
        sets.retain(|set| set.rtype != Rtype::SOA);
        self.nodes.insert(name.clone(), Arc::new(Node::new(sets.into(), steer)));
        self.note_change(&name);
    }

    /// Whether any set is steered.
    pub(super) fn is_steered(&self) -> bool {
        self.nodes.values().any(|node| !node.steering.is_empty())
    }

    /// Steers every steered set anew.
    pub(super) fn steer(&mut self, steer: &Steer) {
        let steered = self.nodes.iter().filter(|(_, node)| !node.steering.is_empty());
        let anew: Vec<(Name, Arc<Node>)> = steered
            .map(|(name, node)| (name.clone(), Arc::new(Node::new(node.sets.clone(), steer))))
            .collect();
        let names: Vec<Name> = anew.iter().map(|(name, _)| name.clone()).collect();
        self.nodes.extend(anew);
        names.iter().for_each(|name| self.note_change(name));
    }

    pub(crate) fn remove(&mut self, name: &Name) {
        self.nodes.remove(name);
        self.note_change(name);
    }

    /// Has the table know that a name is not any more what it was.
    fn note_change(&self, name: &Name) {
        if let Some(index) = &self.index {
            index.changed(name, &self.sets_at(name.key()));
        }
    }

    /// What overrides the base at a name.
    pub(crate) fn own_node(&self, key: &[u8]) -> Option<&Node> {
        self.nodes.get(key).map(|node| &**node)
    }

    /// The table for fast answers, where it has been made. It is kept while the content is not
    /// known, and leads nowhere then.
    #[inline]
    pub(crate) fn index(&self) -> Option<&Index> {
        self.index.as_deref().filter(|_| self.soa_record.is_some())
    }

    /// The origin as queries have it.
    #[inline]
    pub(crate) fn origin_form(&self) -> &Origin {
        &self.origin_form
    }

    /// The SOA record as it is sent.
    #[inline]
    pub(crate) fn soa_record(&self) -> Option<&SoaRecord> {
        self.soa_record.as_deref()
    }

    /// Whether fast answers would gain from a new table, and how many names it would have.
    pub(crate) fn wants_index(&self) -> Option<usize> {
        let names = self.nodes.len() + self.base().map_or(0, |base| base.set_count());
        let known = self.soa().is_some();
        let current = self.index().is_some_and(|index| index.is_of(self) && !index.is_worn());
        (known && !current).then_some(names)
    }

    /// Makes a new table.
    pub(crate) fn compiled(&self) -> Option<Arc<Index>> {
        compile(self).map(Arc::new)
    }

    /// Takes a table that was made from an earlier version of this zone.
    pub(crate) fn adopt(&mut self, index: Option<Arc<Index>>, version: &Zone) {
        self.index = index.filter(|index| index.is_of(self));
        if self.index.is_some() {
            let changes = version.nodes.diff(&self.nodes).map(|change| match change {
                DiffItem::Add(name, _) | DiffItem::Remove(name, _) => name,
                DiffItem::Update { new: (name, _), .. } => name,
            });
            changes.for_each(|name| self.note_change(name));
        }
    }

    /// Forgets a table that was made of something else.
    pub(crate) fn drop_foreign_index(&mut self) {
        self.index = self.index.take().filter(|index| index.is_of(self));
    }

    /// The names with steered sets.
    pub(crate) fn steered_names(&self) -> impl Iterator<Item = &Name> {
        self.nodes.iter().filter(|(_, node)| !node.steering.is_empty()).map(|(name, _)| name)
    }

    /// Whether the name with this key has a steered set.
    pub(crate) fn is_steered_at(&self, key: &[u8]) -> bool {
        self.nodes.get(key).is_some_and(|node| !node.steering.is_empty())
    }

    /// Leaves a name with its present answer, for those who cannot be steered.
    pub(crate) fn flatten(&mut self, name: &Name) {
        if let Some(node) = self.nodes.get(name) {
            let flat = Node { sets: node.present_sets().collect(), steering: Box::default() };
            self.nodes.insert(name.clone(), Arc::new(flat));
        }
    }

    /// What overrides the base, by name.
    pub(crate) fn nodes(&self) -> &OrdMap<Name, Arc<Node>> {
        &self.nodes
    }

    /// What is under the nodes.
    pub fn base(&self) -> Option<&Arc<PackedZone>> {
        match &self.content {
            Content::Known { base, .. } => base.as_ref(),
            Content::Unavailable { .. } => None,
        }
    }

    /// What overrides the base, by name; a name without sets hides what the base has there.
    pub fn own_nodes(&self) -> impl Iterator<Item = (&Name, Cow<'_, [RecordSet]>)> {
        self.nodes.keys().map(|name| (name, self.sets_at(name.key())))
    }

    /// All that the name with this key has itself, the SOA of the apex not among it.
    pub fn sets_at(&self, key: &[u8]) -> Cow<'_, [RecordSet]> {
        let sets = self.plain_sets_at(key);
        match &self.signing {
            Some(signing) => signing.own_sets(key, sets),
            None => sets,
        }
    }

    /// How answers are signed, where they are.
    pub fn signing(&self) -> Option<&Arc<Signing>> {
        self.signing.as_ref()
    }

    /// The same without what signing adds.
    pub fn plain_sets_at(&self, key: &[u8]) -> Cow<'_, [RecordSet]> {
        if let Some(node) = self.nodes.get(key) {
            return Cow::Borrowed(&node.sets);
        }
        let mut sets = self.base().map(|base| base.sets_at(key)).unwrap_or_default();
        sets.retain(|set| set.rtype != Rtype::SOA);
        Cow::Owned(sets)
    }

    /// How the set of a type at the name with this key is chosen from; none where it is not steered.
    pub fn steering_at(&self, key: &[u8], rtype: Rtype) -> Option<&Arc<Compiled>> {
        self.nodes.get(key)?.steering(rtype)
    }

    /// Whether anything lies below the name, so that it exists even with nothing of its own
    /// (RFC 4592 section 2.2.2).
    fn has_below(&self, key: &[u8]) -> bool {
        any_in(&self.nodes, key, |node| node.sets.iter().any(|set| self.counts(set.rtype)))
            || self.base().is_some_and(|base| self.shows_below(base, key))
    }

    /// Whether the base has a name below that no node hides.
    fn shows_below(&self, base: &PackedZone, key: &[u8]) -> bool {
        let nodes = base.nodes_from(key).map(|node| (node.name(), node));
        let mut below = nodes.take_while(|(name, _)| name.key().starts_with(key));
        below.any(|(name, node)| {
            !self.nodes.contains_key(&name) && node.sets().any(|set| self.counts(set.rtype))
        })
    }

    /// Whether a set of this type makes its name exist: where we sign, what another signer left in
    /// a zone file does not.
    pub(crate) fn counts(&self, rtype: Rtype) -> bool {
        self.signing.is_none() || !is_made_by_signing(rtype, false)
    }

    /// Goes from the apex towards a name in the zone, as RFC 1034 section 4.3.2 step 3 says, with
    /// the closest encloser of RFC 4592. The uppermost cut or DNAME wins: what is below is occluded.
    pub(crate) fn descend(&self, name: &Name, rtype: Rtype) -> Found<'_> {
        let mut encloser = self.origin.key();
        for key in keys_down(&self.origin, name) {
            let sets = self.sets_at(key);
            let (at_apex, at_name) = (key == self.origin.key(), key == name.key());
            if !at_apex && sets.is_empty() && !self.has_below(key) {
                return self.wildcard(encloser);
            }
            // The parent's side answers for the DS of a cut (RFC 4035 section 3.1.4.1).
            let own = at_apex || (at_name && rtype == Rtype::DS);
            if let Some(cut) = of_type(&sets, Rtype::NS).filter(|_| !own) {
                return Found::Cut(cut.clone());
            }
            if at_name {
                return Found::Node { sets, wildcard: None };
            }
            if let Some(dname) = of_type(&sets, Rtype::DNAME) {
                return Found::Dname(dname.clone());
            }
            encloser = key;
        }
        Found::Missing
    }

    /// The source of synthesis below the closest encloser (RFC 4592 section 3.3.1).
    fn wildcard(&self, encloser: &[u8]) -> Found<'_> {
        let key = [encloser, b"*\0"].concat();
        let sets = self.sets_at(&key);
        if sets.is_empty() && !self.has_below(&key) {
            return Found::Missing;
        }
        Found::Node { sets, wildcard: Some(Name::from_key(&key)) }
    }
}

/// The set of a type among those of a name.
pub(crate) fn of_type(sets: &[RecordSet], rtype: Rtype) -> Option<&RecordSet> {
    sets.iter().find(|set| set.rtype == rtype)
}

/// The keys from `origin` down to `name`, both included.
pub(super) fn keys_down<'a>(origin: &Name, name: &'a Name) -> impl Iterator<Item = &'a [u8]> {
    let (key, start) = (name.key(), origin.key().len());
    let ends = (start..key.len()).filter(|at| key[*at] == 0).map(|at| at + 1);
    std::iter::once(start).chain(ends).map(|end| &key[..end])
}

/// Whether the map has a fitting entry at the key or below it.
pub(crate) fn any_in<V: Clone>(map: &OrdMap<Name, V>, key: &[u8], fits: impl Fn(&V) -> bool) -> bool {
    let from = (Bound::Included(key), Bound::Unbounded);
    map.range::<_, [u8]>(from)
        .take_while(|(name, _)| name.key().starts_with(key))
        .any(|(_, value)| fits(value))
}
