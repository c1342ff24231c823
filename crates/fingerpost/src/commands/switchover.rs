//! `fingerpost switchover`: moves a Placement to another region on purpose, in order.
//!
//! ```text
//! look ─► order ─► the lease is handed over ─► the region holds it ─► DNS moves ─► read back
//!                                   a step fails ─► order the way back ─► read back
//! ```
//!
//! The director does all of it; this command orders, follows and tells. Nothing counts as done before it
//! stands where clients ask, on the way back too.

mod cluster;
mod following;
mod instance;
mod state;
mod steps;
#[cfg(test)]
mod tests;

use anyhow::{Result, bail};

use self::following::{Followed, follow, roll_back};
use self::state::State;
use self::steps::Steps;
use super::Ending;
use crate::cli::SwitchoverArguments;
use crate::directing::DeliveryState;
use crate::render::Palette;

/// The exit code where a step failed and everything is back where it was.
const ROLLED_BACK: u8 = 3;
/// The exit code where a step failed and it is not known that everything is back.
const NOT_ROLLED_BACK: u8 = 4;

/// Where a Placement is directed.
trait Place {
    /// How things are, as `/api/v1/leases/NAME` tells it.
    fn look(&mut self) -> Result<State>;

    /// Orders the move.
    fn order(&mut self, to: &str, force: bool) -> Result<()>;
}

pub(super) fn run(arguments: &SwitchoverArguments, palette: Palette) -> Result<Ending> {
    let mut place: Box<dyn Place> = match arguments.kube {
        true => Box::new(cluster::Cluster::open(arguments)?),
        false => Box::new(instance::Running::new(arguments)?),
    };
    switch(&mut *place, arguments, &mut Steps::new(palette, arguments.output))
}

fn switch(place: &mut dyn Place, arguments: &SwitchoverArguments, steps: &mut Steps) -> Result<Ending> {
    let before = place.look()?;
    check(&before, arguments, steps)?;
    if arguments.dry_run {
        return plan(&before, arguments, steps);
    }
    place.order(&arguments.to, arguments.force)?;
    steps.good("the order is given")?;
    match follow(place, &before, arguments, steps)? {
        Followed::Done => Ok(Ending::Good),
        Followed::Failed(why) => {
            steps.bad(&why)?;
            let is_back = roll_back(place, &before, arguments.timeout, steps)?;
            Ok(Ending::Code(if is_back { ROLLED_BACK } else { NOT_ROLLED_BACK }))
        }
    }
}

/// Looks whether it can be done at all; nothing has changed yet.
fn check(before: &State, arguments: &SwitchoverArguments, steps: &mut Steps) -> Result<()> {
    let (to, names) = (&arguments.to, before.regions());
    if !names.contains(&to.as_str()) {
        bail!("there is no region `{to}`: choose one of {}", names.join(", "));
    }
    if before.current() == Some(to) {
        bail!("clients are sent to `{to}` already");
    }
    match before.health(to) {
        _ if !before.is_checked() && arguments.force => {
            steps.good(&format!("no health check says whether {to} is up: going on because of --force"))?;
        }
        _ if !before.is_checked() => bail!(
            "whether the region `{to}` is up is not known, since the Placement has no spec.healthCheck: add one, or \
             insist with --force"
        ),
        "Up" => steps.good(&format!("{to} is up"))?,
        health if arguments.force => {
            steps.good(&format!("{to} is {}: going on because of --force", health.to_lowercase()))?;
        }
        health => bail!("the region `{to}` is not up ({health}): wait until it is, or insist with --force"),
    }
    let delivery = before.delivery();
    if delivery.state == DeliveryState::Awaited && !arguments.force {
        bail!(
            "what DNS answers now is not known, so that a move could not be read back: {}",
            delivery.message
        );
    }
    Ok(())
}

fn plan(before: &State, arguments: &SwitchoverArguments, steps: &mut Steps) -> Result<Ending> {
    let (from, to) = (before.current().unwrap_or("nowhere"), &arguments.to);
    if before.has_witness() {
        let generation = before.generation();
        steps.would(&format!("hand the lease over from {from} to {to} (generation {generation})"))?;
        steps.would(&format!("wait until {to} holds the lease"))?;
    }
    steps.would(&format!("send clients to {to} instead of {from}"))?;
    steps.would(&format!("read back that DNS answers with {to}"))?;
    Ok(Ending::Good)
}
