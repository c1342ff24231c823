//! A whole zone with all of its signatures and a chain of NSEC records, for whoever serves it
//! elsewhere or reads it as a file.

use dns::{Name, RecordSet, Rtype};

use super::Signing;
use super::denial::Proofs;
use super::sign::Subject;
use crate::Zone;
use crate::steering::present;

/// Every record set of a signed zone, the SOA first, each followed by its signatures; steered sets
/// as those have them who cannot be steered.
///
/// The chain is a plain one, also where single answers are denied compactly: a server elsewhere
/// has no keys. `None` for a zone that is not signed or whose content is not known.
pub fn signed_sets(zone: &Zone, now: u32) -> Option<impl Iterator<Item = RecordSet>> {
    let named = signed_names(zone, now)?;
    let hidden = zone.present_sets().filter(|set| zone.is_hidden(&set.name));
    Some(named.chain(hidden))
}

/// Every name of a zone in canonical order with its record sets, the SOA first and the others by type: those of
/// [`signed_sets`] where the zone is signed, else its present sets. Nothing is collected, so that a zone of any size
/// can be written while it is read.
pub fn sets_by_name(zone: &Zone, now: u32) -> Box<dyn Iterator<Item = Vec<RecordSet>> + Send + '_> {
    let (own, base) = zone.present_parts();
    match signed_names(zone, now) {
        None => Box::new(merged(own, base)),
        Some(named) => {
            let hidden = move |set: &RecordSet| zone.is_hidden(&set.name);
            let (own, base) = (own.filter(hidden), base.filter(hidden));
            Box::new(merged(named, merged(own, base).flatten()))
        }
    }
}

fn signed_names(zone: &Zone, now: u32) -> Option<impl Iterator<Item = RecordSet>> {
    let whole = Whole { zone, signing: zone.signing()?, now };
    let soa = whole.signed(zone.soa()?.clone());
    Some(soa.chain(zone.chain().flat_map(move |name| whole.name(&name))))
}

/// The sets of two sequences, each in canonical order of names, by name.
fn merged(
    one: impl Iterator<Item = RecordSet>,
    other: impl Iterator<Item = RecordSet>,
) -> impl Iterator<Item = Vec<RecordSet>> {
    let (mut one, mut other) = (one.peekable(), other.peekable());
    std::iter::from_fn(move || {
        let names = [one.peek(), other.peek()].map(|set| set.map(|set| set.name.clone()));
        let name = names.into_iter().flatten().min()?;
        let mut sets: Vec<RecordSet> = Vec::new();
        while let Some(set) = one.next_if(|set| set.name == name) {
            sets.push(set);
        }
        while let Some(set) = other.next_if(|set| set.name == name) {
            sets.push(set);
        }
        sets.sort_by_key(|set| (set.rtype != Rtype::SOA, set.rtype));
        Some(sets)
    })
}

/// What a signed zone has at one name of its chain, as [`signed_sets`] has it; at the apex the SOA
/// too. For those who go through the chain step by step. Nothing where the zone is not signed.
pub(crate) fn signed_sets_at(zone: &Zone, name: &Name, now: u32) -> Vec<RecordSet> {
    let Some(signing) = zone.signing() else { return Vec::new() };
    let whole = Whole { zone, signing, now };
    let soa = zone.soa().filter(|soa| soa.name == *name).cloned();
    soa.into_iter().flat_map(|soa| whole.signed(soa)).chain(whole.name(name)).collect()
}

#[derive(Clone, Copy)]
struct Whole<'a> {
    zone: &'a Zone,
    signing: &'a Signing,
    now: u32,
}

impl Whole<'_> {
    /// What a name of the chain has. Of a cut only the DS and the NSEC are the parent's to sign
    /// (RFC 4035 section 2.2).
    fn name(self, name: &Name) -> Vec<RecordSet> {
        let sets = self.zone.sets_at(name.key());
        let cut = self.zone.is_cut(name.key(), &sets);
        let (plain, ours): (Vec<RecordSet>, Vec<RecordSet>) =
            sets.iter().map(|set| self.present(set)).partition(|set| cut && set.rtype != Rtype::DS);
        let nsec = Proofs { zone: self.zone }.link(name);
        let ours = ours.into_iter().chain(nsec);
        plain.into_iter().chain(ours.flat_map(|set| self.signed(set))).collect()
    }

    fn present(self, set: &RecordSet) -> RecordSet {
        match self.zone.steering_at(set.name.key(), set.rtype) {
            Some(compiled) => present(set, compiled),
            None => set.clone(),
        }
    }

    fn signed(self, set: RecordSet) -> impl Iterator<Item = RecordSet> {
        let signatures = self.signing.sign(Subject::of(&set), self.now);
        std::iter::once(set).chain(signatures)
    }
}
