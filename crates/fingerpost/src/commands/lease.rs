//! `fingerpost lease`: runs a command only while a lease is held.
//!
//! ```text
//! gate (is it held, and until when?) ──► waiting ──held──► running ──lost──► SIGTERM ──► SIGKILL
//! ```

mod gate;
mod running;

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tokio::runtime::Runtime;
use tokio::time::sleep;

use super::Ending;
use super::signals::Signals;
use crate::cli::LeaseArguments;
use crate::console;
use gate::{Gate, Held, Look};
use running::Running;

/// How long the end waits for what is still under way.
const LAST_WAIT: Duration = Duration::from_secs(1);
/// The exit code where the lease was lost: what was to be done may be done later.
const LOST: u8 = 75;

pub(super) fn run(arguments: &LeaseArguments) -> Result<Ending> {
    if arguments.renew >= arguments.lease {
        bail!("--renew {:?} must be shorter than --lease {:?}", arguments.renew, arguments.lease);
    }
    let runtime = Runtime::new().context("cannot start")?;
    let ending = runtime.block_on(guard(arguments));
    runtime.shutdown_timeout(LAST_WAIT);
    ending
}

async fn guard(arguments: &LeaseArguments) -> Result<Ending> {
    let mut signals = Signals::new()?;
    let mut gate = Gate::open(arguments).await?;
    let held = tokio::select! {
        held = gate.wait() => held?,
        () = signals.ended() => return Ok(Ending::Good),
    };
    console::note(&format!("the lease is held (generation {})", held.generation));
    let running = Running::start(&arguments.command, held.generation)?;
    let ending = watch(running, &mut gate, held, arguments, &mut signals).await;
    gate.release().await;
    ending
}

/// Watches the command and the lease until one of them ends.
async fn watch(
    mut running: Running,
    gate: &mut Gate,
    mut held: Held,
    arguments: &LeaseArguments,
    signals: &mut Signals,
) -> Result<Ending> {
    loop {
        let grace = arguments.grace.min(held.span / 3);
        let term_at = held.until.checked_sub(grace).unwrap_or(held.until);
        tokio::select! {
            code = running.ended() => return Ok(Ending::Code(code?)),
            () = signals.ended() => return end(running, held.until, None).await,
            () = sleep(term_at.saturating_duration_since(Instant::now())) => {
                console::error("the lease cannot be renewed: the command is ended");
                return end(running, held.until, Some(LOST)).await;
            }
            look = gate.look() => match look {
                Look::Held(now) if now.generation == held.generation => held = later(held, now),
                Look::Unknown => {}
                Look::Held(_) | Look::Lost => {
                    console::error("the lease is lost: the command is ended");
                    return end(running, held.until, Some(LOST)).await;
                }
            },
        }
    }
}

fn later(one: Held, other: Held) -> Held {
    if other.until > one.until { other } else { one }
}

/// Asks the command to end, and kills it before the lease does.
async fn end(mut running: Running, until: Instant, code: Option<u8>) -> Result<Ending> {
    running.terminate();
    let left = until.saturating_duration_since(Instant::now());
    let ended = tokio::time::timeout(left, running.ended()).await;
    let own = match ended {
        Ok(code) => code?,
        Err(_) => {
            running.kill();
            running.ended().await?
        }
    };
    Ok(Ending::Code(code.unwrap_or(own)))
}
