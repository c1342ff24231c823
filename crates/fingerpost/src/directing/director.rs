//! What directs one Placement, decided from its spec, the health of its regions, the lease as it was seen
//! and the orders of people: no IO, no clock.
//!
//! Without a witness clients follow health, and where `failback` is `Manual` a region that they moved to
//! stays. With one they follow the holder of the lease and nothing else; what is decided here is whether
//! this region wants it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use planner::{Direction, LeaseFact, Move};

use crate::witness::{Document, Intent};

/// How many moves are remembered.
const MOVES: usize = 20;
/// For how many leases a better region must be up before the lease goes back to it.
const STEADY: u32 = 2;
/// For how many leases an order is tried.
const PATIENCE: u32 = 2;
/// For how many leases a region that did not take the lease is not offered it again.
const DECLINED: u32 = 20;

/// How a region is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegionState {
    /// It is up, or nobody looks.
    Up,
    /// It is down, or drained.
    Down,
    /// Not known yet.
    Unknown,
}

/// What does not change while a Placement is directed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The regions in order of preference.
    pub regions: Vec<Arc<str>>,
    /// Whether clients go back by themselves.
    pub automatic: bool,
    /// Whether one region answers before others.
    pub ordered: bool,
    /// The region that this process speaks for.
    pub own: Option<Arc<str>>,
    /// Lease and renewal, where there is a witness.
    pub witness: Option<(Duration, Duration)>,
    /// Whether a health check says which regions are up. Without one they all count as up.
    pub checked: bool,
}

/// What was seen of a lease.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Witnessed {
    /// The document.
    pub document: Option<Document>,
    /// For how long it has been unchanged.
    pub age: Duration,
    /// Why the witness cannot be asked, where it cannot.
    pub trouble: Option<String>,
}

/// Why an order is not followed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is no such region.
    #[error("there is no region `{0}`: choose one of {1}")]
    NoRegion(String, String),
    /// It is there already.
    #[error("clients are sent to `{0}` already")]
    Already(String),
    /// It is not known to be up.
    #[error("the region `{0}` is not up: wait until it is, or insist with --force")]
    NotUp(String),
    /// No health check says whether it is up.
    #[error(
        "whether the region `{0}` is up is not known, since the Placement has no spec.healthCheck: add one, or insist \
         with --force"
    )]
    Unchecked(String),
    /// All regions answer.
    #[error("all regions answer in this mode: there is nothing to switch")]
    Unordered,
    /// The lease cannot be moved.
    #[error("the witness cannot be asked, so that the lease cannot be moved: {0}")]
    Witness(String),
}

#[derive(Clone, Debug)]
struct Ordered {
    to: Arc<str>,
    since: Instant,
    /// It was given up, and is to be taken back.
    withdrawn: bool,
}

/// What directs one Placement.
#[derive(Debug)]
pub struct Director {
    rules: Rules,
    direction: Direction,
    health: BTreeMap<Arc<str>, (RegionState, Instant)>,
    document: Option<Document>,
    /// For how long the document has been unchanged.
    age: Duration,
    order: Option<Ordered>,
    /// Whom we offered the lease, and those who did not take it.
    offered: Option<Arc<str>>,
    declined: BTreeMap<Arc<str>, Instant>,
}

impl Director {
    /// Goes on from where an earlier process was.
    pub fn new(rules: Rules, before: Direction) -> Director {
        let mut director = Director {
            rules: rules.clone(),
            direction: before,
            health: BTreeMap::new(),
            document: None,
            age: Duration::ZERO,
            order: None,
            offered: None,
            declined: BTreeMap::new(),
        };
        director.set_rules(rules);
        director
    }

    /// Takes another spec.
    pub fn set_rules(&mut self, rules: Rules) {
        let known = |region: &Arc<str>| rules.regions.contains(region);
        self.direction.active = self.direction.active.take().filter(known);
        self.order = self.order.take().filter(|order| known(&order.to));
        if rules.witness.is_none() {
            self.direction.lease = None;
            self.direction.witness_trouble = None;
            self.document = None;
        }
        self.rules = rules;
    }

    /// What the planner is to be told.
    pub fn direction(&self) -> &Direction {
        &self.direction
    }

    /// The region that an order wants to move to; also while it is taken back and the witness may still
    /// have it, since until then it may happen all the same.
    pub fn ordered(&self) -> Option<&Arc<str>> {
        self.order.as_ref().map(|order| &order.to)
    }

    /// Takes in how the regions are.
    pub fn hear(&mut self, health: &[(Arc<str>, RegionState)], now: Instant, wall: i64) {
        let before = std::mem::take(&mut self.health);
        for (region, state) in health {
            let since =
                before.get(region).filter(|(known, _)| known == state).map_or(now, |(_, since)| *since);
            self.health.insert(region.clone(), (*state, since));
        }
        if self.rules.witness.is_none() && self.rules.ordered {
            self.follow_health(wall);
        }
    }

    fn state(&self, region: &str) -> RegionState {
        self.health.get(region).map_or(RegionState::Unknown, |(state, _)| *state)
    }

    fn first_up(&self) -> Option<&Arc<str>> {
        self.rules.regions.iter().find(|region| self.state(region) == RegionState::Up)
    }

    /// The region that clients are sent to, without a witness.
    fn current(&self) -> Option<Arc<str>> {
        let latest = || self.direction.moves.first().and_then(|latest| latest.to.clone());
        let latest = || latest().filter(|region| self.rules.regions.contains(region));
        self.direction.active.clone().or_else(latest).or_else(|| self.rules.regions.first().cloned())
    }

    fn follow_health(&mut self, wall: i64) {
        let (Some(current), Some(best)) = (self.current(), self.first_up().cloned()) else { return };
        let is_down = self.state(&current) == RegionState::Down;
        let goes_back = self.rules.automatic && self.direction.active.is_none();
        if current == best || !(is_down || goes_back && self.prefers(&best, &current)) {
            return;
        }
        let message = match is_down {
            true => format!("{current} is down"),
            false => format!("{best} is up again"),
        };
        self.direction.active = (!self.rules.automatic).then(|| best.clone());
        self.moved(Some(current), Some(best), message, wall);
    }

    fn prefers(&self, one: &str, other: &str) -> bool {
        self.rank(one) < self.rank(other)
    }

    fn rank(&self, region: &str) -> usize {
        self.rules.regions.iter().position(|known| **known == *region).unwrap_or(usize::MAX)
    }

    fn moved(&mut self, from: Option<Arc<str>>, to: Option<Arc<str>>, message: String, wall: i64) {
        self.direction.moves.insert(0, Move { at: wall, from, to, message: message.into() });
        self.direction.moves.truncate(MOVES);
    }

    /// Moves to a region because somebody says so.
    pub fn order(&mut self, to: &str, force: bool, now: Instant, wall: i64) -> Result<(), Refusal> {
        if !self.rules.ordered && self.rules.witness.is_none() {
            return Err(Refusal::Unordered);
        }
        let all =
            || self.rules.regions.iter().map(|region| format!("`{region}`")).collect::<Vec<_>>().join(", ");
        let known = self.rules.regions.iter().find(|region| ***region == *to).cloned();
        let to = known.ok_or_else(|| Refusal::NoRegion(to.to_owned(), all()))?;
        let from = self.current();
        if from.as_ref() == Some(&to) {
            return self.withdraw(&to, wall);
        }
        if !force && self.state(&to) != RegionState::Up {
            return Err(Refusal::NotUp(to.to_string()));
        }
        if !force && !self.rules.checked {
            return Err(Refusal::Unchecked(to.to_string()));
        }
        if let Some(trouble) =
            self.direction.witness_trouble.as_ref().filter(|_| self.rules.witness.is_some())
        {
            return Err(Refusal::Witness(trouble.to_string()));
        }
        match self.rules.witness {
            Some(_) => self.order = Some(Ordered { to, since: now, withdrawn: false }),
            None => {
                self.direction.active = Some(to.clone());
                let message = format!("switchover to {to}");
                self.moved(from, Some(to), message, wall);
            }
        }
        Ok(())
    }

    /// Who orders clients to stay takes back the order to move them.
    fn withdraw(&mut self, stay: &Arc<str>, wall: i64) -> Result<(), Refusal> {
        let pending = self.order.as_mut().filter(|order| !order.withdrawn);
        let Some(order) = pending else { return Err(Refusal::Already(stay.to_string())) };
        order.withdrawn = true;
        let message = format!("the switchover to {} was taken back", order.to);
        self.moved(Some(stay.clone()), Some(stay.clone()), message, wall);
        Ok(())
    }

    /// Puts down that an order is not followed, and why.
    pub fn refused(&mut self, refusal: &Refusal, wall: i64) {
        let active = self.current();
        self.moved(active.clone(), active, format!("a switchover was refused: {refusal}"), wall);
    }

    /// Takes in what was seen of the lease.
    pub fn observe(&mut self, seen: &Witnessed, now: Instant, wall: i64) {
        if self.rules.witness.is_none() {
            return;
        }
        self.direction.witness_trouble = seen.trouble.clone().or_else(|| self.nameless()).map(Into::into);
        if seen.trouble.is_none() {
            self.see(seen, now, wall);
        }
        self.pursue(now, wall);
    }

    fn nameless(&self) -> Option<String> {
        match &self.rules.own {
            None => {
                Some("it is not known which region this cluster speaks for: set spec.witness.region".into())
            }
            Some(own) if !self.rules.regions.contains(own) => {
                Some(format!("this cluster speaks for `{own}`, which is none of the regions"))
            }
            Some(_) => None,
        }
    }

    fn see(&mut self, seen: &Witnessed, now: Instant, wall: i64) {
        let Some(document) = &seen.document else { return };
        let lease = Duration::from_millis(document.lease_milliseconds);
        let left = lease.saturating_sub(seen.age);
        let holder: Option<Arc<str>> = Some(&document.holder)
            .filter(|holder| !holder.is_empty() && !left.is_zero())
            .map(|holder| Arc::from(holder.as_str()));
        self.direction.lease = Some(LeaseFact {
            holder: holder.clone(),
            generation: document.generation,
            expires: holder.is_some().then(|| wall.saturating_add(left.as_secs() as i64)),
        });
        if let Some(holder) = holder.filter(|holder| self.rules.regions.contains(holder)) {
            self.follow_holder(holder, document, wall);
        }
        self.note_offer(document, now, wall);
        self.document = Some(document.clone());
        self.age = seen.age;
    }

    /// DNS follows the lease.
    fn follow_holder(&mut self, holder: Arc<str>, document: &Document, wall: i64) {
        let from = self.direction.active.clone();
        if from.as_ref() == Some(&holder) {
            return;
        }
        let generation = document.generation;
        let message = match &from {
            _ if document.planned => format!("the lease was handed to {holder} (generation {generation})"),
            Some(from) if self.state(from) == RegionState::Down => {
                format!("{from} is down and {holder} took the lease (generation {generation})")
            }
            _ => format!("{holder} took the lease (generation {generation})"),
        };
        self.direction.active = Some(holder.clone());
        self.moved(from, Some(holder), message, wall);
    }

    /// Remembers whom we offered the lease, and notices who did not take it.
    fn note_offer(&mut self, document: &Document, now: Instant, wall: i64) {
        let Some(own) = self.rules.own.clone() else { return };
        if document.holder.is_empty() && self.direction.active.as_ref() == Some(&own) {
            self.offered = document.successor.as_deref().map(Arc::from);
        }
        if !document.holder.is_empty() && *document.holder != *own {
            self.offered = None;
        }
        if *document.holder != *own {
            return;
        }
        if let Some(region) = self.offered.take() {
            let message = format!("{region} did not take the lease: {own} took it back");
            self.declined.insert(region, now);
            self.moved(Some(own.clone()), Some(own), message, wall);
        }
    }

    /// Ends an order that was followed, or that nobody follows.
    fn pursue(&mut self, now: Instant, wall: i64) {
        let (Some(order), Some((lease, _))) = (self.order.clone(), self.rules.witness) else { return };
        let asked = self.document.as_ref().and_then(|document| document.successor.as_deref());
        let is_free = self.document.as_ref().is_some_and(|document| document.holder.is_empty());
        let lapsed = is_free && asked == Some(&*order.to) && self.age > lease;
        let late = lapsed || now.saturating_duration_since(order.since) > lease * PATIENCE;
        if self.direction.active.as_ref() == Some(&order.to) || order.withdrawn && asked != Some(&*order.to) {
            self.order = None;
        } else if late && !order.withdrawn {
            let active = self.direction.active.clone();
            let message = format!("the switchover to {} was given up: it did not get the lease", order.to);
            self.moved(active.clone(), active, message, wall);
            self.order = Some(Ordered { withdrawn: true, ..order });
        } else if now.saturating_duration_since(order.since) > lease * PATIENCE * 4 {
            self.order = None;
        }
    }

    /// What this region wants of the lease.
    pub fn intent(&self, now: Instant) -> Intent {
        let own = self.rules.own.as_ref().filter(|own| self.rules.regions.contains(own));
        let (Some(own), Some((lease, renew))) = (own, self.rules.witness) else { return Intent::Watch };
        let document = self.document.as_ref();
        let holds = document.is_some_and(|document| *document.holder == **own);
        let is_free = document.is_none_or(|document| document.holder.is_empty());
        match &self.order {
            Some(order) if order.withdrawn && !holds && !is_free => {
                return Intent::Withdraw(order.to.to_string());
            }
            Some(order) if order.to == *own && self.is_reserved_for(own) => {
                return Intent::Hold(Duration::ZERO);
            }
            Some(order) if !order.withdrawn => return Intent::HandOver(order.to.to_string()),
            _ => {}
        }
        if holds { self.as_holder(own, lease, now) } else { self.as_other(own, renew) }
    }

    fn is_reserved_for(&self, own: &str) -> bool {
        self.document.as_ref().is_some_and(|document| document.successor.as_deref() == Some(own))
    }

    fn as_holder(&self, own: &Arc<str>, lease: Duration, now: Instant) -> Intent {
        let document = self.document.as_ref();
        let asked = document.and_then(|document| document.successor.as_deref());
        let asked = asked.filter(|asked| *asked != &**own && self.rank(asked) != usize::MAX);
        if let Some(asked) = asked {
            return Intent::Yield(Some(asked.to_owned()), true);
        }
        let others_up = self.rules.regions.iter().any(|one| one != own && self.state(one) == RegionState::Up);
        if self.state(own) == RegionState::Down && others_up {
            return Intent::Yield(None, false);
        }
        let planned = document.is_some_and(|document| document.planned);
        match self.better(own, lease, now).filter(|_| self.rules.automatic && !planned) {
            Some(better) => Intent::Yield(Some(better.to_string()), false),
            None => Intent::Hold(Duration::ZERO),
        }
    }

    /// A better region that has been up for long enough, and did take the lease when it was offered.
    fn better(&self, own: &str, lease: Duration, now: Instant) -> Option<&Arc<str>> {
        let age = |since: &Instant| now.saturating_duration_since(*since);
        let steady = |region: &&Arc<str>| match self.health.get(&***region) {
            Some((RegionState::Up, since)) => age(since) >= lease * STEADY,
            _ => false,
        };
        let declined =
            |region: &&Arc<str>| self.declined.get(*region).is_some_and(|at| age(at) < lease * DECLINED);
        let better = self.rules.regions.iter().take_while(|region| ***region != *own);
        better.filter(steady).find(|region| !declined(region))
    }

    /// Who was there last comes first, then who is preferred.
    fn as_other(&self, own: &Arc<str>, renew: Duration) -> Intent {
        if self.state(own) != RegionState::Up {
            return Intent::Watch;
        }
        let last = self.direction.active.as_ref();
        let may_return = last.is_some_and(|last| self.state(last) != RegionState::Down);
        let before = self.rules.regions.iter().take_while(|region| *region != own);
        let before = before.filter(|region| self.state(region) != RegionState::Down).count();
        let ahead = if last == Some(own) { 0 } else { before.max(usize::from(may_return)) };
        Intent::Hold(renew * u32::try_from(ahead).unwrap_or(u32::MAX).min(32))
    }
}
