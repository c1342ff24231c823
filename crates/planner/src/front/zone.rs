//! Zone: where it stands in the tree, and which zone delegates to it (document 003).

use std::collections::BTreeSet;
use std::sync::Arc;

use api::kubizone::{ZoneRef, ZoneSpec};
use api::{Kind, Object, Published, Spec};
use dns::{Name, Rtype};

use crate::output::{Outcome, Output};
use crate::rank::{Rank, Reason};
use crate::snapshot::Id;
use crate::view::View;
use crate::zone_table::{
    Authority, Candidate, Permissions, Source, Standing, Zone, ZoneRefusal, class_scope,
};

/// How a zone fared.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ZoneOutcome {
    pub(crate) standing: Standing,
    /// An equal Zone of another cluster holds the origin, for both.
    pub(crate) is_twin: bool,
    /// Another zone that holds the origin, and why.
    pub(crate) conflict: Option<(Rank, Reason)>,
    /// The zone that delegates to this one.
    pub(crate) parent: Option<ParentZone>,
    /// A zone that this one lies in or refers to, and that does not permit it.
    pub(crate) refused_by: Option<Rank>,
    /// Refused although it refers to that zone by name.
    pub(crate) reference_refused: bool,
    /// The class that is to publish it and is not there.
    pub(crate) missing_class: Option<Box<str>>,
}

/// A zone that a zone or record belongs to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ParentZone {
    pub(crate) origin: Name,
    pub(crate) namespace: Arc<str>,
    pub(crate) name: Arc<str>,
}

impl ParentZone {
    pub(crate) fn of(zone: &Zone) -> ParentZone {
        let Rank { namespace, name, .. } = &zone.rank;
        ParentZone { origin: zone.origin.clone(), namespace: namespace.clone(), name: name.clone() }
    }
}

/// Where a Zone object stands: its own name, or its name below that of the zone it refers to.
pub(crate) fn standing(view: &View<'_>, object: &Object, spec: &ZoneSpec) -> Standing {
    let mut path = vec![spec.domain_name.as_str()];
    let mut seen = BTreeSet::from([key_of(object)]);
    let mut here = (object, spec);
    while let Some(reference) = here.1.zone_ref.as_ref().filter(|_| !here.1.domain_name.ends_with('.')) {
        let parent = referenced(view, here.0, reference);
        let Some((parent, parent_spec)) = parent.and_then(|(_, parent)| Some((parent, zone_spec(parent)?)))
        else {
            return Standing::ParentMissing(reference_text(here.0, reference));
        };
        if !seen.insert(key_of(parent)) {
            return Standing::Cycle(seen.into_iter().collect());
        }
        path.push(&parent_spec.domain_name);
        here = (parent, parent_spec);
    }
    let named = path.iter().rev().try_fold(Name::root(), |origin, part| Name::parse_relative(part, &origin));
    named.map_or_else(Standing::BadName, Standing::At)
}

fn key_of(object: &Object) -> String {
    format!("{}/{}", object.meta.namespace, object.meta.name)
}

fn zone_spec(object: &Object) -> Option<&ZoneSpec> {
    match &object.spec {
        Spec::Zone(spec) => Some(spec),
        _ => None,
    }
}

/// The Zone object that a reference means; its namespace defaults to the referrer's.
pub(crate) fn referenced<'a>(
    view: &View<'a>,
    from: &Object,
    reference: &ZoneRef,
) -> Option<(Id, &'a Object)> {
    let namespace = reference.namespace.as_deref().unwrap_or(&from.meta.namespace);
    view.get(Kind::Zone, namespace, &reference.name)
}

pub(crate) fn reference_text(from: &Object, reference: &ZoneRef) -> String {
    format!("{}/{}", reference.namespace.as_deref().unwrap_or(&from.meta.namespace), reference.name)
}

/// The candidate that a Zone object puts up for the origin at which it stands.
pub(crate) fn candidate(
    view: &View<'_>,
    id: Id,
    object: &Object,
    spec: &ZoneSpec,
    origin: &Name,
) -> Option<Candidate> {
    let zone = Zone {
        origin: origin.clone(),
        source: Source::Object(id),
        rank: Rank::of(view.cluster, object),
        scope: class_scope(spec.dns_class_ref.as_ref().map(|class| &*class.name)),
        ttl: Some(spec.ttl),
        permissions: Some(Permissions::new(&object.meta.namespace, &spec.delegations, origin)),
    };
    let published = match object.published.as_deref() {
        Some(Published::Serial(serial)) => Some(*serial),
        _ => None,
    };
    Some(Candidate::of_object(zone, Authority::of_object(spec, origin, published).ok()?))
}

/// The candidate of a Zone of which no valid version is known: nothing in it is answered, and nothing denied.
pub(crate) fn broken(view: &View<'_>, id: Id, sketch: &Object, spec: &ZoneSpec, origin: &Name) -> Candidate {
    let reason = format!("Zone {} is invalid, and no valid version of it is known", key_of(sketch));
    // Where there is no such class, no view would answer.
    let class = spec.dns_class_ref.as_ref().filter(|class| view.class(&class.name).is_some());
    let zone = Zone {
        origin: origin.clone(),
        source: Source::Object(id),
        rank: Rank::of(view.cluster, sketch),
        scope: class_scope(class.map(|class| &*class.name)),
        ttl: None,
        permissions: None,
    };
    Candidate::broken(zone, reason)
}

/// Why a Zone object may not be served at the origin that it names, if it may not.
///
/// The zones around it are asked from the nearest outwards: one that delegates to it, or that is its own namespace's,
/// settles the matter; one that is younger does not bind it.
pub(crate) fn refusal(view: &View<'_>, id: Id, object: &Object, origin: &Name) -> Option<ZoneRefusal> {
    permit(view, id, object, origin).err()
}

/// Whether a Zone object may be served at the origin that it names. Tells whether the names below the origin were
/// looked at, which is not needed where a grant or a zone around it permits the Zone.
pub(crate) fn permit(
    view: &View<'_>,
    id: Id,
    object: &Object,
    origin: &Name,
) -> Result<NamesChecked, ZoneRefusal> {
    let rank = Rank::of(view.cluster, object);
    let around: Vec<&Candidate> = match origin.parent() {
        Some(above) => view.holders_around(&above).collect(),
        None => Vec::new(),
    };
    let permits = |zone: &Zone| {
        zone.permissions.as_ref().is_some_and(|allow| allow.allow_zone(&object.meta.namespace, origin))
    };
    let permitting = around.iter().map(|one| &*one.zone).find(|zone| permits(zone));
    match view.tenancy(origin).grant(view.claimant(object), permitting, origin) {
        Err(reason) => return Err(ZoneRefusal::NotGranted(reason)),
        Ok(true) => return Ok(NamesChecked(false)),
        Ok(false) => {}
    }
    for candidate in &around {
        let zone = &candidate.zone;
        match &zone.source {
            Source::Object(_) if permits(zone) || zone.rank.namespace == rank.namespace => {
                return Ok(NamesChecked(false));
            }
            Source::Object(_) if view.is_served_longer(&rank, origin, zone) => {}
            Source::Object(_) => return Err(ZoneRefusal::NotDelegated(zone.rank.clone())),
            Source::File(..) if has_name_in_file(candidate, origin) => {
                return Err(ZoneRefusal::NameInFile(zone.rank.clone()));
            }
            _ => {}
        }
    }
    match view.takes_names_away(id, &rank, origin) {
        true => Err(ZoneRefusal::NameHeld),
        false => Ok(NamesChecked(true)),
    }
}

/// Whether the names below an origin were looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NamesChecked(pub(crate) bool);

/// Whether a zone file has records of its own at a name, which it does not delegate.
fn has_name_in_file(file: &Candidate, name: &Name) -> bool {
    let sets = file.base.as_ref().map(|base| base.sets_at(name.key())).unwrap_or_default();
    !sets.is_empty() && !sets.iter().any(|set| set.rtype == Rtype::NS)
}

pub(crate) fn evaluate(view: &View<'_>, id: Id, object: &Object, spec: &ZoneSpec) -> Output {
    let mut outcome = ZoneOutcome {
        standing: Standing::ParentMissing(String::new()),
        is_twin: false,
        conflict: None,
        parent: None,
        refused_by: None,
        reference_refused: false,
        missing_class: missing_class(view, spec),
    };
    if let Some((standing, holder)) = view.standing(id) {
        outcome.standing = standing.clone();
        outcome.is_twin = holder.is_some_and(|holder| view.is_held_by_twin(id, holder));
        let other = holder.filter(|holder| holder.zone.source != Source::Object(id) && !outcome.is_twin);
        outcome.conflict = other.map(|holder| (holder.zone.rank.clone(), view.reason_of_origin(id, holder)));
        if let (Standing::At(origin), None) = (standing, other) {
            find_parent(view, object, spec, origin, &mut outcome);
        }
    }
    Output::new(Outcome::Zone(Box::new(outcome)))
}

fn missing_class(view: &View<'_>, spec: &ZoneSpec) -> Option<Box<str>> {
    let class = spec.dns_class_ref.as_ref()?;
    view.class(&class.name).is_none().then(|| (*class.name).into())
}

/// By reference, or the longest zone around it that permits it.
fn find_parent(view: &View<'_>, object: &Object, spec: &ZoneSpec, origin: &Name, outcome: &mut ZoneOutcome) {
    let permits = |zone: &Zone| match &zone.permissions {
        Some(permissions) => permissions.allow_zone(&object.meta.namespace, origin),
        None => false,
    };
    let Some(above) = origin.parent() else { return };
    let own_cluster = |zone: &&Arc<Zone>| zone.permissions.is_some() && view.is_own(zone);
    let mut around: Vec<_> = view.zones_around(&above).filter(own_cluster).collect();
    if let Some(reference) = &spec.zone_ref {
        let parent = referenced(view, object, reference).map(|(id, _)| id);
        let parent = parent.and_then(|id| Some((id, view.standing(id)?.1?)));
        around.retain(|zone| {
            parent.is_some_and(|(id, holder)| {
                let is_it = zone.source == Source::Object(id) || view.is_held_by_twin(id, holder);
                is_it && holder.zone.source == zone.source
            })
        });
        outcome.reference_refused = !around.iter().any(|zone| permits(zone));
    }
    match around.iter().find(|zone| permits(zone)) {
        Some(parent) => outcome.parent = Some(ParentZone::of(parent)),
        None => outcome.refused_by = around.first().map(|zone| zone.rank.clone()),
    }
}
