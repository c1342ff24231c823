//! What a zone does next, and when.

use std::time::Duration;

use dns::Name;

use super::super::backoff::Moment;
use super::super::task::{Job, Purpose, What};
use super::situation::Stage;
use super::{At, Zone};
use crate::{Failure, Reading};

/// So long after the last proof we take a zone to be as we know it.
const FRESH: Duration = Duration::from_secs(5);
/// So long at least after a proof that was asked for in order to write.
const BARELY: Duration = Duration::from_millis(500);
/// How long to wait where this process may not write.
const FENCED: Duration = Duration::from_millis(250);
/// After so many batches, what was written is read back although there is more to write.
const BATCHES: u32 = 64;
/// A write of somebody else can hide between our own and the question for the revision, so that each
/// so many looks the zone is read whatever its revision says.
const LOOKS: u32 = 10;
/// So many names are worked out before the first batch goes out; the others are while batches are under way.
const FIRST: usize = 1500;
/// How many sets are looked at together where a provider is read by sets.
pub(super) const TOGETHER: usize = 100;

/// Where a zone is in its round.
#[derive(Debug)]
pub(super) struct Turn {
    reading: Reading,
    /// Whether the whole zone has to be read.
    pub(super) must_read: bool,
    /// Whether nothing was read so far.
    pub(super) unread: bool,
    /// Whether the last reading found nothing where something was, which one reading does not prove.
    pub(super) emptied: bool,
    pub(super) revision: Option<u64>,
    /// The revision that was asked for before the next reading of the zone: whatever somebody writes
    /// meanwhile moves it on, and is found by the next look.
    pub(super) before_reading: Option<Option<u64>>,
    /// Whether somebody else wrote since the last whole reading.
    pub(super) moved: bool,
    /// Whether the revision was asked for after a write of ours, so that one of somebody else's may hide behind it.
    pub(super) hides: bool,
    /// When the last request was sent that showed who else has marks in the zone, or that nobody has come.
    pub(super) looked: Moment,
    pub(super) fresh_until: Moment,
    /// When the last request was sent.
    pub(super) sent: Moment,
    pub(super) unsettled: bool,
    pub(super) unremembered: bool,
    pub(super) batches: u32,
    look_at: Moment,
    looks: u32,
    fenced_until: Moment,
    /// The last name that a look by sets has reached.
    cursor: Option<Name>,
}

impl Turn {
    pub(super) fn new(at: At<'_>) -> Turn {
        let zones = at.class.reading == Reading::Zones;
        Turn {
            reading: at.class.reading,
            must_read: zones,
            unread: zones,
            emptied: false,
            revision: None,
            before_reading: None,
            moved: false,
            hides: false,
            looked: Moment::ZERO,
            fresh_until: Moment::ZERO,
            sent: Moment::ZERO,
            unsettled: false,
            unremembered: zones,
            batches: 0,
            look_at: at.now + at.class.settings.drift,
            looks: 0,
            fenced_until: Moment::ZERO,
            cursor: None,
        }
    }

    /// Whether nothing can be worked out yet.
    pub(super) fn is_unread(&self) -> bool {
        self.unread
    }

    /// Whether whole zones can be read.
    pub(super) fn reads_zones(&self) -> bool {
        self.reading == Reading::Zones
    }

    /// The zone was proved to be as we know it, by the request that was sent last. It is that moment that counts: we
    /// may have slept since.
    pub(super) fn refresh(&mut self) {
        self.fresh_until = self.sent + FRESH;
    }

    /// The same, just before something is written. A server that is slow to answer must not be asked for ever.
    pub(super) fn refresh_to_write(&mut self, now: Moment) {
        self.fresh_until = (self.sent + FRESH).max(now + BARELY);
    }

    /// The zone was settled, or not; that may have moved its revision too.
    pub(super) fn settled(&mut self, result: &Result<(), Failure>) {
        self.unsettled = result.is_err();
        self.unremembered = self.reads_zones();
    }

    /// Whether so much was written that it is read back before more is.
    pub(super) fn must_read_back(&self) -> bool {
        self.batches >= BATCHES
    }

    /// Something was written.
    pub(super) fn wrote(&mut self) {
        self.refresh();
        self.unsettled = true;
        self.unremembered = self.reads_zones();
        self.batches += 1;
    }
}

impl Zone {
    /// The next request of this zone; `may_write` says whether one that changes something may be sent.
    pub(in super::super) fn next(
        &mut self,
        at: At<'_>,
        generation: u64,
        may_write: &dyn Fn() -> bool,
    ) -> Option<Job> {
        if self.busy || self.backoff.until() > at.now {
            return None;
        }
        let prepared = self.prepared(at, generation, may_write);
        if prepared.is_some() {
            self.send(prepared.as_ref(), at);
            return prepared;
        }
        self.catch_up(at);
        self.wake(at);
        self.work_towards_a_batch(at);
        let job = match self.turn.must_read {
            true => Some(self.whole_reading()),
            false if self.is_pulse_due(at) => self.next_pulse(at, generation, may_write),
            false if self.is_glance_due(at) => Some(self.next_glance(at)),
            false => self.next_of_queues(at, generation, may_write).or_else(|| self.finishing(at, may_write)),
        };
        let job = job.or_else(|| self.drift(at));
        if !matches!(job, Some(Job::Write(_))) {
            self.work_through(usize::MAX, at);
        }
        self.send(job.as_ref(), at);
        job
    }

    /// Notes that a request is under way from now on.
    fn send(&mut self, job: Option<&Job>, at: At<'_>) {
        let Some(job) = job else { return };
        (self.busy, self.turn.sent) = (true, at.now);
        self.under_way = match job {
            Job::Write(writing) if writing.what != What::Liveness => Some(writing.clone()),
            _ => None,
        };
    }

    /// Moves our counter; where we may not, that is looked at again later, as with everything else.
    fn next_pulse(&mut self, at: At<'_>, generation: u64, may_write: &dyn Fn() -> bool) -> Option<Job> {
        if self.pulses.held() > at.now {
            return self.next_reading();
        }
        if !may_write() {
            self.turn.fenced_until = at.now + FENCED;
            return self.next_reading();
        }
        // What the last reading said is told now: after this, it counts no more. Where nothing was said before,
        // nobody was told to move anything, and the first batch need not wait until all is worked out.
        if self.marks.liveness(&self.owner).is_some() || !self.contested.is_empty() {
            self.work_through(usize::MAX, at);
        }
        self.pulse_sent = Some(at.now);
        self.pulse(generation, at)
    }

    /// A look whether anybody has come for what is ours. Where it is not due more often than the one for drift, it is that.
    fn next_glance(&mut self, at: At<'_>) -> Job {
        let is_drift = self.turn.look_at <= at.now + at.class.settings.drift.mul_f64(0.2);
        self.turn.look_at = if is_drift { at.now } else { self.turn.look_at };
        self.drift(at).unwrap_or_else(|| self.glance())
    }

    /// A reading of names that need one.
    fn next_reading(&mut self) -> Option<Job> {
        let stage = [Stage::Look, Stage::ReadBack].into_iter().find(|stage| self.is_queued(*stage))?;
        Some(self.reading_of(stage))
    }

    /// Works out names until there is something to make: nothing else is due before all are worked out.
    fn work_towards_a_batch(&mut self, at: At<'_>) {
        let making = [Stage::Mark, Stage::Put];
        while !self.unworked.is_empty() && !making.iter().any(|stage| self.is_queued(*stage)) {
            self.work_through(FIRST, at);
        }
    }

    /// When to ask for the next request.
    pub(in super::super) fn due(&self, at: At<'_>) -> Option<Moment> {
        if self.busy {
            return None;
        }
        let work = [Stage::Look, Stage::Mark, Stage::Put, Stage::ReadBack, Stage::Unmark];
        let has_work = work.iter().any(|stage| self.is_queued(*stage));
        let finishing = !self.turn.unread && (self.turn.unsettled || self.turn.unremembered);
        let now = (self.turn.must_read
            || has_work
            || finishing
            || !self.restoring.is_empty()
            || self.is_behind()
            || !self.unworked.is_empty())
        .then_some(at.now);
        let deletes = self.is_queued(Stage::Delete).then(|| self.guard.due()).flatten();
        let waiting = self.waiting.first().map(|(moment, _)| *moment);
        let ours = [self.pulse_due(at), self.glance_due(at)];
        let others = [now, deletes, waiting, Some(self.turn.look_at)];
        let due = ours.into_iter().chain(others).flatten().min();
        // What may not be written now makes nobody ask again and again.
        let fenced = if self.turn.must_read { Moment::ZERO } else { self.turn.fenced_until };
        due.map(|due| due.max(self.backoff.until()).max(fenced))
    }

    /// Looks for drift as soon as possible, whatever the revision says.
    pub(in super::super) fn look(&mut self, at: At<'_>) {
        self.turn.look_at = at.now;
        self.turn.moved = true;
        if !self.turn.reads_zones() {
            let names: Vec<Name> = self.wanted_names(None).cloned().collect();
            names.iter().for_each(|name| self.look_at(name, at));
        }
    }

    fn next_of_queues(&mut self, at: At<'_>, generation: u64, may_write: &dyn Fn() -> bool) -> Option<Job> {
        if self.is_queued(Stage::Look) {
            return Some(self.reading_of(Stage::Look));
        }
        if self.turn.must_read_back() && self.is_queued(Stage::ReadBack) {
            return Some(self.reading_of(Stage::ReadBack));
        }
        if !self.restoring.is_empty() && may_write() {
            return Some(self.restore(generation));
        }
        let stage = self.next_stage(at)?;
        if stage == Stage::ReadBack {
            return Some(self.reading_of(stage));
        }
        if self.turn.reads_zones() && self.turn.fresh_until <= at.now {
            return Some(Job::Revision(Purpose::BeforeWriting));
        }
        match may_write() {
            true => self.write(stage, generation, at),
            false => {
                self.turn.fenced_until = at.now + FENCED;
                self.is_queued(Stage::ReadBack).then(|| self.reading_of(Stage::ReadBack))
            }
        }
    }

    /// The first queue that has something to do.
    fn next_stage(&mut self, at: At<'_>) -> Option<Stage> {
        let first =
            [Stage::Mark, Stage::Put, Stage::ReadBack].into_iter().find(|stage| self.is_queued(*stage));
        let delete = || (self.is_queued(Stage::Delete) && self.may_delete(at)).then_some(Stage::Delete);
        let first = first.or_else(delete);
        first.or_else(|| self.is_queued(Stage::Unmark).then_some(Stage::Unmark))
    }

    /// What is due once after all writes.
    fn finishing(&mut self, at: At<'_>, may_write: &dyn Fn() -> bool) -> Option<Job> {
        if self.turn.unsettled {
            match may_write() {
                true => return Some(Job::Settle),
                false => self.turn.fenced_until = at.now + FENCED,
            }
            return None;
        }
        self.turn.unremembered.then_some(Job::Revision(Purpose::Remember))
    }

    /// A look for what somebody else changed, when its time has come.
    fn drift(&mut self, at: At<'_>) -> Option<Job> {
        if self.turn.look_at > at.now {
            return None;
        }
        let drift = at.class.settings.drift;
        if !self.turn.reads_zones() {
            return self.drift_by_sets(at);
        }
        self.turn.look_at = at.now + drift.mul_f64(0.9 + 0.1 * at.jitter);
        self.turn.looks += 1;
        self.turn.hides |= self.turn.looks.is_multiple_of(LOOKS);
        Some(self.glance())
    }

    /// A reading of the whole zone; its revision comes first.
    pub(super) fn whole_reading(&self) -> Job {
        match self.turn.before_reading {
            Some(_) => Job::ReadZone,
            None => Job::Revision(Purpose::BeforeReading),
        }
    }

    /// Looks at the next names, so that all are looked at once in the time between two looks.
    fn drift_by_sets(&mut self, at: At<'_>) -> Option<Job> {
        let count: usize = self.origins.values().map(|origin| origin.nodes.len()).sum();
        let parts = count.div_ceil(TOGETHER).max(1);
        self.turn.look_at = at.now + at.class.settings.drift / u32::try_from(parts).unwrap_or(u32::MAX);
        let names: Vec<Name> = self.wanted_names(self.turn.cursor.as_ref()).take(TOGETHER).cloned().collect();
        self.turn.cursor = names.last().filter(|_| names.len() == TOGETHER).cloned();
        names.iter().for_each(|name| self.look_at(name, at));
        self.is_queued(Stage::Look).then(|| self.reading_of(Stage::Look))
    }

    /// The names at which something is wanted, in the order of origin and name, after `last`.
    fn wanted_names<'a>(&'a self, last: Option<&'a Name>) -> impl Iterator<Item = &'a Name> {
        let all = self.origins.values().flat_map(|origin| origin.nodes.keys());
        all.skip_while(move |name| last.is_some_and(|last| *name != last)).skip(usize::from(last.is_some()))
    }

    /// Has a name read before anything else is done there.
    pub(super) fn look_at(&mut self, name: &Name, at: At<'_>) {
        self.active.entry(name.clone()).or_default().look = true;
        self.work_out(name, at);
    }

    /// Works out anew what waited until now.
    fn wake(&mut self, at: At<'_>) {
        while let Some((_, name)) = self.waiting.first().filter(|(moment, _)| *moment <= at.now).cloned() {
            self.work_out(&name, at);
        }
    }
}
