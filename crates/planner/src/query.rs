//! Questions to the plan: its views, zones and record sets.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::dnsclass::Embedded;
use api::{Object, Spec};
use dns::{Name, PackedZone, RecordSet};

use crate::facts::ObjectKey;
use crate::input::{ClusterId, FileNote, ObjectRef, SavedSerial};
use crate::place::{Place, Scope};
use crate::planner::Planner;
use crate::resolve::{Set, Sets, add};
use crate::setting::Numbering;
use crate::views::{Signer, ViewInfo};
use crate::zone_state::ZoneState;
use crate::zone_table::Source;

/// A zone as the plan has it.
#[derive(Clone, Debug)]
pub struct ZoneInfo {
    /// Its origin.
    pub origin: Name,
    /// Its start of authority; `None` while its content is unknown.
    pub soa: Option<RecordSet>,
    /// The zone file's content that lies below the plan's own nodes.
    pub base: Option<Arc<PackedZone>>,
    /// Where it is seen.
    pub scope: Scope,
    /// Why its content is unknown.
    pub unavailable: Option<String>,
    /// Its serial.
    pub serial: u32,
    /// The hash of its content.
    pub hash: u64,
    /// Whether its serial stands for this content. Where somebody else moves serials, content that has
    /// no serial yet is not settled.
    pub is_settled: bool,
    /// How many records it has.
    pub entry_count: u64,
    /// Where it comes from, in words.
    pub source: String,
}

/// Where a zone comes from that DNSRecords or Placements in it imply.
pub(crate) const IMPLIED: &str = "implied by the objects in it";

impl Planner {
    /// A cluster's name.
    pub fn cluster_name(&self, cluster: ClusterId) -> &str {
        self.clusters.get(usize::from(cluster.0)).map_or("", String::as_str)
    }

    /// The cluster with a name.
    pub fn cluster_named(&self, name: &str) -> Option<ClusterId> {
        self.clusters.iter().position(|one| one == name).map(|number| ClusterId(number as u16))
    }

    /// The version of an object that is in force.
    pub fn object(&self, cluster: ClusterId, reference: &ObjectRef) -> Option<&Arc<Object>> {
        self.snapshot.object(self.snapshot.id(&ObjectKey::new(cluster, reference.clone()))?)
    }

    /// The serials of the zones that no Zone object declares, whose status would say them.
    pub fn implied_serials(&self) -> BTreeMap<Name, SavedSerial> {
        let is_implied = |zone: &&ZoneState| {
            let source = zone.holder.as_ref().map(|holder| &holder.zone.source);
            let is_served = zone.scope() == Scope::Everywhere || self.is_in_a_view(&zone.scope());
            zone.soa.is_some() && !matches!(source, None | Some(Source::Object(_))) && is_served
        };
        let zones = self.zones.iter().filter(is_implied);
        zones.map(|zone| (zone.origin.clone(), zone.saved_serial())).collect()
    }

    /// Whether our own servers answer there: who else numbers zones does it by itself.
    pub(crate) fn is_in_a_view(&self, scope: &Scope) -> bool {
        matches!(scope, Scope::At(place) if self.views.places.contains(place))
    }

    /// The views, those that take a port first.
    pub fn views(&self) -> Vec<ViewInfo> {
        self.views.shown.clone()
    }

    /// The classes that sign, those included that this process does not serve.
    pub fn signers(&self) -> &[Signer] {
        &self.views.signers
    }

    /// The zones, by origin.
    pub fn zones(&self) -> Vec<ZoneInfo> {
        let mut zones: Vec<_> = self.zones.iter().filter_map(|zone| self.zone_info(zone)).collect();
        zones.sort_by(|one, other| one.origin.cmp(&other.origin));
        zones
    }

    /// The zone with this origin.
    pub fn zone(&self, origin: &Name) -> Option<ZoneInfo> {
        self.zone_info(self.zone_state(origin)?)
    }

    /// The Zone object that declares the zone with this origin.
    pub fn zone_object(&self, origin: &Name) -> Option<(ClusterId, ObjectRef)> {
        match self.zone_state(origin)?.holder.as_ref()?.zone.source {
            Source::Object(id) => self.reference(id),
            _ => None,
        }
    }

    fn zone_info(&self, zone: &ZoneState) -> Option<ZoneInfo> {
        let holder = zone.holder.as_ref()?;
        Some(ZoneInfo {
            origin: zone.origin.clone(),
            soa: zone.soa.clone(),
            base: holder.base.clone(),
            scope: holder.zone.scope.clone(),
            unavailable: holder.unavailable.clone(),
            serial: zone.serial,
            hash: zone.hash(),
            is_settled: self.is_settled(zone),
            entry_count: zone.entry_count(),
            source: self.source_text(&holder.zone.source, &holder.zone.rank.to_string()),
        })
    }

    fn is_settled(&self, zone: &ZoneState) -> bool {
        let saved = self.snapshot.serials.get(&zone.origin).copied();
        let is_followed = Numbering::of(&self.setting, self.leads) == Numbering::Followed;
        !is_followed || zone.is_settled(saved)
    }

    /// What an `embedded` class says.
    pub fn embedded_class(&self, name: &str) -> Option<&Embedded> {
        match &self.class_object(name)?.spec {
            Spec::DNSClass(spec) => spec.embedded.as_ref(),
            _ => None,
        }
    }

    fn source_text(&self, source: &Source, rank: &str) -> String {
        match source {
            Source::Object(_) => format!("Zone {rank}"),
            Source::File(_, path) => path.to_string(),
            Source::Identity(_) => "implied by ClusterIdentity cluster-identity".to_owned(),
            Source::Domain(_) => IMPLIED.to_owned(),
        }
    }

    /// The names that have record sets of the plan's own in a zone, in canonical order.
    pub fn nodes(&self, origin: &Name) -> impl Iterator<Item = Name> {
        let nodes = self.zone_state(origin).into_iter().flat_map(|zone| zone.nodes.iter());
        nodes.filter(|(_, node)| !node.sets.is_empty()).map(|(name, _)| name.clone())
    }

    /// The record sets at a name of a zone, with where each is seen.
    pub fn sets(&self, origin: &Name, name: &Name) -> Vec<(Scope, RecordSet)> {
        self.node_sets(origin, name).iter().map(|set| (set.scope.clone(), set.named(name))).collect()
    }

    /// The record sets at a name of a zone as one place sees them; `None` is the view `default`.
    pub fn sets_at(&self, origin: &Name, name: &Name, place: Option<&Place>) -> Vec<RecordSet> {
        let here = |set: &&Set| match place {
            Some(place) => set.scope.covers(place),
            None => set.scope == Scope::Everywhere,
        };
        let mut sets = Sets::new();
        for set in self.node_sets(origin, name).iter().filter(here) {
            add(&mut sets, 0, Set { scope: Scope::Everywhere, ..set.clone() });
        }
        sets.iter().map(|set| set.named(name)).collect()
    }

    fn node_sets(&self, origin: &Name, name: &Name) -> &[Set] {
        let node = self.zone_state(origin).and_then(|zone| zone.nodes.get(name));
        node.map(|node| &node.sets[..]).unwrap_or_default()
    }

    /// What is to be said about zone files.
    pub fn file_notes(&self) -> Vec<(ClusterId, FileNote)> {
        let mut notes = Vec::new();
        for ((cluster, path), file) in &self.snapshot.files {
            notes.extend(file.problem.iter().map(|(_, note)| (*cluster, note.clone())));
            notes.extend(file.notes.iter().map(|note| (*cluster, note.clone())));
            notes.extend(self.unused_file(*cluster, path).map(|note| (*cluster, note)));
        }
        notes
    }

    /// A note for each zone file whose origin another zone holds.
    pub fn unused_files(&self) -> Vec<(ClusterId, FileNote)> {
        let files = self.snapshot.files.keys();
        files.filter_map(|(cluster, path)| Some((*cluster, self.unused_file(*cluster, path)?))).collect()
    }

    /// A note for a file whose origin another zone holds.
    fn unused_file(&self, cluster: ClusterId, path: &Arc<str>) -> Option<FileNote> {
        let zone = self.snapshot.files.get(&(cluster, path.clone()))?.zone.as_ref()?;
        let holder = self.table.holder(zone.origin())?;
        if holder.zone.source == Source::File(cluster, path.clone()) {
            return None;
        }
        let by = self.source_text(&holder.zone.source, &holder.zone.rank.to_string());
        let message = format!("not used: {} holds the origin {}; remove one of the two", by, zone.origin());
        Some(FileNote { path: path.to_string(), line: 1, column: 1, message })
    }
}
