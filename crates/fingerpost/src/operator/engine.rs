//! The one loop of the operator: news in, plan, writes out.
//!
//! ```text
//! watches ──► News ──► Live (what the cluster holds)
//!                └───► Change ──► Planner ──► Delta ──► Queue ──► one write each ──► Sender
//!                                    ▲                                                 │
//!                                    └──────── outcome ◄───────── answer ◄─────────────┘
//! ```
//!
//! The loop owns all state, so nothing is locked and nothing is half done. What to write is worked
//! out when its turn comes. Before everything has been read once nothing is planned, and nothing is
//! written. A follower plans and serves, and writes nothing.

mod answers;
mod news;
mod wanted;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use governor::clock::{Clock, DefaultClock};
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use jiff::civil::Date;
use planner::{Change, ChangeKind, ChildRef, Delta};
use tokio::sync::mpsc::{Receiver, UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::sleep_until;

use super::definitions::Outdated;
use super::events::{Events, Telling};
use super::health::Health;
use super::lease::Leadership;
use super::live::{Live, Part};
use super::metrics::{Inquiries, Metrics, Sample};
use super::queue::{Ending, Queue, Work};
use super::removals::Removals;
use super::send::{Refusal, Sender, Verb, Write};
use crate::cluster::feed::HERE;
use crate::cluster::{Arrival, Awaited, Board, News};
use crate::deliveries::Deliveries;
use crate::directing::Directing;
use crate::instance::{Instance, PlanningPanic};
use crate::planned;
use crate::probes::Probes;
use crate::transferred::Transferred;

/// How many writes are under way at once.
const MOST_IN_FLIGHT: usize = 32;
/// How many turns are taken before the news are looked at again.
const TURNS: usize = 256;
const MOST_NEWS: usize = 1024;
/// How long what was sent may still be answered when we stop.
const LAST_ANSWERS: Duration = Duration::from_secs(5);

/// What a write is for, and what it makes true.
#[derive(Debug)]
pub(super) enum Purpose {
    /// The child stands for this fingerprint of the plan.
    Child(ChildRef, u64),
    /// The child goes.
    Removal(ChildRef),
    /// A part of the object equals this; with what is to be told.
    Part(planner::ObjectRef, Part, u64, Option<Telling>),
    /// The serials are published.
    Serials,
}

/// A write that came back.
#[derive(Debug)]
pub(super) struct Answer {
    work: Work,
    purpose: Purpose,
    verb: Verb,
    resource: String,
    took: Duration,
    result: Result<Option<Arrival>, Refusal>,
}

/// What the loop is made of.
pub struct Parts {
    /// The plan.
    pub instance: Arc<Instance>,
    /// The watches.
    pub board: Board,
    /// Their news.
    pub news: Receiver<News>,
    /// Who leads.
    pub leadership: Leadership,
    /// Sends writes.
    pub sender: Sender,
    /// Tells events.
    pub events: Events,
    /// Readiness.
    pub health: Health,
    /// Counters.
    pub metrics: Arc<Metrics>,
    /// Questions about the state of the loop.
    pub inquiries: Inquiries,
    /// What the installed CRDs lack.
    pub outdated: Outdated,
    /// Records on their way to providers.
    pub deliveries: Deliveries,
    /// Where Placements are directed.
    pub directing: Directing,
    /// Who looks whether targets are up.
    pub probes: Arc<Probes>,
    /// The operator's own namespace.
    pub namespace: String,
    /// How many writes a second.
    pub quota: Quota,
}

/// The loop's state.
pub struct Engine {
    parts: Parts,
    live: Live,
    queue: Queue,
    limiter: DefaultDirectRateLimiter,
    /// A turn that was paid for and not used.
    token: bool,
    blocked_until: Option<Instant>,
    answers: (UnboundedSender<Answer>, UnboundedReceiver<Answer>),
    /// What the planner is to be told.
    changes: Vec<Change>,
    flying: HashSet<ChildRef>,
    /// Children that the plan has not, kept until all kinds that they may come from are there.
    withheld: HashSet<ChildRef>,
    removals: Removals,
    outcomes: HashMap<ChildRef, String>,
    transferred: Transferred,
    awaited: Awaited,
    planned: bool,
    leads: bool,
    date: Option<Date>,
}

impl Engine {
    /// An engine that knows nothing yet.
    pub fn new(parts: Parts) -> Engine {
        Engine {
            limiter: RateLimiter::direct(parts.quota),
            awaited: Awaited::of(&parts.board),
            parts,
            live: Live::default(),
            queue: Queue::default(),
            token: false,
            blocked_until: None,
            answers: unbounded_channel(),
            changes: Vec::new(),
            flying: HashSet::new(),
            withheld: HashSet::new(),
            removals: Removals::default(),
            outcomes: HashMap::new(),
            transferred: Transferred::default(),
            planned: false,
            leads: false,
            date: None,
        }
    }

    /// Gives back the questions, for the engine that comes after this one.
    pub fn into_inquiries(self) -> Inquiries {
        self.parts.inquiries
    }

    /// Works until `stop` is ready, or planning fails in a way that it never should.
    pub async fn run(&mut self, stop: impl Future<Output = ()>) -> Result<(), PlanningPanic> {
        tokio::pin!(stop);
        let mut news = Vec::new();
        let mut leadership = self.parts.leadership.subscribe();
        let (instance, probes) = (self.parts.instance.clone(), self.parts.probes.clone());
        loop {
            let due = self.next_turn();
            tokio::select! {
                () = &mut stop => break,
                count = self.parts.news.recv_many(&mut news, MOST_NEWS) => {
                    if count == 0 {
                        break;
                    }
                    news.drain(..).for_each(|one| self.take(one));
                }
                Some(answer) = self.answers.1.recv() => self.take_answer(answer),
                changes = self.parts.deliveries.next() => self.changes.extend(changes),
                changes = self.parts.directing.next() => self.changes.extend(changes),
                changes = probes.next() => self.changes.extend(changes),
                changes = self.transferred.next() => self.changes.extend(changes),
                Ok(()) = leadership.changed() => {}
                () = instance.signatures_moved.notified() => self.changes.extend(instance.signed_changes()),
                Some(inquiry) = self.parts.inquiries.recv() => drop(inquiry.send(self.sample())),
                () = sleep_until(due.unwrap_or_else(Instant::now).into()), if due.is_some() => {}
            }
            while let Ok(answer) = self.answers.1.try_recv() {
                self.take_answer(answer);
            }
            self.follow_leadership();
            self.plan()?;
            self.work();
        }
        self.last_answers().await;
        Ok(())
    }

    /// When there is something to do, news and answers aside.
    fn next_turn(&self) -> Option<Instant> {
        if !self.leads || !self.planned || self.queue.in_flight() >= MOST_IN_FLIGHT {
            return None;
        }
        let now = Instant::now();
        let due = if self.queue.has_ready(now) { Some(now) } else { self.queue.next_due() };
        due.map(|due| self.blocked_until.map_or(due, |until| until.max(due)))
    }

    /// Brings the plan up to date with what was heard; nothing before everything was.
    fn plan(&mut self) -> Result<(), PlanningPanic> {
        if !self.planned && !self.awaited.is_over() {
            return Ok(());
        }
        if self.planned && self.changes.is_empty() {
            return Ok(());
        }
        let start = Instant::now();
        let first = !self.planned;
        let date = planned::current_date();
        let today = (self.date.replace(date) != Some(date)).then(|| planned::today(date));
        let mut news = std::mem::take(&mut self.changes);
        if first {
            news.extend(self.parts.instance.signed_changes());
            news.extend(self.parts.instance.sightings.retell());
        }
        let changes = today.into_iter().chain(news).collect();
        let delta = self.parts.instance.plan(changes)?;
        self.transferred.follow(&delta, start);
        if first {
            self.planned = true;
            self.parts.health.set_planned();
            self.parts.instance.set_ready();
            self.parts.probes.follow(&self.parts.instance.planner());
            self.look_at_everything();
        } else {
            self.parts.probes.change(delta.probes.clone());
            self.look_at(&delta);
            self.parts.deliveries.follow(&self.parts.instance.planner(), &delta);
            self.parts.directing.follow(&self.parts.instance.planner(), &delta);
        }
        tracing::debug!(took = ?start.elapsed(), objects = delta.statuses.len(), "planned");
        Ok(())
    }

    fn look_at(&mut self, delta: &Delta) {
        if !self.leads {
            return;
        }
        let now = Instant::now();
        for (_, object) in &delta.statuses {
            self.queue.push(Work::Object(object.clone()), now);
        }
        for (child, _) in delta.children.iter().filter(|(_, kind)| *kind == ChangeKind::Removed) {
            self.removals.prove(child, now);
            self.queue.push(Work::Child(child.clone()), now);
        }
        if !delta.zones.is_empty() {
            self.queue.push(Work::Serials, now);
        }
    }

    /// Everything is compared with what the cluster holds: at the start, and by who begins to lead.
    fn look_at_everything(&mut self) {
        if !self.leads || !self.planned {
            return;
        }
        let now = Instant::now();
        let instance = self.parts.instance.clone();
        let planner = instance.planner();
        self.parts.deliveries.begin(&planner);
        self.parts.directing.begin(&planner);
        let objects = planner.objects();
        objects.into_iter().for_each(|(_, object)| self.queue.push(Work::Object(object), now));
        let children: Vec<ChildRef> = self.live.children().map(|(child, _)| child.clone()).collect();
        children.into_iter().for_each(|child| self.queue.push(Work::Child(child), now));
        self.queue.push(Work::Serials, now);
    }

    fn follow_leadership(&mut self) {
        let leads = self.parts.leadership.is_leader();
        if leads == self.leads {
            return;
        }
        self.leads = leads;
        self.changes.push(Change::Leading(leads));
        match leads {
            true => {
                tracing::info!("leading");
                self.look_at_everything();
            }
            false => {
                tracing::info!("following");
                self.queue.clear();
                self.parts.deliveries.end();
                self.parts.directing.end();
            }
        }
    }

    /// Sends what may be sent.
    fn work(&mut self) {
        if !self.leads || !self.planned {
            return;
        }
        let now = Instant::now();
        for _ in 0..TURNS {
            if self.queue.in_flight() >= MOST_IN_FLIGHT || !self.may_write(now) {
                return;
            }
            let Some(work) = self.queue.pop(now) else { return };
            let start = Instant::now();
            match self.next_write(&work) {
                Some((purpose, write)) => self.send(work, purpose, write),
                None => {
                    self.parts.metrics.looked(work.label(), start.elapsed());
                    self.queue.done(work, Ending::Finished, now);
                }
            }
        }
    }

    /// Takes a turn under the rate limit; one that is not used is kept.
    fn may_write(&mut self, now: Instant) -> bool {
        if self.token {
            return true;
        }
        match self.limiter.check() {
            Ok(()) => {
                self.token = true;
                self.blocked_until = None;
            }
            Err(wait) => self.blocked_until = Some(now + wait.wait_time_from(DefaultClock::default().now())),
        }
        self.token
    }

    fn send(&mut self, work: Work, purpose: Purpose, write: Write) {
        self.token = false;
        if let Purpose::Child(child, _) | Purpose::Removal(child) = &purpose {
            self.flying.insert(child.clone());
        }
        let (sender, answers) = (self.parts.sender.clone(), self.answers.0.clone());
        tokio::spawn(async move {
            let start = Instant::now();
            let (verb, resource) = (write.verb, write.resource());
            let result = sender.send(write).await;
            let answer = Answer { work, purpose, verb, resource, took: start.elapsed(), result };
            // The loop that asked may have ended; then nobody needs the answer.
            let _ = answers.send(answer);
        });
    }

    /// Waits for what was sent, so that who leads next does not meet it.
    async fn last_answers(&mut self) {
        let waiting = async {
            while self.queue.in_flight() > 0 {
                let Some(answer) = self.answers.1.recv().await else { return };
                self.take_answer(answer);
            }
        };
        // What is not answered by then is left to the fence.
        let _ = tokio::time::timeout(LAST_ANSWERS, waiting).await;
    }

    fn sample(&self) -> Sample {
        let mut notes: BTreeMap<(&'static str, String), u64> = BTreeMap::new();
        for (object, live) in self.live.objects() {
            let ready = self.live.words.find(&live.conditions, "Ready");
            if let Some((_, reason, _)) = ready {
                *notes.entry((object.kind.kind(), reason.to_owned())).or_default() += 1;
            }
        }
        Sample {
            depths: self.queue.depths(),
            notes,
            leads: self.leads,
            dropped_events: self.parts.events.dropped(),
        }
    }

    fn tell_planner(&mut self, child: &ChildRef, outcome: Option<String>) {
        let changed = match &outcome {
            Some(message) => self.outcomes.insert(child.clone(), message.clone()).as_ref() != Some(message),
            None => self.outcomes.remove(child).is_some(),
        };
        if changed {
            self.changes.push(Change::ChildOutcome(child.clone(), outcome));
        }
    }
}

/// A child of this one cluster.
fn child_of(kind: planner::ChildKind, key: &crate::cluster::Key) -> ChildRef {
    ChildRef { cluster: HERE, kind, namespace: key.namespace.clone(), name: key.name.clone() }
}
