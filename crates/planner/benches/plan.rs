//! The planner at 1k to 1M routes: `cargo xtask bench plan`.
//!
//! Each size runs in a process of its own, so that memory that one run gave back cannot serve the next.
//! Bytes a route are resident memory after the plan minus before the snapshot.

#[path = "plan/world.rs"]
mod world;

use std::process::Command;
use std::time::{Duration, Instant};

use planner::Planner;

/// How many single changes are timed at each size.
const CHANGES: usize = 400;
const SIZES: [usize; 4] = [1_000, 10_000, 100_000, 1_000_000];

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    match std::env::args().find_map(|argument| argument.strip_prefix("--routes=").map(str::parse)) {
        Some(routes) => println!("{}", measure(routes?)?.line()),
        None => table()?,
    }
    Ok(())
}

/// What one size costs.
struct Measured {
    routes: usize,
    full: Duration,
    bytes: u64,
    change: Duration,
}

/// One line for each size, and how they compare.
fn table() -> Result<(), Failure> {
    println!("{:>9}  {:>12}  {:>13}  {:>16}", "routes", "full plan", "bytes a route", "one changed route");
    let measured = SIZES.map(in_own_process).into_iter().collect::<Result<Vec<_>, _>>()?;
    let (Some(first), Some(last)) = (measured.first(), measured.last()) else { return Ok(()) };
    let growth =
        last.full.as_secs_f64() / last.routes as f64 / (first.full.as_secs_f64() / first.routes as f64);
    println!(
        "a route's share of the full plan at {}: {growth:.2} times that at {}",
        last.routes, first.routes
    );
    let ratio = last.change.as_secs_f64() / first.change.as_secs_f64();
    println!("one changed route at {}: {ratio:.2} times that at {}", last.routes, first.routes);
    Ok(())
}

fn in_own_process(routes: usize) -> Result<Measured, Failure> {
    let output = Command::new(std::env::current_exe()?).arg(format!("--routes={routes}")).output()?;
    let text = String::from_utf8(output.stdout)?;
    let measured = Measured::parse(text.trim());
    let measured = measured.ok_or_else(|| format!("{text}{}", String::from_utf8_lossy(&output.stderr)))?;
    println!("{}", measured.row());
    Ok(measured)
}

impl Measured {
    /// The figures as the one process hands them to the other.
    fn line(&self) -> String {
        format!("{} {} {} {}", self.routes, self.full.as_nanos(), self.bytes, self.change.as_nanos())
    }

    fn parse(line: &str) -> Option<Measured> {
        let numbers: Vec<u64> = line.split(' ').map(|word| word.parse().ok()).collect::<Option<_>>()?;
        let &[routes, full, bytes, change] = numbers.as_slice() else { return None };
        let (full, change) = (Duration::from_nanos(full), Duration::from_nanos(change));
        Some(Measured { routes: usize::try_from(routes).ok()?, full, bytes, change })
    }

    fn row(&self) -> String {
        let (full, change) = (self.full.as_secs_f64() * 1e3, self.change.as_secs_f64() * 1e6);
        format!(
            "{:>9}  {full:>9.1} ms  {:>13}  {change:>14.1} µs",
            self.routes,
            self.bytes / self.routes as u64
        )
    }
}

fn measure(routes: usize) -> Result<Measured, Failure> {
    let before = resident()?;
    let changes = world::world(routes)?;
    let mut planner = Planner::new(vec!["weu".to_owned()]);
    let start = Instant::now();
    drop(planner.apply(changes));
    let full = start.elapsed();
    let bytes = resident()?.saturating_sub(before);
    let change = median_change(&mut planner, routes)?;
    Ok(Measured { routes, full, bytes, change })
}

/// Renames services spread over the whole world, one at a time.
fn median_change(planner: &mut Planner, routes: usize) -> Result<Duration, Failure> {
    let mut times = Vec::with_capacity(CHANGES);
    for round in 0..CHANGES {
        // A stride that shares no factor with the sizes comes past every namespace and gateway.
        let changed = vec![world::route(round * 7919 % routes, "renamed")?];
        let start = Instant::now();
        let delta = planner.apply(changed);
        times.push(start.elapsed());
        drop(delta);
    }
    times.sort();
    Ok(times[CHANGES / 2])
}

/// This process's resident memory, in bytes.
fn resident() -> Result<u64, Failure> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line =
        status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS in /proc/self/status")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? * 1024)
}
