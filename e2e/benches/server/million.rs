//! A zone file of a million addresses: starts, memory, cost per query, and changes.

mod changes;
mod planner;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use e2e::{Folder, Usage};
use tempfile::TempDir;

use crate::measure::{Load, ratios, rotate};
use crate::rows::{NAMES, Question, Row};
use crate::running::{self, ALL_CORES, Running, SERVER_CORE, Work, on_cores};
use crate::statistics::Estimate;
use crate::table::interval;
use crate::{peers, zones};

/// How many names the large zone has.
const LARGE: usize = 1_000_000;
/// What the zone's file is called in our folder.
const FILE: &str = "static.example.zone";
/// A class that answers by itself, and a record in the zone of the file.
const CLASS: &str = "\
apiVersion: dns.homelab.mortenolsen.pro/v1alpha1
kind: DNSClass
metadata: {name: bench}
spec: {embedded: {}}
";
/// Memory is looked at when a server has come to rest.
const REST: Duration = Duration::from_secs(2);

/// What a start showed.
struct Start {
    name: String,
    took: Duration,
    memory: u64,
    peak: u64,
}

/// A folder with its state, which `up` is started on.
pub(crate) struct Site {
    folder: Folder,
    state: TempDir,
}

impl Site {
    /// With a zone file of so many names.
    fn new(names: usize) -> Result<Site> {
        let folder = Folder::new()?;
        folder.write(FILE, &zones::plain(Row::Static, names))?;
        folder.write("class.yaml", CLASS)?;
        folder.write("record.yaml", &changes::record(0))?;
        Ok(Site { folder, state: tempfile::tempdir()? })
    }

    fn start(&self, cores: &[usize]) -> Result<Running> {
        let (listen, http) = (running::address()?, running::address()?);
        let mut command = on_cores(cores, binary()?);
        command.arg("up").arg(self.folder.path()).arg("--state").arg(self.state.path());
        command.args(["--dns", &listen.to_string(), "--http", &http.to_string()]);
        Running::start("ours", listen, &[Row::Static], &command, None)
    }
}

fn binary() -> Result<PathBuf> {
    e2e::fingerpost().context("run `cargo xtask bench server`, or `cargo build --release -p fingerpost`")
}

/// Measures everything, and prints what was seen as soon as it was: a part that fails takes no earlier one with it.
pub(crate) fn measure(rounds: usize) -> Result<()> {
    let questions = Row::Static.questions_over(LARGE);
    let site = Site::new(LARGE)?;
    let mut starts = vec![
        timed("ours, from the file", &questions, || site.start(&ALL_CORES))?,
        timed("ours, from its snapshot", &questions, || site.start(&ALL_CORES))?,
    ];
    let text = std::fs::read_to_string(Path::new(site.folder.path()).join(FILE))?;
    for start in peers::ALL {
        starts.push(timed("", &questions, || start(Work::Start(&text)))?);
    }
    println!("{}", report(&starts));
    println!("{}", cost(&site, &questions, rounds)?);
    println!("{}", changes::measure(&site, &text)?);
    println!("{}", planner::measure(&text)?);
    Ok(())
}

/// Starts a server, waits for its first right answer, and looks at its memory.
fn timed(name: &str, questions: &[Question], start: impl FnOnce() -> Result<Running>) -> Result<Start> {
    let mut server = start()?;
    server.wait_for(&questions[0])?;
    let took = server.started().elapsed();
    std::thread::sleep(REST);
    server.check(questions)?;
    let used = server.processes().into_iter().filter_map(|process| Usage::of(process).ok());
    let (memory, peak) =
        used.fold((0, 0), |(memory, peak), usage| (memory + usage.memory, peak + usage.peak));
    let name = if name.is_empty() { server.name.to_owned() } else { name.to_owned() };
    eprintln!("1M names, {name}: first answer after {:.2} s, {} MB", took.as_secs_f64(), memory / 1_000_000);
    Ok(Start { name, took, memory, peak })
}

fn report(starts: &[Start]) -> String {
    let mut text =
        "| 1M names in one zone file | first answer after | resident | at most |\n|---|---|---|---|\n"
            .to_owned();
    for Start { name, took, memory, peak } in starts {
        let (memory, peak) = (memory / 1_000_000, peak / 1_000_000);
        text += &format!("| {name} | {:.2} s | {memory} MB | {peak} MB |\n", took.as_secs_f64());
    }
    text
}

/// Processor time per query beside `up` on a zone of 10k names.
fn cost(large: &Site, questions: &[Question], rounds: usize) -> Result<String> {
    let small = Site::new(NAMES)?;
    let small_questions = Row::Static.questions();
    let mut servers = [large.start(&[SERVER_CORE])?, small.start(&[SERVER_CORE])?];
    servers[0].wait_for(&questions[0])?;
    servers[1].wait_for(&small_questions[0])?;
    let mut loads =
        [Load::new("1M", &servers[0], questions, 0)?, Load::new("10k", &servers[1], &small_questions, 0)?];
    rotate("1M names beside 10k", &mut loads, rounds)?;
    let [large, small] = loads.map(Load::column);
    let ratio = Estimate::of(ratios(&large, &small)).context("no rounds")?;
    Ok(format!("Processor time per query at 1M names: {} times that at 10k (at most 1.3)\n", interval(ratio)))
}
