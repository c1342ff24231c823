//! Leases on a simulated network: calls are late, lost or refused, processes are stalled, killed and started
//! again, clocks run at different speeds and step, the witness goes away and comes back. Whatever happens,
//! no two regions believe at once, and generations only grow.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::{Duration, Instant};

use backends::Failure;
use jiff::Timestamp;

use super::claimant::{Claimant, Intent, Terms};
use super::document::{Answer, Call, Document};

const STEP: u64 = 100;
const LEASE: u64 = 6_000;
const RENEW: u64 = 600;
const CALLS_A_ROUND: usize = 4;

/// Numbers that look random and are the same for the same seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    /// True once in so many times; never when calm.
    fn once_in(&mut self, times: u64) -> bool {
        times > 0 && self.below(times) == 0
    }
}

/// How bad the world is: mean numbers of steps or calls between faults, 0 for never.
#[derive(Clone, Copy)]
struct Faults {
    stall: u64,
    kill: u64,
    lost: u64,
    refused: u64,
    gone: u64,
    deleted: u64,
    whim: u64,
    longest_way: u64,
}

const CALM: Faults =
    Faults { stall: 0, kill: 0, lost: 0, refused: 0, gone: 0, deleted: 0, whim: 0, longest_way: 200 };
const BAD: Faults = Faults {
    stall: 300,
    kill: 400,
    lost: 10,
    refused: 20,
    gone: 400,
    deleted: 200,
    whim: 40,
    longest_way: 700,
};

/// The witness: one document, and a version that only grows.
#[derive(Default)]
struct Witness {
    document: Option<(Document, u64)>,
    version: u64,
    gone_until: u64,
}

impl Witness {
    fn handle(&mut self, call: &Call, now: u64) -> Answer {
        if now < self.gone_until {
            return Answer::Failed(Failure::Unreachable(backends::Obstacle::Closed));
        }
        match call {
            Call::Read => Answer::Found(
                self.document.as_ref().map(|(document, version)| (document.clone(), version.to_string())),
            ),
            Call::Write(document, over) => {
                let stands = self.document.as_ref().map(|(_, version)| version.to_string());
                if stands != *over {
                    return Answer::Conflict;
                }
                self.version += 1;
                self.document = Some((document.clone(), self.version));
                Answer::Written(Some(self.version.to_string()))
            }
        }
    }
}

/// A call on its way.
struct UnderWay {
    call: Call,
    sent: Instant,
    arrives: u64,
    returns: Option<u64>,
    gives_up: u64,
    answer: Option<Answer>,
}

/// A process that speaks for a region.
struct Process {
    region: usize,
    claimant: Claimant,
    intent: Intent,
    /// Thousandths of a second of its own for each of the world's.
    rate: u64,
    offset: u64,
    wakes: u64,
    calls: usize,
    under_way: Option<UnderWay>,
    /// It does nothing any more, but nobody told whoever asks it.
    zombie: bool,
}

struct World {
    chance: Chance,
    faults: Faults,
    base: Instant,
    now: u64,
    witness: Witness,
    processes: Vec<Process>,
    regions: usize,
    /// Calls whose senders gave up waiting: they arrive all the same.
    stray: Vec<UnderWay>,
    last: Option<(usize, u64)>,
    moves: u64,
    born: u64,
}

fn name(region: usize) -> String {
    format!("region-{region}")
}

impl World {
    fn new(seed: u64) -> World {
        let mut chance = Chance(seed);
        let regions = 2 + chance.below(4) as usize;
        let mut world = World {
            chance,
            faults: BAD,
            base: Instant::now(),
            now: 0,
            witness: Witness::default(),
            processes: Vec::new(),
            regions,
            stray: Vec::new(),
            last: None,
            moves: 0,
            born: 0,
        };
        for region in 0..regions {
            let process = world.process(region);
            world.processes.push(process);
        }
        world
    }

    fn process(&mut self, region: usize) -> Process {
        let (lease, renew) = (Duration::from_millis(LEASE), Duration::from_millis(RENEW));
        self.born += 1;
        // What the last process wrote into its object's status survives it.
        let remembered = self.last.map_or(0, |(_, generation)| generation);
        Process {
            region,
            claimant: Claimant::new(Terms { holder: name(region), lease, renew }, remembered, self.born),
            intent: Intent::Hold(Duration::from_millis(region as u64 * RENEW)),
            rate: 960 + self.chance.below(81),
            offset: self.chance.below(1_000_000),
            wakes: self.now + self.chance.below(2_000),
            calls: 0,
            under_way: None,
            zombie: false,
        }
    }

    /// The monotonic clock of a process; no two agree, nor run at one speed.
    fn clock(&self, process: &Process) -> Instant {
        self.base + Duration::from_micros((process.offset + self.now) * process.rate)
    }

    fn wall(&mut self) -> Timestamp {
        let second = if self.chance.once_in(10) { self.chance.below(1 << 30) } else { self.now / 20_000 };
        Timestamp::from_second(second as i64).unwrap()
    }

    fn run(&mut self, duration: u64) {
        let end = self.now + duration;
        while self.now < end {
            self.now += STEP;
            self.world_faults();
            self.network();
            for index in 0..self.processes.len() {
                self.fate(index);
                if self.processes[index].wakes <= self.now && !self.processes[index].zombie {
                    self.act(index);
                }
            }
            self.judge();
        }
    }

    fn world_faults(&mut self) {
        if self.chance.once_in(self.faults.gone) {
            self.witness.gone_until = self.now + self.chance.below(8_000);
        }
        if self.chance.once_in(self.faults.deleted) && self.is_known_to_all() {
            self.witness.document = None;
        }
    }

    /// A region that never saw the document has no generation to go on from.
    fn is_known_to_all(&self) -> bool {
        let latest = self.witness.document.as_ref().map(|(document, _)| document.generation);
        let seen = |process: &Process| process.claimant.seen().map(|seen| seen.document.generation);
        self.processes.iter().all(|process| process.zombie || seen(process) == latest)
    }

    fn network(&mut self) {
        let (now, witness) = (self.now, &mut self.witness);
        let under_way = self.processes.iter_mut().filter_map(|process| process.under_way.as_mut());
        for call in under_way.chain(&mut self.stray) {
            if call.arrives <= now && call.answer.is_none() {
                call.answer = Some(witness.handle(&call.call, now));
            }
        }
        self.stray.retain(|call| call.answer.is_none());
    }

    fn fate(&mut self, index: usize) {
        if self.processes[index].zombie {
            return;
        }
        if self.chance.once_in(self.faults.stall) {
            self.processes[index].wakes = self.now + self.chance.below(15_000);
        }
        if self.chance.once_in(self.faults.whim) {
            self.processes[index].intent = self.whim();
        }
        if self.chance.once_in(self.faults.kill) {
            self.kill(index);
        }
    }

    /// Another process takes its place; the killed one may only seem to be dead.
    fn kill(&mut self, index: usize) {
        let born = self.process(self.processes[index].region);
        let mut killed = std::mem::replace(&mut self.processes[index], born);
        self.stray.extend(killed.under_way.take());
        if self.chance.once_in(2) {
            killed.zombie = true;
            self.processes.push(killed);
        }
    }

    fn whim(&mut self) -> Intent {
        let other = name(self.chance.below(self.regions as u64) as usize);
        let patience = Duration::from_millis(self.chance.below(2) * RENEW);
        match self.chance.below(9) {
            0 => Intent::Watch,
            1 => Intent::Yield(None, false),
            2 => Intent::Yield(Some(other), true),
            3 => Intent::HandOver(other),
            4 => Intent::Withdraw(other),
            _ => Intent::Hold(patience),
        }
    }

    fn act(&mut self, index: usize) {
        match self.processes[index].under_way.take() {
            None => self.begin(index),
            Some(call) => self.wait(index, call),
        }
    }

    fn begin(&mut self, index: usize) {
        let clock = self.clock(&self.processes[index]);
        let process = &mut self.processes[index];
        process.claimant.begin(clock);
        process.calls = 0;
        self.call(index);
    }

    fn call(&mut self, index: usize) {
        let (clock, wall) = (self.clock(&self.processes[index]), self.wall());
        let arrives = self.now + self.way();
        let returns = arrives + self.way();
        let lost = self.chance.once_in(self.faults.lost);
        let refused = self.chance.once_in(self.faults.refused);
        let process = &mut self.processes[index];
        let intent = process.intent.clone();
        let call = process.claimant.next(&intent, clock, wall).filter(|_| process.calls < CALLS_A_ROUND);
        let Some(call) = call else { return self.rest(index) };
        process.calls += 1;
        process.under_way = Some(UnderWay {
            call,
            sent: clock,
            arrives,
            returns: (!lost).then_some(returns),
            gives_up: self.now + 1_000,
            answer: refused.then_some(Answer::Failed(Failure::Unreachable(backends::Obstacle::Closed))),
        });
    }

    /// How long a message is under way: not at all, or for very long.
    fn way(&mut self) -> u64 {
        if self.chance.once_in(2) { 0 } else { self.chance.below(self.faults.longest_way) }
    }

    fn rest(&mut self, index: usize) {
        let clock = self.clock(&self.processes[index]);
        let process = &mut self.processes[index];
        process.wakes = self.now + process.claimant.pause(&process.intent, clock).as_millis() as u64;
    }

    fn wait(&mut self, index: usize, call: UnderWay) {
        let returned = call.returns.is_some_and(|returns| returns <= self.now);
        match (&call.answer, returned) {
            (Some(answer), true) => {
                let answer = answer.clone();
                self.answered(index, &call, &answer);
            }
            _ if call.gives_up <= self.now => {
                self.answered(index, &call, &Answer::Failed(Failure::TimedOut));
                self.stray.extend(Some(call).filter(|call| call.answer.is_none()));
            }
            _ => self.processes[index].under_way = Some(call),
        }
    }

    fn answered(&mut self, index: usize, call: &UnderWay, answer: &Answer) {
        let clock = self.clock(&self.processes[index]);
        let process = &mut self.processes[index];
        match process.claimant.answered(&call.call, call.sent, clock, answer) {
            true => self.rest(index),
            false => self.call(index),
        }
    }

    /// The regions of which some process believes that they hold the lease, with the generation.
    fn believers(&self) -> Vec<(usize, u64)> {
        let mut believers = Vec::new();
        for process in &self.processes {
            let clock = self.clock(process);
            if process.claimant.believes(clock) {
                believers.push((process.region, process.claimant.seen().unwrap().document.generation));
            }
        }
        believers
    }

    fn judge(&mut self) {
        let believers = self.believers();
        let Some((region, _)) = believers.first().copied() else { return };
        let alike = believers.iter().all(|(other, _)| *other == region);
        assert!(alike, "at {} ms {believers:?} believe at once", self.now);
        let generation = believers.iter().map(|(_, generation)| *generation).max().unwrap();
        match self.last {
            Some((before, highest)) if before != region => {
                assert!(generation > highest, "at {} ms {generation} follows {highest}", self.now);
                self.moves += 1;
            }
            _ => {}
        }
        let highest = self.last.map_or(0, |(_, highest)| highest);
        self.last = Some((region, generation.max(highest)));
        let base = self.base;
        let is_over = |process: &Process, clock: Instant| process.zombie && !process.claimant.believes(clock);
        let now = self.now;
        self.processes.retain(|process| {
            let clock = base + Duration::from_micros((process.offset + now) * process.rate);
            !is_over(process, clock)
        });
    }
}

#[test]
fn two_regions_never_believe_at_once_in_ten_thousand_schedules() {
    let mut moves = 0;
    for seed in 0..10_000 {
        let mut world = World::new(seed);
        world.run(30_000);
        moves += world.moves;
    }
    assert!(moves > 3_000, "the faults moved the lease only {moves} times");
}

#[test]
fn calm_brings_a_holder_back() {
    for seed in 0..300 {
        let mut world = World::new(seed);
        world.run(30_000);
        world.faults = CALM;
        for process in &mut world.processes {
            process.intent = Intent::Hold(Duration::from_millis(process.region as u64 * RENEW));
        }
        world.run(15_000 + 8_000 + 4 * LEASE + 10 * RENEW);
        assert!(!world.believers().is_empty(), "seed {seed}: nobody holds the lease though all is calm");
    }
}

#[test]
fn in_calm_the_first_holder_stays() {
    for seed in 0..50 {
        let mut world = World::new(seed);
        world.faults = CALM;
        world.run(60_000);
        assert_eq!(world.moves, 0, "seed {seed}");
        assert_eq!(world.last.map(|(_, generation)| generation), Some(1), "seed {seed}");
    }
}
