//! The zones of one view: immutable content, cheap to clone, changed by copy-on-write.
//!
//! A change of one node copies the path to it, never the zone, so a clone that is being read
//! goes on showing what it showed.

use std::sync::Arc;

use dns::{Name, PackedZone, RecordSet, Rtype};
use imbl::OrdMap;

use crate::steering::{GeoSource, Health};

mod walk;
mod zone;

pub use zone::Zone;
pub(crate) use zone::{Content, Found, any_in, of_type};

/// All zones that a view answers from.
#[derive(Clone, Debug, Default)]
pub struct Zones {
    zones: OrdMap<Name, Arc<Zone>>,
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
}

impl Zones {
    /// No zones, steered by the built-in table of countries and a board of their own.
    pub fn new() -> Zones {
        Zones::default()
    }

    /// No zones, steered by these.
    pub fn steered_by(geo: GeoSource, health: Health) -> Zones {
        Zones { zones: OrdMap::new(), steer: Steer { geo, health } }
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
        match update {
            ZoneUpdate::PutZone { origin, soa, base } => {
                self.zone_mut(origin).content = Content::Known { soa, base };
            }
            ZoneUpdate::Unavailable { origin, reason } => {
                self.zone_mut(origin).content = Content::Unavailable { reason };
            }
            ZoneUpdate::RemoveZone { origin } => {
                self.zones.remove(&origin);
            }
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
