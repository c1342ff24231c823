//! A book and a fake provider, driven by hand.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use dns::{Name, Rdata, RecordSet, Rtype, Soa};
use futures::FutureExt;

use super::super::book::Book;
use super::super::task::Task;
use super::super::{Node, Order, Report, Retry, SetResult, Settings};
use super::fake::{Fake, Fault, Nature};
use crate::{Entry, NewZone, Provider, Reading, SetKey};

pub(super) const OWNER: &str = "test";

pub(super) fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

pub(super) fn settings() -> Settings {
    Settings {
        owner: OWNER.to_owned(),
        retry: Retry { base: Duration::from_secs(5), cap: Duration::from_secs(60), attempts: 5 },
        concurrency: 4,
        drift: Duration::from_secs(600),
        allow_mass_delete: None,
        timeout: Duration::from_secs(5),
    }
}

pub(super) fn new_zone(origin: &str) -> NewZone {
    let origin = name(origin);
    let server = origin.child(b"ns").unwrap();
    let soa = Soa {
        mname: server.clone(),
        rname: origin.child(b"noc").unwrap(),
        serial: 1,
        refresh: 1,
        retry: 1,
        expire: 1,
        minimum: 1,
    };
    NewZone {
        soa: RecordSet::new(origin.clone(), Rtype::SOA, 300, vec![Rdata::soa(&soa)]),
        name_servers: RecordSet::new(origin.clone(), Rtype::NS, 300, vec![Rdata::name(Rtype::NS, &server)]),
        origin,
    }
}

/// A book and its provider; time moves only when told.
pub(super) struct World {
    pub(super) fake: Arc<Fake>,
    pub(super) book: Book,
    pub(super) now: Duration,
    pub(super) generation: u64,
    pub(super) reports: Vec<Report>,
    pub(super) may_write: bool,
}

impl World {
    pub(super) fn new(nature: Nature) -> World {
        let fake = Arc::new(Fake::new(nature));
        let mut world = World {
            fake,
            book: Book::new(settings()),
            now: Duration::ZERO,
            generation: 1,
            reports: Vec::new(),
            may_write: true,
        };
        world.connect();
        world
    }

    /// A provider that is read by zones, compares and has a revision.
    pub(super) fn of_zones() -> World {
        World::new(Nature {
            reading: Reading::Zones,
            batch_size: 100,
            compares: true,
            has_revision: true,
            is_shared: true,
        })
    }

    /// A provider that is read by sets.
    pub(super) fn of_sets() -> World {
        World::new(Nature {
            reading: Reading::Sets,
            batch_size: 10,
            compares: false,
            has_revision: false,
            is_shared: true,
        })
    }

    fn connect(&mut self) {
        let provider: Arc<dyn Provider> = self.fake.clone();
        self.order(Order::Provider(Ok(provider)));
    }

    /// The process is killed and started again.
    pub(super) fn restart(&mut self) {
        self.book = Book::new(settings());
        self.generation += 1;
        self.reports.clear();
        self.connect();
    }

    pub(super) fn order(&mut self, order: Order) {
        if let (true, Order::Nodes(nodes)) = (std::env::var_os("FINGERPOST_TRACE").is_some(), &order) {
            eprintln!("ORDER {nodes:?}");
        }
        self.book.order(order, self.now);
        self.reports.append(&mut self.book.reports());
    }

    /// Tells a zone and all that is wanted in it.
    pub(super) fn want(&mut self, zone: &str, sets: &[RecordSet]) {
        self.order(Order::Zone(new_zone(zone)));
        let mut nodes: BTreeMap<Name, Node> = BTreeMap::new();
        for set in sets {
            let node = || Node {
                zone: name(zone),
                name: set.name.clone(),
                sets: Vec::new(),
                kept: Vec::new(),
                shared: Vec::new(),
                heir: None,
            };
            nodes.entry(set.name.clone()).or_insert_with(node).sets.push(Entry::from(set.clone()));
        }
        self.order(Order::Nodes(nodes.into_values().collect()));
    }

    /// Wants other sets at a name, or none.
    pub(super) fn change(&mut self, zone: &str, at: &str, sets: &[RecordSet]) {
        let sets = sets.iter().cloned().map(Entry::from).collect();
        self.order(Order::Nodes(vec![Node {
            zone: name(zone),
            name: name(at),
            sets,
            kept: Vec::new(),
            shared: Vec::new(),
            heir: None,
        }]));
    }

    pub(super) fn next(&mut self) -> Option<Task> {
        let may_write = self.may_write;
        let task = self.book.next(self.now, self.generation, &|| may_write);
        self.book.use_time(self.now);
        assert_eq!(self.book.misplaced(self.now), [], "not everything that is needed is on its way");
        self.reports.append(&mut self.book.reports());
        task
    }

    /// Does a task, with this going wrong.
    pub(super) fn perform(&mut self, task: &Task, fault: Option<Fault>) {
        self.fake.with(|state| state.fault = fault);
        if std::env::var_os("FINGERPOST_TRACE").is_some() {
            let fault = self.fake.with(|state| state.fault.clone());
            eprintln!("{:?} {task:?} {fault:?}", self.now);
        }
        let outcome = task.perform(self.fake.as_ref()).now_or_never().unwrap();
        self.fake.with(|state| state.fault = None);
        self.book.done(task, outcome, self.now, 0.5);
        self.reports.append(&mut self.book.reports());
    }

    /// Goes on until nothing is left to do within `time`.
    pub(super) fn run(&mut self, time: Duration) {
        let end = self.now + time;
        for _ in 0..100_000 {
            if let Some(task) = self.next() {
                self.perform(&task, None);
                continue;
            }
            match self.book.wake().filter(|wake| *wake <= end) {
                Some(wake) => self.now = self.now.max(wake).max(self.now + Duration::from_millis(1)),
                None => {
                    self.now = end;
                    return;
                }
            }
        }
        panic!("it never ends");
    }

    /// Half a minute: enough for everything but drift and long waits.
    pub(super) fn settle(&mut self) {
        self.run(Duration::from_secs(30));
    }

    /// What was last told about a set.
    pub(super) fn told(&self, at: &str, rtype: Rtype) -> Option<SetResult> {
        let wanted = SetKey { name: name(at), rtype };
        self.reports.iter().rev().find_map(|report| match report {
            Report::Set { key, result, .. } if *key == wanted => Some(result.clone()),
            _ => None,
        })
    }

    pub(super) fn stands(&self, zone: &str, set: &RecordSet) -> bool {
        self.fake.sets(&name(zone)).get(&SetKey::of(set)).map(|entry| &entry.set) == Some(set)
    }

    pub(super) fn assert_no_breach(&self) {
        let breaches = self.fake.with(|state| state.breaches.clone());
        assert!(breaches.is_empty(), "{breaches:?}");
    }
}
