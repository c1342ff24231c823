//! What a name has for a type, in whichever form its records are.

use dns::{PackedNode, PackedSet, RecordSet, Rtype};

use super::TREES;
use super::find::Found;
use crate::steering::Compiled;
use crate::zones::Node;

/// A set in either form.
#[derive(Clone, Copy)]
pub(super) enum Set<'a> {
    Packed(PackedSet<'a>),
    /// With its tree.
    Steered(PackedSet<'a>, &'a [u8]),
    Listed(&'a RecordSet, Option<&'a Compiled>),
}

/// What a name has for a type.
pub(super) enum Pick<'a> {
    Set(Set<'a>),
    /// It has a CNAME instead.
    Alias(Set<'a>),
    Nothing,
}

impl<'a> Pick<'a> {
    #[inline]
    pub(super) fn new(found: &Found<'a>, rtype: Rtype) -> Pick<'a> {
        match found {
            Found::Packed(node) => Pick::packed(node, rtype),
            Found::Steered(node) => Pick::steered(node, rtype),
            Found::Listed(node) => Pick::listed(node, rtype),
            Found::Empty | Found::Missing => Pick::Nothing,
        }
    }

    #[inline]
    fn packed(node: &PackedNode<'a>, rtype: Rtype) -> Pick<'a> {
        let mut alias = None;
        for set in node.sets() {
            match set.rtype {
                found if found == rtype => return Pick::Set(Set::Packed(set)),
                Rtype::CNAME => alias = Some(set),
                _ => {}
            }
        }
        alias.map_or(Pick::Nothing, |alias| Pick::Alias(Set::Packed(alias)))
    }

    /// The trees are the last of the sets, and nothing that can be asked for.
    #[inline]
    fn steered(node: &PackedNode<'a>, rtype: Rtype) -> Pick<'a> {
        let mut sets = node.sets();
        match sets.find(|set| set.rtype == rtype).filter(|_| rtype != TREES) {
            Some(set) => Pick::Set(with_tree(set, sets.last().filter(|last| last.rtype == TREES))),
            None => match node.set(Rtype::CNAME) {
                Some(alias) => Pick::Alias(with_tree(alias, node.set(TREES))),
                None => Pick::Nothing,
            },
        }
    }

    #[inline]
    fn listed(node: &'a Node, rtype: Rtype) -> Pick<'a> {
        let of = |rtype| {
            let set = node.sets.iter().find(|set| set.rtype == rtype)?;
            Some(Set::Listed(set, node.steering(rtype).map(|compiled| &**compiled)))
        };
        match of(rtype) {
            Some(set) => Pick::Set(set),
            None => of(Rtype::CNAME).map_or(Pick::Nothing, Pick::Alias),
        }
    }
}

/// A set with how it is chosen from, if it is steered.
#[inline]
fn with_tree<'a>(set: PackedSet<'a>, trees: Option<PackedSet<'a>>) -> Set<'a> {
    match trees.and_then(|trees| tree_of(trees, set.rtype)) {
        Some(tree) => Set::Steered(set, tree),
        None => Set::Packed(set),
    }
}

/// How the set of a type is chosen from.
#[inline]
fn tree_of(trees: PackedSet<'_>, rtype: Rtype) -> Option<&[u8]> {
    trees.data().find_map(|data| data.strip_prefix(&rtype.0.to_be_bytes()))
}
