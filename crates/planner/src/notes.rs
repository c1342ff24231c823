//! From outcomes to notes: the words for what happened.

mod dnsclass;
pub(crate) mod fate;
pub(crate) mod kuadrant;
mod kubizone;
mod looked_up;
mod placement;
mod published;
mod router;
mod steering;

use std::collections::{BTreeMap, BTreeSet};

use api::{Kind, Problem};

use crate::children::{ChildRef, Made};
use crate::facts::ObjectKey;
use crate::front::dns_endpoint::{EndpointOutcome, EndpointProblem};
use crate::input::{ClusterId, ObjectRef};
use crate::note::Note;
use crate::output::Outcome;
use crate::planner::{LostClaim, Planner};
use crate::rank::Rank;
use crate::snapshot::{Entry, Id, Trouble};

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
            Outcome::Configuration(missing) => router::configuration(missing),
            Outcome::Class(backing) => dnsclass::class(self, entry, backing),
            Outcome::DnsRecord(outcome) => dnsclass::record(self, id, entry, outcome),
            Outcome::Policy(outcome) => vec![router::policy(outcome)],
            Outcome::Gateway(outcome) => router::gateway(self, id, entry, outcome),
            Outcome::GatewayPolicy(attachment) => kuadrant::policy(self, entry, attachment),
            Outcome::Listeners(outcome) => kuadrant::gateway(outcome),
            Outcome::Route(outcome) => router::route(self, id, entry, outcome),
            Outcome::Zone(outcome) => kubizone::zone(self, entry, outcome),
            Outcome::Record(outcome) => kubizone::record(self, id, entry, outcome),
            Outcome::Endpoint(outcome) => endpoint(self, id, outcome),
            Outcome::Placement(outcome) => placement::placement(self, id, entry, outcome),
            Outcome::Refused | Outcome::Silent => Vec::new(),
        };
        if let Some(message) = self.failed_children(id) {
            not_applied(&mut notes, message);
        }
        if let Some(trouble) = &entry.trouble {
            notes.retain(|note| note.condition != "Ready" && note.condition != "Stalled");
            notes.splice(0..0, invalid(entry, trouble));
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
        let mut places: BTreeMap<(u16, &Rank), BTreeSet<String>> = BTreeMap::new();
        for lost in self.lost(id) {
            let at = places.entry((lost.claim, &lost.holder)).or_default();
            at.extend(lost.place.as_ref().map(ToString::to_string));
        }
        let sentences: BTreeSet<String> =
            places.iter().filter_map(|((claim, holder), at)| self.loss(id, *claim, holder, at)).collect();
        let sentences = sentences.into_iter().collect::<Vec<_>>().join("; ");
        (!sentences.is_empty()).then(|| format!("{sentences}; rename this one or remove the other"))
    }

    fn loss(&self, id: Id, claim: u16, holder: &Rank, places: &BTreeSet<String>) -> Option<String> {
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
        Some(format!("{name} {rtype}{place} belongs to {kind} {holder}{cluster}, which is older"))
    }
}

/// Lets `Ready` tell of children that could not be applied, where nothing worse is to be told.
fn not_applied(notes: &mut [Note], message: String) {
    if notes.iter().any(|note| note.condition == "Stalled") {
        return;
    }
    if let Some(ready) = notes.iter_mut().find(|note| note.condition == "Ready") {
        *ready = Note::waiting("ApplyFailed", message);
    }
}

fn invalid(entry: &Entry, trouble: &Trouble) -> Vec<Note> {
    let problems: Vec<String> = trouble.problems.iter().map(Problem::to_string).collect();
    let is_policy = entry.key.reference.kind == Kind::KuadrantDNSPolicy;
    let consequence = match entry.object {
        Some(_) if is_policy => "the old DNS has been preserved: the last valid version stays in force",
        None if is_policy => "the old DNS has been preserved; without any, all clusters are answered alike",
        Some(_) => "the last valid version stays in force",
        None => "no valid version is known, so it has no effect",
    };
    Note::stalled("ValidationFailed", format!("{}; {consequence}", problems.join("; ")))
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
