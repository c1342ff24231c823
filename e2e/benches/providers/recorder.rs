//! A provider that passes everything on and writes down what it was asked for.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use backends::{Batch, Entry, Failure, NewZone, OpenedZone, Provider, Reading, Reply, SetChange, SetKey};
use dns::Name;
use futures::FutureExt;
use futures::future::{self, BoxFuture};

/// A provider that is watched.
pub(crate) struct Recorder {
    inner: Box<dyn Provider>,
    seen: Mutex<Seen>,
}

/// What was asked of a provider so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// Every call with its name, in the order of their ends.
    pub(crate) calls: Vec<Call>,
    /// How many record sets were written.
    pub(crate) sets: usize,
    /// How many of these were written before, with the same content.
    pub(crate) repeated: usize,
    written: HashSet<u64>,
    hasher: RandomState,
}

/// One call of a provider.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    pub(crate) what: &'static str,
    pub(crate) start: Instant,
    pub(crate) end: Instant,
}

impl Recorder {
    pub(crate) fn new(inner: impl Provider + 'static) -> Arc<Recorder> {
        Arc::new(Recorder { inner: Box::new(inner), seen: Mutex::default() })
    }

    /// What was asked so far.
    pub(crate) fn seen(&self) -> Seen {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn watch<'a, T: Send + 'a>(&'a self, what: &'static str, call: BoxFuture<'a, T>) -> BoxFuture<'a, T> {
        async move {
            let start = Instant::now();
            let outcome = call.await;
            self.lock().calls.push(Call { what, start, end: Instant::now() });
            outcome
        }
        .boxed()
    }
}

impl Seen {
    /// When the last write was acknowledged.
    pub(crate) fn last_write(&self) -> Option<Instant> {
        self.calls.iter().filter(|call| call.what == "write").map(|call| call.end).max()
    }

    fn note(&mut self, change: &SetChange) {
        let data = change.after.as_ref().map(|after| (after.set.ttl, &after.set.data));
        let hash = self.hasher.hash_one((&change.key, data));
        self.sets += 1;
        self.repeated += usize::from(!self.written.insert(hash));
    }
}

impl Provider for Recorder {
    fn reading(&self) -> Reading {
        self.inner.reading()
    }

    fn is_shared(&self) -> bool {
        self.inner.is_shared()
    }

    fn batch_size(&self) -> usize {
        self.inner.batch_size()
    }

    fn health(&self) -> Reply<'_, ()> {
        self.watch("health", self.inner.health())
    }

    fn open_zone<'a>(&'a self, zone: &'a NewZone) -> Reply<'a, OpenedZone> {
        self.watch("open", self.inner.open_zone(zone))
    }

    fn revision<'a>(&'a self, zone: &'a Name) -> Reply<'a, Option<u64>> {
        self.watch("revision", self.inner.revision(zone))
    }

    fn read_zone<'a>(&'a self, zone: &'a Name) -> Reply<'a, Vec<Entry>> {
        self.watch("read zone", self.inner.read_zone(zone))
    }

    fn read_sets<'a>(
        &'a self,
        zone: &'a Name,
        keys: &'a [(SetKey, Option<Name>)],
    ) -> Reply<'a, Vec<Option<Entry>>> {
        self.watch("read sets", self.inner.read_sets(zone, keys))
    }

    fn write<'a>(&'a self, batch: &'a Batch) -> BoxFuture<'a, Vec<Result<(), Failure>>> {
        let call = self.watch("write", self.inner.write(batch));
        // Counted while the request is under way, so that watching costs no time.
        let count = async { batch.changes.iter().for_each(|change| self.lock().note(change)) };
        future::join(call, count).map(|(results, ())| results).boxed()
    }

    fn settle<'a>(&'a self, zone: &'a Name) -> Reply<'a, ()> {
        self.watch("settle", self.inner.settle(zone))
    }
}
