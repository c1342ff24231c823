//! What is served, to and from the state directory.
//!
//! Each zone is kept as one packed zone, whatever it was made of: after a restart it only has to
//! answer until the folders have been read. Each view is kept with what says where it answers.

use std::collections::BTreeMap;
use std::sync::Arc;

use dns::PackedZone;
use planner::{Place, ViewInfo};
use serde::{Deserialize, Serialize};
use server::{ViewTable, Zone, ZoneUpdate, Zones};

use crate::state::SavedZones;

/// A view as it is kept.
#[derive(Serialize, Deserialize)]
struct SavedView {
    name: String,
    is_default: bool,
    numbered: bool,
    listen: Vec<String>,
    clients: Vec<String>,
}

/// The zones of these views as they are kept, in the views' order.
pub fn saved(table: &ViewTable, views: &[ViewInfo]) -> SavedZones {
    let entry =
        |view: &ViewInfo| Some((key(view)?, table.views.get(&view.name).map(packed).unwrap_or_default()));
    views.iter().filter_map(entry).collect()
}

fn key(view: &ViewInfo) -> Option<String> {
    let ViewInfo { place, name, listen, clients, numbered } = view.clone();
    serde_json::to_string(&SavedView { name, is_default: place.is_none(), numbered, listen, clients }).ok()
}

fn packed(zones: &Zones) -> Vec<Vec<u8>> {
    zones.origins().filter_map(|origin| pack(zones.zone(origin)?)).map(|zone| zone.to_bytes()).collect()
}

/// A zone whose content is not known is not kept.
fn pack(zone: &Zone) -> Option<PackedZone> {
    zone.soa()?;
    PackedZone::from_sets(zone.origin().clone(), zone.sets()).ok()
}

/// The views and zones that were kept.
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
    let SavedView { name, numbered, listen, clients, .. } = saved;
    Some(ViewInfo { place, name, listen, clients, numbered })
}

fn unpacked(blobs: &[Vec<u8>]) -> Zones {
    let mut zones = Zones::new();
    for zone in blobs.iter().filter_map(|bytes| PackedZone::from_bytes(bytes).ok()) {
        let (origin, soa) = (zone.origin().clone(), zone.soa());
        zones.apply(ZoneUpdate::PutZone { origin, soa, base: Some(Arc::new(zone)) });
    }
    zones
}
