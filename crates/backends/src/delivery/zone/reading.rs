//! Reading what a zone holds, and what a reading proves.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use dns::{Name, RecordSet, Rtype};

use super::super::backoff::Backoff;
use super::super::task::{Job, Purpose};
use super::super::{SetResult, Trouble};
use super::held::{Held, Marks, content_hash, standing};
use super::situation::{Situation, Stage};
use super::turn::TOGETHER;
use super::writing::is_answer;
use super::{Active, At, Wrote, Zone};
use crate::marks::mark_key;
use crate::powerdns::steered::STEERED;
use crate::{Entry, Failure, SetKey};

/// From so many sets on, reading the whole zone is cheaper than reading them.
pub(super) const MANY: usize = 200;

impl Zone {
    /// A reading of the names in a queue: of their sets, or where these are many, of the zone.
    pub(super) fn reading_of(&mut self, stage: Stage) -> Job {
        self.turn.batches = 0;
        // Whoever else has come to a name is found by its mark, which has a place that cannot be guessed.
        if self.queued(stage).any(|name| self.is_read_with_others(name)) {
            return Job::ReadZone;
        }
        let most = if self.turn.reads_zones() { MANY } else { TOGETHER };
        let mut keys = Vec::new();
        let mut names = Vec::new();
        for name in self.queued(stage) {
            let more = self.keys_to_read(name, stage);
            if keys.len() + more.len() > most && !names.is_empty() {
                if self.turn.reads_zones() {
                    return Job::ReadZone;
                }
                break;
            }
            if names.len() >= self.read_limit {
                break;
            }
            keys.extend(more);
            names.push(name.clone());
        }
        Job::ReadSets { keys, names }
    }

    fn is_read_with_others(&self, name: &Name) -> bool {
        let is_new = self.active.get(name).is_some_and(|active| active.is_new);
        self.turn.reads_zones() && (is_new || self.contested.contains(name))
    }

    /// Which sets to read at a name, with the domain that each is told relative to.
    fn keys_to_read(&self, name: &Name, stage: Stage) -> Vec<(SetKey, Option<Name>)> {
        let unread = self.active.get(name).into_iter().flat_map(|active| active.unread.keys().copied());
        let mut types: BTreeSet<Rtype> = unread.collect();
        if stage == Stage::Look {
            types.extend(self.types_of_interest(name));
        }
        let with_domain = |rtype| {
            let key = SetKey { name: name.clone(), rtype };
            let domain = self.domain(&key);
            (key, domain)
        };
        let keys = types.into_iter().map(with_domain);
        keys.chain(self.mark_key(name).map(|key| (key, None))).collect()
    }

    /// All types at a name that could decide anything.
    fn types_of_interest(&self, name: &Name) -> BTreeSet<Rtype> {
        let wanted =
            self.wanted_at(name).flat_map(|wanted| wanted.sets.iter().map(|set| set.entry.set.rtype));
        let leaving =
            self.origins_of(name).flat_map(|(_, origin)| origin.leaving_at(name)).map(|key| key.rtype);
        let mut types: BTreeSet<Rtype> = wanted.chain(leaving).collect();
        types.extend(self.marks.types(name));
        if self.turn.reads_zones() {
            types.extend(standing(&self.held, name).map(|(rtype, _)| rtype));
            types.extend(match types.contains(&Rtype::CNAME) {
                true => vec![Rtype::A, Rtype::AAAA, Rtype::TXT, Rtype::MX, Rtype::NS, Rtype::SRV],
                false => vec![Rtype::CNAME],
            });
            if types.contains(&STEERED) {
                types.extend([Rtype::A, Rtype::AAAA]);
            }
        }
        types
    }

    /// The domain that a set is told relative to.
    fn domain(&self, key: &SetKey) -> Option<Name> {
        self.origins_of(&key.name).find_map(|(_, origin)| {
            let wanted = origin.nodes.get(&key.name).and_then(|wanted| wanted.set(key.rtype));
            let wanted = wanted.and_then(|set| set.entry.domain.clone());
            let known = || origin.known.get(key).cloned().flatten();
            wanted.or_else(|| origin.leaving.get(key).cloned().flatten()).or_else(known)
        })
    }

    /// The key of our mark of a name, where there are marks.
    pub(super) fn mark_key(&self, name: &Name) -> Option<SetKey> {
        self.turn.reads_zones().then(|| mark_key(&self.owner, name, &self.name)).flatten()
    }

    /// Takes in what a reading of the whole zone found.
    pub(super) fn zone_was_read(&mut self, mut entries: Vec<Entry>, at: At<'_>) {
        if self.is_emptied(&entries) && !self.turn.emptied {
            self.turn.emptied = true;
            self.turn.must_read = true;
            return;
        }
        // In order, as all that it is compared with. Servers list in some order too, so that this is little
        // more than merging.
        entries.sort_by(|one, other| order(&one.set).cmp(&order(&other.set)));
        let is_known =
            !self.turn.unread && self.marks.are(entries.iter().map(|entry| &entry.set), &self.name);
        if !is_known {
            self.marks = Marks::read(entries.iter().map(|entry| &entry.set), &self.name, &self.owner);
        }
        self.pulses.look(&self.marks, at.now);
        let mut changed = self.take_in(entries);
        changed.insert(self.name.clone());
        self.adopt_bare_apex();
        let turn = &mut self.turn;
        (turn.must_read, turn.unread, turn.emptied, turn.moved) = (false, false, false, false);
        if let Some(revision) = turn.before_reading.take() {
            (turn.revision, turn.unremembered, turn.hides) = (revision, false, false);
        }
        turn.looked = turn.sent;
        turn.refresh();
        if is_known {
            self.finish_as_written(&changed);
        }
        let names: Vec<Name> = self.active.keys().cloned().collect();
        names.iter().for_each(|name| self.was_read(name, at));
        self.unworked = match is_known {
            // With the marks as known, only what changed and what is unfinished can need anything else.
            true => changed.into_iter().chain(names).collect::<BTreeSet<_>>().into_iter().rev().collect(),
            false => self.names(),
        };
    }

    /// Takes over what stands there; gives the names at which that was not known.
    fn take_in(&mut self, entries: Vec<Entry>) -> BTreeSet<Name> {
        let corner = self.corner.clone();
        let is_mark = |entry: &Entry| corner.as_ref().is_some_and(|corner| entry.set.name.is_in(corner));
        let mut before = std::mem::take(&mut self.held).into_iter().peekable();
        let (mut held, mut changed) = (Vec::with_capacity(entries.len()), BTreeSet::new());
        for entry in entries.into_iter().filter(|entry| !is_mark(entry)) {
            while let Some((gone, _)) = before.next_if(|(key, _)| order_of(key) < order(&entry.set)) {
                changed.insert(gone.name);
            }
            match before.next_if(|(key, _)| order_of(key) == order(&entry.set)) {
                Some((key, Held::Content(known))) if is_same(&entry, &known) => {
                    held.push((key, Held::Content(known)));
                }
                known => {
                    let (key, new) = self.taken_in(entry, known.as_ref().map(|(_, known)| known));
                    if known.is_none_or(|(_, known)| known != new) {
                        changed.insert(key.name.clone());
                    }
                    held.push((key, new));
                }
            }
        }
        changed.extend(before.map(|(gone, _)| gone.name));
        self.held = held.into_iter().collect();
        changed
    }

    /// Ends what only had to be read back and stands as it was written.
    fn finish_as_written(&mut self, changed: &BTreeSet<Name>) {
        let is_finished = |name: &Name, active: &Active| active.is_last && !changed.contains(name);
        let active = std::mem::take(&mut self.active).into_iter();
        let (finished, left): (Vec<_>, Vec<_>) = active.partition(|(name, active)| is_finished(name, active));
        self.active = left.into_iter().collect();
        let names: BTreeSet<Name> = finished.iter().map(|(name, _)| name.clone()).collect();
        if let Some(queue) = self.queues.get_mut(&Stage::ReadBack) {
            *queue = queue.difference(&names).cloned().collect();
        }
        for (name, active) in finished {
            for (rtype, wrote) in active.unread {
                self.tell_written(&name, rtype, wrote);
            }
        }
    }

    fn tell_written(&mut self, name: &Name, rtype: Rtype, wrote: Wrote) {
        let held = self.held.get(&SetKey { name: name.clone(), rtype });
        if let (Wrote::Put(written, _), Some(Held::Content(entry))) = (wrote, held) {
            let set = entry.set.clone();
            self.tell(name, rtype, SetResult::Stands { set, written: Some(written), is_shared: false });
        }
    }

    /// Notes whether a name that is to be read back needs nothing else, if it reads as it was written.
    pub(super) fn note_last(&mut self, name: &Name, situation: &Situation) {
        let leaves = self.origins_of(name).any(|(_, origin)| !origin.leaving_at(name).is_empty());
        let Some(active) = self.active.get_mut(name) else { return };
        let only_puts = active.unread.values().all(|wrote| matches!(wrote, Wrote::Put(..)));
        let is_calm = active.waits.is_empty() && active.wake.is_none() && !active.look;
        active.is_last = only_puts && is_calm && !leaves && situation.is_settled();
    }

    /// Whether nothing but the apex is there where something was, or may have been.
    fn is_emptied(&self, entries: &[Entry]) -> bool {
        let is_apex = |set: &dns::RecordSet| set.name == self.name;
        let had = self.held.iter().any(|(key, held)| key.name != self.name && *held != Held::Absent);
        (had || self.turn.unread) && entries.iter().all(|entry| is_apex(&entry.set))
    }

    /// What to keep of a set that was read: its content, if it is or could be ours.
    fn taken_in(&self, entry: Entry, before: Option<&Held>) -> (SetKey, Held) {
        let key = SetKey::of(&entry.set);
        let is_ours = self.marks.is_own(&key) || self.adopted.contains(&key);
        let is_apex = key.name == self.name;
        let held = match is_ours || is_apex {
            true => Held::Content(self.completed(entry, before)),
            false => Held::Something,
        };
        (key, held)
    }

    /// An entry as read, with the settings that we know and the provider does not tell; equal data is
    /// kept once.
    fn completed(&self, mut entry: Entry, before: Option<&Held>) -> Entry {
        let key = SetKey::of(&entry.set);
        let before = match before {
            Some(Held::Content(before)) => Some(before),
            _ => None,
        };
        if let Some(before) = before.filter(|before| entry.properties.is_empty() && before.set == entry.set) {
            entry.properties.clone_from(&before.properties);
        }
        let mut wanted =
            self.wanted_at(&key.name).filter_map(|wanted| wanted.set(key.rtype)).map(|set| &set.entry.set);
        if let Some(same) = wanted.find(|wanted| **wanted == entry.set) {
            entry.set = same.clone();
        }
        entry.domain = self.domain(&key);
        entry
    }

    /// A zone with nothing but the SOA and name servers that we would make it with was made by us.
    fn adopt_bare_apex(&mut self) {
        let facts = self.origins.get(&self.name).and_then(|origin| origin.facts.as_ref());
        let Some(facts) = facts.filter(|_| self.held.len() == 2) else { return };
        let sets = [&facts.soa, &facts.name_servers];
        if sets.iter().all(|set| self.stands(&Entry::from((*set).clone()))) {
            let keys: Vec<SetKey> = sets.iter().map(|set| SetKey::of(set)).collect();
            self.adopted.extend(keys);
        }
    }

    /// Takes in what a reading of some sets found.
    pub(super) fn sets_were_read(
        &mut self,
        keys: &[(SetKey, Option<Name>)],
        names: &[Name],
        entries: Vec<Option<Entry>>,
        at: At<'_>,
    ) {
        let marks: BTreeMap<SetKey, &Name> =
            names.iter().filter_map(|name| Some((self.mark_key(name)?, name))).collect();
        let mut surprises = Vec::new();
        for ((key, _), entry) in keys.iter().zip(entries) {
            let Some(name) = marks.get(key) else {
                self.set_was_read(key, entry);
                continue;
            };
            if self.mark_was_read(name, key, entry) {
                surprises.push(*name);
            }
        }
        self.read_limit = (self.read_limit * 2).min(MANY);
        for name in names {
            self.was_read(name, at);
            match surprises.contains(&name) {
                true => self.look_at(name, at),
                false => self.work_out(name, at),
            }
        }
    }

    /// Takes in a mark; says whether it names something that was not known to be ours. Then it is as if it was made
    /// just now: whoever else has come to the name is looked for, too.
    fn mark_was_read(&mut self, name: &Name, key: &SetKey, entry: Option<Entry>) -> bool {
        let before = self.marks.types(name);
        self.marks.replace(name, &key.name, entry.map(|entry| entry.set), &self.name, &self.owner);
        let is_new = self.marks.types(name).iter().any(|rtype| !before.contains(rtype));
        if is_new {
            self.active.entry(name.clone()).or_default().is_new = true;
        }
        is_new
    }

    /// Some sets could not be read: fewer are tried, and what cannot be read alone waits alone.
    pub(super) fn sets_were_not_read(
        &mut self,
        names: &[Name],
        failure: Failure,
        at: At<'_>,
    ) -> Option<Failure> {
        let about_them = failure.is_about_the_record() || is_answer(&failure);
        match names {
            [name] if about_them => self.cannot_be_read(name, &failure, at),
            _ if about_them => self.read_limit = (names.len() / 2).max(1),
            _ => {}
        }
        Some(failure).filter(|failure| !failure.is_about_the_record())
    }

    fn cannot_be_read(&mut self, name: &Name, failure: &Failure, at: At<'_>) {
        let retry = &at.class.settings.retry;
        let active = self.active.entry(name.clone()).or_default();
        active.unreadable.fail(retry, at.now, at.jitter, Duration::ZERO);
        let exhausted = active.unreadable.is_exhausted(retry);
        for rtype in self.types_of_interest(name) {
            self.tell_failed(name, rtype, &Trouble::from(failure), exhausted);
        }
        self.work_out(name, at);
    }

    fn set_was_read(&mut self, key: &SetKey, entry: Option<Entry>) {
        let before = self.held.remove(key);
        let held = entry.map(|entry| Held::Content(self.completed(entry, before.as_ref())));
        let absent = (!self.turn.reads_zones()).then_some(Held::Absent);
        if let Some(held) = held.or(absent) {
            self.held.insert(key.clone(), held);
        }
    }

    /// Compares what was written at a name with what was read there, and tells it.
    fn was_read(&mut self, name: &Name, at: At<'_>) {
        let Some(active) = self.active.get_mut(name) else { return };
        (active.look, active.unreadable) = (false, Backoff::default());
        for (rtype, wrote) in std::mem::take(&mut active.unread) {
            let key = SetKey { name: name.clone(), rtype };
            let read = match self.held.get(&key) {
                Some(Held::Content(entry)) => Some(entry.set.clone()),
                _ => None,
            };
            match (wrote, read) {
                (Wrote::Put(written, hash), Some(set)) if content_hash(&set) == hash => {
                    self.confirm(
                        name,
                        rtype,
                        SetResult::Stands { set, written: Some(written), is_shared: false },
                    );
                }
                (Wrote::Deleted, None) => {
                    if let Some(active) = self.active.get_mut(name) {
                        active.deleted.insert(rtype);
                        active.waits.remove(&rtype);
                    }
                }
                _ => self.differs(name, rtype, at),
            }
        }
    }

    /// What was written stands.
    fn confirm(&mut self, name: &Name, rtype: Rtype, result: SetResult) {
        if let Some(active) = self.active.get_mut(name) {
            active.waits.remove(&rtype);
        }
        self.tell_if_wanted(name, rtype, result);
    }

    /// The server took something and holds something else; where others write too, it may be theirs.
    fn differs(&mut self, name: &Name, rtype: Rtype, at: At<'_>) {
        if self.is_contested(name) {
            let waits = &mut self.active.entry(name.clone()).or_default().waits;
            waits.entry(rtype).or_default().fail_softly(&at.class.settings.retry, at.now, at.jitter);
            return;
        }
        // If it is another owner's, its mark tells.
        self.turn.must_read |= self.turn.reads_zones();
        let trouble = Trouble {
            reason: "ServerError",
            code: "READ_BACK_DIFFERS",
            message: "the server holds something else than was written".to_owned(),
        };
        self.fail(name, rtype, &trouble, at);
    }

    /// Takes in a revision.
    pub(super) fn revision_was_read(
        &mut self,
        purpose: Purpose,
        revision: Result<Option<u64>, Failure>,
        at: At<'_>,
    ) -> Option<Failure> {
        let revision = match revision {
            Ok(revision) => revision,
            Err(failure) if failure.is_about_the_record() => None,
            Err(failure) => return Some(failure),
        };
        self.compare_revision(purpose, revision, at);
        None
    }

    fn compare_revision(&mut self, purpose: Purpose, revision: Option<u64>, at: At<'_>) {
        let is_same = revision.is_some() && revision == self.turn.revision;
        if is_same && !self.turn.hides && purpose != Purpose::Remember {
            self.turn.looked = self.turn.sent;
        }
        match purpose {
            Purpose::Remember => {
                self.turn.hides |= !is_same;
                self.turn.revision = revision;
                self.turn.unremembered = false;
            }
            Purpose::BeforeReading => self.turn.before_reading = Some(revision),
            Purpose::Drift if is_same => {}
            Purpose::Drift => {
                self.turn.must_read = true;
                self.turn.before_reading = Some(revision);
            }
            Purpose::BeforeWriting => {
                self.turn.refresh_to_write(at.now);
                if !is_same {
                    self.turn.moved |= revision.is_some();
                    self.look_before_writing(at);
                }
            }
        }
    }

    /// Has every name read that is about to be written. Before anything is deleted, the whole zone: whoever waits for
    /// it is found by its mark, which has a place that cannot be guessed.
    fn look_before_writing(&mut self, at: At<'_>) {
        let stages = [Stage::Mark, Stage::Put, Stage::Delete, Stage::Unmark];
        let names: Vec<Name> = stages.iter().flat_map(|stage| self.queued(*stage).cloned()).collect();
        let deletes = self.is_queued(Stage::Delete) && self.guard.held.is_empty();
        match names.len() > MANY || deletes {
            true => self.turn.must_read = true,
            false => names.iter().for_each(|name| self.look_at(name, at)),
        }
    }
}

/// The order of a zone: by name, then by type.
fn order(set: &RecordSet) -> (&Name, Rtype) {
    (&set.name, set.rtype)
}

fn order_of(key: &SetKey) -> (&Name, Rtype) {
    (&key.name, key.rtype)
}

/// Whether what was read is what is known, as far as the provider tells.
fn is_same(read: &Entry, known: &Entry) -> bool {
    read.set == known.set && (read.properties.is_empty() || read.properties == known.properties)
}
