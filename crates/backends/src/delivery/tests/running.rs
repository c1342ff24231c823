//! The runner, with waits of milliseconds.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use dns::{Name, Rtype};
use futures::future::{BoxFuture, FutureExt};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::super::Settings;
use super::super::{Fence, Node, Order, Report, SetResult, start};
use super::fake::{Fake, set};
use super::world::{World, name, new_zone};
use crate::{Batch, Entry, Failure, NewZone, OpenedZone, Provider, Reading, Reply, SetKey};

struct Open(AtomicBool);

impl Fence for Open {
    fn may_send(&self, _timeout: Duration) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    fn generation(&self) -> u64 {
        3
    }
}

/// What goes wrong in a provider that takes its time.
#[derive(Clone, Copy, PartialEq)]
enum Trick {
    None,
    Hangs,
    Panics,
}

/// A provider that takes its time, and counts how much is asked of it at once.
struct Slow {
    fake: Arc<Fake>,
    at_once: AtomicUsize,
    most: AtomicUsize,
    trick: std::sync::Mutex<Trick>,
}

impl Slow {
    fn new() -> Slow {
        let fake = World::of_zones().fake;
        Slow { fake, at_once: AtomicUsize::new(0), most: AtomicUsize::new(0), trick: Trick::None.into() }
    }

    fn slowly<'a, T: Send + 'a>(&'a self, reply: BoxFuture<'a, T>) -> BoxFuture<'a, T> {
        async move {
            let now = self.at_once.fetch_add(1, Ordering::SeqCst) + 1;
            self.most.fetch_max(now, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(5)).await;
            self.at_once.fetch_sub(1, Ordering::SeqCst);
            let trick = std::mem::replace(&mut *self.trick.lock().unwrap(), Trick::None);
            match trick {
                Trick::Hangs => std::future::pending::<()>().await,
                Trick::Panics => panic!("a bug in a provider"),
                Trick::None => {}
            }
            reply.await
        }
        .boxed()
    }
}

impl Provider for Slow {
    fn reading(&self) -> Reading {
        self.fake.reading()
    }
    fn batch_size(&self) -> usize {
        self.fake.batch_size()
    }
    fn health(&self) -> Reply<'_, ()> {
        self.fake.health()
    }
    fn open_zone<'a>(&'a self, zone: &'a NewZone) -> Reply<'a, OpenedZone> {
        self.slowly(async move { self.fake.open_zone(zone).await }.boxed())
    }
    fn revision<'a>(&'a self, zone: &'a Name) -> Reply<'a, Option<u64>> {
        self.slowly(async move { self.fake.revision(zone).await }.boxed())
    }
    fn read_zone<'a>(&'a self, zone: &'a Name) -> Reply<'a, Vec<Entry>> {
        self.slowly(async move { self.fake.read_zone(zone).await }.boxed())
    }
    fn read_sets<'a>(
        &'a self,
        zone: &'a Name,
        keys: &'a [(SetKey, Option<Name>)],
    ) -> Reply<'a, Vec<Option<Entry>>> {
        self.slowly(async move { self.fake.read_sets(zone, keys).await }.boxed())
    }
    fn write<'a>(&'a self, batch: &'a Batch) -> BoxFuture<'a, Vec<Result<(), Failure>>> {
        self.slowly(async move { self.fake.write(batch).await }.boxed())
    }
    fn settle<'a>(&'a self, zone: &'a Name) -> Reply<'a, ()> {
        self.slowly(async move { self.fake.settle(zone).await }.boxed())
    }
}

fn settings() -> Settings {
    let mut settings = super::world::settings();
    settings.retry.base = Duration::from_millis(10);
    settings.timeout = Duration::from_millis(10);
    settings
}

fn wish(zone: &str) -> [Order; 2] {
    let set = set(&format!("www.{zone}"), Rtype::A, "192.0.2.1");
    let node = Node {
        zone: name(zone),
        name: set.name.clone(),
        sets: vec![Entry::from(set)],
        kept: vec![],
        shared: vec![],
        heir: None,
    };
    [Order::Zone(new_zone(zone)), Order::Nodes(vec![node])]
}

/// Waits until so many sets were told to stand.
async fn stand(reports: &mut UnboundedReceiver<Vec<Report>>, mut count: usize) {
    while count > 0 {
        let told = reports.recv().await.unwrap();
        count -= told
            .iter()
            .filter(|report| matches!(report, Report::Set { result: SetResult::Stands { .. }, .. }))
            .count();
    }
}

#[tokio::test]
async fn many_zones_are_delivered_side_by_side_up_to_the_limit_and_it_ends_with_its_orders() {
    let (sender, mut reports) = unbounded_channel();
    let slow = Arc::new(Slow::new());
    let (orders, handle) = start(settings(), Arc::new(Open(true.into())), sender);
    orders.send(Order::Provider(Ok(slow.clone()))).unwrap();
    for n in 0..20 {
        wish(&format!("z{n}.example")).into_iter().for_each(|order| orders.send(order).unwrap());
    }
    orders.send(Order::Complete).unwrap();
    stand(&mut reports, 20).await;
    assert_eq!(slow.most.load(Ordering::SeqCst), settings().concurrency);
    let generations: Vec<u64> = slow.fake.writes().iter().map(|batch| batch.generation).collect();
    assert!(!generations.is_empty() && generations.iter().all(|generation| *generation == 3));
    drop(orders);
    handle.await.unwrap();
}

#[tokio::test]
async fn a_provider_that_hangs_or_panics_is_tried_again() {
    for trick in [Trick::Hangs, Trick::Panics] {
        let (sender, mut reports) = unbounded_channel();
        let slow = Arc::new(Slow::new());
        *slow.trick.lock().unwrap() = trick;
        let (orders, _handle) = start(settings(), Arc::new(Open(true.into())), sender);
        orders.send(Order::Provider(Ok(slow.clone()))).unwrap();
        wish("example.org").into_iter().for_each(|order| orders.send(order).unwrap());
        stand(&mut reports, 1).await;
    }
}

#[tokio::test]
async fn nothing_is_sent_without_the_lease_and_all_of_it_with_it() {
    let (sender, mut reports) = unbounded_channel();
    let slow = Arc::new(Slow::new());
    let fence = Arc::new(Open(false.into()));
    let (orders, _handle) = start(settings(), fence.clone(), sender);
    orders.send(Order::Provider(Ok(slow.clone()))).unwrap();
    wish("example.org").into_iter().for_each(|order| orders.send(order).unwrap());
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(slow.fake.calls(), []);
    fence.0.store(true, Ordering::SeqCst);
    stand(&mut reports, 1).await;
}
