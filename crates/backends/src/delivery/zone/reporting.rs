//! What a zone tells about its sets, each thing once.

use dns::{Name, RecordSet, Rtype};

use super::super::{Report, SetResult, Trouble};
use super::held::Held;
use super::situation::{Fate, Situation};
use super::{At, Zone};
use crate::{Entry, Failure, SetKey};

impl Zone {
    /// Reports which records of a name are published, blocked or absent. While a write of the name is under way, it
    /// reports nothing: the write may take effect at any moment, and its outcome is processed later.
    pub(super) fn tell_situation(&mut self, name: &Name, situation: &Situation, at: At<'_>) {
        let must_look = self.active.get(name).is_some_and(|active| active.look);
        if situation.is_unknown || must_look || self.is_under_way(name) {
            return;
        }
        for wish in situation.wishes.iter().filter(|wish| wish.is_told) {
            let key = SetKey::of(&wish.entry.set);
            let unread = self.active.get(name).is_some_and(|active| active.unread.contains_key(&key.rtype));
            // Where others write too, what is about to be read again is not told from memory.
            let is_stale = self.turn.must_read && self.contested.contains(name);
            let is_sure = !unread && !wish.is_unsure && !is_stale;
            match wish.fate {
                Fate::Free if is_sure && self.is_settled(&key) && self.stands(&wish.entry) => {
                    self.tell_standing(&key)
                }
                Fate::Free | Fate::Frozen => {}
                Fate::Blocked => {
                    self.tell(name, key.rtype, SetResult::Foreign { owner: self.obstacle(&key) })
                }
                Fate::Misplaced => self.tell(name, key.rtype, SetResult::Foreign { owner: None }),
            }
        }
        if at.class.complete {
            self.tell_absent(name);
            self.tell_relied_on(name, situation);
        }
    }

    /// Tells what is to leave and cannot, because its replacement was refused or is blocked.
    fn tell_relied_on(&mut self, name: &Name, situation: &Situation) {
        let is_stuck = situation.puts.is_empty() && situation.unmarked.is_empty();
        let Some(active) = self.active.get_mut(name).filter(|_| is_stuck) else { return };
        let new: Vec<Rtype> =
            situation.relied_on.iter().copied().filter(|rtype| active.relied_on.insert(*rtype)).collect();
        let trouble = Trouble {
            reason: "ServerError",
            code: "REPLACEMENT_PENDING",
            message: "it stays until what replaces it at this name stands".to_owned(),
        };
        for rtype in new {
            self.tell_failed(name, rtype, &trouble, false);
        }
    }

    fn tell_standing(&mut self, key: &SetKey) {
        if let Some(Held::Content(entry)) = self.held.get(key) {
            let set = entry.set.clone();
            self.tell(&key.name, key.rtype, SetResult::Stands { set, written: None, is_shared: false });
        }
    }

    /// Whether a set is ours, and of one that is shared our mark says what is wanted now: what it does not say yet,
    /// the others may take out.
    fn is_settled(&self, key: &SetKey) -> bool {
        let said = self.marks.terms(&key.name).and_then(|terms| terms.shares.get(&key.rtype));
        let wanted = self.wanted_at(&key.name).find_map(|wanted| wanted.set(key.rtype));
        let is_said = match (said, wanted) {
            (Some(said), Some(wanted)) => said.has(&wanted.entry),
            _ => true,
        };
        is_said && self.is_ours(key)
    }

    fn is_ours(&self, key: &SetKey) -> bool {
        self.marks.is_own(key)
    }

    /// Whose record is in a set's way, if a mark says so.
    fn obstacle(&self, key: &SetKey) -> Option<String> {
        let others = super::held::standing(&self.held, &key.name).map(|(rtype, _)| rtype);
        let keys = std::iter::once(key.rtype).chain(others);
        keys.map(|rtype| SetKey { name: key.name.clone(), rtype }).find_map(|key| self.marks.owner(&key))
    }

    /// Tells of what was to leave a name and of which nothing of ours stands there.
    fn tell_absent(&mut self, name: &Name) {
        let active = self.active.get(name);
        let mut gone = Vec::new();
        for (origin, content) in self.origins_of(name) {
            for key in content.leaving_at(name) {
                let stands = self.held.get(&key).is_some_and(|held| *held != Held::Absent);
                let unread = active.is_some_and(|active| active.unread.contains_key(&key.rtype));
                let may_stand = unread || (stands && self.is_ours(&key));
                if !may_stand {
                    let deleted = active.is_some_and(|active| active.deleted.contains(&key.rtype));
                    gone.push((origin.clone(), key, deleted));
                }
            }
        }
        for (zone, key, deleted) in gone {
            if let Some(origin) = self.origins.get_mut(&zone) {
                origin.leaving.remove(&key);
                origin.known.remove(&key);
            }
            self.reports.push(Report::Set { zone, key, result: SetResult::Absent { deleted } });
        }
    }

    /// Tells a result to everybody who wants the set.
    pub(super) fn tell(&mut self, name: &Name, rtype: Rtype, result: SetResult) {
        let is_shared = self.marks.terms(name).is_some_and(|terms| terms.shares.contains_key(&rtype));
        for zone in name.suffix_keys() {
            let wanted = self.origins.get_mut(zone).and_then(|origin| origin.nodes.get_mut(name));
            let sets = wanted.map(|wanted| &mut wanted.sets);
            for set in sets.into_iter().flatten().filter(|set| set.entry.set.rtype == rtype) {
                let result = match is_shared {
                    true => result.clone().about(&set.entry.set),
                    false => result.clone(),
                };
                if set.is_news(&result) {
                    let key = SetKey { name: name.clone(), rtype };
                    let zone = Name::from_key(zone);
                    self.reports.push(Report::Set { zone, key, result });
                }
            }
        }
    }

    /// Tells that something stands, if it is what is still wanted.
    pub(super) fn tell_if_wanted(&mut self, name: &Name, rtype: Rtype, result: SetResult) {
        let is_wanted = {
            let mut wanted = self.wanted_at(name).filter_map(|wanted| wanted.set(rtype));
            wanted.any(|set| self.stands(&set.entry) || self.stands_among_others(&set.entry))
        };
        if is_wanted {
            self.tell(name, rtype, result);
        }
    }

    /// Tells a failure to everybody who wants the set, or wants it gone.
    pub(super) fn tell_failed(&mut self, name: &Name, rtype: Rtype, trouble: &Trouble, exhausted: bool) {
        let result = SetResult::Failed { trouble: trouble.clone(), exhausted };
        let key = SetKey { name: name.clone(), rtype };
        let leaving = self.origins_of(name).filter(|(_, origin)| origin.leaving.contains_key(&key));
        let zones: Vec<Name> = leaving.map(|(zone, _)| zone.clone()).collect();
        for zone in zones {
            self.reports.push(Report::Set { zone, key: key.clone(), result: result.clone() });
        }
        self.tell(name, rtype, result);
    }

    /// Tells everything that is not as wanted what is the matter with the zone as a whole.
    pub(in super::super) fn tell_own_trouble(&mut self, failure: &Failure, at: At<'_>) {
        let exhausted = self.backoff.is_exhausted(&at.class.settings.retry);
        self.tell_trouble(&Trouble::from(failure), exhausted);
    }

    /// Tells everything that is not as wanted that the server, or the zone, is in trouble.
    pub(in super::super) fn tell_trouble(&mut self, trouble: &Trouble, exhausted: bool) {
        let names: Vec<Name> = match self.turn.is_unread() {
            true => self.origins.values().flat_map(|origin| origin.nodes.keys()).cloned().collect(),
            false => self.active.keys().cloned().collect(),
        };
        for name in names {
            for rtype in self.not_standing(&name) {
                let result = SetResult::Failed { trouble: trouble.clone(), exhausted };
                self.tell(&name, rtype, result);
            }
        }
        for (zone, origin) in &mut self.origins {
            origin.fail_leaving(zone, trouble, exhausted, &mut self.reports);
        }
    }

    /// The wanted types at a name that do not stand, or were not read back.
    fn not_standing(&self, name: &Name) -> Vec<Rtype> {
        let unread =
            |rtype: Rtype| self.active.get(name).is_some_and(|active| active.unread.contains_key(&rtype));
        let sets = self.wanted_at(name).flat_map(|wanted| &wanted.sets);
        let stands = |entry: &Entry| self.stands(entry) || self.stands_among_others(entry);
        let missing = sets.filter(|set| unread(set.entry.set.rtype) || !stands(&set.entry));
        missing.map(|set| set.entry.set.rtype).collect()
    }
}

impl SetResult {
    /// The same about what one of several owners wanted: that its records stand among those of others.
    fn about(self, wanted: &RecordSet) -> SetResult {
        match self {
            SetResult::Stands { written, .. } => {
                SetResult::Stands { set: wanted.clone(), written, is_shared: true }
            }
            result => result,
        }
    }
}
