//! How what an object wants fares at the provider of its class, and the words for it.

use api::{ConditionStatus as Said, Published, PublishedCondition, Spec};

use crate::delivery::{Told, Trouble, hash_of, set_hash};
use crate::marks::ADOPT;
use crate::note::{ConditionStatus, Note};
use crate::output::Claim;
use crate::place::{Place, Scope};
use crate::planner::Planner;
use crate::resolve::Set;
use crate::snapshot::Entry;

/// How a claim fares at the provider of its class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fate<'a> {
    /// Nothing was heard since the start.
    Untold,
    /// It has changed since something was heard.
    Pending,
    Stands,
    Failed(&'a Trouble),
    /// Somebody else's record stands there; whose, where that is known, and since when.
    Foreign(Option<&'a str>, i64),
}

/// The reasons that deliveries have. Those of an earlier process are taken over by these words only.
const REASONS: [&str; 13] = [
    "Adopted",
    "Applied",
    "AuthenticationFailed",
    "InvalidConfiguration",
    "NameConflict",
    "Pending",
    "Programmed",
    "RecordCreated",
    "RecordUpdated",
    "SecretNotFound",
    "ServerError",
    "ServerUnreachable",
    "ValidationFailed",
];

/// A reason as a constant; words that are not ours are a server's error.
pub(crate) fn reason(word: &str) -> &'static str {
    REASONS.iter().find(|one| **one == word).copied().unwrap_or("ServerError")
}

impl Planner {
    /// How a claim fares; `Untold` where its place is no class.
    pub(crate) fn fate(&self, claim: &Claim) -> Fate<'_> {
        let Scope::At(Place::Class(class)) = &claim.scope else { return Fate::Untold };
        let Some(zone) = self.zone_numbers.get(&claim.zone) else { return Fate::Untold };
        let key = (*zone, claim.name.clone(), claim.rtype);
        let Some(told) = self.delivering.told.get(class, &key) else { return Fate::Untold };
        match told {
            Told::Stands(hash) => {
                let node = self.zones[*zone as usize].nodes.get(&claim.name);
                let mut sets = node.into_iter().flat_map(|node| &node.sets);
                let set = sets.find(|set| set.scope == claim.scope && set.rtype == claim.rtype);
                let owner = node.and_then(|node| self.set_owner(*zone, node, class, claim.rtype));
                let lowered = |set: &Set| self.lowered(owner, class, set.named(&claim.name)).0;
                let stands = set.is_some_and(|set| match set.steering {
                    Some(_) => set_hash(&lowered(set)) == *hash,
                    None => hash_of(&claim.name, set) == *hash,
                });
                if stands { Fate::Stands } else { Fate::Pending }
            }
            Told::Outdated => Fate::Pending,
            Told::Failed(trouble) => Fate::Failed(trouble),
            Told::Foreign { owner, at } => Fate::Foreign(owner.as_deref(), *at),
        }
    }

    /// What the status of a Record, route, gateway or policy says of its delivery, where that is about the
    /// version in force. Statuses in files are not read.
    pub(crate) fn published_delivery(&self, entry: &Entry, condition: &'static str) -> Option<Note> {
        let said = match entry.object.as_ref()?.published.as_deref()? {
            Published::Delivery(said) => said,
            Published::Policy(policy) => policy.ready.as_ref()?,
            _ => return None,
        };
        self.published_note(entry, said, condition)
    }

    /// A condition as it was last written, where that is about the version in force.
    pub(crate) fn published_note(
        &self,
        entry: &Entry,
        said: &PublishedCondition,
        condition: &'static str,
    ) -> Option<Note> {
        let is_current = self.snapshot.reads_statuses && said.observed_generation == entry.generation();
        let reason = REASONS.iter().find(|one| ***one == *said.reason).copied()?;
        is_current.then(|| Note::again(condition, status(said.status), reason, &said.message))
    }
}

pub(super) fn status(said: Said) -> ConditionStatus {
    match said {
        Said::True => ConditionStatus::True,
        Said::False => ConditionStatus::False,
        Said::Unknown => ConditionStatus::Unknown,
    }
}

impl Planner {
    /// The address of a class's server, at the beginning of a sentence about a server that cannot be reached.
    pub(crate) fn server_of(&self, class: &str, reason: &str) -> String {
        let object = self.delivering.classes.get(class).filter(|_| reason == "ServerUnreachable");
        let address = object.and_then(|object| match &object.spec {
            Spec::DNSClass(spec) => spec.address(),
            _ => None,
        });
        address.map(|address| format!("{address}: ")).unwrap_or_default()
    }

    /// Whether the server of a class has no ownership records, so that an import has none to write.
    fn has_no_ownership_records(&self, class: &str) -> bool {
        let object = self.delivering.classes.get(class);
        object.is_some_and(|object| matches!(&object.spec, Spec::DNSClass(spec) if spec.server.is_some()))
    }
}

/// The words for a failed delivery.
pub(crate) fn failed(planner: &Planner, class: &str, trouble: &Trouble) -> Vec<Note> {
    let retries = if trouble.exhausted {
        "; the fast retries are used up, and it is tried again at the longest delay"
    } else {
        ""
    };
    let server = planner.server_of(class, &trouble.reason);
    let message = format!("DNSClass {class}: {server}{}{retries}", trouble.message);
    match reason(&trouble.reason) {
        reason @ ("InvalidConfiguration" | "ValidationFailed") => Note::stalled(reason, message),
        reason => vec![Note::waiting(reason, message)],
    }
}

/// The words for a record that is not ours, and the way to have the name.
pub(crate) fn foreign(planner: &Planner, class: &str, claim: &Claim, owner: Option<&str>) -> String {
    let whose = owner.map(|owner| format!(", of owner {owner}")).unwrap_or_default();
    let (name, rtype, way) = (claim.name.undotted(), claim.rtype, way(planner, class, owner));
    format!(
        "a record that is not ours stands at {name} {rtype} of DNSClass {class}{whose}; it is left alone: {way}"
    )
}

/// How a name is had whose record at the provider of a class has another owner, or none.
fn way(planner: &Planner, class: &str, owner: Option<&str>) -> String {
    let of_owner = |id: &str| {
        format!("delete the object of that owner, or give `--owner {id}` where that owner is gone for good")
    };
    match owner.map(|owner| (owner, owner.strip_prefix("ExternalDNS "))) {
        None if planner.has_no_ownership_records(class) => {
            format!("remove it there, or take it over with the annotation `{ADOPT}: \"true\"` of a DNSRecord")
        }
        None => "remove it there, or take it over with `fingerpost import`".to_owned(),
        Some((_, Some(id))) => {
            format!("remove it there, or take it over with `fingerpost import --adopt-owner {id}`")
        }
        Some((owner, None)) => match owner.rsplit_once('/').filter(|(_, of)| *of == class) {
            Some((id, _)) => of_owner(id),
            None => "delete the object of that owner".to_owned(),
        },
    }
}
