//! Time on a processor, as the scheduler counts it: to the nanosecond, all threads of a server together.

use std::fs;
use std::time::Duration;

/// What these processes have used so far. Exact only while they sleep: the time of a thread that runs is
/// added when it stops.
pub(crate) fn used(processes: &[u32]) -> Duration {
    processes.iter().map(|process| of(*process)).sum()
}

fn of(process: u32) -> Duration {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let nanoseconds = tasks.filter_map(|task| {
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanoseconds.sum())
}
