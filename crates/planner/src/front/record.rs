//! Record: adopted by the zone it refers to, or by the longest zone that permits it (document 003).

use std::sync::Arc;

use api::Object;
use api::kubizone::RecordSpec;
use dns::{Name, NameError, Rdata, RdataError, Rtype};

use crate::backing::Backing;
use crate::front::zone::{ParentZone, reference_text, referenced};
use crate::output::{ChildSeed, Claim, Outcome, Output};
use crate::place::Scope;
use crate::rank::Rank;
use crate::tenancy::{NotGranted, Refusal};
use crate::view::View;
use crate::zone_table::{Source, Standing, Zone};

/// How a record fared, conflicts apart.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RecordOutcome {
    pub(crate) state: RecordState,
    pub(crate) fqdn: Option<Name>,
    pub(crate) parent: Option<ParentZone>,
    /// The class that has to confirm it, and what stands behind that; none where nobody has to.
    pub(crate) class: Option<(Arc<str>, Option<Backing>)>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RecordState {
    Adopted,
    /// Adopted, but a zone below answers for the name.
    Occluded(Rank),
    /// The referenced zone is not there, or does not stand anywhere.
    ZoneMissing(String),
    /// The referenced zone does not hold its origin.
    ZoneConflicted(String),
    NoZone,
    NotDelegated(Rank),
    NotGranted(NotGranted),
    OutOfZone(Name),
    /// A CNAME at the zone's own name, which has an SOA and NS.
    ApexAlias,
    BadName(NameError),
    BadData(RdataError),
}

pub(crate) fn evaluate(view: &View<'_>, object: &Object, spec: &RecordSpec) -> Output {
    let mut output = Output::new(Outcome::Silent);
    let mut outcome = RecordOutcome { state: RecordState::NoZone, fqdn: None, parent: None, class: None };
    let adopted = adopt(view, object, spec, &mut outcome.fqdn);
    outcome.state = match adopted {
        Err(state) => state,
        Ok(Adoption { zone, name, rtype: Rtype::CNAME, .. }) if name == zone.origin => RecordState::ApexAlias,
        Ok(Adoption { zone, name, rtype, entitled }) => match data(spec, zone, rtype) {
            Err(error) => RecordState::BadData(error),
            Ok(data) => {
                outcome.parent = Some(ParentZone::of(zone));
                outcome.class = confirming_class(view, zone);
                output.children.extend(child(&outcome));
                output.claims.push(Claim { entitled, ..claim(view, spec, zone, &name, data) });
                occluding(view, zone, &name, rtype).map_or(RecordState::Adopted, RecordState::Occluded)
            }
        },
    };
    output.outcome = Outcome::Record(Box::new(outcome));
    output
}

fn confirming_class(view: &View<'_>, zone: &Zone) -> Option<(Arc<str>, Option<Backing>)> {
    let Scope::At(place) = &zone.scope else { return None };
    let backing = view.backing(place);
    (backing != Some(Backing::Embedded)).then(|| (place.name().clone(), backing))
}

/// The DNSEndpoint of a record whose zone is an ExternalDNS's.
fn child(outcome: &RecordOutcome) -> Option<ChildSeed> {
    match &outcome.class {
        Some((_, Some(Backing::ExternalDNS(controller)))) => Some(ChildSeed::of_class(controller)),
        _ => None,
    }
}

/// The zone that adopts a record, and what it adopts.
struct Adoption<'a> {
    zone: &'a Arc<Zone>,
    name: Name,
    rtype: Rtype,
    /// Whether it may stand beside what another namespace holds.
    entitled: bool,
}

impl From<Refusal> for RecordState {
    fn from(refusal: Refusal) -> RecordState {
        match refusal {
            Refusal::NotDelegated(zone) => RecordState::NotDelegated(zone),
            Refusal::NotGranted(reason) => RecordState::NotGranted(reason),
        }
    }
}

fn adopt<'a>(
    view: &View<'a>,
    object: &Object,
    spec: &RecordSpec,
    fqdn: &mut Option<Name>,
) -> Result<Adoption<'a>, RecordState> {
    let bad_type = |error: dns::RtypeError| {
        RecordState::BadData(RdataError {
            rtype: Rtype(0),
            text: spec.r#type.to_string(),
            reason: error.to_string(),
        })
    };
    let rtype: Rtype = spec.r#type.parse().map_err(bad_type)?;
    let permit = |zone: &Zone, name: &Name| view.permit(object, Some(zone), name, rtype);
    let Some(reference) = &spec.zone_ref else {
        let name = Name::parse(&spec.domain_name).map_err(RecordState::BadName)?;
        *fqdn = Some(name.clone());
        let own_cluster = |zone: &&Arc<Zone>| zone.permissions.is_some() && view.is_own(zone);
        let around: Vec<_> = view.zones_around(&name).filter(own_cluster).collect();
        let mut refusal = None;
        for zone in around {
            match permit(zone, &name) {
                Ok(entitled) => return Ok(Adoption { zone, name, rtype, entitled }),
                Err(reason) => drop(refusal.get_or_insert(reason)),
            }
        }
        let outside = || view.missing_grant(object, &name, rtype).map(Refusal::NotGranted);
        return Err(refusal.or_else(outside).map_or(RecordState::NoZone, RecordState::from));
    };
    let text = || reference_text(object, reference);
    let (id, _) = referenced(view, object, reference).ok_or_else(|| RecordState::ZoneMissing(text()))?;
    let Some((Standing::At(origin), holder)) = view.standing(id) else {
        return Err(RecordState::ZoneMissing(text()));
    };
    let name = Name::parse_relative(&spec.domain_name, origin).map_err(RecordState::BadName)?;
    *fqdn = Some(name.clone());
    let zone = match holder {
        Some(holder) if holder.zone.source == Source::Object(id) || view.is_held_by_twin(id, holder) => {
            &holder.zone
        }
        _ => return Err(RecordState::ZoneConflicted(text())),
    };
    match () {
        () if !name.is_in(origin) => Err(RecordState::OutOfZone(origin.clone())),
        () => {
            let entitled = permit(zone, &name)?;
            Ok(Adoption { zone, name, rtype, entitled })
        }
    }
}

/// Names in the data follow the record's own name: relative to the zone with a reference, else absolute.
fn data(spec: &RecordSpec, zone: &Zone, rtype: Rtype) -> Result<Rdata, RdataError> {
    let origin = if spec.zone_ref.is_some() { zone.origin.clone() } else { Name::root() };
    Rdata::parse(rtype, &spec.rdata, &origin)
}

fn claim(view: &View<'_>, spec: &RecordSpec, zone: &Zone, name: &Name, data: Rdata) -> Claim {
    Claim {
        zone: zone.origin.clone(),
        name: name.clone(),
        rtype: data.rtype(),
        ttl: spec.ttl.unwrap_or_else(|| view.ttl(Some(zone), &zone.scope)),
        data: Arc::from([data]),
        steering: None,
        scope: zone.scope.clone(),
        shared: true,
        entitled: false,
    }
}

/// The zone between the record and its own zone that answers for the name instead.
///
/// A DS record at a zone cut is the parent's own (RFC 4035 section 3.1.4.1), so nothing hides it.
fn occluding(view: &View<'_>, zone: &Zone, name: &Name, rtype: Rtype) -> Option<Rank> {
    let hides = |below: &&Arc<Zone>| {
        below.origin.is_below(&zone.origin)
            && below.scope.meets(&zone.scope)
            && !(rtype == Rtype::DS && below.origin == *name)
    };
    view.zones_around(name).find(hides).map(|below| below.rank.clone())
}
