//! The zones of one view: immutable content, cheap to clone, changed by copy-on-write.
//!
//! A change of one node copies the path to it, never the zone, so a clone that is being read
//! goes on showing what it showed.

use std::sync::Arc;

use dns::{Name, PackedZone, RecordSet, Rtype};
use imbl::OrdMap;

use crate::dnssec::Signing;
use crate::fast::{Index, Origins};
use crate::steering::{GeoSource, Health};

mod order;
mod walk;
mod zone;

pub use zone::Zone;
pub(crate) use zone::{Content, Found, Node, any_in, of_type};

/// All zones that a view answers from.
#[derive(Clone, Debug, Default)]
pub struct Zones {
    zones: OrdMap<Name, Arc<Zone>>,
    /// The way to fast answers, where it leads to the zones as they now are.
    fast: Option<Arc<Origins>>,
    steer: Steer,
}

/// What steered sets are chosen by beside their trees.
#[derive(Clone, Debug, Default)]
pub(crate) struct Steer {
    pub(crate) geo: GeoSource,
    pub(crate) health: Health,
}

/// One change to the zones of a view.
#[derive(Clone, Debug)]
pub enum ZoneUpdate {
    /// Creates the zone or changes its SOA; `base` is a zone file's content under the nodes.
    PutZone {
        /// The name of its apex.
        origin: Name,
        /// Its SOA record.
        soa: RecordSet,
        /// What is under the nodes.
        base: Option<Arc<PackedZone>>,
    },
    /// A configured zone whose content is not known: it answers SERVFAIL with an extended error
    /// (RFC 8914), never NXDOMAIN. Its nodes are kept for the `PutZone` that ends this.
    Unavailable {
        /// The name of its apex.
        origin: Name,
        /// Why, for whoever reads the extended error.
        reason: String,
    },
    /// Takes the zone away with all its nodes.
    RemoveZone {
        /// The name of its apex.
        origin: Name,
    },
    /// All that a name has in a zone; replaces what the base has at that name. A SOA among the
    /// sets is left out, because `PutZone` has it. A zone that is not there yet is unavailable
    /// until its `PutZone` comes.
    PutNode {
        /// The zone.
        origin: Name,
        /// The name, in the zone.
        name: Name,
        /// Its record sets.
        sets: Vec<RecordSet>,
    },
    /// Takes the node away; what the base has there shows again.
    RemoveNode {
        /// The zone.
        origin: Name,
        /// The name, in the zone.
        name: Name,
    },
    /// Answers from the zone are signed from now on, or no longer. A zone that is not there yet is
    /// unavailable until its `PutZone` comes.
    Sign {
        /// The zone.
        origin: Name,
        /// The keys and the way to deny; none leaves answers unsigned.
        signing: Option<Arc<Signing>>,
    },
}

impl Zones {
    /// No zones, steered by the built-in table of countries and a board of their own.
    pub fn new() -> Zones {
        Zones::default()
    }

    /// No zones, steered by these.
    pub fn steered_by(geo: GeoSource, health: Health) -> Zones {
        Zones { steer: Steer { geo, health }, ..Zones::default() }
    }

    /// Where clients are.
    pub fn geo(&self) -> &GeoSource {
        &self.steer.geo
    }

    /// How targets fare.
    pub fn health(&self) -> &Health {
        &self.steer.health
    }

    /// Finds out by another source from now on where clients are.
    pub fn set_geo(&mut self, geo: GeoSource) {
        self.fast = None;
        self.steer.geo = geo;
        let steered: Vec<Name> = self
            .zones
            .iter()
            .filter(|(_, zone)| zone.is_steered())
            .map(|(origin, _)| origin.clone())
            .collect();
        for origin in steered {
            if let Some(zone) = self.zones.get_mut(&origin) {
                Arc::make_mut(zone).steer(&self.steer);
            }
        }
    }

    /// Makes one change.
    pub fn apply(&mut self, update: ZoneUpdate) {
        self.fast = None;
        match update {
            ZoneUpdate::PutZone { origin, soa, base } => {
                self.zone_mut(origin).set_content(Content::Known { soa, base });
            }
            ZoneUpdate::Unavailable { origin, reason } => {
                self.zone_mut(origin).set_content(Content::Unavailable { reason });
            }
            ZoneUpdate::RemoveZone { origin } => {
                self.zones.remove(&origin);
            }
            ZoneUpdate::Sign { origin, signing } => self.zone_mut(origin).signing = signing,
            ZoneUpdate::PutNode { origin, name, sets } => {
                let steer = self.steer.clone();
                self.zone_mut(origin).put(name, sets, &steer);
            }
            ZoneUpdate::RemoveNode { origin, name } => {
                if let Some(zone) = self.zones.get_mut(&origin) {
                    Arc::make_mut(zone).remove(&name);
                }
            }
        }
    }

    /// Makes fast answers possible after changes: compiles the zones that gain from it and have
    /// at most so many names. Gives those that are larger; their answers are right all the same.
    pub fn compile(&mut self, largest: usize) -> Vec<Arc<Zone>> {
        if self.fast.is_some() {
            return Vec::new();
        }
        let stale: Vec<Arc<Zone>> = self.wanting().cloned().collect();
        let (small, large): (Vec<_>, Vec<_>) =
            stale.into_iter().partition(|zone| zone.wants_index().is_some_and(|names| names <= largest));
        for zone in small {
            self.adopt(&zone, zone.compiled());
        }
        for zone in &large {
            self.zone_mut(zone.origin().clone()).drop_foreign_index();
        }
        let zones: Vec<&Arc<Zone>> = self.zones.values().collect();
        self.fast = Some(Arc::new(Origins::new(zones.into_iter())));
        large
    }

    /// The zones that would gain from being compiled.
    pub(crate) fn wanting(&self) -> impl Iterator<Item = &Arc<Zone>> {
        self.zones.values().filter(|zone| zone.wants_index().is_some())
    }

    /// Takes the table that was made for a version of a zone.
    pub(crate) fn adopt(&mut self, version: &Zone, index: Option<Arc<Index>>) {
        if let Some(zone) = self.zones.get_mut(version.origin()) {
            self.fast = None;
            Arc::make_mut(zone).adopt(index, version);
        }
    }

    /// The way to fast answers.
    #[inline]
    pub(crate) fn fast(&self) -> Option<&Origins> {
        self.fast.as_deref()
    }

    fn zone_mut(&mut self, origin: Name) -> &mut Zone {
        let empty = || Arc::new(Zone::new(origin.clone()));
        Arc::make_mut(self.zones.entry(origin.clone()).or_insert_with(empty))
    }

    /// The zone that a name is in: the one with the longest origin.
    pub fn find(&self, name: &Name) -> Option<&Arc<Zone>> {
        name.suffix_keys().find_map(|key| self.zones.get(key))
    }

    /// The zone with this origin.
    pub fn zone(&self, origin: &Name) -> Option<&Arc<Zone>> {
        self.zones.get(origin)
    }

    /// The origins of all zones, in canonical order.
    pub fn origins(&self) -> impl Iterator<Item = &Name> {
        self.zones.keys()
    }

    /// The zone to ask for a name and type: DS lies on the parent's side of a zone cut
    /// (RFC 4035 section 3.1.4.1), and with the child only where the parent is not here.
    pub(crate) fn authority(&self, name: &Name, rtype: Rtype) -> Option<&Arc<Zone>> {
        let zone = self.find(name)?;
        if rtype != Rtype::DS || zone.origin() != name {
            return Some(zone);
        }
        name.parent().and_then(|parent| self.find(&parent)).or(Some(zone))
    }

    /// Whether a zone begins at the name or below it.
    pub(crate) fn begins_in(&self, name: &Name) -> bool {
        any_in(&self.zones, name.key(), |_| true)
    }
}
