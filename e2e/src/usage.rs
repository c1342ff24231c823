//! What a process has used so far: time on a processor and memory, as the kernel counts them.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};

/// What a process has used.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    /// Time on a processor, all threads together.
    pub processor: Duration,
    /// Resident memory in bytes.
    pub memory: u64,
    /// The most resident memory that it ever had, in bytes.
    pub peak: u64,
}

impl Usage {
    /// What a process has used since it started.
    pub fn of(process: u32) -> Result<Usage> {
        let status = fs::read_to_string(format!("/proc/{process}/status"))?;
        let kilobytes = |key: &str| -> Result<u64> {
            let line = status.lines().find_map(|line| line.strip_prefix(key));
            let number = line.and_then(|line| line.split_whitespace().next()).context("no such line")?;
            Ok(number.parse::<u64>()? * 1024)
        };
        Ok(Usage { processor: processor(process)?, memory: kilobytes("VmRSS:")?, peak: kilobytes("VmHWM:")? })
    }

    /// The time on a processor since an earlier look.
    pub fn since(&self, earlier: &Usage) -> Duration {
        self.processor.saturating_sub(earlier.processor)
    }
}

/// Ended threads are missing in `schedstat`, so the coarser clock of the whole process counts where it is ahead.
fn processor(process: u32) -> Result<Duration> {
    let mut nanoseconds = 0;
    for task in fs::read_dir(format!("/proc/{process}/task"))? {
        let text = fs::read_to_string(task?.path().join("schedstat")).unwrap_or_default();
        nanoseconds +=
            text.split_whitespace().next().and_then(|number| number.parse::<u64>().ok()).unwrap_or(0);
    }
    let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
    let fields: Vec<&str> = stat.rsplit_once(')').context("no such process")?.1.split_whitespace().collect();
    let ticks: u64 = [11, 12].iter().filter_map(|at| fields.get(*at)?.parse::<u64>().ok()).sum();
    // A tick is a hundredth of a second on every Linux that we meet.
    Ok(Duration::from_nanos(nanoseconds).max(Duration::from_millis(ticks.saturating_mul(10))))
}
