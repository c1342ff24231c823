//! From the death of a TCP backend to the first right answer: `cargo xtask bench failover`.
//!
//! Every name has two backends of its own, and every round takes another name, so that no round sees what
//! the one before it left behind. A round kills the first backend and asks every millisecond until the
//! answer is right; then it brings the backend back and asks until the answer is as before. Settings that
//! take minutes run their rounds side by side.

#[path = "failover/gdnsd.rs"]
mod gdnsd;
#[path = "failover/ours.rs"]
mod ours;
#[path = "failover/powerdns.rs"]
mod powerdns;
#[path = "failover/rounds.rs"]
mod rounds;

use std::time::Duration;

use anyhow::{Result, ensure};

use rounds::{Pace, Times, World, backends, measure};

fn main() -> Result<()> {
    let numbers: Vec<usize> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let [rounds, alone] = numbers.as_slice() else {
        println!("usage: cargo xtask bench failover [--rounds NUMBER] [--alone]");
        return Ok(());
    };
    println!("| from the death of a backend | death, median (range) | return, median (range) | rounds |");
    println!("|---|---|---|---|");
    let mut broken = Vec::new();
    for (setting, bar) in ours::SETTINGS {
        let start = || ours::start(&setting, *rounds);
        let times = row(setting.title, start, Pace::of(setting.interval), *rounds)?;
        broken.extend(bar.judge(&setting, &times));
    }
    if *alone == 0 {
        peers(*rounds)?;
    }
    ensure!(broken.is_empty(), "over its bar: {}", broken.join("; "));
    println!("\nall of ours within their bars");
    Ok(())
}

fn peers(rounds: usize) -> Result<()> {
    let second = Duration::from_secs(1);
    row("PowerDNS, 1 s", || powerdns::start(1, rounds), Pace::of(second), rounds)?;
    row("PowerDNS, by default (5 s)", || powerdns::start(5, rounds), Pace::Together, rounds)?;
    row("gdnsd, 2 s, thresholds 1", || gdnsd::start(Some(2), rounds), Pace::of(second * 2), rounds)?;
    // Its return takes twenty successes of ten seconds, so only the death is waited for.
    let default = "gdnsd, by default (10 s, 10 failures)";
    row(default, || gdnsd::start(None, rounds), Pace::TogetherOneWay, rounds)?;
    Ok(())
}

/// Measures a server that is started when all backends are there.
fn row(title: &str, start: impl Fn() -> Result<World>, pace: Pace, rounds: usize) -> Result<Times> {
    let backends = backends(rounds)?;
    let times = measure(&start()?, pace, backends)?;
    println!("| {title} | {} | {} | {} |", words(&times.deaths), words(&times.returns), times.deaths.len());
    Ok(times)
}

fn words(times: &[Duration]) -> String {
    let (Some(first), Some(last)) = (times.first(), times.last()) else { return "–".to_owned() };
    let median = times[times.len() / 2].as_secs_f64();
    format!("{median:.2} s ({:.2}–{:.2})", first.as_secs_f64(), last.as_secs_f64())
}
