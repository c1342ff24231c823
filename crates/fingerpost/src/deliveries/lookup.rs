//! What the world sees of what stands at a class: looked up after it was written or first read back.
//!
//! ```text
//! stands ──► agenda (pure) ──due──► look: delegation, then its servers ──► sight ──► planner
//!               ▲                                                 │
//!               └──────────── seen otherwise: later again ◄───────┘
//! ```
//!
//! One task per class. It ends nothing and holds nothing up: a delivery does not wait for a look.

mod agenda;
mod delegations;

use std::sync::Arc;
use std::time::Duration;

use backends::delivery::{Report, SetResult};
use backends::lookup::{Delegation, Lookup, Resolver};
use backends::transport::guard::Guard;
use backends::{Provider, SetKey};
use dns::{Name, RecordSet};
use futures::stream::{FuturesUnordered, StreamExt};
use planner::{Change, LookedUp, Sight};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

use agenda::{Agenda, Look};
use delegations::Delegations;

/// How many looks are under way at a time, over all classes.
const CONCURRENCY: usize = 16;

/// The provider of a class, once there is one.
pub(super) type Connected = watch::Receiver<Option<Arc<dyn Provider>>>;

/// Which record set of a class: the zone as the plan has it, name and type.
type Key = (Name, SetKey);

/// Who asks the world, for all classes.
#[derive(Clone)]
pub struct Eyes {
    lookup: Lookup,
    looks: Arc<Semaphore>,
}

impl Eyes {
    /// Eyes that see through a resolver, and go only where the guard lets them.
    pub fn new(resolver: Resolver, guard: Arc<Guard>) -> Eyes {
        Eyes { lookup: Lookup { resolver, guard }, looks: Arc::new(Semaphore::new(CONCURRENCY)) }
    }
}

/// What a class's looks are told.
enum News {
    Stands(Key, RecordSet),
    Gone(Key),
}

/// The looks of one class; they end with it.
pub(super) struct Looks {
    news: UnboundedSender<News>,
    task: JoinHandle<()>,
}

impl Looks {
    /// Starts to look; `tell` hears what was seen, each time that it is something else.
    pub(super) fn start(
        eyes: Eyes,
        provider: Connected,
        tell: impl Fn(Key, u64, Sight) + Send + 'static,
    ) -> Looks {
        let (news, heard) = unbounded_channel();
        let observer = Observer { eyes, provider, delegations: Delegations::default() };
        Looks { news, task: tokio::spawn(watch_over(observer, heard, tell)) }
    }

    /// Takes what became of a set.
    pub(super) fn hear(&self, report: &Report) {
        let Report::Set { zone, key, result } = report else { return };
        let key = (zone.clone(), key.clone());
        let news = match result {
            SetResult::Stands { set, is_shared: false, .. } => News::Stands(key, set.clone()),
            // What the world sees of a shared set is not ours alone to judge.
            SetResult::Stands { .. } | SetResult::Absent { .. } | SetResult::Foreign { .. } => {
                News::Gone(key)
            }
            SetResult::Failed { .. } => return,
        };
        // The task lives as long as we do.
        let _ = self.news.send(news);
    }
}

impl Drop for Looks {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What the planner is told of a sight.
pub(super) fn change(class: &Arc<str>, (zone, key): Key, hash: u64, sight: Sight) -> Change {
    let SetKey { name, rtype } = key;
    Change::LookedUp(LookedUp { class: class.clone(), zone, name, rtype, hash, sight })
}

async fn watch_over(observer: Observer, mut heard: UnboundedReceiver<News>, tell: impl Fn(Key, u64, Sight)) {
    let mut agenda = Agenda::default();
    let mut under_way = FuturesUnordered::new();
    loop {
        let due = agenda.due().filter(|_| under_way.len() < CONCURRENCY);
        tokio::select! {
            news = heard.recv() => match news {
                Some(News::Stands(key, set)) => agenda.put(key, set, Instant::now()),
                Some(News::Gone(key)) => agenda.remove(&key),
                None => return,
            },
            () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                under_way.extend(agenda.take(Instant::now()).map(|look| observer.look(look)));
            }
            Some((look, sight)) = under_way.next(), if !under_way.is_empty() => {
                let hash = planner::set_hash(&look.set);
                let key = look.key.clone();
                if let Some(sight) = agenda.saw(look, sight, Instant::now()) {
                    tell(key, hash, sight);
                }
            }
        }
    }
}

/// Who looks for one class.
struct Observer {
    eyes: Eyes,
    provider: Connected,
    delegations: Delegations,
}

impl Observer {
    async fn look(&self, look: Look) -> (Look, Sight) {
        // The semaphore is never closed.
        let _permit = self.eyes.looks.acquire().await;
        let sight = self.sight(&look.key.0, &look.set).await;
        (look, sight)
    }

    async fn sight(&self, zone: &Name, set: &RecordSet) -> Sight {
        let provider = self.provider.borrow().clone();
        let Some(provider) = provider else { return Sight::NoAnswer };
        let find = || self.eyes.lookup.delegation(&*provider, zone);
        match self.delegations.of(zone, Instant::now(), find).await {
            Ok(Delegation::Missing) => Sight::NotDelegated,
            Ok(Delegation::Elsewhere) => Sight::DelegatedElsewhere,
            Ok(Delegation::To(servers)) => match self.eyes.lookup.first_without(&servers, set).await {
                Some(server) => Sight::NotVisible(server.undotted().into()),
                None => Sight::Visible,
            },
            Err(_) => Sight::NoAnswer,
        }
    }
}

/// The pause after a look that saw something else than hoped, by how many there were before it.
fn pause(looks: u32) -> Duration {
    match looks {
        0..FAST => Duration::from_secs(1 << looks.min(6)).min(LONGEST),
        _ => REST,
    }
}

/// How many looks follow soon upon each other; the pauses between them grow up to the longest.
const FAST: u32 = 8;
const LONGEST: Duration = Duration::from_secs(60);
/// Afterwards somebody has to act, and that is looked for now and then: nothing is given up for good.
const REST: Duration = Duration::from_secs(600);
