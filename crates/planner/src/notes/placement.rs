//! The words for Placements: whether they are answered, how their regions are, and how their class steers.

use api::Kind;

use super::dnsclass::handed_over;
use super::fate::{Fate, failed, foreign, status};
use super::steering::steering;
use super::tenancy::not_granted;
use crate::backing::Backing;
use crate::front::placement::{Lack, PlacementOutcome, PlacementState, Region};
use crate::note::Note;
use crate::planner::Planner;
use crate::probe::TargetState;
use crate::region_health::RegionState;
use crate::snapshot::{Entry, Id};

pub(crate) fn placement(planner: &Planner, id: Id, entry: &Entry, outcome: &PlacementOutcome) -> Vec<Note> {
    let mut notes = match &outcome.state {
        PlacementState::Claimed => claimed(planner, id, entry, outcome),
        state => refused(planner, entry, outcome, state),
    };
    if outcome.state == PlacementState::Claimed {
        notes.push(healthy(planner, id, entry, outcome));
        let backing = |_: &str| outcome.class.as_ref().and_then(|(_, backing)| backing.clone());
        notes.extend(planner.lost(id).is_empty().then(|| steering(planner, id, &backing)));
    }
    notes.extend(regions(outcome, is_record_tree(planner, id, outcome)));
    notes.extend(witness(planner, entry, outcome));
    notes
}

fn name_of(outcome: &PlacementOutcome) -> String {
    outcome.name.as_ref().map(dns::Name::undotted).unwrap_or_default()
}

fn class_of(outcome: &PlacementOutcome) -> &str {
    outcome.class.as_ref().map_or("", |(class, _)| class)
}

fn refused(
    planner: &Planner,
    entry: &Entry,
    outcome: &PlacementOutcome,
    state: &PlacementState,
) -> Vec<Note> {
    let name = name_of(outcome);
    match state {
        PlacementState::Claimed => Vec::new(),
        PlacementState::NoTargets => {
            let message = "no region has an address or a host name yet; the condition Regions says why";
            vec![Note::waiting("NoAddress", message)]
        }
        PlacementState::NoClass(class) => vec![no_class(planner, entry, class)],
        PlacementState::OutsideClass(zones) => Note::stalled(
            "InvalidConfiguration",
            format!(
                "{name} lies in none of the domains that its DNSClass may write, which are {}; add one to \
                 its spec.zones or choose another class",
                zones.join(", ")
            ),
        ),
        PlacementState::NoZone => {
            vec![Note::waiting("NoZone", format!("{name} lies in no zone; add a Zone or a zone file for it"))]
        }
        PlacementState::NotDelegated(zone, rtype) => {
            let message = format!(
                "Zone {zone} does not allow {name} {rtype} from this namespace; add it to its delegations"
            );
            Note::stalled("NotDelegated", message)
        }
        PlacementState::NotGranted(reason) => Note::stalled("DomainNotGranted", not_granted(&name, reason)),
        PlacementState::OtherView(zone) => Note::stalled(
            "InvalidConfiguration",
            format!("{name} lies in Zone {zone}, which another DNSClass publishes; choose that class"),
        ),
        PlacementState::ApexAlias => Note::stalled(
            "ValidationFailed",
            format!("{name} is the zone itself, where a host name cannot be answered; use addresses"),
        ),
    }
}

fn no_class(planner: &Planner, entry: &Entry, class: &str) -> Note {
    let message = planner.absent(entry.key.cluster, (Kind::DNSClass, "", class), "; create it");
    Note::waiting("DNSClassNotFound", message)
}

fn claimed(planner: &Planner, id: Id, entry: &Entry, outcome: &PlacementOutcome) -> Vec<Note> {
    if let Some(message) = planner.conflict(id) {
        return Note::stalled("NameConflict", message);
    }
    let class = class_of(outcome);
    match &outcome.class {
        None => vec![Note::ready("Answered", "answered by our own servers")],
        Some((_, Some(Backing::Embedded))) => vec![answered(planner, entry, class)],
        Some((_, Some(Backing::ExternalDNS(_)))) => handed_over(planner, id),
        Some((_, Some(_))) => provided(planner, id, entry, outcome),
        Some((_, None)) => vec![no_class(planner, entry, class)],
    }
}

fn answered(planner: &Planner, entry: &Entry, class: &str) -> Note {
    match planner.holder_of_view(entry.key.cluster, class) {
        None => Note::ready("Answered", format!("answered by our own server, class {class}")),
        Some(holder) => {
            let message = format!("DNSClass {class} has no view: DNSClass {holder} answers in its place");
            Note::waiting("DNSClassConflicted", message)
        }
    }
}

/// How the worst of an object's record sets fares at its provider.
fn provided(planner: &Planner, id: Id, entry: &Entry, outcome: &PlacementOutcome) -> Vec<Note> {
    let class = class_of(outcome);
    let claims = planner.evaluated(id).map(|one| &one.output.claims[..]).unwrap_or_default();
    let fates = claims.iter().map(|claim| (claim, planner.fate(claim)));
    let worst = fates.max_by_key(|(_, fate)| severity(fate));
    let Some((claim, fate)) = worst else { return Vec::new() };
    match fate {
        Fate::Stands => vec![Note::ready("RecordCreated", format!("stands at DNSClass {class}"))],
        Fate::Failed(trouble) => failed(planner, class, trouble),
        Fate::Foreign(owner, _) => Note::stalled("NameConflict", foreign(planner, class, claim, owner)),
        Fate::Pending => vec![pending(class)],
        Fate::Untold => {
            let published = planner.snapshot.published_placement(&entry.key);
            // What was confirmed for one region says nothing of another.
            let published = published.filter(|one| one.status.active.as_deref() == outcome.active.as_deref());
            let again = published.and_then(|published| published.ready.as_ref());
            let again = again.and_then(|ready| planner.published_note(entry, ready, "Ready"));
            vec![again.unwrap_or_else(|| pending(class))]
        }
    }
}

fn severity(fate: &Fate<'_>) -> u8 {
    match fate {
        Fate::Stands => 0,
        Fate::Untold => 1,
        Fate::Pending => 2,
        Fate::Failed(_) => 3,
        Fate::Foreign(..) => 4,
    }
}

fn pending(class: &str) -> Note {
    Note::unknown("Ready", "Pending", format!("DNSClass {class} has not confirmed it yet"))
}

/// How the regions are.
fn healthy(planner: &Planner, id: Id, entry: &Entry, outcome: &PlacementOutcome) -> Note {
    if outcome.probes.is_empty() {
        let message = "nothing is probed, so that a dead region is not noticed; add spec.healthCheck";
        return Note::unknown("Healthy", "NotProbed", message);
    }
    let states = planner.told_regions(id, entry, outcome);
    let is = |state: TargetState| move |one: &&RegionState| one.state == state && !one.probes.is_empty();
    let down: Vec<String> = states.iter().filter(is(TargetState::Down)).map(down_text).collect();
    let (ups, unknown) = (
        states.iter().filter(is(TargetState::Up)).count(),
        states.iter().filter(is(TargetState::Unknown)).count(),
    );
    match (down.len(), ups, unknown) {
        (0, _, 0) => Note::fact("Healthy", "Up", "all regions are up"),
        (0, _, _) => {
            Note::unknown("Healthy", "Pending", "not all regions have been probed often enough to tell")
        }
        (_, 0, 0) => Note::lacking(
            "Healthy",
            "AllDown",
            format!("all regions are down, and the name is answered all the same; {}", down.join("; ")),
        ),
        _ => Note::lacking("Healthy", "RegionDown", down.join("; ")),
    }
}

fn down_text(state: &RegionState) -> String {
    format!("{} is down ({})", state.name, state.message)
}

/// What is amiss with the regions themselves.
fn regions(outcome: &PlacementOutcome, is_tree: bool) -> Option<Note> {
    let lacks = outcome.regions.iter().filter_map(|region| Some((region, region.lack.as_ref()?)));
    let lacks: Vec<String> = lacks.map(|(region, lack)| lack_text(region, lack)).collect();
    if outcome.is_frozen {
        let message = format!("what was answered last still is: {}", lacks.join("; "));
        return Some(Note::lacking("Regions", "Frozen", message));
    }
    let rejected: Vec<String> = outcome
        .regions
        .iter()
        .filter_map(|region| Some(format!("region {}: {}", region.name, region.rejected.as_ref()?)))
        .collect();
    if !rejected.is_empty() {
        return Some(Note::lacking("Regions", "InvalidAddress", rejected.join("; ")));
    }
    if !lacks.is_empty() {
        return Some(Note::lacking("Regions", "NoAddress", lacks.join("; ")));
    }
    mixed(outcome).or_else(|| families(outcome, is_tree))
}

fn lack_text(region: &Region, lack: &Lack) -> String {
    match lack {
        Lack::NotFound(what) => format!("region {}: there is no {what}", region.name),
        Lack::NoAddress(what) => format!("region {}: {what} has no address yet", region.name),
    }
}

fn mixed(outcome: &PlacementOutcome) -> Option<Note> {
    let mixed = outcome.regions.iter().filter(|region| region.is_mixed_out);
    let mixed: Vec<&str> = mixed.map(|region| &*region.name).collect();
    let message = format!(
        "addresses and host names cannot be answered together, so that {} is left out; use one of the two \
         in all regions",
        mixed.join(", ")
    );
    (!mixed.is_empty()).then(|| Note::lacking("Regions", "MixedTargets", message))
}

/// Regions of which only some have IPv6 or IPv4 addresses: who asks for those is sent to these.
fn families(outcome: &PlacementOutcome, is_tree: bool) -> Option<Note> {
    let mut line: Vec<&Region> = outcome.line.iter().filter_map(|name| outcome.region(name)).collect();
    // What only drained ones have is not answered.
    if line.iter().any(|region| region.weight > 0) {
        line.retain(|region| region.weight > 0);
    }
    let has = |region: &Region, rtype| region.targets.iter().any(|(target, _)| target.rtype() == rtype);
    let without = |rtype| -> Vec<&str> {
        line.iter().filter(|region| !has(region, rtype)).map(|region| &*region.name).collect()
    };
    for (rtype, family) in [(dns::Rtype::A, "IPv4"), (dns::Rtype::AAAA, "IPv6")] {
        let without = without(rtype);
        if !without.is_empty() && without.len() < line.len() {
            let elsewhere = match is_tree {
                true => "so that who asks for one and is sent there gets none",
                false => "so that who asks for one is sent elsewhere",
            };
            let message = format!("{} has no {family} address, {elsewhere}", without.join(", "));
            return Some(Note::lacking("Regions", "FamiliesDiffer", message));
        }
    }
    None
}

/// Whether an ExternalDNS is given a record tree, which all types of a name share.
fn is_record_tree(planner: &Planner, id: Id, outcome: &PlacementOutcome) -> bool {
    let claims = planner.evaluated(id).map(|one| &one.output.claims[..]).unwrap_or_default();
    let is_external = matches!(outcome.class, Some((_, Some(Backing::ExternalDNS(_)))));
    is_external && claims.iter().any(|claim| planner.has_record_tree(id, claim))
}

/// What the witness says, and that nothing moves without it.
fn witness(planner: &Planner, entry: &Entry, outcome: &PlacementOutcome) -> Option<Note> {
    let Some(direction) = planner.snapshot.directions.get(&entry.key) else {
        return witness_again(planner, entry);
    };
    if let Some(trouble) = &direction.witness_trouble {
        let message = format!("{trouble}; everything stays as it is");
        return Some(Note::lacking("Witness", "Unreachable", message));
    }
    let lease = direction.lease.as_ref()?;
    Some(match &lease.holder {
        Some(holder) if outcome.region(holder).is_none() => {
            let message = format!("{holder} holds the lease and is none of spec.regions");
            Note::lacking("Witness", "UnknownHolder", message)
        }
        Some(holder) => Note::fact(
            "Witness",
            "Held",
            format!("{holder} holds the lease, generation {}", lease.generation),
        ),
        None => Note::unknown("Witness", "Free", "nobody holds the lease; everything stays as it is"),
    })
}

/// The reasons of the condition `Witness`.
const WITNESS: [&str; 4] = ["Held", "Free", "Unreachable", "UnknownHolder"];

/// Until somebody directs it, what was last told of the witness.
fn witness_again(planner: &Planner, entry: &Entry) -> Option<Note> {
    let told = &planner.snapshot.published_placement(&entry.key)?.status;
    let current = Some(told).filter(|told| told.observed_generation == entry.generation())?;
    let said = current.conditions.iter().find(|condition| condition.r#type == "Witness")?;
    let reason = WITNESS.iter().find(|reason| **reason == said.reason)?;
    Some(Note::again("Witness", status(said.status), reason, &said.message))
}
