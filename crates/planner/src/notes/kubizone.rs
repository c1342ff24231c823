//! The words for the kubizone family (document 003).

use api::foreign::DOMAINS_ANNOTATION;
use api::{Kind, Spec};
use dns::{Ambiguity, Name, Rdata, Rtype};

use super::dnsclass::handed_over;
use super::fate::{Fate, failed, foreign};
use super::tenancy::not_granted;
use crate::backing::Backing;
use crate::front::record::{RecordOutcome, RecordState};
use crate::front::zone::ZoneOutcome;
use crate::held_names::held_below;
use crate::holders::Tenure;
use crate::input::ObjectRef;
use crate::note::Note;
use crate::planner::Planner;
use crate::rank::Rank;
use crate::snapshot::{Entry, Id};
use crate::zone_table::{Standing, ZoneRefusal};

pub(crate) fn zone(planner: &Planner, entry: &Entry, outcome: &ZoneOutcome) -> Vec<Note> {
    match &outcome.standing {
        Standing::ParentMissing(parent) => {
            return vec![zone_missing(planner, entry, parent)];
        }
        Standing::Cycle(zones) => {
            let message = format!(
                "spec.zoneRef leads in a circle over {}; one of them needs an absolute name",
                zones.join(", ")
            );
            return Note::stalled("ZoneRefCycle", message);
        }
        Standing::BadName(error) => return Note::stalled("InvalidName", error.to_string()),
        Standing::Refused(origin, refusal) => return refused_zone(planner, entry, origin, refusal),
        Standing::At(_) => {}
    }
    if let Some((holder, reason)) = &outcome.conflict {
        let kind = holder.kind.map_or("zone file", Kind::kind);
        let message =
            format!("the origin belongs to {kind} {holder}, which {reason}; this one adopts nothing");
        return Note::stalled("NameConflict", message);
    }
    if outcome.reference_refused {
        return refused(outcome);
    }
    let mut notes = vec![served(planner, entry, outcome)];
    notes.extend(delegated(outcome));
    notes.extend(ambiguous_zone(entry, outcome));
    notes
}

/// Name servers and an administrator with a dot and without the final one, which the zone's name is added to.
fn ambiguous_zone(entry: &Entry, outcome: &ZoneOutcome) -> Option<Note> {
    let (Some(Spec::Zone(spec)), Standing::At(origin)) =
        (entry.object.as_ref().map(|object| &object.spec), &outcome.standing)
    else {
        return None;
    };
    let servers = spec.name_servers.iter().enumerate();
    let servers = servers.map(|(index, name)| (format!("spec.nameServers[{index}]"), name));
    let admin = spec.admin.iter().filter(|admin| !admin.contains('@'));
    let admin = admin.map(|admin| ("spec.admin".to_owned(), admin));
    let mut names = servers.chain(admin);
    names.find_map(|(field, name)| Some(ambiguous(&field, &Rdata::ambiguity(Rtype::NS, name, origin)?)))
}

/// What a Record's data says that was probably not meant.
fn ambiguous_data(planner: &Planner, id: Id, outcome: &RecordOutcome) -> Option<Note> {
    let Some(Spec::Record(spec)) = planner.snapshot.object(id).map(|object| &object.spec) else {
        return None;
    };
    let origin = match &spec.zone_ref {
        Some(_) => outcome.parent.as_ref()?.origin.clone(),
        None => Name::root(),
    };
    if let Some(ambiguity) = Ambiguity::of_owner(&spec.domain_name, &origin) {
        return Some(ambiguous("spec.domainName", &ambiguity));
    }
    let ambiguity = Rdata::ambiguity(spec.r#type.parse().ok()?, &spec.rdata, &origin)?;
    Some(ambiguous("spec.rdata", &ambiguity))
}

fn ambiguous(field: &str, ambiguity: &Ambiguity) -> Note {
    let reason = match ambiguity {
        Ambiguity::Split { .. } => "TextSplit",
        Ambiguity::Relative { .. } => "RelativeTarget",
    };
    Note::lacking("Unambiguous", reason, format!("{field}: {ambiguity}"))
}

/// What a Zone is told that is not served.
fn refused_zone(planner: &Planner, entry: &Entry, named: &Name, refusal: &ZoneRefusal) -> Vec<Note> {
    let (origin, namespace) = (named.undotted(), &entry.key.reference.namespace);
    match refusal {
        ZoneRefusal::NotDelegated(outer) => Note::stalled(
            "NotDelegated",
            format!(
                "{origin} lies in Zone {outer}, whose delegations do not allow this sub-zone from namespace \
                 {namespace}; this Zone is not served and adopts nothing: add {origin} to the `zones` of a delegation \
                 there, or grant the domain to the namespace by the annotation {DOMAINS_ANNOTATION}"
            ),
        ),
        ZoneRefusal::NotGranted(reason) => {
            let message = not_granted(&origin, reason);
            Note::stalled(
                "DomainNotGranted",
                format!("{message}; this Zone is not served and adopts nothing"),
            )
        }
        ZoneRefusal::NameInFile(file) => Note::stalled(
            "NameConflict",
            format!(
                "{origin} already has records in the zone file {file}; this Zone is not served and adopts nothing: \
                 remove the records there, delegate {origin} by NS records, or grant the domain to namespace \
                 {namespace} by the annotation {DOMAINS_ANNOTATION}"
            ),
        ),
        ZoneRefusal::NameHeld => Note::stalled("NameConflict", takes_names(planner, entry, named)),
    }
}

/// Whose names a Zone would take away.
fn takes_names(planner: &Planner, entry: &Entry, origin: &Name) -> String {
    let zone = entry.object.as_ref().map(|object| Rank::of(entry.key.cluster, object));
    let held = zone.as_ref().and_then(|zone| held_below(&planner.snapshot, &planner.table, zone, origin));
    let held = match held {
        Some((first, name)) => {
            // Of several objects that want the name, the one that is answered has it.
            let holder = planner.answered_for(&name, &entry.key.reference.namespace).unwrap_or(first);
            let kind = holder.kind.map_or("zone file", Kind::kind);
            format!("{} already belongs to {kind} {holder}", name.undotted())
        }
        None => "names in it already belong to objects of other namespaces".to_owned(),
    };
    let (origin, namespace) = (origin.undotted(), &entry.key.reference.namespace);
    format!(
        "{held}; this Zone is not served and adopts nothing, so that no name changes hands: a platform administrator \
         can grant {origin} to namespace {namespace} by the annotation {DOMAINS_ANNOTATION} on the Namespace"
    )
}

impl Planner {
    /// The object outside a namespace that a name is answered for, in whichever zone.
    fn answered_for(&self, name: &Name, namespace: &str) -> Option<Rank> {
        let zones = name.suffix_keys().filter_map(|key| self.zone_numbers.get(key));
        let nodes = zones.filter_map(|zone| self.zones[*zone as usize].nodes.get(name));
        let kept = nodes.flat_map(|node| node.owners()).filter(|kept| kept.tenure == Tenure::Holds);
        let owners = kept.filter_map(|kept| Some(self.evaluated(kept.owner?)?.rank.clone()));
        owners.filter(|rank| *rank.namespace != *namespace).min()
    }
}

fn refused(outcome: &ZoneOutcome) -> Vec<Note> {
    let Some(by) = &outcome.refused_by else {
        let message = "the Zone that spec.zoneRef means does not hold its origin, so it delegates nothing";
        return vec![Note::waiting("ZoneConflicted", message)];
    };
    let message = format!("the delegations of Zone {by} do not allow this sub-zone from this namespace");
    Note::stalled("NotDelegated", message)
}

fn served(planner: &Planner, entry: &Entry, outcome: &ZoneOutcome) -> Note {
    if let Some(class) = &outcome.missing_class {
        let class = (Kind::DNSClass, "", &**class);
        let message = planner.absent(entry.key.cluster, class, " to publish the zone; create it");
        return Note::waiting("DNSClassNotFound", message);
    }
    let class = match entry.object.as_ref().map(|object| &object.spec) {
        Some(Spec::Zone(spec)) => spec.dns_class_ref.as_ref().map(|class| &*class.name),
        _ => None,
    };
    match class.and_then(|class| Some((class, planner.holder_of_view(entry.key.cluster, class)?))) {
        None => Note::ready("Served", "Zone is served"),
        Some((class, holder)) => {
            let message = format!("DNSClass {class} has no view: DNSClass {holder} answers in its place");
            Note::waiting("DNSClassConflicted", message)
        }
    }
}

fn delegated(outcome: &ZoneOutcome) -> Option<Note> {
    if let Some(parent) = &outcome.parent {
        let message = format!("Zone {}/{} delegates to this one", parent.namespace, parent.name);
        return Some(Note::fact("Delegated", "Delegated", message));
    }
    let refused = outcome.refused_by.as_ref()?;
    let message = format!("Zone {refused} does not allow this sub-zone; it is served, but not delegated");
    Some(Note::lacking("Delegated", "NotDelegated", message))
}

pub(crate) fn record(planner: &Planner, id: Id, entry: &Entry, outcome: &RecordOutcome) -> Vec<Note> {
    let name = outcome.fqdn.as_ref().map(Name::undotted).unwrap_or_default();
    match &outcome.state {
        RecordState::Adopted => match planner.conflict(id) {
            Some(message) => Note::stalled("NameConflict", message),
            None => {
                let mut notes = adopted(planner, id, entry, outcome);
                notes.extend(ambiguous_data(planner, id, outcome));
                notes
            }
        },
        RecordState::Occluded(zone) => {
            let message =
                format!("{name} lies in zone {zone} too, which answers for it and has not adopted it");
            vec![Note::waiting("Occluded", message)]
        }
        RecordState::ZoneMissing(zone) => {
            vec![zone_missing(planner, entry, zone)]
        }
        RecordState::ZoneConflicted(zone) => {
            let message = format!("Zone {zone} does not hold its origin, so it adopts nothing");
            vec![Note::waiting("ZoneConflicted", message)]
        }
        RecordState::NoZone => {
            let around = outcome.fqdn.as_ref().and_then(|name| planner.unanswered_name(name));
            vec![match around {
                Some(message) => Note::waiting("ZoneUnavailable", message),
                None => Note::waiting("ZoneNotFound", format!("no Zone holds {name}; create one")),
            }]
        }
        RecordState::NotDelegated(zone) => {
            let rtype = record_type(planner, id);
            let message = format!(
                "Zone {zone} does not allow {name} {rtype} from this namespace; add it to its delegations"
            );
            Note::stalled("NotDelegated", message)
        }
        RecordState::NotGranted(reason) => Note::stalled("DomainNotGranted", not_granted(&name, reason)),
        RecordState::OutOfZone(origin) => {
            let message =
                format!("{name} does not lie in {}, the zone that spec.zoneRef means", origin.undotted());
            Note::stalled("OutOfZone", message)
        }
        RecordState::ApexAlias => {
            let message = format!("{name} is the zone itself, and a CNAME stands beside no other data");
            Note::stalled("InvalidData", message)
        }
        RecordState::BadName(error) => Note::stalled("InvalidName", error.to_string()),
        RecordState::BadData(error) => Note::stalled("InvalidData", error.to_string()),
    }
}

/// What is said where the Zone that spec.zoneRef means is missing, invalid or not served.
fn zone_missing(planner: &Planner, entry: &Entry, zone: &str) -> Note {
    let (namespace, name) = zone.split_once('/').unwrap_or(("", zone));
    let reference = ObjectRef { kind: Kind::Zone, namespace: namespace.into(), name: name.into() };
    let message = match planner.object(entry.key.cluster, &reference) {
        Some(_) => format!("Zone {zone}, to which spec.zoneRef refers, is not served; its status says why"),
        None => {
            let advice = ", to which spec.zoneRef refers; create it";
            planner.absent(entry.key.cluster, (Kind::Zone, namespace, name), advice)
        }
    };
    Note::waiting("ZoneNotFound", message)
}

fn record_type(planner: &Planner, id: Id) -> &str {
    match planner.snapshot.object(id).map(|object| &object.spec) {
        Some(Spec::Record(spec)) => &spec.r#type,
        _ => "",
    }
}

fn adopted(planner: &Planner, id: Id, entry: &Entry, outcome: &RecordOutcome) -> Vec<Note> {
    let parent = outcome.parent.as_ref();
    let zone = parent.map(|zone| format!("{}/{}", zone.namespace, zone.name)).unwrap_or_default();
    match &outcome.class {
        None => vec![Note::ready("Adopted", format!("adopted by Zone {zone}"))],
        Some((_, Some(Backing::ExternalDNS(_)))) => handed_over(planner, id),
        Some((class, _)) => delivered(planner, id, entry, &zone, class),
    }
}

/// What the provider of the zone's class says decides.
fn delivered(planner: &Planner, id: Id, entry: &Entry, zone: &str, class: &str) -> Vec<Note> {
    let claim = planner.evaluated(id).and_then(|one| one.output.claims.first());
    let Some(claim) = claim else { return Vec::new() };
    let pending = || {
        let message = format!("adopted by Zone {zone}; DNSClass {class} has not confirmed it yet");
        Note::unknown("Ready", "Pending", message)
    };
    match planner.fate(claim) {
        Fate::Stands => {
            vec![Note::ready("Adopted", format!("adopted by Zone {zone} and stands at DNSClass {class}"))]
        }
        Fate::Failed(trouble) => failed(planner, class, trouble),
        Fate::Foreign(owner, _) => Note::stalled("NameConflict", foreign(planner, class, claim, owner)),
        Fate::Pending => vec![pending()],
        Fate::Untold => vec![planner.published_delivery(entry, "Ready").unwrap_or_else(pending)],
    }
}
