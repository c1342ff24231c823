//! What every provider can do.
//!
//! A provider neither decides nor remembers: what to read and to write, in which order and when, is
//! the delivery's business, and so are marks and retries.

use std::collections::BTreeMap;

use dns::{Name, RecordSet, Rtype};
use futures::future::BoxFuture;

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The records.
    pub set: RecordSet,
    /// The domain that the name is told relative to, for protocols that have one; else the zone's.
    pub domain: Option<Name>,
    /// Settings that only this provider knows.
    pub properties: BTreeMap<String, String>,
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
        Entry { set, domain: None, properties: BTreeMap::new() }
    }
}
