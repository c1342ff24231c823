//! Whether the world sees the records of a route or gateway: ours to say for our own server, else
//! ExternalDNS's, where its registry is made of objects (ERRATA, "Ready and Published").

use api::foreign::{DeliveredRecord, Delivery};
use api::{Object, Spec};
use dns::{Name, Rdata, Rtype};

use super::fate::{Fate, foreign};
use crate::children::ToldSet;
use crate::facts::Index;
use crate::input::ClusterId;
use crate::note::Note;
use crate::output::{ChildSeed, Claim, SeedDelivery};
use crate::place::{Place, Scope};
use crate::planner::Planner;
use crate::snapshot::Id;

/// How much of a provider's message a status repeats.
const MAX_MESSAGE: usize = 500;

/// Who delivers an object's records.
#[derive(Default)]
struct Deliverers<'a> {
    /// The classes of our own server.
    classes: Vec<String>,
    /// The controllers that deliver by other means.
    controllers: Vec<String>,
    /// What those have been given; a record that two of them have is in it twice.
    given: Vec<ToldSet>,
    /// What we write to providers ourselves, with the class.
    provided: Vec<(&'a str, &'a Claim)>,
}

/// What is known of the records' publication; nothing where there are none.
pub(super) fn published(planner: &Planner, id: Id) -> Option<Note> {
    let Deliverers { classes, mut controllers, given, provided } = deliverers(planner, id)?;
    if controllers.is_empty() && provided.is_empty() {
        let served = format!("answered by our own server, class {}", classes.join(", "));
        return (!classes.is_empty()).then(|| Note::fact("Published", "Programmed", served));
    }
    let cluster = planner.evaluated(id)?.rank.cluster;
    let fates: Vec<Fate<'_>> = provided.iter().map(|(_, claim)| planner.fate(claim)).collect();
    if fates.contains(&Fate::Untold)
        && let Some(again) = planner.published_delivery(planner.snapshot.entry(id)?, "Published")
    {
        return Some(again);
    }
    let said = delivery(planner, cluster, given);
    let mut provided_by: Vec<String> =
        provided.iter().map(|(class, _)| format!("DNSClass {class}")).collect();
    provided_by.dedup();
    controllers.extend(provided_by);
    let controllers = controllers.join(", ");
    Some(match together(planner, said, &provided, &fates) {
        Delivery::Programmed => Note::fact("Published", "Programmed", format!("programmed by {controllers}")),
        Delivery::Failed(message) => Note::lacking("Published", "Failed", message),
        Delivery::Accepted => {
            Note::unknown("Published", "HandedOver", format!("handed over to {controllers}"))
        }
    })
}

fn deliverers(planner: &Planner, id: Id) -> Option<Deliverers<'_>> {
    let evaluated = planner.evaluated(id)?;
    let mut deliverers = Deliverers::default();
    for seed in &evaluated.output.children {
        let claims = planner.standing_claims(id, evaluated, seed);
        let Some(first) = claims.first() else { continue };
        if let (SeedDelivery::Provider, Scope::At(Place::Class(class))) = (seed.delivery, &first.scope) {
            deliverers.provided.extend(claims.into_iter().map(|claim| (&**class, claim)));
            continue;
        }
        match own_class(planner, evaluated.rank.cluster, seed, first) {
            Some(Ok(class)) => deliverers.classes.push(class.to_string()),
            Some(Err(class)) => {
                let without = format!("{} (DNSClass {class} has no view)", seed.controller);
                deliverers.controllers.push(without);
                deliverers.given.extend(given(planner, id, &claims));
            }
            None => {
                deliverers.controllers.push(seed.controller.to_string());
                deliverers.given.extend(given(planner, id, &claims));
            }
        }
    }
    Some(deliverers)
}

/// What the providers say together with those who pick DNSEndpoints up.
fn together(planner: &Planner, said: Delivery, provided: &[(&str, &Claim)], fates: &[Fate<'_>]) -> Delivery {
    let bad = provided.iter().zip(fates).find_map(|((class, claim), fate)| match fate {
        Fate::Failed(trouble) => Some(format!("DNSClass {class}: {}", trouble.message)),
        Fate::Foreign(owner, _) => Some(foreign(planner, class, claim, *owner)),
        _ => None,
    });
    match (said, bad) {
        (said @ Delivery::Failed(_), _) => said,
        (_, Some(bad)) => Delivery::Failed(bad.into()),
        (Delivery::Programmed, None) if fates.iter().all(|fate| *fate == Fate::Stands) => {
            Delivery::Programmed
        }
        _ => Delivery::Accepted,
    }
}

/// The class of our own server that answers a claim; as an error, where that class has no view.
fn own_class<'a>(
    planner: &Planner,
    cluster: ClusterId,
    seed: &ChildSeed,
    claim: &'a Claim,
) -> Option<Result<&'a str, &'a str>> {
    match &claim.scope {
        Scope::At(Place::Class(class)) if seed.delivery == SeedDelivery::Embedded => {
            let is_served = planner.holder_of_view(cluster, class).is_none();
            Some(if is_served { Ok(class) } else { Err(class) })
        }
        _ => None,
    }
}

/// What an ExternalDNS is given of some claims, name by name.
fn given(planner: &Planner, id: Id, claims: &[&Claim]) -> Vec<ToldSet> {
    let mut sorted: Vec<&Claim> = claims.to_vec();
    sorted.sort_by_key(|claim| &claim.name);
    let names = sorted.chunk_by(|one, other| one.name == other.name);
    names.flat_map(|claims| planner.told_sets(id, claims)).collect()
}

/// What ExternalDNS says of the records together: one that failed decides, then one that is not yet
/// known to stand.
fn delivery(planner: &Planner, cluster: ClusterId, mut given: Vec<ToldSet>) -> Delivery {
    given.sort_unstable();
    let mut all_programmed = true;
    for alike in given.chunk_by(|one, other| one == other) {
        let said: Vec<_> = said_of(planner, cluster, &alike[0]).collect();
        if let Some(failure) = said.iter().find_map(|(object, record)| failure(object, record)) {
            return Delivery::Failed(failure.into());
        }
        // Each controller has a registry and so an object of its own.
        let programmed = said.iter().filter(|(_, record)| record.delivery == Delivery::Programmed).count();
        all_programmed &= programmed >= alike.len();
    }
    if all_programmed { Delivery::Programmed } else { Delivery::Accepted }
}

/// ExternalDNS's objects that are about exactly this record set.
fn said_of<'a>(
    planner: &'a Planner,
    cluster: ClusterId,
    set: &'a ToldSet,
) -> impl Iterator<Item = (&'a Object, &'a DeliveredRecord)> {
    let index = Index::Delivered(cluster, set.name.clone(), set.rtype);
    let objects: Vec<_> = planner.snapshot.indexed(&index).map(|(_, id)| id).collect();
    let objects = objects.into_iter().filter_map(|id| planner.snapshot.object(id));
    let is_about = |record: &DeliveredRecord| {
        *record.set_identifier == set.identifier && targets(record, set.rtype) == set.data
    };
    objects.filter_map(move |object| match &object.spec {
        Spec::ExternalDNSRecord(record) if is_about(record) => Some((&**object, &**record)),
        _ => None,
    })
}

fn targets(record: &DeliveredRecord, rtype: Rtype) -> Vec<Rdata> {
    let parsed = |target: &String| match rtype {
        Rtype::TXT => Some(Rdata::txt(target)),
        _ => Rdata::parse(rtype, target, &Name::root()).ok(),
    };
    let mut data: Vec<_> = record.targets.iter().filter_map(parsed).collect();
    data.sort_unstable();
    data.dedup();
    data
}

fn failure(object: &Object, record: &DeliveredRecord) -> Option<String> {
    let Delivery::Failed(message) = &record.delivery else { return None };
    let message: String = message.chars().take(MAX_MESSAGE).collect();
    Some(format!("ExternalDNS's DNSRecord {}/{}: {message}", object.meta.namespace, object.meta.name))
}
