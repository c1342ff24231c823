//! How long a client waits at a moderate load: 1,000 queries a second, ours and Knot in turns.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::progress::Progress;
use crate::rows::{Question, Row};
use crate::running::Running;
use crate::statistics::{Estimate, quantile};
use crate::table::interval;

/// Between two queries.
const APART: Duration = Duration::from_millis(1);
/// How many queries a server gets in its turn.
const TURN: usize = 250;
/// How many turns each gets.
const TURNS: usize = 40;

/// Waiting times of one server, in microseconds: each turn sorted.
struct Waits {
    name: &'static str,
    turns: Vec<Vec<f64>>,
}

/// Measures the servers in turns, and says what was seen.
pub(crate) fn measure(ours: &Running, other: &Running) -> Result<String> {
    let questions = Row::Static.questions();
    let mut waits = [ours, other].map(|server| Waits { name: server.name, turns: Vec::new() });
    let progress = Progress::new("latency", TURNS);
    for round in 0..TURNS {
        progress.at(round);
        for (server, waits) in [ours, other].into_iter().zip(&mut waits) {
            let start = round * TURN % (questions.len() - TURN);
            waits.turns.push(turn(server, &questions[start..start + TURN])?);
        }
    }
    Ok(report(&waits))
}

/// One server's turn.
fn turn(server: &Running, questions: &[Question]) -> Result<Vec<f64>> {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    socket.connect(server.address)?;
    socket.set_nonblocking(true)?;
    let start = Instant::now();
    let mut waits = Vec::with_capacity(questions.len());
    for (number, question) in (0u32..).zip(questions) {
        // Spinning, not sleeping: the client must not add the time that it takes to wake up itself.
        while start.elapsed() < APART * number {
            std::hint::spin_loop();
        }
        waits.push(wait(&socket, question).with_context(|| server.name)?);
    }
    waits.sort_by(f64::total_cmp);
    Ok(waits)
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
        let ratios = ours.turns.iter().zip(&other.turns);
        let ratios = ratios.map(|(one, other)| quantile(one, share) / quantile(other, share)).collect();
        let ratio = Estimate::of(ratios).map_or("–".to_owned(), interval);
        text += &format!("| {title} | {:.1} | {:.1} | {ratio} |\n", ours.at(share), other.at(share));
    }
    text
}

impl Waits {
    /// A quantile over all turns.
    fn at(&self, share: f64) -> f64 {
        let mut all = self.turns.concat();
        all.sort_by(f64::total_cmp);
        quantile(&all, share)
    }
}
