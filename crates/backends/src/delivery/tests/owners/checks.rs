//! What must hold at every step, and at the end.

use std::collections::BTreeSet;
use std::time::Duration;

use dns::{Rdata, Rtype};

use super::super::super::task::What;
use super::super::world::name;
use super::owner::Owner;
use super::{
    ALONE, AWAKE, FOREIGN, LOST, Meeting, RESTED, SAFE, SHARED, Simulation, TIMEOUT, ZONE, address, key,
};
use crate::marks::{Liveness, Mark};
use crate::{Entry, SetKey};

impl Simulation {
    /// What must hold for every single change.
    pub(super) fn check_change(
        &mut self,
        number: usize,
        what: What,
        changed: &SetKey,
        after: Option<&Entry>,
    ) {
        let us = self.owners[number].id.clone();
        assert_ne!(*changed, key(FOREIGN), "{us} touches what is nobody's");
        match what {
            What::Liveness => {
                // The others may have taken out what it relied on, and it is about to find out.
                if self.is_silent(&us) {
                    self.owners[number].established.clear();
                }
                self.check_counter(&us, after);
            }
            What::Marks => self.check_mark(number, changed, after),
            What::Sets if *changed == key(ALONE) => {
                self.check_writer(number);
                assert!(
                    after.is_some() || !self.is_waited_for(number),
                    "{us} deletes what another waits for"
                );
            }
            What::Sets => {}
        }
    }

    /// Everybody moves its own counter.
    fn check_counter(&mut self, us: &str, after: Option<&Entry>) {
        let counter = after.and_then(|entry| Liveness::read(&entry.set, &name(ZONE)));
        counter.inspect(|counter| assert_eq!(counter.owner, us));
        if self.store.rests(us) {
            self.roused.insert(us.to_owned(), self.now);
        }
        let before = self.moved.get(us).map(|moved| moved.1);
        self.moved.insert(us.to_owned(), (before.unwrap_or(self.now), self.now));
    }

    /// Nobody is robbed of what it has alone while it lives.
    fn check_mark(&mut self, number: usize, changed: &SetKey, after: Option<&Entry>) {
        let us = self.owners[number].id.clone();
        let before = self.store.sets.get(changed).and_then(|entry| Mark::read(&entry.set, &name(ZONE)));
        if let Some((mark, heir)) = before.as_ref().and_then(|mark| Some((mark, mark.terms.heir.clone()?))) {
            self.given.insert((mark.owner.clone(), heir), self.now);
        }
        let Some(mark) = before.filter(|mark| mark.owner != us && mark.name == name(ALONE)) else { return };
        let after = after.and_then(|entry| Mark::read(&entry.set, &name(ZONE)));
        let has = |mark: &Mark| mark.types.contains(&Rtype::A);
        if has(&mark) && !after.as_ref().is_some_and(has) {
            assert!(
                self.is_given(&mark.owner, &us)
                    || self.is_silent(&mark.owner)
                    || self.is_absent(&mark.owner, &us),
                "{us} robs {}",
                mark.owner
            );
            self.follows(number);
        }
    }

    /// How old what a request was decided by can be, and still be acted on. A store with conditions knows.
    fn delay(&self) -> Duration {
        if self.store.compares { Duration::ZERO } else { TIMEOUT }
    }

    /// Whether one owner has another for its heir, or took that back while the heir's request was on its way.
    fn is_given(&self, owner: &str, heir: &str) -> bool {
        let given = self.given.get(&(owner.to_owned(), heir.to_owned()));
        given.is_some_and(|given| self.now - *given <= self.delay())
    }

    /// Whether an owner's counter stands still for long, or did until just now, while a request was on its way:
    /// one that stirs moves its counter, and then reads before it writes. One without a counter is not silent.
    fn is_silent(&self, owner: &str) -> bool {
        let Some((before, moved)) = self.moved.get(owner).copied() else { return false };
        let is_kept = self.store.has_counter(owner) && !self.store.rests(owner);
        let stands_still = is_kept && self.now - moved >= SAFE;
        let has_stirred =
            !self.is_at_rest(owner) && self.now - moved <= self.delay() && moved - before >= SAFE;
        stands_still || has_stirred
    }

    /// Whether an owner's counter rests, or did until just now, while a request was on its way.
    fn is_at_rest(&self, owner: &str) -> bool {
        let was_roused = self.roused.get(owner).is_some_and(|roused| self.now - *roused <= self.delay());
        self.store.rests(owner) || was_roused
    }

    /// Whether an owner whose counter rests, or did until just now, had its time since it met another, and was not up
    /// for long enough of it.
    fn is_absent(&self, owner: &str, other: &str) -> bool {
        let awake = self.owners.iter().find(|one| one.id == owner).map(|one| one.awake);
        let met = self.met.get(&(owner.to_owned(), other.to_owned()));
        let was_absent =
            |(awake, met): (Duration, &Meeting)| self.now - met.at >= RESTED && awake - met.awake < AWAKE;
        self.is_at_rest(owner) && awake.zip(met).is_some_and(was_absent)
    }

    /// Whether an owner must know that another waits for what one owner has alone, and lives.
    fn is_waited_for(&self, number: usize) -> bool {
        let (now, us) = (self.now, &self.owners[number]);
        let lives = |(before, moved): &(Duration, Duration)| {
            *before <= us.has_read && *moved - *before < SAFE && now - *moved < SAFE
        };
        let waits = |mark: &Mark| {
            let since = self.waits_since.get(&mark.owner).copied();
            since.is_some_and(|since| since < us.has_read) && self.moved.get(&mark.owner).is_some_and(lives)
        };
        self.store.marks(ALONE).any(|mark| mark.owner != us.id && waits(&mark))
    }

    /// Puts down since when who waits for what one owner has alone, and who met whom there.
    pub(super) fn note_waiting(&mut self) {
        let wants = |mark: &Mark| mark.terms.wants.contains(&Rtype::A);
        let waiting: BTreeSet<String> =
            self.store.marks(ALONE).filter(wants).map(|mark| mark.owner).collect();
        self.waits_since.retain(|owner, _| waiting.contains(owner));
        for owner in waiting {
            self.waits_since.entry(owner).or_insert(self.now);
        }
        self.note_met();
    }

    /// Puts down when the later of two owners came to the name, and for how long each had been up by then.
    fn note_met(&mut self) {
        let marked: BTreeSet<String> = self.store.marks(ALONE).map(|mark| mark.owner).collect();
        self.met.retain(|(one, other), _| marked.contains(one) && marked.contains(other));
        let there = || self.owners.iter().filter(|owner| marked.contains(&owner.id));
        for (one, other) in there().flat_map(|one| there().map(move |other| (one, other))) {
            let meeting = Meeting { at: self.now, awake: one.awake };
            self.met.entry((one.id.clone(), other.id.clone())).or_insert(meeting);
        }
    }

    /// Nobody writes what the one who wrote before still has.
    ///
    /// Two who know of nobody else may make one name at once, where the store has no conditions; that they
    /// find out afterwards.
    fn check_writer(&mut self, number: usize) {
        if self.store.data(ALONE).is_empty() {
            self.made = self.now;
        }
        let is_made = self.now - self.made > 2 * self.delay();
        let last = self.writer.replace(number).filter(|last| *last != number && is_made);
        if let Some(last) = last.map(|last| &self.owners[last].id) {
            let mark = self.store.mark(last, ALONE).filter(|mark| mark.types.contains(&Rtype::A));
            // One that only claims what is ours has it not.
            let us = &self.owners[number].id;
            let is_theirs = mark.as_ref().is_some_and(|mark| mark.terms.from.as_ref() != Some(us));
            assert!(!is_theirs, "{us} writes what {last} has: {mark:?}");
        }
    }

    /// What must hold at every step.
    pub(super) fn check(&self) {
        let alive = |(_, owner): &(usize, &Owner)| !self.is_silent(&owner.id);
        for (number, owner) in self.owners.iter().enumerate().filter(alive) {
            for at in [SHARED, ALONE].into_iter().filter(|at| owner.relies_on(at)) {
                assert!(!self.store.data(at).is_empty(), "{at} is empty, and {} lives", owner.id);
            }
            if self.store.compares {
                assert!(!self.has_lost(number), "{SHARED} has lost what {} adds", owner.id);
            }
        }
    }

    fn has_lost(&self, number: usize) -> bool {
        let owner = &self.owners[number];
        let is_in = |last| self.store.data(SHARED).contains(&address(number, last));
        !self.is_silent(&owner.id) && owner.relies_on(SHARED) && !(1..4).any(is_in)
    }

    /// Without conditions an update can be lost, and is made again before long.
    pub(super) fn check_losses(&mut self) {
        for number in 0..self.owners.len() {
            let since = self.lost.get(&number).copied().unwrap_or(self.now);
            let is_relied_on = self.owners[number].relies_on(SHARED);
            let id = &self.owners[number].id;
            assert!(!is_relied_on || self.now - since <= LOST, "{SHARED} is without {id} since {since:?}");
            match self.has_lost(number) {
                true => self.lost.insert(number, since),
                false => self.lost.remove(&number),
            };
        }
    }

    fn living(&self, at: &'static str) -> Vec<usize> {
        let wants =
            |number: &usize| !self.owners[*number].is_dead && self.owners[*number].wants.contains_key(at);
        (0..self.owners.len()).filter(wants).collect()
    }

    /// What owners share is what those who live and want it add up to, and only their marks are there.
    pub(super) fn check_shared(&self) {
        let living = self.living(SHARED);
        let part = |number: &usize| address(*number, self.owners[*number].wants[SHARED]);
        let whole: BTreeSet<Rdata> = living.iter().map(part).collect();
        for (number, owner) in self.owners.iter().enumerate() {
            let has = self.store.has(&owner.id, SHARED);
            assert!(owner.is_dead || has == living.contains(&number), "the mark of {}", owner.id);
            assert!(!owner.is_dead || living.is_empty() || !has, "{} is dead and not forgotten", owner.id);
        }
        match living.first() {
            Some(_) => {
                assert_eq!(self.store.data(SHARED), whole);
                let ttl = living.iter().map(|number| 300 - *number as u32).min();
                assert_eq!(self.store.sets.get(&key(SHARED)).map(|entry| entry.set.ttl), ttl);
            }
            None => self.check_left(SHARED),
        }
    }

    /// Where only the dead want something, what they had stays, and nothing of the living.
    fn check_left(&self, at: &'static str) {
        for (number, owner) in self.owners.iter().enumerate().filter(|(_, owner)| !owner.is_dead) {
            let left: Vec<Rdata> = (1..4).map(|last| address(number, last)).collect();
            let data = self.store.data(at);
            assert!(left.iter().all(|one| !data.contains(one)), "{} left, and its records stay", owner.id);
        }
    }

    /// What one owner has alone is one living owner's, or that of a dead one if nobody else wants it.
    pub(super) fn check_alone(&self) {
        let living = self.living(ALONE);
        let has = |number: &usize| self.store.has(&self.owners[*number].id, ALONE);
        let holders: Vec<usize> = (0..self.owners.len()).filter(has).collect();
        if let Some(dead) = holders.iter().find(|number| self.owners[**number].is_dead) {
            return assert!(living.is_empty(), "{} is dead and was not followed", self.owners[*dead].id);
        }
        if living.is_empty() {
            return self.check_left(ALONE);
        }
        assert_eq!(holders.len(), 1, "holders {holders:?}, living {living:?}");
        let holder = &self.owners[holders[0]];
        let expected = address(holders[0], holder.wants[ALONE]);
        assert_eq!(self.store.data(ALONE), BTreeSet::from([expected]), "{} has it", holder.id);
    }

    pub(super) fn trace(&self) {
        if std::env::var_os("FINGERPOST_TRACE").is_some() {
            self.store
                .sets
                .values()
                .for_each(|entry| eprintln!("{} {} {:?}", entry.set.name, entry.set.rtype, entry.set.data));
            for owner in &self.owners {
                eprintln!(
                    "{} dead {} wants {:?} established {:?}",
                    owner.id, owner.is_dead, owner.wants, owner.established
                );
            }
        }
    }
}
