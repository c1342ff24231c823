//! The words for the kubizone family (document 003).

use api::Spec;

use super::dnsclass::handed_over;
use super::fate::{Fate, failed, foreign};
use crate::backing::Backing;
use crate::front::record::{RecordOutcome, RecordState};
use crate::front::zone::ZoneOutcome;
use crate::note::Note;
use crate::planner::Planner;
use crate::snapshot::{Entry, Id};
use crate::zone_table::Standing;

pub(crate) fn zone(planner: &Planner, entry: &Entry, outcome: &ZoneOutcome) -> Vec<Note> {
    match &outcome.standing {
        Standing::ParentMissing(parent) => {
            let message = format!("there is no Zone {parent}, to which spec.zoneRef refers; create it");
            return vec![Note::waiting("ZoneNotFound", message)];
        }
        Standing::Cycle(zones) => {
            let message = format!(
                "spec.zoneRef leads in a circle over {}; one of them needs an absolute name",
                zones.join(", ")
            );
            return Note::stalled("ZoneRefCycle", message);
        }
        Standing::BadName(error) => return Note::stalled("InvalidName", error.to_string()),
        Standing::At(_) => {}
    }
    if let Some(holder) = &outcome.conflict {
        let message = format!("the origin belongs to Zone {holder}, which is older; this one adopts nothing");
        return Note::stalled("NameConflict", message);
    }
    if outcome.reference_refused {
        return refused(outcome);
    }
    let mut notes = vec![served(planner, entry, outcome)];
    notes.extend(delegated(outcome));
    notes
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
        let message = format!("there is no DNSClass {class} to publish the zone; create it");
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
    let name = outcome.fqdn.as_ref().map(dns::Name::undotted).unwrap_or_default();
    match &outcome.state {
        RecordState::Adopted => match planner.conflict(id) {
            Some(message) => Note::stalled("NameConflict", message),
            None => adopted(planner, id, entry, outcome),
        },
        RecordState::Occluded(zone) => {
            let message =
                format!("{name} lies in zone {zone} too, which answers for it and has not adopted it");
            vec![Note::waiting("Occluded", message)]
        }
        RecordState::ZoneMissing(zone) => {
            vec![Note::waiting(
                "ZoneNotFound",
                format!("there is no served Zone {zone}, to which spec.zoneRef refers"),
            )]
        }
        RecordState::ZoneConflicted(zone) => {
            let message = format!("Zone {zone} does not hold its origin, so it adopts nothing");
            vec![Note::waiting("ZoneConflicted", message)]
        }
        RecordState::NoZone => {
            vec![Note::waiting("ZoneNotFound", format!("no Zone holds {name}; create one"))]
        }
        RecordState::NotDelegated(zone) => {
            let rtype = record_type(planner, id);
            let message = format!(
                "Zone {zone} does not allow {name} {rtype} from this namespace; add it to its delegations"
            );
            Note::stalled("NotDelegated", message)
        }
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
        Fate::Failed(trouble) => failed(class, trouble),
        Fate::Foreign(owner, _) => Note::stalled("NameConflict", foreign(class, claim, owner)),
        Fate::Pending => vec![pending()],
        Fate::Untold => vec![planner.published_delivery(entry, "Ready").unwrap_or_else(pending)],
    }
}
