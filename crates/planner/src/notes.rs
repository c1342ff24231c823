//! From outcomes to notes: the words for what happened.

mod absent;
mod dnsclass;
pub(crate) mod fate;
pub(crate) mod kuadrant;
mod kubizone;
mod looked_up;
mod placement;
mod published;
mod router;
mod steering;
mod tenancy;

use std::collections::{BTreeMap, BTreeSet};

use api::{Kind, Problem};

use self::tenancy::bad_grants;
pub(crate) use self::tenancy::not_granted;
use crate::children::{ChildRef, Made};
use crate::facts::ObjectKey;
use crate::front::dns_endpoint::{EndpointOutcome, EndpointProblem};
use crate::front::kuadrant_policy::Attachment;
use crate::input::{ClusterId, ObjectRef};
use crate::note::{ConditionStatus, Note};
use crate::output::Outcome;
use crate::planner::{Evaluated, LostClaim, Planner};
use crate::rank::{Rank, Reason};
use crate::snapshot::{Entry, Id, Trouble, Waiting};
use crate::zone_table::{Source, Standing};

impl Planner {
    /// What is to be said about an object.
    pub fn notes(&self, cluster: ClusterId, reference: &ObjectRef) -> Vec<Note> {
        let id = self.snapshot.id(&ObjectKey::new(cluster, reference.clone()));
        id.map(|id| self.notes_of(id)).unwrap_or_default()
    }

    pub(crate) fn notes_of(&self, id: Id) -> Vec<Note> {
        let (Some(entry), Some(evaluated)) = (self.snapshot.entry(id), self.evaluated(id)) else {
            return Vec::new();
        };
        let mut notes = match &evaluated.output.outcome {
            Outcome::Identity(unserved) => router::identity(unserved),
            Outcome::Configuration(missing) => router::configuration(self, entry, missing),
            Outcome::Class(backing) => dnsclass::class(self, entry, backing),
            Outcome::DnsRecord(outcome) => dnsclass::record(self, id, entry, outcome),
            Outcome::Policy(outcome) => vec![router::policy(self, entry, outcome)],
            Outcome::Gateway(outcome) => router::gateway(self, id, entry, outcome),
            Outcome::GatewayPolicy(attachment) => kuadrant::policy(self, entry, attachment),
            Outcome::Listeners(outcome) => kuadrant::gateway(self, id, entry, evaluated, outcome),
            Outcome::Route(outcome) => router::route(self, id, entry, outcome),
            Outcome::Zone(outcome) => kubizone::zone(self, entry, outcome),
            Outcome::Record(outcome) => kubizone::record(self, id, entry, outcome),
            Outcome::Endpoint(outcome) => endpoint(self, id, outcome),
            Outcome::Namespace(problems) => {
                vec![Note::lacking("DomainsGranted", "InvalidDomain", bad_grants(problems))]
            }
            Outcome::Placement(outcome) => placement::placement(self, id, entry, outcome),
            Outcome::Refused | Outcome::Silent => Vec::new(),
        };
        if let Some(message) = self.unanswered_claim(id) {
            unanswered(&mut notes, message);
        }
        if let Some(message) = self.failed_children(id) {
            not_applied(&mut notes, message);
        }
        if let Some(trouble) = &entry.trouble {
            notes.retain(|note| note.condition != "Ready" && note.condition != "Stalled");
            notes.splice(0..0, self.invalid(id, entry, trouble));
        }
        if let Some(version) = &entry.waiting {
            notes.retain(|note| note.condition != "Ready" && note.condition != "Stalled");
            notes.splice(0..0, waiting(version, is_served(evaluated)));
        }
        notes
    }

    /// Which children of an object could not be applied, and why. A DNSEndpoint that our own server answers for is
    /// only a copy, so that a cluster without ExternalDNS's CRD is well without it.
    pub(crate) fn failed_children(&self, id: Id) -> Option<String> {
        if self.failures.is_empty() {
            return None;
        }
        let failure = |made: &Made| {
            let ChildRef { kind, namespace, name, .. } = &made.child;
            let failure = self.failures.get(&made.child)?;
            Some(format!("{kind} {namespace}/{name} could not be applied: {failure}"))
        };
        let failures: Vec<String> =
            self.made.get(&id)?.iter().filter(|made| !made.answered).filter_map(failure).collect();
        (!failures.is_empty()).then(|| failures.join("; "))
    }

    /// The older class that answers where this one would, if there is one.
    pub(crate) fn holder_of_view(&self, cluster: ClusterId, class: &str) -> Option<&Rank> {
        if self.views.conflicted.is_empty() {
            return None;
        }
        let reference = ObjectRef { kind: Kind::DNSClass, namespace: "".into(), name: class.into() };
        self.views.conflicted.get(&ObjectKey::new(cluster, reference))
    }

    pub(crate) fn lost(&self, id: Id) -> &[LostClaim] {
        self.losses.get(&id).map(|lost| &lost[..]).unwrap_or_default()
    }

    /// Who has what this object wants: one sentence for each claim and holder.
    pub(crate) fn conflict(&self, id: Id) -> Option<String> {
        let mut places: BTreeMap<(u16, &Rank, Reason), BTreeSet<String>> = BTreeMap::new();
        let (of_names, of_namespaces): (Vec<_>, Vec<_>) =
            self.lost(id).iter().partition(|lost| lost.depends_on.is_none());
        for lost in of_names {
            let at = places.entry((lost.claim, &lost.holder, lost.reason)).or_default();
            at.extend(lost.place.as_ref().map(ToString::to_string));
        }
        let sentences: BTreeSet<String> = places
            .iter()
            .filter_map(|((claim, holder, reason), at)| self.loss(id, *claim, (holder, *reason), at))
            .collect();
        let sentences = sentences.into_iter().collect::<Vec<_>>().join("; ");
        let of_names =
            (!sentences.is_empty()).then(|| format!("{sentences}; rename this one or remove the other"));
        let foreign: BTreeSet<String> =
            of_namespaces.into_iter().filter_map(|lost| self.foreign_loss(id, lost)).collect();
        let of_namespaces = (!foreign.is_empty()).then(|| {
            let sentences = foreign.into_iter().collect::<Vec<_>>().join("; ");
            format!("{sentences}; a name belongs to one namespace: {PERMISSIONS}")
        });
        let all: Vec<String> = of_names.into_iter().chain(of_namespaces).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }

    /// Who of another namespace has the name that a claim depends on.
    fn foreign_loss(&self, id: Id, lost: &LostClaim) -> Option<String> {
        let evaluated = self.evaluated(id)?;
        let claim = evaluated.output.claims.get(usize::from(lost.claim))?;
        let (holder, reason, held) = (&lost.holder, lost.reason, lost.depends_on.as_ref()?);
        let cluster = match holder.cluster {
            cluster if cluster == evaluated.rank.cluster => String::new(),
            cluster => format!(" of cluster {}", self.cluster_name(cluster)),
        };
        let kind = holder.kind.map_or("zone file", Kind::kind);
        let what = match claim.is_reservation() {
            true => claim.name.undotted(),
            false => format!("{} {}", claim.name.undotted(), claim.rtype),
        };
        let held = match *held == claim.name {
            true => String::new(),
            false => format!(" is refused: {}", held.undotted()),
        };
        Some(format!("{what}{held} belongs to {kind} {holder}{cluster}, which {reason}"))
    }

    fn loss(
        &self,
        id: Id,
        claim: u16,
        (holder, reason): (&Rank, Reason),
        places: &BTreeSet<String>,
    ) -> Option<String> {
        let evaluated = self.evaluated(id)?;
        let claim = evaluated.output.claims.get(usize::from(claim))?;
        let places: Vec<&str> = places.iter().map(String::as_str).collect();
        let place = if places.is_empty() { String::new() } else { format!(" in {}", places.join(", ")) };
        let cluster = match holder.cluster {
            cluster if cluster == evaluated.rank.cluster => String::new(),
            cluster => format!(" of cluster {}", self.cluster_name(cluster)),
        };
        let kind = holder.kind.map_or("zone file", Kind::kind);
        let (name, rtype) = (claim.name.undotted(), claim.rtype);
        Some(format!("{name} {rtype}{place} belongs to {kind} {holder}{cluster}, which {reason}"))
    }
}

impl Planner {
    /// What is said of an object whose newest version cannot be used.
    fn invalid(&self, id: Id, entry: &Entry, trouble: &Trouble) -> Vec<Note> {
        let problems: Vec<String> = trouble.problems.iter().map(Problem::to_string).collect();
        let is_policy = entry.key.reference.kind == Kind::KuadrantDNSPolicy;
        let consequence = match entry.object {
            Some(_) if is_policy => "the old DNS has been preserved: the last valid version stays in force",
            None if is_policy => {
                "the old DNS has been preserved; without any, all clusters are answered alike"
            }
            Some(_) => "the last valid version stays in force",
            None if entry.key.reference.kind == Kind::Zone => &self.broken_zone_text(id, entry),
            None => "no valid version is known, so it has no effect",
        };
        Note::stalled("ValidationFailed", format!("{}; {consequence}", problems.join("; ")))
    }

    /// What becomes of the names in a Zone of which no valid version is known.
    fn broken_zone_text(&self, id: Id, entry: &Entry) -> String {
        let unknown = "no valid version is known";
        let standing = self.table.standing(id).and_then(Standing::origin);
        let withheld = self.snapshot.withheld.get(&entry.key).map(|(origin, _)| origin);
        let Some(origin) = withheld.or(standing) else {
            return format!("{unknown} and its origin cannot be determined, so it has no effect");
        };
        let holder = self.table.holder(origin).map(|holder| &holder.zone.source);
        match holder == Some(&Source::Object(id)) {
            true => format!("{unknown}, so queries for {origin} and all names below it get SERVFAIL"),
            false => format!("{unknown}, so it has no effect: {origin} is answered as without it"),
        }
    }
}

/// What lets a namespace have what depends on another's name.
const PERMISSIONS: &str = "a delegation of the Zone that names this namespace and this record, or a domain grant to \
                           this namespace, permits it";

/// Lets `Ready` tell of children that could not be applied, where nothing worse is to be told.
fn not_applied(notes: &mut [Note], message: String) {
    if notes.iter().any(|note| note.condition == "Stalled") {
        return;
    }
    if let Some(ready) = notes.iter_mut().find(|note| note.condition == "Ready") {
        *ready = Note::waiting("ApplyFailed", message);
    }
}

/// Lets `Ready` tell that the zone of a name cannot be served, where nothing else is wrong.
fn unanswered(notes: &mut [Note], message: String) {
    let is_fine = |note: &&mut Note| note.condition == "Ready" && note.status != ConditionStatus::False;
    if let Some(ready) = notes.iter_mut().find(is_fine) {
        *ready = Note::waiting("ZoneUnavailable", message);
    }
}

/// What is said of an object whose newest version waits for the targets of its references.
fn waiting(waiting: &Waiting, is_served: bool) -> Vec<Note> {
    let missing: Vec<&str> = waiting.missing.iter().map(|missing| &*missing.message).collect();
    let reason = waiting.missing.first().map_or("ReferenceNotFound", |missing| missing.reason);
    let before = match is_served {
        true => "the previous version is still served",
        false => "the previous version stays in force",
    };
    let message = format!(
        "{}; until it is created or the reference is corrected, this version has no effect and {before}",
        missing.join("; ")
    );
    Note::stalled(reason, message)
}

/// Whether an object has an effect on answers.
fn is_served(evaluated: &Evaluated) -> bool {
    match &evaluated.output.outcome {
        Outcome::Zone(outcome) => matches!(outcome.standing, Standing::At(_)) && outcome.conflict.is_none(),
        Outcome::Configuration(_) | Outcome::GatewayPolicy(Attachment::Applies) => true,
        _ => !evaluated.output.claims.is_empty(),
    }
}

fn endpoint(planner: &Planner, id: Id, outcome: &EndpointOutcome) -> Vec<Note> {
    if outcome.ours {
        return Vec::new();
    }
    if let Some(controller) = &outcome.unknown_controller {
        let message = format!(
            "addressed to the controller {controller}, which the DNSConfiguration does not list; \
             add it there, or leave the annotation out to be answered everywhere"
        );
        return vec![Note::waiting("UnknownController", message)];
    }
    let mut notes: Vec<Note> = outcome.problems.iter().flat_map(endpoint_problem).collect();
    notes.extend(planner.conflict(id).into_iter().flat_map(|message| Note::stalled("NameConflict", message)));
    if notes.is_empty() {
        notes.push(Note::ready("Delivered", "all endpoints are answered"));
    }
    notes
}

fn endpoint_problem(problem: &EndpointProblem) -> Vec<Note> {
    match problem {
        EndpointProblem::NotGranted(name, reason) => {
            Note::stalled("DomainNotGranted", not_granted(&name.undotted(), reason))
        }
        EndpointProblem::Invalid(message) => Note::stalled("InvalidEndpoint", message.clone()),
        EndpointProblem::NotDelegated(name, zone) => Note::stalled(
            "NotDelegated",
            format!(
                "{} lies in Zone {zone}, whose delegations do not allow it from this namespace",
                name.undotted()
            ),
        ),
        EndpointProblem::OutsideZones(name) => vec![Note::waiting(
            "NoZone",
            format!("{} lies in no zone; add a Zone or a zone file for it", name.undotted()),
        )],
    }
}
