//! Following an order until what it wants stands where clients ask, there and on the way back.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::state::State;
use super::{Place, Steps};
use crate::cli::SwitchoverArguments;
use crate::directing::DeliveryState;

/// How often it is looked how things are.
const LOOK: Duration = Duration::from_millis(300);

/// What became of an order.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Followed {
    Done,
    /// A step failed, and why.
    Failed(String),
}

/// How far an order is.
struct Progress<'a> {
    to: &'a str,
    before: &'a State,
    leased: bool,
    moved: bool,
}

/// Looks until something is found, or for so long; one look that fails is no reason to leave things half
/// done. Returns the last thing that went wrong.
fn look_for<T>(
    place: &mut dyn Place,
    patience: Duration,
    mut found: impl FnMut(&State) -> Result<Result<T, String>>,
) -> Result<Result<T, String>> {
    let end = Instant::now() + patience;
    loop {
        let missing = match place.look() {
            Ok(state) => match found(&state)? {
                Ok(found) => return Ok(Ok(found)),
                Err(missing) => missing,
            },
            Err(error) => format!("{error:#}"),
        };
        if Instant::now() >= end {
            return Ok(Err(missing));
        }
        std::thread::sleep(LOOK);
    }
}

/// Follows an order step by step.
pub(super) fn follow(
    place: &mut dyn Place,
    before: &State,
    arguments: &SwitchoverArguments,
    steps: &mut Steps,
) -> Result<Followed> {
    let mut progress = Progress { to: &arguments.to, before, leased: !before.has_witness(), moved: false };
    let found = look_for(place, arguments.timeout, |state| progress.look(state, steps))?;
    Ok(found.unwrap_or_else(|missing| Followed::Failed(format!("it took too long: {missing}"))))
}

impl Progress<'_> {
    /// Tells the steps that were taken; as an error, what the next one waits for.
    fn look(&mut self, state: &State, steps: &mut Steps) -> Result<Result<Followed, String>> {
        let to = self.to;
        if !self.leased && state.is_held_by(to) {
            self.leased = true;
            steps.good(&format!("{to} holds the lease (generation {})", state.generation()))?;
        }
        if self.leased && !self.moved && state.is_sent_to(to) {
            self.moved = true;
            steps.good(&format!("clients are sent to {to}"))?;
        }
        if self.is_over(state) {
            let why = state.latest().unwrap_or("somebody else moved it").to_owned();
            return Ok(Ok(Followed::Failed(why)));
        }
        if self.moved
            && let Some(words) = answered(state, self.before, to)
        {
            steps.good(&words)?;
            return Ok(Ok(Followed::Done));
        }
        Ok(Err(self.missing(state)))
    }

    /// Whether nobody pursues the order any more.
    fn is_over(&self, state: &State) -> bool {
        !state.is_switching() && !state.is_sent_to(self.to) && state.has_moved_since(self.before)
    }

    fn missing(&self, state: &State) -> String {
        let (to, trouble) = (self.to, state.trouble());
        match self.moved {
            true => format!("DNS does not answer with {to} yet: {}", state.delivery().message),
            false if self.leased => format!("clients are not sent to {to} yet"),
            false => trouble.map_or_else(|| format!("{to} does not hold the lease yet"), str::to_owned),
        }
    }
}

/// In words that DNS answers with a region, where it does.
///
/// A controller that did not say what became of the answers before will not say it now: then handing them
/// over is all that can be seen, and the words are no more than that.
fn answered(state: &State, before: &State, region: &str) -> Option<String> {
    let delivery = state.delivery();
    let never_says = before.delivery().state == DeliveryState::HandedOver;
    match delivery.state {
        _ if !state.answers_only(region) => None,
        DeliveryState::Stands => Some(format!("DNS answers with {region}")),
        DeliveryState::HandedOver if never_says => {
            Some(format!("{region} is {}, which does not say when it is published", delivery.message))
        }
        _ => None,
    }
}

/// Orders the way back, the lease first, and waits until DNS answers as before; tells whether it does.
pub(super) fn roll_back(
    place: &mut dyn Place,
    before: &State,
    patience: Duration,
    steps: &mut Steps,
) -> Result<bool> {
    let Some(from) = before.current() else {
        steps.bad("where clients were sent before is not known, so that nothing is rolled back")?;
        return Ok(false);
    };
    // Where nothing moved there is nothing to order; whether everything is back is looked at in any case.
    let ordered = place.order(from, true);
    let found = look_for(place, patience, |state| Ok(is_back(state, before, from)))?;
    match found {
        Ok(words) => steps.good(&format!("rolled back: {words}")).map(|()| true),
        Err(missing) => {
            let refused = ordered.err().map(|error| format!(" ({error:#})")).unwrap_or_default();
            steps.bad(&format!("not known to be back at {from}: {missing}{refused}"))?;
            Ok(false)
        }
    }
}

/// Whether everything is as before; as an error, what is not.
fn is_back(state: &State, before: &State, from: &str) -> Result<String, String> {
    let sent = state.current().unwrap_or("nowhere");
    if let Some(trouble) = state.trouble() {
        return Err(format!("clients are sent to {sent}, and {trouble}: the lease may still move"));
    }
    if !state.is_held_by(from) || state.current() != Some(from) || state.is_switching() {
        return Err(format!("clients are sent to {sent}, and {from} does not hold the lease"));
    }
    let missing = || {
        format!("clients are sent to {from}, but DNS is not known to answer so: {}", state.delivery().message)
    };
    let answered = answered(state, before, from).ok_or_else(missing)?;
    Ok(format!("clients are sent to {from}, {answered}"))
}
