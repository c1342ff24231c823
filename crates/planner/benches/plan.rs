//! The planner at 1k to 1M routes: `cargo xtask bench plan`.
//!
//! Each whole plan runs in a process of its own, so that memory that one run gave back cannot serve the
//! next. Bytes a route are resident memory after the plan minus before the snapshot. Single changes are
//! made at all sizes in turns, in one process.

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
    let argument =
        |name: &str| std::env::args().find_map(|given| given.strip_prefix(name).map(str::to_owned));
    match argument("--routes=") {
        Some(routes) => println!("{}", whole(routes.parse()?)?),
        None if argument("--changes").is_some() => changes()?,
        None => table()?,
    }
    Ok(())
}

/// A line for each size and each measurement, and how they compare.
fn table() -> Result<(), Failure> {
    println!("{:>9}  {:>12}  {:>13}", "routes", "full plan", "bytes a route");
    for size in SIZES {
        print!("{}", in_own_process(&format!("--routes={size}"))?);
    }
    println!();
    print!("{}", in_own_process("--changes")?);
    Ok(())
}

fn in_own_process(argument: &str) -> Result<String, Failure> {
    let output = Command::new(std::env::current_exe()?).arg(argument).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// The plan of a whole world: how long it takes, and what a route needs.
fn whole(routes: usize) -> Result<String, Failure> {
    let before = resident()?;
    let changes = world::world(routes)?;
    let mut planner = Planner::new(vec!["weu".to_owned()]);
    let start = Instant::now();
    let delta = planner.apply(changes);
    let full = start.elapsed().as_secs_f64() * 1e3;
    drop(delta);
    let bytes = resident()?.saturating_sub(before) / routes as u64;
    Ok(format!("{routes:>9}  {full:>9.1} ms  {bytes:>13}"))
}

/// One changed route at every size, in turns, so that whatever else the machine does meets all alike.
fn changes() -> Result<(), Failure> {
    let mut planners = Vec::new();
    for size in SIZES {
        let mut planner = Planner::new(vec!["weu".to_owned()]);
        planner.apply(world::world(size)?);
        planners.push((size, planner));
    }
    let mut times = SIZES.map(|_| (Vec::new(), Vec::new()));
    for round in 0..CHANGES {
        for ((size, planner), (planned, written)) in planners.iter_mut().zip(&mut times) {
            let (plan, all) = one_change(planner, *size, round)?;
            planned.push(plan);
            written.push(all);
        }
    }
    report(times.map(|(planned, written)| (median(planned), median(written))));
    Ok(())
}

fn report(medians: [(Duration, Duration); SIZES.len()]) {
    println!("{:>9}  {:>17}  {:>17}", "routes", "one changed route", "of that, planning");
    let [(first_plan, first_all), ..] = medians;
    for (size, (plan, all)) in SIZES.iter().zip(medians) {
        let times = |one: Duration, first: Duration| one.as_secs_f64() / first.as_secs_f64();
        println!(
            "{size:>9}  {:>9.1} µs {:>3.2}x  {:>9.1} µs {:>3.2}x",
            all.as_secs_f64() * 1e6,
            times(all, first_all),
            plan.as_secs_f64() * 1e6,
            times(plan, first_plan)
        );
    }
}

/// Renames a service; gives the time to plan it, and to plan it and write out what it changed.
fn one_change(planner: &mut Planner, routes: usize, round: usize) -> Result<(Duration, Duration), Failure> {
    // A stride that shares no factor with the sizes comes past every namespace and gateway.
    let changed = vec![world::route(round * 7919 % routes, &format!("renamed-{round}"))?];
    let start = Instant::now();
    let delta = planner.apply(changed);
    let planned = start.elapsed();
    black_box(written_out(planner, &delta));
    Ok((planned, start.elapsed()))
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
