//! The words for how an object's classes steer: which of the ways of lowering each of them got.

use std::collections::{BTreeMap, BTreeSet};

use dns::Name;

use crate::backing::Backing;
use crate::note::Note;
use crate::output::Claim;
use crate::planner::Planner;
use crate::snapshot::Id;
use crate::steered_delivery::Manner;

/// How a claim is steered; what asks for attention first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    /// By nobody, and our probes decide what is given.
    Watched,
    /// By nobody.
    Reduced,
    /// By whoever is behind an ExternalDNS.
    RecordSets,
    /// By the class, among what our probes hold up.
    Among,
    /// By the class, which probes too.
    Probing,
    /// By the class; nothing is probed.
    Native,
    /// By our own servers.
    Own,
    Plain,
}

/// Which ways of steering an object's claims got. `backing` tells what stands behind a class.
pub(super) fn steering(planner: &Planner, id: Id, backing: &dyn Fn(&str) -> Option<Backing>) -> Note {
    let claims = planner.evaluated(id).map(|one| &one.output.claims[..]).unwrap_or_default();
    let mut ways: BTreeMap<(Way, &str), BTreeSet<&Name>> = BTreeMap::new();
    for claim in claims.iter().filter(|claim| claim.steering.is_some()) {
        let way = way(planner, id, claim, backing);
        let class = claim.scope.class().filter(|_| !matches!(way, Way::Own | Way::Plain));
        ways.entry((way, class.unwrap_or_default())).or_default().insert(&claim.name);
    }
    let Some(((worst, _), _)) = ways.first_key_value() else { return note(Way::Plain, PLAIN.to_owned()) };
    // What is not steered is nothing to tell of beside what is.
    let told = ways.iter().filter(|((way, _), _)| *way != Way::Plain || *worst == Way::Plain);
    let told = told.map(|((way, class), names)| words(*way, class, &hosts(*way, class, names, claims)));
    note(*worst, told.collect::<Vec<_>>().join("; "))
}

fn way(planner: &Planner, id: Id, claim: &Claim, backing: &dyn Fn(&str) -> Option<Backing>) -> Way {
    let Some(class) = claim.scope.class() else { return Way::Own };
    let members = claim.steering.as_ref().map(|steering| steering.members()).unwrap_or_default();
    let is_probed = members.iter().any(|member| member.probe.is_some());
    let reduced = if is_probed { Way::Watched } else { Way::Reduced };
    match backing(class) {
        None | Some(Backing::Embedded) => Way::Own,
        Some(Backing::ExternalDNS(_)) if planner.has_record_tree(id, claim) => Way::RecordSets,
        Some(Backing::ExternalDNS(_)) => reduced,
        Some(_) => match planner.manner(id, class, claim) {
            Manner::Plain => Way::Plain,
            Manner::Native if is_probed => Way::Probing,
            Manner::Native => Way::Native,
            Manner::Among => Way::Among,
            Manner::Membership => reduced,
        },
    }
}

/// Which names a class cannot steer, where it has others.
fn hosts(way: Way, class: &str, names: &BTreeSet<&Name>, claims: &[Claim]) -> String {
    let is_other = |claim: &&Claim| claim.scope.is_class(class) && !names.contains(&claim.name);
    if !is_reduced(way) || !claims.iter().any(|claim| is_other(&claim)) {
        return String::new();
    }
    let names: Vec<String> = names.iter().map(|name| name.undotted()).collect();
    format!(" for {}", names.join(", "))
}

fn is_reduced(way: Way) -> bool {
    matches!(way, Way::Watched | Way::Reduced)
}

fn note(way: Way, message: String) -> Note {
    match way {
        Way::Watched | Way::Reduced => Note::lacking("Steering", "SteeringReduced", message),
        Way::RecordSets => Note::fact("Steering", "RecordSets", message),
        Way::Among | Way::Probing | Way::Native | Way::Own => Note::fact("Steering", "Native", message),
        Way::Plain => Note::fact("Steering", "Plain", message),
    }
}

const PLAIN: &str = "every client is given the same addresses";

fn words(way: Way, class: &str, hosts: &str) -> String {
    match way {
        Way::Watched => format!(
            "DNSClass {class} cannot choose{hosts} as this asks for: it is given what our probes hold up, and \
             every client gets the same"
        ),
        Way::Reduced => {
            format!("DNSClass {class} cannot choose{hosts} as this asks for: every client gets the same")
        }
        Way::RecordSets => {
            format!("DNSClass {class} is given record sets, as far as ExternalDNS has them")
        }
        Way::Among => {
            format!("DNSClass {class} chooses for each client, among what our probes hold up")
        }
        Way::Probing => format!("DNSClass {class} chooses for each client, and probes"),
        Way::Native => format!("DNSClass {class} chooses for each client"),
        Way::Own => "our own servers choose for each client".to_owned(),
        Way::Plain => PLAIN.to_owned(),
    }
}
