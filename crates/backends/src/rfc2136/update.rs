//! Batches of changes as update messages.
//!
//! ```text
//! changes ──► units (what belongs to one name, its mark included) ──► messages under 64 KiB
//! ```
//!
//! Every change carries what stood there before as a prerequisite, so that the server itself refuses
//! what was worked out from an older state. Within a unit everything that goes comes before everything
//! that is added: a server passes silently over a CNAME beside other data (RFC 2136 section 3.4.2.2),
//! and the message is made as a whole or not at all, so nobody sees the name without an answer.

use dns::{Name, RecordSet, Rtype};
use domain::base::iana::Class;

use super::message::Line;
use crate::unit::{Claim, Unit};
use crate::{Failure, SetChange, SetKey};

/// How much of a message is used: below 64 KiB by what header, zone and signature take.
const MOST: usize = 64_000;

/// Units that go into one message, message by message.
pub(super) fn messages<'u, 'a>(units: &'u [Unit<'a>], besides: usize) -> Vec<&'u [Unit<'a>]> {
    let mut messages = Vec::new();
    let (mut start, mut size) = (0, besides);
    for (at, unit) in units.iter().enumerate() {
        if at > start && size + unit.size() > MOST {
            messages.push(&units[start..at]);
            (start, size) = (at, besides);
        }
        size += unit.size();
    }
    if start < units.len() {
        messages.push(&units[start..]);
    }
    messages
}

impl<'a> Unit<'a> {
    /// The most that it takes in a message.
    fn size(&self) -> usize {
        let sets = self.changes.iter().flat_map(|(_, change)| [&change.before, &change.after]).flatten();
        // What stood there is said as a prerequisite, and may be said again to be deleted one by one.
        let records: usize = sets.map(|entry| 2 * set_size(&entry.set)).sum();
        let names: usize = self.changes.iter().map(|(_, change)| 2 * (change.key.name.wire_len() + 10)).sum();
        records + names + claims_size(&self.guards)
    }

    /// What must stand for the changes to hold. The SOA moves by itself with every update.
    pub(super) fn claims(&self) -> impl Iterator<Item = Claim<'a>> {
        let changes = self.changes.iter().map(|(_, change)| *change);
        let changes = changes.filter(|change| change.key.rtype != Rtype::SOA);
        let guards = self.guards.iter().copied();
        guards.chain(changes.map(|change| (&change.key, before(change))))
    }

    /// What is done, in this order.
    pub(super) fn operations(&self, zone: &'a Name) -> Result<Vec<Line<'a>>, Failure> {
        let (mut going, mut coming) = (Vec::new(), Vec::new());
        for (_, change) in &self.changes {
            match change.key.name == *zone && matches!(change.key.rtype, Rtype::NS | Rtype::SOA) {
                true => apex_operations(change, &mut coming)?,
                false => operations(change, &mut going, &mut coming),
            }
        }
        going.extend(coming);
        Ok(going)
    }
}

/// The most that claims take in a message.
pub(super) fn claims_size(claims: &[Claim<'_>]) -> usize {
    claims.iter().flat_map(|claim| prerequisites(*claim)).map(|line| line.size()).sum()
}

fn set_size(set: &RecordSet) -> usize {
    set.data.iter().map(|data| set.name.wire_len() + 10 + data.wire().len()).sum()
}

/// What stood there.
pub(super) fn before(change: &SetChange) -> Option<&RecordSet> {
    change.before.as_ref().map(|entry| &entry.set)
}

/// What is to stand there.
pub(super) fn after(change: &SetChange) -> Option<&RecordSet> {
    change.after.as_ref().map(|entry| &entry.set)
}

fn operations<'a>(change: &'a SetChange, going: &mut Vec<Line<'a>>, coming: &mut Vec<Line<'a>>) {
    if change.before.is_some() {
        let SetKey { name, rtype } = &change.key;
        going.push(Line { name, rtype: *rtype, class: Class::ANY, ttl: 0, data: &[] });
    }
    coming.extend(after(change).into_iter().flat_map(additions));
}

/// A server keeps SOA and the last NS of the apex whatever a message says (RFC 2136 section 3.4.2.3), so
/// new ones are added first and old ones taken away one by one.
fn apex_operations<'a>(change: &'a SetChange, lines: &mut Vec<Line<'a>>) -> Result<(), Failure> {
    let wanted = after(change).ok_or(Failure::Unsupported("a zone's own SOA and NS cannot be removed"))?;
    lines.extend(additions(wanted));
    if change.key.rtype == Rtype::NS {
        let gone = before(change).into_iter().flat_map(|set| set.data.iter());
        let gone = gone.filter(|data| !wanted.data.contains(data));
        let deletion = |data: &'a dns::Rdata| Line {
            name: &change.key.name,
            rtype: Rtype::NS,
            class: Class::NONE,
            ttl: 0,
            data: data.wire(),
        };
        lines.extend(gone.map(deletion));
    }
    Ok(())
}

fn additions(set: &RecordSet) -> impl Iterator<Item = Line<'_>> {
    let line = |data| Line { name: &set.name, rtype: set.rtype, class: Class::IN, ttl: set.ttl, data };
    set.data.iter().map(move |data| line(data.wire()))
}

/// A claim as prerequisites: the set is exactly this, or is not there (RFC 2136 section 2.4).
pub(super) fn prerequisites<'a>((key, set): Claim<'a>) -> Vec<Line<'a>> {
    let line = |class, data| Line { name: &key.name, rtype: key.rtype, class, ttl: 0, data };
    match set {
        None => vec![line(Class::NONE, &[][..])],
        Some(set) => set.data.iter().map(|data| line(Class::IN, data.wire())).collect(),
    }
}
