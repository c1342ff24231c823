//! What is to be brought in line, each once, fairly between kinds.
//!
//! ```text
//! push ──► ready (a line per kind) ──pop──► in flight ──done──► gone, or again, or later
//!             ▲                                                           │
//!             └───────────────── its time has come ◄──────────────────────┘
//! ```
//!
//! Only the name of what is to be done is kept; what to write is worked out when its turn comes, so
//! the newest state wins. Aggregates (an Istio Gateway with all its hosts, a Zone's status, the
//! serials) follow many objects: after a write they rest, the longer the busier they are.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

use api::Kind;
use planner::{ChildKind, ChildRef, ObjectRef};

/// The first pause after a failure, and the longest.
const FIRST_RETRY: Duration = Duration::from_millis(250);
const LONGEST_RETRY: Duration = Duration::from_secs(30);
/// How long an aggregate rests after a write: this, doubled with each that follows closely.
const FIRST_REST: Duration = Duration::from_millis(200);
const LONGEST_REST: Duration = Duration::from_secs(5);

/// Something to bring in line with the plan.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Work {
    /// An object's children, metadata and status, in this order.
    Object(ObjectRef),
    /// One child by itself: drift, removal, and Istio Gateways.
    Child(ChildRef),
    /// The serials of implied zones.
    Serials,
}

/// Those that take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Lane {
    Child(ChildKind),
    Object(Kind),
    Serials,
}

impl Work {
    fn lane(&self) -> Lane {
        match self {
            Work::Object(object) => Lane::Object(object.kind),
            Work::Child(child) => Lane::Child(child.kind),
            Work::Serials => Lane::Serials,
        }
    }

    /// Whether it follows many objects.
    fn is_aggregate(&self) -> bool {
        match self {
            Work::Object(object) => object.kind == Kind::Zone,
            Work::Child(child) => child.kind == ChildKind::IstioGateway,
            Work::Serials => true,
        }
    }

    /// The kind, for metrics.
    pub fn label(&self) -> &'static str {
        match self {
            Work::Object(object) => object.kind.kind(),
            Work::Child(child) => match child.kind {
                ChildKind::DNSEndpoint => "DNSEndpoint",
                ChildKind::IstioGateway => "IstioGateway",
                ChildKind::DefaultPolicy => "DefaultPolicy",
            },
            Work::Serials => "Serials",
        }
    }
}

/// How some work went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Nothing is left to do.
    Finished,
    /// One write succeeded; there may be another.
    Wrote,
    /// It failed; to be tried again, after this long at least.
    Failed(Duration),
}

#[derive(Debug)]
struct Rest {
    until: Instant,
    length: Duration,
}

/// The queue.
#[derive(Debug, Default)]
pub struct Queue {
    ready: BTreeMap<Lane, VecDeque<Work>>,
    queued: HashSet<Work>,
    /// In flight; true where it was pushed again meanwhile.
    flying: HashMap<Work, bool>,
    later: BTreeSet<(Instant, Work)>,
    due: HashMap<Work, Instant>,
    failures: HashMap<Work, u32>,
    resting: HashMap<Work, Rest>,
    last_lane: Option<Lane>,
}

impl Queue {
    /// Something may have to be done.
    pub fn push(&mut self, work: Work, now: Instant) {
        if let Some(again) = self.flying.get_mut(&work) {
            *again = true;
            return;
        }
        match self.resting.get(&work).map(|rest| rest.until).filter(|until| *until > now) {
            Some(until) => self.postpone(work, until),
            // What failed keeps its pause: news about an object is no news about the obstacle, unless
            // the object itself was mended, and then it waits no longer than the first pause.
            None if self.failures.contains_key(&work) => self.postpone(work, now + FIRST_RETRY),
            None => self.enqueue(work),
        }
    }

    /// The next to do, the kinds taking turns.
    pub fn pop(&mut self, now: Instant) -> Option<Work> {
        self.wake(now);
        let lane = self.next_lane()?;
        let line = self.ready.get_mut(&lane)?;
        let work = line.pop_front()?;
        if line.is_empty() {
            self.ready.remove(&lane);
        }
        self.last_lane = Some(lane);
        self.queued.remove(&work);
        self.flying.insert(work.clone(), false);
        Some(work)
    }

    /// Some work came back.
    pub fn done(&mut self, work: Work, ending: Ending, now: Instant) {
        let again = self.flying.remove(&work).unwrap_or(false);
        match ending {
            Ending::Finished => {
                self.failures.remove(&work);
                if again {
                    self.push(work, now);
                }
            }
            Ending::Wrote => {
                self.failures.remove(&work);
                self.rest(&work, now);
                self.push(work, now);
            }
            Ending::Failed(at_least) => {
                let failures = self.failures.entry(work.clone()).or_default();
                let pause = FIRST_RETRY.saturating_mul(1 << (*failures).min(16)).min(LONGEST_RETRY);
                *failures = failures.saturating_add(1);
                self.postpone(work, now + pause.max(at_least));
            }
        }
    }

    /// When the next of those that wait may be done.
    pub fn next_due(&self) -> Option<Instant> {
        self.later.first().map(|(due, _)| *due)
    }

    /// Whether something may be done now.
    pub fn has_ready(&self, now: Instant) -> bool {
        !self.ready.is_empty() || self.next_due().is_some_and(|due| due <= now)
    }

    /// How many wait, by kind; those that wait for their time included.
    pub fn depths(&self) -> BTreeMap<&'static str, usize> {
        let waiting = self.queued.iter().chain(self.due.keys());
        let mut depths = BTreeMap::new();
        for work in waiting {
            *depths.entry(work.label()).or_default() += 1;
        }
        depths
    }

    /// How many are being sent.
    pub fn in_flight(&self) -> usize {
        self.flying.len()
    }

    /// Forgets everything that waits: who leads next looks at everything anew.
    pub fn clear(&mut self) {
        let flying = std::mem::take(&mut self.flying);
        *self = Queue { flying, ..Queue::default() };
    }

    fn enqueue(&mut self, work: Work) {
        if let Some(due) = self.due.remove(&work) {
            self.later.remove(&(due, work.clone()));
        }
        if self.queued.insert(work.clone()) {
            self.ready.entry(work.lane()).or_default().push_back(work);
        }
    }

    /// Keeps work for later; an earlier time that it has already stands.
    pub fn postpone(&mut self, work: Work, until: Instant) {
        if self.queued.contains(&work) || self.due.get(&work).is_some_and(|due| *due <= until) {
            return;
        }
        if let Some(due) = self.due.insert(work.clone(), until) {
            self.later.remove(&(due, work.clone()));
        }
        self.later.insert((until, work));
    }

    fn wake(&mut self, now: Instant) {
        while let Some((due, work)) = self.later.first().cloned().filter(|(due, _)| *due <= now) {
            self.later.remove(&(due, work.clone()));
            self.due.remove(&work);
            self.enqueue(work);
        }
    }

    /// The lane after the last one, in a circle.
    fn next_lane(&self) -> Option<Lane> {
        use std::ops::Bound::{Excluded, Unbounded};
        let after = self.last_lane.and_then(|last| self.ready.range((Excluded(last), Unbounded)).next());
        after.or_else(|| self.ready.first_key_value()).map(|(lane, _)| *lane)
    }

    fn rest(&mut self, work: &Work, now: Instant) {
        if !work.is_aggregate() {
            return;
        }
        let before = self.resting.get(work).filter(|rest| now < rest.until + rest.length);
        let length = before.map_or(FIRST_REST, |rest| (rest.length * 2).min(LONGEST_REST));
        self.resting.insert(work.clone(), Rest { until: now + length, length });
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use planner::ClusterId;

    fn object(kind: Kind, name: &str) -> Work {
        Work::Object(ObjectRef { kind, namespace: "shop".into(), name: name.into() })
    }

    fn istio(name: &str) -> Work {
        let (cluster, kind) = (ClusterId(0), ChildKind::IstioGateway);
        Work::Child(ChildRef { cluster, kind, namespace: "shop".into(), name: name.into() })
    }

    #[test]
    fn what_is_pushed_twice_is_done_once() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        let route = object(Kind::ServiceRoute, "a");
        queue.push(route.clone(), now);
        queue.push(route.clone(), now);
        assert_eq!(queue.pop(now), Some(route.clone()));
        assert_eq!(queue.pop(now), None);
        queue.push(route.clone(), now);
        assert_eq!(queue.pop(now), None, "not while it is in flight");
        queue.done(route.clone(), Ending::Finished, now);
        assert_eq!(queue.pop(now), Some(route), "but afterwards");
    }

    #[test]
    fn kinds_take_turns() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        for name in ["a", "b", "c"] {
            queue.push(object(Kind::ServiceRoute, name), now);
        }
        queue.push(object(Kind::DNSPolicy, "p"), now);
        queue.push(object(Kind::Gateway, "g"), now);
        let order: Vec<&str> = std::iter::from_fn(|| queue.pop(now)).map(|work| work.label()).collect();
        assert_eq!(order[..3].iter().collect::<BTreeSet<_>>().len(), 3, "{order:?}");
        assert_eq!(order.len(), 5);
    }

    #[test]
    fn failures_wait_longer_and_longer_but_never_for_good() {
        let (mut queue, mut now) = (Queue::default(), Instant::now());
        let route = object(Kind::ServiceRoute, "a");
        queue.push(route.clone(), now);
        let mut pauses = Vec::new();
        for _ in 0..12 {
            let work = queue.pop(now).unwrap();
            queue.done(work, Ending::Failed(Duration::ZERO), now);
            let due = queue.next_due().unwrap();
            pauses.push(due - now);
            assert_eq!(queue.pop(now), None);
            now = due;
        }
        assert!(pauses.windows(2).all(|pair| pair[0] <= pair[1]), "{pauses:?}");
        assert_eq!((pauses[0], *pauses.last().unwrap()), (FIRST_RETRY, LONGEST_RETRY));
        let work = queue.pop(now).unwrap();
        queue.done(work, Ending::Failed(Duration::from_secs(60)), now);
        assert_eq!(queue.next_due(), Some(now + Duration::from_secs(60)), "what the server asks for counts");
    }

    #[test]
    fn one_that_fails_delays_no_other() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        let (bad, good) = (object(Kind::ServiceRoute, "bad"), object(Kind::ServiceRoute, "good"));
        queue.push(bad.clone(), now);
        let work = queue.pop(now).unwrap();
        queue.done(work, Ending::Failed(Duration::ZERO), now);
        queue.push(good.clone(), now);
        assert_eq!(queue.pop(now), Some(good));
    }

    #[test]
    fn a_busy_aggregate_rests_longer_and_recovers() {
        let (mut queue, mut now) = (Queue::default(), Instant::now());
        let gateway = istio("edge");
        let mut writes = 0;
        let start = now;
        while now < start + Duration::from_secs(60) {
            queue.push(gateway.clone(), now);
            if let Some(work) = queue.pop(now) {
                writes += 1;
                queue.done(work, Ending::Wrote, now);
                if let Some(work) = queue.pop(now) {
                    queue.done(work, Ending::Finished, now);
                }
            }
            now += Duration::from_millis(10);
        }
        assert!((10..25).contains(&writes), "{writes} writes in a minute of changes");
        now += Duration::from_secs(20);
        if let Some(work) = queue.pop(now) {
            queue.done(work, Ending::Finished, now);
        }
        queue.push(gateway.clone(), now);
        assert_eq!(queue.pop(now), Some(gateway), "after quiet it is done at once");
    }

    #[test]
    fn who_no_longer_leads_forgets_what_waits_and_takes_back_what_flies() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        queue.push(object(Kind::ServiceRoute, "a"), now);
        queue.push(object(Kind::ServiceRoute, "b"), now);
        let flying = queue.pop(now).unwrap();
        queue.clear();
        assert_eq!((queue.in_flight(), queue.pop(now)), (1, None));
        queue.done(flying, Ending::Finished, now);
        assert_eq!((queue.in_flight(), queue.depths().len()), (0, 0));
    }
}
