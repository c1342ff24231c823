//! From outcomes to notes: the words for what happened.

mod kubizone;
mod router;

use api::{Kind, Problem};

use crate::facts::ObjectKey;
use crate::front::dns_endpoint::{EndpointOutcome, EndpointProblem};
use crate::input::{ClusterId, ObjectRef};
use crate::note::Note;
use crate::output::Outcome;
use crate::planner::{LostClaim, Planner};
use crate::snapshot::{Entry, Id};

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
            Outcome::Class => {
                vec![Note::ready("ServerHealthy", "the embedded server answers from this class's view")]
            }
            Outcome::Policy(outcome) => vec![router::policy(outcome)],
            Outcome::Gateway(outcome) => router::gateway(self, id, entry, outcome),
            Outcome::Route(outcome) => router::route(self, id, entry, outcome),
            Outcome::Zone(outcome) => kubizone::zone(outcome),
            Outcome::Record(outcome) => kubizone::record(self, id, outcome),
            Outcome::Endpoint(outcome) => endpoint(self, id, outcome),
            Outcome::Refused | Outcome::Silent => Vec::new(),
        };
        if !entry.problems.is_empty() {
            notes.retain(|note| note.condition != "Ready" && note.condition != "Stalled");
            notes.splice(0..0, invalid(entry));
        }
        notes
    }

    pub(crate) fn lost(&self, id: Id) -> &[LostClaim] {
        self.losses.get(&id).map(|lost| &lost[..]).unwrap_or_default()
    }

    /// Who has what this object wants: one sentence for all that it lost.
    pub(crate) fn conflict(&self, id: Id) -> Option<String> {
        let lost = self.lost(id);
        let first = lost.first()?;
        let claims = &self.evaluated(id)?.output.claims;
        let claim = claims.get(usize::from(first.claim))?;
        let mut places: Vec<String> =
            lost.iter().filter_map(|one| Some(one.place.as_ref()?.to_string())).collect();
        places.sort();
        places.dedup();
        let place = if places.is_empty() { String::new() } else { format!(" in {}", places.join(", ")) };
        let own_cluster = self.evaluated(id)?.rank.cluster;
        let cluster = match first.holder.cluster {
            cluster if cluster == own_cluster => String::new(),
            cluster => format!(" of cluster {}", self.cluster_name(cluster)),
        };
        let kind = first.holder.kind.map_or("zone file", Kind::kind);
        let name = claim.name.undotted();
        Some(format!(
            "{name} {}{place} belongs to {kind} {}{cluster}, which is older; rename this one or remove the other",
            claim.rtype, first.holder
        ))
    }
}

fn invalid(entry: &Entry) -> Vec<Note> {
    let problems: Vec<String> = entry.problems.iter().map(Problem::to_string).collect();
    let consequence = match entry.object {
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
