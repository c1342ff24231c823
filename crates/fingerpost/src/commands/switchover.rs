//! `fingerpost switchover`: moves a Placement to another region on purpose, in order.
//!
//! ```text
//! look ─► order ─► the lease is handed over ─► the region holds it ─► DNS moves ─► read back
//! ```
//!
//! The director does all of it and takes it back where a step fails; this command orders, follows and tells.

mod cluster;
mod instance;

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::Value;

use super::{Ending, print};
use crate::cli::SwitchoverArguments;
use crate::render::Palette;

/// How often it is looked how things are.
const LOOK: Duration = Duration::from_millis(300);
/// The exit code where a step failed and everything is back where it was.
const ROLLED_BACK: u8 = 3;

/// Where a Placement is directed.
trait Place {
    /// How things are, as `/api/v1/leases/NAME` tells it.
    fn look(&mut self) -> Result<Value>;

    /// Orders the move.
    fn order(&mut self, to: &str, force: bool) -> Result<()>;
}

pub(super) fn run(arguments: &SwitchoverArguments, palette: Palette) -> Result<Ending> {
    let mut place: Box<dyn Place> = match arguments.kube {
        true => Box::new(cluster::Cluster::open(arguments)?),
        false => Box::new(instance::Running::new(arguments)),
    };
    let mut steps = Steps { palette, number: 0 };
    let before = place.look()?;
    check(&before, arguments, &mut steps)?;
    if arguments.dry_run {
        return plan(&before, arguments, &mut steps);
    }
    place.order(&arguments.to, arguments.force)?;
    follow(&mut *place, &before, arguments, &mut steps)
}

struct Steps {
    palette: Palette,
    number: usize,
}

impl Steps {
    fn good(&mut self, text: &str) -> Result<()> {
        self.number += 1;
        print(&format!("{} {}. {text}\n", self.palette.good("ok"), self.number))
    }

    fn bad(&mut self, text: &str) -> Result<()> {
        print(&format!("{} {text}\n", self.palette.bad("failed")))
    }

    fn would(&mut self, text: &str) -> Result<()> {
        self.number += 1;
        print(&format!("would {}. {text}\n", self.number))
    }
}

/// Looks whether it can be done at all; nothing has changed yet.
fn check(before: &Value, arguments: &SwitchoverArguments, steps: &mut Steps) -> Result<()> {
    let to = &arguments.to;
    let regions = before["regions"].as_array().cloned().unwrap_or_default();
    let names: Vec<&str> = regions.iter().filter_map(|region| region["name"].as_str()).collect();
    let Some(region) = regions.iter().find(|region| region["name"] == **to) else {
        bail!("there is no region `{to}`: choose one of {}", names.join(", "));
    };
    if current(before).as_deref() == Some(to) {
        bail!("clients are sent to `{to}` already");
    }
    match region["health"].as_str() {
        Some("Up") => steps.good(&format!("{to} is up")),
        health if arguments.force => steps.good(&format!(
            "{to} is {}: going on because of --force",
            health.unwrap_or("unknown").to_lowercase()
        )),
        health => bail!(
            "the region `{to}` is not up ({}): wait until it is, or insist with --force",
            health.unwrap_or("Unknown")
        ),
    }
}

/// The region that clients are sent to.
fn current(state: &Value) -> Option<String> {
    let answering = || state["answering"].get(0).and_then(Value::as_str);
    state["active"].as_str().or_else(answering).map(str::to_owned)
}

fn plan(before: &Value, arguments: &SwitchoverArguments, steps: &mut Steps) -> Result<Ending> {
    let (from, to) = (current(before).unwrap_or_else(|| "nowhere".to_owned()), &arguments.to);
    if before["witness"] == true {
        let generation = before["generation"].as_u64().unwrap_or_default();
        steps.would(&format!("hand the lease over from {from} to {to} (generation {generation})"))?;
        steps.would(&format!("wait until {to} holds the lease"))?;
    }
    steps.would(&format!("send clients to {to} instead of {from}"))?;
    steps.would(&format!("read back that DNS answers with {to}"))?;
    Ok(Ending::Good)
}

fn follow(
    place: &mut dyn Place,
    before: &Value,
    arguments: &SwitchoverArguments,
    steps: &mut Steps,
) -> Result<Ending> {
    let (to, end) = (arguments.to.as_str(), Instant::now() + arguments.timeout);
    steps.good("the order is given")?;
    let (mut leased, mut moved) = (before["witness"] != true, false);
    while Instant::now() < end {
        let state = place.look()?;
        if !leased && state["holder"] == to {
            leased = true;
            steps.good(&format!("{to} holds the lease (generation {})", state["generation"]))?;
        }
        if leased && !moved && state["active"] == to {
            moved = true;
            steps.good(&format!("clients are sent to {to}"))?;
        }
        if moved && answers_only(&state, to) {
            steps.good(&format!("DNS answers with {to}"))?;
            return Ok(Ending::Good);
        }
        if !moved && is_over(&state, before, to) {
            return failed(&state, steps);
        }
        std::thread::sleep(LOOK);
    }
    let from = current(before).unwrap_or_default();
    if !from.is_empty() && !moved {
        // The director takes it back by itself; this only says so earlier.
        let _ = place.order(&from, true);
    }
    failed(&place.look()?, steps)
}

fn answers_only(state: &Value, to: &str) -> bool {
    state["answering"].as_array().is_some_and(|all| all.len() == 1 && all[0] == to)
}

/// Whether nobody pursues the order any more.
fn is_over(state: &Value, before: &Value, to: &str) -> bool {
    state["switchingTo"].is_null() && state["active"] != to && state["history"] != before["history"]
}

fn failed(state: &Value, steps: &mut Steps) -> Result<Ending> {
    let why = state["history"][0]["message"].as_str().unwrap_or("it took too long");
    let stays = current(state).unwrap_or_else(|| "where they were".to_owned());
    steps.bad(&format!("{why}; clients are sent to {stays}"))?;
    Ok(Ending::Code(ROLLED_BACK))
}
