//! The words for an object that is referred to and has no version in force, and for a zone that cannot be served.

use api::Kind;
use dns::Name;

use crate::facts::ObjectKey;
use crate::input::{ClusterId, ObjectRef};
use crate::place::Scope;
use crate::planner::Planner;
use crate::snapshot::{Id, Snapshot};
use crate::zone_table::Candidate;

impl Snapshot {
    /// Says that an object is missing; or, where it is there, that it has no valid version.
    pub(crate) fn absence(&self, cluster: ClusterId, reference: &ObjectRef) -> String {
        let ObjectRef { kind, namespace, name } = reference;
        let what = match &**namespace {
            "" => format!("{} {name}", kind.kind()),
            namespace => format!("{} {namespace}/{name}", kind.kind()),
        };
        match self.unknown.contains(&ObjectKey::new(cluster, reference.clone())) {
            true => format!("{what} is invalid, and no valid version of it is known"),
            false => format!("there is no {what}"),
        }
    }
}

impl Planner {
    /// What is missing or invalid, and what to do: `advice` where it is missing.
    pub(crate) fn absent(
        &self,
        cluster: ClusterId,
        (kind, namespace, name): (Kind, &str, &str),
        advice: &str,
    ) -> String {
        let reference = ObjectRef { kind, namespace: namespace.into(), name: name.into() };
        let is_invalid = self.snapshot.unknown.contains(&ObjectKey::new(cluster, reference.clone()));
        let advice = if is_invalid { "; correct it" } else { advice };
        format!("{}{advice}", self.snapshot.absence(cluster, &reference))
    }

    /// Why a name is not answered, where the nearest zone around it cannot be served.
    pub(super) fn unanswered_name(&self, name: &Name) -> Option<String> {
        unanswered(name, name.suffix_keys().find_map(|key| self.table.holder_by_key(key))?)
    }

    /// Why the first name of an object that our own servers would answer is not answered, although nothing is wrong
    /// with the object itself.
    pub(super) fn unanswered_claim(&self, id: Id) -> Option<String> {
        let is_ours = |scope: &Scope| *scope == Scope::Everywhere || self.is_in_a_view(scope);
        let claims = self.evaluated(id)?.output.claims.iter();
        let mut ours = claims.filter(|claim| !claim.is_reservation() && is_ours(&claim.scope));
        ours.find_map(|claim| unanswered(&claim.name, self.table.holder(&claim.zone)?))
    }
}

fn unanswered(name: &Name, zone: &Candidate) -> Option<String> {
    let (why, origin) = (zone.unavailable.as_ref()?, zone.zone.origin.undotted());
    let name = name.undotted();
    Some(format!(
        "queries for {name} get SERVFAIL, since the zone {origin} cannot be served: {why}; correct it"
    ))
}
