//! The words for what the world sees of a DNSRecord that stands at its provider.
//!
//! It is a condition of its own and decides nothing: who delegates the zone, and when caches and secondaries
//! follow, is not the provider's to say.

use api::{ConditionStatus as Said, PublishedRecord};

use super::fate::status;
use crate::delivery::{Sight, Told};
use crate::note::Note;
use crate::output::Claim;
use crate::planner::Planner;
use crate::snapshot::Entry;

/// The condition that says so, and the reasons that it has.
const CONDITION: &str = "Published";
const REASONS: [&str; 5] = ["Resolved", "NotYetVisible", "NotDelegated", "DelegatedElsewhere", "NoAnswer"];

/// What was found of a claim that stands; before the first look, what an earlier process found.
pub(super) fn looked_up(planner: &Planner, entry: &Entry, class: &str, claim: &Claim) -> Option<Note> {
    let zone = *planner.zone_numbers.get(&claim.zone)?;
    let key = (zone, claim.name.clone(), claim.rtype);
    match planner.delivering.told.looked_up(class, &key) {
        Some((hash, sight)) => {
            // What was found of an earlier version says nothing about this one.
            let is_current = planner.delivering.told.get(class, &key) == Some(&Told::Stands(*hash));
            is_current.then(|| note(sight, class, claim))
        }
        None => looked_up_again(entry, planner.published_record(entry)?),
    }
}

/// What an earlier process found, where that is about the version in force.
pub(super) fn looked_up_again(entry: &Entry, record: &PublishedRecord) -> Option<Note> {
    let said = record.conditions.published.as_ref()?;
    let is_current = said.observed_generation == entry.generation();
    let reason = REASONS.iter().find(|one| ***one == *said.reason).filter(|_| is_current)?;
    let is_good = said.status != Said::True || *reason == "Resolved";
    is_good.then(|| Note::again(CONDITION, status(said.status), reason, &said.message))
}

fn note(sight: &Sight, class: &str, claim: &Claim) -> Note {
    let zone = claim.zone.undotted();
    match sight {
        Sight::Visible => {
            Note::fact(CONDITION, "Resolved", "all servers that the zone is delegated to answer with it")
        }
        Sight::NotVisible(server) => Note::lacking(
            CONDITION,
            "NotYetVisible",
            format!(
                "the name server {server} does not answer with it; see whether it follows DNSClass {class}"
            ),
        ),
        Sight::NotDelegated => Note::unknown(
            CONDITION,
            "NotDelegated",
            format!(
                "{zone} is delegated to no server, so only who asks the servers of DNSClass {class} sees it"
            ),
        ),
        Sight::DelegatedElsewhere => Note::unknown(
            CONDITION,
            "DelegatedElsewhere",
            format!("{zone} is delegated to none of the name servers that it has at DNSClass {class}"),
        ),
        Sight::NoAnswer => Note::unknown(
            CONDITION,
            "NoAnswer",
            format!("where {zone} is delegated to could not be found out; see --lookup-resolver"),
        ),
    }
}
