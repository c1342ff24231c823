//! Several owners at one provider, each with a clock of its own, in thousands of random schedules.
//!
//! Requests are taken apart: each is sent, judged by what stands there, made, and answered, and between any two
//! of these steps the others go on. So a store without transactions loses updates as a real one does. Owners
//! crash, stall for minutes, die, come back and leave.
//!
//! What must hold at every step: an answer that an owner was told to stand, and still wants, is never missing
//! while that owner lives; nobody writes what another has alone; nobody is robbed of a name while it lives. And
//! once the faults end: everybody's records stand, and nobody else's.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use dns::{Rdata, RecordSet, Rtype};

use super::super::book::Book;
use super::super::task::{Job, Outcome, Task, What};
use super::super::{Node, Order, Report, SetResult, Settings};
use super::fake::{Fake, Nature, set};
use super::simulation::Chance;
use super::world::{name, new_zone, settings};
use crate::marks::{Liveness, Mark};
use crate::{Batch, Entry, Failure, OpenedZone, Provider, Reading, SetKey};

const ZONE: &str = "example.org";
const SHARED: &str = "shared.example.org";
const ALONE: &str = "alone.example.org";
const FOREIGN: &str = "foreign.example.org";
/// How long a request can be on its way.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Nobody who moved its counter so short a time ago may be robbed, whatever the clocks.
const SAFE: Duration = Duration::from_secs(60);

/// What the provider holds.
struct Store {
    sets: BTreeMap<SetKey, Entry>,
    revision: u64,
    compares: bool,
}

/// How far a request has come.
enum Phase {
    Sent,
    /// A write that was found to be in order, change by change.
    Judged(Vec<bool>),
    Answered(Outcome),
}

struct Owner {
    id: String,
    book: Option<Book>,
    /// How fast its clock goes.
    speed: f64,
    generation: u64,
    request: Option<(Task, Phase, Duration)>,
    /// Until when it does nothing.
    stalled: Duration,
    is_dead: bool,
    wants: BTreeMap<&'static str, u8>,
    heir: Option<String>,
    /// The names that it was told to stand.
    established: BTreeSet<&'static str>,
}

struct Simulation {
    store: Store,
    owners: Vec<Owner>,
    now: Duration,
    chance: Chance,
    has_faults: bool,
    /// When an owner moved its counter, the last two times.
    moved: BTreeMap<String, (Duration, Duration)>,
    /// When an owner last had this heir.
    given: BTreeMap<(String, String), Duration>,
    /// When what one owner has alone was made.
    made: Duration,
    /// Who last wrote what one owner has alone.
    writer: Option<usize>,
}

fn address(owner: usize, number: u8) -> Rdata {
    Rdata::a([192, 0, owner as u8, number].into())
}

fn key(at: &str) -> SetKey {
    SetKey { name: name(at), rtype: Rtype::A }
}

impl Store {
    fn holds(&self, key: &SetKey, wanted: Option<&RecordSet>) -> bool {
        self.sets.get(key).map(|entry| &entry.set) == wanted
    }

    /// Which changes may be made, as things stand.
    fn judge(&self, batch: &Batch) -> Vec<bool> {
        let guarded = batch.guards.iter().all(|(key, set)| self.holds(key, set.as_ref()));
        let change = |change: &crate::SetChange| {
            guarded && self.holds(&change.key, change.before.as_ref().map(|entry| &entry.set))
        };
        batch.changes.iter().map(change).collect()
    }

    fn mark(&self, owner: &str, at: &str) -> Option<Mark> {
        let key = crate::marks::mark_key(owner, &name(at), &name(ZONE))?;
        Mark::read(&self.sets.get(&key)?.set, &name(ZONE))
    }

    fn data(&self, at: &str) -> BTreeSet<Rdata> {
        self.sets.get(&key(at)).into_iter().flat_map(|entry| entry.set.data.iter().cloned()).collect()
    }

    fn read(&self, job: &Job) -> Outcome {
        match job {
            Job::Open(_) | Job::Seek => Outcome::Opened(Ok(OpenedZone { origin: name(ZONE), made: false })),
            Job::ReadZone => Outcome::Zone(Ok(self.sets.values().cloned().collect())),
            Job::ReadSets { keys, .. } => {
                Outcome::Sets(Ok(keys.iter().map(|(key, _)| self.sets.get(key).cloned()).collect()))
            }
            Job::Revision(_) => Outcome::Revision(Ok(Some(self.revision))),
            Job::Settle => Outcome::Settled(Ok(())),
            Job::Write(_) => panic!("a write is not read"),
        }
    }
}

impl Owner {
    fn new(number: usize, speed: f64) -> Owner {
        Owner {
            id: format!("owner{number}"),
            book: None,
            speed,
            generation: 0,
            request: None,
            stalled: Duration::ZERO,
            is_dead: false,
            wants: BTreeMap::new(),
            heir: None,
            established: BTreeSet::new(),
        }
    }

    fn clock(&self, now: Duration) -> Duration {
        now.mul_f64(self.speed)
    }

    fn node(&self, number: usize, at: &'static str) -> Node {
        let data = self.wants.get(at).map(|last| vec![address(number, *last)]);
        let ttl = 300 - number as u32;
        let sets = data.map(|data| Entry::from(RecordSet::new(name(at), Rtype::A, ttl, data)));
        let shared = if at == SHARED { vec![Rtype::A] } else { vec![] };
        let heir = self.heir.clone().filter(|_| at == ALONE);
        Node {
            zone: name(ZONE),
            name: name(at),
            sets: sets.into_iter().collect(),
            kept: vec![],
            shared,
            heir,
        }
    }

    fn start(&mut self, number: usize, now: Duration) {
        let mut book =
            Book::new(Settings { owner: self.id.clone(), drift: Duration::from_secs(40), ..settings() });
        self.generation += 1;
        self.request = None;
        let now = self.clock(now);
        let nature = Nature {
            reading: Reading::Zones,
            batch_size: 4,
            compares: false,
            has_revision: true,
            is_shared: true,
        };
        let provider: Arc<dyn Provider> = Arc::new(Fake::new(nature));
        book.order(Order::Provider(Ok(provider)), now);
        book.order(Order::Zone(new_zone(ZONE)), now);
        let nodes = [SHARED, ALONE].map(|at| self.node(number, at));
        book.order(Order::Nodes(nodes.to_vec()), now);
        book.order(Order::Complete, now);
        self.book = Some(book);
    }

    fn hear(&mut self) {
        let reports = self.book.as_mut().map(Book::reports).unwrap_or_default();
        for report in reports {
            let Report::Set { key: told, result, .. } = report else { continue };
            let Some(at) = [SHARED, ALONE].into_iter().find(|at| key(at) == told) else { continue };
            match result {
                SetResult::Stands { .. } if self.wants.contains_key(at) => drop(self.established.insert(at)),
                SetResult::Foreign { .. } | SetResult::Absent { .. } => drop(self.established.remove(at)),
                _ => {}
            }
        }
    }
}

impl Simulation {
    fn new(seed: u64) -> Simulation {
        let mut chance = Chance::new(seed);
        let facts = new_zone(ZONE);
        let sets = [facts.soa, facts.name_servers, set(FOREIGN, Rtype::A, "198.51.100.1")];
        let sets = sets.map(|set| (SetKey::of(&set), Entry::from(set))).into_iter().collect();
        let store = Store { sets, revision: 0, compares: chance.one_in(3) };
        let count = 2 + chance.below(4);
        let owners =
            (0..count).map(|number| Owner::new(number, 0.85 + 0.05 * chance.below(7) as f64)).collect();
        Simulation {
            store,
            owners,
            now: Duration::ZERO,
            chance,
            has_faults: true,
            moved: BTreeMap::new(),
            given: BTreeMap::new(),
            made: Duration::ZERO,
            writer: None,
        }
    }

    fn is_up(&self, number: usize) -> bool {
        let owner = &self.owners[number];
        owner.book.is_some() && !owner.is_dead && owner.stalled <= self.now
    }

    /// One step of one owner's request; says whether there was any.
    fn advance(&mut self, number: usize) -> bool {
        if !self.is_up(number) {
            return false;
        }
        let (owner, now) = (&mut self.owners[number], self.now);
        let local = owner.clock(now);
        let Some((task, phase, sent)) = owner.request.take() else { return self.send(number) };
        let next = match phase {
            Phase::Answered(outcome) => {
                let jitter = self.chance.below(100) as f64 / 100.0;
                if let Some(book) = &mut owner.book {
                    book.done(&task, outcome, local, jitter);
                    book.use_time(local);
                }
                owner.hear();
                return true;
            }
            _ if self.has_faults && self.chance.one_in(25) => self.fail(number, &task, phase),
            Phase::Sent => self.serve(number, &task),
            Phase::Judged(sound) => self.made(number, &task, &sound),
        };
        self.owners[number].request = Some((task, next, sent));
        true
    }

    fn send(&mut self, number: usize) -> bool {
        let (owner, now) = (&mut self.owners[number], self.now);
        let (local, generation) = (owner.clock(now), owner.generation);
        let Some(book) = &mut owner.book else { return false };
        let task = book.next(local, generation, &|| true);
        book.use_time(local);
        assert_eq!(book.misplaced(local), [], "not everything that is needed is on its way");
        owner.hear();
        let is_some = task.is_some();
        owner.request = task.map(|task| (task, Phase::Sent, now));
        is_some
    }

    fn serve(&mut self, number: usize, task: &Task) -> Phase {
        let Job::Write(writing) = &task.job else { return Phase::Answered(self.store.read(&task.job)) };
        let sound = self.store.judge(&writing.batch);
        match self.store.compares {
            true => self.made(number, task, &sound),
            false => Phase::Judged(sound),
        }
    }

    fn made(&mut self, number: usize, task: &Task, sound: &[bool]) -> Phase {
        self.make(number, task, sound, usize::MAX);
        let result = |sound: &bool| if *sound { Ok(()) } else { Err(Failure::Changed) };
        Phase::Answered(Outcome::Written(sound.iter().map(result).collect()))
    }

    /// The answer is lost, and all, some or nothing was done.
    fn fail(&mut self, number: usize, task: &Task, phase: Phase) -> Phase {
        if let Job::Write(writing) = &task.job {
            let sound = match phase {
                Phase::Judged(sound) => sound,
                _ => self.store.judge(&writing.batch),
            };
            let most = self.chance.below(sound.len() + 1);
            self.make(number, task, &sound, most);
        }
        Phase::Answered(task.failed(self.chance.of(&[Failure::TimedOut, Failure::Unreachable])))
    }

    fn make(&mut self, number: usize, task: &Task, sound: &[bool], most: usize) {
        let Job::Write(writing) = &task.job else { return };
        let sound = writing.batch.changes.iter().zip(sound).filter(|(_, sound)| **sound).take(most);
        for (change, _) in sound {
            if std::env::var_os("FINGERPOST_TRACE").is_some() {
                eprintln!(
                    "{:?} {} {:?} -> {:?}",
                    self.now,
                    self.owners[number].id,
                    change.key,
                    change.after.as_ref().map(|entry| &entry.set.data)
                );
            }
            self.check_change(number, writing.what, &change.key, change.after.as_ref());
            self.store.revision += 1;
            match &change.after {
                Some(after) => drop(self.store.sets.insert(change.key.clone(), after.clone())),
                None => drop(self.store.sets.remove(&change.key)),
            }
        }
        self.check();
    }

    /// What must hold for every single change.
    fn check_change(&mut self, number: usize, what: What, changed: &SetKey, after: Option<&Entry>) {
        let us = self.owners[number].id.clone();
        assert_ne!(*changed, key(FOREIGN), "{us} touches what is nobody's");
        match what {
            What::Liveness => {
                let counter = after.and_then(|entry| Liveness::read(&entry.set, &name(ZONE)));
                counter.inspect(|counter| assert_eq!(counter.owner, us));
                let before = self.moved.get(&us).map(|moved| moved.1).unwrap_or_default();
                self.moved.insert(us, (before, self.now));
            }
            What::Marks => self.check_mark(&us, changed, after),
            What::Sets if *changed == key(ALONE) => self.check_writer(number),
            What::Sets => {}
        }
    }

    /// Nobody is robbed of what it has alone while it lives.
    fn check_mark(&mut self, us: &str, changed: &SetKey, after: Option<&Entry>) {
        let before = self.store.sets.get(changed).and_then(|entry| Mark::read(&entry.set, &name(ZONE)));
        if let Some((mark, heir)) = before.as_ref().and_then(|mark| Some((mark, mark.terms.heir.clone()?))) {
            self.given.insert((mark.owner.clone(), heir), self.now);
        }
        let Some(mark) = before.filter(|mark| mark.owner != us && mark.name == name(ALONE)) else { return };
        let after = after.and_then(|entry| Mark::read(&entry.set, &name(ZONE)));
        let is_robbed =
            mark.types.contains(&Rtype::A) && !after.is_some_and(|mark| mark.types.contains(&Rtype::A));
        // What was given may be taken back while the heir's request is on its way.
        let given = self.given.get(&(mark.owner.clone(), us.to_owned()));
        let is_given = given.is_some_and(|given| self.now - *given <= TIMEOUT);
        // One that was silent for long may stir while our request is on its way; it reads before it writes.
        let (before, moved) = self.moved.get(&mark.owner).copied().unwrap_or_default();
        let was_silent = self.now - moved >= SAFE || (self.now - moved <= TIMEOUT && moved - before >= SAFE);
        assert!(!is_robbed || is_given || was_silent, "{us} robs {}", mark.owner);
    }

    /// Nobody writes what the one who wrote before still has.
    ///
    /// Two who know of nobody else may make one name at once, where the store has no conditions; that they
    /// find out afterwards.
    fn check_writer(&mut self, number: usize) {
        if self.store.data(ALONE).is_empty() {
            self.made = self.now;
        }
        if self.now - self.made < 3 * TIMEOUT {
            self.writer = Some(number);
        } else if let Some(last) = self.writer.replace(number).filter(|last| *last != number) {
            let mark = self.store.mark(&self.owners[last].id, ALONE);
            let has = mark.as_ref().is_some_and(|mark| mark.types.contains(&Rtype::A));
            assert!(!has, "{} writes what {} has: {mark:?}", self.owners[number].id, self.owners[last].id);
        }
    }

    /// What must hold at every step.
    fn check(&self) {
        for at in [SHARED, ALONE] {
            let relies = |owner: &&Owner| {
                !owner.is_dead && owner.established.contains(at) && owner.wants.contains_key(at)
            };
            if let Some(owner) = self.owners.iter().find(relies) {
                assert!(!self.store.data(at).is_empty(), "{at} is empty, and {} lives", owner.id);
            }
        }
    }

    /// Time passes; what is on its way for too long is cut off.
    fn pass(&mut self, time: Duration) {
        self.now += time;
        for number in 0..self.owners.len() {
            let is_late = |(_, _, sent): &(Task, Phase, Duration)| self.now - *sent > TIMEOUT;
            if !self.owners[number].request.as_ref().is_some_and(is_late) {
                continue;
            }
            if let Some((task, phase, sent)) = self.owners[number].request.take() {
                let answer = match phase {
                    Phase::Answered(outcome) => Phase::Answered(outcome),
                    _ => Phase::Answered(task.failed(Failure::TimedOut)),
                };
                self.owners[number].request = Some((task, answer, sent));
            }
        }
    }

    /// To the next moment at which anybody has something to do, within `most`.
    fn pass_to_next(&mut self, most: Duration) {
        let wake = |owner: &Owner| {
            let wake =
                owner.book.as_ref()?.wake().map(|wake| wake.div_f64(owner.speed) + Duration::from_millis(1));
            let soon = owner.request.as_ref().map(|_| self.now + Duration::from_millis(100));
            Some(soon.or(wake)?.max(owner.stalled))
        };
        let up = self.owners.iter().filter(|owner| !owner.is_dead);
        let next = up.filter_map(wake).min().unwrap_or(self.now + most);
        let time = next.saturating_sub(self.now).clamp(Duration::from_millis(1), most);
        self.pass(time);
    }

    fn step(&mut self) {
        let number = self.chance.below(self.owners.len());
        match self.chance.below(60) {
            0 => self.change(number),
            1 if self.chance.one_in(3) => self.crash(number),
            2 if self.chance.one_in(3) => self.stall(number),
            3 if self.chance.one_in(8) => self.die(number),
            4 if self.owners[number].book.is_none() => self.come_back(number),
            5 => self.hand_over(number),
            6..=9 => {
                let time = Duration::from_millis(self.chance.below(3000) as u64);
                self.pass(time);
            }
            _ if !self.advance(number) && self.chance.one_in(4) => self.pass_to_next(Duration::from_secs(20)),
            _ => {}
        }
    }

    /// An owner does nothing for a while; the others may take it for dead.
    fn stall(&mut self, number: usize) {
        self.owners[number].stalled = self.now + Duration::from_secs(self.chance.below(200) as u64);
        self.owners[number].established.clear();
    }

    /// An owner wants something else.
    fn change(&mut self, number: usize) {
        let at = self.chance.of(&[SHARED, ALONE]);
        let last = self.chance.below(4) as u8;
        let owner = &mut self.owners[number];
        match last {
            0 => {
                owner.established.remove(at);
                owner.wants.remove(at);
            }
            last => drop(owner.wants.insert(at, last)),
        }
        self.tell(number, at);
    }

    fn hand_over(&mut self, number: usize) {
        let to = self.chance.below(self.owners.len());
        let heir = self.owners[to].id.clone();
        self.owners[number].heir = Some(heir).filter(|_| to != number);
        self.tell(number, ALONE);
    }

    fn tell(&mut self, number: usize, at: &'static str) {
        let (owner, now) = (&mut self.owners[number], self.now);
        let (node, local) = (owner.node(number, at), owner.clock(now));
        if let Some(book) = owner.book.as_mut().filter(|_| !owner.is_dead) {
            book.order(Order::Nodes(vec![node]), local);
        }
        owner.hear();
    }

    /// The process ends, and what it had sent is made or not.
    fn cut(&mut self, number: usize) {
        if let Some((task, phase, _)) = self.owners[number].request.take()
            && !matches!(phase, Phase::Answered(_))
        {
            self.fail(number, &task, phase);
        }
    }

    fn crash(&mut self, number: usize) {
        if !self.owners[number].is_dead {
            self.cut(number);
            self.owners[number].start(number, self.now);
        }
    }

    fn die(&mut self, number: usize) {
        self.cut(number);
        let owner = &mut self.owners[number];
        (owner.is_dead, owner.book) = (true, None);
        owner.established.clear();
    }

    fn come_back(&mut self, number: usize) {
        self.owners[number].is_dead = false;
        self.owners[number].stalled = Duration::ZERO;
        self.owners[number].start(number, self.now);
    }

    /// No more faults: whoever lives must come to rest with everything in place.
    fn finish(&mut self) {
        self.has_faults = false;
        for owner in &mut self.owners {
            (owner.stalled, owner.heir) = (Duration::ZERO, None);
        }
        (0..self.owners.len()).for_each(|number| self.tell(number, ALONE));
        let end = self.now + Duration::from_secs(600);
        for _ in 0..1_000_000 {
            if self.now > end {
                break;
            }
            let (count, first) = (self.owners.len(), self.chance.below(self.owners.len()));
            if (0..count).all(|other| !self.advance((first + other) % count)) {
                self.pass_to_next(Duration::from_secs(30));
            }
        }
        assert!(self.now > end, "it never ends");
        self.trace();
        self.check_shared();
        self.check_alone();
    }

    fn living(&self, at: &'static str) -> Vec<usize> {
        let wants =
            |number: &usize| !self.owners[*number].is_dead && self.owners[*number].wants.contains_key(at);
        (0..self.owners.len()).filter(wants).collect()
    }

    /// What owners share is what those who live and want it add up to, and only their marks are there.
    fn check_shared(&self) {
        let living = self.living(SHARED);
        let part = |number: &usize| address(*number, self.owners[*number].wants[SHARED]);
        let whole: BTreeSet<Rdata> = living.iter().map(part).collect();
        for (number, owner) in self.owners.iter().enumerate() {
            let has = self.store.mark(&owner.id, SHARED).is_some_and(|mark| mark.types.contains(&Rtype::A));
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

    /// What one owner has alone is one living owner's, or that of a dead one who never had a counter.
    fn check_alone(&self) {
        let living = self.living(ALONE);
        let has = |owner: &Owner| {
            self.store.mark(&owner.id, ALONE).is_some_and(|mark| mark.types.contains(&Rtype::A))
        };
        let holders: Vec<usize> =
            (0..self.owners.len()).filter(|number| has(&self.owners[*number])).collect();
        if living.is_empty() {
            return self.check_left(ALONE);
        }
        assert_eq!(holders.len(), 1, "holders {holders:?}, living {living:?}");
        let holder = &self.owners[holders[0]];
        match holder.is_dead {
            true => assert!(!self.has_counter(&holder.id), "{} is dead and was not followed", holder.id),
            false => {
                let expected = address(holders[0], holder.wants[ALONE]);
                assert_eq!(self.store.data(ALONE), BTreeSet::from([expected]), "{} has it", holder.id);
            }
        }
    }

    fn trace(&self) {
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

    fn has_counter(&self, owner: &str) -> bool {
        crate::marks::liveness_key(owner, &name(ZONE)).is_some_and(|key| self.store.sets.contains_key(&key))
    }
}

fn run(seed: u64) {
    let mut simulation = Simulation::new(seed);
    for number in 0..simulation.owners.len() {
        for at in [SHARED, ALONE] {
            if !simulation.chance.one_in(4) {
                simulation.owners[number].wants.insert(at, 1);
            }
        }
        if number == 0 || !simulation.chance.one_in(4) {
            simulation.owners[number].start(number, Duration::ZERO);
        }
    }
    for _ in 0..1500 {
        simulation.step();
    }
    simulation.finish();
}

#[test]
fn promise_14_and_takeovers_hold_in_random_histories_of_several_owners() {
    super::simulation::run_each("0..50", "several owners", run);
}
