//! What a provider holds, as endpoints, and whether that is what it was asked to hold.

use std::collections::{BTreeMap, HashMap};

use dns::{Name, RecordSet};

use super::endpoint::{Endpoint, set_of, ttl};
use crate::{Entry, SetKey};

/// Everything that a provider holds.
#[derive(Debug, Default)]
pub(super) struct Held(BTreeMap<SetKey, Vec<Endpoint>>);

/// What we asked for, and what the provider makes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Meaning {
    pub(super) wanted: Entry,
    pub(super) adjusted: Endpoint,
}

/// What each of our record sets has become at the provider.
pub(super) type Meanings = HashMap<SetKey, Meaning>;

impl Held {
    /// Endpoints by record set. Those of a type that only this provider has are nobody's business.
    pub(super) fn new(endpoints: Vec<Endpoint>) -> Held {
        let mut held = BTreeMap::<SetKey, Vec<Endpoint>>::new();
        for endpoint in endpoints {
            if let Some(key) = endpoint.key() {
                held.entry(key).or_default().push(endpoint);
            }
        }
        Held(held)
    }

    /// The endpoints of a record set, as the provider told them.
    pub(super) fn endpoints(&self, key: &SetKey) -> &[Endpoint] {
        self.0.get(key).map(Vec::as_slice).unwrap_or_default()
    }

    /// A record set; where it is what the provider made of ours, ours.
    pub(super) fn entry(&self, key: &SetKey, meanings: &Meanings) -> Option<Entry> {
        let endpoints = self.endpoints(key);
        if let (Some(meaning), [endpoint]) = (meanings.get(key), endpoints)
            && is_as_told(endpoint, &meaning.adjusted)
        {
            return Some(meaning.wanted.clone());
        }
        let endpoints: Vec<&Endpoint> = endpoints.iter().collect();
        let set: RecordSet = set_of(key, &endpoints)?;
        let properties = endpoints.iter().flat_map(|endpoint| endpoint.properties()).collect();
        Some(Entry::new(set, None, properties))
    }

    /// Everything in a zone that can be told as record sets.
    pub(super) fn entries<'a>(
        &'a self,
        zone: &'a Name,
        meanings: &'a Meanings,
    ) -> impl Iterator<Item = Entry> + 'a {
        let keys = self.0.keys().filter(|key| key.name.is_in(zone));
        keys.filter_map(|key| self.entry(key, meanings))
    }
}

/// Whether an endpoint that was read is one that was written: what the provider does not tell (a TTL, a
/// setting) does not differ.
pub(super) fn is_as_told(read: &Endpoint, written: &Endpoint) -> bool {
    let (Some(key), true) = (written.key(), read.set_identifier == written.set_identifier) else {
        return false;
    };
    let data = |endpoint| set_of(&key, &[endpoint]).map(|set| set.data);
    let same_ttl = match (ttl(read.record_ttl), ttl(written.record_ttl)) {
        (Some(read), Some(written)) => read == written,
        _ => true,
    };
    let written_properties = written.properties();
    let same_property = |(name, value): (String, String)| {
        written_properties.get(&name).is_none_or(|written| *written == value)
    };
    same_ttl
        && data(read).is_some()
        && data(read) == data(written)
        && read.properties().into_iter().all(same_property)
}
