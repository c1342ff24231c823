//! Adds to an answer what a validator needs: signatures, DS records of referrals, and proofs of
//! what does not exist (RFC 4035 section 3.1).
//!
//! The steps of the answer say what each set is and where it came from, so nothing is looked up
//! a second time but what is added.

use std::collections::BTreeMap;
use std::sync::Arc;

use dns::{Name, RecordSet, Rtype};

use super::denial::{NXNAME, Proofs, signed_types};
use super::sign::Subject;
use super::{Denial, Signing};
use crate::zones::{Found, of_type};
use crate::{Answer, Rcode, Step, Zone, Zones};

/// What the client wants to know.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wish {
    /// The type that it asked for.
    pub(crate) rtype: Rtype,
    /// Whether it validates (RFC 3225).
    pub(crate) dnssec_ok: bool,
    /// Whether it understands NXDOMAIN with a compact proof (RFC 9824 section 5.1).
    pub(crate) compact_ok: bool,
    /// Whether the world has been read once. Until then a proof speaks for one name: a link of the
    /// chain would deny whatever has come between two names since (RFC 8198).
    pub(crate) synced: bool,
}

/// Completes an answer from signed zones; one from other zones stays as it is.
pub(crate) fn secure(zones: &Zones, answer: &mut Answer, wish: Wish, now: u32) {
    if !wish.dnssec_ok && !matches!(wish.rtype, Rtype::NSEC | Rtype::RRSIG) {
        return;
    }
    let steps = std::mem::take(&mut answer.steps);
    let mut pass =
        Pass { zones, wish, now, part: None, signatures: BTreeMap::new(), authority: Vec::new(), answer };
    steps.iter().for_each(|step| pass.step(step));
    pass.finish();
    answer.steps = steps;
}

struct Pass<'a> {
    zones: &'a Zones,
    wish: Wish,
    now: u32,
    /// The zone that speaks at this step, where it is signed.
    part: Option<Part<'a>>,
    /// The RRSIG set of each set in the answer section, by its place there.
    signatures: BTreeMap<usize, RecordSet>,
    /// What comes to the authority section.
    authority: Vec<RecordSet>,
    answer: &'a mut Answer,
}

#[derive(Clone)]
struct Part<'a> {
    zone: &'a Zone,
    signing: &'a Arc<Signing>,
    denial: Denial,
    wildcard: Option<Name>,
}

impl<'a> Pass<'a> {
    fn step(&mut self, step: &Step) {
        if let Step::Zone { origin, .. } = step {
            return self.enter(origin);
        }
        let Some(part) = self.part.clone() else { return };
        match step {
            Step::Wildcard { wildcard, .. } => {
                self.part = Some(Part { wildcard: Some(wildcard.clone()), ..part });
            }
            Step::NoData(name) if !self.wish.dnssec_ok => self.asked_for(&part, name),
            _ if !self.wish.dnssec_ok => {}
            Step::Cname { from, .. } => self.data(&part, from, Rtype::CNAME),
            Step::Dname { owner, .. } => self.data(&part, owner, Rtype::DNAME),
            Step::Data { name, rtype } => self.data(&part, name, *rtype),
            Step::Referral(cut) => self.referral(&part, cut),
            Step::NoData(name) => self.no_data(&part, name),
            Step::NxDomain(name) => self.no_name(&part, name),
            _ => {}
        }
    }

    fn enter(&mut self, origin: &Name) {
        self.part = part(self.zones, origin);
        if let Some(part) = self.part.as_mut().filter(|_| !self.wish.synced) {
            part.denial = Denial::Compact;
        }
        let compact = self.part.as_ref().is_some_and(|part| part.denial == Denial::Compact);
        self.answer.compact |= compact && self.wish.dnssec_ok && self.wish.compact_ok;
    }

    /// Signs a set of the answer section, and proves of a wildcard's that nothing is closer.
    fn data(&mut self, part: &Part<'_>, name: &Name, rtype: Rtype) {
        let Some(place) = self.place(name, rtype) else { return };
        let set = &self.answer.answer[place];
        let owner = part.owner_of(name);
        let signed = part.signing.sign(Subject { set, owner, original_ttl: set.ttl }, self.now);
        self.signatures.extend(signed.map(|signed| (place, signed)));
        if owner != name {
            let closer = Proofs { zone: part.zone }.cover(name);
            self.add_signed(part, closer);
        }
    }

    fn place(&self, name: &Name, rtype: Rtype) -> Option<usize> {
        self.answer.answer.iter().position(|set| set.rtype == rtype && set.name == *name)
    }

    /// The DS set of a cut, or that it has none (RFC 4035 section 3.1.4).
    fn referral(&mut self, part: &Part<'_>, cut: &Name) {
        let sets = part.zone.sets_at(cut.key());
        let proof = match of_type(&sets, Rtype::DS) {
            Some(ds) => Some(ds.clone()),
            None => part.own_link(cut),
        };
        self.add_signed(part, proof);
    }

    fn no_data(&mut self, part: &Part<'_>, name: &Name) {
        if matches!(self.wish.rtype, Rtype::NSEC | Rtype::RRSIG) {
            self.asked_for(part, name);
        }
        if self.answer.authority.is_empty() {
            return;
        }
        self.sign_soa(part);
        let proofs = Proofs { zone: part.zone };
        let proofs = match part.denial {
            Denial::Nsec => proofs.no_data(name, part.wildcard.as_ref()),
            Denial::Compact => {
                let types = proofs.types(part.wildcard.as_ref().unwrap_or(name));
                proofs.alone(name, types).into_iter().collect()
            }
        };
        proofs.into_iter().for_each(|proof| self.add_signed(part, Some(proof)));
    }

    /// A name that does not exist. The compact proof says that it does and has nothing, so the
    /// code says NXDOMAIN only to who understands both.
    fn no_name(&mut self, part: &Part<'_>, name: &Name) {
        self.sign_soa(part);
        let proofs = Proofs { zone: part.zone };
        if part.denial == Denial::Nsec {
            return proofs.no_name(name).into_iter().for_each(|proof| self.add_signed(part, Some(proof)));
        }
        self.add_signed(part, proofs.alone(name, signed_types([NXNAME])));
        if !self.wish.compact_ok {
            self.answer.rcode = Rcode::NoError;
        }
    }

    /// The signature of a negative answer's SOA. It covers the TTL that the SOA has itself.
    fn sign_soa(&mut self, part: &Part<'_>) {
        let (Some(set), Some(own)) = (self.answer.authority.first(), part.zone.soa()) else { return };
        let subject = Subject { set, owner: &own.name, original_ttl: own.ttl };
        self.authority.extend(part.signing.sign(subject, self.now));
    }

    /// What exists through signing alone and was asked for by its type: the NSEC of a name, and of
    /// its signatures one set, as for every question that wants all of a name (RFC 8482).
    fn asked_for(&mut self, part: &Part<'_>, name: &Name) {
        let own = part.zone.sets_at(name.key());
        if part.wildcard.is_some() || own.is_empty() && name != part.zone.origin() {
            return;
        }
        let wanted = match self.wish.rtype {
            Rtype::NSEC => part.own_link(name),
            _ if part.zone.is_cut(name.key(), &own) => None,
            _ => part
                .zone
                .soa()
                .filter(|soa| soa.name == *name)
                .or(own.first())
                .and_then(|set| part.signing.sign(Subject::of(set), self.now)),
        };
        let Some(wanted) = wanted else { return };
        self.answer.authority.clear();
        if self.wish.rtype == Rtype::NSEC && self.wish.dnssec_ok {
            let signed = part.signing.sign(Subject::of(&wanted), self.now);
            self.signatures.extend(signed.map(|signed| (self.answer.answer.len(), signed)));
        }
        self.answer.answer.push(wanted);
    }

    /// Puts a set and its signature into the authority section, once.
    fn add_signed(&mut self, part: &Part<'_>, set: Option<RecordSet>) {
        let Some(set) = set.filter(|set| !self.authority.contains(set)) else { return };
        let signed = part.signing.sign(Subject::of(&set), self.now);
        self.authority.push(set);
        self.authority.extend(signed);
    }

    /// Puts everything where it belongs: a signature right after its set.
    fn finish(mut self) {
        let sets = std::mem::take(&mut self.answer.answer).into_iter().enumerate();
        let with_signature = |(place, set)| std::iter::once(set).chain(self.signatures.remove(&place));
        self.answer.answer = sets.flat_map(with_signature).collect();
        self.answer.authority.append(&mut self.authority);
        if self.wish.dnssec_ok {
            self.sign_additional();
        }
    }

    /// Signs the addresses of an answer. They come last, so they give way first; glue is not ours
    /// to sign (RFC 4035 section 2.2), nor is what is under a DNAME, nor another side's data.
    fn sign_additional(&mut self) {
        if self.answer.glue_needed > 0 || !self.answer.authoritative {
            return;
        }
        let signed = self.answer.additional.iter().filter_map(|set| {
            let part = part(self.zones, self.zones.find(&set.name)?.origin())?;
            part.speaks_for(set).then(|| part.signing.sign(Subject::of(set), self.now))?
        });
        let signed: Vec<RecordSet> = signed.collect();
        self.answer.additional.extend(signed);
    }
}

impl Part<'_> {
    /// Whose data a name is answered with. Compact answers are signed for the name itself, since
    /// to say that nothing is closer would take a second proof (RFC 9824 section 3.3).
    fn owner_of<'n>(&'n self, name: &'n Name) -> &'n Name {
        match (&self.wildcard, self.denial) {
            (Some(wildcard), Denial::Nsec) => wildcard,
            _ => name,
        }
    }

    /// Whether the data is the zone's own, or a part of it, and nothing hides it.
    fn speaks_for(&self, set: &RecordSet) -> bool {
        let found = self.zone.descend(&set.name, set.rtype);
        let Found::Node { sets, wildcard: None } = found else { return false };
        of_type(&sets, set.rtype).is_some_and(|own| set.data.iter().all(|data| own.data.contains(data)))
    }

    /// The NSEC record of a name that is there.
    fn own_link(&self, name: &Name) -> Option<RecordSet> {
        let proofs = Proofs { zone: self.zone };
        match self.denial {
            Denial::Nsec => proofs.link(name),
            Denial::Compact => proofs.alone(name, proofs.types(name)),
        }
    }
}

fn part<'a>(zones: &'a Zones, origin: &Name) -> Option<Part<'a>> {
    let zone = zones.zone(origin)?.as_ref();
    let signing = zone.signing()?;
    Some(Part { zone, signing, denial: signing.denial, wildcard: None })
}
