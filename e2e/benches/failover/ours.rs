//! `fingerpost up` on a Placement for each round.

use std::fmt::Write;
use std::time::Duration;

use anyhow::Result;
use e2e::{BACKEND_PORT, Folder, Options, Up};
use serde_json::Value;

use crate::rounds::{Times, World, addresses, name};

/// How a health check is set.
pub(crate) struct Setting {
    pub(crate) title: &'static str,
    pub(crate) interval: Duration,
    failures: u32,
    successes: u32,
}

/// What the times must keep to.
pub(crate) struct Bar {
    /// The longest that a death may take.
    most: Duration,
    /// What the median may be.
    median: Option<Duration>,
}

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

pub(crate) const SETTINGS: [(Setting, Bar); 3] = [
    (
        Setting { title: "ours, 200 ms, 1 failure", interval: ms(200), failures: 1, successes: 1 },
        Bar { most: ms(400), median: Some(ms(200)) },
    ),
    (
        Setting { title: "ours, 1 s, 1 failure", interval: ms(1000), failures: 1, successes: 1 },
        Bar { most: ms(1100), median: None },
    ),
    (
        Setting {
            title: "ours, by default (5 s, 3 failures, 2 successes)",
            interval: ms(5000),
            failures: 3,
            successes: 2,
        },
        Bar { most: ms(16_000), median: None },
    ),
];

impl Bar {
    /// What is over the bar, in words.
    pub(crate) fn judge(&self, setting: &Setting, times: &Times) -> Vec<String> {
        let median = times.deaths.get(times.deaths.len() / 2).copied().unwrap_or_default();
        let back = setting.interval * setting.successes + ms(1000);
        let over = |all: &[Duration], most: Duration| all.last().is_some_and(|time| *time > most);
        let mut broken = Vec::new();
        if over(&times.deaths, self.most) {
            broken.push(format!("{}: a death took over {:?}", setting.title, self.most));
        }
        if self.median.is_some_and(|most| median > most) {
            broken.push(format!("{}: the median is {median:?}", setting.title));
        }
        if over(&times.returns, back) {
            broken.push(format!("{}: a return took over {back:?}", setting.title));
        }
        broken
    }
}

/// Starts it, and waits until it has seen every backend.
pub(crate) fn start(setting: &Setting, rounds: usize) -> Result<World> {
    let folder = Folder::new()?;
    folder.write("placements.yaml", &manifests(setting, rounds))?;
    let up = Up::start(Options::folder(folder.path()))?;
    e2e::wait_for("every backend to be seen", || {
        let page: Value = serde_json::from_str(&up.get("/api/v1/health")?)?;
        let up = page.as_array().map_or(0, |all| all.iter().filter(|one| one["state"] == "up").count());
        Ok((up == rounds * 2).then_some(()))
    })?;
    Ok(World { server: up.dns(0), answers_all: false, _held: Box::new((up, folder)) })
}

fn manifests(setting: &Setting, rounds: usize) -> String {
    let Setting { interval, failures, successes, .. } = setting;
    let interval = interval.as_millis();
    let mut text = String::new();
    for round in 0..rounds {
        let ([first, second], host) = (addresses(round), name(round));
        let _ = write!(
            text,
            "---\napiVersion: fingerpost.dev/v1alpha1\nkind: Placement\nmetadata: {{name: n{round}, namespace: bench}}\n\
             spec:\n  hostname: {host}\n  mode: active-hotstandby\n  regions:\n  - {{name: first, addresses: [{first}]}}\n  \
             - {{name: second, addresses: [{second}]}}\n  healthCheck: {{protocol: TCP, port: {BACKEND_PORT}, \
             interval: {interval}ms, failures: {failures}, successes: {successes}}}\n"
        );
    }
    text
}
