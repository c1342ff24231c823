//! What is served, to and from the state directory.
//!
//! Each zone is kept as one packed zone, whatever it was made of: after a restart it only has to
//! answer until the folders have been read. Each view is kept with what says where it answers.
//! What changed since is in the [`super::journal`], and goes over them.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::dnsclass::Dnssec;
use dns::PackedZone;
use planner::{Place, ViewInfo};
use serde::{Deserialize, Serialize};
use server::{ViewTable, Zone, ZoneUpdate, Zones};

use super::journal;
use crate::state::{SavedZones, StateDir};

/// A view as it is kept.
#[derive(Serialize, Deserialize)]
struct SavedView {
    name: String,
    is_default: bool,
    numbered: bool,
    listen: Vec<String>,
    clients: Vec<String>,
    /// Signed zones are signed from the first answer on.
    #[serde(default)]
    dnssec: Option<Dnssec>,
}

/// The zones of these views as they are kept, in the views' order.
pub fn saved(table: &ViewTable, views: &[ViewInfo]) -> SavedZones {
    let entry =
        |view: &ViewInfo| Some((key(view)?, table.views.get(&view.name).map(packed).unwrap_or_default()));
    views.iter().filter_map(entry).collect()
}

fn key(view: &ViewInfo) -> Option<String> {
    let ViewInfo { place, name, listen, clients, numbered, dnssec, .. } = view.clone();
    let is_default = place.is_none();
    serde_json::to_string(&SavedView { name, is_default, numbered, listen, clients, dnssec }).ok()
}

fn packed(zones: &Zones) -> Vec<Vec<u8>> {
    zones.origins().filter_map(|origin| pack(zones.zone(origin)?)).map(|zone| zone.to_bytes()).collect()
}

/// A zone whose content is not known is not kept.
fn pack(zone: &Zone) -> Option<PackedZone> {
    zone.soa()?;
    PackedZone::from_sets(zone.origin().clone(), zone.sets()).ok()
}

/// The views and zones that were kept, with all their changes.
pub fn load(state: &StateDir) -> (Vec<ViewInfo>, BTreeMap<String, Zones>) {
    let (views, mut zones) = restored(state.load_zones());
    let changes = state.load_changes(journal::decoded);
    changes.into_iter().flatten().for_each(|entry| entry.apply(&mut zones));
    (views, zones)
}

/// The views and zones as they were written.
pub fn restored(saved: SavedZones) -> (Vec<ViewInfo>, BTreeMap<String, Zones>) {
    let mut views = Vec::new();
    let mut zones = BTreeMap::new();
    for (key, blobs) in saved {
        if let Some(view) = view(&key) {
            zones.insert(view.name.clone(), unpacked(&blobs));
            views.push(view);
        }
    }
    (views, zones)
}

fn view(key: &str) -> Option<ViewInfo> {
    let saved: SavedView = serde_json::from_str(key).ok()?;
    // Which kind of place it was does not matter for where it answers.
    let place = (!saved.is_default).then(|| Place::Region(saved.name.as_str().into()));
    let SavedView { name, numbered, listen, clients, dnssec, .. } = saved;
    // Kept zones are not steered, so nobody asks where clients are.
    Some(ViewInfo { place, name, listen, clients, numbered, geo: None, dnssec })
}

fn unpacked(blobs: &[Vec<u8>]) -> Zones {
    let mut zones = Zones::new();
    for zone in blobs.iter().filter_map(|bytes| PackedZone::from_bytes(bytes).ok()) {
        let (origin, soa) = (zone.origin().clone(), zone.soa());
        zones.apply(ZoneUpdate::PutZone { origin, soa, base: Some(Arc::new(zone)) });
    }
    zones
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use dns::{Name, Rdata, RecordSet, Rtype};
    use server::steering::Asker;
    use server::{Rcode, lookup};

    fn set(name: &str, rtype: Rtype, data: &str) -> RecordSet {
        let data = Rdata::parse(rtype, data, &Name::root()).unwrap();
        RecordSet::new(Name::parse(name).unwrap(), rtype, 60, vec![data])
    }

    #[test]
    fn what_was_kept_answers_as_before() {
        let (origin, www) = (Name::parse("example.org").unwrap(), Name::parse("www.example.org").unwrap());
        let mut zones = Zones::new();
        let soa = set("example.org", Rtype::SOA, "ns. admin. 1 2 3 4 5");
        zones.apply(ZoneUpdate::PutZone { origin: origin.clone(), soa, base: None });
        let sets = vec![set("www.example.org", Rtype::A, "192.0.2.1")];
        zones.apply(ZoneUpdate::PutNode { origin, name: www.clone(), sets });
        let unknown = Name::parse("example.net").unwrap();
        zones.apply(ZoneUpdate::Unavailable { origin: unknown, reason: "broken".to_owned() });
        let before = lookup(&zones, &www, Rtype::A, &Asker::NOBODY);
        let table = ViewTable { views: [("weu".to_owned(), zones)].into(), ..ViewTable::default() };
        let view = ViewInfo {
            place: Some(Place::Region("weu".into())),
            name: "weu".to_owned(),
            listen: Vec::new(),
            clients: vec!["10.0.0.0/8".to_owned()],
            numbered: false,
            geo: None,
            dnssec: Some(Dnssec::default()),
        };
        let (views, zones) = restored(saved(&table, std::slice::from_ref(&view)));
        assert_eq!(views, [view]);
        assert_eq!(lookup(&zones["weu"], &www, Rtype::A, &Asker::NOBODY), before);
        assert_eq!(before.rcode, Rcode::NoError);
        assert_eq!(zones["weu"].origins().count(), 1, "a zone without content is not kept");
    }
}
