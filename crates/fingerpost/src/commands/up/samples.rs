//! Questions worth trying: names that resolve, aliases before plain addresses.

use std::net::SocketAddr;

use dns::{Name, RecordSet, Rtype};
use server::steering::Asker;
use server::{Rcode, Zones, lookup};

/// How many record sets are looked at: enough to find good ones, and few in any world.
const MOST_SETS: usize = 2_000;
/// How many lines are printed.
const LINES: usize = 3;

/// `dig` lines to try: several names of one view, or one name in several views.
pub(super) fn lines(views: &[(SocketAddr, &Zones)]) -> Vec<String> {
    let Some((first, zones)) = views.first() else { return Vec::new() };
    let others: Vec<&Zones> = views[1..].iter().map(|(_, zones)| *zones).collect();
    let found = candidates(zones, &others);
    let Some(best) = found.first() else { return Vec::new() };
    if views.len() == 1 {
        return found.iter().take(LINES).map(|candidate| dig(*first, candidate)).collect();
    }
    views.iter().take(LINES).map(|(address, _)| dig(*address, best)).collect()
}

struct Candidate {
    name: Name,
    rtype: Rtype,
    rank: Rank,
}

/// What is better is greater.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    differs_between_views: bool,
    is_address: bool,
    links: usize,
}

fn candidates(zones: &Zones, others: &[&Zones]) -> Vec<Candidate> {
    let all = zones.origins().filter_map(|origin| zones.zone(origin)).flat_map(|zone| zone.sets());
    let sets = all.filter(|set| !set.name.is_wildcard()).take(MOST_SETS);
    let mut found: Vec<Candidate> = sets.filter_map(|set| candidate(zones, others, &set)).collect();
    // The sort is stable, so equals stay in the zone's order.
    found.sort_by(|a, b| b.rank.cmp(&a.rank));
    found.dedup_by(|a, b| a.name == b.name && a.rtype == b.rtype);
    found
}

fn candidate(zones: &Zones, others: &[&Zones], set: &RecordSet) -> Option<Candidate> {
    let rtype = if set.rtype == Rtype::CNAME { Rtype::A } else { set.rtype };
    let answer = lookup(zones, &set.name, rtype, &Asker::NOBODY);
    let last = answer.answer.last().filter(|last| last.rtype == rtype)?;
    if answer.rcode != Rcode::NoError {
        return None;
    }
    let differs_between_views =
        others.iter().any(|other| lookup(other, &set.name, rtype, &Asker::NOBODY).answer != answer.answer);
    let rank = Rank { differs_between_views, is_address: last.rtype == Rtype::A, links: answer.answer.len() };
    Some(Candidate { name: set.name.clone(), rtype, rank })
}

fn dig(address: SocketAddr, candidate: &Candidate) -> String {
    let rtype = if candidate.rtype == Rtype::A { String::new() } else { format!(" {}", candidate.rtype) };
    format!("dig @{} -p {} {}{rtype}", address.ip(), address.port(), candidate.name.undotted())
}
