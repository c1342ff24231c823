//! PowerDNS, beside a bare client.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use e2e::{PowerDns, Store};
use serde_json::Value;

use crate::bare;
use crate::delivering::Delivering;
use crate::recorder::Recorder;
use crate::world::{ZONE, median, milliseconds, nodes};

/// The sizes of batches that the bare client tries.
const SIZES: [usize; 3] = [500, 1000, 5000];

/// What one round of ours showed.
struct Round {
    all: Duration,
    requests: Requests,
    ten: Duration,
    for_ten: Requests,
    rrsets: Vec<Value>,
}

/// Requests by what they do.
#[derive(Clone, Debug, Default)]
struct Requests {
    all: usize,
    patches: usize,
    /// Answers that are long enough to be the whole zone.
    lists: usize,
    /// How far the serial has moved, which it does once a PATCH that lands.
    serial: u64,
}

/// Measures one store and prints what was seen.
pub(crate) fn measure(store: Store, records: usize, rounds: usize) -> Result<()> {
    let mut ours = Vec::new();
    let mut bare = vec![Vec::new(); SIZES.len()];
    for _ in 0..rounds {
        let round = deliver(store, records)?;
        for (size, times) in SIZES.iter().zip(&mut bare) {
            times.push(bare::send(&PowerDns::with(store, "")?, &round.rrsets, *size)?);
        }
        ours.push(round);
    }
    report(store, records, &ours, &bare)
}

fn deliver(store: Store, records: usize) -> Result<Round> {
    let server = PowerDns::with(store, "")?;
    let recorder = Recorder::new(server.provider()?);
    let mut delivering = Delivering::start(recorder.clone())?;
    let start = std::time::Instant::now();
    let all = delivering.deliver(nodes(0..records, [192, 0, 2, 1])?)?;
    for call in recorder.seen().calls {
        eprintln!("{:>10} {:>7.1} .. {:>7.1}", call.what, (call.start - start).as_secs_f64()*1e3, (call.end - start).as_secs_f64()*1e3);
    }
    eprintln!("all {:.1}", all.as_secs_f64()*1e3);
    let requests = rest(&server)?;
    let rrsets = bare::rrsets(&server)?;
    let before = rest(&server)?;
    let ten = delivering.deliver(nodes(0..10, [192, 0, 2, 2])?)?;
    let for_ten = rest(&server)?.since(&before);
    ensure!(for_ten.patches <= 2 && for_ten.lists == 0, "ten changes cost too much: {for_ten:?}");
    Ok(Round { all, requests, ten, for_ten, rrsets })
}

/// What a server was asked for, once it is left alone.
fn rest(server: &PowerDns) -> Result<Requests> {
    let mut last = 0;
    loop {
        let asked = server.requests()?;
        if asked.len() == last {
            let is_long = |octets: usize| octets > 100_000;
            let patches = asked.iter().filter(|(line, _)| line.starts_with("PATCH")).count();
            let lists = asked.iter().filter(|(_, octets)| is_long(*octets)).count();
            let zone = server.send("GET", &format!("/zones/{ZONE}.?rrsets=false"), "")?;
            let serial = zone["serial"].as_u64().unwrap_or(0);
            return Ok(Requests { all: asked.len(), patches, lists, serial });
        }
        last = asked.len();
        std::thread::sleep(Duration::from_millis(300));
    }
}

impl Requests {
    fn since(&self, before: &Requests) -> Requests {
        Requests {
            // The question for the serial is the bench's own.
            all: self.all - before.all - 1,
            patches: self.patches - before.patches,
            lists: self.lists - before.lists,
            serial: self.serial - before.serial,
        }
    }
}

fn report(store: Store, records: usize, ours: &[Round], bare: &[Vec<Duration>]) -> Result<()> {
    let medians = bare.iter().map(|times| median(times)).collect::<Result<Vec<_>>>()?;
    let best = (0..SIZES.len()).min_by_key(|at| medians[*at]).unwrap_or(0);
    let ratios: Vec<f64> = ours
        .iter()
        .zip(&bare[best])
        .map(|(ours, bare)| ours.all.as_secs_f64() / bare.as_secs_f64())
        .collect();
    let last = &ours[ours.len() - 1];
    println!(
        "PowerDNS with {store:?}, {records} records, {} RRsets, {} rounds",
        last.rrsets.len(),
        ours.len()
    );
    println!("  all read back after {:.0} ms", milliseconds(median(&times(ours, |round| round.all))?));
    println!("  requests: {:?}", last.requests);
    for (size, median) in SIZES.iter().zip(&medians) {
        println!("  bare client, {size} at once: {:.0} ms", milliseconds(*median));
    }
    println!("  ours / bare: {:.2} (each round: {})", median(&ratios)?, list(&ratios));
    println!(
        "  ten changed: {:.1} ms, {:?}",
        milliseconds(median(&times(ours, |round| round.ten))?),
        last.for_ten
    );
    Ok(())
}

fn times(rounds: &[Round], of: impl Fn(&Round) -> Duration) -> Vec<Duration> {
    rounds.iter().map(of).collect()
}

fn list(ratios: &[f64]) -> String {
    ratios.iter().map(|ratio| format!("{ratio:.2}")).collect::<Vec<_>>().join(" ")
}
