//! Elections on a simulated network: calls are late, lost or refused, candidates are stalled,
//! killed and restarted, wall clocks step. Whatever happens, nobody leads beside another.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::Settings;
use super::record::{Answer, Call, Candidate, Record};

const STEP: u64 = 50;
const CANDIDATES: u64 = 3;

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
    longest_way: u64,
}

const CALM: Faults = Faults { stall: 0, kill: 0, lost: 0, refused: 0, longest_way: 100 };
const BAD: Faults = Faults { stall: 1_000, kill: 3_000, lost: 6, refused: 12, longest_way: 3_000 };

/// The API server's part: one Lease, and a version that only grows.
#[derive(Default)]
struct Server {
    lease: Option<Record>,
    version: u64,
}

impl Server {
    fn handle(&mut self, call: &Call) -> Answer {
        match (call, &self.lease) {
            (Call::Read, Some(lease)) => Answer::Stands(lease.clone()),
            (Call::Read | Call::Replace(_), None) => Answer::Missing,
            (Call::Create(_), Some(_)) => Answer::Conflict,
            (Call::Replace(record), Some(lease)) if record.version != lease.version => Answer::Conflict,
            (Call::Create(record) | Call::Replace(record), _) => self.write(record.clone()),
        }
    }

    fn write(&mut self, record: Record) -> Answer {
        let same = |lease: &Record| Record { version: String::new(), ..lease.clone() };
        // A write that changes nothing gives no new version.
        if self.lease.as_ref().map(same) != Some(same(&record)) {
            self.version += 1;
            self.lease = Some(Record { version: self.version.to_string(), ..record });
        }
        Answer::Stands(self.lease.clone().unwrap())
    }
}

/// A call on its way.
struct UnderWay {
    call: Call,
    from: u64,
    arrives: u64,
    returns: Option<u64>,
    gives_up: u64,
    answer: Option<Answer>,
}

struct Replica {
    candidate: Candidate,
    offset: Duration,
    wakes: u64,
    calls: usize,
    under_way: Option<UnderWay>,
}

struct World {
    chance: Chance,
    faults: Faults,
    base: Instant,
    now: u64,
    server: Server,
    replicas: Vec<Replica>,
    /// Calls whose senders gave up waiting: they arrive all the same.
    stray: Vec<UnderWay>,
    born: u64,
    transitions: u64,
    last_leader: Option<usize>,
}

fn settings(identity: u64) -> Settings {
    Settings {
        name: "fingerpost-operator".into(),
        namespace: "fingerpost".into(),
        identity: format!("replica-{identity}"),
        lease_duration: Duration::from_secs(15),
        renew_deadline: Duration::from_secs(10),
        retry_period: Duration::from_secs(2),
    }
}

impl World {
    fn new(seed: u64) -> World {
        let mut world = World {
            chance: Chance(seed),
            faults: BAD,
            base: Instant::now(),
            now: 0,
            server: Server::default(),
            replicas: Vec::new(),
            stray: Vec::new(),
            born: 0,
            transitions: 0,
            last_leader: None,
        };
        for _ in 0..CANDIDATES {
            let replica = world.replica();
            world.replicas.push(replica);
        }
        world
    }

    fn replica(&mut self) -> Replica {
        self.born += 1;
        Replica {
            candidate: Candidate::new(settings(self.born)),
            offset: Duration::from_millis(self.chance.below(1_000_000)),
            wakes: self.now + self.chance.below(3_000),
            calls: 0,
            under_way: None,
        }
    }

    /// The monotonic clock of a replica; no two agree.
    fn clock(&self, index: usize) -> Instant {
        self.base + self.replicas[index].offset + Duration::from_millis(self.now)
    }

    /// A wall clock that stands still for long and then steps forth or back.
    fn wall(&mut self) -> Timestamp {
        let second = if self.chance.once_in(10) { self.chance.below(1 << 30) } else { self.now / 20_000 };
        Timestamp::from_second(second as i64).unwrap()
    }

    fn run(&mut self, duration: u64) {
        let end = self.now + duration;
        while self.now < end {
            self.now += STEP;
            self.network();
            for index in 0..self.replicas.len() {
                self.fate(index);
                if self.replicas[index].wakes <= self.now {
                    self.act(index);
                }
            }
            self.judge();
        }
    }

    fn network(&mut self) {
        let (now, server) = (self.now, &mut self.server);
        let under_way = self.replicas.iter_mut().filter_map(|replica| replica.under_way.as_mut());
        for call in under_way.chain(&mut self.stray) {
            if call.arrives <= now && call.answer.is_none() {
                call.answer = Some(server.handle(&call.call));
            }
        }
        self.stray.retain(|call| call.answer.is_none());
    }

    fn fate(&mut self, index: usize) {
        if self.chance.once_in(self.faults.stall) {
            self.replicas[index].wakes = self.now + self.chance.below(60_000);
        }
        if self.chance.once_in(self.faults.kill) {
            let reborn = self.replica();
            let killed = std::mem::replace(&mut self.replicas[index], reborn);
            self.stray.extend(killed.under_way);
        }
    }

    fn act(&mut self, index: usize) {
        match self.replicas[index].under_way.take() {
            None => self.begin(index),
            Some(call) => self.wait(index, call),
        }
    }

    fn begin(&mut self, index: usize) {
        let clock = self.clock(index);
        let replica = &mut self.replicas[index];
        replica.candidate.tick(clock);
        replica.candidate.begin();
        replica.calls = 0;
        self.call(index);
    }

    fn call(&mut self, index: usize) {
        let (clock, wall) = (self.clock(index), self.wall());
        let way = |chance: &mut Chance, longest| chance.below(longest);
        let arrives = self.now + way(&mut self.chance, self.faults.longest_way);
        let returns = arrives + way(&mut self.chance, self.faults.longest_way);
        let lost = self.chance.once_in(self.faults.lost);
        let refused = self.chance.once_in(self.faults.refused);
        let replica = &mut self.replicas[index];
        let call = replica.candidate.next(clock, wall).filter(|_| replica.calls < super::CALLS_A_ROUND);
        let Some(call) = call else { return self.rest(index) };
        replica.calls += 1;
        replica.under_way = Some(UnderWay {
            call,
            from: self.now,
            arrives,
            returns: (!lost).then_some(returns),
            gives_up: self.now + replica.candidate.patience(clock).as_millis() as u64,
            answer: refused.then_some(Answer::Unknown),
        });
    }

    fn rest(&mut self, index: usize) {
        let clock = self.clock(index);
        let replica = &mut self.replicas[index];
        replica.wakes = self.now + replica.candidate.pause(clock).as_millis() as u64;
    }

    fn wait(&mut self, index: usize, call: UnderWay) {
        let returned = call.returns.is_some_and(|returns| returns <= self.now);
        match (&call.answer, returned) {
            (Some(answer), true) => {
                let answer = answer.clone();
                self.answered(index, &call, answer);
            }
            _ if call.gives_up <= self.now => {
                self.answered(index, &call, Answer::Unknown);
                self.stray.extend(Some(call).filter(|call| call.answer.is_none()));
            }
            _ => self.replicas[index].under_way = Some(call),
        }
    }

    fn answered(&mut self, index: usize, call: &UnderWay, answer: Answer) {
        let clock = self.clock(index);
        let replica = &mut self.replicas[index];
        let sent = self.base + replica.offset + Duration::from_millis(call.from);
        match replica.candidate.answered(&call.call, sent, clock, answer) {
            true => self.rest(index),
            false => self.call(index),
        }
    }

    fn leaders(&self) -> Vec<usize> {
        let leads = |index: &usize| {
            let until = self.replicas[*index].candidate.holds_until();
            until.is_some_and(|until| until > self.clock(*index))
        };
        (0..self.replicas.len()).filter(leads).collect()
    }

    fn judge(&mut self) {
        let leaders = self.leaders();
        assert!(leaders.len() <= 1, "at {} ms {leaders:?} lead at once", self.now);
        if let Some(leader) = leaders.first().copied() {
            self.transitions += u64::from(self.last_leader != Some(leader));
            self.last_leader = Some(leader);
        }
    }
}

#[test]
fn two_never_lead_at_once_and_calm_brings_a_leader() {
    let mut transitions = 0;
    for seed in 0..150 {
        let mut world = World::new(seed);
        world.run(600_000);
        world.faults = CALM;
        // The longest stall, the longest lease, and a few rounds.
        world.run(60_000 + 15_000 + 10_000);
        assert_eq!(world.leaders().len(), 1, "seed {seed}: nobody leads though all is calm");
        transitions += world.transitions;
    }
    assert!(transitions > 500, "the faults moved the lease only {transitions} times");
}

#[test]
fn in_calm_the_first_leader_stays() {
    for seed in 0..20 {
        let mut world = World::new(seed);
        world.faults = CALM;
        world.run(300_000);
        assert_eq!((world.transitions, world.leaders().len()), (1, 1), "seed {seed}");
    }
}
