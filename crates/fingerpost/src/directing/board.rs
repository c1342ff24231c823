//! What is known of the leases and directions right now, for HTTP and for orders.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use planner::Direction;
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

use super::delivery::Delivery;
use super::director::{Refusal, RegionState, Rules};
use super::{Key, name_of};
use crate::witness::Pledge;

/// The directed Placements, by name.
#[derive(Clone, Default)]
pub struct Board {
    entries: Arc<Mutex<BTreeMap<Key, Entry>>>,
    leads: Arc<Mutex<Option<Leads>>>,
}

type Leads = Arc<dyn Fn() -> bool + Send + Sync>;

/// What is known of one Placement.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its hostname.
    pub hostname: String,
    /// What it is directed by.
    pub rules: Rules,
    /// Where it is directed.
    pub direction: Direction,
    /// How its regions are.
    pub health: Vec<(Arc<str>, RegionState)>,
    /// The regions that the plan answers with.
    pub answering: Vec<String>,
    /// Whether that stands where it is delivered.
    pub delivery: Delivery,
    /// The region that it is being moved to.
    pub ordered: Option<Arc<str>>,
    /// What may be told of the lease, where this process keeps it.
    pub pledge: Option<Pledge>,
    /// Where orders go.
    pub orders: UnboundedSender<Order>,
}

/// An order to move to a region.
#[derive(Debug)]
pub struct Order {
    /// Where to.
    pub to: String,
    /// Whether it need not be known to be up.
    pub force: bool,
    /// What became of it.
    pub answer: oneshot::Sender<Result<(), Refusal>>,
}

/// Why an order could not even be given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OrderError {
    /// No such Placement is directed here.
    #[error("no Placement `{0}` is directed here")]
    Unknown(String),
    /// It is not followed.
    #[error("{0}")]
    Refused(#[from] Refusal),
}

impl fmt::Debug for Board {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Board").finish_non_exhaustive()
    }
}

impl Board {
    /// Says how it is known whether this process leads; until then it does.
    pub fn led_by(&self, leads: impl Fn() -> bool + Send + Sync + 'static) {
        *self.leads.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(leads));
    }

    fn leads(&self) -> bool {
        let leads = self.leads.lock().unwrap_or_else(PoisonError::into_inner).clone();
        leads.is_none_or(|leads| leads())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn put(&self, key: &Key, entry: Entry) {
        self.lock().insert(key.clone(), entry);
    }

    pub(super) fn remove(&self, key: &Key) {
        self.lock().remove(key);
    }

    pub(super) fn clear(&self) {
        self.lock().clear();
    }

    /// All directions, to be kept.
    pub fn directions(&self) -> Vec<(Key, Direction)> {
        self.lock().iter().map(|(key, entry)| (key.clone(), entry.direction.clone())).collect()
    }

    fn find(&self, name: &str) -> Option<Entry> {
        let is_it = |key: &Key, entry: &Entry| {
            name_of(&key.1) == name || *key.1.name == *name || entry.hostname == name
        };
        self.lock().iter().find(|(key, entry)| is_it(key, entry)).map(|(_, entry)| entry.clone())
    }

    /// The Placements after one as data, by name, at most so many.
    pub fn documents_after(&self, after: Option<&Key>, most: usize, now: Instant) -> Vec<(Key, Value)> {
        let leads = self.leads();
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        let entries = self.lock();
        let page = entries.range::<Key, _>((start, Bound::Unbounded)).take(most);
        page.map(|(key, entry)| (key.clone(), entry.document(&name_of(&key.1), leads, now))).collect()
    }

    /// One Placement as data, known by namespace and name, by its name or by its hostname.
    pub fn document(&self, name: &str, now: Instant) -> Option<Value> {
        Some(self.find(name)?.document(name, self.leads(), now))
    }

    /// Orders a Placement to move to a region.
    pub async fn order(&self, name: &str, to: &str, force: bool) -> Result<(), OrderError> {
        let unknown = || OrderError::Unknown(name.to_owned());
        let entry = self.find(name).ok_or_else(unknown)?;
        let (answer, answered) = oneshot::channel();
        let order = Order { to: to.to_owned(), force, answer };
        entry.orders.send(order).map_err(|_| unknown())?;
        Ok(answered.await.map_err(|_| unknown())??)
    }
}

impl Entry {
    fn document(&self, name: &str, leads: bool, now: Instant) -> Value {
        let Entry { direction, rules, .. } = self;
        // Who is told less has to ask more often, and is waited for less when the lease is handed over.
        let most = rules.witness.map_or(Duration::ZERO, |(lease, _)| lease / 2);
        let left = self.pledge.as_ref().filter(|_| leads).and_then(|pledge| pledge.promise(now, most));
        let lease = direction.lease.as_ref();
        json!({
            "name": name,
            "hostname": self.hostname,
            "region": rules.own,
            "witness": rules.witness.is_some(),
            "renewMilliseconds": rules.witness.map(|(_, renew)| renew.as_millis() as u64),
            "leaseMilliseconds": rules.witness.map(|(lease, _)| lease.as_millis() as u64),
            "holder": lease.and_then(|lease| lease.holder.clone()),
            "generation": lease.map(|lease| lease.generation),
            "expires": lease.and_then(|lease| lease.expires).and_then(text),
            "held": left.is_some(),
            "remainingMilliseconds": left.map(|left| left.as_millis() as u64),
            "trouble": direction.witness_trouble,
            "active": direction.active,
            "answering": self.answering,
            "delivery": self.delivery,
            "switchingTo": self.ordered,
            "regions": self.health.iter().map(|(region, state)| json!({ "name": region, "health": word(*state) })).collect::<Vec<_>>(),
            "history": direction.moves.iter().map(|one| json!({
                "time": text(one.at), "from": one.from, "to": one.to, "message": one.message,
            })).collect::<Vec<_>>(),
        })
    }
}

fn text(second: i64) -> Option<String> {
    jiff::Timestamp::from_second(second).ok().map(|time| time.to_string())
}

fn word(state: RegionState) -> &'static str {
    match state {
        RegionState::Up => "Up",
        RegionState::Down => "Down",
        RegionState::Unknown => "Unknown",
    }
}
