//! From a name and a type to the sections of an answer, and the steps that led there.
//!
//! This is RFC 1034 section 4.3.2 with wildcards (RFC 4592), DNAME (RFC 6672), negative answers
//! (RFC 2308, RFC 8020) and small answers to ANY (RFC 8482).

use std::sync::Arc;

use dns::{Name, Rdata, RecordSet, Rtype};

use super::additional;
use crate::steering::{Asker, Chosen, Decision, reduced};
use crate::zones::{Found, of_type};
use crate::{Rcode, Zone, Zones};

/// How many CNAMEs and DNAMEs are followed; a resolver goes on from the last.
const MAX_CHAIN: usize = 16;

/// What a name and a type are answered with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// How it went.
    pub rcode: Rcode,
    /// Whether we speak for the name that was asked.
    pub authoritative: bool,
    /// The chain of aliases, then what was asked for.
    pub answer: Vec<RecordSet>,
    /// The SOA of a negative answer or the NS set of a referral.
    pub authority: Vec<RecordSet>,
    /// Addresses of the names in the other sections.
    pub additional: Vec<RecordSet>,
    /// How many of the first additional sets are glue that the referral is useless without.
    pub glue_needed: usize,
    /// Whether the client is told that what does not exist is denied compactly (RFC 9824).
    pub compact: bool,
    /// How many bits of the client's address the answer section depends on; none where it was not
    /// looked at (RFC 7871 section 7.2.1).
    pub scope: Option<u8>,
    /// More about a failure (RFC 8914).
    pub extended_error: Option<ExtendedError>,
    /// What was done, in order.
    pub steps: Vec<Step>,
}

/// The reason for a failure, for people who read the message (RFC 8914).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtendedError {
    /// The registered number.
    pub code: u16,
    /// What is wrong.
    pub text: String,
}

/// One step on the way to an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The name is in this zone.
    Zone {
        /// The name.
        name: Name,
        /// The origin of the zone.
        origin: Name,
    },
    /// The name is in none of the zones.
    NoZone(Name),
    /// The zone's content is not known.
    Unavailable {
        /// The origin of the zone.
        origin: Name,
        /// Why.
        reason: String,
    },
    /// The name does not exist itself and a wildcard stands for it.
    Wildcard {
        /// The name.
        name: Name,
        /// The wildcard.
        wildcard: Name,
    },
    /// The name is an alias.
    Cname {
        /// The alias.
        from: Name,
        /// What it stands for.
        to: Name,
    },
    /// A name above has a DNAME, which rewrites this one.
    Dname {
        /// Who has the DNAME.
        owner: Name,
        /// The name before.
        from: Name,
        /// The name after; none where it would be too long.
        to: Option<Name>,
    },
    /// The chain came back to a name that it had been at, and ends.
    Loop(Name),
    /// The chain has as many links as are followed; the name is the next.
    ChainTooLong(Name),
    /// The name has data of the type.
    Data {
        /// The name.
        name: Name,
        /// The type of the data.
        rtype: Rtype,
    },
    /// Of the data of the type this client gets a part.
    Steered {
        /// The name.
        name: Name,
        /// The type of the data.
        rtype: Rtype,
        /// How the part was chosen.
        decisions: Vec<Decision>,
    },
    /// The name is delegated to other servers at this cut.
    Referral(Name),
    /// The name exists and has nothing of the type.
    NoData(Name),
    /// The name does not exist.
    NxDomain(Name),
}

/// All that a client learns of a zone whose content is not known.
pub(crate) const NO_CONTENT: &str = "the zone cannot be loaded; the server's log has the reason";

impl ExtendedError {
    pub(super) fn not_authoritative() -> ExtendedError {
        ExtendedError { code: 20, text: "not in a zone that is served here".to_owned() }
    }

    pub(super) fn not_synced() -> ExtendedError {
        ExtendedError { code: 14, text: "not synced yet".to_owned() }
    }

    pub(super) fn no_view() -> ExtendedError {
        ExtendedError { code: 18, text: "no view is served to this address".to_owned() }
    }

    pub(super) fn prohibited() -> ExtendedError {
        ExtendedError { code: 18, text: "not allowed here".to_owned() }
    }

    pub(super) fn not_supported() -> ExtendedError {
        ExtendedError { code: 21, text: "not supported".to_owned() }
    }

    /// The reason itself may quote a file or name its path, so no client receives it.
    fn no_content() -> ExtendedError {
        ExtendedError { code: 24, text: NO_CONTENT.to_owned() }
    }
}

impl Answer {
    pub(super) fn failed(rcode: Rcode, extended_error: Option<ExtendedError>) -> Answer {
        Answer { rcode, extended_error, ..Answer::empty() }
    }

    fn empty() -> Answer {
        Answer {
            rcode: Rcode::NoError,
            authoritative: false,
            answer: Vec::new(),
            authority: Vec::new(),
            additional: Vec::new(),
            glue_needed: 0,
            compact: false,
            scope: None,
            extended_error: None,
            steps: Vec::new(),
        }
    }

    fn fail(&mut self, rcode: Rcode, extended_error: ExtendedError) {
        let steps = std::mem::take(&mut self.steps);
        *self = Answer { steps, ..Answer::failed(rcode, Some(extended_error)) };
    }

    /// Adds a set to the answer section unless it has it: a chain may pass one DNAME twice.
    fn push(&mut self, set: RecordSet) {
        if !self.answer.contains(&set) {
            self.answer.push(set);
        }
    }

    fn has_alias(&self, name: &Name) -> bool {
        self.answer.iter().any(|set| set.rtype == Rtype::CNAME && set.name == *name)
    }
}

/// Looks a name and a type up in the zones of a view, following aliases from zone to zone.
///
/// Of a steered set the asker gets its part, of an alias too.
pub fn lookup(zones: &Zones, name: &Name, rtype: Rtype, asker: &Asker) -> Answer {
    let mut walk = Walk { zones, rtype, asker, answer: Answer::empty() };
    let mut next = walk.visit(name);
    for _ in 0..MAX_CHAIN {
        let Some(name) = next else { break };
        if walk.answer.has_alias(&name) {
            walk.answer.steps.push(Step::Loop(name));
            return walk.answer;
        }
        next = walk.visit(&name);
    }
    if let Some(name) = next {
        walk.answer.steps.push(Step::ChainTooLong(name));
    }
    walk.answer
}

struct Walk<'a> {
    zones: &'a Zones,
    rtype: Rtype,
    asker: &'a Asker,
    answer: Answer,
}

impl Walk<'_> {
    /// Answers for one name of the chain; gives the next where it is an alias.
    fn visit(&mut self, name: &Name) -> Option<Name> {
        let Some(zone) = self.zones.authority(name, self.rtype) else {
            self.no_zone(name);
            return None;
        };
        self.answer.steps.push(Step::Zone { name: name.clone(), origin: zone.origin().clone() });
        let Some(soa) = zone.soa() else {
            self.unavailable(zone);
            return None;
        };
        // The first name of the answer decides who speaks for it (RFC 1035 section 4.1.1).
        let found = zone.descend(name, self.rtype);
        self.answer.authoritative |= !matches!(found, Found::Cut(_));
        match found {
            Found::Node { sets, wildcard } => self.node(name, zone, soa, &sets, wildcard),
            Found::Dname(set) => self.dname(name, set),
            Found::Cut(cut) => self.referral(zone, cut),
            Found::Missing => self.missing(name, soa),
        }
    }

    /// A chain that leaves the zones of the view ends there, and the resolver goes on.
    fn no_zone(&mut self, name: &Name) {
        self.answer.steps.push(Step::NoZone(name.clone()));
        if self.answer.answer.is_empty() {
            self.answer.fail(Rcode::Refused, ExtendedError::not_authoritative());
        }
    }

    fn unavailable(&mut self, zone: &Zone) {
        let reason = zone.unavailable().unwrap_or_default();
        let step = Step::Unavailable { origin: zone.origin().clone(), reason: reason.to_owned() };
        self.answer.steps.push(step);
        self.answer.fail(Rcode::ServFail, ExtendedError::no_content());
    }

    fn node(
        &mut self,
        name: &Name,
        zone: &Zone,
        soa: &RecordSet,
        sets: &[RecordSet],
        wildcard: Option<Name>,
    ) -> Option<Name> {
        let source = wildcard.as_ref().unwrap_or(name).clone();
        if let Some(wildcard) = wildcard {
            self.answer.steps.push(Step::Wildcard { name: name.clone(), wildcard });
        }
        if let Some(set) = self.wanted(name, zone, soa, sets) {
            let set = self.steered(zone, &source, RecordSet { name: name.clone(), ..set.clone() });
            self.data(set);
            return None;
        }
        match of_type(sets, Rtype::CNAME) {
            Some(alias) => {
                let alias = self.steered(zone, &source, RecordSet { name: name.clone(), ..alias.clone() });
                self.cname(alias)
            }
            None => self.no_data(name, soa),
        }
    }

    /// The part of a set for whoever asks; `source` is the name that has the set.
    fn steered(&mut self, zone: &Zone, source: &Name, set: RecordSet) -> RecordSet {
        let Some(compiled) = zone.steering_at(source.key(), set.rtype) else {
            return RecordSet { steering: None, ..set };
        };
        let mut chosen = Chosen::new();
        let (bits, decisions) = compiled.explain(self.asker, &mut chosen);
        self.answer.scope = self.answer.scope.max((bits > 0).then_some(bits));
        self.answer.steps.push(Step::Steered { name: set.name.clone(), rtype: set.rtype, decisions });
        reduced(&set, &mut chosen, self.asker.draw)
    }

    /// What the name has of the type. Of a name asked for ANY one set is enough (RFC 8482
    /// section 4.1).
    fn wanted<'a>(
        &self,
        name: &Name,
        zone: &Zone,
        soa: &'a RecordSet,
        sets: &'a [RecordSet],
    ) -> Option<&'a RecordSet> {
        let apex_soa = Some(soa).filter(|_| name == zone.origin());
        match self.rtype {
            Rtype::SOA => apex_soa,
            Rtype::ANY => sets.first().or(apex_soa),
            rtype => of_type(sets, rtype),
        }
    }

    fn data(&mut self, set: RecordSet) {
        self.answer.steps.push(Step::Data { name: set.name.clone(), rtype: set.rtype });
        self.answer.additional = additional::addresses(self.zones, std::slice::from_ref(&set), self.asker);
        self.answer.push(set);
    }

    /// A name has one alias (RFC 2181 section 10.1), however many are known while nobody steers.
    fn cname(&mut self, mut alias: RecordSet) -> Option<Name> {
        if let [first, _, ..] = &*alias.data {
            alias.data = Arc::new([first.clone()]);
        }
        let to = alias.data.first()?.target()?;
        self.answer.steps.push(Step::Cname { from: alias.name.clone(), to: to.clone() });
        self.answer.push(alias);
        Some(to)
    }

    /// RFC 6672 section 3.2: the DNAME, then a CNAME made from it with its TTL.
    fn dname(&mut self, name: &Name, set: RecordSet) -> Option<Name> {
        let target = set.data.first()?.target()?;
        let (owner, ttl) = (set.name.clone(), set.ttl);
        let to = name.rebase(&owner, &target);
        self.answer.push(set);
        self.answer.steps.push(Step::Dname { owner, from: name.clone(), to: to.clone() });
        let Some(to) = to else {
            self.answer.rcode = Rcode::YxDomain;
            return None;
        };
        let data = Arc::new([Rdata::name(Rtype::CNAME, &to)]);
        self.answer.push(RecordSet { name: name.clone(), rtype: Rtype::CNAME, ttl, data, steering: None });
        // Whoever asks for the alias itself has it.
        (self.rtype != Rtype::CNAME).then_some(to)
    }

    fn referral(&mut self, zone: &Zone, cut: RecordSet) -> Option<Name> {
        self.answer.steps.push(Step::Referral(cut.name.clone()));
        (self.answer.additional, self.answer.glue_needed) = additional::glue(zone, &cut, self.asker);
        self.answer.authority.push(cut);
        None
    }

    /// A zone that begins below makes the name an empty non-terminal, even where the parent has
    /// no delegation: NXDOMAIN would deny the whole zone below (RFC 8020).
    fn missing(&mut self, name: &Name, soa: &RecordSet) -> Option<Name> {
        if self.zones.begins_in(name) {
            return self.no_data(name, soa);
        }
        self.answer.steps.push(Step::NxDomain(name.clone()));
        self.answer.rcode = Rcode::NxDomain;
        self.answer.authority.push(negative(soa));
        None
    }

    fn no_data(&mut self, name: &Name, soa: &RecordSet) -> Option<Name> {
        self.answer.steps.push(Step::NoData(name.clone()));
        self.answer.authority.push(negative(soa));
        None
    }
}

/// The SOA of a negative answer: it may be kept no longer than its minimum field says (RFC 2308
/// section 3).
fn negative(soa: &RecordSet) -> RecordSet {
    let minimum = soa.data.first().and_then(|data| data.wire().last_chunk().copied());
    let ttl = minimum.map_or(soa.ttl, |minimum| soa.ttl.min(u32::from_be_bytes(minimum)));
    RecordSet { ttl, ..soa.clone() }
}
