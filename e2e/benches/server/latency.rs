//! How long a client waits at a moderate load: 1,000 queries a second to ours and as many to Knot.
//!
//! They are asked by turns, query by query, so that a pause of the machine meets both alike.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::progress::Progress;
use crate::rows::{Question, Row};
use crate::running::Running;
use crate::statistics::{Estimate, quantile};
use crate::table::interval;

/// Between two queries to one server.
const APART: Duration = Duration::from_millis(1);
/// How many queries each server gets in a stretch.
const STRETCH: usize = 500;
/// How many stretches there are.
const STRETCHES: usize = 60;

/// Waiting times of one server, in microseconds.
struct Waits {
    name: &'static str,
    stretches: Vec<Vec<f64>>,
}

/// Measures both servers, and says what was seen.
pub(crate) fn measure(ours: &Running, other: &Running) -> Result<String> {
    let questions = Row::Static.questions();
    let mut waits = [ours, other].map(|server| Waits { name: server.name, stretches: Vec::new() });
    let progress = Progress::new("latency", STRETCHES);
    for number in 0..STRETCHES {
        progress.at(number);
        let start = number * STRETCH % (questions.len() - STRETCH);
        let seen = stretch([ours, other], &questions[start..start + STRETCH])?;
        seen.into_iter().zip(&mut waits).for_each(|(seen, waits)| waits.stretches.push(seen));
    }
    Ok(report(&waits))
}

/// Asks both servers the same.
fn stretch(servers: [&Running; 2], questions: &[Question]) -> Result<[Vec<f64>; 2]> {
    let sockets = [connected(servers[0])?, connected(servers[1])?];
    let mut waits = [Vec::with_capacity(questions.len()), Vec::with_capacity(questions.len())];
    let start = Instant::now();
    for (number, question) in (0u32..).step_by(2).zip(questions) {
        for (server, number) in [0, 1].into_iter().zip(number..) {
            // Spinning, not sleeping: the client must not add the time that it takes to wake up itself.
            while start.elapsed() < APART / 2 * number {
                std::hint::spin_loop();
            }
            let wait = wait(&sockets[server], question).with_context(|| servers[server].name)?;
            waits[server].push(wait);
        }
    }
    Ok(waits)
}

fn connected(server: &Running) -> Result<UdpSocket> {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    socket.connect(server.address)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// Asks and spins until the answer is there; the microseconds that took.
fn wait(socket: &UdpSocket, question: &Question) -> Result<f64> {
    let start = Instant::now();
    socket.send(&question.query)?;
    let mut answer = [0; 512];
    while socket.recv(&mut answer).is_err() {
        ensure!(start.elapsed() < Duration::from_secs(5), "no answer for 5 s");
    }
    Ok(start.elapsed().as_secs_f64() * 1e6)
}

fn report(waits: &[Waits; 2]) -> String {
    let [ours, other] = waits;
    let mut text = format!(
        "| µs from query to answer | {} | {} | ours / {} |\n|---|---|---|---|\n",
        ours.name, other.name, other.name
    );
    for (title, share) in [("median", 0.5), ("99th percentile", 0.99)] {
        let ratio = |chosen: &[usize]| ours.at(share, chosen) / other.at(share, chosen);
        let all: Vec<usize> = (0..STRETCHES).collect();
        let (one, two) = (ours.at(share, &all), other.at(share, &all));
        text += &format!(
            "| {title} | {one:.1} | {two:.1} | {} |\n",
            interval(Estimate::resampled(STRETCHES, ratio))
        );
    }
    text
}

impl Waits {
    /// A quantile over these stretches.
    fn at(&self, share: f64, chosen: &[usize]) -> f64 {
        let mut all: Vec<f64> = chosen.iter().flat_map(|&stretch| self.stretches[stretch].clone()).collect();
        all.sort_by(f64::total_cmp);
        quantile(&all, share)
    }
}
