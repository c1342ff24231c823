//! Rounds of a death and a return.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use e2e::{Backend, ask};

/// How long an answer may take to be right.
const PATIENCE: Duration = Duration::from_secs(300);
const PAUSE: Duration = Duration::from_millis(1);
/// The fractional part of the golden ratio spreads rounds evenly over an interval.
const GOLDEN: f64 = 0.618_033_988_75;

/// A server that steers the names of all rounds.
pub(crate) struct World {
    /// Where it answers.
    pub(crate) server: SocketAddr,
    /// Whether the second backend is in the answer too while both live.
    pub(crate) answers_all: bool,
    /// Held for as long as it is asked.
    pub(crate) _held: Box<dyn std::any::Any + Sync>,
}

/// How rounds follow each other.
#[derive(Clone, Copy)]
pub(crate) enum Pace {
    /// One after the other, each at another moment of an interval.
    InTurn(Duration),
    /// All at once.
    Together,
    /// All at once, and only the death.
    TogetherOneWay,
}

impl Pace {
    /// Quick ones in turn, slow ones together.
    pub(crate) fn of(interval: Duration) -> Pace {
        if interval > Duration::from_secs(2) { Pace::Together } else { Pace::InTurn(interval) }
    }
}

/// What the rounds took, sorted.
#[derive(Default)]
pub(crate) struct Times {
    pub(crate) deaths: Vec<Duration>,
    pub(crate) returns: Vec<Duration>,
}

/// The name of a round.
pub(crate) fn name(round: usize) -> String {
    format!("n{round}.failover.example")
}

/// The addresses of its two backends, in a network that nothing else of the bench uses.
pub(crate) fn addresses(round: usize) -> [IpAddr; 2] {
    let low = u8::try_from(round % 250 + 1).unwrap_or(1);
    let [.., process] = std::process::id().to_be_bytes();
    [1, 2].map(|which| IpAddr::V4(Ipv4Addr::new(127, 200 + which, process, low)))
}

/// Both backends of every round, alive.
pub(crate) fn backends(rounds: usize) -> Result<Vec<(Backend, Backend)>> {
    let pair = |round| {
        let [first, second] = addresses(round);
        Ok((Backend::silent(first)?, Backend::silent(second)?))
    };
    (0..rounds).map(pair).collect()
}

/// Runs the rounds.
pub(crate) fn measure(world: &World, pace: Pace, backends: Vec<(Backend, Backend)>) -> Result<Times> {
    // Everything is asked once before it counts: some servers begin to probe with the first query.
    for round in 0..backends.len() {
        until(world, round, true)?;
    }
    let mut times = Times::default();
    let backends = backends.into_iter().enumerate();
    match pace {
        Pace::InTurn(interval) => {
            for (round, pair) in backends {
                std::thread::sleep(interval.mul_f64(1.0 + (round as f64 * GOLDEN).fract()));
                times.add(one(world, round, pair, true)?);
            }
        }
        Pace::Together | Pace::TogetherOneWay => {
            let both = matches!(pace, Pace::Together);
            let taken = std::thread::scope(|scope| {
                let started: Vec<_> = backends
                    .map(|(round, pair)| {
                        scope.spawn(move || {
                            std::thread::sleep(
                                Duration::from_secs(20).mul_f64((round as f64 * GOLDEN).fract()),
                            );
                            one(world, round, pair, both)
                        })
                    })
                    .collect();
                started.into_iter().map(|round| round.join()).collect::<Vec<_>>()
            });
            for round in taken {
                times.add(round.map_err(|_| anyhow::anyhow!("a round panicked"))??);
            }
        }
    }
    times.deaths.sort();
    times.returns.sort();
    Ok(times)
}

impl Times {
    fn add(&mut self, (death, coming_back): (Duration, Option<Duration>)) {
        self.deaths.push(death);
        self.returns.extend(coming_back);
    }
}

/// One round: how long the death took, and the return.
fn one(
    world: &World,
    round: usize,
    (first, _second): (Backend, Backend),
    both: bool,
) -> Result<(Duration, Option<Duration>)> {
    until(world, round, true)?;
    first.kill();
    let death = until(world, round, false)?;
    if !both {
        return Ok((death, None));
    }
    let _first = Backend::silent(addresses(round)[0])?;
    Ok((death, Some(until(world, round, true)?)))
}

/// How long it takes until the first backend is in the answer, or is not.
fn until(world: &World, round: usize, alive: bool) -> Result<Duration> {
    let [first, second] = addresses(round).map(|address| format!("A {address}"));
    let expected = match (alive, world.answers_all) {
        (true, true) => vec![first, second],
        (true, false) => vec![first],
        (false, _) => vec![second],
    };
    let (start, name) = (Instant::now(), name(round));
    loop {
        let said = ask(world.server, &name).map(|reply| reply.records);
        if said.as_ref().is_ok_and(|records| *records == expected) {
            return Ok(start.elapsed());
        }
        ensure!(start.elapsed() < PATIENCE, "{name} is {said:?} and not {expected:?}");
        std::thread::sleep(PAUSE);
    }
}

/// A port that is free for both transports a moment ago.
pub(crate) fn free_address() -> Result<SocketAddr> {
    let address = std::net::UdpSocket::bind("127.0.0.1:0")?.local_addr()?;
    std::net::TcpListener::bind(address).context("the port is taken by TCP: try again")?;
    Ok(address)
}
