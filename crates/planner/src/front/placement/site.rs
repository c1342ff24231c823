//! Where a Placement's name is answered: its zone, and the class that delivers it.

use std::sync::Arc;

use api::Object;
use api::placement::PlacementSpec;
use dns::{Name, Rtype};

use super::PlacementState;
use crate::backing::Backing;
use crate::place::{Place, Scope};
use crate::tenancy::Refusal;
use crate::view::View;
use crate::zone_table::Zone;

/// Where a name is answered.
pub(super) struct Site {
    pub(super) zone: Arc<Zone>,
    pub(super) scope: Scope,
    /// The class that delivers it and what stands behind that; none where our own servers answer.
    pub(super) class: Option<(Arc<str>, Option<Backing>)>,
}

pub(super) fn find(
    view: &View<'_>,
    object: &Object,
    spec: &PlacementSpec,
    name: &Name,
) -> Result<Site, PlacementState> {
    // Admission asks before the object is there, and so before it can imply a zone.
    let no_zone = || {
        let missing = view.missing_grant(object, name, Rtype::A);
        missing.map_or(PlacementState::NoZone, PlacementState::NotGranted)
    };
    let Some(class) = &spec.dns_class_ref else {
        let zone = view.zone_for(name, &Scope::Everywhere).ok_or_else(no_zone)?;
        let scope = zone.scope.clone();
        let class = match &scope {
            Scope::At(place) => Some((place.name().clone(), view.backing(place))),
            Scope::Everywhere => None,
        };
        return Ok(Site { zone: zone.clone(), scope, class });
    };
    let (class, found) = (Arc::<str>::from(&*class.name), view.class(&class.name));
    let (Some(found), Some(backing)) = (found, found.and_then(Backing::of)) else {
        return Err(PlacementState::NoClass(class));
    };
    let is_allowed = |zone: &String| Name::parse(zone).is_ok_and(|zone| name.is_in(&zone));
    if !found.zones.is_empty() && !found.zones.iter().any(is_allowed) {
        return Err(PlacementState::OutsideClass(found.zones.clone().into()));
    }
    let scope = Scope::At(Place::Class(class.clone()));
    let zone = view.zone_of_route(name, &scope).ok_or_else(no_zone)?;
    if backing == Backing::Embedded && !zone.scope.meets(&scope) {
        return Err(PlacementState::OtherView(zone.rank.clone()));
    }
    Ok(Site { zone: zone.clone(), scope, class: Some((class, Some(backing))) })
}

/// Whether this namespace may have a record set of this type there, and beside another namespace.
pub(super) fn check(
    view: &View<'_>,
    zone: &Zone,
    object: &Object,
    name: &Name,
    rtype: Rtype,
) -> Result<bool, PlacementState> {
    let entitled = view.permit(object, Some(zone), name, rtype).map_err(|refusal| match refusal {
        Refusal::NotDelegated(zone) => PlacementState::NotDelegated(zone, rtype),
        Refusal::NotGranted(reason) => PlacementState::NotGranted(reason),
    })?;
    match rtype == Rtype::CNAME && *name == zone.origin {
        true => Err(PlacementState::ApexAlias),
        false => Ok(entitled),
    }
}
