//! Names that a new Zone object would take away from objects of other namespaces.
//!
//! A zone that only objects imply has no owner who could delegate. So a Zone object at or above names that
//! are already held there is not served, unless its namespace has a domain grant.

use api::Kind;
use dns::Name;

use crate::facts::ObjectKey;
use crate::input::ObjectRef;
use crate::namespace_rule::base_key;
use crate::rank::Rank;
use crate::snapshot::{Id, Snapshot};
use crate::zone_table::ZoneTable;

/// The first object of another namespace that holds a name at or below `origin` since before the Zone.
pub(crate) fn held_below(
    snapshot: &Snapshot,
    table: &ZoneTable,
    zone: &Rank,
    origin: &Name,
) -> Option<(Rank, Name)> {
    let base = Name::from_key(base_key(origin.key(), &[]));
    let above = table.wanted.at(&base).filter(|_| base != *origin);
    let wanting = table.wanted.below(origin).chain(above);
    let mut found: Option<(Rank, Name)> = None;
    for (name, id) in wanting {
        if found.as_ref().is_some_and(|(_, first)| first != name) {
            break;
        }
        let holder = holder(snapshot, table, (zone, origin), name, id);
        let holder = holder.filter(|_| !is_in_another_zone(snapshot, table, zone, origin, name));
        if let Some(holder) = holder
            && found.as_ref().is_none_or(|(first, _)| holder < *first)
        {
            found = Some((holder, name.clone()));
        }
    }
    found
}

/// The rank of an object that wants a name, where a Zone must not take the name away from it.
fn holder(
    snapshot: &Snapshot,
    table: &ZoneTable,
    (zone, origin): (&Rank, &Name),
    name: &Name,
    id: Id,
) -> Option<Rank> {
    let entry = snapshot.entry(id)?;
    let rank = Rank::of(entry.key.cluster, entry.object.as_ref()?);
    let is_granted = |rank: &Rank| snapshot.grants.is_granted(rank.cluster, &rank.namespace, name);
    // A Zone that was broken withheld the names that seem held; mended, it goes on.
    let was_held = || table.wanted.was_held(id, name) && !withheld(snapshot, zone, origin);
    let is_earlier = || !table.was_known(origin, zone) && (rank.is_created_before(zone) || was_held());
    // A Zone at a route's own name, or at what depends on a name, is for nothing but that name.
    let is_router = matches!(rank.kind, Some(Kind::ServiceRoute | Kind::Gateway));
    let is_aimed = (is_router && name == origin) || origin.is_below(name);
    let is_equally_old = || {
        !zone.is_created_before(&rank) && !table.was_known(origin, zone) && !withheld(snapshot, zone, origin)
    };
    let holds = rank.namespace != zone.namespace
        && (is_earlier() || (is_aimed && is_equally_old()) || (is_granted(&rank) && !is_granted(zone)));
    holds.then_some(rank)
}

/// Whether nothing at the origin was answered before because the Zone had no valid version: mended, it is served.
fn withheld(snapshot: &Snapshot, zone: &Rank, origin: &Name) -> bool {
    let reference =
        ObjectRef { kind: Kind::Zone, namespace: zone.namespace.clone(), name: zone.name.clone() };
    let known = snapshot.withheld_before.get(&ObjectKey::new(zone.cluster, reference));
    known.is_some_and(|(withheld, decision)| withheld == origin && *decision)
}

/// Whether an older Zone below the origin has the name, so that the new one does not touch it.
fn is_in_another_zone(
    snapshot: &Snapshot,
    table: &ZoneTable,
    zone: &Rank,
    origin: &Name,
    name: &Name,
) -> bool {
    let mut around = table.zones_above(name).take_while(|(other, _)| other.is_below(origin));
    around.any(|(other, id)| {
        let entry = snapshot.entry(id);
        let rank = entry.and_then(|entry| Some(Rank::of(entry.key.cluster, entry.object.as_ref()?)));
        rank.is_some_and(|rank| table.is_older(&rank, other, zone))
    })
}
