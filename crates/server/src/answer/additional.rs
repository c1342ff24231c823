//! Addresses that a client is likely to ask for next, and the glue of referrals.

use dns::{Name, Rdata, RecordSet, Rtype};

use crate::Zones;
use crate::zones::{Found, Zone};

/// The addresses of the names that the sets lead to, as far as the view has them with authority.
pub(super) fn addresses(zones: &Zones, sets: &[RecordSet]) -> Vec<RecordSet> {
    let mut found = Vec::new();
    for target in sets.iter().flat_map(targets) {
        let Some(zone) = zones.find(&target).filter(|zone| zone.soa().is_some()) else { continue };
        if let Found::Node { sets, .. } = zone.descend(&target, Rtype::A) {
            append(&mut found, &target, &sets);
        }
    }
    found
}

/// The addresses that the parent's side has for the name servers of a cut: first those in the
/// delegated zone, which nobody could find otherwise, and how many sets these are.
pub(super) fn glue(zone: &Zone, cut: &RecordSet) -> (Vec<RecordSet>, usize) {
    let (inside, beside): (Vec<Name>, Vec<Name>) =
        targets(cut).filter(|target| target.is_in(zone.origin())).partition(|target| target.is_in(&cut.name));
    let mut found = Vec::new();
    inside.iter().for_each(|target| append(&mut found, target, &zone.sets_at(target.key())));
    let needed = found.len();
    beside.iter().for_each(|target| append(&mut found, target, &zone.sets_at(target.key())));
    (found, needed)
}

fn append(found: &mut Vec<RecordSet>, name: &Name, sets: &[RecordSet]) {
    for set in sets.iter().filter(|set| matches!(set.rtype, Rtype::A | Rtype::AAAA)) {
        if !found.iter().any(|other| other.rtype == set.rtype && other.name == *name) {
            found.push(RecordSet { name: name.clone(), ..set.clone() });
        }
    }
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
