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
    #[error(
        "no such Placement is directed by this process: `{0}`. Another replica may lead, or it has neither a witness nor \
         an order of regions"
    )]
    Unknown(String),
    /// Several are called so.
    #[error("`{0}` is ambiguous: {1}: name one as NAMESPACE/NAME")]
    Ambiguous(String, String),
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

    /// The directions of Placements with a witness, by name, at most so many.
    pub fn witnessed(&self, most: usize) -> Vec<(String, Direction)> {
        let entries = self.lock();
        let witnessed = entries.iter().filter(|(_, entry)| entry.rules.witness.is_some());
        witnessed.take(most).map(|(key, entry)| (name_of(&key.1), entry.direction.clone())).collect()
    }

    /// The Placement with a name: as NAMESPACE/NAME, by its own name or by its hostname.
    fn find(&self, name: &str) -> Result<Entry, OrderError> {
        let is_it = |key: &Key, entry: &Entry| {
            name_of(&key.1) == name || *key.1.name == *name || entry.hostname == name
        };
        let entries = self.lock();
        let found: Vec<(&Key, &Entry)> = entries.iter().filter(|(key, entry)| is_it(key, entry)).collect();
        match &found[..] {
            [] => Err(OrderError::Unknown(name.to_owned())),
            [(_, entry)] => Ok((*entry).clone()),
            several => Err(OrderError::Ambiguous(name.to_owned(), candidates(several))),
        }
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
    pub fn document(&self, name: &str, now: Instant) -> Result<Value, OrderError> {
        Ok(self.find(name)?.document(name, self.leads(), now))
    }

    /// Orders a Placement to move to a region.
    pub async fn order(&self, name: &str, to: &str, force: bool) -> Result<(), OrderError> {
        let unknown = || OrderError::Unknown(name.to_owned());
        let entry = self.find(name)?;
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
            "healthChecked": rules.checked,
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

/// Placements that are called alike; those of several clusters may have one name.
fn candidates(found: &[(&Key, &Entry)]) -> String {
    let names: Vec<String> = found.iter().map(|(key, _)| name_of(&key.1)).collect();
    let candidate = |(number, (key, entry)): (usize, &(&Key, &Entry))| {
        let (name, hostname) = (&names[number], &entry.hostname);
        let is_unique = names.iter().filter(|other| *other == name).count() == 1;
        let cluster = if is_unique { String::new() } else { format!(" in cluster {}", key.0.0 + 1) };
        format!("Placement {name}{cluster} ({hostname})")
    };
    found.iter().enumerate().map(candidate).collect::<Vec<_>>().join(" or ")
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use api::Kind;
    use planner::{ClusterId, ObjectRef};
    use rstest::rstest;
    use tokio::sync::mpsc::unbounded_channel;

    use super::*;
    use crate::directing::DeliveryState;

    fn board(placements: &[(u16, &str, &str, &str)]) -> Board {
        let board = Board::default();
        for (cluster, namespace, name, hostname) in placements {
            let (namespace, name) = ((*namespace).into(), (*name).into());
            let object = ObjectRef { kind: Kind::Placement, namespace, name };
            let rules = Rules {
                regions: vec!["weu".into()],
                automatic: true,
                ordered: true,
                own: None,
                witness: None,
                checked: true,
            };
            let delivery = Delivery { state: DeliveryState::Stands, message: String::new() };
            let entry = Entry {
                hostname: (*hostname).to_owned(),
                rules,
                direction: Direction::default(),
                health: Vec::new(),
                answering: Vec::new(),
                delivery,
                ordered: None,
                pledge: None,
                orders: unbounded_channel().0,
            };
            board.put(&(ClusterId(*cluster), object), entry);
        }
        board
    }

    #[rstest]
    #[case("apps/web", None)]
    #[case("pay", None)]
    #[case("pay.example.org", None)]
    #[case(
        "web",
        Some(
            "`web` is ambiguous: Placement apps/web (web.example.org) or Placement shop/web (web.example.net): name one as NAMESPACE/NAME"
        )
    )]
    #[case(
        "both/web",
        Some("Placement both/web in cluster 1 (a.test) or Placement both/web in cluster 2 (b.test)")
    )]
    #[case("nowhere", Some("no such Placement is directed by this process: `nowhere`"))]
    #[tokio::test]
    async fn an_ambiguous_name_is_refused_and_all_candidates_are_named(
        #[case] name: &str,
        #[case] refusal: Option<&str>,
    ) {
        let placements = [
            (0, "apps", "web", "web.example.org"),
            (0, "shop", "web", "web.example.net"),
            (0, "shop", "pay", "pay.example.org"),
        ];
        let several = [(0, "both", "web", "a.test"), (1, "both", "web", "b.test")];
        let board = board(if name.starts_with("both") { &several[..] } else { &placements[..] });
        let found = board.document(name, Instant::now());
        match refusal {
            None => assert!(found.is_ok()),
            Some(words) => {
                assert!(found.unwrap_err().to_string().contains(words));
                let ordered = board.order(name, "weu", false).await.unwrap_err();
                assert!(ordered.to_string().contains(words), "{ordered}");
            }
        }
    }
}
