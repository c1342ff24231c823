//! What is delivered of a name to somebody else's DNS server, looked up as that server would.
//!
//! Only what we deliver is known here: the server may hold other records in the same zone. Of a steered record set all
//! data is shown, since the provider chooses.

use dns::{Name, RecordSet, Rtype};
use planner::{Destination, Planner, deciding_names};
use server::steering::Asker;
use server::{Answer, Step, ZoneUpdate, Zones, lookup};

/// How many names a chain of aliases is followed to.
const MAX_NAMES: usize = 16;

/// What the server of a destination answers, as far as we deliver it.
pub(super) fn answer(
    planner: &Planner,
    destination: &Destination,
    name: &Name,
    rtype: Rtype,
    asker: &Asker,
) -> Answer {
    let mut zones = Zones::new();
    let mut names = vec![name.clone()];
    put(planner, destination, name, &mut zones);
    loop {
        let answer = lookup(&zones, name, rtype, asker);
        let next = answer.steps.iter().filter_map(next_name).find(|next| !names.contains(next));
        match next.cloned() {
            Some(next) if names.len() < MAX_NAMES => {
                put(planner, destination, &next, &mut zones);
                names.push(next);
            }
            _ => return answer,
        }
    }
}

/// The name that a chain goes on with.
fn next_name(step: &Step) -> Option<&Name> {
    match step {
        Step::Cname { to, .. } => Some(to),
        Step::Dname { to, .. } => to.as_ref(),
        _ => None,
    }
}

/// Puts the zone of a name, and all in it that decides how the name is answered.
fn put(planner: &Planner, destination: &Destination, name: &Name, zones: &mut Zones) {
    let Some(zone) = planner.zone_around(name) else { return };
    let Some(soa) = zone.soa else { return };
    let origin = &zone.origin;
    let place = &destination.place;
    let mut nodes: Vec<(Name, Vec<RecordSet>)> = Vec::new();
    for owner in deciding_names(name, origin) {
        let sets = planner.delivered_sets(place, origin, &owner);
        // A name that only has names below it exists too.
        let below = || planner.first_name_below(place, origin, &owner);
        let exists_by = if sets.is_empty() { below() } else { None };
        nodes.extend(exists_by.map(|below| {
            let sets = planner.delivered_sets(place, origin, &below);
            (below, sets)
        }));
        nodes.push((owner, sets));
    }
    nodes.retain(|(_, sets)| !sets.is_empty());
    if nodes.is_empty() {
        return;
    }
    if zones.zone(origin).is_none() {
        zones.apply(ZoneUpdate::PutZone { origin: origin.clone(), soa, base: None });
    }
    for (name, sets) in nodes {
        let sets = sets.into_iter().map(|set| RecordSet { steering: None, ..set }).collect();
        zones.apply(ZoneUpdate::PutNode { origin: origin.clone(), name, sets });
    }
}
