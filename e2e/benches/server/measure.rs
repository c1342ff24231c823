//! One row: every server is loaded for a short slice in turn, round after round.
//!
//! A machine that others use is slower in one second and faster in the next. Within a round all servers see
//! the same machine, so what counts is the ratio within a round; its median over the rounds stands.

use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::blaster::{Blaster, Tally};
use crate::echo_server;
use crate::progress::Progress;
use crate::rows::{Question, Row};
use crate::running::{Running, exchange};
use crate::statistics::Estimate;
use crate::{ours, processor};

/// How long a server is loaded at a time.
const SLICE: Duration = Duration::from_millis(80);
/// The most answers that may be missing, as a share of the queries.
const MOST_LOST: f64 = 0.001;
/// What the table calls our unsigned answers beside the signed ones.
pub(crate) const UNSIGNED: &str = "ours, unsigned";

/// What one server showed in one row.
pub(crate) struct Column {
    /// The server.
    pub(crate) name: &'static str,
    /// Microseconds of processor time per answered query, round by round.
    pub(crate) costs: Vec<f64>,
    /// The share of the time of its slices that the server was on its core: how near to saturated it was.
    pub(crate) busy: f64,
    /// Answers a second in its slices.
    pub(crate) rate: f64,
}

/// What all servers showed in one row.
pub(crate) struct Measured {
    /// Which row.
    pub(crate) row: Row,
    /// How long our answers are.
    pub(crate) length: usize,
    /// The servers that can do the row, the floor first.
    pub(crate) columns: Vec<Column>,
}

impl Measured {
    /// A server's column.
    pub(crate) fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// What one server costs in terms of another, from the ratios within the rounds.
    pub(crate) fn ratio(&self, name: &str, to: &str) -> Option<Estimate> {
        Estimate::of(ratios(self.column(name)?, self.column(to)?))
    }
}

/// What one costs in terms of the other, round by round.
pub(crate) fn ratios(one: &Column, other: &Column) -> Vec<f64> {
    one.costs.iter().zip(&other.costs).map(|(one, other)| one / other).collect()
}

/// Checks and measures a row.
pub(crate) fn measure(row: Row, servers: &[&Running], rounds: usize) -> Result<Measured> {
    let questions = row.questions();
    for server in servers {
        server
            .check(&questions)
            .with_context(|| format!("{}: {} answers wrongly", row.title(), server.name))?;
    }
    let ours = servers.iter().find(|server| server.name == ours::NAME).context("ours is not there")?;
    let length = exchange(ours.address, &questions[0].query)?.len();
    let mut floor = echo_server::start(length)?;
    floor.wait_for_echo(&questions[0])?;
    // The floor sends the query back, in which the code is 0.
    let mut loads = vec![Load::new(echo_server::NAME, &floor, &questions, 0)?];
    for server in servers {
        loads.push(Load::new(server.name, server, &questions, row.rcode())?);
    }
    if row == Row::Signed {
        loads.push(Load::new(UNSIGNED, ours, &Row::Static.questions(), 0)?);
    }
    rotate(row.title(), &mut loads, rounds)?;
    Ok(Measured { row, length, columns: loads.into_iter().map(Load::column).collect() })
}

/// Loads all in turn, so many times.
pub(crate) fn rotate(title: &'static str, loads: &mut [Load], rounds: usize) -> Result<()> {
    for load in loads.iter_mut() {
        load.blaster.warm()?;
    }
    let progress = Progress::new(title, rounds);
    for round in 0..rounds {
        progress.at(round);
        for load in loads.iter_mut() {
            load.slice()?;
        }
    }
    Ok(())
}

/// A server under load.
pub(crate) struct Load {
    name: &'static str,
    processes: Vec<u32>,
    blaster: Blaster,
    costs: Vec<f64>,
    used: Duration,
    took: Duration,
    answered: usize,
}

impl Load {
    /// A server with its queries; every answer must have this code.
    pub(crate) fn new(
        name: &'static str,
        server: &Running,
        questions: &[Question],
        rcode: u8,
    ) -> Result<Load> {
        let queries = questions.iter().map(|question| question.query.as_slice());
        let blaster = Blaster::new(server.address, queries, rcode)?;
        let (used, took) = (Duration::ZERO, Duration::ZERO);
        Ok(Load { name, processes: server.processes(), blaster, costs: Vec::new(), used, took, answered: 0 })
    }

    fn slice(&mut self) -> Result<()> {
        let before = processor::used(&self.processes);
        let tally = self.blaster.slice(SLICE)?;
        let used = processor::used(&self.processes).saturating_sub(before);
        self.ensure_answered(&tally)?;
        self.costs.push(used.as_secs_f64() * 1e6 / tally.answered as f64);
        self.used += used;
        self.took += tally.took;
        self.answered += tally.answered;
        Ok(())
    }

    fn ensure_answered(&self, tally: &Tally) -> Result<()> {
        let (name, most) = (self.name, tally.sent as f64 * MOST_LOST);
        ensure!(tally.wrong == 0, "{name} gave {} wrong answers of {}", tally.wrong, tally.sent);
        ensure!(tally.answered > 0 && tally.lost() as f64 <= most, "{name} lost answers: {tally:?}");
        Ok(())
    }

    /// What it showed.
    pub(crate) fn column(self) -> Column {
        let took = self.took.as_secs_f64();
        let (busy, rate) = (self.used.as_secs_f64() / took, self.answered as f64 / took);
        Column { name: self.name, costs: self.costs, busy, rate }
    }
}
