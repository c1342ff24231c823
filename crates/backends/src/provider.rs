//! What every provider can do.
//!
//! A provider neither decides nor remembers: what to read and to write, in which order and when, is
//! the delivery's business, and so are marks and retries.

use std::borrow::Cow;
use std::collections::BTreeMap;

use dns::{Name, RecordSet, Rtype};
use futures::future::BoxFuture;

use crate::powerdns::lua::Program;
use crate::{Failure, Steers};

/// What a request comes back with.
pub type Reply<'a, T> = BoxFuture<'a, Result<T, Failure>>;

/// Which record set of a zone.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SetKey {
    /// The name.
    pub name: Name,
    /// The type.
    pub rtype: Rtype,
}

/// A record set as a provider holds it, or is to hold it.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The records.
    pub set: RecordSet,
    /// The domain that the name is told relative to, for protocols that have one; else the zone's.
    pub domain: Option<Name>,
    /// Settings that only this provider knows.
    pub properties: BTreeMap<String, String>,
    /// The program that the set was made from. PowerDNS is sent a LUA record of a program only; no data
    /// that came from elsewhere can become one, since nothing outside of its module makes a program.
    pub(crate) program: Option<Program>,
}

/// One record set that changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetChange {
    /// Which.
    pub key: SetKey,
    /// What stands there, as it was last read; the change holds only for this.
    pub before: Option<Entry>,
    /// What is to stand there.
    pub after: Option<Entry>,
}

/// Changes of one zone that go together, in an order that is safe for a provider that does them one
/// by one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The zone, as the provider has it.
    pub zone: Name,
    /// The changes, each key once.
    pub changes: Vec<SetChange>,
    /// What must stand there besides, for any of it to be done.
    pub guards: Vec<(SetKey, Option<RecordSet>)>,
    /// The fencing token: a receiver that has seen a higher one refuses.
    pub generation: u64,
}

/// A zone that may have to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewZone {
    /// Its origin.
    pub origin: Name,
    /// Its SOA.
    pub soa: RecordSet,
    /// Its name servers.
    pub name_servers: RecordSet,
}

/// The zone of a provider that holds an origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenedZone {
    /// Its origin: the one that was asked for, or one above it.
    pub origin: Name,
    /// Whether it was made just now.
    pub made: bool,
}

/// How a provider can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// A zone at a time, so that marks can say what is ours.
    Zones,
    /// A record set at a time: what is ours has to be remembered elsewhere.
    Sets,
}

/// A place that holds records and that we reach by requests.
pub trait Provider: Send + Sync {
    /// How it can be read.
    fn reading(&self) -> Reading;

    /// Whether others write there too, or rely on it, so that much is deleted only with consent.
    fn is_shared(&self) -> bool {
        true
    }

    /// How many changes a batch should have.
    fn batch_size(&self) -> usize;

    /// Asks how it is.
    fn health(&self) -> Reply<'_, ()>;

    /// What it can do of steering by itself, and how it is told.
    fn steers(&self) -> Reply<'_, Steers> {
        Box::pin(async { Ok(Steers::NOTHING) })
    }

    /// Finds the zone that holds an origin: the origin itself, else the closest above it, else (where
    /// the provider can make zones) a new one.
    fn open_zone<'a>(&'a self, zone: &'a NewZone) -> Reply<'a, OpenedZone>;

    /// A number that moves whenever somebody writes to the zone, where there is a cheap one.
    fn revision<'a>(&'a self, zone: &'a Name) -> Reply<'a, Option<u64>>;

    /// Everything that a zone holds, the SOA included. Only for [`Reading::Zones`].
    fn read_zone<'a>(&'a self, zone: &'a Name) -> Reply<'a, Vec<Entry>>;

    /// Some record sets of a zone, in the order of the keys. The entries are those that are wanted
    /// there, which tell domain and settings.
    fn read_sets<'a>(
        &'a self,
        zone: &'a Name,
        keys: &'a [(SetKey, Option<Name>)],
    ) -> Reply<'a, Vec<Option<Entry>>>;

    /// Hears of a batch that is likely to be written next while another is under way, so that what can be
    /// done for it before its time is done.
    fn foresee(&self, _: &Batch) {}

    /// Makes changes, and tells how each fared, in their order. One that is refused does not keep the
    /// others from being made.
    fn write<'a>(&'a self, batch: &'a Batch) -> BoxFuture<'a, Vec<Result<(), Failure>>>;

    /// What is to be done once after all batches of a zone, such as making it ready for DNSSEC.
    fn settle<'a>(&'a self, zone: &'a Name) -> Reply<'a, ()>;
}

impl SetKey {
    /// The key of a record set.
    pub fn of(set: &RecordSet) -> SetKey {
        SetKey { name: set.name.clone(), rtype: set.rtype }
    }
}

impl From<RecordSet> for Entry {
    fn from(set: RecordSet) -> Entry {
        Entry::new(set, None, BTreeMap::new())
    }
}

impl Entry {
    /// A record set with the domain that it is told relative to and its settings.
    pub fn new(set: RecordSet, domain: Option<Name>, properties: BTreeMap<String, String>) -> Entry {
        Entry { set, domain, properties, program: None }
    }
}

/// The program is another form of the set's own data, so a set that was read back equals the one that was
/// written.
impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        (&self.set, &self.domain, &self.properties) == (&other.set, &other.domain, &other.properties)
    }
}

impl Eq for Entry {}

/// Why records of a type that no user's data may have are not written.
pub(crate) const EXECUTED: Failure = Failure::Unsupported(
    "records of a type that is for private use or for queries are not written: a DNS server may execute them",
);

impl SetChange {
    /// Whether it would write records that only a DNS server's own software gives a meaning, and that it may
    /// execute. Deleting such records is allowed.
    pub(crate) fn writes_executed(&self) -> bool {
        let is_executed = |set: &RecordSet| {
            set.rtype.refusal().is_some() || set.data.iter().any(|data| data.rtype() != set.rtype)
        };
        self.after.as_ref().is_some_and(|after| self.key.rtype.refusal().is_some() || is_executed(&after.set))
    }
}

/// A batch for a provider that holds plain record sets. Changes to a type that a server may execute are
/// taken out of it, whatever made them.
pub(crate) struct PlainBatch<'a> {
    given: &'a Batch,
    allowed: Cow<'a, Batch>,
}

impl<'a> PlainBatch<'a> {
    pub(crate) fn of(given: &'a Batch) -> PlainBatch<'a> {
        let is_executed = SetChange::writes_executed;
        let allowed = match given.changes.iter().any(is_executed) {
            false => Cow::Borrowed(given),
            true => {
                let changes = given.changes.iter().filter(|change| !is_executed(change)).cloned().collect();
                Cow::Owned(Batch { changes, ..given.clone() })
            }
        };
        PlainBatch { given, allowed }
    }

    /// What may be written.
    pub(crate) fn allowed(&self) -> &Batch {
        &self.allowed
    }

    /// The results of the whole batch, given those of what may be written.
    pub(crate) fn results(&self, written: Vec<Result<(), Failure>>) -> Vec<Result<(), Failure>> {
        let mut written = written.into_iter();
        let result = |change: &SetChange| match change.writes_executed() {
            true => Err(EXECUTED),
            false => written.next().unwrap_or(Err(Failure::Unreadable)),
        };
        self.given.changes.iter().map(result).collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use dns::Rdata;
    use rstest::rstest;

    use super::*;

    fn change(rtype: Rtype, wire: &[u8]) -> SetChange {
        let name = Name::parse("www.example.org").unwrap();
        let data = vec![Rdata::from_wire(rtype, wire).unwrap()];
        let set = RecordSet::new(name, rtype, 60, data);
        SetChange { key: SetKey::of(&set), before: None, after: Some(set.into()) }
    }

    #[rstest]
    #[case(Rtype(65402), b"\0\x01\x011")]
    #[case(Rtype(65401), b"\0")]
    #[case(Rtype(65280), b"")]
    fn a_plain_batch_has_no_type_that_a_server_executes(#[case] rtype: Rtype, #[case] wire: &[u8]) {
        let address = change(Rtype::A, &[192, 0, 2, 1]);
        let executed = change(rtype, wire);
        let deletion = SetChange { after: None, before: executed.after.clone(), ..executed.clone() };
        let changes = vec![executed, address.clone(), deletion.clone()];
        let batch =
            Batch { zone: Name::parse("example.org").unwrap(), changes, guards: Vec::new(), generation: 1 };
        let plain = PlainBatch::of(&batch);
        assert_eq!(plain.allowed().changes, [address, deletion]);
        assert_eq!(
            plain.results(vec![Ok(()), Err(Failure::Changed)]),
            [Err(EXECUTED), Ok(()), Err(Failure::Changed)]
        );
    }
}
