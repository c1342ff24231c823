//! The embedded server: keeps the zones of each view equal to the plan.
//!
//! A view's zones are changed aside and published at once, so a client sees the plan before or
//! after a change and nothing in between.

use dns::Name;
use planner::{Delta, Planner, Scope, ViewInfo, ZoneInfo};
use server::{ZoneUpdate, Zones};

/// Puts the whole plan of a view into zones that are empty.
pub fn fill(planner: &Planner, view: &ViewInfo, mut zones: Zones) -> Zones {
    for zone in planner.zones() {
        put_zone(planner, view, &zone, &mut zones);
    }
    zones
}

/// Changes the zones of a view by what the plan's last change moved.
pub fn update(planner: &Planner, view: &ViewInfo, delta: &Delta, zones: &mut Zones) {
    for origin in &delta.zones {
        match planner.zone(origin).filter(|zone| sees(view, &zone.scope)) {
            Some(zone) => put_zone(planner, view, &zone, zones),
            None => zones.apply(ZoneUpdate::RemoveZone { origin: origin.clone() }),
        }
    }
    for (origin, name) in &delta.nodes {
        if zones.zone(origin).is_some() {
            put_node(planner, view, origin, name, zones);
        }
    }
}

/// Puts a zone's SOA; a zone that the view did not have gets all its nodes too.
fn put_zone(planner: &Planner, view: &ViewInfo, zone: &ZoneInfo, zones: &mut Zones) {
    if !sees(view, &zone.scope) {
        return;
    }
    let is_new = zones.zone(&zone.origin).is_none();
    zones.apply(content(zone));
    if is_new {
        for name in planner.nodes(&zone.origin) {
            put_node(planner, view, &zone.origin, &name, zones);
        }
    }
}

fn content(zone: &ZoneInfo) -> ZoneUpdate {
    let origin = zone.origin.clone();
    match &zone.soa {
        Some(soa) => ZoneUpdate::PutZone { origin, soa: soa.clone(), base: zone.base.clone() },
        None => {
            let reason = zone.unavailable.clone().unwrap_or_else(|| "its content is not known".to_owned());
            ZoneUpdate::Unavailable { origin, reason }
        }
    }
}

fn put_node(planner: &Planner, view: &ViewInfo, origin: &Name, name: &Name, zones: &mut Zones) {
    let sets = planner.sets_at(origin, name, view.place.as_ref());
    let (origin, name) = (origin.clone(), name.clone());
    zones.apply(match sets.is_empty() {
        true => ZoneUpdate::RemoveNode { origin, name },
        false => ZoneUpdate::PutNode { origin, name, sets },
    });
}

/// Whether a view shows what has this scope; the view `default` stands for no place.
fn sees(view: &ViewInfo, scope: &Scope) -> bool {
    match &view.place {
        Some(place) => scope.covers(place),
        None => *scope == Scope::Everywhere,
    }
}
