//! What a candidate does next, decided from what it has seen: no IO, no clock.
//!
//! ```text
//! next ──► a call ──► (the API server) ──► answered ──► next …
//! ```
//!
//! Two candidates never lead at once, because of three rules. A holder counts its lease from the
//! moment that it *sent* its last successful renewal; everybody else waits out the whole duration
//! from the moment that they *received* the record, by their own monotonic clock; and every write
//! carries the resourceVersion that it was decided on. No two clocks are ever compared.

use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};

use super::Settings;

/// What the Lease holds, as far as an election looks at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// Who holds it; empty when it was given up.
    pub(super) holder: String,
    /// How long others have to wait.
    pub(super) duration: Option<Duration>,
    /// When its holder got it, for people to read.
    pub(super) acquired: Option<Timestamp>,
    /// When its holder last renewed it, for people to read.
    pub(super) renewed: Option<Timestamp>,
    /// How often it went from one holder to another.
    pub(super) transitions: i32,
    /// The API server's version of it; empty in a record that is not written yet.
    pub(super) version: String,
}

/// One call to the API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Call {
    /// Read the Lease.
    Read,
    /// Make a Lease that is not there.
    Create(Record),
    /// Write over the version that the record names.
    Replace(Record),
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The Lease as it now stands.
    Stands(Record),
    /// There is no such Lease.
    Missing,
    /// Somebody else was faster; nothing was written.
    Conflict,
    /// Refused, failed or timed out: it may have been written or not.
    Unknown,
}

/// A record and since when it has been seen unchanged.
#[derive(Debug)]
struct Sighting {
    record: Record,
    since: Instant,
}

/// One candidate of an election.
#[derive(Debug)]
pub(super) struct Candidate {
    settings: Settings,
    seen: Option<Sighting>,
    /// Whether what was seen last still stands, as far as can be known.
    fresh: bool,
    /// When the last successful renewal was sent.
    renewed: Option<Instant>,
    leaving: bool,
}

impl Candidate {
    /// A candidate that has seen nothing yet.
    pub(super) fn new(settings: Settings) -> Candidate {
        Candidate { settings, seen: None, fresh: false, renewed: None, leaving: false }
    }

    /// When the lease that this candidate holds ends.
    pub(super) fn holds_until(&self) -> Option<Instant> {
        Some(self.renewed? + self.settings.lease_duration)
    }

    /// The fencing token of the lease that this candidate holds: it grows with every holder.
    pub(super) fn generation(&self) -> u64 {
        let own = self.seen.as_ref().filter(|seen| self.is_mine(&seen.record));
        let acquired = own.and_then(|seen| seen.record.acquired).map_or(0, Timestamp::as_microsecond);
        u64::try_from(acquired).unwrap_or_default()
    }

    /// When this candidate gives up leading, unless it renews before.
    fn deadline(&self) -> Option<Instant> {
        Some(self.renewed? + self.settings.renew_deadline)
    }

    /// Steps down when the renew deadline has passed.
    pub(super) fn tick(&mut self, now: Instant) {
        if self.deadline().is_some_and(|deadline| now >= deadline) {
            self.renewed = None;
            self.fresh = false;
        }
    }

    /// Begins a round: who does not lead looks at the Lease again.
    pub(super) fn begin(&mut self) {
        self.fresh &= self.renewed.is_some();
    }

    /// No longer leads and wants no more than to give the lease back.
    pub(super) fn leave(&mut self) {
        self.renewed = None;
        self.leaving = true;
        // A write may have been under way, so that only a look can tell whose the lease is.
        self.fresh = false;
    }

    /// How long one call may take: never past the moment at which a leader steps down.
    pub(super) fn patience(&self, now: Instant) -> Duration {
        let most = self.settings.renew_deadline / 2;
        self.deadline().map_or(most, |deadline| deadline.saturating_duration_since(now).min(most))
    }

    /// How long until the next round; a leader whose deadline comes before that wakes up for it.
    pub(super) fn pause(&self, now: Instant) -> Duration {
        let most = self.settings.retry_period;
        self.deadline().map_or(most, |deadline| deadline.saturating_duration_since(now).min(most))
    }

    /// The call that is due; none when the lease is another's.
    pub(super) fn next(&self, now: Instant, wall: Timestamp) -> Option<Call> {
        if !self.fresh {
            return Some(Call::Read);
        }
        match &self.seen {
            Some(seen) if self.leaving => self.is_mine(&seen.record).then(|| release(&seen.record, wall)),
            Some(seen) => {
                self.is_free(seen, now).then(|| Call::Replace(self.claim(Some(&seen.record), wall)))
            }
            None => (!self.leaving).then(|| Call::Create(self.claim(None, wall))),
        }
    }

    /// Takes in what came of a call; returns whether the round is over.
    pub(super) fn answered(&mut self, call: &Call, sent: Instant, now: Instant, answer: Answer) -> bool {
        let wrote = *call != Call::Read;
        let over = match answer {
            Answer::Stands(record) => self.stands(record, wrote.then_some(sent), now),
            Answer::Missing => self.missing(now),
            Answer::Conflict => self.doubt(false),
            Answer::Unknown => self.doubt(true),
        };
        self.tick(now);
        over
    }

    fn doubt(&mut self, over: bool) -> bool {
        self.fresh = false;
        over
    }

    fn stands(&mut self, record: Record, written: Option<Instant>, now: Instant) -> bool {
        self.fresh = true;
        match written {
            Some(sent) => self.renewed = (!self.leaving).then_some(sent),
            None if !self.is_mine(&record) => self.renewed = None,
            None => {}
        }
        let unchanged = |seen: &Sighting| seen.record.version == record.version;
        if !self.seen.as_ref().is_some_and(unchanged) {
            self.seen = Some(Sighting { record, since: now });
        }
        written.is_some()
    }

    /// Whoever held a Lease that was deleted may not have noticed yet, so its time is waited out.
    fn missing(&mut self, now: Instant) -> bool {
        if self.seen.as_ref().is_some_and(|seen| !self.is_free(seen, now)) {
            return self.doubt(true);
        }
        self.seen = None;
        self.fresh = true;
        false
    }

    fn is_mine(&self, record: &Record) -> bool {
        record.holder == self.settings.identity
    }

    fn is_free(&self, seen: &Sighting, now: Instant) -> bool {
        let duration = seen.record.duration.unwrap_or(self.settings.lease_duration);
        let expired = now.saturating_duration_since(seen.since) > duration;
        seen.record.holder.is_empty() || self.is_mine(&seen.record) || expired
    }

    /// The record with this candidate as its holder.
    fn claim(&self, before: Option<&Record>, wall: Timestamp) -> Record {
        let renewed = later(before, wall);
        let kept = before.filter(|before| self.is_mine(before));
        let moved = before.is_some() && kept.is_none();
        Record {
            holder: self.settings.identity.clone(),
            duration: Some(self.settings.lease_duration),
            acquired: kept.and_then(|before| before.acquired).or_else(|| Some(after(before, renewed))),
            renewed: Some(renewed),
            transitions: before.map_or(0, |before| before.transitions).saturating_add(i32::from(moved)),
            version: before.map(|before| before.version.clone()).unwrap_or_default(),
        }
    }
}

/// A time of acquiring that is later than the last holder's, whatever the clocks say: it is the
/// fencing token of all that the new holder writes.
fn after(before: Option<&Record>, wall: Timestamp) -> Timestamp {
    let least = before.and_then(|before| before.acquired?.checked_add(SignedDuration::from_micros(1)).ok());
    least.map_or(wall, |least| least.max(wall))
}

/// The record without a holder; others need not wait.
fn release(before: &Record, wall: Timestamp) -> Call {
    let renewed = Some(later(Some(before), wall));
    Call::Replace(Record {
        holder: String::new(),
        duration: Some(Duration::from_secs(1)),
        renewed,
        ..before.clone()
    })
}

/// A time that differs from the one recorded: the API server gives a write that changes nothing
/// no new version, and others would take the lease for expired.
fn later(before: Option<&Record>, wall: Timestamp) -> Timestamp {
    let wall = Timestamp::from_microsecond(wall.as_microsecond()).unwrap_or(wall);
    let same = before.is_some_and(|before| before.renewed == Some(wall));
    if same { wall.saturating_add(SignedDuration::from_micros(1)).unwrap_or(wall) } else { wall }
}
