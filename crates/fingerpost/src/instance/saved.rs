//! What is served, to and from the state directory.
//!
//! A zone is kept in the layers that it is served in. A zone file under it is the packed zone that
//! the source keeps, so that it is neither packed nor written again for a name that changed over
//! it. Names that a packed zone cannot say, such as steered ones, are kept as the entries of the
//! [`super::journal`], which has what changed since, and goes over all of them. Each view is kept
//! with what says where it answers.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::dnsclass::{Dnssec, Geo};
use dns::{PackedZone, RecordSet, Rtype};
use planner::{Place, ViewInfo};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use server::{ViewTable, Zone, ZoneUpdate, Zones};

use super::journal::{self, Entry};
use crate::state::{SavedZone, SavedZones, StateDir};

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
    /// Steered names are steered from the first answer on.
    #[serde(default)]
    geo: Option<Geo>,
}

/// The zones of these views as they are kept, in the views' order.
pub fn saved(table: &ViewTable, views: &[ViewInfo]) -> SavedZones {
    let zones = |view: &ViewInfo| table.views.get(&view.name).map(|zones| kept(&view.name, zones));
    let entry = |view: &ViewInfo| Some((key(view)?, zones(view).unwrap_or_default()));
    views.iter().filter_map(entry).collect()
}

fn key(view: &ViewInfo) -> Option<String> {
    let ViewInfo { place, name, listen, clients, numbered, dnssec, geo } = view.clone();
    let is_default = place.is_none();
    serde_json::to_string(&SavedView { name, is_default, numbered, listen, clients, dnssec, geo }).ok()
}

fn kept(view: &str, zones: &Zones) -> Vec<SavedZone> {
    zones.origins().filter_map(|origin| keep(view, zones.zone(origin)?)).collect()
}

/// A zone whose content is not known is not kept.
fn keep(view: &str, zone: &Zone) -> Option<SavedZone> {
    let is_plain = |sets: &[RecordSet]| !sets.is_empty() && sets.iter().all(|set| set.steering.is_none());
    let (plain, others): (Vec<_>, Vec<_>) = zone.own_nodes().partition(|(_, sets)| is_plain(sets));
    let soa = zone.soa()?.clone();
    let sets = plain.into_iter().flat_map(|(_, sets)| sets.into_owned());
    let own = PackedZone::from_sets(zone.origin().clone(), std::iter::once(soa).chain(sets)).ok()?;
    let entries: Vec<Entry> =
        others.into_iter().map(|(name, sets)| Entry::new(view, zone, Some(name.clone()), &sets)).collect();
    let names = if entries.is_empty() { Value::Null } else { serde_json::to_value(entries).ok()? };
    Some(SavedZone { own: Arc::new(own), base: zone.base().cloned(), names })
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
    for (key, saved) in saved {
        if let Some(view) = view(&key) {
            zones.insert(view.name.clone(), Zones::new());
            saved.into_iter().for_each(|zone| restore(zone, &view.name, &mut zones));
            views.push(view);
        }
    }
    (views, zones)
}

fn view(key: &str) -> Option<ViewInfo> {
    let saved: SavedView = serde_json::from_str(key).ok()?;
    // Which kind of place it was does not matter for where it answers.
    let place = (!saved.is_default).then(|| Place::Region(saved.name.as_str().into()));
    let SavedView { name, numbered, listen, clients, dnssec, geo, .. } = saved;
    Some(ViewInfo { place, name, listen, clients, numbered, geo, dnssec })
}

/// Puts a zone into its view. One that cannot be read whole stays away: a part of it would answer
/// that the rest does not exist.
fn restore(saved: SavedZone, view: &str, views: &mut BTreeMap<String, Zones>) {
    let (Some(zones), Some(entries)) = (views.get_mut(view), journal::from_value(saved.names)) else {
        return;
    };
    let (origin, soa) = (saved.own.origin().clone(), saved.own.soa());
    let (base, over) = match saved.base {
        Some(base) => (base, Some(saved.own)),
        None => (saved.own, None),
    };
    zones.apply(ZoneUpdate::PutZone { origin: origin.clone(), soa, base: Some(base) });
    for node in over.iter().flat_map(|over| over.nodes()) {
        let mut sets = node.record_sets();
        sets.retain(|set| set.rtype != Rtype::SOA);
        if !sets.is_empty() {
            zones.apply(ZoneUpdate::PutNode { origin: origin.clone(), name: node.name(), sets });
        }
    }
    entries.into_iter().for_each(|entry| entry.apply(views));
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use dns::{Member, Name, ProbeId, Rdata, Steering};
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

    #[test]
    fn steered_and_hidden_names_over_a_file_are_kept_as_they_are() {
        let (origin, www) = (Name::parse("example.org").unwrap(), Name::parse("www.example.org").unwrap());
        let soa = set("example.org", Rtype::SOA, "ns. admin. 1 2 3 4 5");
        let file = [
            &soa,
            &set("www.example.org", Rtype::A, "192.0.2.1"),
            &set("a.example.org", Rtype::A, "192.0.2.1"),
        ];
        let base = PackedZone::from_sets(origin.clone(), file.into_iter().cloned()).unwrap();
        let mut zones = Zones::new();
        let base = Some(Arc::new(base));
        zones.apply(ZoneUpdate::PutZone { origin: origin.clone(), soa, base: base.clone() });
        let members = [1, 0].map(|data| Steering::All(vec![Member { data, probe: Some(ProbeId(u64::MAX)) }]));
        let data = ["192.0.2.7", "192.0.2.8"].map(|text| Rdata::parse(Rtype::A, text, &origin).unwrap());
        let mut steered = RecordSet::new(www.clone(), Rtype::A, 30, data.to_vec());
        steered.steering = Some(Arc::new(Steering::Failover(members.to_vec())));
        let sets = vec![steered, set("www.example.org", Rtype::TXT, "text")];
        zones.apply(ZoneUpdate::PutNode { origin: origin.clone(), name: www.clone(), sets });
        let hidden = Name::parse("a.example.org").unwrap();
        zones.apply(ZoneUpdate::PutNode { origin: origin.clone(), name: hidden, sets: Vec::new() });
        zones.apply(ZoneUpdate::PutNode {
            origin: origin.clone(),
            name: Name::parse("b.example.org").unwrap(),
            sets: vec![set("b.example.org", Rtype::A, "192.0.2.3")],
        });

        let kept = keep("weu", zones.zone(&origin).unwrap()).unwrap();
        assert_eq!(kept.own.len(), 2, "the SOA and b");
        let mut views = BTreeMap::from([("weu".to_owned(), Zones::new())]);
        restore(kept.clone(), "weu", &mut views);
        let (before, after) = (zones.zone(&origin).unwrap(), views["weu"].zone(&origin).unwrap());
        assert_eq!(after.own_nodes().collect::<Vec<_>>(), before.own_nodes().collect::<Vec<_>>());
        assert!(Arc::ptr_eq(after.base().unwrap(), base.as_ref().unwrap()));
        assert_eq!(after.soa(), before.soa());

        let text = serde_json::to_string(&kept.names).unwrap().replace("\"data\":1", "\"data\":2");
        let mut views = BTreeMap::from([("weu".to_owned(), Zones::new())]);
        restore(SavedZone { names: serde_json::from_str(&text).unwrap(), ..kept }, "weu", &mut views);
        assert!(views["weu"].zone(&origin).is_none(), "there is no third item: {text}");
    }
}
