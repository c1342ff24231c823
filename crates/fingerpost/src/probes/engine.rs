//! The loop that runs probes, on a thread of its own.
//!
//! Apart from everything else, so that neither planning nor a large page delays a probe. One loop owns
//! all state; a run is a task of the same thread, so nothing is locked and no thread is woken for another.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant};

use dns::ProbeId;
use planner::{ProbeSpec, TargetState};
use server::steering::{Fall, Health, Slot, State};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::{AbortHandle, Id, JoinError, JoinSet};

use super::asking::{Asker, Means};
use super::schedule::Schedule;
use super::sightings::{Run, Sightings};
use super::trouble::Outcome;
use super::verdict::{Now, Rules, Verdict};

/// The loop sleeps at least so long, so that runs are begun by the handful.
const TICK: Duration = Duration::from_millis(2);
/// No more are begun at once, so that those that run get on: a machine that was asleep has many to catch up.
const HANDFUL: usize = 256;

/// What the loop is told.
#[derive(Debug)]
pub(super) enum Order {
    /// These are all probes that there are.
    Set(Vec<(ProbeId, ProbeSpec)>),
    /// These came, and these went.
    Change(Vec<(ProbeId, Option<ProbeSpec>)>),
}

/// The loop's state.
pub(super) struct Engine {
    means: Arc<Means>,
    health: Health,
    sightings: Sightings,
    start: Instant,
    schedule: Schedule,
    probes: BTreeMap<ProbeId, Probe>,
    running: JoinSet<Finished>,
    /// Whose task it is, for one that ends without saying so.
    tasks: HashMap<Id, ProbeId>,
    /// No more runs than this at once: files are not without end.
    most: usize,
}

struct Probe {
    spec: Arc<ProbeSpec>,
    asker: Arc<Asker>,
    verdict: Verdict,
    /// Its place on the board that answers read.
    slot: Slot,
    run: Option<AbortHandle>,
}

struct Finished {
    probe: ProbeId,
    asker: Arc<Asker>,
    run: Run,
}

impl Engine {
    pub(super) fn new(means: Means, health: Health, sightings: Sightings, most: usize) -> Engine {
        Engine {
            means: Arc::new(means),
            health,
            sightings,
            start: Instant::now(),
            schedule: Schedule::default(),
            probes: BTreeMap::new(),
            running: JoinSet::new(),
            tasks: HashMap::new(),
            most,
        }
    }

    /// Runs probes until nobody can give orders any more.
    pub(super) async fn run(mut self, mut orders: UnboundedReceiver<Order>) {
        loop {
            let due = self.next_due();
            tokio::select! {
                order = orders.recv() => match order {
                    Some(order) => self.take(order),
                    None => return,
                },
                Some(ended) = self.running.join_next_with_id() => self.finish(ended),
                () = tokio::time::sleep_until(due.unwrap_or(self.start).into()), if due.is_some() => {}
            }
            while let Some(ended) = self.running.try_join_next_with_id() {
                self.finish(ended);
            }
            self.launch();
        }
    }

    fn now(&self) -> Now {
        Now { elapsed: self.start.elapsed(), unix: jiff::Timestamp::now().as_second() }
    }

    /// When the next run is to begin; none while there is no room for it.
    fn next_due(&mut self) -> Option<Instant> {
        if self.running.len() >= self.most {
            return None;
        }
        let due = self.start + self.schedule.next_due()?;
        Some(due.max(Instant::now() + TICK))
    }

    fn take(&mut self, order: Order) {
        match order {
            Order::Set(all) => {
                let wanted: BTreeMap<_, _> = all.into_iter().collect();
                let gone: Vec<_> =
                    self.probes.keys().filter(|probe| !wanted.contains_key(*probe)).copied().collect();
                gone.into_iter().for_each(|probe| self.remove(probe));
                wanted.into_iter().for_each(|(probe, spec)| self.insert(probe, spec));
            }
            Order::Change(changed) => {
                for (probe, spec) in changed {
                    match spec {
                        Some(spec) => self.insert(probe, spec),
                        None => self.remove(probe),
                    }
                }
            }
        }
        let probes = &self.probes;
        self.health.retain(|probe| probes.contains_key(&probe));
    }

    /// Begins a probe; one that is there goes on as it is.
    fn insert(&mut self, probe: ProbeId, spec: ProbeSpec) {
        if self.probes.contains_key(&probe) {
            return;
        }
        let now = self.now();
        self.schedule.insert(probe, Duration::from_millis(spec.interval), now.elapsed, draw());
        let (asker, spec, verdict) = (Arc::new(Asker::new(&spec)), Arc::new(spec), Verdict::new(now));
        self.sightings.begin(probe, &spec, verdict.health());
        let slot = self.health.slot(probe);
        slot.set(State::Unheard);
        self.probes.insert(probe, Probe { spec, asker, verdict, slot, run: None });
    }

    fn remove(&mut self, probe: ProbeId) {
        let Some(gone) = self.probes.remove(&probe) else { return };
        self.schedule.remove(probe);
        self.sightings.end(probe);
        gone.run.iter().for_each(AbortHandle::abort);
    }

    /// Begins every run whose time has come.
    fn launch(&mut self) {
        let now = self.start.elapsed();
        for _ in 0..HANDFUL.min(self.most.saturating_sub(self.running.len())) {
            let Some(id) = self.schedule.pop(now) else { return };
            let Some(probe) = self.probes.get_mut(&id) else { continue };
            let (asker, means) = (probe.asker.clone(), self.means.clone());
            let task = self.running.spawn(async move {
                let at = jiff::Timestamp::now().as_millisecond();
                let start = Instant::now();
                let outcome = asker.ask(&means).await;
                Finished { probe: id, asker, run: Run { at, took: start.elapsed(), outcome } }
            });
            self.tasks.insert(task.id(), id);
            probe.run = Some(task);
        }
    }

    fn finish(&mut self, ended: Result<(Id, Finished), JoinError>) {
        let finished = match ended {
            Ok((task, finished)) => {
                self.tasks.remove(&task);
                finished
            }
            // It was taken away, or failed in a way that it never should: nothing is known.
            Err(error) => match self.tasks.remove(&error.id()) {
                Some(probe) => return self.next_run(probe),
                None => return,
            },
        };
        // A probe may have gone and come back meanwhile.
        let is_current = |probe: &Probe| Arc::ptr_eq(&probe.asker, &finished.asker);
        if self.probes.get(&finished.probe).is_some_and(is_current) {
            self.next_run(finished.probe);
            self.hear(finished.probe, finished.run);
        }
    }

    fn next_run(&mut self, probe: ProbeId) {
        self.schedule.ran(probe, self.start.elapsed(), draw());
    }

    fn hear(&mut self, id: ProbeId, run: Run) {
        let now = self.now();
        let Some(probe) = self.probes.get_mut(&id) else { return };
        let changed = probe.hear(&run.outcome, now);
        // Answers first: they are what people wait for.
        probe.show(now);
        self.sightings.hear(id, run, changed.then(|| probe.verdict.health()));
    }
}

impl Probe {
    fn hear(&mut self, outcome: &Outcome, now: Now) -> bool {
        let rules = Rules { failures: self.spec.failures, successes: self.spec.successes };
        match outcome {
            Outcome::Success => self.verdict.hear(Ok(()), rules, now),
            Outcome::Failure(trouble) => {
                let up = self.verdict.health().state != TargetState::Down;
                // The words are only needed where they may be kept.
                let reason = if up { trouble.to_string() } else { String::new() };
                self.verdict.hear(Err(&reason), rules, now)
            }
            Outcome::Skipped => false,
        }
    }

    /// Says on the board how the target is.
    fn show(&self, now: Now) {
        let state = self.verdict.state();
        if self.slot.state() == state {
            return;
        }
        match state {
            State::Down => self.slot.set_fallen(Fall {
                at: u64::try_from(now.elapsed.as_millis()).unwrap_or(u64::MAX),
                span: self
                    .spec
                    .interval
                    .saturating_mul(self.spec.failures.into())
                    .saturating_add(self.spec.timeout),
            }),
            state => self.slot.set(state),
        }
    }
}

/// Anything in `0..1`.
fn draw() -> f64 {
    (RandomState::new().build_hasher().finish() >> 11) as f64 / (1_u64 << 53) as f64
}
