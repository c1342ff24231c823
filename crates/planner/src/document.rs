//! The plan as data: what `plan -o json` prints, `--against FILE` reads and `/api/v1/plan` serves.
//!
//! Everything is sorted and nothing holds a time of day, so equal plans are equal texts. A document
//! is enough to print the plan in every form, so a running instance needs to hand out nothing else.

mod broken;
mod circumstances;
mod diff;
mod lost;
mod owner;
mod settings;
mod status;
mod steering;
mod stream;
#[cfg(test)]
mod tests;
mod version;

use std::collections::BTreeMap;

use dns::{Name, RecordSet, Rtype};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::children::ChildRef;
use crate::holders::{Holders, SavedHolder, scope_text};
use crate::input::{Change, SavedSerial};
use crate::place::Scope;
use crate::{Planner, ViewInfo, ZoneInfo};

pub use broken::DocumentBroken;
pub use circumstances::{DocumentDirection, DocumentHealth};
pub use diff::{Difference, Pair, diff};
pub use owner::DocumentOwner;
pub use steering::{DocumentCheck, DocumentRule, DocumentSteering, DocumentTarget};
pub(crate) use stream::least;
pub use stream::{DocumentWriter, Part};
pub use version::DocumentVersion;

/// The version that this program writes, and the newest that it reads.
const VERSION: u32 = 2;
/// The first version that has the steering and the owners of record sets.
const STEERED: u32 = 2;

/// A whole plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Document {
    /// The version of this form.
    pub version: u32,
    /// The clusters, in command-line order.
    pub clusters: Vec<String>,
    /// The views, in the order of their ports.
    pub views: Vec<DocumentView>,
    /// The zones, by origin.
    pub zones: Vec<DocumentZone>,
    /// The record sets but the SOA of each zone: by zone, name, type and scope.
    pub record_sets: Vec<DocumentRecordSet>,
    /// The child objects, by cluster, apiVersion, kind, namespace and name.
    pub children: Vec<DocumentObject>,
    /// What would be applied to the declared objects themselves, their status above all.
    pub objects: Vec<DocumentObject>,
    /// Who holds which names, by owner: the memory with which the next plan decides conflicts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holders: Vec<SavedHolder>,
    /// The versions of objects that are in force, in the order of the objects: the memory with which the next plan
    /// decides where a newer version cannot be.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub versions: Vec<DocumentVersion>,
    /// The objects and zone files whose newest version is not in force, by cluster, kind and name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub broken: Vec<DocumentBroken>,
    /// What probes of a running instance have seen, by probe: the next plan goes on from it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub health: Vec<DocumentHealth>,
    /// Where a running instance directs Placements, by object: the next plan goes on from it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub directions: Vec<DocumentDirection>,
    /// Whether the plan changed while a running instance wrote it, so that its parts may not fit together.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub changed_while_written: bool,
}

/// One view that answers are given from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DocumentView {
    /// What `--view` takes.
    pub name: String,
    /// The scope of what only this view shows, such as `region/weu`; the view `default` has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// Addresses of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub listen: Vec<String>,
    /// The networks that it answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clients: Vec<String>,
}

/// One zone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DocumentZone {
    /// The name of its apex.
    pub origin: Name,
    /// Where it is seen: `*`, `region/NAME` or `class/NAME`.
    pub scope: String,
    /// Its serial.
    pub serial: u32,
    /// The hash of its content, the serial aside, as 16 hexadecimal digits.
    pub hash: String,
    /// How many records it has over all views.
    pub entry_count: u64,
    /// What declares it.
    pub source: String,
    /// Its SOA; a zone that cannot be served has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub soa: Option<DocumentRecordSet>,
    /// Why it cannot be served.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unavailable: Option<String>,
}

/// One record set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DocumentRecordSet {
    /// The origin of its zone.
    pub zone: Name,
    /// Its name.
    pub name: Name,
    /// Its type.
    #[serde(rename = "type")]
    pub rtype: Rtype,
    /// Where it is seen: `*`, `region/NAME` or `class/NAME`.
    pub scope: String,
    /// Its TTL in seconds.
    pub ttl: u32,
    /// Its data in presentation format, sorted.
    pub data: Vec<String>,
    /// Which part of the data a client is answered with; without it all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steering: Option<DocumentSteering>,
    /// The objects and zone files that it is there for, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub owners: Vec<DocumentOwner>,
}

/// One object of a cluster as it would be applied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DocumentObject {
    /// The cluster's name.
    pub cluster: String,
    /// What would be applied.
    pub manifest: Value,
}

/// Why a text is not a plan.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// Not JSON, or not of this form.
    #[error("this is not a plan as `fingerpost plan -o json` prints it")]
    Form(#[source] serde_json::Error),
    /// Written by a later version.
    #[error("the plan has version {0} and this fingerpost reads up to {VERSION}: use a newer fingerpost")]
    Version(u32),
}

impl Document {
    /// The whole plan of a planner.
    pub fn of(planner: &Planner) -> Document {
        let zones = planner.zones();
        Document {
            version: VERSION,
            clusters: planner.clusters.clone(),
            views: planner.views().into_iter().map(DocumentView::of).collect(),
            record_sets: zones.iter().flat_map(|zone| record_sets(planner, zone)).collect(),
            zones: zones.iter().map(|zone| DocumentZone::of(planner, zone)).collect(),
            children: children(planner),
            objects: objects(planner),
            holders: planner.holders().to_saved(&planner.clusters),
            versions: versions(planner),
            broken: planner.broken(),
            health: planner.saved_health(),
            directions: planner.saved_directions(),
            changed_while_written: false,
        }
    }

    /// Reads what `plan -o json` printed.
    pub fn parse(text: &str) -> Result<Document, DocumentError> {
        let value: Value = serde_json::from_str(text).map_err(DocumentError::Form)?;
        let version = value.get("version").and_then(Value::as_u64).unwrap_or(0);
        match u32::try_from(version) {
            Ok(version) if version <= VERSION => serde_json::from_value(value).map_err(DocumentError::Form),
            other => Err(DocumentError::Version(other.unwrap_or(u32::MAX))),
        }
    }

    /// The serials that this plan ends with, so that the next one goes on from them.
    pub fn serials(&self) -> Vec<Change> {
        let saved = |zone: &DocumentZone| {
            let hash = u64::from_str_radix(&zone.hash, 16).ok()?;
            Some(Change::Serial(zone.origin.clone(), SavedSerial { serial: zone.serial, hash }))
        };
        // A zone that cannot be served was never numbered.
        self.zones.iter().filter(|zone| zone.soa.is_some()).filter_map(saved).collect()
    }

    /// The memory of holders that this plan ends with, for a plan of these clusters.
    pub fn holders(&self, clusters: &[String]) -> Change {
        Change::Holders(Box::new(Holders::from_saved(&self.holders, clusters)))
    }

    /// The record sets of one view, its zones' SOA records among them, by zone.
    pub fn seen_in(&self, view: &DocumentView) -> BTreeMap<&Name, Vec<&DocumentRecordSet>> {
        let seen = |scope: &str| scope == "*" || view.scope.as_deref() == Some(scope);
        let zones = self.zones.iter().filter(|zone| seen(&zone.scope));
        let mut found: BTreeMap<&Name, Vec<_>> =
            zones.map(|zone| (&zone.origin, zone.soa.iter().collect())).collect();
        for set in self.record_sets.iter().filter(|set| seen(&set.scope)) {
            if let Some(sets) = found.get_mut(&set.zone) {
                sets.push(set);
            }
        }
        found
    }
}

impl DocumentView {
    fn of(view: ViewInfo) -> DocumentView {
        let scope = view.place.map(|place| scope_text(&Scope::At(place)));
        DocumentView { name: view.name, scope, listen: view.listen, clients: view.clients }
    }
}

impl DocumentZone {
    fn of(planner: &Planner, zone: &ZoneInfo) -> DocumentZone {
        let soa = zone.soa.as_ref();
        DocumentZone {
            origin: zone.origin.clone(),
            scope: scope_text(&zone.scope),
            serial: zone.serial,
            hash: format!("{:016x}", zone.hash),
            entry_count: zone.entry_count,
            source: zone.source.clone(),
            soa: soa.map(|soa| DocumentRecordSet {
                owners: planner.owners_of_zone(&zone.origin),
                ..DocumentRecordSet::of(planner, &zone.origin, &zone.scope, soa)
            }),
            unavailable: zone.unavailable.clone(),
        }
    }
}

impl DocumentRecordSet {
    /// A record set of a zone, seen in a scope.
    fn of(planner: &Planner, zone: &Name, scope: &Scope, set: &RecordSet) -> DocumentRecordSet {
        DocumentRecordSet {
            zone: zone.clone(),
            name: set.name.clone(),
            rtype: set.rtype,
            scope: scope_text(scope),
            ttl: set.ttl,
            data: set.data.iter().map(ToString::to_string).collect(),
            steering: DocumentSteering::of(planner, set),
            owners: planner.owners(zone, &set.name, scope, set.rtype),
        }
    }

    fn key(&self) -> (&Name, &Name, Rtype, &str) {
        (&self.zone, &self.name, self.rtype, &self.scope)
    }
}

impl DocumentObject {
    /// `apiVersion`, `kind`, `namespace` and `name`.
    pub fn identity(&self) -> [&str; 4] {
        identity(&self.manifest)
    }

    fn key(&self) -> (&str, [&str; 4]) {
        (&self.cluster, self.identity())
    }
}

/// `apiVersion`, `kind`, `namespace` and `name` of a manifest.
fn identity(manifest: &Value) -> [&str; 4] {
    let metadata = &manifest["metadata"];
    [&manifest["apiVersion"], &manifest["kind"], &metadata["namespace"], &metadata["name"]]
        .map(|value| value.as_str().unwrap_or_default())
}

/// All sets of a zone but its SOA: the plan's own names, and the names of its file that no object touches.
fn record_sets(planner: &Planner, zone: &ZoneInfo) -> Vec<DocumentRecordSet> {
    let nodes: Vec<Name> = planner.nodes(&zone.origin).collect();
    let own = nodes.iter().flat_map(|name| planner.sets(&zone.origin, name));
    let untouched = |set: &RecordSet| nodes.binary_search(&set.name).is_err();
    let base = zone.base.iter().flat_map(|base| base.iter()).filter(untouched);
    let all = own.chain(base.map(|set| (zone.scope.clone(), set))).filter(|(_, set)| set.rtype != Rtype::SOA);
    let mut sets: Vec<_> =
        all.map(|(scope, set)| DocumentRecordSet::of(planner, &zone.origin, &scope, &set)).collect();
    sets.sort_by(|a, b| a.key().cmp(&b.key()));
    sets
}

fn children(planner: &Planner) -> Vec<DocumentObject> {
    let of = |child: ChildRef| Some((planner.cluster_name(child.cluster), planner.child(&child)?));
    sorted(planner.children().into_iter().filter_map(of))
}

fn objects(planner: &Planner) -> Vec<DocumentObject> {
    let of =
        |(cluster, object)| Some((planner.cluster_name(cluster), planner.document_of(cluster, &object)?));
    // Of somebody else's object that has nothing of ours there is nothing to show.
    let has_status =
        |(_, manifest): &(&str, Value)| manifest["status"].as_object().is_some_and(|one| !one.is_empty());
    sorted(planner.objects().into_iter().filter_map(of).filter(has_status))
}

fn versions(planner: &Planner) -> Vec<DocumentVersion> {
    let mut objects: Vec<_> = planner.snapshot.entries().map(|(_, entry)| &entry.key).collect();
    objects.sort_by_key(|key| stream::object_key(planner, key.cluster, &key.reference));
    objects.into_iter().filter_map(|key| planner.version(key.cluster, &key.reference)).collect()
}

fn sorted<'a>(manifests: impl Iterator<Item = (&'a str, Value)>) -> Vec<DocumentObject> {
    let object =
        |(cluster, manifest): (&str, Value)| DocumentObject { cluster: cluster.to_owned(), manifest };
    let mut objects: Vec<DocumentObject> = manifests.map(object).collect();
    objects.sort_by(|a, b| a.key().cmp(&b.key()));
    objects
}
