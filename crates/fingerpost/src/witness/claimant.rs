//! What somebody who may hold a lease does next, decided from what was seen: no IO, no clock.
//!
//! ```text
//! next ──► a call ──► (the witness) ──► answered ──► next …
//! ```
//!
//! Two never believe at once, because of four rules. A holder believes for nine tenths of the lease,
//! counted from when it *sent* its last successful write. Everybody else waits out the whole lease from
//! when they *received* the document, so clocks may differ in speed by one part in twenty. A document
//! that is missing is waited for as if somebody held it. And every write carries the version that it was
//! decided on.

use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::document::{Answer, Call, Document, Version};

/// Who wants the lease, and at what pace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// What the document shows as its holder.
    pub holder: String,
    /// How long others wait for a holder that is silent.
    pub lease: Duration,
    /// How often the holder renews.
    pub renew: Duration,
}

/// What is wanted of the lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Intent {
    /// To hold it: when it is free, after waiting this much longer, so that others come first.
    Hold(Duration),
    /// To look on.
    Watch,
    /// Not to hold it: it goes to a successor, or to anybody; on purpose or not.
    Yield(Option<String>, bool),
    /// That it goes to a successor, on purpose, whoever holds it.
    HandOver(String),
    /// That it does not go to this successor after all.
    Withdraw(String),
}

/// A document and since when it has been seen unchanged.
#[derive(Clone, Debug)]
struct Sighting {
    document: Document,
    version: Option<Version>,
    since: Instant,
}

/// The lease as it was last seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The document.
    pub document: Document,
    /// Since when it has been unchanged.
    pub since: Instant,
}

/// Somebody who may hold the lease.
#[derive(Debug)]
pub struct Claimant {
    terms: Terms,
    seen: Option<Sighting>,
    /// Since when there has been no document, where there is none.
    missing: Option<Instant>,
    /// Whether what was seen last still stands, as far as can be known.
    fresh: bool,
    /// When the last successful write as the holder was sent, and for how long it counts.
    renewed: Option<(Instant, Duration)>,
    /// The last write as the holder of which nobody said what came of it, and when it was sent.
    unsure: Option<(Document, Instant)>,
    /// The highest generation that was ever heard of.
    highest: u64,
    /// What tells this process from others that speak for the same holder.
    process: u64,
    /// Until when another process may believe in what it wrote under our name, such as the one that we
    /// were before a restart.
    twin_until: Option<Instant>,
    /// Until when others rely on what we told them.
    promised_until: Option<Instant>,
    /// Since when the witness has answered without a long gap, and when it last did.
    contact: Option<(Instant, Instant)>,
}

impl Claimant {
    /// Somebody who has seen nothing yet, but may remember a generation; `process` is drawn by lot.
    pub fn new(terms: Terms, remembered: u64, process: u64) -> Claimant {
        Claimant {
            terms,
            seen: None,
            missing: None,
            fresh: false,
            renewed: None,
            unsure: None,
            highest: remembered,
            process,
            twin_until: None,
            promised_until: None,
            contact: None,
        }
    }

    /// When we stop believing that we hold the lease, unless we renew it before.
    pub fn believes_until(&self) -> Option<Instant> {
        let (sent, lease) = self.renewed?;
        sent.checked_add(lease / 10 * 9)
    }

    /// Whether we believe that we hold the lease.
    pub fn believes(&self, now: Instant) -> bool {
        self.believes_until().is_some_and(|until| now < until)
    }

    /// The lease as it was last seen.
    pub fn seen(&self) -> Option<Seen> {
        let Sighting { document, since, .. } = self.seen.clone()?;
        Some(Seen { document, since })
    }

    /// Says until when others rely on our lease: it is not given up before.
    pub fn hold_back(&mut self, until: Option<Instant>) {
        self.promised_until = until;
    }

    /// Begins a round: who does not believe looks again.
    pub fn begin(&mut self, now: Instant) {
        self.fresh &= self.believes(now);
    }

    /// How long until the next round: shorter while the lease is being handed over, and where it will be
    /// free before that.
    pub fn pause(&self, intent: &Intent, now: Instant) -> Duration {
        let (least, most) = ((self.terms.renew / 10).max(Duration::from_millis(50)), self.terms.renew);
        match (&self.seen, intent) {
            (Some(seen), _) if seen.document.successor.is_some() => least,
            (_, Intent::Yield(..) | Intent::HandOver(_)) => least,
            (Some(seen), Intent::Hold(patience)) if !self.is_mine() => {
                { self.free_at(seen, *patience).saturating_sub(now.saturating_duration_since(seen.since)) }
                    .clamp(least, most)
            }
            _ => most,
        }
    }

    /// The call that is due; none when there is nothing to do but wait.
    pub fn next(&mut self, intent: &Intent, now: Instant, wall: Timestamp) -> Option<Call> {
        if !self.fresh {
            return Some(Call::Read);
        }
        let document = match intent {
            Intent::Hold(patience) => self.hold(*patience, now)?,
            Intent::Watch => return None,
            Intent::Yield(to, planned) => self.release(to.clone(), *planned, now)?,
            Intent::HandOver(to) if self.is_mine() => self.release(Some(to.clone()), true, now)?,
            Intent::HandOver(to) => self.ask_for(to)?,
            Intent::Withdraw(to) => self.withdraw(to)?,
        };
        let version = self.seen.as_ref().and_then(|seen| seen.version.clone());
        let writes = document.writes.saturating_add(1);
        Some(Call::Write(Document { writes, written: Some(wall), ..document }, version))
    }

    /// Takes in what came of a call; returns whether the round is over.
    pub fn answered(&mut self, call: &Call, sent: Instant, now: Instant, answer: &Answer) -> bool {
        match (answer, call) {
            (Answer::Found(found), _) => self.found(found.clone(), now),
            (Answer::Written(version), Call::Write(document, _)) => {
                self.written(document, version.clone(), sent, now)
            }
            (Answer::Conflict, _) => self.doubt(call, sent, false),
            (Answer::Failed(_) | Answer::Written(_), _) => self.doubt(call, sent, true),
        }
    }

    fn touch(&mut self, now: Instant) {
        let is_gap = |last: Instant| now.saturating_duration_since(last) > self.terms.lease / 2;
        let since = self.contact.filter(|(_, last)| !is_gap(*last)).map_or(now, |(since, _)| since);
        self.contact = Some((since, now));
    }

    /// What was seen may not stand any more. A write may have been done all the same: even a conflict may
    /// be one with ourselves, where a second member was asked because the first one was late.
    fn doubt(&mut self, call: &Call, sent: Instant, over: bool) -> bool {
        self.fresh = false;
        if let Call::Write(document, _) = call
            && document.holder == self.terms.holder
        {
            self.unsure = Some((document.clone(), sent));
        }
        over
    }

    fn found(&mut self, found: Option<(Document, Version)>, now: Instant) -> bool {
        let Some((document, version)) = found else { return self.found_nothing(now) };
        self.fresh = true;
        self.missing = None;
        self.touch(now);
        self.highest = self.highest.max(document.generation);
        if document.holder != self.terms.holder {
            self.renewed = None;
        }
        if let Some((_, sent)) = self.unsure.take().filter(|(written, _)| *written == document) {
            self.renewed = Some((sent, lease_of(&document)));
        }
        // Every write counts itself, so a document that is equal was not written again.
        let since = self.seen.take().filter(|seen| seen.document == document).map_or(now, |seen| seen.since);
        if document.holder == self.terms.holder && document.process != self.process {
            self.twin_until = since.checked_add(lease_of(&document));
        }
        self.seen = Some(Sighting { document, version: Some(version), since });
        false
    }

    /// Whoever held a document that was deleted may not have noticed, and may have held it for as long as
    /// it said.
    fn found_nothing(&mut self, now: Instant) -> bool {
        self.renewed = None;
        let said = self.seen.take().map_or(Duration::ZERO, |seen| lease_of(&seen.document));
        let longer = said.saturating_sub(self.terms.lease);
        let since = *self.missing.get_or_insert(now.checked_add(longer).unwrap_or(now));
        let waited = now.saturating_duration_since(since) > self.terms.lease;
        self.fresh = waited;
        !waited
    }

    fn written(
        &mut self,
        document: &Document,
        version: Option<Version>,
        sent: Instant,
        now: Instant,
    ) -> bool {
        self.missing = None;
        self.highest = self.highest.max(document.generation);
        let mine = document.holder == self.terms.holder;
        self.renewed = mine.then(|| (sent, lease_of(document)));
        self.fresh = version.is_some();
        self.seen = Some(Sighting { document: document.clone(), version, since: now });
        true
    }

    fn is_mine(&self) -> bool {
        self.seen.as_ref().is_some_and(|seen| seen.document.holder == self.terms.holder)
    }

    /// The document to be written to hold the lease, if it is time to.
    fn hold(&self, patience: Duration, now: Instant) -> Option<Document> {
        let Some(seen) = &self.seen else {
            let missing = self.missing.map(|since| now.saturating_duration_since(since));
            let waited = missing.is_some_and(|missing| missing > self.terms.lease.saturating_add(patience));
            return waited.then(|| self.claim(&Document::default()));
        };
        if self.is_mine() {
            // Whoever decides is told of a request before it is written over.
            let is_news = now.saturating_duration_since(seen.since) < self.terms.renew;
            let waits = seen.document.successor.is_some() && is_news && self.believes(now);
            return (!waits && self.is_due(now)).then(|| self.renewal(&seen.document));
        }
        self.is_free(seen, patience, now).then(|| self.claim(&seen.document))
    }

    fn is_due(&self, now: Instant) -> bool {
        let asked = self.seen.as_ref().is_some_and(|seen| seen.document.successor.is_some());
        let renewed = self.renewed.map(|(sent, _)| now.saturating_duration_since(sent));
        asked || renewed.is_none_or(|age| age >= self.terms.renew)
    }

    fn is_free(&self, seen: &Sighting, patience: Duration, now: Instant) -> bool {
        now.saturating_duration_since(seen.since) > self.free_at(seen, patience)
            && self.let_return(seen, patience, now)
    }

    /// When the witness was gone for all, a lease that ran out meanwhile is its last holder's for a moment.
    fn let_return(&self, seen: &Sighting, patience: Duration, now: Instant) -> bool {
        let contact = self.contact.map(|(since, _)| now.saturating_duration_since(since));
        let moment = (self.terms.renew * 2).saturating_add(patience);
        seen.document.holder.is_empty() || contact.is_some_and(|contact| contact > moment)
    }

    /// How long a document must have been seen unchanged for the lease to be free.
    fn free_at(&self, seen: &Sighting, patience: Duration) -> Duration {
        let document = &seen.document;
        match (document.holder.is_empty(), &document.successor) {
            (true, Some(successor)) if *successor == self.terms.holder => Duration::ZERO,
            (true, None) => patience,
            _ => lease_of(document).saturating_add(patience),
        }
    }

    fn renewal(&self, before: &Document) -> Document {
        let renewals = before.renewals.saturating_add(1);
        let lease_milliseconds = millis(self.terms.lease);
        // A request that is not followed leaves nothing behind.
        let planned = before.planned && before.successor.is_none();
        let process = self.process;
        Document { successor: None, planned, lease_milliseconds, renewals, process, ..before.clone() }
    }

    fn claim(&self, before: &Document) -> Document {
        let chosen = before.successor.as_ref() == Some(&self.terms.holder);
        Document {
            holder: self.terms.holder.clone(),
            generation: self.highest.max(before.generation).saturating_add(1),
            lease_milliseconds: millis(self.terms.lease),
            successor: None,
            planned: chosen && before.planned,
            writes: before.writes,
            renewals: before.renewals.saturating_add(1),
            process: self.process,
            written: None,
        }
    }

    /// The document without a holder. We stop believing first, and then tell the others; a twin that may
    /// still believe is waited for.
    fn release(&mut self, successor: Option<String>, planned: bool, now: Instant) -> Option<Document> {
        (self.renewed, self.unsure) = (None, None);
        let over = |until: Option<Instant>| until.is_none_or(|until| now > until);
        let alone = over(self.twin_until) && over(self.promised_until);
        let seen = self.seen.as_ref().filter(|_| alone && self.is_mine())?;
        let successor = successor.filter(|successor| *successor != self.terms.holder);
        Some(Document { holder: String::new(), successor, planned, ..seen.document.clone() })
    }

    /// The document with a request to its holder.
    fn ask_for(&self, to: &str) -> Option<Document> {
        let document = &self.seen.as_ref()?.document;
        let asked = document.successor.as_deref() == Some(to) || document.holder == to;
        (!asked).then(|| Document { successor: Some(to.to_owned()), planned: true, ..document.clone() })
    }

    /// The document without a request that its holder has not followed.
    fn withdraw(&self, to: &str) -> Option<Document> {
        let document = &self.seen.as_ref()?.document;
        let asked = document.successor.as_deref() == Some(to) && !document.holder.is_empty();
        asked.then(|| Document { successor: None, planned: false, ..document.clone() })
    }
}

/// How long a document says that its holder may be silent; nobody is waited for longer than a day.
fn lease_of(document: &Document) -> Duration {
    Duration::from_millis(document.lease_milliseconds).min(Duration::from_secs(86_400))
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
