//! The planner at 1k to 1M routes: `cargo xtask bench plan`.
//!
//! Each size runs in a process of its own, so that memory that one run gave back cannot serve the next.
//! Bytes a route are resident memory after the plan minus before the snapshot.

#[path = "plan/world.rs"]
mod world;

use std::hint::black_box;
use std::process::Command;
use std::time::{Duration, Instant};

use planner::{Delta, Planner};

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
    /// One changed route, planned.
    planned: Duration,
    /// The same, with the manifests and statuses that an actuator then applies.
    change: Duration,
}

/// One line for each size, and how they compare.
fn table() -> Result<(), Failure> {
    println!(
        "{:>9}  {:>12}  {:>13}  {:>17}  {:>18}",
        "routes", "full plan", "bytes a route", "one changed route", "of that, planning"
    );
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
    let ratio = last.planned.as_secs_f64() / first.planned.as_secs_f64();
    println!("of that, planning at {}: {ratio:.2} times that at {}", last.routes, first.routes);
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
        let [full, planned, change] = [self.full, self.planned, self.change].map(|time| time.as_nanos());
        format!("{} {full} {} {planned} {change}", self.routes, self.bytes)
    }

    fn parse(line: &str) -> Option<Measured> {
        let numbers: Vec<u64> = line.split(' ').map(|word| word.parse().ok()).collect::<Option<_>>()?;
        let &[routes, full, bytes, planned, change] = numbers.as_slice() else { return None };
        let [full, planned, change] = [full, planned, change].map(Duration::from_nanos);
        Some(Measured { routes: usize::try_from(routes).ok()?, full, bytes, planned, change })
    }

    fn row(&self) -> String {
        let full = self.full.as_secs_f64() * 1e3;
        let [planned, change] = [self.planned, self.change].map(|time| time.as_secs_f64() * 1e6);
        let bytes = self.bytes / self.routes as u64;
        format!("{:>9}  {full:>9.1} ms  {bytes:>13}  {change:>14.1} µs  {planned:>15.1} µs", self.routes)
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
    let (planned, change) = median_change(&mut planner, routes)?;
    Ok(Measured { routes, full, bytes, planned, change })
}

/// Renames services spread over the whole world, one at a time; gives the time to plan one, and the
/// time to plan it and to write out what it changed.
fn median_change(planner: &mut Planner, routes: usize) -> Result<(Duration, Duration), Failure> {
    let (mut planned, mut whole) = (Vec::with_capacity(CHANGES), Vec::with_capacity(CHANGES));
    for round in 0..CHANGES {
        // A stride that shares no factor with the sizes comes past every namespace and gateway.
        let changed = vec![world::route(round * 7919 % routes, "renamed")?];
        let start = Instant::now();
        let delta = planner.apply(changed);
        planned.push(start.elapsed());
        black_box(written_out(planner, &delta));
        whole.push(start.elapsed());
    }
    Ok((median(planned), median(whole)))
}

/// The manifests and statuses that a change leads to, as an actuator applies them.
fn written_out(planner: &Planner, delta: &Delta) -> Vec<serde_json::Value> {
    let children = delta.children.iter().filter_map(|(child, _)| planner.child(child));
    let statuses = delta.statuses.iter().filter_map(|(cluster, object)| planner.status(*cluster, object));
    children.chain(statuses).collect()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// This process's resident memory, in bytes.
fn resident() -> Result<u64, Failure> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line =
        status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS in /proc/self/status")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? * 1024)
}
