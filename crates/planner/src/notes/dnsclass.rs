//! The words for the dnsclass family, as document 002 has them.

use api::{Kind, Published, PublishedClass};

use super::fate::{self, Fate, failed, foreign};
use super::looked_up::{looked_up, looked_up_again};
use super::published::published;
use super::tenancy::not_granted;
use crate::backing::Backing;
use crate::delivery::Told;
use crate::delivery::Written;
use crate::front::dns_record::{DnsRecordOutcome, DnsRecordState};
use crate::marks::{ADOPT, ALLOW_MASS_DELETE, ORPHAN, PROVIDER_SETTING};
use crate::memory::{Identity, Memory};
use crate::note::{ConditionStatus, Note};
use crate::planner::Planner;
use crate::snapshot::{Entry, Id};

pub(crate) fn class(planner: &Planner, entry: &Entry, backing: &Backing) -> Vec<Note> {
    match backing {
        Backing::Embedded => vec![embedded(planner, entry)],
        Backing::ExternalDNS(controller) => {
            let message = format!("DNSEndpoints are made for the ExternalDNS controller {controller}");
            vec![Note::ready("ServerHealthy", message)]
        }
        Backing::Provider { .. } | Backing::Webhook => {
            let mut notes = vec![health(planner, entry)];
            notes.extend(held(planner, entry));
            notes
        }
    }
}

fn embedded(planner: &Planner, entry: &Entry) -> Note {
    let Some(holder) = planner.views.conflicted.get(&entry.key) else {
        return Note::ready("ServerHealthy", "the embedded server answers from this class's view");
    };
    let message = format!(
        "DNSClass {holder} is older and answers at the shared address; set spec.embedded.clients or \
         spec.embedded.listen of one of the two"
    );
    Note::waiting("Conflicted", message)
}

fn health(planner: &Planner, entry: &Entry) -> Note {
    let told = planner.delivering.health.get(&entry.key.reference.name);
    match told.map(|health| &health.result) {
        Some(Ok(())) => Note::ready("ServerHealthy", "the server answers"),
        Some(Err((reason, message))) => {
            let server = planner.server_of(&entry.key.reference.name, reason);
            // Without what a request needs none is sent.
            let is_asked = matches!(&**reason, "AuthenticationFailed" | "ServerError" | "ServerUnreachable");
            let all_the_same = if is_asked { "; records are sent to it all the same" } else { "" };
            let message = format!("{server}{message}{all_the_same}");
            Note::waiting(fate::reason(reason), message)
        }
        None => planner
            .published_class(entry)
            .and_then(|class| health_again(planner, entry, class))
            .unwrap_or_else(|| Note::unknown("Ready", "Pending", "the server has not been asked yet")),
    }
}

/// The health as an earlier process wrote it.
fn health_again(planner: &Planner, entry: &Entry, class: &PublishedClass) -> Option<Note> {
    let ready = class.ready.as_ref().filter(|ready| &*ready.reason != "Pending")?;
    match &*ready.reason {
        "ServerHealthy" if ready.observed_generation == entry.generation() => {
            Some(Note::ready("ServerHealthy", &*ready.message))
        }
        _ => planner.published_note(entry, ready, "Ready"),
    }
}

fn held(planner: &Planner, entry: &Entry) -> Option<Note> {
    let (count, hash) = planner.delivering.held.get(&entry.key.reference.name)?;
    let message = format!(
        "{count} deletions wait, since they are a large part of what is ours there; set the annotation \
         {ALLOW_MASS_DELETE} to {hash} to let them happen"
    );
    Some(Note::alarm("MassDeleteHeld", "MassDeleteHeld", message))
}

impl Planner {
    /// The status that a DNSClass has in the cluster; statuses in files are not read.
    pub(crate) fn published_class<'a>(&self, entry: &'a Entry) -> Option<&'a PublishedClass> {
        match entry.object.as_ref()?.published.as_deref()? {
            Published::Class(class) if self.snapshot.reads_statuses => Some(class),
            _ => None,
        }
    }
}

pub(crate) fn record(planner: &Planner, id: Id, entry: &Entry, outcome: &DnsRecordOutcome) -> Vec<Note> {
    let class = outcome.identity.as_ref().map(|identity| identity.class.to_string()).unwrap_or_default();
    let name = outcome.fqdn.as_ref().map(dns::Name::undotted).unwrap_or_default();
    let mut notes = match &outcome.state {
        DnsRecordState::Claimed => return claimed(planner, id, entry, outcome, &class),
        DnsRecordState::Deleting => return deleting(planner, id, outcome),
        DnsRecordState::NoClass => {
            let message = planner.absent(entry.key.cluster, (Kind::DNSClass, "", &class), "; create it");
            vec![Note::waiting("DNSClassNotFound", message)]
        }
        DnsRecordState::OutsideClass(zones) => Note::stalled(
            "InvalidConfiguration",
            format!(
                "{name} lies in none of the domains that DNSClass {class} may write, which are {}; \
                 add one to its spec.zones or choose another class",
                zones.join(", ")
            ),
        ),
        DnsRecordState::UnknownSetting(setting) => Note::stalled(
            "InvalidConfiguration",
            format!(
                "DNSClass {class} hands on no settings: remove the annotation {PROVIDER_SETTING}{setting}"
            ),
        ),
        DnsRecordState::NotDelegated(zone) => {
            let rtype = outcome.identity.as_ref().map(|one| one.rtype.to_string()).unwrap_or_default();
            let message = format!(
                "Zone {zone} does not allow {name} {rtype} from this namespace; add it to its delegations"
            );
            Note::stalled("NotDelegated", message)
        }
        DnsRecordState::NotGranted(reason) => Note::stalled("DomainNotGranted", not_granted(&name, reason)),
        DnsRecordState::OtherView(zone) => Note::stalled(
            "InvalidConfiguration",
            format!("{name} lies in Zone {zone}, which another DNSClass publishes; choose that class"),
        ),
        DnsRecordState::ApexAlias => Note::stalled(
            "ValidationFailed",
            format!("{name} is the zone itself, and a CNAME stands beside no other data"),
        ),
        DnsRecordState::NotCarried(rtype) => Note::stalled(
            "InvalidConfiguration",
            format!("ExternalDNS, which DNSClass {class} is, has no {rtype} records; choose another class"),
        ),
        DnsRecordState::BadData(error) => Note::stalled("ValidationFailed", error.to_string()),
    };
    if let Some(kept) = kept(planner, id, outcome) {
        notes.iter_mut().for_each(|note| note.message += &kept);
    }
    notes
}

/// What stays where it is although the record is refused as it is now.
fn kept(planner: &Planner, id: Id, outcome: &DnsRecordOutcome) -> Option<String> {
    let memory = planner.delivering.memory.get(&id)?;
    let kept = memory.handed().filter(|one| planner.is_kept(id, outcome, one));
    let kept: Vec<String> = kept.map(identity_text).collect();
    (!kept.is_empty()).then(|| format!("; {} stays in place", kept.join(", ")))
}

fn identity_text(identity: &Identity) -> String {
    format!("{} {} at DNSClass {}", identity.name.undotted(), identity.rtype, identity.class)
}

fn claimed(planner: &Planner, id: Id, entry: &Entry, outcome: &DnsRecordOutcome, class: &str) -> Vec<Note> {
    if let Some(message) = planner.conflict(id) {
        let kept = kept(planner, id, outcome).unwrap_or_default();
        return Note::stalled("NameConflict", message + &kept);
    }
    match &outcome.backing {
        Some(Backing::Embedded) => vec![answered(planner, entry, class)],
        Some(Backing::ExternalDNS(_)) => handed_over(planner, id),
        _ => provided(planner, id, entry, outcome, class),
    }
}

/// Why the annotation by which a record would take over another is without effect.
fn not_adopted(planner: &Planner, entry: &Entry, outcome: &DnsRecordOutcome, class: &str) -> String {
    if !outcome.adopts || planner.adopts(outcome) {
        return String::new();
    }
    let namespace = &entry.key.reference.namespace;
    format!(
        "; the annotation {ADOPT} has no effect: spec.adoption.namespaces of DNSClass {class} does not list \
         the namespace {namespace}"
    )
}

fn answered(planner: &Planner, entry: &Entry, class: &str) -> Note {
    match planner.holder_of_view(entry.key.cluster, class) {
        None => Note::ready("RecordCreated", format!("answered by our own server, class {class}")),
        Some(holder) => {
            let message = format!("DNSClass {class} has no view: DNSClass {holder} answers in its place");
            Note::waiting("DNSClassConflicted", message)
        }
    }
}

/// What ExternalDNS says decides; where it says nothing, nobody knows.
pub(super) fn handed_over(planner: &Planner, id: Id) -> Vec<Note> {
    let Some(published) = published(planner, id) else { return Vec::new() };
    let message = published.message.clone();
    let ready = match published.status {
        ConditionStatus::True => Note::ready("RecordCreated", message),
        ConditionStatus::False => Note::waiting("ServerError", message),
        ConditionStatus::Unknown => Note::unknown("Ready", "Pending", message),
    };
    vec![ready, published]
}

fn provided(planner: &Planner, id: Id, entry: &Entry, outcome: &DnsRecordOutcome, class: &str) -> Vec<Note> {
    let claim = planner.evaluated(id).and_then(|one| one.output.claims.first());
    let Some(claim) = claim else { return Vec::new() };
    match planner.fate(claim) {
        Fate::Stands => {
            let mut notes = vec![stands(planner, id, class)];
            notes.extend(looked_up(planner, entry, class, claim));
            notes
        }
        Fate::Failed(trouble) => failed(planner, class, trouble),
        Fate::Foreign(owner, _) => {
            let message =
                foreign(planner, class, claim, owner) + &not_adopted(planner, entry, outcome, class);
            Note::stalled("NameConflict", message)
        }
        Fate::Pending => vec![pending(class)],
        Fate::Untold => {
            let record = planner.published_again(id, entry);
            let again = record.and_then(|record| record.conditions.ready.as_ref());
            let again = again.and_then(|ready| planner.published_note(entry, ready, "Ready"));
            let mut notes = vec![again.unwrap_or_else(|| pending(class))];
            notes.extend(record.and_then(|record| looked_up_again(entry, record)));
            notes
        }
    }
}

fn pending(class: &str) -> Note {
    Note::unknown("Ready", "Pending", format!("DNSClass {class} has not confirmed it yet"))
}

fn stands(planner: &Planner, id: Id, class: &str) -> Note {
    let written = planner.delivering.memory.get(&id).and_then(|memory| memory.written);
    let reason = match written {
        Some((Written::Updated, _)) => "RecordUpdated",
        _ => "RecordCreated",
    };
    Note::ready(reason, format!("stands at DNSClass {class}"))
}

impl Planner {
    /// The status that an earlier process wrote, where that is about the version and identity in force
    /// and nothing was heard since the start: then it is shown as it stands.
    pub(crate) fn published_again<'a>(&self, id: Id, entry: &'a Entry) -> Option<&'a api::PublishedRecord> {
        let record = self.published_record(entry)?;
        let wanted = self.wanted_identity(id, self.record_outcome(id)?)?;
        let mut named = record.applied.iter().chain(&record.owed);
        let is_named = named.any(|one| Identity::read(one).as_ref() == Some(wanted));
        let claim = self.evaluated(id)?.output.claims.first()?;
        let is_current = is_named && record.observed_generation == entry.generation();
        // A conflict was told of by the planner, and is over.
        let was_delivery =
            record.conditions.ready.as_ref().is_some_and(|ready| &*ready.reason != "NameConflict");
        (is_current && was_delivery && self.fate(claim) == Fate::Untold).then_some(record)
    }
}

fn deleting(planner: &Planner, id: Id, outcome: &DnsRecordOutcome) -> Vec<Note> {
    let memory = planner.delivering.memory.get(&id);
    let owed: Vec<&Identity> = memory.into_iter().flat_map(Memory::handed).collect();
    if outcome.orphaned && !owed.is_empty() {
        let message = format!("released by the annotation {ORPHAN}; a provider may still hold it");
        return vec![Note::over("RecordDeleted", message)];
    }
    let waits = owed.into_iter().map(|one| deletion(planner, one));
    let worst = waits.max_by_key(|note| note.severity);
    vec![worst.unwrap_or_else(|| Note::over("RecordDeleted", "no provider holds it any more"))]
}

/// How the deletion of something that may stand at a provider goes.
fn deletion(planner: &Planner, identity: &Identity) -> Note {
    let what = identity_text(identity);
    let release = format!("or set the annotation {ORPHAN} to \"true\" to leave it there");
    if !planner.delivering.classes.contains_key(&identity.class) {
        let message = format!("{what} cannot be deleted: there is no such DNSClass; create it, {release}");
        return Note::waiting("DNSClassNotFound", message);
    }
    match planner.told_of(identity) {
        Some(Told::Failed(trouble)) => {
            let message = format!("{what} could not be deleted: {}; repair that, {release}", trouble.message);
            Note::waiting(fate::reason(&trouble.reason), message)
        }
        _ => Note::unknown("Ready", "Pending", format!("{what} is being deleted")),
    }
}
