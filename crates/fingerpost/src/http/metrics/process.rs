//! What every process says of itself: its version, and by the usual names what it costs the machine.
//!
//! The numbers come from /proc. Where that is missing, or says something else than Linux does, they are left out.

use std::fs;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::build;

/// The unit of times in /proc, which is the same on every architecture of Linux.
const TICKS: f64 = 100.0;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct BuildLabels {
    version: &'static str,
    commit: &'static str,
    date: &'static str,
}

/// Adds `fingerpost_build_info` and the `process_` metrics.
pub fn add(registry: &mut Registry) {
    let info = Family::<BuildLabels, Gauge>::default();
    let (commit, date) = (build::COMMIT.unwrap_or_default(), build::DATE.unwrap_or_default());
    info.get_or_create(&BuildLabels { version: build::VERSION, commit, date }).set(1);
    registry.register("fingerpost_build_info", "1, with the version, commit and date of the binary", info);
    add_times(registry);
    add_memory(registry);
    add_files(registry);
}

/// The fields of /proc/self/stat behind the name of the program, which may hold anything.
fn stat() -> Option<Vec<String>> {
    let text = fs::read_to_string("/proc/self/stat").ok()?;
    let (_, rest) = text.rsplit_once(')')?;
    Some(rest.split_whitespace().map(str::to_owned).collect())
}

fn add_times(registry: &mut Registry) {
    let Some(stat) = stat() else { return };
    // Numbered from 1 in proc(5); the first two are gone.
    let ticks = |field: usize| stat.get(field - 3).and_then(|text| text.parse::<f64>().ok());
    if let (Some(user), Some(system)) = (ticks(14), ticks(15)) {
        let counter = Counter::<f64, std::sync::atomic::AtomicU64>::default();
        counter.inc_by((user + system) / TICKS);
        registry.register("process_cpu_seconds", "Processor time of this process", counter);
    }
    if let (Some(start), Some(boot)) = (ticks(22), boot_time()) {
        let gauge = Gauge::<f64, std::sync::atomic::AtomicU64>::default();
        gauge.set(boot + start / TICKS);
        registry.register("process_start_time_seconds", "When this process started", gauge);
    }
}

/// When the machine started, in Unix seconds.
fn boot_time() -> Option<f64> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    text.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}

fn add_memory(registry: &mut Registry) {
    let Ok(status) = fs::read_to_string("/proc/self/status") else { return };
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.split_whitespace().next()?.parse::<i64>().ok()
    };
    for (name, field, unit, help) in [
        ("process_resident_memory_bytes", field("VmRSS"), 1024, "Memory of this process that is in RAM"),
        ("process_virtual_memory_bytes", field("VmSize"), 1024, "Address space of this process"),
        ("process_threads", field("Threads"), 1, "Threads of this process"),
    ] {
        if let Some(number) = field {
            gauge(registry, name, help, number.saturating_mul(unit));
        }
    }
}

fn add_files(registry: &mut Registry) {
    // The directory itself is open while it is read.
    let open = fs::read_dir("/proc/self/fd").map(|files| files.count().saturating_sub(1));
    if let Ok(open) = open {
        gauge(
            registry,
            "process_open_fds",
            "Open files of this process",
            i64::try_from(open).unwrap_or(i64::MAX),
        );
    }
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let most = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    let most = most.and_then(|text| text.split_whitespace().next()?.parse().ok());
    if let Some(most) = most {
        gauge(registry, "process_max_fds", "How many files this process may open", most);
    }
}

fn gauge(registry: &mut Registry, name: &str, help: &str, value: i64) {
    let gauge = Gauge::<i64>::default();
    gauge.set(value);
    registry.register(name, help, gauge);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use prometheus_client::encoding::text::encode;

    use super::*;

    #[test]
    fn a_process_tells_what_it_costs() {
        let (mut registry, mut text) = (Registry::default(), String::new());
        add(&mut registry);
        encode(&mut text, &registry).unwrap();
        assert!(text.contains(&format!("fingerpost_build_info{{version=\"{}\"", build::VERSION)), "{text}");
        for name in [
            "process_cpu_seconds_total",
            "process_start_time_seconds",
            "process_resident_memory_bytes",
            "process_virtual_memory_bytes",
            "process_threads",
            "process_open_fds",
            "process_max_fds",
        ] {
            let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            assert!(value.is_some_and(|value| value.parse::<f64>().unwrap() >= 0.0), "{name}: {text}");
        }
    }
}
