//! What a zone holds, without transferring all of it.
//!
//! An answer to a question is not yet the record set: a wildcard, a DNAME or an alias may have made it
//! up, and a delegation hides what lies below it. So what the answers seem to say is put to the server
//! as prerequisites of an update that changes nothing, which it judges by the zone's own content. What
//! it does not confirm is read by a transfer.

use std::collections::HashMap;

use dns::{Name, RecordSet, Rtype};

use super::Rfc2136;
use super::connection::Connection;
use super::message::{self, Answer, Line, set_of};
use super::rcode;
use super::update::prerequisites;
use crate::unit::Claim;
use crate::{Failure, SetKey};

/// How many questions are on their way at once.
const WINDOW: usize = 100;

/// How much of a message is used.
const MOST: usize = 64_000;

/// How many single doubts are cleared one by one before a transfer is cheaper.
const DOUBTS: usize = 50;

impl Rfc2136 {
    /// The origin of the zone that holds a name.
    pub(super) async fn find_zone(&self, name: &Name) -> Result<Name, Failure> {
        match zone_of(self.connect().await?, name).await {
            Err(Failure::Authentication) => {
                // The key may be unknown only because the zone is.
                let zone = zone_of(self.connect_with(None).await?, name).await?;
                Err(self.why_not(&zone).await)
            }
            told => told,
        }
    }

    /// The serial of a zone.
    pub(super) async fn serial(&self, zone: &Name) -> Result<Option<u64>, Failure> {
        let mut connection = self.connect().await?;
        let request = message::query(connection.next_id(), zone, Rtype::SOA)?;
        let answer = match connection.ask(request).await {
            Err(Failure::Authentication) => return Err(self.why_not(zone).await),
            answer => answer?,
        };
        let soa = set_of(&answer.answer, zone, Rtype::SOA).filter(|_| answer.is_authoritative);
        let soa = soa.and_then(|set| set.data.first().and_then(dns::Rdata::as_soa));
        soa.map(|soa| Some(u64::from(soa.serial))).ok_or(Failure::NoZone)
    }

    /// Some record sets of a zone, in the order of the keys.
    pub(super) async fn look_up(
        &self,
        zone: &Name,
        keys: &[&SetKey],
    ) -> Result<Vec<Option<RecordSet>>, Failure> {
        let mut connection = self.connect().await?;
        let seeming = seeming(&mut connection, keys).await?;
        match confirmed(&mut connection, zone, keys, seeming).await {
            Ok(Some(sets)) => Ok(sets),
            Ok(None) => self.pick(zone, keys).await,
            Err(failure) if rcode::is_an_answer(&failure) => self.pick(zone, keys).await,
            Err(failure) => Err(failure),
        }
    }

    async fn pick(&self, zone: &Name, keys: &[&SetKey]) -> Result<Vec<Option<RecordSet>>, Failure> {
        let held: HashMap<SetKey, RecordSet> =
            self.transfer(zone).await?.into_iter().map(|set| (SetKey::of(&set), set)).collect();
        Ok(keys.iter().map(|key| held.get(key).cloned()).collect())
    }
}

/// The origin of the zone that holds a name, by walking up from it.
pub(super) async fn zone_of(mut connection: Connection<'_>, name: &Name) -> Result<Name, Failure> {
    for above in name.suffixes() {
        let request = message::query(connection.next_id(), &above, Rtype::SOA)?;
        match zone_in(&connection.ask(request).await?, &above)? {
            Told::Zone(zone) => return Ok(zone),
            Told::Higher => continue,
            Told::Elsewhere => return Err(Failure::NoZone),
        }
    }
    Err(Failure::NoZone)
}

/// What an answer about a SOA says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Told {
    Zone(Name),
    /// Nothing; ask for the name above.
    Higher,
    /// The name has been delegated to other servers.
    Elsewhere,
}

/// The zone that an answer about the SOA of a name tells of. Only what the server has itself counts.
pub(super) fn zone_in(answer: &Answer, name: &Name) -> Result<Told, Failure> {
    let is_told = matches!(answer.rcode, rcode::NOERROR | rcode::NXDOMAIN);
    let is_not_here = matches!(answer.rcode, rcode::REFUSED | rcode::NOTAUTH);
    if !is_told {
        return if is_not_here { Ok(Told::Higher) } else { Err(rcode::failure(answer.rcode)) };
    }
    if !answer.is_authoritative {
        let is_cut = answer.authority.iter().any(|found| is_cut_above(found, name));
        return Ok(if is_cut { Told::Elsewhere } else { Told::Higher });
    }
    let mut soas = answer.answer.iter().chain(&answer.authority);
    let soa = soas.find(|found| found.data.rtype() == Rtype::SOA && name.is_in(&found.name));
    Ok(soa.map_or(Told::Higher, |found| Told::Zone(found.name.clone())))
}

/// The root's servers are what a server without the zone would hint at.
fn is_cut_above(found: &message::Found, name: &Name) -> bool {
    found.data.rtype() == Rtype::NS && name.is_in(&found.name) && !found.name.is_root()
}

async fn seeming(
    connection: &mut Connection<'_>,
    keys: &[&SetKey],
) -> Result<Vec<Option<RecordSet>>, Failure> {
    let mut seeming = Vec::with_capacity(keys.len());
    for window in keys.chunks(WINDOW) {
        let requests: Result<Vec<_>, _> =
            window.iter().map(|key| message::query(connection.next_id(), &key.name, key.rtype)).collect();
        for (answer, key) in connection.ask_all(requests?).await?.iter().zip(window) {
            if !matches!(answer.rcode, rcode::NOERROR | rcode::NXDOMAIN) {
                return Err(rcode::failure(answer.rcode));
            }
            seeming.push(seen(answer, key));
        }
    }
    Ok(seeming)
}

/// What an answer seems to say about a set. The NS of a delegation stand beside a referral, and
/// addresses below it in the last section.
pub(super) fn seen(answer: &Answer, key: &SetKey) -> Option<RecordSet> {
    let of_section = |records| set_of(records, &key.name, key.rtype);
    let answered = of_section(&answer.answer);
    let beside = || of_section(&answer.authority).or_else(|| of_section(&answer.additional));
    answered.or_else(|| (!answer.is_authoritative).then(beside).flatten())
}

/// The sets as the zone itself has them, or nothing where the server confirms neither their presence
/// nor their absence.
async fn confirmed(
    connection: &mut Connection<'_>,
    zone: &Name,
    keys: &[&SetKey],
    seeming: Vec<Option<RecordSet>>,
) -> Result<Option<Vec<Option<RecordSet>>>, Failure> {
    let claims: Vec<Claim<'_>> = keys.iter().zip(&seeming).map(|(key, set)| (*key, set.as_ref())).collect();
    let mut doubted = Vec::new();
    for (first, some) in messages(&claims) {
        if !hold(connection, zone, some).await? {
            doubted.extend(first..first + some.len());
        }
    }
    if doubted.len() > DOUBTS {
        return Ok(None);
    }
    let mut sets: Vec<Option<RecordSet>> = seeming.clone();
    for at in doubted {
        if hold(connection, zone, &claims[at..=at]).await? {
            continue;
        }
        if !hold(connection, zone, &[(keys[at], None)]).await? {
            return Ok(None);
        }
        sets[at] = None;
    }
    Ok(Some(sets))
}

/// Whether a zone holds exactly this.
async fn hold(connection: &mut Connection<'_>, zone: &Name, claims: &[Claim<'_>]) -> Result<bool, Failure> {
    let lines: Vec<Line<'_>> = claims.iter().flat_map(|claim| prerequisites(*claim)).collect();
    let request = message::update(connection.next_id(), zone, &lines, &[])?;
    match connection.ask(request).await?.rcode {
        rcode::NOERROR => Ok(true),
        code => match rcode::failure(code) {
            Failure::Changed => Ok(false),
            failure => Err(failure),
        },
    }
}

/// Claims that go into one message, each with the number of its first.
fn messages<'c, 'a>(claims: &'c [Claim<'a>]) -> Vec<(usize, &'c [Claim<'a>])> {
    let mut messages = Vec::new();
    let (mut start, mut size) = (0, 0);
    for (at, claim) in claims.iter().enumerate() {
        let more: usize = prerequisites(*claim).iter().map(Line::size).sum();
        if at > start && size + more > MOST {
            messages.push((start, &claims[start..at]));
            (start, size) = (at, 0);
        }
        size += more;
    }
    if start < claims.len() {
        messages.push((start, &claims[start..]));
    }
    messages
}
