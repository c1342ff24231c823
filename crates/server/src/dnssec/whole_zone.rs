//! A whole zone with all of its signatures and a chain of NSEC records, for whoever serves it
//! elsewhere or reads it as a file.

use std::sync::Arc;

use dns::{Name, RecordSet, Rtype};

use super::Signing;
use super::denial::Proofs;
use super::sign::Subject;
use crate::Zone;
use crate::steering::present;

/// How many names are read at once.
const BATCH: usize = 256;

/// Every record set of a signed zone, the SOA first, each followed by its signatures; steered sets
/// as those have them who cannot be steered.
///
/// The chain is a plain one, also where single answers are denied compactly: a server elsewhere
/// has no keys. `None` for a zone that is not signed or whose content is not known.
pub fn signed_sets(zone: &Zone, now: u32) -> Option<impl Iterator<Item = RecordSet>> {
    let whole = Whole { zone, signing: zone.signing()?, now };
    let soa = whole.signed(zone.soa()?.clone());
    let named = zone.chain().flat_map(move |name| whole.name(&name));
    let hidden = zone.present_sets().filter(|set| zone.is_hidden(&set.name));
    Some(soa.chain(named).chain(hidden))
}

/// The same without the SOA, for a reader that may take long: it holds on to its version of the zone,
/// and to the sets of some names. Nothing comes of a zone that is not signed.
pub(crate) fn signed_content(zone: Arc<Zone>, now: u32) -> impl Iterator<Item = RecordSet> + Send {
    let mut last: Option<Name> = None;
    let batches = std::iter::from_fn(move || {
        let whole = Whole { zone: &zone, signing: zone.signing()?, now };
        let Some(after) = last.clone() else {
            last = Some(zone.origin().clone());
            return Some(whole.apex());
        };
        let names: Vec<Name> = zone.walk(Some(&after)).take(BATCH).map(|(name, _)| name).collect();
        last = Some(names.last()?.clone());
        Some(names.iter().flat_map(|name| whole.at(name)).collect())
    });
    batches.flatten()
}

#[derive(Clone, Copy)]
struct Whole<'a> {
    zone: &'a Zone,
    signing: &'a Signing,
    now: u32,
}

impl Whole<'_> {
    /// The apex, the SOA's signature among it.
    fn apex(self) -> Vec<RecordSet> {
        let soa = self.zone.soa().cloned();
        let signature = soa.into_iter().flat_map(|soa| self.signed(soa).skip(1));
        signature.chain(self.name(self.zone.origin())).collect()
    }

    /// What any name has that is not the apex.
    fn at(self, name: &Name) -> Vec<RecordSet> {
        let sets = self.zone.sets_at(name.key());
        match self.zone.is_hidden(name) {
            true => sets.into_owned(),
            // What another signer left at a name of its own is not ours.
            false if sets.is_empty() => Vec::new(),
            false => self.name(name),
        }
    }

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
