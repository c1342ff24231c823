//! One zone of the provider: what is wanted and held there, and what comes next.
//!
//! Every name that needs something is in exactly one queue, by what it needs first:
//!
//! ```text
//! Look ─► Mark ─► Put ─► ReadBack ─► Delete ─► (ReadBack) ─► Unmark
//!           └───────┴──── Waiting ◄─────┴──────────────────────┘   after a failure of its own
//! ```
//!
//! Queues are emptied from the left, so all that is to be made stands, and was read back, before
//! anything is deleted. At most one request of a zone is under way at a time; `ahead` uses that time.

mod ahead;
mod footing;
mod glance;
mod guard;
mod held;
mod pulse;
mod pulses;
mod reading;
mod reporting;
mod sharing;
mod situation;
mod turn;
mod writing;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use dns::{Name, Rtype};

use super::backoff::{Backoff, Moment};
use super::origin::{Origin, Wanted};
use super::task::{Job, Outcome, What, Writing};
use super::{Known, Node, Report, Settings, Trouble, Written};
use crate::powerdns::steered::STEERED;
use crate::{Entry, Failure, NewZone, Reading, SetKey, marks};
use guard::Guard;
use held::{Held, Marks};
use situation::Stage;
pub(super) use writing::is_answer;

/// What all zones of a class have in common.
#[derive(Debug)]
pub(super) struct Class {
    pub(super) settings: Settings,
    pub(super) reading: Reading,
    pub(super) batch_size: usize,
    /// Whether much is deleted only with consent.
    pub(super) is_shared: bool,
    pub(super) complete: bool,
}

/// The moment, by which everything is judged.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    pub(super) class: &'a Class,
    pub(super) now: Moment,
    /// Chance, in `0..1`.
    pub(super) jitter: f64,
}

/// One zone of the provider.
#[derive(Debug)]
pub(super) struct Zone {
    pub(super) name: Name,
    pub(super) origins: BTreeMap<Name, Origin>,
    pub(super) reports: Vec<Report>,
    pub(super) guard: Guard,
    /// Failures of the zone as a whole.
    pub(super) backoff: Backoff,
    /// Whether a request of this zone is under way.
    pub(super) busy: bool,
    /// The batch of marks or sets that is under way.
    under_way: Option<Arc<Writing>>,
    owner: String,
    /// Where marks stand.
    corner: Option<Name>,
    /// Whether the zone's name leaves room for marks.
    has_room: bool,
    held: BTreeMap<SetKey, Held>,
    marks: Marks,
    /// Sets that become ours as soon as they are wanted.
    adopted: BTreeSet<SetKey>,
    active: BTreeMap<Name, Active>,
    queues: BTreeMap<Stage, BTreeSet<Name>>,
    waiting: BTreeSet<(Moment, Name)>,
    /// Names that have yet to be worked out after a reading of the zone, the last first.
    unworked: Vec<Name>,
    /// What made room for something that was refused, and is to stand again.
    restoring: Vec<Entry>,
    turn: turn::Turn,
    ahead: ahead::Ahead,
    pulses: pulses::Pulses,
    /// When the request was sent that moves our counter.
    pulse_sent: Option<Moment>,
    /// Names that other owners have to do with, or may.
    contested: BTreeSet<Name>,
    /// How many changes a batch may have; fewer after a failure.
    limit: usize,
    /// How many names are read together; fewer after a failure.
    read_limit: usize,
}

/// A name that needs something.
#[derive(Debug, Default)]
struct Active {
    stage: Option<Stage>,
    /// What stands there has to be read before anything else.
    look: bool,
    /// Our mark names something since just now, and nothing was written for it yet.
    is_new: bool,
    /// What was written and not read back yet.
    unread: BTreeMap<Rtype, Wrote>,
    /// What was deleted and read back as gone.
    deleted: BTreeSet<Rtype>,
    /// What was told to stay until its replacement stands.
    relied_on: BTreeSet<Rtype>,
    /// Whether what was written only has to be read back, and then nothing is left to be done.
    is_last: bool,
    /// Failures of single sets.
    waits: BTreeMap<Rtype, Backoff>,
    /// Failures to read it.
    unreadable: Backoff,
    wake: Option<Moment>,
}

/// What was written of a set.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Wrote {
    Put(Written, u64),
    Deleted,
}

impl Zone {
    /// A zone that the provider has, of which nothing is known yet.
    pub(super) fn new(name: Name, at: At<'_>) -> Zone {
        Zone {
            corner: marks::corner(&name),
            has_room: marks::mark_name("", &name, &name).is_some(),
            name,
            origins: BTreeMap::new(),
            reports: Vec::new(),
            guard: Guard::default(),
            backoff: Backoff::default(),
            busy: false,
            under_way: None,
            owner: at.class.settings.owner.clone(),
            held: BTreeMap::new(),
            marks: Marks::default(),
            adopted: BTreeSet::new(),
            active: BTreeMap::new(),
            queues: BTreeMap::new(),
            waiting: BTreeSet::new(),
            unworked: Vec::new(),
            restoring: Vec::new(),
            turn: turn::Turn::new(at),
            ahead: ahead::Ahead::default(),
            pulses: pulses::Pulses::default(),
            pulse_sent: None,
            contested: BTreeSet::new(),
            limit: at.class.batch_size.max(1),
            read_limit: reading::MANY,
        }
    }

    /// Takes in an origin that lies in this zone.
    pub(super) fn take(&mut self, origin: Name, content: Origin, made: bool, at: At<'_>) {
        if at.class.reading == Reading::Sets {
            content.known.keys().for_each(|key| self.marks.claim(key));
        }
        if made && origin == self.name {
            let types = [Rtype::SOA, Rtype::NS];
            self.adopted.extend(types.map(|rtype| SetKey { name: origin.clone(), rtype }));
        }
        let mut names: BTreeSet<Name> = content.names().collect();
        names.insert(origin.clone());
        names.extend(content.known.keys().map(|key| key.name.clone()));
        self.origins.insert(origin, content);
        names.iter().for_each(|name| self.work_out(name, at));
    }

    /// The origins that a name lies in, the innermost first.
    fn origins_of<'a>(&'a self, name: &'a Name) -> impl Iterator<Item = (&'a Name, &'a Origin)> {
        name.suffix_keys().filter_map(|key| self.origins.get_key_value(key))
    }

    /// What is wanted at a name, the innermost origin's first.
    fn wanted_at<'a>(&'a self, name: &'a Name) -> impl Iterator<Item = &'a Wanted> {
        self.origins_of(name).filter_map(move |(_, origin)| origin.nodes.get(name))
    }

    /// Gives its origins back, with the memory of what is ours.
    pub(super) fn dissolve(mut self) -> BTreeMap<Name, Origin> {
        for key in self.marks.claims() {
            let home = key.name.suffixes().find(|name| self.origins.contains_key(name));
            if let Some(origin) = home.and_then(|name| self.origins.get_mut(&name)) {
                origin.known.entry(key).or_insert(None);
            }
        }
        self.origins
    }

    /// Takes over what is wanted at a name; new content is tried at once.
    pub(super) fn put_node(&mut self, node: Node, at: At<'_>) {
        let (name, zone) = (node.name.clone(), node.zone.clone());
        if let Some(origin) = self.origins.get_mut(&zone) {
            let told = origin.nodes.get(&name).is_some_and(|old| old.is(&node));
            origin.put(node);
            if let Some(active) = self.active.get_mut(&name).filter(|_| !told) {
                active.waits.clear();
            }
        }
        self.work_out(&name, at);
    }

    /// Reports what is wanted at a name once more.
    pub(super) fn report_again(&mut self, zone: &Name, name: &Name, at: At<'_>) {
        if let Some(origin) = self.origins.get_mut(zone) {
            origin.report_again(name);
        }
        self.work_out(name, at);
    }

    /// Takes over what an origin is made with.
    pub(super) fn put_facts(&mut self, zone: NewZone, at: At<'_>) {
        let name = zone.origin.clone();
        if let Some(origin) = self.origins.get_mut(&name) {
            origin.facts = Some(zone);
        }
        self.work_out(&name, at);
    }

    /// Remembers what may stand there because of us.
    pub(super) fn know(&mut self, known: Known, at: At<'_>) {
        let name = known.key.name.clone();
        if at.class.reading == Reading::Sets {
            self.marks.claim(&known.key);
        }
        if let Some(origin) = self.origins.get_mut(&known.zone) {
            origin.know(known);
        }
        self.work_out(&name, at);
    }

    /// Makes a set ours as soon as it is wanted.
    pub(super) fn adopt(&mut self, key: SetKey, at: At<'_>) {
        let name = key.name.clone();
        if matches!(key.rtype, Rtype::A | Rtype::AAAA) {
            // A program that answers with addresses is replaced by them, so its content has to be known.
            let program = SetKey { name: name.clone(), rtype: STEERED };
            if self.held.get(&program) == Some(&Held::Something) {
                self.active.entry(name.clone()).or_default().look = true;
            }
            self.adopted.insert(program);
        }
        self.adopted.insert(key);
        self.work_out(&name, at);
    }

    /// Works out anew what every name needs that could need anything.
    pub(super) fn work_out_all(&mut self, at: At<'_>) {
        self.unworked = self.names();
        self.work_through(usize::MAX, at);
    }

    /// Every name that could need anything, the last first.
    fn names(&self) -> Vec<Name> {
        // Each of these is in order already, so that sorting is little more than merging.
        let mut names: Vec<Name> = self.origins.values().flat_map(Origin::names).collect();
        let others = self.marks.names().chain(self.active.keys()).chain(self.origins.keys());
        names.extend(others.cloned());
        names.sort();
        names.dedup();
        names.reverse();
        names
    }

    /// Works out some of the names that are left to be.
    fn work_through(&mut self, most: usize, at: At<'_>) {
        let left = self.unworked.len().saturating_sub(most);
        for name in self.unworked.split_off(left).iter().rev() {
            self.work_out(name, at);
        }
    }

    /// Takes in how a request went; gives the failure that is about more than single records.
    pub(super) fn done(&mut self, job: &Job, outcome: Outcome, at: At<'_>) -> Option<Failure> {
        self.busy = false;
        self.catch_up(at);
        self.work_through(usize::MAX, at);
        self.under_way = None;
        let failure = match (job, outcome) {
            (Job::ReadZone, Outcome::Zone(Ok(entries))) => {
                self.zone_was_read(entries, at);
                None
            }
            (Job::ReadZone, Outcome::Zone(Err(failure))) => {
                self.turn.must_read = true;
                Some(failure)
            }
            (Job::ReadSets { keys, names }, Outcome::Sets(Ok(entries))) => {
                self.sets_were_read(keys, names, entries, at);
                None
            }
            (Job::ReadSets { names, .. }, Outcome::Sets(Err(failure))) => {
                self.sets_were_not_read(names, failure, at)
            }
            (Job::Revision(purpose), Outcome::Revision(revision)) => {
                self.revision_was_read(*purpose, revision, at)
            }
            (Job::Write(writing), Outcome::Written(results)) if writing.what == What::Liveness => {
                self.pulse_was_written(writing, results, at)
            }
            (Job::Write(writing), Outcome::Written(results)) => self.was_answered(writing, results, at),
            (Job::Settle, Outcome::Settled(result)) => {
                self.turn.settled(&result);
                result.err()
            }
            _ => Some(Failure::Unreadable),
        };
        self.count(failure.as_ref(), at);
        failure
    }

    fn count(&mut self, failure: Option<&Failure>, at: At<'_>) {
        match failure {
            Some(failure) => {
                self.backoff.fail(&at.class.settings.retry, at.now, at.jitter, patience(failure))
            }
            None => self.backoff = Backoff::default(),
        }
    }

    /// Puts a name into the queue of what it needs first.
    fn work_out(&mut self, name: &Name, at: At<'_>) {
        if self.turn.is_unread() {
            return;
        }
        self.ahead.touched(name);
        if at.class.reading == Reading::Sets {
            self.claim_wanted(name);
        }
        self.note_contested(name);
        let situation = self.situation(name, at);
        self.tell_situation(name, &situation, at);
        let mut stage = self.stage(name, &situation, at);
        if at.class.reading == Reading::Sets && stage == Some(Stage::Unmark) {
            situation.excess.iter().for_each(|rtype| self.marks.unclaim(name, *rtype));
            stage = self.stage(name, &self.situation(name, at), at);
        }
        self.queue(name, stage, at);
        if stage == Some(Stage::ReadBack) {
            self.note_last(name, &situation);
        }
    }

    /// The names that are not in the queue of what they need; those that wait for a moment are left out.
    #[cfg(test)]
    pub(super) fn misplaced(&self, at: At<'_>) -> Vec<Name> {
        let is_open = self.turn.is_unread() || self.is_behind() || !self.unworked.is_empty();
        let is_misplaced = |name: &Name| {
            let active = self.active.get(name);
            let is_calm = active.is_none_or(|active| active.waits.is_empty() && active.wake.is_none());
            let stage = self.stage(name, &self.situation(name, at), at);
            is_calm && stage != active.and_then(|active| active.stage)
        };
        let judged = !is_open && at.class.reading == Reading::Zones;
        self.names().into_iter().filter(|name| judged && is_misplaced(name)).collect()
    }

    fn queue(&mut self, name: &Name, stage: Option<Stage>, at: At<'_>) {
        self.unqueue(name);
        let Some(stage) = stage else {
            self.active.remove(name);
            return;
        };
        let active = self.active.entry(name.clone()).or_default();
        (active.stage, active.is_last) = (Some(stage), false);
        let waits = active.waits.values().chain([&active.unreadable]);
        active.wake = waits.map(Backoff::until).filter(|until| *until > at.now).min();
        if let Some(wake) = active.wake {
            self.waiting.insert((wake, name.clone()));
        }
        if stage == Stage::Delete {
            self.guard.gather(at.now);
        }
        self.queues.entry(stage).or_default().insert(name.clone());
    }

    fn unqueue(&mut self, name: &Name) {
        let Some(active) = self.active.get_mut(name) else { return };
        if let Some(wake) = active.wake.take() {
            self.waiting.remove(&(wake, name.clone()));
        }
        if let Some(queue) = active.stage.take().and_then(|stage| self.queues.get_mut(&stage)) {
            queue.remove(name);
        }
    }

    fn queued(&self, stage: Stage) -> impl Iterator<Item = &Name> {
        self.queues.get(&stage).into_iter().flatten()
    }

    fn is_queued(&self, stage: Stage) -> bool {
        self.queued(stage).next().is_some()
    }

    /// Counts a failure of one set, and tells it.
    fn fail(&mut self, name: &Name, rtype: Rtype, trouble: &Trouble, at: At<'_>) {
        let retry = &at.class.settings.retry;
        let backoff = self.active.entry(name.clone()).or_default().waits.entry(rtype).or_default();
        backoff.fail(retry, at.now, at.jitter, Duration::ZERO);
        let exhausted = backoff.is_exhausted(retry);
        self.tell_failed(name, rtype, trouble, exhausted);
    }
}

/// How long the server asks to be left alone.
pub(super) fn patience(failure: &Failure) -> Duration {
    match failure {
        Failure::Limited(Some(after)) => *after,
        _ => Duration::ZERO,
    }
}
