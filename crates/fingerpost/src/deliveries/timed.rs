//! A provider whose requests are timed, for `/metrics`.

use std::sync::Arc;
use std::time::Instant;

use backends::{Batch, Entry, Failure, NewZone, OpenedZone, Provider, Reading, Reply, SetKey, Steers};
use dns::Name;
use futures::future::BoxFuture;

use super::counts::{Counts, Request};

/// A provider, and where its times go.
pub(super) struct Timed {
    class: Arc<str>,
    provider: Arc<dyn Provider>,
    counts: Counts,
}

impl Timed {
    pub(super) fn of(class: &Arc<str>, provider: Arc<dyn Provider>, counts: &Counts) -> Arc<dyn Provider> {
        Arc::new(Timed { class: class.clone(), provider, counts: counts.clone() })
    }

    fn timed<'a, T: Send + 'a>(
        &'a self,
        request: Request,
        answer: impl Future<Output = T> + Send + 'a,
    ) -> BoxFuture<'a, T> {
        Box::pin(async move {
            let start = Instant::now();
            let answer = answer.await;
            self.counts.took(&self.class, request, start.elapsed());
            answer
        })
    }
}

impl Provider for Timed {
    fn reading(&self) -> Reading {
        self.provider.reading()
    }

    fn is_shared(&self) -> bool {
        self.provider.is_shared()
    }

    fn batch_size(&self) -> usize {
        self.provider.batch_size()
    }

    fn health(&self) -> Reply<'_, ()> {
        self.timed(Request::Health, self.provider.health())
    }

    fn steers(&self) -> Reply<'_, Steers> {
        self.provider.steers()
    }

    fn open_zone<'a>(&'a self, zone: &'a NewZone) -> Reply<'a, OpenedZone> {
        self.timed(Request::Read, self.provider.open_zone(zone))
    }

    fn revision<'a>(&'a self, zone: &'a Name) -> Reply<'a, Option<u64>> {
        self.timed(Request::Read, self.provider.revision(zone))
    }

    fn read_zone<'a>(&'a self, zone: &'a Name) -> Reply<'a, Vec<Entry>> {
        self.timed(Request::Read, self.provider.read_zone(zone))
    }

    fn read_sets<'a>(
        &'a self,
        zone: &'a Name,
        keys: &'a [(SetKey, Option<Name>)],
    ) -> Reply<'a, Vec<Option<Entry>>> {
        self.timed(Request::Read, self.provider.read_sets(zone, keys))
    }

    fn foresee(&self, batch: &Batch) {
        self.provider.foresee(batch);
    }

    fn write<'a>(&'a self, batch: &'a Batch) -> BoxFuture<'a, Vec<Result<(), Failure>>> {
        self.timed(Request::Write, self.provider.write(batch))
    }

    fn settle<'a>(&'a self, zone: &'a Name) -> Reply<'a, ()> {
        self.timed(Request::Write, self.provider.settle(zone))
    }
}
