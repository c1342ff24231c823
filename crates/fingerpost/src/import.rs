//! Import: what a provider's zone holds, whose it is, and what becoming ours would mean.
//!
//! Nothing in here asks or writes anything; the command does.

pub mod manifests;

use std::collections::{BTreeMap, BTreeSet};

use backends::delivery::Trouble;
use backends::marks::external_dns::{Heritage, Naming, Registry};
use backends::marks::{Mark, corner, mark_key};
use backends::powerdns::steered::STEERED;
use backends::{Entry, SetChange, SetKey};
use dns::{Name, RecordSet, Rtype};
use serde::Serialize;

use self::manifests::Form;

/// Whose a record set is, as far as marks tell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "kind", content = "owner")]
pub enum Holder {
    /// Ours.
    Us,
    /// That of another Fingerpost.
    Other(String),
    /// That of an ExternalDNS.
    ExternalDns(String),
    /// Nobody says that it is theirs.
    Nobody,
    /// The server has no ownership records.
    Unknown,
}

/// What is to be done with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    /// It is ours already.
    Ours,
    /// It becomes ours as it stands.
    Adopted,
    /// It becomes ours, and then what the plan says.
    Changed,
    /// It stays somebody else's.
    LeftAlone,
}

/// A record set of the zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// As it stands.
    pub set: RecordSet,
    /// Whose it is.
    pub holder: Holder,
    /// What is to be done with it.
    pub verdict: Verdict,
    /// What the plan says of it, the same or something else.
    pub planned: Option<RecordSet>,
}

impl Item {
    /// Whether it is ours and as declared, so that nothing is to be done.
    pub fn is_settled(&self) -> bool {
        self.verdict == Verdict::Ours && self.planned.is_some()
    }
}

/// What may become ours.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// Who we are.
    pub owner: String,
    /// The ExternalDNS whose records become ours.
    pub adopt_owner: Option<String>,
    /// How that one names its registry records.
    pub naming: Naming,
    /// What manifests would be made of.
    pub form: Form,
    /// Whether a Zone object declares the zone, with its name servers.
    pub zone_is_declared: bool,
    /// Where the server has no ownership records: what is taken over although it differs.
    pub unmarked: Option<BTreeSet<SetKey>>,
}

impl Choice {
    /// Whether no manifest is made of a zone's own name servers: only a new Zone has them.
    fn leaves_servers(&self) -> bool {
        self.form == Form::DnsRecord || self.zone_is_declared
    }
}

/// Everything that a zone holds but marks, registry records and the SOA.
pub fn items(
    zone: &Name,
    entries: &[Entry],
    choice: &Choice,
    planned: &BTreeMap<SetKey, RecordSet>,
) -> Vec<Item> {
    let sets = || entries.iter().map(|entry| &entry.set);
    let marks: Vec<Mark> = sets().filter_map(|set| Mark::read(set, zone)).collect();
    let mut registry = Registry::new(vec![choice.naming.clone()]);
    sets().for_each(|set| registry.note(set));
    let is_content = |set: &&RecordSet| {
        set.rtype != Rtype::SOA
            && !corner(zone).is_some_and(|corner| set.name.is_in(&corner))
            && Heritage::read(set).is_none()
            && !is_of_signer(set.rtype)
    };
    let mut items: Vec<Item> = sets()
        .filter(is_content)
        .map(|set| {
            let key = SetKey::of(set);
            let holder = match &choice.unmarked {
                Some(_) => Holder::Unknown,
                None => holder(&key, &marks, &registry, &choice.owner),
            };
            let planned = planned.get(&key).or_else(|| replacement(&key, &holder, planned)).cloned();
            let differs = planned.as_ref().is_some_and(|planned| planned != set);
            let has_no_manifest = manifests::is_undeclarable(choice.form, zone, set)
                || (choice.leaves_servers() && is_own_servers(&key, zone));
            let verdict = match planned.is_none() && has_no_manifest && holder != Holder::Us {
                true => Verdict::LeftAlone,
                false => verdict(&key, &holder, choice, differs),
            };
            Item { set: set.clone(), verdict, holder, planned }
        })
        .collect();
    items.sort_by(|one, other| (&one.set.name, one.set.rtype).cmp(&(&other.set.name, other.set.rtype)));
    items
}

/// Whether the provider executes the records, so that no manifest can hold them.
pub fn is_executed(set: &RecordSet) -> bool {
    set.rtype.refusal().is_some()
}

/// Whether the server makes such records by itself where it signs a zone.
fn is_of_signer(rtype: Rtype) -> bool {
    matches!(
        rtype,
        Rtype::RRSIG
            | Rtype::NSEC
            | Rtype::NSEC3
            | Rtype::NSEC3PARAM
            | Rtype::DNSKEY
            | Rtype::CDNSKEY
            | Rtype::CDS
            | BIND_SIGNING
    )
}

/// How far BIND has come with signing a zone.
const BIND_SIGNING: Rtype = Rtype(65534);

/// Whether these are a zone's own name servers, which are the zone's and not a DNSRecord's.
pub fn is_own_servers(key: &SetKey, zone: &Name) -> bool {
    key.rtype == Rtype::NS && key.name == *zone
}

/// What the plan has in place of a program that is not ours: the addresses that it answers with.
fn replacement<'a>(
    key: &SetKey,
    holder: &Holder,
    planned: &'a BTreeMap<SetKey, RecordSet>,
) -> Option<&'a RecordSet> {
    let address = |rtype: Rtype| planned.get(&SetKey { name: key.name.clone(), rtype });
    let is_replaced = key.rtype == STEERED && *holder != Holder::Us;
    is_replaced.then(|| address(Rtype::A).or_else(|| address(Rtype::AAAA))).flatten()
}

fn holder(key: &SetKey, marks: &[Mark], registry: &Registry, own: &str) -> Holder {
    let mut of_it = marks.iter().filter(|mark| mark.name == key.name && mark.types.contains(&key.rtype));
    match of_it.next() {
        Some(mark) if mark.owner == own => Holder::Us,
        Some(mark) => Holder::Other(mark.owner.clone()),
        None => match registry.heritage(key) {
            Some(heritage) => Holder::ExternalDns(heritage.owner.clone()),
            None => Holder::Nobody,
        },
    }
}

fn verdict(key: &SetKey, holder: &Holder, choice: &Choice, differs: bool) -> Verdict {
    let becomes_ours = match holder {
        Holder::Us => return if differs { Verdict::Changed } else { Verdict::Ours },
        Holder::Other(_) => false,
        Holder::ExternalDns(owner) => choice.adopt_owner.as_ref() == Some(owner),
        // Who takes over an ExternalDNS takes what that one has, and no more.
        Holder::Nobody => choice.adopt_owner.is_none(),
        Holder::Unknown => !differs || choice.unmarked.as_ref().is_some_and(|taken| taken.contains(key)),
    };
    match (becomes_ours, differs) {
        (false, _) => Verdict::LeftAlone,
        (true, true) => Verdict::Changed,
        (true, false) => Verdict::Adopted,
    }
}

/// The marks by which what is adopted becomes ours; nothing else is written, and nothing deleted.
///
/// Only what the plan has is marked: whoever delivers would delete the rest as ours and not wanted.
pub fn marks(
    zone: &Name,
    entries: &[Entry],
    items: &[Item],
    owner: &str,
    generation: u64,
) -> Result<Vec<SetChange>, Trouble> {
    let adopted = items.iter().filter(|item| item.verdict != Verdict::LeftAlone && item.planned.is_some());
    let mut types: BTreeMap<&Name, BTreeSet<Rtype>> = BTreeMap::new();
    for item in adopted {
        types.entry(&item.set.name).or_default().insert(item.set.rtype);
    }
    let mut changes = Vec::new();
    for (name, mut types) in types {
        let key = mark_key(owner, name, zone).ok_or_else(no_room)?;
        let before = entries.iter().find(|entry| SetKey::of(&entry.set) == key).cloned();
        let standing = before.as_ref().and_then(|entry| Mark::read(&entry.set, zone));
        let (held, terms) = standing.map(|mark| (mark.types, mark.terms)).unwrap_or_default();
        if types.is_subset(&held) {
            continue;
        }
        types.extend(held);
        let mark = Mark { terms, ..Mark::new(owner.to_owned(), generation, name.clone(), types) };
        let set = mark.to_set(zone).ok_or_else(no_room)?;
        changes.push(SetChange { key, before, after: Some(set.into()) });
    }
    Ok(changes)
}

fn no_room() -> Trouble {
    Trouble {
        reason: "InvalidConfiguration",
        code: "INVALID_CONFIGURATION",
        message: "the zone's name leaves no room for ownership marks".to_owned(),
    }
}

#[cfg(test)]
mod tests;
