//! Where an answer is given: a region's view, or a class.

use std::fmt;
use std::sync::Arc;

/// A place that answers can differ between: one region's DNS zone, or one DNSClass.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// The zone of a region, which the region's ExternalDNS writes; in `up` a view of our server.
    Region(Arc<str>),
    /// What a DNSClass delivers.
    Class(Arc<str>),
}

impl Place {
    /// The region or class; what `--view` takes.
    pub fn name(&self) -> &Arc<str> {
        match self {
            Place::Region(name) | Place::Class(name) => name,
        }
    }

    /// Whether it is a class that is no view: what names no class is not delivered there.
    pub(crate) fn is_apart(&self, views: &[Place]) -> bool {
        matches!(self, Place::Class(_)) && !views.contains(self)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// How far a claim reaches: every view, or one place.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// In every view: what names no class.
    Everywhere,
    /// In one place.
    At(Place),
}

impl Scope {
    /// Whether something of this scope is seen at `place`.
    pub fn covers(&self, place: &Place) -> bool {
        match self {
            Scope::Everywhere => true,
            Scope::At(own) => own == place,
        }
    }

    /// The class that it is, where it is one.
    pub(crate) fn class(&self) -> Option<&str> {
        match self {
            Scope::At(Place::Class(class)) => Some(class),
            _ => None,
        }
    }

    /// Whether the two scopes have a place in common.
    pub fn meets(&self, other: &Scope) -> bool {
        match (self, other) {
            (Scope::At(one), Scope::At(two)) => one == two,
            _ => true,
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scope::Everywhere => f.pad("*"),
            Scope::At(place) => fmt::Display::fmt(place, f),
        }
    }
}
