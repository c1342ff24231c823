//! What a plan keeps in force of files that cannot be read, where it is not known what each file held.

use std::collections::HashSet;
use std::sync::Arc;

use dns::{Name, PackedZone, Rdata, RecordSet, Rtype};

use super::{Document, DocumentRecordSet, DocumentVersion};
use crate::input::{Change, ClusterId, ObjectRef};

impl Document {
    /// The objects of a cluster that changes declare no longer. A source that could not read all of its manifests does
    /// not prove that they are gone.
    pub fn unproven(&self, (cluster, name): (ClusterId, &str), changes: &[Change]) -> Vec<Change> {
        let declared: HashSet<ObjectRef> = changes.iter().filter_map(|one| declared(cluster, one)).collect();
        let is_lost = |version: &&DocumentVersion| {
            version.cluster == name && version.reference().is_some_and(|one| !declared.contains(&one))
        };
        let lost = self.versions.iter().filter(is_lost).filter_map(DocumentVersion::object);
        lost.map(|object| Change::Put(cluster, Arc::new(object))).collect()
    }

    /// The content of a zone file as this plan has it in force: the record sets of its zone that no object holds.
    pub(super) fn file_in_force(&self, path: &str) -> Option<PackedZone> {
        let zone = self.zones.iter().find(|zone| zone.source == path)?;
        let held = self.holders.iter().filter(|holder| !holder.kind.is_empty());
        let held: HashSet<(&str, &Name, Rtype)> = held
            .flat_map(|holder| &holder.holds)
            .map(|(scope, name, rtype)| (&**scope, name, *rtype))
            .collect();
        let is_its_own = |set: &&DocumentRecordSet| {
            set.zone == zone.origin && !held.contains(&(&*set.scope, &set.name, set.rtype))
        };
        let sets = zone.soa.iter().chain(self.record_sets.iter().filter(is_its_own));
        let sets: Option<Vec<RecordSet>> = sets.map(record_set).collect();
        PackedZone::from_sets(zone.origin.clone(), sets?).ok()
    }
}

fn declared(of: ClusterId, change: &Change) -> Option<ObjectRef> {
    let (cluster, reference) = super::version::subject(change)?;
    (cluster == of).then_some(reference)
}

fn record_set(set: &DocumentRecordSet) -> Option<RecordSet> {
    let data = set.data.iter().map(|text| Rdata::parse(set.rtype, text, &Name::root()).ok());
    Some(RecordSet::new(set.name.clone(), set.rtype, set.ttl, data.collect::<Option<Vec<_>>>()?))
}
