//! What ExternalDNS's TXT registry says: read, never written.
//!
//! A registry record's name cannot be parsed back for certain (is `a-www` the A record of `www`, or
//! any record of `a-www`?), so the names under which a known record may be marked are made instead
//! and looked up.

use std::collections::BTreeMap;

use dns::{Name, RecordSet, Rtype};

use super::text_of;
use crate::SetKey;

/// Whom a registry record names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heritage {
    /// ExternalDNS's owner id.
    pub owner: String,
    /// The Kubernetes object, as `kind/namespace/name`.
    pub resource: Option<String>,
}

/// How a registry was told to name its records; all empty is how it is installed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Naming {
    /// `--txt-prefix`; may hold `%{record_type}`.
    pub prefix: String,
    /// `--txt-suffix`; may hold `%{record_type}`.
    pub suffix: String,
    /// `--txt-wildcard-replacement`.
    pub wildcard: String,
}

/// The registry records of a zone.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    records: BTreeMap<Name, Heritage>,
    namings: Vec<Naming>,
}

const TYPE: &str = "%{record_type}";

impl Heritage {
    /// Reads a registry record; `None` for every other.
    pub fn read(set: &RecordSet) -> Option<Heritage> {
        let [data] = &set.data[..] else { return None };
        let text = text_of(data)?;
        let labels: BTreeMap<&str, &str> =
            text.trim_matches('"').split(',').filter_map(|word| word.split_once('=')).collect();
        let owner = labels.get("external-dns/owner").filter(|owner| !owner.is_empty())?;
        let resource = labels.get("external-dns/resource").map(|resource| (*resource).to_owned());
        let heritage = Heritage { owner: (*owner).to_owned(), resource };
        (labels.get("heritage") == Some(&"external-dns")).then_some(heritage)
    }
}

impl Naming {
    /// The names that a registry record of a set may have, the one with its type first.
    pub fn candidates(&self, key: &SetKey) -> Vec<Name> {
        let with_type = self.name(key, Some(key.rtype));
        // The old style has no type in it, and was never used for AAAA.
        let without = (key.rtype != Rtype::AAAA).then(|| self.name(key, None)).flatten();
        with_type.into_iter().chain(without).collect()
    }

    fn name(&self, key: &SetKey, rtype: Option<Rtype>) -> Option<Name> {
        let word = rtype.map(|rtype| rtype.to_string().to_lowercase()).unwrap_or_default();
        let text = key.name.undotted();
        let (first, rest) =
            text.split_once('.').map_or((&text[..], None), |(first, rest)| (first, Some(rest)));
        let first = if first == "*" && !self.wildcard.is_empty() { &self.wildcard } else { first };
        let in_affix = self.prefix.contains(TYPE) || self.suffix.contains(TYPE);
        let dash = if in_affix || rtype.is_none() { String::new() } else { format!("{word}-") };
        let (prefix, suffix) = (self.prefix.replace(TYPE, &word), self.suffix.replace(TYPE, &word));
        let rest = rest.map(|rest| format!(".{rest}")).unwrap_or_default();
        Name::parse(&format!("{prefix}{dash}{first}{suffix}{rest}")).ok()
    }
}

impl Registry {
    /// An empty one, for registries that name their records so; the usual naming is always tried too.
    pub fn new(namings: Vec<Naming>) -> Registry {
        let mut all = vec![Naming::default()];
        all.extend(namings.into_iter().filter(|naming| *naming != Naming::default()));
        Registry { records: BTreeMap::new(), namings: all }
    }

    /// Whether nothing was remembered.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Remembers a set if it is a registry record.
    pub fn note(&mut self, set: &RecordSet) {
        if let Some(heritage) = Heritage::read(set) {
            self.records.insert(set.name.clone(), heritage);
        }
    }

    /// Who marked a set.
    pub fn heritage(&self, key: &SetKey) -> Option<&Heritage> {
        let mut names = self.namings.iter().flat_map(|naming| naming.candidates(key));
        names.find_map(|name| self.records.get(&name))
    }
}
