//! One of the owners.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use dns::{RecordSet, Rtype};

use super::super::super::book::Book;
use super::super::super::task::Task;
use super::super::super::{Node, Order, Report, SetResult, Settings};
use super::super::fake::{Fake, Nature};
use super::super::world::{name, new_zone, settings};
use super::{ALONE, Phase, SHARED, ZONE, address, key};
use crate::{Entry, Provider, Reading};

/// One cluster's operator, with a clock of its own.
pub(super) struct Owner {
    pub(super) id: String,
    pub(super) book: Option<Book>,
    /// How fast its clock goes.
    pub(super) speed: f64,
    pub(super) generation: u64,
    pub(super) request: Option<(Task, Phase, Duration)>,
    /// Until when it does nothing.
    pub(super) stalled: Duration,
    /// Whether it does not run: not yet, or no longer.
    pub(super) is_dead: bool,
    pub(super) wants: BTreeMap<&'static str, u8>,
    pub(super) heir: Option<String>,
    /// When the last whole reading of the zone was served that it knows of, and the last of all.
    pub(super) has_read: Duration,
    pub(super) was_served: Duration,
    /// For how long it was up, all in all.
    pub(super) awake: Duration,
    /// The names that it was told to stand.
    pub(super) established: BTreeSet<&'static str>,
}

impl Owner {
    pub(super) fn new(number: usize, speed: f64) -> Owner {
        Owner {
            id: format!("owner{number}"),
            book: None,
            speed,
            generation: 0,
            request: None,
            stalled: Duration::ZERO,
            is_dead: true,
            wants: BTreeMap::new(),
            heir: None,
            has_read: Duration::ZERO,
            was_served: Duration::ZERO,
            awake: Duration::ZERO,
            established: BTreeSet::new(),
        }
    }

    pub(super) fn clock(&self, now: Duration) -> Duration {
        now.mul_f64(self.speed)
    }

    pub(super) fn node(&self, number: usize, at: &'static str) -> Node {
        let data = self.wants.get(at).map(|last| vec![address(number, *last)]);
        let ttl = 300 - number as u32;
        let sets = data.map(|data| Entry::from(RecordSet::new(name(at), Rtype::A, ttl, data)));
        let shared = if at == SHARED { vec![Rtype::A] } else { vec![] };
        let heir = self.heir.clone().filter(|_| at == ALONE);
        Node {
            zone: name(ZONE),
            name: name(at),
            sets: sets.into_iter().collect(),
            kept: vec![],
            shared,
            heir,
        }
    }

    pub(super) fn start(&mut self, number: usize, now: Duration) {
        let mut book = Book::new(Settings { owner: self.id.clone(), ..settings() });
        self.generation += 1;
        self.has_read = Duration::ZERO;
        self.request = None;
        self.is_dead = false;
        let now = self.clock(now);
        let nature = Nature {
            reading: Reading::Zones,
            batch_size: 4,
            compares: false,
            has_revision: true,
            is_shared: true,
        };
        let provider: Arc<dyn Provider> = Arc::new(Fake::new(nature));
        book.order(Order::Provider(Ok(provider)), now);
        book.order(Order::Zone(new_zone(ZONE)), now);
        let nodes = [SHARED, ALONE].map(|at| self.node(number, at));
        book.order(Order::Nodes(nodes.to_vec()), now);
        book.order(Order::Complete, now);
        self.book = Some(book);
    }

    pub(super) fn hear(&mut self) {
        let reports = self.book.as_mut().map(Book::reports).unwrap_or_default();
        for report in reports {
            let Report::Set { key: told, result, .. } = report else { continue };
            let Some(at) = [SHARED, ALONE].into_iter().find(|at| key(at) == told) else { continue };
            match result {
                // What is under way may take out what was wanted no longer until just now.
                SetResult::Stands { .. } if self.wants.contains_key(at) && self.request.is_none() => {
                    self.established.insert(at);
                }
                SetResult::Foreign { .. } | SetResult::Absent { .. } => drop(self.established.remove(at)),
                _ => {}
            }
        }
    }

    /// Whether it lives, was told that a name stands, and still wants it.
    pub(super) fn relies_on(&self, at: &'static str) -> bool {
        !self.is_dead && self.established.contains(at) && self.wants.contains_key(at)
    }
}
