//! Building batches, and what their results mean.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dns::{Name, Rdata, RecordSet, Rtype};

use super::super::task::{Job, What, Writing};
use super::super::{Trouble, Written};
use super::held::{Held, content_hash};
use super::situation::{Situation, Stage};
use super::{At, Wrote, Zone};
use crate::marks::{Mark, Terms};
use crate::{Batch, Entry, Failure, SetChange, SetKey};

impl Zone {
    /// A batch of what made room for something that was then refused.
    pub(super) fn restore(&mut self, generation: u64) -> Job {
        let mut writing = self.empty_batch(What::Sets, generation);
        self.restoring.sort_by(|one, other| one.set.name.cmp(&other.set.name));
        for entry in std::mem::take(&mut self.restoring) {
            // Where ours is what we remember, this must not be forgotten, however the answer comes.
            if !self.turn.reads_zones() {
                self.marks.claim(&SetKey::of(&entry.set));
            }
            self.add_set(&entry.set.name.clone(), entry.set.rtype, Some(entry), &mut writing);
        }
        Job::Write(Arc::new(writing))
    }

    fn empty_batch(&self, what: What, generation: u64) -> Writing {
        let batch = Batch { zone: self.name.clone(), changes: Vec::new(), guards: Vec::new(), generation };
        Writing { what, batch, names: Vec::new() }
    }

    /// The next batch of a queue.
    pub(super) fn write(&mut self, stage: Stage, generation: u64, at: At<'_>) -> Option<Job> {
        let names: Vec<Name> = self.queued(stage).take(self.limit).cloned().collect();
        let writing = Arc::new(self.batch_of(stage, names, generation, at)?);
        self.ahead.started(stage, &writing);
        Some(Job::Write(writing))
    }

    /// A batch of what these names need; none where they need nothing.
    pub(super) fn batch_of(
        &mut self,
        stage: Stage,
        names: Vec<Name>,
        generation: u64,
        at: At<'_>,
    ) -> Option<Writing> {
        let what = if matches!(stage, Stage::Mark | Stage::Unmark) { What::Marks } else { What::Sets };
        let mut writing = self.empty_batch(what, generation);
        for name in names {
            if writing.batch.changes.len() >= self.limit {
                break;
            }
            let situation = self.situation(&name, at);
            match stage {
                Stage::Mark => self.add_mark(&name, &situation, &mut writing, at),
                Stage::Unmark => self.add_smaller_mark(&name, &situation, &mut writing),
                _ => self.add_sets(&name, &situation, stage, &mut writing),
            }
        }
        (!writing.batch.changes.is_empty()).then_some(writing)
    }

    /// A mark that also names what is about to be written, on the condition that it is not there yet.
    fn add_mark(&mut self, name: &Name, situation: &Situation, writing: &mut Writing, at: At<'_>) {
        let new: Vec<SetKey> =
            situation.unmarked.iter().map(|rtype| SetKey { name: name.clone(), rtype: *rtype }).collect();
        let mut types: BTreeSet<Rtype> =
            self.marks.types(name).into_iter().chain(situation.unmarked.iter().copied()).collect();
        types.retain(|rtype| !situation.dealings.given_up.contains(rtype));
        let is_said = situation.dealings.is_said || !new.is_empty();
        self.add_words_of_others(name, &situation.dealings.taken, writing, |mark, rtype| {
            Some(mark.after_loss_of(rtype))
        });
        self.add_guards_of_others(name, writing);
        if is_said && !self.add_mark_of(name, types, situation.dealings.terms.clone(), writing) {
            let failure = Failure::Unsupported("the zone's name is too long to mark records in it");
            for rtype in &situation.unmarked {
                self.fail(name, *rtype, &Trouble::from(&failure), at);
            }
            return self.work_out(name, at);
        }
        for key in new {
            match self.held.get(&key) {
                Some(Held::Content(entry)) => writing.batch.guards.push((key, Some(entry.set.clone()))),
                Some(Held::Something) => {}
                Some(Held::Absent) | None => writing.batch.guards.push((key, None)),
            }
        }
    }

    /// A mark without what is gone, or none.
    fn add_smaller_mark(&self, name: &Name, situation: &Situation, writing: &mut Writing) {
        let mut types = self.marks.types(name);
        types.retain(|rtype| !situation.excess.contains(rtype));
        let mut terms = situation.dealings.terms.clone();
        situation.excess.iter().for_each(|rtype| terms.forget(*rtype));
        self.add_words_of_others(name, &situation.dealings.buried, writing, |mark, rtype| {
            mark.without(rtype)
        });
        self.add_guards_of_others(name, writing);
        if !situation.excess.is_empty() {
            self.add_mark_of(name, types, terms, writing);
        }
    }

    /// What other owners' marks of a name are to say instead, each while its counter stands still.
    fn add_words_of_others(
        &self,
        name: &Name,
        words: &[(String, Rtype)],
        writing: &mut Writing,
        said: impl Fn(Mark, Rtype) -> Option<Mark>,
    ) {
        let mut by_owner: BTreeMap<&String, Vec<Rtype>> = BTreeMap::new();
        words.iter().for_each(|(owner, rtype)| by_owner.entry(owner).or_default().push(*rtype));
        for (owner, types) in by_owner {
            let Some(other) = self.marks.others(name).and_then(|others| others.get(owner)) else { continue };
            let left = types.iter().try_fold(other.mark.clone(), |mark, rtype| said(mark, *rtype));
            let after = left.and_then(|mark| mark.to_set(&self.name)).map(Entry::from);
            let before = Some(Entry::from(other.set.clone()));
            writing.batch.changes.push(SetChange { key: SetKey::of(&other.set), before, after });
            writing.names.push(name.clone());
        }
    }

    /// What was decided by other owners' marks holds only while they stand, and for those that are gone,
    /// while they are.
    fn add_guards_of_others(&self, name: &Name, writing: &mut Writing) {
        let others = self.marks.others(name).filter(|_| self.is_contested(name)).into_iter().flatten();
        for (owner, other) in others {
            let mark = (SetKey::of(&other.set), Some(other.set.clone()));
            let pulse = self.marks.liveness(owner).filter(|_| self.pulses.is_gone(owner));
            let pulse = pulse.map(|(_, set)| (SetKey::of(set), Some(set.clone())));
            for guard in std::iter::once(mark).chain(pulse) {
                let is_changed = writing.batch.changes.iter().any(|change| change.key == guard.0);
                if !is_changed && !writing.batch.guards.contains(&guard) {
                    writing.batch.guards.push(guard);
                }
            }
        }
    }

    /// Adds the change to a mark of these types; says whether the zone has room for it.
    fn add_mark_of(&self, name: &Name, types: BTreeSet<Rtype>, terms: Terms, writing: &mut Writing) -> bool {
        let Some(key) = self.mark_key(name) else { return false };
        let generation = writing.batch.generation;
        let mark = Mark { terms, ..Mark::new(self.owner.clone(), generation, name.clone(), types) };
        let after = if mark.is_empty() { None } else { mark.to_set(&self.name).map(Entry::from) };
        let before = self.marks.standing(name, &key.name).map(Entry::from);
        writing.batch.changes.push(SetChange { key, before, after });
        writing.names.push(name.clone());
        true
    }

    /// The changes of a name's sets; what makes room comes before what needs it.
    fn add_sets(&self, name: &Name, situation: &Situation, stage: Stage, writing: &mut Writing) {
        let (gone, put) = match stage {
            Stage::Put => (&situation.clearing, &situation.puts[..]),
            _ => (&situation.deletes, &[][..]),
        };
        for rtype in gone {
            self.add_set(name, *rtype, None, writing);
        }
        let wishes = situation.wishes.iter().filter(|wish| put.contains(&wish.entry.set.rtype));
        for wish in wishes {
            self.add_set(name, wish.entry.set.rtype, Some(wish.entry.clone()), writing);
        }
        if let Some(key) = self.mark_key(name) {
            let mark = self.marks.standing(name, &key.name);
            writing.batch.guards.push((key, mark));
        }
        self.add_guards_of_others(name, writing);
    }

    fn add_set(&self, name: &Name, rtype: Rtype, after: Option<Entry>, writing: &mut Writing) {
        let key = SetKey { name: name.clone(), rtype };
        let before = match self.held.get(&key) {
            Some(Held::Content(entry)) => Some(entry.clone()),
            _ => None,
        };
        let after = after.map(|after| with_next_serial(after, before.as_ref()));
        writing.batch.changes.push(SetChange { key, before, after });
        writing.names.push(name.clone());
    }

    /// Takes in how a batch went; gives the failure that is about more than single records.
    pub(super) fn was_written(
        &mut self,
        writing: &Writing,
        mut results: Vec<Result<(), Failure>>,
        at: At<'_>,
    ) -> Option<Failure> {
        results.resize(writing.names.len(), Err(Failure::Unreadable));
        self.claim_written(writing);
        let names: BTreeSet<&Name> = writing.names.iter().collect();
        let mut worst = None;
        let mut refused = BTreeSet::new();
        for ((change, name), result) in writing.batch.changes.iter().zip(&writing.names).zip(results) {
            match result {
                Ok(()) => self.change_was_made(writing.what, change, name),
                Err(failure) => {
                    let about_it = failure.is_about_the_record() || (names.len() == 1 && is_answer(&failure));
                    if about_it {
                        refused.insert(change.key.clone());
                        self.change_was_refused(writing.what, change, name, &failure, at);
                    }
                    if !failure.is_about_the_record() {
                        self.active.entry(name.clone()).or_default().look = true;
                        worst.get_or_insert(failure);
                    }
                }
            }
        }
        self.adjust_limit(names.len(), worst.as_ref(), at);
        self.restore_after(writing, &refused);
        names.into_iter().for_each(|name| self.work_out(name, at));
        worst.filter(|failure| *failure != Failure::TooLarge)
    }

    /// Without marks, what may have been written is ours, even if nobody wants it any more: it was
    /// forgotten if that was told while it was under way.
    fn claim_written(&mut self, writing: &Writing) {
        let made = writing.batch.changes.iter().filter(|change| change.after.is_some());
        if !self.turn.reads_zones() {
            made.for_each(|change| self.marks.claim(&change.key));
        }
    }

    /// Where a put was refused after that which made room for it went, that is to come back: a name
    /// keeps its answer.
    fn restore_after(&mut self, writing: &Writing, refused: &BTreeSet<SetKey>) {
        let changes = || writing.batch.changes.iter();
        let lost =
            |name: &Name| changes().any(|change| change.key.name == *name && refused.contains(&change.key));
        let went = changes().filter(|change| change.after.is_none() && !refused.contains(&change.key));
        let back = went.filter(|change| writing.what == What::Sets && lost(&change.key.name));
        self.restoring.extend(back.filter_map(|change| change.before.clone()));
    }

    /// A batch that a server chokes on, or has not the time for, is halved, until what it chokes on is alone.
    fn adjust_limit(&mut self, names: usize, worst: Option<&Failure>, at: At<'_>) {
        self.limit = match worst {
            Some(failure) if is_answer(failure) || *failure == Failure::TimedOut => (names / 2).max(1),
            Some(_) => self.limit,
            None => (self.limit * 2).min(at.class.batch_size.max(1)),
        };
    }

    fn change_was_made(&mut self, what: What, change: &SetChange, name: &Name) {
        match what {
            What::Marks => self.mark_was_made(change, name),
            What::Sets => self.set_was_made(change, name),
            What::Liveness => {}
        }
    }

    /// A mark that other owners have to do with, or may, is read back with theirs before anything else.
    fn mark_was_made(&mut self, change: &SetChange, name: &Name) {
        let before = self.marks.types(name).len();
        let set = change.after.as_ref().map(|entry| entry.set.clone());
        self.marks.replace(name, &change.key.name, set, &self.name, &self.owner);
        let is_new = self.marks.types(name).len() > before;
        let is_met = (is_new && !self.marks.is_alone()) || self.is_contested(name);
        if is_new || is_met {
            let active = self.active.entry(name.clone()).or_default();
            active.look |= is_met;
            active.is_new |= is_new;
        }
    }

    fn set_was_made(&mut self, change: &SetChange, name: &Name) {
        let wrote = match &change.after {
            Some(after) => {
                let written = if change.before.is_some() { Written::Updated } else { Written::Created };
                Wrote::Put(written, content_hash(&after.set))
            }
            None => Wrote::Deleted,
        };
        match &change.after {
            Some(after) => drop(self.held.insert(change.key.clone(), Held::Content(after.clone()))),
            None if self.turn.reads_zones() => drop(self.held.remove(&change.key)),
            None => drop(self.held.insert(change.key.clone(), Held::Absent)),
        }
        let active = self.active.entry(name.clone()).or_default();
        active.is_new = false;
        active.unread.insert(change.key.rtype, wrote);
    }

    /// One change failed by itself: the sets that it is for wait, and nothing else.
    fn change_was_refused(
        &mut self,
        what: What,
        change: &SetChange,
        name: &Name,
        failure: &Failure,
        at: At<'_>,
    ) {
        let types = match what {
            What::Sets => BTreeSet::from([change.key.rtype]),
            What::Marks | What::Liveness => self.types_in_doubt(change, name),
        };
        if *failure != Failure::Changed {
            return types.iter().for_each(|rtype| self.fail(name, *rtype, &Trouble::from(failure), at));
        }
        // Whoever wrote there may have a mark of it that we have not seen, and what is another's is not written over.
        self.turn.must_read |= what == What::Sets && self.turn.reads_zones();
        let retry = &at.class.settings.retry;
        let active = self.active.entry(name.clone()).or_default();
        active.look = true;
        for rtype in types {
            active.waits.entry(rtype).or_default().fail_softly(retry, at.now, at.jitter);
        }
    }

    /// The types by which a mark was to change.
    fn types_in_doubt(&self, change: &SetChange, name: &Name) -> BTreeSet<Rtype> {
        let mark = change.after.as_ref().and_then(|entry| Mark::read(&entry.set, &self.name));
        let after = mark.map(|mark| mark.types).unwrap_or_default();
        let mut types: BTreeSet<Rtype> =
            self.marks.types(name).symmetric_difference(&after).copied().collect();
        if self.is_contested(name) {
            types.extend(self.types_of_ours(name));
        }
        types
    }
}

/// Whether the server answered, so that a smaller request may fare better.
pub(in super::super) fn is_answer(failure: &Failure) -> bool {
    use Failure::{BrokenFile, Endless, Server, TooLarge, Unreadable};
    matches!(failure, Server(_) | Unreadable | BrokenFile(_) | TooLarge | Endless)
}

/// A SOA that follows the one that stands there.
fn with_next_serial(mut after: Entry, before: Option<&Entry>) -> Entry {
    let soa = |set: &RecordSet| set.data.first().and_then(Rdata::as_soa);
    let (Some(mut new), Some(old)) = (soa(&after.set), before.and_then(|entry| soa(&entry.set))) else {
        return after;
    };
    // Newer in terms of RFC 1982: less than half of the way round.
    if !(1..1 << 31).contains(&new.serial.wrapping_sub(old.serial)) {
        new.serial = old.serial.wrapping_add(1);
    }
    let (name, ttl) = (after.set.name.clone(), after.set.ttl);
    after.set = RecordSet::new(name, Rtype::SOA, ttl, vec![Rdata::soa(&new)]);
    after
}
