//! Proofs that something does not exist: NSEC records of the zone's chain (RFC 4034 section 4,
//! RFC 4035 section 3.1.3), or one made for the question (RFC 9824).

use dns::{Name, Rdata, RecordSet, Rtype};

use crate::Zone;

/// The type that says in an NSEC record that its owner does not exist (RFC 9824 section 3.1).
pub(crate) const NXNAME: Rtype = Rtype(128);

/// Proofs for one zone.
#[derive(Clone, Copy)]
pub(super) struct Proofs<'a> {
    pub(super) zone: &'a Zone,
}

impl Proofs<'_> {
    /// The NSEC record of a name in the chain.
    pub(super) fn link(self, name: &Name) -> Option<RecordSet> {
        self.nsec(name, &self.zone.name_after(name), self.types(name))
    }

    /// The NSEC records that a name which is not in the chain falls between: one.
    pub(super) fn cover(self, name: &Name) -> Option<RecordSet> {
        self.link(&self.zone.name_before(name.key()))
    }

    /// The record of a name that is in the chain, else the one that it falls between.
    pub(super) fn match_or_cover(self, name: &Name) -> Option<RecordSet> {
        if self.zone.sets_at(name.key()).is_empty() && name != self.zone.origin() {
            return self.cover(name);
        }
        self.link(name)
    }

    /// A record made for one name, which says what it has and nothing about any other name.
    pub(super) fn alone(self, name: &Name, types: Vec<Rtype>) -> Option<RecordSet> {
        self.nsec(name, &successor(name)?, types)
    }

    /// That a name and all below it do not exist, and no wildcard stands for it.
    pub(super) fn no_name(self, name: &Name) -> Vec<RecordSet> {
        let encloser = self.encloser(name);
        let wildcard = encloser.child(b"*").ok();
        let proofs = [self.cover(name), wildcard.and_then(|wildcard| self.cover(&wildcard))];
        distinct(proofs)
    }

    /// That a name has nothing of a type: the name's own record, or for a name that exists through
    /// a wildcard only that wildcard's, and that there is nothing closer.
    pub(super) fn no_data(self, name: &Name, wildcard: Option<&Name>) -> Vec<RecordSet> {
        match wildcard {
            Some(wildcard) => distinct([self.match_or_cover(wildcard), self.cover(name)]),
            // A zone that begins below without a delegation makes a name exist that our chain does
            // not know of; the chain would deny it.
            None if !self.exists(name) => distinct([self.alone(name, signed_types([])), None]),
            None => distinct([self.match_or_cover(name), None]),
        }
    }

    /// What a name has, as an NSEC record says it: at a cut only what the parent speaks for.
    pub(super) fn types(self, name: &Name) -> Vec<Rtype> {
        let sets = self.zone.sets_at(name.key());
        let cut = self.zone.is_cut(name.key(), &sets);
        let spoken_for = |rtype: &Rtype| !cut || matches!(*rtype, Rtype::NS | Rtype::DS);
        let soa = (name == self.zone.origin()).then_some(Rtype::SOA);
        signed_types(sets.iter().map(|set| set.rtype).filter(spoken_for).chain(soa))
    }

    fn exists(self, name: &Name) -> bool {
        let next = self.zone.name_after(&self.zone.name_before(name.key()));
        !self.zone.sets_at(name.key()).is_empty() || name == self.zone.origin() || next.is_below(name)
    }

    /// The longest name above this one that exists, itself or through a name below it.
    fn encloser(self, name: &Name) -> Name {
        let above = name.suffixes().skip(1).take_while(|above| above.is_in(self.zone.origin()));
        above.into_iter().find(|above| self.exists(above)).unwrap_or_else(|| self.zone.origin().clone())
    }

    fn nsec(self, name: &Name, next: &Name, types: Vec<Rtype>) -> Option<RecordSet> {
        let wire = [next.to_wire(), bitmap(types)].concat();
        let data = Rdata::from_wire(Rtype::NSEC, &wire).ok()?;
        Some(RecordSet::new(name.clone(), Rtype::NSEC, self.ttl(), vec![data]))
    }

    /// As long as any other negative answer may be kept (RFC 9077 section 3).
    fn ttl(self) -> u32 {
        let soa = self.zone.soa();
        let minimum = soa.and_then(|soa| soa.data.first()?.as_soa()).map_or(0, |soa| soa.minimum);
        soa.map_or(0, |soa| soa.ttl.min(minimum))
    }
}

/// The types with those that every name of a signed zone has.
pub(super) fn signed_types(types: impl IntoIterator<Item = Rtype>) -> Vec<Rtype> {
    let mut types: Vec<Rtype> = types.into_iter().chain([Rtype::NSEC, Rtype::RRSIG]).collect();
    types.sort_unstable();
    types.dedup();
    types
}

fn distinct(proofs: [Option<RecordSet>; 2]) -> Vec<RecordSet> {
    let mut proofs: Vec<RecordSet> = proofs.into_iter().flatten().collect();
    proofs.dedup();
    proofs
}

/// The type bit maps field (RFC 4034 section 4.1.2); the types are sorted.
fn bitmap(types: Vec<Rtype>) -> Vec<u8> {
    let mut out = Vec::new();
    for window in types.chunk_by(|a, b| a.0 >> 8 == b.0 >> 8) {
        let mut bits = [0u8; 32];
        window.iter().for_each(|rtype| bits[usize::from(rtype.0 & 0xff) / 8] |= 0x80 >> (rtype.0 % 8));
        let length = bits.iter().rposition(|octet| *octet != 0).map_or(0, |at| at + 1);
        out.extend_from_slice(&[(window[0].0 >> 8) as u8, length as u8]);
        out.extend_from_slice(&bits[..length]);
    }
    out
}

/// The next name in canonical order (RFC 4471 section 3.1): mostly `\000` below it. A name that is
/// too long for that has a longer or greater first label, or the next name after its parent.
fn successor(name: &Name) -> Option<Name> {
    if let Some(child) = name.child(&[0]).ok().filter(|child| child.wire_len() <= dns::MAX_WIRE) {
        return Some(child);
    }
    let (label, parent) = (name.labels().next()?.into_owned(), name.parent()?);
    let longer = [&label[..], &[0]].concat();
    let fits = |next: &Name| next.wire_len() <= dns::MAX_WIRE;
    if let Some(next) = parent.child(&longer).ok().filter(fits) {
        return Some(next);
    }
    let at = label.iter().rposition(|octet| *octet != u8::MAX)?;
    // Upper case sorts as lower case, so the octet before `A` is followed by the one after `Z`.
    let greater = if label[at] == b'@' { b'[' } else { label[at] + 1 };
    parent.child(&[&label[..at], &[greater]].concat()).ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use rstest::rstest;

    #[test]
    fn bit_maps_are_those_of_rfc_4034() {
        // RFC 4034 section 4.3: A MX RRSIG NSEC TYPE1234.
        let types = signed_types([Rtype(1234), Rtype::MX, Rtype::A]);
        let wanted = [&[0u8, 6, 0x40, 1, 0, 0, 0, 3, 4, 27][..], &[0; 26], &[0x20]].concat();
        assert_eq!(bitmap(types), wanted);
        assert_eq!(
            bitmap(signed_types([NXNAME])),
            [&[0, 17, 0, 0, 0, 0, 0, 3][..], &[0; 10], &[0x80]].concat()
        );
    }

    #[rstest]
    #[case("e.org.", "\\000.e.org.")]
    #[case(&near_the_limit(61, "a", 56), &near_the_limit(61, "a\\000", 56))]
    #[case(&near_the_limit(63, "@", 55), &near_the_limit(63, "[", 55))]
    #[case(&near_the_limit(63, "\\255", 55), &near_the_limit(62, "b", 55))]
    fn the_successor_is_the_next_name(#[case] name: &str, #[case] next: &str) {
        let (name, next): (Name, Name) = (name.parse().unwrap(), next.parse().unwrap());
        assert!(next > name);
        assert_eq!(successor(&name), Some(next));
    }

    /// A name whose first label has this length and ending, and that has no room for another label.
    fn near_the_limit(first: usize, ending: &str, third: usize) -> String {
        let label = "a".repeat(63);
        format!("{}{ending}.{label}.{label}.{}.e.org.", "a".repeat(first - 1), "a".repeat(third))
    }
}
