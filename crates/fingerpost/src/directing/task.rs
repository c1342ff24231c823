//! The task that directs one Placement: what it hears, what it wants of the lease, what it tells.

use std::sync::Arc;
use std::time::{Duration, Instant};

use api::placement::Witness;
use jiff::Timestamp;
use planner::{Change, Direction};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::sync::watch;
use tokio::time::sleep;

use super::Key;
use super::board::{Board, Entry, Order};
use super::director::{Director, Refusal, Witnessed};
use super::facts::Facts;
use crate::witness::{Keeper, Means, Pledge, Report, Terms, connect};

/// How long until a witness that could not be connected to is tried again.
const AGAIN: Duration = Duration::from_secs(5);
/// How often things are looked at although nothing was heard.
const LOOK: Duration = Duration::from_secs(5);

pub(super) struct Task {
    pub(super) key: Key,
    pub(super) facts: watch::Receiver<Facts>,
    pub(super) means: Means,
    pub(super) secret_changes: watch::Receiver<u64>,
    pub(super) board: Board,
    pub(super) changes: UnboundedSender<Change>,
    pub(super) done: Option<super::Done>,
    pub(super) orders: UnboundedSender<Order>,
    pub(super) ordered: UnboundedReceiver<Order>,
}

/// A lease that is kept, or why it is not.
struct Kept {
    keeper: Option<(Keeper, watch::Receiver<Report>)>,
    trouble: Option<String>,
    since: Instant,
}

impl Task {
    pub(super) async fn run(mut self, before: Direction) {
        let facts = self.facts.borrow_and_update().clone();
        let mut running = Running {
            director: Director::new(facts.rules.clone(), before),
            told: None,
            facts,
            kept: None,
            annotation: None,
            acknowledged: false,
        };
        running.hear();
        loop {
            if running.kept.is_none() {
                running.kept = self.keep(&running).await;
            }
            running.settle();
            self.publish(&mut running);
            self.wait(&mut running).await;
        }
    }

    /// Waits until something is heard.
    async fn wait(&mut self, running: &mut Running) {
        let retry = running.kept.as_ref().is_some_and(|kept| kept.keeper.is_none());
        tokio::select! {
            changed = self.facts.changed() => match changed {
                Ok(()) => running.take(self.facts.borrow_and_update().clone()),
                // Whoever told us is gone, and so are we soon.
                Err(_) => std::future::pending().await,
            },
            Ok(()) = self.secret_changes.changed() => running.kept = None,
            () = reported(&mut running.kept) => {}
            Some(order) = self.ordered.recv() => running.follow(order),
            () = sleep(if retry { AGAIN } else { LOOK }) => if retry { running.kept = None },
        }
    }

    async fn keep(&self, running: &Running) -> Option<Kept> {
        let (witness, (lease, renew)) = running.facts.witness.as_ref().zip(running.facts.rules.witness)?;
        let holder = running.facts.rules.own.as_deref().unwrap_or_default().to_owned();
        let terms = Terms { holder, lease, renew };
        let remembered = running.director.direction().lease.as_ref().map_or(0, |lease| lease.generation);
        Some(match self.connect(witness, &running.facts.hostname).await {
            Ok(store) => {
                let keeper = Keeper::start(store, terms, remembered);
                let reports = keeper.reports();
                Kept { keeper: Some((keeper, reports)), trouble: None, since: Instant::now() }
            }
            Err(trouble) => Kept { keeper: None, trouble: Some(trouble), since: Instant::now() },
        })
    }

    async fn connect(
        &self,
        witness: &Witness,
        hostname: &str,
    ) -> Result<Arc<dyn crate::witness::Store>, String> {
        let (_, object) = &self.key;
        let connected = connect(witness, &object.namespace, &object.name, hostname, &self.means).await;
        connected.map_err(|error| error.to_string())
    }

    /// Shows everybody how things are, and tells the planner what it does not know yet.
    fn publish(&self, running: &mut Running) {
        let direction = running.director.direction().clone();
        let entry = running.facts.entry(direction.clone(), self.orders.clone());
        let (ordered, pledge) = (running.director.ordered().cloned(), running.pledge());
        self.board.put(&self.key, Entry { ordered, pledge, ..entry });
        // When a lease runs out moves with every renewal, and is no news.
        let news = timeless(direction.clone());
        if running.told.as_ref() != Some(&news) {
            running.told = Some(news);
            let (cluster, object) = self.key.clone();
            // Nobody listens any more when the process ends.
            let _ = self.changes.send(Change::Direction(cluster, object, direction));
        }
        self.acknowledge(running);
    }

    /// Says that the order of an annotation was followed, or will not be.
    fn acknowledge(&self, running: &mut Running) {
        let over = running.annotation.is_some() && running.director.ordered().is_none();
        if let Some(done) = self.done.as_ref().filter(|_| over && !running.acknowledged) {
            running.acknowledged = true;
            done(&self.key.1);
        }
    }
}

/// Ready when the lease was looked at again; never without one.
async fn reported(kept: &mut Option<Kept>) {
    let Some((_, reports)) = kept.as_mut().and_then(|kept| kept.keeper.as_mut()) else {
        return std::future::pending().await;
    };
    if reports.changed().await.is_err() {
        std::future::pending().await
    }
}

fn timeless(mut direction: Direction) -> Direction {
    if let Some(lease) = &mut direction.lease {
        lease.expires = None;
    }
    direction
}

struct Running {
    director: Director,
    facts: Facts,
    kept: Option<Kept>,
    told: Option<Direction>,
    /// The order of an annotation that was heard.
    annotation: Option<(String, bool)>,
    acknowledged: bool,
}

impl Running {
    fn take(&mut self, facts: Facts) {
        let same_witness = self.facts.witness == facts.witness
            && self.facts.rules.own == facts.rules.own
            && self.facts.hostname == facts.hostname;
        if !same_witness {
            self.kept = None;
        }
        self.director.set_rules(facts.rules.clone());
        self.facts = facts;
        self.hear();
    }

    fn hear(&mut self) {
        self.director.hear(&self.facts.health, Instant::now(), wall());
        if self.facts.ordered != self.annotation {
            self.annotation.clone_from(&self.facts.ordered);
            self.acknowledged = false;
            if let Some((to, force)) = self.annotation.clone() {
                // The history is all that whoever wrote the annotation can see.
                if let Err(refusal) = self.order(&to, force) {
                    self.director.refused(&refusal, wall());
                }
            }
        }
    }

    fn order(&mut self, to: &str, force: bool) -> Result<(), Refusal> {
        self.director.order(to, force, Instant::now(), wall())
    }

    fn follow(&mut self, order: Order) {
        let followed = self.order(&order.to, order.force);
        // Who gave the order may have gone.
        let _ = order.answer.send(followed);
    }

    fn pledge(&self) -> Option<Pledge> {
        let (keeper, _) = self.kept.as_ref()?.keeper.as_ref()?;
        Some(keeper.pledge())
    }

    /// Takes in what was seen of the lease, and says what is wanted of it.
    fn settle(&mut self) {
        let Some(kept) = &mut self.kept else { return };
        let now = Instant::now();
        let seen = match &mut kept.keeper {
            Some((_, reports)) => witnessed(&reports.borrow_and_update(), now),
            None => Some(Witnessed { trouble: kept.trouble.clone(), age: now - kept.since, document: None }),
        };
        if let Some(seen) = seen {
            self.director.observe(&seen, now, wall());
        }
        if let Some((keeper, _)) = &kept.keeper {
            keeper.want(self.director.intent(now));
        }
    }
}

/// What a report says of the lease; nothing before the first round.
fn witnessed(report: &Report, now: Instant) -> Option<Witnessed> {
    if report.rounds == 0 {
        return None;
    }
    let age = |seen: &crate::witness::Seen| now.saturating_duration_since(seen.since);
    // One answer that is late is no trouble yet.
    let failure = report.trouble.as_ref().filter(|_| report.failures > 1);
    Some(Witnessed {
        age: report.seen.as_ref().map(age).unwrap_or_default(),
        document: report.seen.as_ref().map(|seen| seen.document.clone()),
        trouble: failure.map(|failure| format!("the witness cannot be asked: {failure}")),
    })
}

/// Seconds since 1970.
fn wall() -> i64 {
    Timestamp::now().as_second()
}
