//! Addresses that a client is likely to ask for next, and the glue of referrals.

use dns::{Name, Rdata, RecordSet, Rtype};

use crate::Zones;
use crate::steering::{Asker, Chosen, reduced};
use crate::zones::{Found, Zone};

/// The addresses of the names that the sets lead to, as far as the view has them with authority.
pub(super) fn addresses(zones: &Zones, sets: &[RecordSet], asker: &Asker) -> Vec<RecordSet> {
    let mut found = Vec::new();
    for target in sets.iter().flat_map(targets) {
        if let Some(zone) = zones.find(&target).filter(|zone| zone.soa().is_some()) {
            add_own(&mut found, zone, &target, asker);
        }
    }
    found
}

/// The addresses that the parent's side has for the name servers of a cut: first those in the
/// delegated zone, which nobody could find otherwise, and how many sets these are.
pub(super) fn glue(zone: &Zone, cut: &RecordSet, asker: &Asker) -> (Vec<RecordSet>, usize) {
    let (inside, beside): (Vec<Name>, Vec<Name>) =
        targets(cut).filter(|target| target.is_in(zone.origin())).partition(|target| target.is_in(&cut.name));
    let mut found = Vec::new();
    inside.iter().for_each(|target| add_glue(&mut found, zone, target, asker));
    let needed = found.len();
    for target in &beside {
        match zone.descend(target, Rtype::A) {
            Found::Cut(_) => add_glue(&mut found, zone, target, asker),
            _ => add_own(&mut found, zone, target, asker),
        }
    }
    (found, needed)
}

/// Adds what a zone says of a name with authority, by a wildcard too.
fn add_own(found: &mut Vec<RecordSet>, zone: &Zone, target: &Name, asker: &Asker) {
    if let Found::Node { sets, wildcard } = zone.descend(target, Rtype::A) {
        let source = wildcard.as_ref().unwrap_or(target);
        append(found, target, sets.iter().map(|set| part(zone, source, set, asker)));
    }
}

/// Adds what a zone has at a name, below a cut.
fn add_glue(found: &mut Vec<RecordSet>, zone: &Zone, target: &Name, asker: &Asker) {
    let sets = zone.sets_at(target.key());
    append(found, target, sets.iter().map(|set| part(zone, target, set, asker)));
}

fn append(found: &mut Vec<RecordSet>, name: &Name, sets: impl Iterator<Item = RecordSet>) {
    for set in sets.filter(|set| matches!(set.rtype, Rtype::A | Rtype::AAAA)) {
        if !found.iter().any(|other| other.rtype == set.rtype && other.name == *name) {
            found.push(RecordSet { name: name.clone(), ..set });
        }
    }
}

/// The part of a set that the asker gets; `source` is the name that has it.
fn part(zone: &Zone, source: &Name, set: &RecordSet, asker: &Asker) -> RecordSet {
    let Some(compiled) = zone.steering_at(source.key(), set.rtype) else {
        return RecordSet { steering: None, ..set.clone() };
    };
    let mut chosen = Chosen::new();
    compiled.choose(asker, &mut chosen);
    reduced(set, &mut chosen, asker.draw)
}

/// The names that the data of a set leads to.
fn targets(set: &RecordSet) -> impl Iterator<Item = Name> {
    set.data.iter().filter_map(|data| target(&set.name, data))
}

fn target(owner: &Name, data: &Rdata) -> Option<Name> {
    match data.rtype() {
        Rtype::NS | Rtype::MX | Rtype::SRV => data.target().filter(|name| !name.is_root()),
        // In service mode the root stands for the owner (RFC 9460 section 2.5.2).
        Rtype::SVCB | Rtype::HTTPS => data.target().or_else(|| is_service(data).then(|| owner.clone())),
        _ => None,
    }
}

/// Whether a service binding has a priority above 0, so that it is not an alias.
fn is_service(data: &Rdata) -> bool {
    !data.wire().starts_with(&[0, 0])
}
